//! Everything that narrows what a session may do fails closed: each option, setting, limit of a token and parameter of a
//! host is in a table here, and one that takes something away has a wrong entry that is refused.
//!
//! Whoever adds an option adds it to [`NARROWING`] with a row, or to [`OTHERS`]; without either the test fails.

use crate::serve_support::{at_once, binary, command};
use pi_rpc::{config::settings::SETTINGS_SCHEMA, session_host::TokenLimits};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, process::Stdio};

/// An option that takes something away: what that is, a wrong use of it, and the status and a part of the text that
/// refuse it.
type Row = (&'static str, &'static str, &'static [&'static str], i32, &'static str);

/// The options of `serve`, `host`, `acp` and `attach` that narrow.
const NARROWING: [Row; 31] = [
    ("tools", "all other tools", &["--tools", "read,-bash"], 1, "--tools: "),
    ("no-tools", "all tools", &["--no-tool"], 2, "--no-tools"),
    ("no-builtin-tools", "the built-in tools", &["--no-builtin-tool"], 2, "--no-builtin-tools"),
    ("exclude-tools", "these tools", &["-xt", "bahs"], 2, "--exclude-tools: no tool matches"),
    ("confirm-tools", "calls without consent", &["--confirm-tools", "bahs"], 2, "--confirm-tools: "),
    ("models", "all other models", &["--models", " , "], 2, "--models: got"),
    ("no-context-files", "AGENTS.md", &["--no-context-file"], 2, "--no-context-files"),
    ("no-skills", "skills", &["--no-skill"], 2, "--no-skills"),
    ("no-prompt-templates", "templates", &["--no-prompt-template"], 2, "--no-prompt-templates"),
    ("no-extensions", "extensions", &["--no-extension"], 2, "--no-extensions"),
    ("no-ui", "requests to the user", &["--no-iu"], 2, "--no-ui"),
    ("no-mcp", "MCP servers", &["--no-mpc"], 2, "--no-mcp"),
    ("require-extensions", "servers without them", &["--require-extension"], 2, "--require-extensions"),
    ("no-approve", "the project's code", &["--no-aprove"], 2, "--no-approve"),
    ("no-session", "the session's file", &["--no-sesion"], 2, "--no-session"),
    ("idle-timeout", "time of the provider", &["--idle-timeout", "soon"], 2, "--idle-timeout soon"),
    ("disk-timeout", "time of the disk", &["--disk-timeout", "soon"], 2, "--disk-timeout soon"),
    ("max-cost", "dearer runs", &["--max-cost", "0"], 2, "--max-cost 0"),
    ("max-turns", "longer runs", &["--max-turn", "1"], 2, "--max-turns"),
    ("max-time", "longer runs", &["--max-time", "day=1"], 2, "--max-time day=1"),
    ("max-frame", "longer lines", &["--max-frame", "0"], 2, "--max-frame 0"),
    ("max-queue", "more messages", &["--max-queue", "0"], 2, "--max-queue 0"),
    ("max-unread", "more output", &["--max-unread", "0"], 2, "--max-unread 0"),
    ("max-session", "longer sessions", &["--max-session", "0"], 2, "--max-session 0"),
    ("max-bash", "more commands", &["--max-bash", "0"], 2, "--max-bash 0"),
    ("max-output-file", "longer files", &["--max-output-file", "0"], 2, "--max-output-file 0"),
    ("max-output-files", "more files", &["--max-output-files", "0"], 2, "--max-output-files 0"),
    ("kept-output", "more output", &["--kept-output", "0"], 2, "--kept-output 0"),
    ("token-file", "clients without a token", &["--token-file"], 1, "--token-file"),
    ("auth-command", "clients without a token", &["--auth-command"], 1, "--auth-command"),
    ("unattended", "calls that nobody answers for", &["--unatended", "deny"], 2, "--unattended"),
];

/// The other options: they choose, add or allow.
const OTHERS: &str = "dialect wire-login mode print list-models provider model thinking system-prompt \
    append-system-prompt api-key pass-keys skill prompt-template name extension keep-going approve follow-links sync listen nats \
    nats-credentials nats-nkey nats-ca nats-cert nats-key nats-replicas nats-lease nats-keep-closed node label tls-cert tls-key upgrade-wait log-format allow-origin \
    multi-session keep-idle unattended-after webhook webhook-secret-file webhook-private state hazard seed backend speak help version continue session fork resume session-id \
    session-dir export profile agent record leave reconnect tls-ca cwd status json";

/// Words in the help of options that narrow.
const NARROWING_WORDS: [&str; 8] =
    ["Offer only", "Offer no", "Never", "Leave out", "Limit", "Refuse", "Use no", "Load no"];

/// The options in a help text, each with what it says of them.
fn options_of(help: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in help.lines() {
        let text = line.trim_start();
        if line.starts_with("  ") && text.starts_with('-') {
            let (names, meaning) = text.split_once("  ").unwrap_or((text, ""));
            let names = names.split_whitespace().filter_map(|word| word.strip_prefix("--"));
            let names = names.map(|name| name.trim_end_matches([',', ']']).to_owned());
            found.extend(names.map(|name| (name, meaning.trim().to_owned())));
        } else if let Some((_, meaning)) = found.last_mut() {
            meaning.push(' ');
            meaning.push_str(text);
        }
    }
    found
}

fn printed(arguments: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let ended = command(binary(), dir.path()).args(arguments).output().unwrap();
    String::from_utf8(ended.stdout).unwrap()
}

#[test]
fn every_option_is_classified() {
    let mut options = Vec::new();
    for command in ["serve", "host", "acp", "attach"] {
        let of_command = options_of(&printed(&[command, "--help"]));
        assert!(of_command.len() > 2, "{command}: {of_command:?}");
        options.extend(of_command);
    }
    // What is parsed and not in a help text.
    let parser = include_str!("../../src/cli/options.rs");
    for names in parser.split("Long(\"").skip(1) {
        let names = names.split_once(')').unwrap().0.split('"').step_by(2);
        options.extend(names.map(|name| (name.to_owned(), String::new())));
    }
    let narrowing: BTreeSet<&str> = NARROWING.iter().map(|row| row.0).collect();
    let others: BTreeSet<&str> = OTHERS.split_whitespace().collect();
    for (name, meaning) in &options {
        let (narrows, is_other) = (narrowing.contains(name.as_str()), others.contains(name.as_str()));
        assert!(narrows != is_other, "--{name}: add a row to NARROWING, or a word to OTHERS ({meaning})");
        let says_so = name.starts_with("no-") || name.starts_with("max-") || name.starts_with("exclude");
        let says_so = says_so || NARROWING_WORDS.iter().any(|word| meaning.starts_with(word));
        assert!(narrows || !says_so, "--{name} narrows, by its name or help: {meaning}");
    }
    let known: BTreeSet<&str> = options.iter().map(|(name, _)| name.as_str()).collect();
    let gone: Vec<&&str> = narrowing.union(&others).filter(|name| !known.contains(**name)).collect();
    assert_eq!(gone, Vec::<&&str>::new(), "options that there are no more");
}

#[test]
fn wrong_narrowing_option_is_refused() {
    at_once(NARROWING.into_iter(), |(name, takes, arguments, status, text)| {
        let dir = tempfile::tempdir().unwrap();
        let mut command = command(binary(), dir.path());
        command.args(["serve", "--dialect", "pi-1", "--no-session", "--model", "scripted/demo"]);
        let ended = command.args(arguments).stdin(Stdio::null()).output().unwrap();
        let words = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(status), "--{name} takes away {takes}: {words}");
        assert!(words.contains(text), "--{name} takes away {takes}: {words}");
    });
}

/// The keys of the settings that narrow, each with values that are refused.
fn narrowing_settings() -> [(&'static str, Value); 4] {
    [
        ("/defaultTools", json!(["read", null, "bash", {}, 1])),
        ("/enabledModels", json!(["opus", 1, {}])),
        ("/images/blockImages", json!(["yes", 1, []])),
        ("/defaultProjectTrust", json!(["no", 1, false])),
    ]
}

/// The other keys: they choose or add, or their absence allows no more.
const OTHER_SETTINGS: &str = "/defaultProvider /defaultModel /modelRoles/default /defaultThinkingLevel \
    /modelThinkingLevels /steeringMode /queueMode /followUpMode /interruptMode /compaction/enabled \
    /compaction/reserveTokens /compaction/keepRecentTokens /compaction/modelOverrides /branchSummary/reserveTokens \
    /cacheWarming /npmCommand /retry/maxAgentDelayMs /retry/enabled /retry/maxRetries /retry/baseDelayMs \
    /retry/maxDelayMs /retry/provider/maxRetries /retry/provider/maxRetryDelayMs /retry/provider/timeoutMs \
    /thinkingBudgets /transport /websocketConnectTimeoutMs /websockets /sessionDir /shellPath /shellCommandPrefix \
    /extensions /packages /passKeys /images/autoResize /codemode/mode /codemode/inlineBudget /skills /prompts \
    /httpProxy /httpIdleTimeoutMs /tasks/todoClearDelay";

#[test]
fn wrong_narrowing_setting_is_refused() {
    fn leaves(schema: &Value, at: &str, found: &mut BTreeSet<String>) {
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            let at = format!("{at}/{name}");
            match inner.get("properties").filter(|_| name != "thinkingBudgets") {
                Some(_) => leaves(inner, &at, found),
                None => drop(found.insert(at)),
            }
        }
    }
    let mut keys = BTreeSet::new();
    leaves(&serde_json::from_str(SETTINGS_SCHEMA).unwrap(), "", &mut keys);
    keys.remove("/$schema");
    let narrowing = narrowing_settings();
    let classified = narrowing.iter().map(|row| row.0).chain(OTHER_SETTINGS.split_whitespace());
    let classified: BTreeSet<String> = classified.map(str::to_owned).collect();
    assert_eq!(keys, classified, "each key narrows or does not");
    let single = narrowing
        .iter()
        .flat_map(|(key, values)| values.as_array().unwrap().iter().map(move |value| (*key, value.clone())));
    at_once(single, |(key, value)| {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".pi/agent")).unwrap();
        let settings = key[1..].rsplit('/').fold(value, |inner, name| json!({ name: inner }));
        fs::write(dir.path().join(".pi/agent/settings.json"), settings.to_string()).unwrap();
        let mut command = command(binary(), dir.path());
        command.args(["serve", "--dialect", "pi-1", "--no-session", "--model", "scripted/demo"]);
        let ended = command.stdin(Stdio::null()).output().unwrap();
        let words = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{settings}: {words}");
        assert!(
            words.contains(&format!("settings.json: {}", key[1..].replace('/', "."))),
            "{settings}: {words}"
        );
    });
}

#[test]
fn wrong_limit_of_token_is_refused() {
    let wrong = json!({
        "roots": ["x"], "models": "opus", "tools": ["-bash"], "mcp": "no", "dialects": ["x"], "sessions": -1,
        "commands_per_minute": "few", "dollars_per_day": -1, "logins": "yes", "sees_all": "no",
    });
    let source = include_str!("../../crates/host/src/limits.rs");
    let members = source.split_once("pub struct TokenLimits {").unwrap().1.split_once("\n}").unwrap().0;
    let members = members.lines().filter_map(|line| line.trim().strip_prefix("pub ")?.split_once(':'));
    for (name, _) in members {
        let value = wrong.get(name).unwrap_or_else(|| panic!("{name}: add a wrong value"));
        for value in [value, &Value::Null] {
            let limits = json!({ name: value });
            let read = TokenLimits::refuse_nulls(&limits).and_then(|()| {
                let limits: Result<TokenLimits, _> = serde_json::from_value(limits.clone());
                limits.map_err(|error| error.to_string())?.validate()
            });
            assert!(read.is_err(), "{limits}");
        }
    }
    let misspelt: Result<TokenLimits, _> = serde_json::from_value(json!({ "tool": ["read"] }));
    assert!(misspelt.is_err());
}
