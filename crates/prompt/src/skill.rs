//! Skills: instructions for a task, which the model reads when the task comes up.

use super::{
    front_matter::{self, FrontMatter},
    source::{self, source_info},
    text::ToolLine,
};
use pi_rpc_protocol::{CommandLocation, SourceInfo};
use std::{
    fmt::Write,
    path::{Path, PathBuf},
};

/// Name of the file that makes a directory a skill.
pub const FILE: &str = "SKILL.md";

/// Longest valid name, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Longest valid description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 1024;

/// Instructions for a task, in a file.
///
/// Source: pi's `skills.md`, after the Agent Skills specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    /// Its name, behind `/skill:`.
    pub name: String,
    /// Its purpose, by which the model chooses.
    pub description: String,
    /// Path of its file, absolute.
    pub path: PathBuf,
    /// Where it was found.
    pub location: CommandLocation,
    /// Where it was found, for newer hosts.
    pub source: SourceInfo,
    /// Whether the model does not see it and only the user calls it.
    pub hidden: bool,
}

impl Skill {
    /// Parses the file at `path`. The warnings name broken rules of the specification.
    ///
    /// # Errors
    ///
    /// Why the file is no skill, in one line.
    pub fn read(path: &Path, file: &str, location: CommandLocation) -> Result<(Self, Vec<String>), String> {
        let (front_matter, _) = front_matter::read::<FrontMatter>(file)?;
        let directory = directory(path).file_name().unwrap_or_default().to_string_lossy();
        let name = front_matter.name.filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| directory.clone().into_owned());
        let description = front_matter.description.filter(|it| !it.trim().is_empty());
        let description = description.ok_or("it has no description")?;
        let mut warnings = Vec::new();
        // A file without a directory of its own has no name to match.
        if path.ends_with(FILE) && name != directory {
            warnings.push(format!("the name \"{name}\" is not that of its directory, \"{directory}\""));
        }
        warnings.extend(specification_warnings(&name, &description));
        let hidden = front_matter.hidden == true;
        let source = source_info(path, source::SOURCE_NAMED, source::scope(location), path.parent());
        Ok((Self { name, description, path: path.to_owned(), location, source, hidden }, warnings))
    }

    /// Builds the prompt for a call of the skill: the instructions in `file`, and `arguments`.
    pub fn expand(&self, file: &str, arguments: &str) -> String {
        let (path, directory) = (self.path.display(), directory(&self.path).display());
        let body = front_matter::body(file);
        let skill = format!(
            "<skill name=\"{}\" location=\"{path}\">\nReferences are relative to {directory}.\n\n{}\n</skill>",
            self.name,
            body.trim()
        );
        match arguments.trim() {
            "" => skill,
            arguments => format!("{skill}\n\n{arguments}"),
        }
    }
}

/// The section of the system prompt about the skills that the model may choose; empty without any, or without a tool
/// that reads their files. Source: pi 1.6.0 source.
pub(super) fn skills_section(skills: &[Skill], tools: &[ToolLine<'_>]) -> String {
    let has = |name: &str| tools.iter().any(|tool| tool.name == name);
    let reader = match (has("read"), has("bash")) {
        (true, _) => "the read tool",
        (false, true) => "bash",
        (false, false) => return String::new(),
    };
    let mut list = String::new();
    for skill in skills.iter().filter(|skill| !skill.hidden) {
        let [name, description] = [&skill.name, &skill.description].map(|text| escaped(text));
        let path = escaped(&skill.path.to_string_lossy());
        // Writing into memory cannot fail.
        let _ = write!(
            list,
            "  <skill>\n    <name>{name}</name>\n    <description>{description}</description>\n    \
             <location>{path}</location>\n  </skill>\n"
        );
    }
    if list.is_empty() {
        return list;
    }
    format!(
        "\n\nSkills are files with instructions for one kind of task each. When the description of one fits what you are \
         asked to do, read its file with {reader} before you start. A relative path in it begins at the directory \
         of that file; give tools the absolute path.\n\n<available_skills>\n{list}</available_skills>"
    )
}

/// Rules of the specification that the name or the description breaks.
fn specification_warnings(name: &str, description: &str) -> Vec<String> {
    let (name_length, description_length) = (name.chars().count(), description.chars().count());
    let rules = [
        (
            name_length > MAX_NAME_CHARS,
            format!("its name has {name_length} characters, and {MAX_NAME_CHARS} are allowed"),
        ),
        (
            !name.chars().all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '-')),
            format!("the name \"{name}\" has characters other than a-z, 0-9 and -"),
        ),
        (
            name.starts_with('-') || name.ends_with('-') || name.contains("--"),
            format!("the name \"{name}\" has a hyphen at its start or end, or two in a row"),
        ),
        (
            description_length > MAX_DESCRIPTION_CHARS,
            format!(
                "its description has {description_length} characters, and {MAX_DESCRIPTION_CHARS} are allowed"
            ),
        ),
    ];
    rules.into_iter().filter(|(broken, _)| *broken).map(|(_, complaint)| complaint).collect()
}

fn directory(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&apos;",
            _ => escaped.push(letter),
        }
    }
    escaped
}
