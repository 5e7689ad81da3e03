//! What a prompt can call with a leading `/`, besides the commands of extensions.

use crate::protocol::SlashCommand;
use std::path::PathBuf;

/// The templates and skills of a session; there are none yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {}

/// Instructions for a task, in a file.
#[derive(Debug)]
pub struct Skill {
    /// Its file.
    pub path: PathBuf,
}

impl Skill {
    /// What it stands for, made of its file's text.
    pub fn expand(&self, file: &str, _arguments: &str) -> String {
        file.to_owned()
    }
}

impl Commands {
    /// What `text` stands for, where it calls a template.
    pub const fn template(&self, _text: &str) -> Option<String> {
        None
    }

    /// The skill that `text` calls, and the arguments behind it.
    pub const fn skill<'a>(&self, _text: &'a str) -> Option<(&Skill, &'a str)> {
        None
    }

    /// What `get_commands` lists of them.
    pub fn list(&self) -> impl Iterator<Item = SlashCommand> {
        [].into_iter()
    }
}
