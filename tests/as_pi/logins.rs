//! pi 1.5.2 and our server renew the same login: once, and it is not lost.

use crate::{
    peer_support::peer,
    serve_support::{
        FakeVendor, Server, binary, chatgpt_token, command, write_agent_file, write_models_file,
    },
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Sends what pi sends to its vendors to the fake one, also after pi has put another `fetch` into its place.
const PRELOAD: &str = r#"
    let send = globalThis.fetch;
    const redirected = (input, init) => {
      const url = String(input?.url ?? input);
      return send(url.replace(/^https:\/\/[^/]+/, process.env.PI_RPC_TOKEN_ORIGIN), init);
    };
    Object.defineProperty(globalThis, "fetch", {
      get: () => redirected, set: (own) => { send = own; }, configurable: true,
    });
"#;

/// Puts the preload into a home.
pub fn write_preload(home: &Path) {
    fs::write(home.join("preload.mjs"), PRELOAD).unwrap();
}

/// pi, by its words, or our server, with the files of `home` and with logins at the fake vendor.
pub fn server(vendor: &FakeVendor, home: &Path, words: Option<&[PathBuf]>, model: &str) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let ours = [binary().to_owned()];
    let words = words.unwrap_or(&ours);
    let mut command = command(&words[0], dir.path());
    command.env("HOME", home).env("PI_RPC_TOKEN_ORIGIN", format!("http://{}", vendor.address));
    command.env("PI_OFFLINE", "1");
    if words.len() > 1 {
        command.arg("--import").arg(home.join("preload.mjs"));
    }
    command.args(&words[1..]).args(["--mode", "rpc", "--no-session", "--model", model]);
    Server::start(Dialect::Pi, dir, command)
}

/// The first frame of this kind, whatever else it holds.
pub fn until(server: &mut Server, kind: &str) -> Value {
    loop {
        let line = server.next_line().unwrap();
        let frame: Value = serde_json::from_slice(&line).unwrap();
        if frame["type"] == kind {
            return frame;
        }
    }
}

#[test]
fn pi_and_ours_renew_login_once() {
    let Some(pi) = peer("1.5.2") else { return };
    let vendor = FakeVendor::plays(&json!({ "turns": [{ "repeat": true, "say": [{ "text": "Hello." }] }] }));
    let home = tempfile::tempdir().unwrap();
    write_preload(home.path());
    let base = format!("http://{}/backend-api", vendor.address);
    let models = json!([{ "id": "model", "contextWindow": 200_000, "maxTokens": 8000 }]);
    let codex = json!({ "baseUrl": base, "api": "openai-codex-responses", "models": models });
    write_models_file(home.path(), Dialect::Pi, &json!({ "providers": { "openai-codex": codex } }));
    let settings = json!({ "transport": "sse", "retry": { "enabled": false } });
    write_agent_file(home.path(), Dialect::Pi, "settings.json", &settings);
    let auth = home.path().join(".pi/agent/auth.json");
    let mut refresh = "refresh_old".to_owned();
    for round in 1..=4 {
        let login = json!({ "openai-codex": {
            "type": "oauth", "access": chatgpt_token("old"), "refresh": refresh, "expires": 1_000_000_000_000_u64,
            "accountId": "old",
        } });
        write_agent_file(home.path(), Dialect::Pi, "auth.json", &login);
        let mut both =
            [Some(pi), None].map(|words| server(&vendor, home.path(), words, "openai-codex/model"));
        for server in &mut both {
            server.send(json!({ "id": "1", "type": "get_state" }));
            until(server, "response");
        }
        for server in &mut both {
            server.send(json!({ "type": "prompt", "message": "hi" }));
        }
        for mut server in both {
            let end = until(&mut server, "agent_end");
            let last = end["messages"].as_array().unwrap().last().unwrap();
            assert_eq!(last["content"][0]["text"], "Hello.", "round {round}: {last}");
            server.close_stdin();
            while server.next_line().is_some() {}
        }
        let all = vendor.journal.received().into_iter();
        let renewals: Vec<_> =
            all.filter(|request| request.path == "/oauth/token").map(|request| request.status).collect();
        assert_eq!(renewals, vec![Some(200); round], "round {round}");
        let written: Value = serde_json::from_str(&fs::read_to_string(&auth).unwrap()).unwrap();
        let login = &written["openai-codex"];
        refresh = format!("scripted-refresh-{round}");
        assert_eq!(
            (&login["refresh"], &login["accountId"]),
            (&json!(refresh), &json!("account_scripted")),
            "{round}"
        );
    }
}

/// Providers whose logins expire, each with a model of its own. Radius is not among them: its models have an API that we
/// do not speak.
const RENEWED: [(&str, &str); 6] = [
    ("anthropic", "claude-opus-5-5"),
    ("openai", "gpt-6.1-sol"),
    ("github-copilot", "claude-opus-5"),
    ("kimi-coding", "kimi-for-coding"),
    ("meta", "muse-spark-1.3"),
    ("xai", "grok-4.7"),
];

/// Headers that the libraries add which speak HTTP.
const OF_LIBRARIES: [&str; 7] = [
    "accept-encoding",
    "accept-language",
    "connection",
    "content-length",
    "host",
    "sec-fetch-mode",
    "user-agent",
];

/// The first request, a renewal that the vendor refuses: method, path, headers and body.
fn renewal(words: Option<&[PathBuf]>, provider: &str, model: &str) -> Value {
    let vendor = FakeVendor::refusing_logins(&json!({ "turns": [] }), &["invalid_grant"; 9]);
    let home = tempfile::tempdir().unwrap();
    write_preload(home.path());
    let login = json!({ provider: {
        "type": "oauth", "access": "old-access", "refresh": "old-refresh", "expires": 1_000_000_000_000_u64,
        "clientId": "issued", "scopes": ["a"],
    } });
    write_agent_file(home.path(), Dialect::Pi, "auth.json", &login);
    write_agent_file(home.path(), Dialect::Pi, "settings.json", &json!({ "retry": { "enabled": false } }));
    let mut server = server(&vendor, home.path(), words, &format!("{provider}/{model}"));
    server.send(json!({ "type": "prompt", "message": "hi" }));
    until(&mut server, "agent_end");
    server.close_stdin();
    while server.next_line().is_some() {}
    let first = vendor.journal.received().into_iter().next().unwrap();
    let headers = first.headers.into_iter().filter(|(name, _)| !OF_LIBRARIES.contains(&name.as_str()));
    let headers: std::collections::BTreeMap<String, String> = headers.collect();
    json!([first.method, first.path, headers, first.body])
}

#[test]
fn renewals_are_requested_as_pi_does() {
    let Some(pi) = peer("1.5.2") else { return };
    for (provider, model) in RENEWED {
        let [theirs, ours] = [Some(pi), None].map(|words| renewal(words, provider, model));
        assert_eq!(theirs, ours, "{provider}");
    }
}
