//! Files of users and projects for the system prompt: `AGENTS.md` and its other names, `SYSTEM.md`, `APPEND_SYSTEM.md`;
//! and the texts of skills, templates and rules. Blocks on the disk.

use pi_rpc_files::{
    confinement::Confinement,
    regular_files::{BYTE_ORDER_MARK, INSTRUCTIONS, TEXT},
};
pub use pi_rpc_prompt::ContextFile;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Names of a context file; the first that exists in a directory counts. Source: pi 1.6.0 source, observed.
const CONTEXT_NAMES: [&str; 5] = ["AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD"];

/// The files for the system prompt, and warnings.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PromptFiles {
    /// Context files: the agent directory's, then those of the ancestors of the working directory from the root down.
    /// Each path once.
    pub context: Vec<ContextFile>,
    /// The text that replaces the prompt (`SYSTEM.md`): the project's, else the agent directory's.
    pub system: Option<String>,
    /// The text that is appended to the prompt (`APPEND_SYSTEM.md`), chosen likewise.
    pub append: Option<String>,
    /// A sentence for each file that exists but is unreadable.
    pub warnings: Vec<String>,
}

impl PromptFiles {
    /// Searches the files. `cwd` is absolute; `project` is the project's own directory, such as `.pi` in it, unless the
    /// project is not approved.
    pub fn find(
        agent_directory: &Path,
        cwd: &Path,
        project: Option<&Path>,
        confinement: &Confinement,
    ) -> Self {
        let mut found = Self::without_context(agent_directory, project, confinement);
        let mut ancestors: Vec<&Path> = cwd.ancestors().collect();
        ancestors.reverse();
        for directory in [agent_directory].into_iter().chain(ancestors) {
            found.add_context(directory, confinement);
        }
        found
    }

    /// Searches `SYSTEM.md` and `APPEND_SYSTEM.md` alone, as [`Self::find`] does.
    pub fn without_context(
        agent_directory: &Path,
        project: Option<&Path>,
        confinement: &Confinement,
    ) -> Self {
        let mut found = Self::default();
        let places: Vec<&Path> = project.into_iter().chain([agent_directory]).collect();
        let mut first_of = |name| {
            places.iter().find_map(|folder| {
                let path = folder.join(name);
                found.text(&path, confinement.read(&path, INSTRUCTIONS))
            })
        };
        let (system, append) = (first_of("SYSTEM.md"), first_of("APPEND_SYSTEM.md"));
        (found.system, found.append) = (system, append);
        found
    }

    fn add_context(&mut self, directory: &Path, confinement: &Confinement) {
        for name in CONTEXT_NAMES {
            let path = directory.join(name);
            if self.context.iter().any(|file| file.path == path) {
                return;
            }
            if let Some(content) = self.text(&path, confinement.read_above(&path, INSTRUCTIONS)) {
                return self.context.push(ContextFile { path, content });
            }
        }
    }

    /// The text of a file that was read; `None`: it does not exist or is unreadable.
    fn text(&mut self, path: &Path, read: io::Result<Vec<u8>>) -> Option<String> {
        match read {
            Ok(bytes) => Some(lossy_text(&bytes)),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
            Err(error) => {
                self.warnings.push(format!("{} cannot be read: {error}", path.display()));
                None
            }
        }
    }
}

/// Resolves an option such as `--system-prompt`: the content of the file of that name, if it exists, else the text
/// itself. As in pi.
///
/// # Errors
///
/// A sentence for the user if the file exists but is unreadable.
pub fn text_or_file(text: &str, confinement: &Confinement) -> Result<String, String> {
    match confinement.read_named(Path::new(text), INSTRUCTIONS) {
        Ok(bytes) => Ok(lossy_text(&bytes)),
        // Many texts are not even possible paths.
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

/// Reads the text of a skill, a template or a rule; bytes that are not UTF-8 are U+FFFD.
///
/// # Errors
///
/// The file does not exist, is not a regular file, is too long, unreadable, or out of what confines it.
pub fn text(path: &Path, confinement: &Confinement) -> io::Result<String> {
    Ok(lossy_text(&confinement.read(path, TEXT)?))
}

/// The text in these bytes, without a byte order mark; what is not UTF-8 is U+FFFD.
fn lossy_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text).to_owned()
}
