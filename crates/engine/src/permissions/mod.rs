//! Permissions that the user has given for good (`Always allow …`): what each covers, and what a consent dialog offers.
//!
//! | Covers | A call |
//! |---|---|
//! | a tool | of the tool |
//! | a command | of `bash`, if its command is one simple command with these words |
//! | a prefix | of `bash`, if its command is one simple command that begins with these words, and has plain words behind them |
//! | a path | of a tool for files, at or below the folder |
//! | a host | of the tool, if its address is at the host and no other argument is a text, a list or an object |
//!
//! In doubt nothing is covered, and the user is asked: about a command with anything in it that a shell expands, joins or
//! redirects, about options behind a prefix, about arguments beside those that are judged, about a path that is not plain. Nothing here reads a file: the server
//! stores permissions, and resolves links.

mod address;
mod words;

use pi_rpc_protocol::{JsonObject, texts};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// A permission for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Permission {
    /// The tool.
    pub tool: String,
    /// Which of its calls.
    pub covers: Coverage,
    /// Where it holds.
    pub scope: PermissionScope,
}

/// The calls of a tool that a permission covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Coverage {
    /// All.
    All,
    /// Those whose command has exactly these words.
    Command(Vec<String>),
    /// Those whose command begins with these words, with no options behind them.
    CommandPrefix(Vec<String>),
    /// Those of files at or below this folder.
    Path(PathBuf),
    /// Those of addresses at this host, with its port if it is not the usual one.
    Host(String),
}

/// Where a permission holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum PermissionScope {
    /// In the session with this id.
    Session(String),
    /// In sessions of this working directory.
    Project(PathBuf),
}

/// A call that needs consent.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardedCall {
    /// The tool.
    pub tool: String,
    /// Whether the tool is one of the server's own, and no extension or host has another one of its name.
    pub is_own_tool: bool,
    /// Its arguments.
    pub arguments: JsonObject,
    /// The id of the session.
    pub session: String,
    /// The working directory.
    pub directory: PathBuf,
}

/// The tool whose calls are commands of a shell.
const SHELL: &str = "bash";

/// The tools whose argument `path` is the one file or folder that they use, and their other arguments.
const FILE_TOOLS: [(&str, &[&str]); 6] = [
    ("read", &["offset", "limit"]),
    ("write", &["content"]),
    ("edit", &["edits", "oldText", "newText"]),
    ("ls", &["limit"]),
    ("grep", &["pattern", "glob", "ignoreCase", "literal", "context", "limit"]),
    ("find", &["pattern", "limit"]),
];

/// The longest list of words that a command is covered or offered by.
const MAX_WORDS: usize = 64;

/// The longest command, in characters, that is offered.
const MAX_SHOWN: usize = 200;

impl GuardedCall {
    /// The words of its command; `None`: it has none, or is more than one simple command.
    fn words(&self) -> Option<Vec<String>> {
        if self.tool != SHELL || !self.is_own_tool {
            return None;
        }
        let is_judged = |name: &String| name == "command" || name == "timeout";
        let command = self.arguments.get("command").and_then(Value::as_str)?;
        let words = words::of(command).filter(|_| self.arguments.keys().all(is_judged))?;
        (words.len() <= MAX_WORDS).then_some(words)
    }

    /// The file or folder that it uses, without links resolved; `None`: it uses none, or others may be, or its path is not plain.
    pub fn path(&self) -> Option<PathBuf> {
        let (_, others) = FILE_TOOLS.iter().find(|(tool, _)| self.is_own_tool && *tool == self.tool)?;
        let is_known = |name: &String| name == "path" || others.contains(&name.as_str());
        if !self.arguments.keys().all(is_known) {
            return None;
        }
        let text = self.arguments.get("path").and_then(Value::as_str)?;
        // Tools take a home directory and marks of mentions out of a path.
        let is_plain = !text.is_empty()
            && !text.starts_with(['~', '@'])
            && !text.chars().any(|it| it.is_control() || (it.is_whitespace() && it != ' '));
        let path = self.directory.join(text);
        let is_normal = |part| matches!(part, Component::Normal(_) | Component::RootDir | Component::CurDir);
        (is_plain && path.is_absolute() && path.components().all(is_normal)).then_some(path)
    }

    /// The host of its one address; `None`: it has none, or another argument that may be or hold one.
    fn host(&self) -> Option<String> {
        let url = self.arguments.get("url").and_then(Value::as_str)?;
        let is_switch = |value: &Value| matches!(value, Value::Null | Value::Bool(_) | Value::Number(_));
        let is_alone = self.arguments.iter().all(|(name, value)| name == "url" || is_switch(value));
        if is_alone { address::host(url) } else { None }
    }
}

impl Permission {
    /// Whether it covers the call. `real_path`: the file or folder that the call uses, with links resolved.
    pub fn covers(&self, call: &GuardedCall, real_path: Option<&Path>) -> bool {
        let holds = match &self.scope {
            PermissionScope::Session(id) => *id == call.session,
            PermissionScope::Project(directory) => *directory == call.directory,
        };
        holds
            && self.tool == call.tool
            && match &self.covers {
                Coverage::All => true,
                Coverage::Command(words) => call.words().is_some_and(|found| found == *words),
                Coverage::CommandPrefix(prefix) => {
                    call.words().is_some_and(|words| words::begins_with(&words, prefix))
                }
                Coverage::Path(folder) => {
                    call.path().and(real_path).is_some_and(|path| path.starts_with(folder))
                }
                Coverage::Host(host) => call.host().is_some_and(|found| found == *host),
            }
    }
}

/// The options of a consent dialog besides yes and no, each with the permission that it gives.
pub fn offers(call: &GuardedCall) -> Vec<(String, Permission)> {
    let session = || PermissionScope::Session(call.session.clone());
    let project = || PermissionScope::Project(call.directory.clone());
    let permission = |covers, scope| Permission { tool: call.tool.clone(), covers, scope };
    let mut offers = vec![
        (texts::allow_session(), permission(Coverage::All, session())),
        (texts::allow_project(&call.tool), permission(Coverage::All, project())),
    ];
    if let Some((what, covers)) = narrow(call) {
        offers.push((texts::allow_part_session(&what), permission(covers.clone(), session())));
        offers.push((texts::allow_part_project(&what), permission(covers, project())));
    }
    offers
}

/// The part of a tool's calls that is like the call, in words.
fn narrow(call: &GuardedCall) -> Option<(String, Coverage)> {
    if let Some(words) = call.words() {
        let prefix = words::prefix(&words);
        let shown = words::shown(prefix.unwrap_or(&words));
        if shown.chars().count() > MAX_SHOWN {
            return None;
        }
        return Some(match prefix {
            Some(prefix) => (texts::part_command_prefix(&shown), Coverage::CommandPrefix(prefix.to_vec())),
            None => (texts::part_command(&shown), Coverage::Command(words)),
        });
    }
    if let Some(path) = call.path() {
        // A permission for everything is one for the tool.
        let folder = path.parent().filter(|folder| folder.parent().is_some())?;
        let shown = folder.display().to_string();
        return Some((texts::part_path(&call.tool, &shown), Coverage::Path(folder.components().collect())));
    }
    let host = call.host()?;
    Some((texts::part_host(&call.tool, &host), Coverage::Host(host)))
}

#[cfg(test)]
mod tests;
