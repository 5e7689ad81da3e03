//! Settings and models files: where they are, what is read of them, and warnings of what is left out.

use crate::home_support::{Home, endpoint};
use pi_rpc::{
    config::{
        Config, Directories, Environment, Package, Settings, catalogue::BUILT_IN, models_file,
        pattern::full_id, sessions_folder, settings,
    },
    model::{
        http::HttpOptions,
        http_options::{CacheWarming, Transport},
        request::RequestOptions,
        retry::RetryPolicy,
    },
    protocol::{Dialect, InterruptMode, QueueMode, ThinkingLevel},
};
use serde_json::{Value, json};
use std::{fs, path::Path, time::Duration};

#[test]
fn directories_follow_dialect_or_variable() {
    let of = |dialect, pairs: &[(&str, &str)]| {
        Directories::new(dialect, Path::new("/work"), &pairs.iter().copied().collect())
    };
    let directories = |agent: &str, project: &str| Directories {
        agent: agent.into(),
        project: project.into(),
        data: agent.into(),
        variable: None,
    };
    assert_eq!(of(Dialect::Pi, &[("HOME", "/me")]), directories("/me/.pi/agent", "/work/.pi"));
    assert_eq!(of(Dialect::Xcsh, &[("HOME", "/me")]), directories("/me/.xcsh/agent", "/work/.xcsh"));
    let named = |path| of(Dialect::Pi, &[("HOME", "/me"), ("PI_CODING_AGENT_DIR", path)]).agent;
    assert_eq!(named("~/elsewhere"), Path::new("/me/elsewhere"));
    assert_eq!(named("~"), Path::new("/me"));
    assert_eq!(named("~other/x"), Path::new("/work/~other/x"));
    assert_eq!(named("/abs"), Path::new("/abs"));
    assert_eq!(named(""), Path::new("/me/.pi/agent"));
}

#[test]
fn sessions_folder_sources_have_an_order() {
    let of = |option: Option<&str>, variable: &str, setting: Option<&str>| {
        let pairs = [("HOME", "/me"), ("PI_CODING_AGENT_SESSION_DIR", variable)];
        let settings = Settings { session_dir: setting.map(str::to_owned), ..Default::default() };
        sessions_folder(option, &settings, Path::new("/work"), &Environment::from_iter(pairs))
    };
    let path = |path: &str| Some(path.into());
    assert_eq!(of(None, "", None), None);
    assert_eq!(of(None, "", Some("")), None);
    assert_eq!(of(None, "", Some("talks")), path("/work/talks"));
    assert_eq!(of(None, "~/talks", Some("/settings")), path("/me/talks"));
    assert_eq!(of(Some(""), "~/talks", Some("/settings")), path("/me/talks"));
    assert_eq!(of(Some("here"), "~/talks", Some("/settings")), path("/work/here"));
}

#[test]
fn configuration_may_begin_with_byte_order_mark() {
    let settings = json!({ "defaultProvider": "workshop", "defaultModel": "oak" });
    let models = json!({ "providers": { "workshop": {
        "baseUrl": "http://127.0.0.1:1", "api": "openai-completions", "apiKey": "k", "models": [{ "id": "oak" }],
    } } });
    let auth = json!({ "workshop": { "type": "api_key", "key": "of-auth-json" } });
    let marked = |value: Value| format!("\u{feff}{value}");
    let files = [marked(settings), marked(models), marked(auth)];
    let home =
        Home::new([("settings.json", &files[0]), ("models.json", &files[1]), ("auth.json", &files[2])]);
    let config = home.load(&[]);
    assert_eq!(config.warnings, Vec::<String>::new());
    assert_eq!(config.settings.default_model.as_deref(), Some("oak"));
    assert!(config.models().iter().any(|endpoint| full_id(&endpoint.model) == "workshop/oak"));
}

#[test]
fn project_settings_override_user_settings() {
    let user = json!({
        "defaultProvider": "workshop", "defaultModel": "oak", "queueMode": "all",
        "compaction": {"enabled": false, "reserveTokens": 1000, "modelOverrides": {"w/oak": {"reserveTokens": 1, "keepRecentTokens": 2}}},
        "retry": {"maxRetries": 5, "maxDelayMs": 9000, "maxAgentDelayMs": 6000}, "npmCommand": ["mise", "npm"], "httpProxy": "http://user",
        "thinkingBudgets": {"low": 100, "high": 900}, "enabledModels": ["a", "b"], "theme": "dark",
        "httpIdleTimeoutMs": "disabled", "sessionDir": "~/talks", "extensions": ["~/gate", "/opt/gate"]
    });
    let project = json!({
        "sessionDir": "talks", "interruptMode": "immediate", "extensions": ["/srv/first", "!not/this"],
        "defaultModel": "elm", "npmCommand": ["evil"], "httpProxy": "http://evil", "branchSummary": {"reserveTokens": 9},
        "compaction": {"reserveTokens": 2000, "modelOverrides": {"w/oak": {"reserveTokens": 3}}}, "thinkingBudgets": {"low": 200},
        "retry": {"provider": {"maxRetryDelayMs": 7000, "maxRetries": 1, "timeoutMs": 800}}, "enabledModels": [], "images": {"blockImages": true}
    });
    let home = Home::new([("settings.json", &user.to_string())]);
    fs::write(home.path().join(".pi/settings.json"), project.to_string()).unwrap();
    let Config { mut settings, warnings, .. } = home.load(&[]);
    let lists: Vec<_> = settings.extensions.drain(..).map(|list| list.entries).collect();
    assert_eq!(lists, [["~/gate", "/opt/gate"], ["/srv/first", "!not/this"]]);
    let expected = Settings {
        default_provider: Some("workshop".to_owned()),
        default_model: Some("elm".to_owned()),
        steering_mode: Some(QueueMode::All),
        interrupt_mode: Some(InterruptMode::Immediate),
        compaction: settings::CompactionSettings {
            enabled: Some(false),
            reserve_tokens: Some(2000),
            keep_recent_tokens: None,
            model_overrides: [(
                "w/oak".to_owned(),
                settings::CompactionTokens { reserve_tokens: Some(3), keep_recent_tokens: Some(2) },
            )]
            .into(),
        },
        branch_reserve_tokens: Some(9),
        http_proxy: Some("http://user".to_owned()),
        npm_command: Some(vec!["mise".to_owned(), "npm".to_owned()]),
        retry: settings::RetrySettings {
            max_retries: Some(5),
            longest_delay_ms: Some(6000),
            max_delay_ms: Some(7000),
            provider_retries: Some(1),
            provider_timeout_ms: Some(800),
            ..Default::default()
        },
        thinking_budgets: [(ThinkingLevel::Low, 200), (ThinkingLevel::High, 900)].into(),
        enabled_models: Some(Vec::new()),
        session_dir: Some("talks".to_owned()),
        blocks_images: Some(true),
        http_idle_timeout_ms: Some(0),
        ..Default::default()
    };
    assert_eq!((settings, warnings), (expected, Vec::new()));
}

#[test]
fn skill_and_prompt_lists_are_joined() {
    let read = |settings: Value, path: &str| read_settings(&settings, path);
    let user = read(json!({ "skills": ["~/skills", "!old"], "prompts": ["a"] }), "/me/settings.json");
    // The shape that `skills` once had.
    let skills = json!({ "enableSkillCommands": false, "customDirectories": ["b"] });
    let project = read(json!({ "skills": skills }), "/work/settings.json");
    let listed = |directory: &str, entries: &[&str]| settings::PathList {
        directory: directory.into(),
        entries: entries.iter().map(|entry| (*entry).to_owned()).collect(),
    };
    let both = project.over(user);
    assert_eq!(both.skills, [listed("/me", &["~/skills", "!old"]), listed("/work", &["b"])]);
    assert_eq!(both.prompts, [listed("/me", &["a"])]);
    assert_eq!(read(json!({ "skills": {} }), "/me/settings.json").skills, []);
}

#[test]
fn packages_are_texts_or_filters() {
    let text = json!({ "packages": [
        "npm:a@1", { "source": "./b", "skills": [], "extensions": ["x/*.ts"], "autoload": false }, 7, { "skills": [] }
    ] });
    let (settings, warnings) = Settings::read(&text.to_string(), Path::new("/me/settings.json"));
    let [list] = &settings.packages[..] else { panic!("one list: {settings:?}") };
    let [whole, part] = &list.entries[..] else { panic!("two packages: {list:?}") };
    assert_eq!((list.directory.as_path(), whole), (Path::new("/me"), &Package::new("npm:a@1")));
    assert_eq!((part.source.as_str(), part.autoload, part.is_filtered()), ("./b", Some(false), true));
    let filters = ["extensions", "skills", "prompts"].map(|kind| part.of(kind));
    assert_eq!(filters, [Some(&["x/*.ts".to_owned()][..]), Some(&[]), None]);
    let left_out = "/me/settings.json: packages: expected a text, or an object with `source` and lists of texts; the \
                    package is left out";
    assert_eq!(warnings, [left_out, left_out]);
}

#[test]
fn invalid_setting_is_left_out_and_named() {
    let text = json!({
        "defaultModel": 7, "steeringMode": "sometimes", "retry": {"maxRetries": -1, "enabled": true},
        "images": 5, "enabledModels": null, "defaultThinkingLevel": "loud"
    });
    let (settings, warnings) = Settings::read(&text.to_string(), Path::new("s.json"));
    let expected = Settings {
        retry: settings::RetrySettings { enabled: Some(true), ..Default::default() },
        ..Default::default()
    };
    assert_eq!(settings, expected);
    assert_eq!(
        warnings,
        [
            "s.json: defaultModel: invalid type: integer `7`, expected a string; the key is left out",
            "s.json: defaultThinkingLevel: invalid value: string \"loud\", expected one of `off`, `minimal`, `low`, \
             `medium`, `high`, `xhigh`, `max`; the key is left out",
            "s.json: steeringMode: invalid value: string \"sometimes\", expected one of `all`, `one-at-a-time`; \
             the key is left out",
            "s.json: retry.maxRetries: invalid value: integer `-1`, expected u64; the key is left out",
        ]
    );
}

#[test]
fn settings_set_request_options() {
    let options =
        |budgets, blocks_images, caches_long| RequestOptions { budgets, blocks_images, caches_long };
    let nothing = Settings::default().request_options(&Environment::default());
    assert_eq!(nothing, options([].into(), false, false));
    let settings = Settings {
        thinking_budgets: [(ThinkingLevel::High, 9)].into(),
        blocks_images: Some(true),
        ..Default::default()
    };
    let environment = Environment::from_iter([("PI_CACHE_RETENTION", "long")]);
    let budgets = [(ThinkingLevel::High, 9)].into();
    assert_eq!(settings.request_options(&environment), options(budgets, true, true));
}

#[test]
fn settings_set_timeouts_and_retries() {
    let millis = Duration::from_millis;
    let options = |first, idle, retries, longest_delay| HttpOptions {
        first,
        idle,
        retry: RetryPolicy { retries, first_delay: millis(500), longest_delay },
        ..HttpOptions::default()
    };
    let of = |settings: Value| read_settings(&settings, "s.json").http_options();
    let minutes = Duration::from_secs(300);
    assert_eq!(of(json!({})), options(minutes, minutes, 2, Some(millis(60_000))));
    assert_eq!(
        of(json!({ "httpIdleTimeoutMs": 9, "retry": { "maxDelayMs": 8, "provider": { "maxRetries": 0 } } })),
        options(millis(9), millis(9), 0, Some(millis(8)))
    );
    assert_eq!(
        of(json!({ "retry": { "provider": { "timeoutMs": 7, "maxRetryDelayMs": 0 } } })),
        options(millis(7), minutes, 2, None)
    );
    assert_eq!(
        of(json!({ "httpIdleTimeoutMs": "disabled", "retry": { "provider": { "timeoutMs": 0 } } })),
        options(Duration::MAX, Duration::MAX, 2, Some(millis(60_000)))
    );
}

#[test]
fn wrong_cache_warming_is_off() {
    let chosen = |settings: Value| read_settings(&settings, "s.json").cache_warming;
    assert_eq!(chosen(json!({})), None);
    assert_eq!(chosen(json!({ "cacheWarming": "streaming" })), Some(CacheWarming::Streaming));
    let (settings, warnings) = Settings::read(r#"{"cacheWarming": "of"}"#, Path::new("s.json"));
    assert_eq!((settings.cache_warming, warnings.len()), (Some(CacheWarming::Off), 1));
}

#[test]
fn settings_choose_transport() {
    let chosen = |settings: Value| {
        let options = read_settings(&settings, "s.json").http_options();
        (options.transport, options.socket_connect)
    };
    let seconds = Duration::from_secs;
    assert_eq!(chosen(json!({})), (Transport::Auto, seconds(15)));
    let sockets = json!({ "transport": "websocket-cached", "websocketConnectTimeoutMs": 2000 });
    assert_eq!(chosen(sockets), (Transport::WebSocketCached, seconds(2)));
    // The setting of earlier versions; `transport` stands before it.
    assert_eq!(chosen(json!({ "websockets": false })).0, Transport::Sse);
    assert_eq!(chosen(json!({ "websockets": false, "transport": "websocket" })).0, Transport::WebSocket);
}

#[test]
fn settings_set_todo_clear_delay() {
    let usual = Duration::from_secs(60);
    let of = |delay: Value| {
        let text = json!({ "tasks": { "todoClearDelay": delay } }).to_string();
        let (settings, warnings) = Settings::read(&text, Path::new("s.json"));
        (settings.over(Settings::default()).clear_todos_after(usual), warnings)
    };
    let fine = |delay: Option<Duration>| (delay, Vec::<String>::new());
    assert_eq!(of(json!(null)), fine(Some(usual)));
    assert_eq!(of(json!(5)), fine(Some(Duration::from_secs(5))));
    assert_eq!(of(json!(0.5)), fine(Some(Duration::from_millis(500))));
    assert_eq!(of(json!(0)), fine(Some(Duration::ZERO)));
    assert_eq!(of(json!(-1)), fine(None));
    assert_eq!(of(json!(1e300)), fine(None));
    let wrong = "s.json: tasks.todoClearDelay: invalid type: string \"5\", expected a JSON number; the key is left out";
    assert_eq!(of(json!("5")), (Some(usual), vec![wrong.to_owned()]));
}

#[test]
fn invalid_models_files_are_refused_as_pi() {
    let cases = [
        ("{", "Failed to parse models.json: EOF while parsing an object at line 1 column 1"),
        ("{} // {", "Invalid models.json schema:\n  - root: must have required property 'providers'"),
        ("[]", "Invalid models.json schema:\n  - root: must be object"),
        (
            r#"{"providers": {"x": {"baseUrl": 5, "apiKey": "", "models": [{"reasoning": 3, "input": ["video"]}]}}}"#,
            "Invalid models.json schema:\n  \
             - /providers/x/baseUrl: must be string\n  \
             - /providers/x/apiKey: must NOT have fewer than 1 characters\n  \
             - /providers/x/models/0: must have required property 'id'\n  \
             - /providers/x/models/0/reasoning: must be boolean\n  \
             - /providers/x/models/0/input/0: must be equal to one of the allowed values",
        ),
        (
            r#"{"providers": {"x": {"modelOverrides": {"a": {"thinkingLevelMap": {"low": 5}}}}}}"#,
            "Invalid models.json schema:\n  \
             - /providers/x/modelOverrides/a/thinkingLevelMap/low: must be null or string",
        ),
        (
            r#"{"providers": {"x": {}}}"#,
            "Failed to load models.json: Provider x: must specify \"baseUrl\", \"headers\", \"compat\", \
             \"modelOverrides\", or \"models\".",
        ),
        (
            r#"{"providers": {"x": {"models": [{"id": "q"}]}}}"#,
            "Failed to load models.json: Provider x: \"baseUrl\" is required when defining custom models.",
        ),
        (
            r#"{"providers": {"x": {"baseUrl": "http://x", "models": [{"id": "q"}]}}}"#,
            "Failed to load models.json: Provider x: \"apiKey\" is required when defining custom models.",
        ),
        (
            r#"{"providers": {"x": {"baseUrl": "http://x", "apiKey": "k", "models": [{"id": "q"}]}}}"#,
            "Failed to load models.json: Provider x, model q: no \"api\" specified. Set at provider or model level.",
        ),
        (
            r#"{"providers": {"anthropic": {"models": [{"id": "q", "contextWindow": 0}]}}}"#,
            "Failed to load models.json: Provider anthropic, model q: invalid contextWindow",
        ),
        (
            r#"{"providers": {"anthropic": {"models": [{"id": "q", "maxTokens": -1}]}}}"#,
            "Failed to load models.json: Provider anthropic, model q: invalid maxTokens",
        ),
    ];
    for (text, expected) in cases {
        let error = models_file::read(text, Path::new("/a/models.json")).unwrap_err().to_string();
        assert_eq!(error, format!("{expected}\n\nFile: /a/models.json"), "{text}");
    }
}

#[test]
fn custom_model_has_defaults_of_pi() {
    let config = with_models(
        r#"{"providers": {"x": {
        "baseUrl": "http://x", "apiKey": "k", "api": "openai-completions",
        "compat": {"supportsStore": false, "openRouterRouting": {"only": ["a"]}},
        "models": [{"id": "q"}, {"id": "r", "api": "anthropic-messages", "baseUrl": "http://y", "reasoning": true,
            "input": ["text", "image"], "cost": {"input": 1, "output": 2.5, "cacheRead": 0, "cacheWrite": 0.1},
            "contextWindow": 32000.9, "maxTokens": 4000,
            "compat": {"supportsStore": true, "openRouterRouting": {"order": ["b"]}}}]
    }}}"#,
    );
    let plain = json!({
        "id": "q", "name": "q", "api": "openai-completions", "provider": "x", "baseUrl": "http://x",
        "reasoning": false, "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}, "contextWindow": 128000,
        "maxTokens": 16384, "compat": {"supportsStore": false, "openRouterRouting": {"only": ["a"]}}
    });
    let full = json!({
        "id": "r", "name": "r", "api": "anthropic-messages", "provider": "x", "baseUrl": "http://y",
        "reasoning": true, "thinking": {"mode": "budget", "minLevel": "minimal", "maxLevel": "high", "efforts": ["minimal", "low", "medium", "high"]},
        "input": ["text", "image"],
        "cost": {"input": 1, "output": 2.5, "cacheRead": 0, "cacheWrite": 0.1}, "contextWindow": 32000,
        "maxTokens": 4000, "compat": {"supportsStore": true, "openRouterRouting": {"only": ["a"], "order": ["b"]}}
    });
    assert_eq!([wire(&config, "x/q"), wire(&config, "x/r")], [plain, full]);
}

#[test]
fn newer_model_members_are_passed_on() {
    let told = json!({
        "inputLimits": {"images": {"maxPerMessage": 3}}, "promptCache": {"short": 300, "long": 3600},
        "samplingParams": {"temperature": 0.2}, "samplingParamsByThinkingLevel": {"high": {"top_p": 1}},
        "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0, "tiers": [
            {"input": 3, "output": 4, "cacheRead": 0, "cacheWrite": 0, "inputTokensAbove": 200_000},
        ]},
    });
    let mut model = told.clone();
    model["id"] = "m".into();
    let file = json!({"providers": {"x": {
        "baseUrl": "http://x", "apiKey": "k", "api": "openai-completions", "models": [model],
    }}});
    let wire = wire(&with_models(&file.to_string()), "x/m");
    for (key, value) in told.as_object().unwrap() {
        assert_eq!(wire[key], *value, "{key}");
    }
}

#[test]
fn model_override_changes_only_named_fields() {
    let config = with_models(
        r#"{"providers": {"anthropic": {"baseUrl": "http://proxy", "compat": {"a": 1},
        "modelOverrides": {"claude-opus-4-6": {"name": "Mine", "cost": {"output": 7}, "contextWindow": 5000,
            "thinkingLevelMap": {"minimal": null, "low": "a bit"}, "compat": {"b": 2}}}}}}"#,
    );
    let before = BUILT_IN.models(|provider| provider == "anthropic");
    let before = before.iter().find(|entry| full_id(&entry.model) == "anthropic/claude-opus-4-6").unwrap();
    let mut expected = before.model.clone();
    expected.base_url = "http://proxy".to_owned();
    expected.name = "Mine".to_owned();
    expected.cost.output = 7.into();
    expected.context_window = 5000;
    let compat = expected.compat.get_or_insert_default();
    compat.insert("a".to_owned(), 1.into());
    compat.insert("b".to_owned(), 2.into());
    let changed = endpoint(&config, "anthropic/claude-opus-4-6");
    expected.thinking = changed.model.thinking.clone();
    let word = |level: &str, word: Option<&str>| (level.to_owned(), word.map(str::to_owned));
    let shown = [word("low", Some("a bit")), word("max", Some("max")), word("minimal", None)];
    expected.thinking_level_map = Some(shown.into());
    assert_eq!(changed.model, expected);
    use ThinkingLevel::{High, Low, Medium, Off, Xhigh};
    assert_eq!(changed.levels, [Off, Low, Medium, High, Xhigh]);
    let words = [(Low, "a bit".to_owned()), (Xhigh, "max".to_owned())];
    assert_eq!((&changed.efforts, changed.adaptive), (&words.into(), true));
}

#[test]
fn redefined_model_inherits_api_and_address_alone() {
    let redefined =
        |model: &str| with_models(&format!(r#"{{"providers": {{"anthropic": {{"models": [{model}]}}}}}}"#));
    let plain = redefined(r#"{"id": "claude-opus-4-6", "maxTokens": 9}"#);
    let expected = json!({
        "id": "claude-opus-4-6", "name": "claude-opus-4-6", "api": "anthropic-messages", "provider": "anthropic",
        "baseUrl": "https://api.anthropic.com", "reasoning": false, "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}, "contextWindow": 128_000, "maxTokens": 9,
    });
    assert_eq!(wire(&plain, "anthropic/claude-opus-4-6"), expected);
    let place = |config: &Config| config.models().iter().position(|it| it.model.id == "claude-opus-4-6");
    assert_eq!(place(&plain), place(&with_models(r#"{"providers": {}}"#)));
    let other =
        redefined(r#"{"id": "claude-opus-4-6", "api": "openai-completions", "baseUrl": "http://own"}"#);
    let other = endpoint(&other, "anthropic/claude-opus-4-6").model;
    assert_eq!((&*other.api, &*other.base_url, other.compat), ("openai-completions", "http://own", None));
}

#[test]
fn override_merges_newer_members() {
    let over = json!({
        "promptCache": {"short": 60}, "samplingParams": {"top_p": 0.5},
        "samplingParamsByThinkingLevel": {"high": {"temperature": 1}},
    });
    let file = json!({"providers": {"anthropic": {"modelOverrides": {"claude-opus-4-6": over}}}});
    let model = wire(&with_models(&file.to_string()), "anthropic/claude-opus-4-6");
    let before = wire(&with_models(r#"{"providers": {}}"#), "anthropic/claude-opus-4-6");
    assert_eq!(model["promptCache"], json!({"short": 60, "long": before["promptCache"]["long"]}));
    assert_eq!(model["samplingParams"], over["samplingParams"]);
    assert_eq!(model["samplingParamsByThinkingLevel"], over["samplingParamsByThinkingLevel"]);
}

/// Settings that are read without a warning.
fn read_settings(settings: &Value, path: &str) -> Settings {
    let (settings, warnings) = Settings::read(&settings.to_string(), Path::new(path));
    assert_eq!(warnings, Vec::<String>::new());
    settings
}

/// What is configured by `models.json` alone.
fn with_models(text: &str) -> Config {
    let config = Home::new([("models.json", text)]).load(&[]);
    assert_eq!(config.warnings, Vec::<String>::new());
    config
}

fn wire(config: &Config, name: &str) -> Value {
    serde_json::to_value(&endpoint(config, name).model).unwrap()
}
