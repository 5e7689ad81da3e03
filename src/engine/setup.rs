//! What an engine starts with.

use crate::engine::{limits::Limits, model_choices::ModelChoice, toolbox::arguments::Toolbox};
use crate::{
    prompt::{Commands, Instructions, PromptSource},
    protocol::{Dialect, ExtensionError, ExtensionMember, InterruptMode, QueueMode, Rule, ThinkingLevel},
    session::OpenedSession,
};
use std::{path::PathBuf, time::Duration};

/// What an engine starts with.
pub struct Setup {
    /// The dialect spoken.
    pub dialect: Dialect,
    /// All models, in the registry's order; not empty.
    pub models: Vec<ModelChoice>,
    /// Where in `models` the session starts.
    pub start: usize,
    /// The model was asked for: a session that is taken up does not choose another.
    pub chosen: bool,
    /// The models that `cycle_model` goes round, if a scope was given: places in `models`, each with the level that the
    /// scope names for it.
    pub scope: Option<Vec<(usize, Option<ThinkingLevel>)>>,
    /// The level asked for; `None`: that of `modes`.
    pub level: Option<ThinkingLevel>,
    /// What the user has set.
    pub modes: Modes,
    /// How much is kept.
    pub limits: Limits,
    /// Where sessions are kept.
    pub place: SessionStorage,
    /// The session to take up; `None`: a new one.
    pub session: Option<OpenedSession>,
    /// The tools offered to the model.
    pub tools: Toolbox,
    /// The instructions that come first.
    pub system_prompt: Instructions,
    /// What the server is extended by, and what is asked of the host.
    pub extension_setup: ExtensionSetup,
    /// The session's name.
    pub name: Option<String>,
    /// Tells the conversation apart from others; ids are made from it.
    pub seed: u64,
    /// Check counts and equalities of everything said, too.
    pub checked: bool,
}

/// What the server is extended by, and what is asked of the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtensionSetup {
    /// The executables of the extensions, in the order in which they are asked.
    pub extensions: Vec<String>,
    /// What could not be found or started, for the host.
    pub troubles: Vec<ExtensionError>,
    /// The process among them that hosts pi's own extensions, if there are any.
    pub hosted: Option<HostedExtensions>,
    /// The slash commands that pi's own extensions are known to have, loaded or not.
    pub named_commands: Vec<NamedCommands>,
    /// The agent's own directory, for the extensions.
    pub agent_directory: String,
    /// The longest line that an extension may write, in bytes, for the extensions.
    pub max_frame: u64,
    /// Titles are sent in dialects that send them only on demand.
    pub emits_title: bool,
    /// Names and globs of the tools whose calls the host is asked about.
    pub confirm: Vec<String>,
    /// Those of them that match no tool of the server: until a tool comes that they match, all calls are asked about.
    pub confirm_unmatched: Vec<String>,
    /// How long a todo that is done stays on the list; `None`: for ever.
    pub clear_todos_after: Option<Duration>,
    /// What answers are watched for, in dialects that have it.
    pub rules: Vec<Rule>,
    /// The prompt templates and skills.
    pub commands: Commands,
    /// What the instructions are made of; `None`: they stay as they are whatever tools there are.
    pub prompt_source: Option<PromptSource>,
    /// The model to begin with is known only when extensions have added theirs.
    pub unchosen: bool,
}

/// The slash commands that the source of an extension names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCommands {
    /// The extension's file or folder, as errors name it.
    pub path: String,
    /// The names, without `/`.
    pub names: Vec<String>,
}

/// The process that hosts pi's own extensions.
#[derive(Clone, Debug, PartialEq)]
pub struct HostedExtensions {
    /// Its place in [`ExtensionSetup::extensions`].
    pub place: usize,
    /// The extensions that it loads, in order.
    pub members: Vec<ExtensionMember>,
    /// The command line, for the flags of extensions.
    pub arguments: Vec<String>,
}

/// The settings that a session starts with; commands change them for the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// How many steering messages go at once.
    pub steering: QueueMode,
    /// How many follow-up messages go at once.
    pub follow_up: QueueMode,
    /// Whether a full context is compacted without being asked.
    pub auto_compaction: bool,
    /// Whether a failed run is tried again without being asked.
    pub auto_retry: bool,
    /// Whether a steering message stops the tools that run.
    pub interrupt: InterruptMode,
    /// The thinking level where nothing else names one.
    pub level: ThinkingLevel,
    /// How often and when a failed run is tried again.
    pub retry: RetryPlan,
    /// How much of the context a compaction leaves.
    pub compaction: CompactionPlan,
    /// Whether the session is put on the disk before the end of a run is told.
    pub syncs_runs: bool,
}

/// Where sessions are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStorage {
    /// The working directory, for the headers of new sessions.
    pub directory: String,
    /// The folder of new files; `None`: sessions are kept in memory only.
    pub folder: Option<PathBuf>,
    /// The id of the first session that begins; `None`: one is made up.
    pub id: Option<String>,
}

impl SessionStorage {
    /// Nothing is written.
    pub fn in_memory(directory: impl Into<String>) -> Self {
        Self { directory: directory.into(), folder: None, id: None }
    }
}

impl Modes {
    /// What holds in `dialect` when the user has set nothing.
    pub fn of(dialect: Dialect) -> Self {
        let defaults = &dialect.record().defaults;
        let mode = |text: &str| QueueMode::parse(text).unwrap_or(QueueMode::OneAtATime);
        Self {
            steering: mode(defaults.steering_mode.as_str()),
            follow_up: mode(defaults.follow_up_mode.as_str()),
            auto_compaction: defaults.auto_compaction,
            auto_retry: defaults.auto_retry,
            interrupt: InterruptMode::parse(defaults.interrupt_mode.as_str()).unwrap_or(InterruptMode::Wait),
            level: ThinkingLevel::parse(defaults.thinking_level.as_str()).unwrap_or(ThinkingLevel::Off),
            retry: RetryPlan {
                most: defaults.max_retries,
                base_ms: defaults.retry_base_ms,
                cap_ms: defaults.retry_cap_ms,
            },
            compaction: CompactionPlan {
                reserve: defaults.reserve_tokens,
                keep_recent: defaults.keep_recent_tokens,
            },
            syncs_runs: false,
        }
    }
}

/// How much of the context a compaction leaves. Source: pi source, its settings `compaction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionPlan {
    /// Tokens of the context window that are kept free.
    pub reserve: u64,
    /// Tokens of the newest messages that stay as they are.
    pub keep_recent: u64,
}

/// When and how often a failed run is tried again. Source: pi source and xcsh source, their settings `retry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPlan {
    /// Tries in a row, after the first.
    pub most: u64,
    /// The wait before the first try in milliseconds; each further one is twice as long.
    pub base_ms: u64,
    /// The longest wait that a provider may ask for, in milliseconds; 0: any.
    pub cap_ms: u64,
}
