//! Keys from all sources are redacted in all outputs.

use crate::extended_support::script;
use crate::{
    hostile::{Hostile, WAYS},
    serve_support::{Server, binary, chatgpt_token, command, write_agent_file, write_models_file},
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};
use tempfile::TempDir;

/// What every planted key begins with: a part of one is found, too.
const MARK: &str = "PLANTED";

/// A key by its way.
pub fn planted(way: &str) -> String {
    format!("sk-{MARK}-{way}-0123456789abcdef")
}

/// The providers, each with its key by another way.
const PROVIDERS: [&str; 12] = [
    "option",
    "variable",
    "login",
    "oauth",
    "literal",
    "named",
    "dollar",
    "command",
    "header",
    "extension",
    "resource",
    "account",
];

/// What is in the environment, besides what every test has.
const VARIABLES: [(&str, &str); 5] = [
    ("XAI_API_KEY", "variable"),
    ("OWN_NAME", "named"),
    ("OWN_DOLLAR", "dollar"),
    ("OPENAI_API_KEY", "unused"),
    ("HF_TOKEN", "token"),
];

/// A home in which all of it is configured, with models of this endpoint.
fn home(hostile: &Hostile) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let models = |provider: &str| -> Vec<Value> {
        let base = |way: &str| format!("http://{}/{way}/{provider}", hostile.address);
        let model = |way: &&str| json!({"id": way, "name": way, "baseUrl": base(way)});
        WAYS.iter().map(model).collect()
    };
    let provider = |name: &str, more: Value| {
        let mut provider = json!({
            "baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "apiKey": "none", "models": models(name),
        });
        provider.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        provider
    };
    let url = format!("http://user:{}@{}/refusal?key={}", planted("user"), hostile.address, planted("query"));
    let proxied = json!([{"id": "far", "baseUrl": "http://far.example/v1"}]);
    let mut providers = json!({
        "option": provider("option", json!({})),
        "login": provider("login", json!({})),
        "oauth": provider("oauth", json!({"api": "anthropic-messages"})),
        "literal": provider("literal", json!({"apiKey": planted("literal")})),
        "named": provider("named", json!({"apiKey": "$OWN_NAME"})),
        "dollar": provider("dollar", json!({"apiKey": "${OWN_DOLLAR}"})),
        "command": provider("command", json!({"apiKey": format!("!printf %s {}", planted("command"))})),
        "header": provider("header", json!({"headers": {"Authorization": format!("Token {}", planted("header"))}})),
        "url": provider("url", json!({"models": [{"id": "url", "baseUrl": url}, {"id": "odd", "baseUrl": url.replace("http:", "ftp:")}]})),
        "resource": provider("resource", json!({"api": "azure-openai-responses", "apiKey": planted("resource")})),
        "account": provider("account", json!({"api": "openai-codex-responses", "apiKey": account_token()})),
        "github-copilot": provider("github-copilot", json!({})),
        "failing": provider("failing", json!({"apiKey": format!("!false {}", planted("failing"))})),
        "proxied": provider("proxied", json!({"models": proxied})),
        "variable": provider("variable", json!({})),
    });
    // The key of a provider that is known comes from its variable.
    let mut known = providers["variable"].take();
    known.as_object_mut().unwrap().remove("apiKey");
    providers.as_object_mut().unwrap().remove("variable");
    providers["xai"] = known;
    write_models_file(dir.path(), Dialect::Pi1, &json!({ "providers": providers }));
    let login = |key: &str| json!({"type": "api_key", "key": planted(key)});
    let oauth =
        json!({"type": "oauth", "access": planted("oauth"), "refresh": planted("refresh"), "expires": 4e12});
    // Its refresh token goes to the endpoint.
    let expired =
        json!({"type": "oauth", "access": planted("expired"), "refresh": planted("renewal"), "expires": 1});
    write_agent_file(
        dir.path(),
        Dialect::Pi1,
        "auth.json",
        &json!({"login": login("login"), "oauth": oauth, "github-copilot": expired}),
    );
    let settings = json!({"retry": {"enabled": false, "provider": {"maxRetries": 0}}});
    write_agent_file(dir.path(), Dialect::Pi1, "settings.json", &settings);
    let lab = json!({
        "baseUrl": "http://127.0.0.1:9", "api": "openai-completions", "apiKey": planted("extension"),
        "models": models("extension"),
    });
    let wrong =
        json!({"type": "register_provider", "name": "wrong", "config": {"headers": planted("wrong")}});
    let lab = json!({"type": "register_provider", "name": "extension", "config": lab});
    let hook = planted("hook");
    let body = format!(
        r#"say '{lab}'
say '{wrong}'
say '{{"type":"register","hooks":["before_provider_headers"]}}'
env >&2
while await hook; do
  rest=${{line#*'"headers":{{'}}
  say '{{"type":"done","id":"'"$id"'","result":{{"headers":{{"X-Hook":"{hook}",'"${{rest%'}}'}}"'}}'
done"#
    );
    script(dir.path(), "extension.sh", &body);
    dir
}

/// A token of a ChatGPT account with the mark in its signature.
fn account_token() -> String {
    let whole = chatgpt_token("account");
    format!("{}.{}", whole.rsplit_once('.').unwrap().0, planted("account"))
}

/// The binary in that home with all the keys of the environment, and a log of everything.
fn planted_command(dir: &Path, hostile: &Hostile) -> Command {
    let mut command = command(binary(), dir);
    command.envs(VARIABLES.map(|(name, way)| (name, planted(way)))).env("RUST_LOG", "trace");
    command.env("PI_RPC_TOKEN_ORIGIN", format!("http://{}", hostile.address));
    command.env("http_proxy", format!("http://me:{}@{}", planted("proxy"), hostile.address));
    command
}

/// The files in which the keys were planted.
const SOURCES: [&str; 4] = ["models.json", "auth.json", "extension.sh", ".aws/credentials"];

/// Everything that lies in a folder, but for where the keys come from.
pub fn written(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            written(&path, found);
        } else if !SOURCES.iter().any(|source| path.ends_with(source)) {
            found.push((path.clone(), String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()));
        }
    }
}

/// Nothing of a key is in these texts.
#[track_caller]
pub fn assert_clean<'a>(texts: impl IntoIterator<Item = (String, &'a str)>) {
    for (name, text) in texts {
        if let Some(at) = text.find(MARK) {
            let start = text.floor_char_boundary(at.saturating_sub(300));
            let end = text.ceil_char_boundary((at + 100).min(text.len()));
            panic!("{name} has a key: …{}…", &text[start..end]);
        }
    }
}

#[test]
fn endpoint_cannot_leak_keys() {
    let hostile = Hostile::listen();
    let dir = home(&hostile);
    let mut tapped = planted_command(dir.path(), &hostile);
    tapped.args(["tap", "--dialect", "pi-1", "--record", "talk.jsonl", "--report", "tap.txt", "--"]);
    tapped.arg(binary()).args(["serve", "--dialect", "pi-1", "--api-key", &planted("option")]);
    tapped.args(["--model", "option/refusal", "-e", "./extension.sh", "--session-dir", "sessions"]);
    let mut server = Server::start(Dialect::Pi1, dir, tapped);
    let mut frames = Vec::new();
    for provider in PROVIDERS {
        let provider = if provider == "variable" { "xai" } else { provider };
        for way in WAYS {
            let model = json!({"type": "set_model", "provider": provider, "modelId": way});
            let set = server.ask("set", model);
            assert_eq!(set["success"], true, "{set}");
            frames.push(set);
            server.send(json!({"type": "prompt", "message": "hi"}));
            frames.extend(server.until_type("agent_settled"));
        }
    }
    for (provider, model) in
        [("url", "url"), ("url", "odd"), ("failing", "page"), ("proxied", "far"), ("github-copilot", "page")]
    {
        frames.push(server.ask("set", json!({"type": "set_model", "provider": provider, "modelId": model})));
        server.send(json!({"type": "prompt", "message": "hi"}));
        frames.extend(server.until_type("agent_settled"));
    }
    for command in [
        json!({"type": "compact"}),
        json!({"type": "get_state"}),
        json!({"type": "get_available_models"}),
        json!({"type": "get_messages"}),
        json!({"type": "get_entries"}),
        // Children need the proxy, with its password.
        json!({"type": "bash", "command": "unset http_proxy; env; env cat /proc/self/environ"}),
        json!({"type": "export_html", "outputPath": "page.html"}),
    ] {
        frames.push(server.ask("asked", command));
    }
    server.close_stdin();
    let ended = server.ends();
    frames.extend(ended.frames);
    let heard = hostile.heard();
    assert!(heard.contains(&planted("renewal")), "the login was not renewed");
    let never_sent = ["refresh", "unused", "token", "failing", "wrong", "query", "user", "proxy"];
    for way in PROVIDERS.into_iter().chain(["hook"]) {
        assert!(never_sent.contains(&way) || heard.contains(&planted(way)), "{way} was never sent");
    }
    let errors = frames.iter().filter(|frame| frame["type"] == "message_end");
    let errors = errors.filter_map(|frame| frame["message"]["errorMessage"].as_str());
    let errors: Vec<&str> = errors.collect();
    assert_eq!(errors.len(), PROVIDERS.len() * WAYS.len() + 5, "{errors:#?}");
    let masked = errors.iter().filter(|error| error.contains("***")).count();
    assert!(masked >= PROVIDERS.len() * 4, "{masked}: {errors:#?}");
    let mut files = Vec::new();
    written(ended.dir.path(), &mut files);
    for wanted in ["talk.jsonl", "tap.txt", "page.html", "sessions"] {
        assert!(files.iter().any(|(path, _)| path.display().to_string().contains(wanted)), "{wanted}");
    }
    let stdout = Value::from(frames.clone()).to_string();
    let files = files.iter().map(|(path, text)| (path.display().to_string(), text.as_str()));
    let said = [("stdout".to_owned(), stdout.as_str()), ("stderr".to_owned(), ended.stderr.as_str())];
    assert_clean(files.chain(said));
    assert!(
        ended.stderr.contains("TRACE") && ended.stderr.contains("extension.sh: HOME="),
        "{}",
        ended.stderr
    );
    for arguments in [
        &["check", "--dialect", "pi-1", "talk.jsonl"][..],
        &["models", "--dialect", "pi-1"],
        &["models", "--dialect", "pi-1", "--json"],
    ] {
        let Output { stdout, stderr, .. } =
            planted_command(ended.dir.path(), &hostile).args(arguments).output().unwrap();
        assert!(!stdout.is_empty());
        let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_clean([(format!("{arguments:?}"), &*stdout), (format!("{arguments:?}"), &*stderr)]);
    }
}

#[test]
fn endpoint_cannot_leak_keys_of_aws() {
    let hostile = Hostile::listen();
    let dir = tempfile::tempdir().unwrap();
    let model =
        |way: &&str| json!({"id": way, "name": way, "baseUrl": format!("http://{}/{way}", hostile.address)});
    let models: Vec<Value> = WAYS.iter().map(model).collect();
    let bedrock =
        json!({"baseUrl": "http://127.0.0.1:9", "api": "bedrock-converse-stream", "models": models});
    write_models_file(dir.path(), Dialect::Pi1, &json!({"providers": {"amazon-bedrock": bedrock}}));
    let settings = json!({"retry": {"enabled": false, "provider": {"maxRetries": 0}}});
    write_agent_file(dir.path(), Dialect::Pi1, "settings.json", &settings);
    fs::create_dir(dir.path().join(".aws")).unwrap();
    let (secret, session) = (planted("secret"), planted("session"));
    let keys = format!(
        "[work]\naws_access_key_id=id\naws_secret_access_key={secret}\naws_session_token={session}\n"
    );
    fs::write(dir.path().join(".aws/credentials"), keys).unwrap();
    let mut command = command(binary(), dir.path());
    command.env("AWS_PROFILE", "work").env("RUST_LOG", "trace");
    command.args([
        "serve",
        "--dialect",
        "pi-1",
        "--model",
        "amazon-bedrock/refusal",
        "--session-dir",
        "sessions",
    ]);
    let mut server = Server::start(Dialect::Pi1, dir, command);
    let mut frames = Vec::new();
    for way in WAYS {
        frames.push(
            server.ask("set", json!({"type": "set_model", "provider": "amazon-bedrock", "modelId": way})),
        );
        server.send(json!({"type": "prompt", "message": "hi"}));
        frames.extend(server.until_type("agent_settled"));
    }
    server.close_stdin();
    let ended = server.ends();
    frames.extend(ended.frames);
    let heard = hostile.heard();
    assert!(heard.contains(&session) && !heard.contains(&secret), "{heard}");
    let mut files = Vec::new();
    written(ended.dir.path(), &mut files);
    let stdout = Value::from(frames).to_string();
    let files = files.iter().map(|(path, text)| (path.display().to_string(), text.as_str()));
    assert_clean(
        files.chain([("stdout".to_owned(), stdout.as_str()), ("stderr".to_owned(), ended.stderr.as_str())]),
    );
}

#[test]
fn failed_start_leaks_no_key() {
    let hostile = Hostile::listen();
    let dir = home(&hostile);
    let refused = |arguments: &[&str]| {
        let mut command = planted_command(dir.path(), &hostile);
        let output = command.arg("serve").args(arguments).stdin(Stdio::null()).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_clean([(format!("{arguments:?}"), &*stdout), (format!("{arguments:?}"), &*stderr)]);
    };
    let key = planted("option");
    refused(&["--api-key", &key, "--model", "nothing/such"]);
    refused(&["--api-key", &key, "--provider", "nobody"]);
    refused(&["--api-key", &key, "--session", "0123"]);
    refused(&["--api-key", &key, "--dialect", "none"]);
    refused(&[&format!("--api-key={key}"), "--max-frame", "none"]);
    // Files that are not what they should be are told of, and not repeated.
    let odd = [
        json!({"providers": {"a": {"baseUrl": "http://x", "apiKey": [planted("list")], "models": []}}}),
        json!({"providers": {"a": {"baseUrl": "http://x", "headers": planted("text")}}}),
        json!({"providers": {"a": {"baseUrl": "http://x", "headers": {"A": {"B": planted("deep")}}}}}),
        json!({"providers": planted("providers")}),
        json!(planted("file")),
    ];
    for file in odd {
        write_models_file(dir.path(), Dialect::Pi, &file);
        write_agent_file(
            dir.path(),
            Dialect::Pi,
            "auth.json",
            &json!({"a": planted("entry"), "b": {"type": planted("kind")}}),
        );
        refused(&["--model", "nothing/such"]);
        write_agent_file(dir.path(), Dialect::Pi, "auth.json", &file);
        refused(&["--model", "nothing/such"]);
    }
}

#[test]
fn conform_files_have_no_environment_key() {
    let hostile = Hostile::listen();
    let dir = tempfile::tempdir().unwrap();
    let mut command = planted_command(dir.path(), &hostile);
    command.args([
        "conform",
        "--dialect",
        "pi-1",
        "--keep",
        "kept",
        "--format",
        "html",
        "--report",
        "report.html",
    ]);
    command.args(["--scenario", "*bash*", "--", binary().to_str().unwrap(), "--api-key", &planted("option")]);
    let output = command.output().unwrap();
    let mut files = Vec::new();
    written(dir.path(), &mut files);
    assert!(files.len() > 3, "{}", String::from_utf8_lossy(&output.stderr));
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    let files = files.iter().map(|(path, text)| (path.display().to_string(), text.as_str()));
    assert_clean(files.chain([("stdout".to_owned(), &*stdout), ("stderr".to_owned(), &*stderr)]));
}
