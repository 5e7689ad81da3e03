//! Reads `settings.json` (in omp `config.yml`) of the user, and of the project over it.

use super::{
    Environment, ListedPackages, Package,
    object_file::{is_yaml, parse_yaml},
};
use pi_rpc_model::{
    http_options::{CacheWarming, HttpOptions, Transport},
    request::RequestOptions,
    retry::RetryPolicy,
};
use pi_rpc_protocol::{InterruptMode, JsonObject, Model, QueueMode, ThinkingLevel};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Number, Value};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

/// Settings of a session; `None` and empty: not set, so that the dialect's default holds.
///
/// Source: pi's `settings.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// `defaultProvider`, in omp of `modelRoles.default`: with [`Self::default_model`], the model that a session starts with.
    pub default_provider: Option<String>,
    /// `defaultModel`: its id.
    pub default_model: Option<String>,
    /// `defaultThinkingLevel`.
    pub default_thinking_level: Option<ThinkingLevel>,
    /// `modelThinkingLevels`: that of single models, by `provider/id`. Source: pi 1.5.2's `settings.md`.
    pub model_thinking_levels: BTreeMap<String, ThinkingLevel>,
    /// `steeringMode`, formerly `queueMode`.
    pub steering_mode: Option<QueueMode>,
    /// `followUpMode`.
    pub follow_up_mode: Option<QueueMode>,
    /// `interruptMode`: whether a steering message stops the tools that run. Source: xcsh source.
    pub interrupt_mode: Option<InterruptMode>,
    /// `compaction`.
    pub compaction: CompactionSettings,
    /// `branchSummary.reserveTokens`: tokens to keep free for the summary of a branch.
    pub branch_reserve_tokens: Option<u64>,
    /// `retry`.
    pub retry: RetrySettings,
    /// `httpProxy`: the proxy for providers and logins where the environment names none; only the user's counts. Source: pi
    /// 1.6.0's `settings.md`.
    pub http_proxy: Option<String>,
    /// `npmCommand`: npm and its first arguments; only the user's counts.
    pub npm_command: Option<Vec<String>>,
    /// `thinkingBudgets`: thinking budgets in tokens, by level.
    pub thinking_budgets: BTreeMap<ThinkingLevel, u64>,
    /// `enabledModels`: patterns of the models that `cycle_model` goes through.
    pub enabled_models: Option<Vec<String>>,
    /// `defaultTools`: one list per file that has one, the user's first. Source: pi 1.6's `settings.md`.
    pub default_tools: Vec<DefaultTools>,
    /// `codemode`. Source: pi 1.6.0's `settings.md`.
    pub codemode: CodemodeSettings,
    /// Keys that narrow what a session may do and whose values cannot be heeded, as errors: no session starts with them.
    pub faults: Vec<String>,
    /// `sessionDir`: the folder of all sessions. Source: pi 0.73.1's `settings.md`.
    pub session_dir: Option<String>,
    /// `shellPath`: the shell that runs commands.
    pub shell_path: Option<String>,
    /// `shellCommandPrefix`: lines before every command.
    pub shell_command_prefix: Option<String>,
    /// `extensions`: files, folders and patterns; one list per file that has one, the user's first.
    pub extensions: Vec<PathList>,
    /// `packages`, likewise: packages with extensions, skills and prompt templates.
    pub packages: Vec<ListedPackages>,
    /// `defaultProjectTrust`: whether projects without a decision may run their code; only the user's counts.
    pub default_project_trust: Option<String>,
    /// `passKeys`: variables with keys that commands and extensions get nevertheless; only the user's counts.
    pub pass_keys: Vec<String>,
    /// `images.autoResize`: scale large images down.
    pub resizes_images: Option<bool>,
    /// `images.blockImages`: send no images to models.
    pub blocks_images: Option<bool>,
    /// `skills`: one list per file that has one, the user's first. None replaces another.
    pub skills: Vec<PathList>,
    /// `prompts`, likewise: prompt templates.
    pub prompts: Vec<PathList>,
    /// `httpIdleTimeoutMs`: longest silence of a provider in milliseconds; 0 (in the file also `"disabled"`):
    /// unlimited. Source: pi 1.5.2's `settings.md`.
    pub http_idle_timeout_ms: Option<u64>,
    /// `cacheWarming`: whether vendors' caches are kept warm; only the user's counts, as it costs money.
    pub cache_warming: Option<CacheWarming>,
    /// `transport`: how answers come from providers that also speak WebSockets.
    pub transport: Option<Transport>,
    /// `websocketConnectTimeoutMs`: time limit for opening a WebSocket, likewise.
    pub socket_connect_timeout_ms: Option<u64>,
    /// `tasks.todoClearDelay`: how long a finished todo stays on the list, in seconds; negative: forever. Source:
    /// xcsh source.
    pub todo_clear_delay: Option<Number>,
}

/// A list of paths, and of patterns over them, in one settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathList {
    /// Directory of the file, the base of relative paths.
    pub directory: PathBuf,
    /// Entries as written.
    pub entries: Vec<String>,
}

/// `defaultTools` of one file: the tools that are offered from the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultTools {
    /// The file.
    pub path: PathBuf,
    /// Names, and names behind `+` or `-`, as written.
    pub entries: Vec<String>,
}

/// How tools are presented beside a tool for scripts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CodemodeSettings {
    /// `codemode.mode`.
    pub mode: Option<CodemodeMode>,
    /// `codemode.inlineBudget`: the most tokens that listed tools take.
    pub inline_budget: Option<u64>,
}

/// Where tools stand that the model and its scripts can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CodemodeMode {
    /// They stay declared to the model.
    On,
    /// Scripts alone can call them.
    Only,
}

/// The keys that narrow what a session may do. A value that cannot be heeded is an error, not a warning.
pub const NARROWING_KEYS: [&str; 4] = ["defaultTools", "enabledModels", "blockImages", "defaultProjectTrust"];

/// When and how far to compact a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactionSettings {
    /// `compaction.enabled`: compact automatically.
    pub enabled: Option<bool>,
    /// `compaction.reserveTokens`: tokens to keep free in the context window.
    pub reserve_tokens: Option<u64>,
    /// `compaction.keepRecentTokens`: tokens of the newest part to keep.
    pub keep_recent_tokens: Option<u64>,
    /// `compaction.modelOverrides`: the tokens of single models, by `provider/id`. Source: pi 1.6's `settings.md`.
    pub model_overrides: BTreeMap<String, CompactionTokens>,
}

/// Tokens of a compaction that one model has in place of the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionTokens {
    /// Tokens to keep free in the context window.
    pub reserve_tokens: Option<u64>,
    /// Tokens of the newest part to keep.
    pub keep_recent_tokens: Option<u64>,
}

/// Retries of failed runs, and of single requests before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetrySettings {
    /// `retry.enabled`.
    pub enabled: Option<bool>,
    /// `retry.maxRetries`.
    pub max_retries: Option<u64>,
    /// `retry.baseDelayMs`: wait before the first retry, in milliseconds; doubled for each further one.
    pub base_delay_ms: Option<u64>,
    /// `retry.maxAgentDelayMs`: longest wait that doubling leads to, in milliseconds. Source: pi 1.6's `settings.md`.
    pub longest_delay_ms: Option<u64>,
    /// `retry.provider.maxRetryDelayMs`, else `retry.maxDelayMs`: longest wait that a provider may ask for, in
    /// milliseconds; beyond it the request fails at once. 0: no limit.
    pub max_delay_ms: Option<u64>,
    /// `retry.provider.maxRetries`: retries of one request before the run fails.
    pub provider_retries: Option<u32>,
    /// `retry.provider.timeoutMs`: longest silence before an answer begins, in milliseconds; 0: unlimited.
    pub provider_timeout_ms: Option<u64>,
}

/// JSON Schema of the settings that are read, for editors.
pub const SETTINGS_SCHEMA: &str = include_str!("../../../data/settings.schema.json");

impl Settings {
    /// Parses a settings file, YAML by its name, else JSON; a warning names each key that is left out for its shape. A
    /// text that is no object counts as empty, with a warning.
    pub fn read(text: &str, path: &Path) -> (Self, Vec<String>) {
        match settings_object(text, path) {
            Ok(object) => {
                let mut file = SettingsFile { object, path, warnings: Vec::new(), faults: Vec::new() };
                let settings = file.settings();
                (settings, file.warnings)
            }
            Err(error) => {
                let error = format!("{}: {error}", path.display());
                // What it takes away cannot be known.
                let narrows = NARROWING_KEYS.into_iter().find(|key| text.contains(key));
                let fault =
                    narrows.map(|key| format!("{error}; the file names {key}, which cannot be heeded"));
                let settings = Self { faults: fault.into_iter().collect(), ..Self::default() };
                (settings, vec![format!("{error}; the file is left out")])
            }
        }
    }

    /// Merges these settings over `base`.
    #[must_use]
    pub fn over(self, base: Self) -> Self {
        let mut thinking_budgets = base.thinking_budgets;
        thinking_budgets.extend(self.thinking_budgets);
        let mut model_thinking_levels = base.model_thinking_levels;
        model_thinking_levels.extend(self.model_thinking_levels);
        let mut model_overrides = base.compaction.model_overrides;
        for (model, own) in self.compaction.model_overrides {
            let tokens = model_overrides.entry(model).or_default();
            tokens.reserve_tokens = own.reserve_tokens.or(tokens.reserve_tokens);
            tokens.keep_recent_tokens = own.keep_recent_tokens.or(tokens.keep_recent_tokens);
        }
        Self {
            default_provider: self.default_provider.or(base.default_provider),
            default_model: self.default_model.or(base.default_model),
            default_thinking_level: self.default_thinking_level.or(base.default_thinking_level),
            model_thinking_levels,
            steering_mode: self.steering_mode.or(base.steering_mode),
            follow_up_mode: self.follow_up_mode.or(base.follow_up_mode),
            interrupt_mode: self.interrupt_mode.or(base.interrupt_mode),
            compaction: CompactionSettings {
                enabled: self.compaction.enabled.or(base.compaction.enabled),
                reserve_tokens: self.compaction.reserve_tokens.or(base.compaction.reserve_tokens),
                keep_recent_tokens: self.compaction.keep_recent_tokens.or(base.compaction.keep_recent_tokens),
                model_overrides,
            },
            branch_reserve_tokens: self.branch_reserve_tokens.or(base.branch_reserve_tokens),
            retry: RetrySettings {
                enabled: self.retry.enabled.or(base.retry.enabled),
                max_retries: self.retry.max_retries.or(base.retry.max_retries),
                base_delay_ms: self.retry.base_delay_ms.or(base.retry.base_delay_ms),
                longest_delay_ms: self.retry.longest_delay_ms.or(base.retry.longest_delay_ms),
                max_delay_ms: self.retry.max_delay_ms.or(base.retry.max_delay_ms),
                provider_retries: self.retry.provider_retries.or(base.retry.provider_retries),
                provider_timeout_ms: self.retry.provider_timeout_ms.or(base.retry.provider_timeout_ms),
            },
            thinking_budgets,
            enabled_models: self.enabled_models.or(base.enabled_models),
            default_tools: [base.default_tools, self.default_tools].concat(),
            codemode: CodemodeSettings {
                mode: self.codemode.mode.or(base.codemode.mode),
                inline_budget: self.codemode.inline_budget.or(base.codemode.inline_budget),
            },
            faults: [base.faults, self.faults].concat(),
            session_dir: self.session_dir.or(base.session_dir),
            shell_path: self.shell_path.or(base.shell_path),
            shell_command_prefix: self.shell_command_prefix.or(base.shell_command_prefix),
            extensions: [base.extensions, self.extensions].concat(),
            packages: [base.packages, self.packages].concat(),
            default_project_trust: base.default_project_trust,
            pass_keys: base.pass_keys,
            http_proxy: base.http_proxy,
            cache_warming: base.cache_warming,
            npm_command: base.npm_command,
            resizes_images: self.resizes_images.or(base.resizes_images),
            blocks_images: self.blocks_images.or(base.blocks_images),
            skills: [base.skills, self.skills].concat(),
            prompts: [base.prompts, self.prompts].concat(),
            http_idle_timeout_ms: self.http_idle_timeout_ms.or(base.http_idle_timeout_ms),
            transport: self.transport.or(base.transport),
            socket_connect_timeout_ms: self.socket_connect_timeout_ms.or(base.socket_connect_timeout_ms),
            todo_clear_delay: self.todo_clear_delay.or(base.todo_clear_delay),
        }
    }

    /// How long a finished todo stays on the list; `usual` if not set. `None`: forever.
    pub fn clear_todos_after(&self, usual: Duration) -> Option<Duration> {
        let Some(seconds) = self.todo_clear_delay.as_ref().and_then(Number::as_f64) else {
            return Some(usual);
        };
        // A time too large for a duration counts as forever.
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// The configured level for a model.
    pub fn level_of(&self, model: &Model) -> Option<ThinkingLevel> {
        let own = self.model_thinking_levels.get(&format!("{}/{}", model.provider, model.id));
        own.copied().or(self.default_thinking_level)
    }

    /// Options of every request, from these settings and the variable `PI_CACHE_RETENTION`.
    pub fn request_options(&self, environment: &Environment) -> RequestOptions {
        RequestOptions {
            budgets: self.thinking_budgets.clone(),
            blocks_images: self.blocks_images.unwrap_or(false),
            caches_long: environment.get("PI_CACHE_RETENTION") == Some("long"),
        }
    }

    /// Time limits and retries of requests.
    pub fn http_options(&self) -> HttpOptions {
        let usual = HttpOptions::default();
        // 0 stands for no limit.
        let limit = |millis: u64| Some(Duration::from_millis(millis)).filter(|limit| !limit.is_zero());
        let silence = |millis: u64| limit(millis).unwrap_or(Duration::MAX);
        let idle = self.http_idle_timeout_ms.map_or(usual.idle, silence);
        HttpOptions {
            first: self.retry.provider_timeout_ms.map_or(idle, silence),
            idle,
            retry: RetryPolicy {
                retries: self.retry.provider_retries.unwrap_or(usual.retry.retries),
                longest_delay: self.retry.max_delay_ms.map_or(usual.retry.longest_delay, limit),
                ..usual.retry
            },
            transport: self.transport.unwrap_or_default(),
            socket_connect: self.socket_connect_timeout_ms.map_or(usual.socket_connect, silence),
        }
    }
}

/// The settings in a file, as written.
pub(super) fn settings_object(text: &str, path: &Path) -> Result<JsonObject, String> {
    match is_yaml(path) {
        false => serde_json::from_str(text).map_err(|error| error.to_string()),
        true => match parse_yaml(text)? {
            Value::Object(object) => Ok(object),
            _ => Err("expected settings by name".to_owned()),
        },
    }
}

/// A settings file while it is parsed.
struct SettingsFile<'a> {
    object: JsonObject,
    path: &'a Path,
    warnings: Vec<String>,
    faults: Vec<String>,
}

/// The model that a session starts with, and its level.
#[derive(Default)]
struct StartModel {
    provider: Option<String>,
    model: Option<String>,
    level: Option<ThinkingLevel>,
}

impl SettingsFile<'_> {
    fn settings(&mut self) -> Settings {
        let start = self.start_model();
        Settings {
            default_provider: self.value("/defaultProvider").or(start.provider),
            default_model: self.value("/defaultModel").or(start.model),
            default_thinking_level: start.level.or_else(|| self.value("/defaultThinkingLevel")),
            model_thinking_levels: self.value("/modelThinkingLevels").unwrap_or_default(),
            steering_mode: self.value("/steeringMode").or_else(|| self.value("/queueMode")),
            follow_up_mode: self.value("/followUpMode"),
            interrupt_mode: self.value("/interruptMode"),
            compaction: CompactionSettings {
                enabled: self.value("/compaction/enabled"),
                reserve_tokens: self.value("/compaction/reserveTokens"),
                keep_recent_tokens: self.value("/compaction/keepRecentTokens"),
                model_overrides: self.value("/compaction/modelOverrides").unwrap_or_default(),
            },
            branch_reserve_tokens: self.value("/branchSummary/reserveTokens"),
            retry: RetrySettings {
                enabled: self.value("/retry/enabled"),
                max_retries: self.value("/retry/maxRetries"),
                base_delay_ms: self.value("/retry/baseDelayMs"),
                longest_delay_ms: self.value("/retry/maxAgentDelayMs"),
                max_delay_ms: self
                    .value("/retry/provider/maxRetryDelayMs")
                    .or_else(|| self.value("/retry/maxDelayMs")),
                provider_retries: self.value("/retry/provider/maxRetries"),
                provider_timeout_ms: self.value("/retry/provider/timeoutMs"),
            },
            thinking_budgets: self.budgets(),
            enabled_models: self.narrowing_value("/enabledModels", "a list of patterns"),
            default_tools: self.default_tools(),
            codemode: CodemodeSettings {
                mode: self.value("/codemode/mode"),
                inline_budget: self.value("/codemode/inlineBudget"),
            },
            session_dir: self.value("/sessionDir"),
            shell_path: self.value("/shellPath"),
            shell_command_prefix: self.value("/shellCommandPrefix"),
            extensions: self.path_list("/extensions"),
            packages: self.packages(),
            default_project_trust: self.default_project_trust(),
            pass_keys: self.value("/passKeys").unwrap_or_default(),
            cache_warming: match self.object.get("cacheWarming") {
                None | Some(Value::Null) => None,
                // What cannot be read costs nothing.
                Some(_) => Some(self.value("/cacheWarming").unwrap_or_default()),
            },
            http_proxy: self.value("/httpProxy").filter(|url: &String| !url.trim().is_empty()),
            npm_command: self.value("/npmCommand").filter(|words: &Vec<String>| !words.is_empty()),
            resizes_images: self.value("/images/autoResize"),
            blocks_images: self.narrowing_value("/images/blockImages", "true or false"),
            skills: match self.object.get("skills") {
                // In older files, a member of an object (source: pi source).
                Some(Value::Object(_)) => self.path_list("/skills/customDirectories"),
                _ => self.path_list("/skills"),
            },
            prompts: self.path_list("/prompts"),
            http_idle_timeout_ms: self.timeout("/httpIdleTimeoutMs"),
            transport: self.value("/transport").or_else(|| {
                // The setting of earlier versions.
                let chosen: Option<bool> = self.value("/websockets");
                chosen.map(|is_on| if is_on { Transport::WebSocket } else { Transport::Sse })
            }),
            socket_connect_timeout_ms: self.timeout("/websocketConnectTimeoutMs"),
            todo_clear_delay: self.value("/tasks/todoClearDelay"),
            faults: std::mem::take(&mut self.faults),
        }
    }

    /// A time limit in milliseconds; 0: none.
    fn timeout(&mut self, pointer: &str) -> Option<u64> {
        match self.object.get(&pointer[1..]) {
            Some(Value::String(word)) if word == "disabled" => Some(0),
            _ => self.value(pointer),
        }
    }

    /// The model of `modelRoles.default`: `provider/id`, where a thinking level may follow behind a colon. Source: oh-my-pi
    /// source.
    fn start_model(&mut self) -> StartModel {
        let role = self.value::<String>("/modelRoles/default").unwrap_or_default();
        let Some((provider, model)) = role.split_once('/') else { return StartModel::default() };
        let level = |word: &str| serde_json::from_value(Value::from(word)).ok();
        let (model, level) = match model.rsplit_once(':').map(|(model, word)| (model, level(word))) {
            Some((model, Some(level))) => (model, Some(level)),
            _ => (model, None),
        };
        StartModel { provider: Some(provider.to_owned()), model: Some(model.to_owned()), level }
    }

    /// `defaultTools`; anything but a list of names is a fault, `null` included, as it would offer every default tool.
    fn default_tools(&mut self) -> Vec<DefaultTools> {
        const KEY: &str = "defaultTools";
        const EXPECTED: &str = "expected a list of names of tools (no patterns), or of names behind + or -";
        let Some(value) = self.object_value("/defaultTools").cloned() else { return Vec::new() };
        let Value::Array(items) = &value else {
            self.faults.push(format!("{}: {KEY}: {EXPECTED}, got {}", self.path.display(), shown(&value)));
            return Vec::new();
        };
        let mut entries = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let name = item.as_str().map(|entry| entry.strip_prefix(['+', '-']).unwrap_or(entry).trim());
            match (item, name) {
                (Value::String(entry), Some(name)) if !name.is_empty() && !name.contains('*') => {
                    entries.push(entry.clone());
                }
                _ => {
                    let got = shown(item);
                    let text = format!("{}: {KEY}[{at}]: {EXPECTED}, got {got}", self.path.display());
                    self.faults.push(text);
                }
            }
        }
        vec![DefaultTools { path: self.path.to_owned(), entries }]
    }

    /// `defaultProjectTrust`, which is one of three words.
    fn default_project_trust(&mut self) -> Option<String> {
        let expected = "\"ask\", \"always\" or \"never\"";
        let trust: String = self.narrowing_value("/defaultProjectTrust", expected)?;
        if ["ask", "always", "never"].contains(&trust.as_str()) {
            return Some(trust);
        }
        let path = self.path.display();
        self.faults.push(format!("{path}: defaultProjectTrust: expected {expected}, got {trust:?}"));
        None
    }

    /// Like [`value`](Self::value), for a key that narrows: a value of the wrong type is a fault.
    fn narrowing_value<T: DeserializeOwned>(&mut self, pointer: &str, expected: &str) -> Option<T> {
        let known = self.warnings.len();
        let value = self.value(pointer);
        if self.warnings.len() > known {
            self.warnings.truncate(known);
            let key = pointer[1..].replace('/', ".");
            let got = self.object_value(pointer).map(shown).unwrap_or_default();
            self.faults.push(format!("{}: {key}: expected {expected}, got {got}", self.path.display()));
        }
        value
    }

    fn path_list(&mut self, pointer: &str) -> Vec<PathList> {
        let directory = self.path.parent().unwrap_or(self.path).to_owned();
        let entries = self.value(pointer);
        entries.map(|entries| PathList { directory, entries }).into_iter().collect()
    }

    /// Parses the valid packages; a warning names each other one.
    fn packages(&mut self) -> Vec<ListedPackages> {
        let directory = self.path.parent().unwrap_or(self.path).to_owned();
        let Some(listed) = self.value::<Vec<Value>>("/packages") else { return Vec::new() };
        let mut entries = Vec::new();
        for value in listed {
            match serde_json::from_value::<Package>(value) {
                Ok(package) => entries.push(package),
                Err(_) => self.warnings.push(format!(
                    "{}: packages: expected a text, or an object with `source` and lists of texts; the package is left out",
                    self.path.display()
                )),
            }
        }
        vec![ListedPackages { directory, entries }]
    }

    fn budgets(&mut self) -> BTreeMap<ThinkingLevel, u64> {
        let levels = ThinkingLevel::ALL.into_iter();
        levels.filter_map(|level| Some((level, self.value(&format!("/thinkingBudgets/{level}"))?))).collect()
    }

    /// Parses the value at a JSON pointer; null counts as absent.
    fn value<T: DeserializeOwned>(&mut self, pointer: &str) -> Option<T> {
        let value = self.object_value(pointer)?;
        if value.is_null() {
            return None;
        }
        serde_json::from_value(value.clone())
            .map_err(|error| {
                let key = pointer[1..].replace('/', ".");
                self.warnings.push(format!("{}: {key}: {error}; the key is left out", self.path.display()));
            })
            .ok()
    }

    /// The value at a JSON pointer, as written.
    fn object_value(&self, pointer: &str) -> Option<&Value> {
        let mut keys = pointer.split('/').skip(1);
        let first = self.object.get(keys.next()?)?;
        keys.try_fold(first, |value, key| value.get(key))
    }
}

/// A value for an error, shortened.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MOST_SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Characters of a value in an error.
const MOST_SHOWN: usize = 60;
