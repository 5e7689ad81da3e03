//! The fake vendor beside the real binary: each API, one script.

use super::{Server, binary, command};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use pi_rpc::{
    mock::{Journal, Mock},
    model::scripted::Script,
    protocol::Dialect,
};
use serde_json::{Value, json};
use std::{fs, net::SocketAddr, path::Path, sync::Arc, thread};
use tempfile::TempDir;

/// The APIs that models speak in server-sent events, by their names in models.json.
pub const APIS: [&str; 9] = [
    "anthropic-messages",
    "openai-completions",
    "openai-responses",
    "google-generative-ai",
    "mistral-conversations",
    "google-vertex",
    "azure-openai-responses",
    "openai-codex-responses",
    "pi-messages",
];

/// The `baseUrl` of a model of `api` whose vendor is at `address`.
pub fn base_url(api: &str, address: &str) -> String {
    let folder = match api {
        "anthropic-messages" => "",
        "mistral-conversations" => "/mistral",
        "pi-messages" => "/radius/v1",
        _ => "/v1",
    };
    format!("{address}{folder}")
}

/// A key that servers of `api` accept.
pub fn key_of(api: &str) -> String {
    match api {
        "openai-codex-responses" => chatgpt_token("account"),
        _ => "key".to_owned(),
    }
}

/// A token of ChatGPT, which names its account.
pub fn chatgpt_token(account: &str) -> String {
    let claims = json!({ "https://api.openai.com/auth": { "chatgpt_account_id": account } });
    format!("e30.{}.c2lnbmVk", URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// The API whose answers are binary frames.
pub const BEDROCK: &str = "bedrock-converse-stream";

/// All APIs.
pub fn all_apis() -> impl Iterator<Item = &'static str> {
    APIS.into_iter().chain([BEDROCK])
}

/// A vendor that plays a script until the test is over.
pub struct FakeVendor {
    pub address: SocketAddr,
    pub journal: Arc<Journal>,
}

impl FakeVendor {
    /// Plays `script`: `{"turns": […]}`.
    pub fn plays(script: &Value) -> Self {
        Self::plays_as(script, |mock| mock)
    }

    /// Plays `script`; the next polls and renewals of logins fail with these errors.
    pub fn refusing_logins(script: &Value, errors: &[&str]) -> Self {
        let errors = errors.iter().map(|&error| error.to_owned()).collect();
        Self::plays_as(script, |mock| mock.with_login_errors(errors))
    }

    /// Plays `script`, also to requests that the vendor would refuse.
    pub fn plays_leniently(script: &Value) -> Self {
        Self::plays_as(script, Mock::lenient)
    }

    fn plays_as(script: &Value, set_up: impl FnOnce(Mock) -> Mock) -> Self {
        let script = Script::from_json(&script.to_string()).expect("a script");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mock = set_up(runtime.block_on(Mock::bind(([127, 0, 0, 1], 0).into(), script)).unwrap());
        let (address, journal) = (mock.address(), mock.journal());
        // It ends with the test's process.
        thread::spawn(move || runtime.block_on(mock.serve()));
        Self { address, journal }
    }

    /// A server that has this vendor's model of `api`, and no other, in its configuration.
    pub fn server(&self, dialect: Dialect, api: &str, options: &[&str]) -> Server {
        configured(dialect, &format!("http://{}", self.address), api, options)
    }

    /// A server that has this vendor's model of `api`, and these settings.
    pub fn server_under(&self, settings: &Value, dialect: Dialect, api: &str, options: &[&str]) -> Server {
        let dir = tempfile::tempdir().unwrap();
        write_models(dir.path(), dialect, &format!("http://{}", self.address), api);
        write_agent_file(dir.path(), dialect, "settings.json", settings);
        start(dialect, dir, &[&["--model", "fake/model"], options].concat())
    }

    /// Requests that the vendor refuses, with the reasons.
    pub fn refusals(&self) -> Vec<String> {
        self.journal.received().into_iter().filter_map(|request| request.refusal).collect()
    }
}

/// A server whose only model speaks `api` at `base`.
pub fn configured(dialect: Dialect, base: &str, api: &str, options: &[&str]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    write_models(dir.path(), dialect, base, api);
    start(dialect, dir, &[&["--model", "fake/model"], options].concat())
}

/// Starts the server in `dir`, which is its home, too.
pub fn start(dialect: Dialect, dir: TempDir, options: &[&str]) -> Server {
    let mut command = command(binary(), dir.path());
    command.args(["--mode", "rpc", "--no-session", "--dialect", dialect.as_str()]).args(options);
    let mut server = Server::start(dialect, dir, command);
    if dialect == Dialect::Xcsh {
        assert_eq!(server.next()["type"], "ready");
    }
    server
}

fn write_models(home: &Path, dialect: Dialect, base: &str, api: &str) {
    let base = base_url(api, base);
    let models = json!({ "providers": { "fake": {
        "baseUrl": base, "apiKey": key_of(api), "api": api,
        "models": [{
            "id": "model", "reasoning": true, "input": ["text", "image"], "contextWindow": 200_000,
            "maxTokens": 8000, "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 },
        }],
    } } });
    write_models_file(home, dialect, &models);
}

/// Writes the `models.json` of a user of this dialect.
pub fn write_models_file(home: &Path, dialect: Dialect, models: &Value) {
    write_agent_file(home, dialect, "models.json", models);
}

/// Writes a file in the agent directory of a user of this dialect.
pub fn write_agent_file(home: &Path, dialect: Dialect, name: &str, content: &Value) {
    let agent = home.join(dialect.record().directories.agent.trim_start_matches("~/"));
    fs::create_dir_all(&agent).unwrap();
    fs::write(agent.join(name), content.to_string()).unwrap();
}
