//! A mock in this process, and a client that returns whole answers.

use pi_rpc_mock::{Journal, Mock};
use pi_rpc_model::scripted::Script;
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::task::JoinHandle;

/// Settings for snapshots beside those of the other tests.
pub fn snapshots() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings
}

/// The endpoints. [`Served::request`] makes those of Google and Bedrock ones for streams where a body asks for one with `stream`, as the others'.
pub const MESSAGES: &str = "/v1/messages";
pub const COMPLETIONS: &str = "/v1/chat/completions";
pub const RESPONSES: &str = "/v1/responses";
pub const MISTRAL: &str = "/mistral/v1/chat/completions";
pub const AZURE: &str = "/openai/v1/responses?api-version=v1";
pub const CODEX: &str = "/backend-api/codex/responses";
pub const GOOGLE: &str = "/v1beta/models/m:generateContent";
pub const PI: &str = "/radius/v1/messages";
pub const BEDROCK: &str = "/model/us.anthropic.claude-m/converse";

/// A mock that plays until it is dropped.
pub struct Served {
    pub url: String,
    pub journal: Arc<Journal>,
    pub client: Client,
    task: JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Plays these turns.
pub async fn turns(turns: Value) -> Served {
    serve(turns, |mock| mock).await
}

/// The same on a mock with other settings.
pub async fn serve(turns: Value, settings: impl FnOnce(Mock) -> Mock) -> Served {
    // A second test of this process has it installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let script = json!({ "model": { "name": "Test" }, "turns": turns }).to_string();
    let script = Script::from_json(&script).expect("a script");
    let mock = Mock::bind(([127, 0, 0, 1], 0).into(), script).await.expect("a free port");
    let mock = settings(mock);
    let (url, journal) = (format!("http://{}", mock.address()), mock.journal());
    let task = tokio::spawn(async move { mock.serve().await.expect("it serves") });
    let client = Client::builder().no_proxy().build().expect("a client");
    Served { url, journal, client, task }
}

impl Served {
    /// A request with everything that the vendors' headers must have.
    pub fn request(&self, path: &str, body: &Value) -> RequestBuilder {
        let (mut path, mut body) = (path.to_owned(), body.clone());
        let has_path_for_streams = path.ends_with(":generateContent") || path.ends_with("/converse");
        if has_path_for_streams
            && let Some(stream) = body.as_object_mut().and_then(|members| members.shift_remove("stream"))
            && stream == true
        {
            path = path.replace(":generateContent", ":streamGenerateContent?alt=sse");
            path = path.replace("/converse", "/converse-stream");
        }
        let request = self.post(&path).body(body.to_string());
        let request = request.header("content-type", "application/json");
        match path {
            path if path.contains("/radius/") => request.header("authorization", "Bearer key"),
            path if path.contains("/messages") => {
                request.header("x-api-key", "key").header("anthropic-version", "2023-06-01")
            }
            path if path.contains("enerateContent") => request.header("x-goog-api-key", "key"),
            _ => request.header("authorization", "Bearer key"),
        }
    }

    /// Sends it and gives the response's head.
    pub async fn send(&self, path: &str, body: &Value) -> Response {
        self.request(path, body).send().await.expect("an answer")
    }

    /// Asks for what is at `path`.
    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.url))
    }

    /// Posts to `path`, with no header yet.
    pub fn post(&self, path: &str) -> RequestBuilder {
        self.client.post(format!("{}{path}", self.url))
    }

    /// Sends it and gives the status and the whole body.
    pub async fn ask(&self, path: &str, body: &Value) -> (u16, String) {
        let response = self.send(path, body).await;
        (response.status().as_u16(), response.text().await.expect("a whole body"))
    }

    /// The same for a body that is JSON.
    pub async fn ask_json(&self, path: &str, body: &Value) -> (u16, Value) {
        answered(self.request(path, body)).await
    }
}

/// Sends a request and gives the status and the body, which is JSON.
pub async fn answered(request: RequestBuilder) -> (u16, Value) {
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    (status, serde_json::from_str(&response.text().await.expect("a whole body")).expect("JSON"))
}

/// A prompt in the form of the vendor at `path`.
pub fn prompt(path: &str, text: &str, stream: bool) -> Value {
    let message = json!({ "role": "user", "content": text });
    match path {
        MESSAGES => json!({ "model": "m", "max_tokens": 1024, "messages": [message], "stream": stream }),
        COMPLETIONS | MISTRAL => json!({ "model": "m", "messages": [message], "stream": stream }),
        PI => json!({
            "model": "m", "context": { "messages": [{ "role": "user", "content": text, "timestamp": 1 }] }, "options": {},
        }),
        path if path.ends_with("/converse") => {
            json!({ "messages": [{ "role": "user", "content": [{ "text": text }] }], "stream": stream })
        }
        path if path.contains(":generateContent") => {
            json!({ "contents": [{ "role": "user", "parts": [{ "text": text }] }], "stream": stream })
        }
        _ => json!({ "model": "m", "input": [message], "stream": stream }),
    }
}

/// Everything that a script can say in one answer.
pub fn rich() -> Value {
    json!([{
        "say": [
            { "thinking": "Let me look.", "size": 6, "signature": "c2lnbmVk" },
            { "redacted": "aGlkZGVu" },
            { "text": "I look\ninto it.", "size": 8 },
            { "tool": "read", "arguments": { "path": "a.txt" }, "size": 9 },
            { "tool": "ls" },
        ],
        "usage": { "input": 10, "output": 20, "cacheRead": 3, "cacheWrite": 4 },
    }])
}
