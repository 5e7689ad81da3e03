//! The files in which users and projects say something to every model: `AGENTS.md` or `CLAUDE.md`, `SYSTEM.md`,
//! `APPEND_SYSTEM.md`; and the texts of skills, templates and rules. Blocks on the disk.

use crate::regular_files::{self, INSTRUCTIONS, TEXT};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The names of a context file; the first one that a directory has counts.
const CONTEXT_NAMES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// A file that goes into the prompt, with where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it says; bytes that are not UTF-8 are U+FFFD.
    pub content: String,
}

/// What was found, and what could not be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PromptFiles {
    /// The agent directory's file first, then those of the ancestors of the working directory from the root down. Each
    /// path once.
    pub context: Vec<ContextFile>,
    /// What replaces the prompt (`SYSTEM.md`): the project's, else the agent directory's.
    pub system: Option<String>,
    /// What is added to the prompt (`APPEND_SYSTEM.md`), chosen the same way.
    pub append: Option<String>,
    /// A sentence for each file that is there and cannot be read.
    pub warnings: Vec<String>,
}

impl PromptFiles {
    /// Looks for the files. `cwd` is absolute; `config` is the name of a project's own directory, such as `.pi`.
    pub fn find(agent_directory: &Path, cwd: &Path, config: &str) -> Self {
        let mut found = Self::default();
        let mut ancestors: Vec<&Path> = cwd.ancestors().collect();
        ancestors.reverse();
        for directory in [agent_directory].into_iter().chain(ancestors) {
            found.add_context(directory);
        }
        let places = [cwd.join(config), agent_directory.to_owned()];
        found.system = found.first_of(&places, "SYSTEM.md");
        found.append = found.first_of(&places, "APPEND_SYSTEM.md");
        found
    }

    fn add_context(&mut self, directory: &Path) {
        for name in CONTEXT_NAMES {
            let path = directory.join(name);
            if self.context.iter().any(|file| file.path == path) {
                return;
            }
            if let Some(content) = self.read(&path) {
                return self.context.push(ContextFile { path, content });
            }
        }
    }

    fn first_of(&mut self, directories: &[PathBuf], name: &str) -> Option<String> {
        directories.iter().find_map(|directory| self.read(&directory.join(name)))
    }

    /// What the file says, if it is there and can be read.
    fn read(&mut self, path: &Path) -> Option<String> {
        match regular_files::read(path, INSTRUCTIONS) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            Err(error) => {
                self.warnings.push(format!("{} cannot be read: {error}", path.display()));
                None
            }
        }
    }
}

/// What an option such as `--system-prompt` says: the contents of the file of that name, if there is one, else the text
/// itself. As in pi.
///
/// # Errors
///
/// A sentence for people when the file is there and cannot be read.
pub fn text_or_file(text: &str) -> Result<String, String> {
    match regular_files::read(Path::new(text), INSTRUCTIONS) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        // A text need not be anything that could be a path.
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::PermissionDenied | ErrorKind::Other | ErrorKind::FileTooLarge
            ) =>
        {
            Err(format!("{text} cannot be read: {error}; the name itself is taken for the prompt"))
        }
        Err(_) => Ok(text.to_owned()),
    }
}

/// The text of a skill, a template or a rule; bytes that are not UTF-8 are U+FFFD.
///
/// # Errors
///
/// When it is not there, not a regular file, too long, or cannot be read.
pub fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&regular_files::read(path, TEXT)?).into_owned())
}
