//! The system prompt as one text. Its order and its headings are pi's, the sentences are ours.

use super::{Skill, files::ContextFile, skill};

/// Everything that a system prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct PromptParts<'a> {
    /// The tools that the model is offered, in that order.
    pub tools: &'a [ToolLine<'a>],
    /// Takes the place of who the model is, its tools and its guidelines.
    pub custom: Option<&'a str>,
    /// Comes right after that.
    pub append: Option<&'a str>,
    /// What projects say, the most general first.
    pub context_files: &'a [ContextFile],
    /// Told to a model that can read their files: one that has the tool `read`.
    pub skills: &'a [Skill],
    /// Today as `YYYY-MM-DD`, in UTC.
    pub date: &'a str,
    /// The directory that tools work in.
    pub cwd: &'a str,
}

/// A tool in one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolLine<'a> {
    /// What the model calls it by.
    pub name: &'a str,
    /// What it is for, without a full stop.
    pub purpose: &'a str,
}

/// The line of a built-in tool; none for other names.
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

/// Puts the prompt together. A part that is empty counts as one that is not there.
pub fn system_prompt(parts: &PromptParts<'_>) -> String {
    let mut prompt = match parts.custom.filter(|custom| !custom.is_empty()) {
        Some(custom) => custom.to_owned(),
        None => own_words(parts.tools),
    };
    if let Some(append) = parts.append.filter(|append| !append.is_empty()) {
        prompt += &format!("\n\n{append}");
    }
    if !parts.context_files.is_empty() {
        prompt += "\n\n# Project Context\n\nWhat the user and the project ask of you:\n\n";
        for ContextFile { path, content } in parts.context_files {
            prompt += &format!("## {}\n\n{content}\n\n", path.display());
        }
    }
    if parts.tools.iter().any(|tool| tool.name == "read") {
        prompt += &skill::block(parts.skills);
    }
    let cwd = parts.cwd.replace('\\', "/");
    prompt + &format!("\nCurrent date: {}\nCurrent working directory: {cwd}", parts.date)
}

fn own_words(tools: &[ToolLine<'_>]) -> String {
    let mut list: Vec<String> =
        tools.iter().map(|tool| format!("- {}: {}", tool.name, tool.purpose)).collect();
    if list.is_empty() {
        list.push("(none)".to_owned());
    }
    let guidelines: Vec<String> = guidelines(tools).iter().map(|line| format!("- {line}")).collect();
    format!(
        "You are a skilled programmer who works through pi-rpc, an agent in the user's own files. You look into them, \
         run commands, change code and write new files, as the user asks.\n\n\
         Your tools:\n{}\n\n\
         A project can give you more tools than these.\n\n\
         Guidelines:\n{}",
        list.join("\n"),
        guidelines.join("\n")
    )
}

/// What to keep in mind, given these tools.
fn guidelines(tools: &[ToolLine<'_>]) -> Vec<&'static str> {
    let has = |name: &str| tools.iter().any(|tool| tool.name == name);
    let searches = has("grep") || has("find") || has("ls");
    let rules = [
        (has("bash") && !searches, "List and search files with bash (ls, find, grep)"),
        (has("bash") && searches, "To list and search files, take grep, find and ls before bash"),
        (has("read") && has("edit"), "Look at a file with read, not through bash, before you edit it"),
        (has("edit"), "Give edit the old text exactly as it stands in the file"),
        (has("write"), "Use write for new files, or when nearly everything in a file changes"),
        (has("edit") || has("write"), "Say what you did in plain text, not by printing it with a tool"),
        (true, "Keep answers short"),
        (true, "Name the files that you work on by their paths"),
    ];
    rules.into_iter().filter(|(applies, _)| *applies).map(|(_, rule)| rule).collect()
}
