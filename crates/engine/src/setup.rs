//! Configuration of an engine.

use crate::{
    budget::BudgetPlan, cache_warming::WarmingPlan, limits::Limits, model_choices::ModelChoice,
    toolbox::arguments::Toolbox,
};
use pi_rpc_prompt::{Commands, Instructions, PromptSource};
use pi_rpc_protocol::{
    Dialect, ExtensionError, ExtensionMember, InterruptMode, QueueMode, Rule, ThinkingLevel,
};
use pi_rpc_session::OpenedSession;
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// Configuration of an engine.
pub struct Setup {
    /// The dialect spoken.
    pub dialect: Dialect,
    /// All models, in the registry's order; not empty.
    pub models: Vec<ModelChoice>,
    /// Where in `models` the session starts.
    pub start: usize,
    /// The user has named the model, which overrides that of a resumed session.
    pub chosen: bool,
    /// The models that `cycle_model` goes round, if a scope was given: places in `models`, each with the level that the
    /// scope names for it.
    pub scope: Option<Vec<(usize, Option<ThinkingLevel>)>>,
    /// Whether [`Output::ReloadModels`](crate::Output::ReloadModels) may find further models.
    pub reloads_models: bool,
    /// The level that the user has named; `None`: that of `modes`.
    pub level: Option<ThinkingLevel>,
    /// The user's settings.
    pub modes: Modes,
    /// Limits on queued and stored content.
    pub limits: Limits,
    /// Where sessions are stored.
    pub place: SessionStorage,
    /// The session to resume; `None`: a new one.
    pub session: Option<OpenedSession>,
    /// The tools offered to the model.
    pub tools: Toolbox,
    /// The system prompt.
    pub system_prompt: Instructions,
    /// Extensions, consent patterns, rules, skills and templates.
    pub extension_setup: ExtensionSetup,
    /// The session's name.
    pub name: Option<String>,
    /// The seed of all ids.
    pub seed: u64,
    /// Whether the machine also checks the content of emitted frames, such as counts.
    pub checked: bool,
}

/// Everything that extends the server: extensions, consent patterns, rules, skills and templates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtensionSetup {
    /// The executables of the extensions, in the order in which hooks are sent to them.
    pub extensions: Vec<String>,
    /// Extensions that could not be found or started, to be reported to the host.
    pub troubles: Vec<ExtensionError>,
    /// Extensions that may be missing, as those of a project that is not approved, to be reported to the host.
    pub excused: Vec<ExtensionError>,
    /// Whether nothing is served where an extension cannot be loaded, but for those that may be missing.
    pub requires_extensions: bool,
    /// The Node host among them, if there are extensions of pi's own kind.
    pub hosted: Option<HostedExtensions>,
    /// The slash commands that pi's own extensions are known to have, loaded or not.
    pub named_commands: Vec<NamedCommands>,
    /// The agent's own directory, for the extensions.
    pub agent_directory: String,
    /// The longest line that an extension may write, in bytes, for the extensions.
    pub max_frame: u64,
    /// Whether titles are emitted in dialects that emit them on demand.
    pub emits_title: bool,
    /// Whether nothing that extensions ask or tell the user is shown: dialogs get their default at once.
    pub hides_ui: bool,
    /// Names and globs of the tools whose calls need the host's consent.
    pub confirm: Vec<String>,
    /// Patterns that match no tool of the server; until each has matched a tool, every call needs consent.
    pub confirm_unmatched: Vec<String>,
    /// Whether permissions for good are stored, by [`Output::StorePermission`](crate::Output::StorePermission).
    pub stores_permissions: bool,
    /// How long a todo that is done stays on the list; `None`: for ever.
    pub clear_todos_after: Option<Duration>,
    /// Rules that stop answers, in dialects that have them.
    pub rules: Vec<Rule>,
    /// The prompt templates and skills.
    pub commands: Commands,
    /// The source to rebuild the system prompt from when the tools change; `None`: it is fixed.
    pub prompt_source: Option<PromptSource>,
    /// Whether extensions are told that the project is not trusted.
    pub is_project_untrusted: bool,
    /// The place among [`extensions`](Self::extensions) of the one that connects servers of the Model Context Protocol; `None`: none does.
    pub mcp_connector: Option<usize>,
    /// Whether the model to begin with is selected only once extensions have added theirs.
    pub unchosen: bool,
    /// Options of the command line that only an extension may know, as written; one that none has registered as a flag is
    /// refused.
    pub unknown_options: Vec<String>,
}

/// The slash commands that an extension's source names literally.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCommands {
    /// The extension's file or folder, as errors name it.
    pub path: String,
    /// The names, without `/`.
    pub names: Vec<String>,
}

/// The Node host, which runs pi's own extensions in one process.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Modes {
    /// Whether a turn takes one steering message or all.
    pub steering: QueueMode,
    /// Whether a turn takes one follow-up message or all.
    pub follow_up: QueueMode,
    /// Whether a full context is compacted automatically.
    pub auto_compaction: bool,
    /// Whether a failed run is retried automatically.
    pub auto_retry: bool,
    /// Whether a steering message stops the tools that run.
    pub interrupt: InterruptMode,
    /// The default thinking level.
    pub level: ThinkingLevel,
    /// How often and when a failed run is retried.
    pub retry: RetryPlan,
    /// How much of the context a compaction leaves.
    pub compaction: CompactionPlan,
    /// The same of single models, by `provider/id`.
    pub compaction_overrides: BTreeMap<String, CompactionPlan>,
    /// Tokens of the context window that are kept free for the summary of a branch.
    pub branch_reserve: u64,
    /// Whether the session file is synced to the disk before `agent_end` is emitted.
    pub syncs_runs: bool,
    /// How much a run and the session may spend before the host is asked.
    pub budget: BudgetPlan,
    /// Whether the vendor's cache of the conversation is kept warm, in dialects with entries for what that uses.
    pub cache_warming: WarmingPlan,
}

/// Where sessions are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStorage {
    /// The working directory, for the headers of new sessions.
    pub directory: String,
    /// The folder of new session files; `None`: sessions are kept in memory only.
    pub folder: Option<PathBuf>,
    /// The id of the first new session; `None`: one is generated.
    pub id: Option<String>,
}

impl SessionStorage {
    /// Stores sessions in memory only.
    pub fn in_memory(directory: impl Into<String>) -> Self {
        Self { directory: directory.into(), folder: None, id: None }
    }
}

impl Modes {
    /// The default settings of `dialect`.
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
                longest_ms: defaults.retry_longest_ms.unwrap_or(u64::MAX),
            },
            compaction: CompactionPlan {
                reserve: defaults.reserve_tokens,
                keep_recent: defaults.keep_recent_tokens,
            },
            compaction_overrides: BTreeMap::new(),
            branch_reserve: defaults.reserve_tokens,
            syncs_runs: false,
            budget: BudgetPlan::default(),
            cache_warming: WarmingPlan::default(),
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

/// When and how often a failed run is retried. Source: pi source and xcsh source, their settings `retry`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPlan {
    /// Retries in a row.
    pub most: u64,
    /// The wait before the first retry in milliseconds; it doubles with each further one.
    pub base_ms: u64,
    /// The longest wait that doubling leads to, in milliseconds.
    pub longest_ms: u64,
    /// The longest wait that a provider may ask for, in milliseconds; 0: any.
    pub cap_ms: u64,
}
