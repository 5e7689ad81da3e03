//! Builds the system prompt, as one text or in sections. Order and headings are pi's, the sentences are ours.

use super::{
    Skill,
    context_file::ContextFile,
    instructions::{Instructions, PREAMBLE, Section},
    skill,
};

/// The parts of a system prompt.
#[derive(Debug, Clone, Copy)]
pub struct PromptParts<'a> {
    /// The offered tools, in order.
    pub tools: &'a [ToolLine<'a>],
    /// Guidelines of extensions' tools: one line each, without repetitions.
    pub guidelines: &'a [&'a str],
    /// Replaces the introduction, the list of tools and the guidelines.
    pub custom: Option<&'a str>,
    /// Follows the introduction or its replacement.
    pub append: Option<&'a str>,
    /// Context files, the most general first.
    pub context_files: &'a [ContextFile],
    /// Skills, for models that can read their files: those with the tool `read` or `bash`.
    pub skills: &'a [Skill],
    /// The date as `YYYY-MM-DD`, in UTC.
    pub date: &'a str,
    /// The working directory of tools.
    pub cwd: &'a str,
}

/// A tool's line in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLine<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its purpose, without a full stop.
    pub purpose: &'a str,
}

/// The line of a built-in tool; `None`: the name is another tool's.
pub fn tool_line(name: &str) -> Option<ToolLine<'static>> {
    let (name, purpose) = match name {
        "read" => ("read", "show a file or an image"),
        "bash" => ("bash", "run shell commands"),
        "edit" => ("edit", "replace one exact stretch of text in a file"),
        "write" => ("write", "make a file or replace all of it"),
        "grep" => ("grep", "search in files, leaving out what .gitignore excludes"),
        "find" => ("find", "find files by name, leaving out what .gitignore excludes"),
        "ls" => ("ls", "list a directory"),
        _ => return None,
    };
    Some(ToolLine { name, purpose })
}

/// Builds the prompt as one text. Empty parts count as missing.
pub fn system_prompt(parts: &PromptParts<'_>) -> String {
    let mut prompt = match parts.custom.filter(|custom| !custom.is_empty()) {
        Some(custom) => custom.to_owned(),
        None => introduction(parts),
    };
    if let Some(append) = parts.append.filter(|append| !append.is_empty()) {
        prompt += &format!("\n\n{append}");
    }
    if !parts.context_files.is_empty() {
        prompt += &format!("\n\n# Project Context\n\n{PROJECT_HEADING}\n\n");
        for ContextFile { path, content } in parts.context_files {
            prompt += &format!("## {}\n\n{content}\n\n", path.display());
        }
    }
    prompt += &skill::skills_section(parts.skills, parts.tools);
    let cwd = parts.cwd.replace('\\', "/");
    prompt + &format!("\nCurrent date: {}\nCurrent working directory: {cwd}", parts.date)
}

/// Builds the prompt in sections, without the date: unchanged sections are not sent again. Names and order are pi's
/// (source: pi 1 source, observed).
pub fn sections(parts: &PromptParts<'_>) -> Instructions {
    let mut sections = Vec::new();
    match parts.custom.filter(|custom| !custom.is_empty()) {
        Some(custom) => sections.push(Section::new(PREAMBLE, custom)),
        None => {
            sections.push(Section::new(PREAMBLE, IDENTITY));
            sections.push(tagged("tools", &format!("{}\n\n{MORE_TOOLS}", tool_list(parts.tools))));
            sections.push(tagged("rules", &rule_list(parts)));
            sections.push(tagged("docs", DOCS));
        }
    }
    if let Some(append) = parts.append.filter(|append| !append.is_empty()) {
        sections.push(tagged("addendum", append));
    }
    if !parts.context_files.is_empty() {
        let files = parts.context_files.iter();
        let files: Vec<_> =
            files.map(|file| format!("## {}\n\n{}", file.path.display(), file.content)).collect();
        sections.push(tagged("project_context", &format!("{PROJECT_HEADING}\n\n{}", files.join("\n\n"))));
    }
    let skills = skill::skills_section(parts.skills, parts.tools);
    if !skills.is_empty() {
        sections.push(tagged("skills", skills.trim_start()));
    }
    sections.push(tagged("cwd", &format!("Current working directory: {}", parts.cwd.replace('\\', "/"))));
    Instructions(sections)
}

pub(super) fn tagged(name: &str, text: &str) -> Section {
    Section::new(name, format!("<{name}>\n{text}\n</{name}>"))
}

const IDENTITY: &str = "You are a skilled programmer who works through pi-rpc, an agent in the user's own files. You look into \
                   them, run commands, change code and write new files, as the user asks.";

const MORE_TOOLS: &str = "A project can give you more tools than these.";

const DOCS: &str =
    "What pi-rpc itself can do, `pi-rpc --help` tells. Look there when you are asked about it.";

const PROJECT_HEADING: &str = "What the user and the project ask of you:";

fn introduction(parts: &PromptParts<'_>) -> String {
    let (tools, rules) = (tool_list(parts.tools), rule_list(parts));
    format!("{IDENTITY}\n\nYour tools:\n{tools}\n\n{MORE_TOOLS}\n\nGuidelines:\n{rules}")
}

fn tool_list(tools: &[ToolLine<'_>]) -> String {
    let list: Vec<String> = tools.iter().map(|tool| format!("- {}: {}", tool.name, tool.purpose)).collect();
    if list.is_empty() { "(none)".to_owned() } else { list.join("\n") }
}

fn rule_list(parts: &PromptParts<'_>) -> String {
    let mut rules = guidelines(parts.tools);
    for guideline in parts.guidelines.iter().map(|it| it.trim()).filter(|it| !it.is_empty()) {
        if !rules.contains(&guideline) {
            rules.push(guideline);
        }
    }
    rules.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
}

/// Guidelines for these tools.
fn guidelines<'a>(tools: &[ToolLine<'_>]) -> Vec<&'a str> {
    let has = |name: &str| tools.iter().any(|tool| tool.name == name);
    let searches = has("grep") || has("find") || has("ls");
    let rules = [
        (has("bash") && !searches, "List and search files with bash (ls, find, grep)"),
        (has("bash") && searches, "To list and search files, take grep, find and ls before bash"),
        (has("read") && has("edit"), "Look at a file with read, not through bash, before you edit it"),
        (has("edit"), "Give edit the old text exactly as it stands in the file"),
        (has("bash"), "The variables PI_* of a bash command name session, model and thinking level"),
        (has("write"), "Use write for new files, or when nearly everything in a file changes"),
        (has("edit") || has("write"), "Say what you did in plain text, not by printing it with a tool"),
        (true, "Keep answers short"),
        (true, "Name the files that you work on by their paths"),
    ];
    rules.into_iter().filter(|(applies, _)| *applies).map(|(_, rule)| rule).collect()
}
