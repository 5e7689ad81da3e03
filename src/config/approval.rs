//! Approval of code that a project brings along. Every other part of the program checks here before such code runs.
//!
//! A project is the working directory. Its code is what its settings directory (`.pi`) holds and names. An agent
//! directory that a variable places inside of the working directory belongs to the project, too; the one in the
//! user's home never does. A project is approved by the command line, by the user's `trust.json`, or by
//! `defaultProjectTrust` of the user's settings, in this order. Files in an agent directory inside of the working
//! directory approve nothing: a project would approve itself.
//!
//! | Code | Without a decision |
//! |---|---|
//! | [`ProjectCode::Executable`] | is left out |
//! | everything else | is left out where the dialect's original asks first (`projectApproval`), else runs as there |
//!
//! Nothing of a refused project runs, in any dialect. Sources: pi 1.5.2's `security.md`; own for executables.

use super::{Directories, Settings};
use crate::protocol::{Dialect, JsonObject};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// A kind of code that a project can bring along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectCode {
    /// An extension that is a program of its own: in the folder of extensions, as the index of a folder, or named by
    /// `extensions` of the settings.
    Executable,
    /// An extension of pi's kind, in TypeScript or JavaScript, in the same places.
    Script,
    /// A package that `packages` of the settings name, with all that is in it.
    Package,
    /// `shellPath` of the settings: the shell that runs commands.
    ShellPath,
    /// `shellCommandPrefix` of the settings: what runs before each command.
    ShellPrefix,
    /// A command that prints a key or a header, in `models.json` or `auth.json`.
    KeyCommand,
    /// The programs in `bin/` of an agent directory, which commands find before others.
    Programs,
}

impl ProjectCode {
    /// The name in error texts.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Executable => "an executable",
            Self::Script => "an extension",
            Self::Package => "a package",
            Self::ShellPath => "shellPath",
            Self::ShellPrefix => "shellCommandPrefix",
            Self::KeyCommand => "a command that prints a key",
            Self::Programs => "a folder of programs",
        }
    }
}

/// Code that was left out because the project is not approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldCode {
    /// The file that holds or names it.
    pub path: PathBuf,
    /// A text for the user: what was left out, and how to approve the project.
    pub text: String,
}

/// The decision whether a project's code may run, and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    decision: Option<Decision>,
    /// Whether the dialect's original runs nothing before the project is approved.
    original_asks: bool,
    /// The working directory.
    working: PathBuf,
    directories: Directories,
    /// Whether the agent directory lies inside of the working directory.
    agent_is_inside: bool,
    /// Whether the agent directory belongs to the project.
    agent_is_of_project: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Decision {
    approves: bool,
    /// The origin of the decision.
    by: &'static str,
}

/// The file with the user's decisions by folder, in the agent directory.
pub(super) const DECISIONS: &str = "trust.json";

/// Settings that name code, with the kind of code. Their lists are also checked entry by entry, where extensions and
/// packages are searched.
const CODE_SETTINGS: [(&str, ProjectCode); 5] = [
    ("shellPath", ProjectCode::ShellPath),
    ("shellCommandPrefix", ProjectCode::ShellPrefix),
    ("extensions", ProjectCode::Script),
    ("packages", ProjectCode::Package),
    ("npmCommand", ProjectCode::Package),
];

impl Approval {
    /// Creates the approval of the project in `working`, without a decision. Resolves the directories' links.
    pub(super) fn new(dialect: Dialect, directories: &Directories, working: &Path) -> Self {
        let agent = &directories.agent;
        let agent_is_inside = agent.starts_with(working) || real(agent).starts_with(real(working));
        Self {
            decision: None,
            original_asks: dialect.record().project_approval,
            working: real(working),
            directories: directories.clone(),
            agent_is_inside,
            agent_is_of_project: agent_is_inside && directories.is_placed(dialect),
        }
    }

    /// Decides by the command line (`said`), else by the nearest folder in the text of the user's [`DECISIONS`], else
    /// by `defaultProjectTrust` of the user's settings. Also returns a fault in the text.
    pub(super) fn with_decision(
        mut self,
        option: Option<bool>,
        decisions: Option<&str>,
        default: Option<&str>,
    ) -> (Self, Option<String>) {
        if let Some(approves) = option {
            let by = if approves { "--approve" } else { "--no-approve" };
            self.decision = Some(Decision { approves, by });
            return (self, None);
        }
        if self.agent_is_inside {
            return (self, None);
        }
        let read = decisions.map(serde_json::from_str::<BTreeMap<String, Value>>).transpose();
        let (saved, warning) = match read {
            Ok(saved) => (saved.unwrap_or_default(), None),
            Err(error) => {
                let path = self.directories.agent.join(DECISIONS);
                // An unreadable file counts as a refusal: it may hold one.
                self.decision = Some(Decision { approves: false, by: DECISIONS });
                let text = format!("{}: {error}; no project is approved", path.display());
                return (self, Some(text));
            }
        };
        // A decision that is none counts as a refusal: it may be meant as one.
        let of = |folder: &Path| match saved.get(folder.to_str()?)? {
            Value::Null => None,
            decision => Some(decision.as_bool().unwrap_or(false)),
        };
        let saved = self.working.ancestors().find_map(of);
        let saved = saved.map(|approves| Decision { approves, by: DECISIONS });
        let default = match default {
            Some("always") => Some(true),
            Some("never") => Some(false),
            _ => None,
        };
        let default = default.map(|approves| Decision { approves, by: "defaultProjectTrust" });
        self.decision = saved.or(default);
        (self, warning)
    }

    /// Whether the user has approved the project.
    pub fn is_approved(&self) -> bool {
        self.decision.is_some_and(|decision| decision.approves)
    }

    /// Whether `code` in `directory`, the agent's or the project's, may run.
    pub fn admits(&self, directory: &Path, code: ProjectCode) -> bool {
        !self.is_of_project(directory)
            || match self.decision {
                Some(decision) => decision.approves,
                None => !self.original_asks && code != ProjectCode::Executable,
            }
    }

    /// A text for the host: which code is left out, and how to approve the project.
    pub fn refusal(&self, code: ProjectCode) -> String {
        let agent = self.directories.agent.display();
        let how = match self.decision {
            Some(Decision { by, .. }) => format!("it was refused by {by}; --approve approves it"),
            None if self.agent_is_inside => {
                format!("--approve approves it; {agent} lies inside of the project and cannot")
            }
            None => {
                let working = Value::from(self.working.to_string_lossy());
                format!(
                    "--approve approves it, or {{{working}: true}} in {agent}/{DECISIONS}, or \
                     \"defaultProjectTrust\": \"always\" in {agent}/settings.json"
                )
            }
        };
        format!("{} of a project that is not approved is left out: {how}", code.as_str())
    }

    /// Removes withheld code from the settings in `path`: from `settings` the shell (lists are checked later), from
    /// `written`, which extensions see, everything. Returns the settings with a single value that were removed.
    pub(super) fn withhold(
        &self,
        path: &Path,
        settings: &mut Settings,
        written: &mut JsonObject,
    ) -> Vec<WithheldCode> {
        let directory = path.parent().unwrap_or(path);
        if self.is_of_project(directory) && !self.decision.is_some_and(|decision| decision.approves) {
            settings.pass_keys.clear();
        }
        let mut withheld_code = Vec::new();
        for (key, code) in CODE_SETTINGS.into_iter().filter(|(_, code)| !self.admits(directory, *code)) {
            written.remove(key);
            let value = match code {
                ProjectCode::ShellPath => settings.shell_path.take(),
                ProjectCode::ShellPrefix => settings.shell_command_prefix.take(),
                _ => None,
            };
            if value.is_some() {
                withheld_code.push(WithheldCode { path: path.to_owned(), text: self.refusal(code) });
            }
        }
        withheld_code
    }

    /// The folder of programs for commands, or, if it exists but is withheld, a note.
    pub(super) fn programs(&self) -> (Option<PathBuf>, Option<WithheldCode>) {
        let path = self.directories.agent.join("bin");
        match self.admits(&self.directories.agent, ProjectCode::Programs) {
            true => (Some(path), None),
            false => {
                let withheld_code = WithheldCode { text: self.refusal(ProjectCode::Programs), path };
                (None, Some(withheld_code).filter(|withheld_code| withheld_code.path.is_dir()))
            }
        }
    }

    fn is_of_project(&self, directory: &Path) -> bool {
        directory == self.directories.project
            || self.agent_is_of_project && directory == self.directories.agent
    }
}

/// Resolves links and `..`; a path that does not exist stays as it is.
fn real(path: &Path) -> PathBuf {
    let existing = path.ancestors().find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    let Some((folder, real)) = existing else { return path.to_owned() };
    match path.strip_prefix(folder) {
        Ok(rest) if rest.as_os_str().is_empty() => real,
        Ok(rest) => real.join(rest),
        Err(_) => path.to_owned(),
    }
}
