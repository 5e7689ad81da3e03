//! pi's options and our additions to them, as hosts pass them to `serve`.
//!
//! [`parse`] makes [`HostOptions`] of a command line; `values` reads single values; [`HELP`] is the text of `--help`.

mod budgets;
mod dialects;
mod help;
mod values;

use super::suggestions;
use lexopt::prelude::*;
use pi_rpc_config::{Environment, with_profile};
use pi_rpc_engine::BudgetPlan;
use pi_rpc_host::UnattendedAction;
use pi_rpc_protocol::{Dialect, DialectVersion, ThinkingLevel};
use pi_rpc_server::{Hazard, PrintFormat};
use pi_rpc_session_store::SyncPolicy;
use std::ffi::OsString;
use values::{
    Backend, above_zero, backend, bytes, confirm_patterns, dialect, excluded_tools, expand_short, hazards,
    lease_seconds, log_format, mode, model_patterns, optional_value, passed_keys, path, path_or_id, seconds,
    seed, session_id, session_name, sync, text, tool_list, unattended,
};

pub use dialects::{
    DEFAULT_DIALECT, default_dialect, has_logins, implied_dialect, program_dialect, with_logins,
};
pub use help::{HELP, HelpOption, help_groups, help_options};

/// The options that take something away from a session. A misspelt one is refused: ignored, it would leave all of it.
pub const NARROWING_OPTIONS: [&str; 19] = [
    "tools",
    "no-tools",
    "no-builtin-tools",
    "exclude-tools",
    "confirm-tools",
    "models",
    "no-context-files",
    "no-skills",
    "no-prompt-templates",
    "no-extensions",
    "no-ui",
    "no-mcp",
    "no-approve",
    "no-session",
    "require-extensions",
    "max-cost",
    "max-turns",
    "max-time",
    "unattended",
];

/// The options of a host's command line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostOptions {
    /// `--mode`.
    pub mode: Option<Mode>,
    /// `--print`.
    pub print: bool,
    /// `--list-models`: words that a model's name must contain.
    pub list_models: Option<String>,
    /// The prompts of a run that is printed.
    pub messages: Vec<String>,
    /// `@FILE`: files whose content goes in front of the first prompt.
    pub files: Vec<String>,
    /// `--dialect`.
    pub dialect: Option<Dialect>,
    /// `--wire-login`: whether the host may log its user in.
    pub wire_login: bool,
    /// `--provider`.
    pub provider: Option<String>,
    /// `--model`.
    pub model: Option<String>,
    /// `--thinking`, where it is a level.
    pub thinking: Option<ThinkingLevel>,
    /// `--tools`.
    pub tools: Option<Vec<String>>,
    /// `--no-tools` and `--no-builtin-tools`.
    pub no_tools: Option<DisabledTools>,
    /// Lists of the client of a session host and of its token, which leave less of that host's tools.
    pub narrower_tools: Vec<NarrowerTools>,
    /// `--exclude-tools`: tools that are never offered.
    pub exclude_tools: Vec<String>,
    /// `--models`: patterns of the models to cycle through.
    pub models: Option<Vec<String>>,
    /// `--api-key`.
    pub api_key: Option<String>,
    /// `--pass-keys`: variables with keys that are passed to children.
    pub pass_keys: Vec<String>,
    /// `--system-prompt`: a text, or the name of a file.
    pub system_prompt: Option<String>,
    /// `--append-system-prompt`, each as `--system-prompt`.
    pub append_system_prompt: Vec<String>,
    /// `--no-context-files`.
    pub no_context_files: bool,
    /// `--skill`, each a file or a directory.
    pub skills: Vec<String>,
    /// `--no-skills`.
    pub no_skills: bool,
    /// `--prompt-template`, each a file or a directory.
    pub prompt_templates: Vec<String>,
    /// `--no-prompt-templates`.
    pub no_prompt_templates: bool,
    /// `--name`.
    pub name: Option<String>,
    /// `--session`, `--continue`, `--fork` or `--no-session`; at most one is allowed.
    pub session: SessionStart,
    /// `--session-id`: the id of the session to begin or resume.
    pub session_id: Option<String>,
    /// `--session-dir`.
    pub session_dir: Option<String>,
    /// `--profile`.
    pub profile: Option<String>,
    /// `--extension`: files, folders and packages.
    pub extensions: Vec<String>,
    /// `--no-extensions`: loads only those of `--extension`.
    pub no_extensions: bool,
    /// `--no-ui`: sends no requests of extensions to the user, in dialects that have the option.
    pub no_ui: bool,
    /// `--no-mcp`: connects no servers of `mcp.json`.
    pub no_mcp: bool,
    /// Whether servers of `mcp.json` will add tools; no option says so.
    pub has_mcp_servers: bool,
    /// `--require-extensions` and `--keep-going`: whether nothing is served where an extension cannot be loaded.
    pub require_extensions: Option<bool>,
    /// `--approve` and `--no-approve`: whether the project's code may run, and its texts may be read.
    pub approve: Option<bool>,
    /// `--follow-links`: whether links of the project may lead out of it.
    pub follow_links: bool,
    /// `--confirm-tools`: patterns of tools whose calls need consent.
    pub confirm_tools: Vec<String>,
    /// `--idle-timeout`, in milliseconds; 0: none.
    pub idle_timeout_ms: Option<u64>,
    /// `--sync`.
    pub sync: SyncPolicy,
    /// `--disk-timeout`, in milliseconds; 0: none.
    pub disk_timeout_ms: Option<u64>,
    /// `--max-cost`, `--max-turns`, `--max-time`.
    pub budget: BudgetPlan,
    /// `--max-frame`, in bytes.
    pub max_frame: Option<usize>,
    /// `--max-queue`, in bytes.
    pub max_queue: Option<usize>,
    /// `--max-unread`, in bytes.
    pub max_unread: Option<usize>,
    /// `--max-session`, in bytes.
    pub max_session: Option<usize>,
    /// `--max-bash`.
    pub max_bash: Option<usize>,
    /// `--max-output-file`, in bytes.
    pub max_output_file: Option<u64>,
    /// `--max-output-files`, in bytes.
    pub max_output_files: Option<u64>,
    /// `--listen`: addresses for clients of many sessions.
    pub listen: Vec<String>,
    /// `--nats`: URLs of NATS servers, by which session hosts share their sessions.
    pub nats: Option<String>,
    /// `--nats-credentials`: a file of credentials.
    pub nats_credentials: Option<String>,
    /// `--nats-nkey`: a file with the seed of a key.
    pub nats_nkey: Option<String>,
    /// `--nats-ca`: a file of certificates that vouch for the NATS servers.
    pub nats_ca: Option<String>,
    /// `--nats-cert`: a file with the certificate that the host shows NATS.
    pub nats_cert: Option<String>,
    /// `--nats-key`: a file with its key.
    pub nats_key: Option<String>,
    /// `--nats-replicas`: copies of each stream.
    pub nats_replicas: Option<usize>,
    /// `--nats-lease`: seconds without a heartbeat after which other session hosts take the sessions of this one.
    pub nats_lease: Option<u64>,
    /// `--nats-keep-closed`: how many closed sessions of a cluster can be opened again.
    pub nats_keep_closed: Option<usize>,
    /// `--node`: the name of this session host among those that share sessions.
    pub node: Option<String>,
    /// `--label`: labels of this session host.
    pub labels: Vec<String>,
    /// `--token-file`: SHA-256 of the tokens of clients, with their limits.
    pub token_file: Option<String>,
    /// `--auth-command`: a program that checks tokens.
    pub auth_command: Option<String>,
    /// `--tls-cert`: a file with certificates for `wss://`.
    pub tls_cert: Option<String>,
    /// `--tls-key`: a file with the key of the first of them.
    pub tls_key: Option<String>,
    /// `--upgrade-wait`, in milliseconds.
    pub upgrade_wait_ms: Option<u64>,
    /// `--log-format`.
    pub log_format: LogFormat,
    /// `--allow-origin`: origins of pages that may connect.
    pub origins: Vec<String>,
    /// `--multi-session`: many sessions on stdin and stdout.
    pub multi_session: bool,
    /// `--kept-output`, in bytes.
    pub kept_output: Option<usize>,
    /// `--keep-idle`, in milliseconds.
    pub keep_idle_ms: Option<u64>,
    /// `--webhook`: the address that notices of sessions are sent to.
    pub webhook: Option<String>,
    /// `--webhook-secret-file`: a file with the secret that they are signed by.
    pub webhook_secret_file: Option<String>,
    /// `--webhook-private`: whether the address may be of a private network.
    pub webhook_private: bool,
    /// `--unattended`: what becomes of a run that waits for a permission while no client is there.
    pub unattended: Option<UnattendedAction>,
    /// `--unattended-after`, in milliseconds.
    pub unattended_after_ms: Option<u64>,
    /// `--state`: the folder where open sessions are noted.
    pub state: Option<std::path::PathBuf>,
    /// `--hazard`.
    pub hazards: Vec<Hazard>,
    /// `--seed` of the hazards.
    pub seed: u64,
    /// `--backend acp` and the words behind `--`: the agent that answers in place of models.
    pub agent: Option<Vec<OsString>>,
    /// `--backend rpc:DIALECT` and the words behind `--`: another's server, and what it speaks.
    pub other_server: Option<(DialectVersion, Vec<OsString>)>,
    /// `--help`.
    pub help: bool,
    /// `--version`.
    pub version: bool,
    /// Options that were accepted and ignored.
    pub ignored: Vec<String>,
    /// Those among them that pi does not have: options of extensions, or mistakes.
    pub unknown: Vec<String>,
    /// `--export`: the session file to write as a page.
    pub export: Option<String>,
    /// Unknown options that are one letter or so from a known one, with that one.
    pub misspelt: Vec<(String, &'static str)>,
    /// Warnings for the log.
    pub warnings: Vec<String>,
}

/// `--mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The protocol on stdin and stdout.
    Rpc,
    /// A run, printed as its events.
    Json,
    /// A run, printed as its last answer.
    Text,
}

/// The tools that are off unless `--tools` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DisabledTools {
    /// The built-in ones: `--no-builtin-tools`.
    BuiltIn,
    /// All: `--no-tools`.
    All,
}

/// A list of tools that leaves less of the host's tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NarrowerTools {
    /// Where it comes from, for errors.
    pub source: &'static str,
    /// Its entries, by the grammar of `--tools`; `None`: there is no list.
    pub entries: Option<Vec<String>>,
    /// Whether built-in tools are off that the entries do not name.
    pub no_built_in: bool,
}

/// `--log-format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// An object on each line, with the spans that it belongs to.
    Json,
}

/// The session to start with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SessionStart {
    /// A new one, kept in a file.
    #[default]
    New,
    /// A new one, kept in memory.
    InMemory,
    /// The newest one of this folder, else a new one.
    Newest,
    /// This one: a path, or the beginning of an id.
    Open(String),
    /// A copy of this one: a path, or the beginning of an id.
    Fork(String),
}

impl SessionStart {
    /// The option that selects it.
    const fn option(&self) -> &'static str {
        match self {
            Self::New => "",
            Self::InMemory => "--no-session",
            Self::Newest => "--continue",
            Self::Open(_) => "--session",
            Self::Fork(_) => "--fork",
        }
    }
}

/// The refusal of a command line: text and exit status.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal(pub String, pub u8);

/// The beginning of the names of pi's built-in extensions.
const BUILT_IN_EXTENSION: &str = "builtin:";

/// Why such an extension is refused.
const NO_BUILT_IN: &str = "pi's built-in extensions are part of pi and not of this program; MCP servers of mcp.json are connected \
    without the option";

/// The option of omp that hides what extensions ask and tell the user.
const NO_UI: &str = "--no-ui";

/// Ignored options of pi with a value.
const IGNORED_WITH_VALUE: [&str; 4] = ["theme", "permission-mode", "use-theme", "tui-mode"];

/// Ignored options of pi without a value; the next word is a prompt.
const IGNORED_SWITCHES: [&str; 3] = ["verbose", "offline", "no-themes"];

/// Parses a command line without the program name.
pub fn parse(arguments: &[OsString]) -> Result<HostOptions, Refusal> {
    let mut options = HostOptions::default();
    let (arguments, behind) = match arguments.iter().position(|word| word == "--") {
        Some(at) if has_backend(&arguments[..at]) => (&arguments[..at], &arguments[at + 1..]),
        _ => (arguments, &[][..]),
    };
    let mut parser = lexopt::Parser::from_args(arguments.iter().map(expand_short));
    let usage = |error: lexopt::Error| Refusal(error.to_string(), super::USAGE);
    while let Some(argument) = parser.next().map_err(usage)? {
        match argument {
            Long("dialect") => options.dialect = Some(dialect(&text(&mut parser)?)?),
            Long("wire-login") => options.wire_login = true,
            Long("mode") => options.mode = Some(mode(&text(&mut parser)?)?),
            Long("print") | Short('p') => options.print = true,
            Long("list-models") => {
                options.list_models = Some(optional_value(&mut parser).unwrap_or_default())
            }
            Long("provider") => options.provider = Some(text(&mut parser)?),
            Long("model") => options.model = Some(text(&mut parser)?),
            Long("thinking") => {
                let level = text(&mut parser)?;
                options.thinking = ThinkingLevel::parse(&level);
                if options.thinking.is_none() {
                    let levels = ThinkingLevel::ALL.map(ThinkingLevel::as_str).join(", ");
                    options.warnings.push(format!("--thinking {level}: not one of {levels}; ignored"));
                }
            }
            Long("tools") | Short('t') => options.tools = Some(tool_list(&text(&mut parser)?)?),
            Long("exclude-tools") => options.exclude_tools.extend(excluded_tools(&text(&mut parser)?)?),
            Long("no-tools") => options.no_tools = Some(DisabledTools::All),
            Long("no-builtin-tools") => {
                options.no_tools = options.no_tools.max(Some(DisabledTools::BuiltIn));
            }
            Long("system-prompt") => options.system_prompt = Some(text(&mut parser)?),
            Long("append-system-prompt") => options.append_system_prompt.push(text(&mut parser)?),
            Long("models") => options.models = Some(model_patterns(&text(&mut parser)?)?),
            Long("api-key") => options.api_key = Some(text(&mut parser)?),
            Long("pass-keys") => options.pass_keys.extend(passed_keys(&text(&mut parser)?)?),
            Long("no-context-files") => options.no_context_files = true,
            Long("skill") => options.skills.push(text(&mut parser)?),
            Long("no-skills") => options.no_skills = true,
            Long("prompt-template") => options.prompt_templates.push(text(&mut parser)?),
            Long("no-prompt-templates") => options.no_prompt_templates = true,
            Long("name") | Short('n') => options.name = Some(session_name(&text(&mut parser)?)?),
            Long("extension") | Short('e') => {
                let named = path("--extension", &mut parser)?;
                if named.starts_with(BUILT_IN_EXTENSION) {
                    return Err(Refusal(format!("--extension {named}: {NO_BUILT_IN}"), 1));
                }
                options.extensions.push(named);
            }
            Long("no-extensions") => options.no_extensions = true,
            Long("no-ui") => options.no_ui = true,
            Long("no-mcp") => options.no_mcp = true,
            Long("require-extensions") => options.require_extensions = Some(true),
            Long("keep-going") => options.require_extensions = Some(false),
            Long("approve") | Short('a') => options.approve = Some(true),
            Long("no-approve") => options.approve = Some(false),
            Long("follow-links") => options.follow_links = true,
            Long("confirm-tools") => options.confirm_tools.extend(confirm_patterns(&text(&mut parser)?)?),
            Long("idle-timeout") => {
                options.idle_timeout_ms = Some(seconds("--idle-timeout", &text(&mut parser)?)?);
            }
            Long("sync") => options.sync = sync(&text(&mut parser)?)?,
            Long("disk-timeout") => {
                options.disk_timeout_ms = Some(seconds("--disk-timeout", &text(&mut parser)?)?);
            }
            Long(option @ ("max-cost" | "max-turns" | "max-time")) => {
                let option = option.to_owned();
                budgets::read(&option, &text(&mut parser)?, &mut options.budget)?;
            }
            Long("max-frame") => options.max_frame = Some(bytes("--max-frame", &mut parser)?),
            Long("max-queue") => options.max_queue = Some(bytes("--max-queue", &mut parser)?),
            Long("max-unread") => options.max_unread = Some(bytes("--max-unread", &mut parser)?),
            Long("max-session") => options.max_session = Some(bytes("--max-session", &mut parser)?),
            Long("max-bash") => {
                options.max_bash = Some(above_zero("--max-bash", "a number above 0", &mut parser)?);
            }
            Long("max-output-file") => {
                options.max_output_file = Some(bytes("--max-output-file", &mut parser)? as u64);
            }
            Long("max-output-files") => {
                options.max_output_files = Some(bytes("--max-output-files", &mut parser)? as u64);
            }
            Long("listen") => options.listen.push(text(&mut parser)?),
            Long("nats") => options.nats = Some(text(&mut parser)?),
            Long("nats-credentials") => options.nats_credentials = Some(text(&mut parser)?),
            Long("nats-nkey") => options.nats_nkey = Some(text(&mut parser)?),
            Long("nats-ca") => options.nats_ca = Some(text(&mut parser)?),
            Long("nats-cert") => options.nats_cert = Some(text(&mut parser)?),
            Long("nats-key") => options.nats_key = Some(text(&mut parser)?),
            Long("nats-replicas") => {
                let copies = above_zero("--nats-replicas", "a number of copies above 0", &mut parser)?;
                options.nats_replicas = Some(copies);
            }
            Long("nats-lease") => {
                options.nats_lease = Some(lease_seconds("--nats-lease", &text(&mut parser)?)?);
            }
            Long("nats-keep-closed") => {
                let kept = above_zero("--nats-keep-closed", "a number of sessions above 0", &mut parser)?;
                options.nats_keep_closed = Some(kept);
            }
            Long("node") => options.node = Some(text(&mut parser)?),
            Long("label") => options.labels.push(text(&mut parser)?),
            Long("token-file") => options.token_file = Some(text(&mut parser)?),
            Long("auth-command") => options.auth_command = Some(text(&mut parser)?),
            Long("tls-cert") => options.tls_cert = Some(text(&mut parser)?),
            Long("tls-key") => options.tls_key = Some(text(&mut parser)?),
            Long("upgrade-wait") => {
                options.upgrade_wait_ms = Some(seconds("--upgrade-wait", &text(&mut parser)?)?);
            }
            Long("log-format") => options.log_format = log_format(&text(&mut parser)?)?,
            Long("allow-origin") => options.origins.push(text(&mut parser)?),
            Long("multi-session") => options.multi_session = true,
            Long("kept-output") => options.kept_output = Some(bytes("--kept-output", &mut parser)?),
            Long("keep-idle") => {
                options.keep_idle_ms = Some(seconds("--keep-idle", &text(&mut parser)?)?);
            }
            Long("webhook") => options.webhook = Some(text(&mut parser)?),
            Long("webhook-secret-file") => options.webhook_secret_file = Some(text(&mut parser)?),
            Long("webhook-private") => options.webhook_private = true,
            Long("unattended") => options.unattended = Some(unattended(&text(&mut parser)?)?),
            Long("unattended-after") => {
                options.unattended_after_ms = Some(seconds("--unattended-after", &text(&mut parser)?)?);
            }
            Long("state") => options.state = Some(text(&mut parser)?.into()),
            Long("hazard") => options.hazards = hazards(&text(&mut parser)?)?,
            Long("seed") => options.seed = seed(&text(&mut parser)?)?,
            Long("backend") => match backend(&text(&mut parser)?, behind)? {
                Backend::Agent => options.agent = Some(behind.to_vec()),
                Backend::Server(speaks) => options.other_server = Some((speaks, behind.to_vec())),
            },
            Long("help") | Short('h') => options.help = true,
            Long("version") | Short('v') => options.version = true,
            Long("export") => options.export = Some(path("--export", &mut parser)?),
            Long("no-session") => options.set_session(SessionStart::InMemory)?,
            Long("continue") | Short('c') => options.set_session(SessionStart::Newest)?,
            Long("session") => {
                options.set_session(SessionStart::Open(path_or_id("--session", &mut parser)?))?
            }
            Long("fork") => options.set_session(SessionStart::Fork(path_or_id("--fork", &mut parser)?))?,
            Long("resume") | Short('r') => match optional_value(&mut parser) {
                Some(named) => options.set_session(SessionStart::Open(named))?,
                None => return Err(Refusal(RESUME_REFUSED.to_owned(), 1)),
            },
            Long("session-id") => options.session_id = Some(session_id(&text(&mut parser)?)?),
            Long("session-dir") => options.session_dir = Some(text(&mut parser)?),
            Long("profile") => options.profile = Some(text(&mut parser)?),
            Long(name) if IGNORED_WITH_VALUE.contains(&name) => {
                options.ignored.push(format!("--{name}"));
                text(&mut parser)?;
            }
            Long(name) if IGNORED_SWITCHES.contains(&name) => options.ignored.push(format!("--{name}")),
            // pi takes unknown options for flags of extensions, and the word behind one for its value.
            Long(name) => {
                let name = name.to_owned();
                if let Some(known) = suggestions::suggest(&name, HELP) {
                    if NARROWING_OPTIONS.contains(&known) {
                        let text = format!("--{name}: unknown; did you mean --{known}?");
                        return Err(Refusal(text, super::USAGE));
                    }
                    options.misspelt.push((format!("--{name}"), known));
                }
                options.ignored.push(format!("--{name}"));
                options.unknown.push(format!("--{name}"));
                optional_value(&mut parser);
            }
            // It begins pi's `-xt`, which takes tools away.
            Short('x') => {
                let text = "-x: unknown; did you mean -xt <A,B> (--exclude-tools)?";
                return Err(Refusal(text.to_owned(), super::USAGE_OF_PI));
            }
            Short(letter) => {
                options.ignored.push(format!("-{letter}"));
                options.unknown.push(format!("-{letter}"));
                parser.optional_value();
            }
            Value(value) => {
                let value = value.to_string_lossy();
                match value.strip_prefix('@') {
                    Some(file) => options.files.push(file.to_owned()),
                    None => options.messages.push(value.into_owned()),
                }
            }
        }
    }
    if options.print_format().is_none() && !options.files.is_empty() {
        return Err(Refusal("@file arguments are not supported in RPC mode".to_owned(), 1));
    }
    match options.session {
        SessionStart::Open(_) | SessionStart::Newest if options.session_id.is_some() => {
            let text = format!("--session-id cannot be combined with {}", options.session.option());
            Err(Refusal(text, 1))
        }
        _ => Ok(options),
    }
}

/// Whether an agent is to be started, whose command line is behind `--`.
fn has_backend(arguments: &[OsString]) -> bool {
    arguments.iter().any(|word| word.to_str().is_some_and(|word| word.split('=').next() == Some("--backend")))
}

/// The refusal of `--resume` without a value.
const RESUME_REFUSED: &str = "--resume: expected the path or id of a session; a list to choose from is not supported. Use --session <path|id> or --continue";

impl HostOptions {
    /// The environment of the process, with the profile of these options.
    pub fn environment(&self, dialect: Dialect) -> Result<Environment, Refusal> {
        let environment = Environment::of_process();
        match &self.profile {
            Some(name) => with_profile(dialect, "--profile", name, &environment)
                .map_err(|error| Refusal(error.to_string(), super::USAGE)),
            None => Ok(environment),
        }
    }

    /// The output format of print mode; `None`: the protocol is served.
    pub fn print_format(&self) -> Option<PrintFormat> {
        match (self.mode, self.print) {
            (Some(Mode::Json), _) => Some(PrintFormat::Events),
            (Some(Mode::Text), _) | (None, true) => Some(PrintFormat::Answer),
            (Some(Mode::Rpc), _) | (None, false) => None,
        }
    }

    /// Takes the options that the dialect does not have for unknown ones.
    pub fn in_dialect(mut self, dialect: Dialect) -> Self {
        if self.no_ui && !dialect.record().can_hide_ui {
            self.no_ui = false;
            self.ignored.push(NO_UI.to_owned());
            self.unknown.push(NO_UI.to_owned());
        }
        self
    }

    /// Warnings about unknown options that are ignored, where they are likely to be meant for known ones.
    pub fn misspelt_warnings(&self) -> impl Iterator<Item = String> {
        self.misspelt
            .iter()
            .map(|(option, known)| format!("{option}: unknown, ignored; did you mean --{known}?"))
    }

    /// The refusal of an unknown option, with the known one that it is likely to be meant for.
    pub fn unknown_refusal(&self, unknown: &str) -> Refusal {
        let known = self.misspelt.iter().find(|(option, _)| option == unknown);
        let hint = known.map(|(_, known)| format!("; did you mean --{known}?")).unwrap_or_default();
        Refusal(format!("Unknown option: {unknown}{hint}"), 1)
    }

    fn set_session(&mut self, requested: SessionStart) -> Result<(), Refusal> {
        let known = std::mem::replace(&mut self.session, requested);
        match (known.option(), self.session.option()) {
            (known, requested) if known.is_empty() || known == requested => Ok(()),
            (known, requested) => Err(Refusal(format!("{requested} cannot be combined with {known}"), 1)),
        }
    }
}

/// Options that only pi's command line has: with one of them, no subcommand is needed.
pub const HOST_OPTIONS: [&str; 7] =
    ["--mode", "--print", "-p", "--version", "-v", "--list-models", "--export"];

/// Whether a word is an option that only pi's command line has.
pub fn is_host_option(word: &str) -> bool {
    HOST_OPTIONS.contains(&word) || word.starts_with("--mode=") || word.starts_with("--list-models=")
}

#[cfg(test)]
mod tests;
