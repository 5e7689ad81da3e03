//! Approval of what a project brings along. Every other part of the program checks here before such code runs, and
//! before its texts (settings, system prompts, skills, prompt templates, rules) are read.
//!
//! A project is the working directory. Its code is what its settings directory (`.pi`) holds and names. The code of an
//! agent directory that a variable places inside of the working directory belongs to the project, too; that of the
//! user's home never does. A project is approved by the command line, by an extension of the user's, by the user's
//! `trust.json`, or by `defaultProjectTrust` of the user's settings, in this order. Files in an agent directory inside
//! of the working directory approve nothing: a project would approve itself.
//!
//! | Brought along | Without a decision |
//! |---|---|
//! | [`ProjectCode::Executable`] | is left out |
//! | other code | is left out where the dialect wants an approval for code or all (`projectApproval`), and on a session host |
//! | texts | are left out where the dialect wants an approval for all, and on a session host whose own dialect does |
//!
//! Nothing of a refused project is run or read, in any dialect, but context files (`AGENTS.md`). Sources: pi 1.6.0's
//! `security.md`; decided here for executables, other dialects and session hosts.

use super::{
    Directories, Settings,
    decisions::{self, DECISIONS, Decisions},
};
use pi_rpc_protocol::{Dialect, DialectProjectApproval, JsonObject};
use serde_json::Value;
use std::path::{Path, PathBuf};

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
    /// What needs an approval, beyond executables.
    needed_for: DialectProjectApproval,
    /// Names of settings files.
    settings_files: &'static [&'static str],
    /// The working directory.
    working: PathBuf,
    directories: Directories,
    /// Whether the agent directory lies inside of the working directory.
    agent_is_inside: bool,
    /// Whether the agent directory belongs to the project.
    agent_is_of_project: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Decision {
    approves: bool,
    /// The origin of the decision.
    by: String,
}

/// What an extension of the user's has decided about a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionDecision {
    /// Whether it approves the project.
    pub approves: bool,
    /// The extension's path.
    pub by: String,
}

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
            needed_for: dialect.record().project_approval,
            settings_files: dialect.record().directories.settings_files,
            working: real(working),
            directories: directories.clone(),
            agent_is_inside,
            agent_is_of_project: agent_is_inside && directories.is_placed(dialect),
        }
    }

    /// Decides by the command line (`option`), else by an extension, else by the nearest folder in the text of the
    /// user's [`DECISIONS`], else by `defaultProjectTrust` of the user's settings. Also returns a fault in the text.
    pub(super) fn with_decision(
        mut self,
        option: Option<bool>,
        extension: Option<&ExtensionDecision>,
        saved: Option<&str>,
        default: Option<&str>,
    ) -> (Self, Option<String>) {
        if let Some(approves) = option {
            let by = if approves { "--approve" } else { "--no-approve" };
            self.decision = Some(Decision { approves, by: by.to_owned() });
            return (self, None);
        }
        if let Some(ExtensionDecision { approves, by }) = extension {
            self.decision = Some(Decision { approves: *approves, by: by.clone() });
            return (self, None);
        }
        if self.agent_is_inside {
            return (self, None);
        }
        let saved = match saved.map_or_else(|| Ok(Decisions::new()), decisions::read) {
            Ok(saved) => saved,
            Err(error) => {
                let path = self.directories.agent.join(DECISIONS);
                // An unreadable file counts as a refusal: it may hold one.
                self.decision = Some(Decision { approves: false, by: DECISIONS.to_owned() });
                let text = format!("{}: {error}; no project is approved", path.display());
                return (self, Some(text));
            }
        };
        let of = |folder: &Path| *saved.get(folder.to_str()?)?;
        let saved = self.working.ancestors().find_map(of);
        let saved = saved.map(|approves| Decision { approves, by: DECISIONS.to_owned() });
        let default = match default {
            Some("always") => Some(true),
            Some("never") => Some(false),
            _ => None,
        };
        let default = default.map(|approves| Decision { approves, by: "defaultProjectTrust".to_owned() });
        self.decision = saved.or(default);
        (self, None)
    }

    /// Narrows the approval to what a host with `own`, the approval of its own dialect, allows: it runs no code without
    /// an approval, and a client that chooses another dialect gains nothing.
    pub(super) fn on_host(mut self, own: Self) -> Self {
        use DialectProjectApproval::{All, Code, None as Nothing};
        self.needed_for = match (self.needed_for, own.needed_for) {
            (All, _) | (_, All) => All,
            (Nothing | Code, Nothing | Code) => Code,
        };
        let refuses = |decision: &Decision| !decision.approves;
        self.decision = own.decision.filter(refuses).or(self.decision);
        self
    }

    /// Whether `code` in `directory`, the agent's or the project's, may run.
    pub fn admits(&self, directory: &Path, code: ProjectCode) -> bool {
        !self.is_of_project(directory)
            || match &self.decision {
                Some(decision) => decision.approves,
                None => self.needed_for == DialectProjectApproval::None && code != ProjectCode::Executable,
            }
    }

    /// Whether the project's texts may be read: settings, system prompts, skills, prompt templates, rules.
    pub fn admits_texts(&self) -> bool {
        match &self.decision {
            Some(decision) => decision.approves,
            None => self.needed_for != DialectProjectApproval::All,
        }
    }

    /// Whether somebody has approved the project.
    pub fn is_approved(&self) -> bool {
        self.decision.as_ref().is_some_and(|decision| decision.approves)
    }

    /// Whether pi would call the project trusted: it is approved, or has nothing that needs it and is not refused.
    pub fn is_trusted(&self, home: Option<&Path>) -> bool {
        match &self.decision {
            Some(decision) => decision.approves,
            None => self.admits_texts() || self.gated(home).is_empty(),
        }
    }

    /// What the project has that pi reads of approved ones alone, as paths.
    ///
    /// Source: pi 1.6.0's `security.md`.
    pub fn gated(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let own = self.settings_files.iter().chain(&GATED).map(|name| self.directories.project.join(name));
        let of_user = home.map(|home| real(home).join(SHARED_SKILLS));
        let shared = self.working.ancestors().map(|folder| folder.join(SHARED_SKILLS));
        let shared = shared.filter(|folder| Some(folder) != of_user.as_ref());
        own.chain(shared).filter(|path| path.symlink_metadata().is_ok()).collect()
    }

    /// A text for the user about the project's texts that are left out; `None`: there are none.
    pub(super) fn withheld_texts(&self, home: Option<&Path>) -> Option<String> {
        if self.admits_texts() {
            return None;
        }
        let mut texts = self.gated(home);
        texts.extend(Some(self.directories.project.join(RULES)).filter(|path| path.exists()));
        // Each extension has an error of its own.
        texts.retain(|path| !path.ends_with(EXTENSIONS));
        let names: Vec<String> = texts.iter().map(|path| path.display().to_string()).collect();
        (!names.is_empty()).then(|| {
            format!(
                "the project is not approved, so these are left out: {}; {}",
                names.join(", "),
                self.how()
            )
        })
    }

    /// A text for the host: which code is left out, and how to approve the project.
    pub fn refusal(&self, code: ProjectCode) -> String {
        format!("{} of a project that is not approved is left out: {}", code.as_str(), self.how())
    }

    /// Why the project is not approved, and how to approve it.
    fn how(&self) -> String {
        let agent = self.directories.agent.display();
        match &self.decision {
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
        }
    }

    /// Removes what is withheld from the settings in `path`: from `settings` the shell (lists are checked later), from
    /// `written`, which extensions see, everything; where the project's texts are withheld, all of its settings but the
    /// lists. Returns the settings with a single value that name code and were removed.
    pub(super) fn withhold(
        &self,
        path: &Path,
        settings: &mut Settings,
        written: &mut JsonObject,
    ) -> Vec<WithheldCode> {
        let directory = path.parent().unwrap_or(path);
        if self.is_of_project(directory) && !self.is_approved() {
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
        if directory == self.directories.project && !self.admits_texts() {
            written.clear();
            let (extensions, packages) = (&mut settings.extensions, &mut settings.packages);
            *settings = Settings {
                extensions: std::mem::take(extensions),
                packages: std::mem::take(packages),
                ..Settings::default()
            };
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

    /// Whether the agent directory lies inside of the working directory, so that its files may be the project's.
    pub const fn agent_is_inside(&self) -> bool {
        self.agent_is_inside
    }

    pub(super) fn is_of_project(&self, directory: &Path) -> bool {
        directory == self.directories.project
            || self.agent_is_of_project && directory == self.directories.agent
    }
}

/// What pi reads of approved projects alone, in their own directory, besides the settings. Source: pi 1.6.0's `security.md`.
const GATED: [&str; 7] =
    ["mcp.json", EXTENSIONS, "skills", "prompts", "themes", "SYSTEM.md", "APPEND_SYSTEM.md"];

/// The folder of extensions.
const EXTENSIONS: &str = "extensions";

/// The folder of rules.
const RULES: &str = "rules";

/// The skills that agents share, in a project, above it, and in the user's home.
const SHARED_SKILLS: &str = ".agents/skills";

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
