//! One client's conversation with the scripted server, over any transport.

use super::script::{HttpAnswer, McpScript, McpStep, ScriptedTool};
use crate::journal::lock;
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{mpsc, oneshot},
    task::AbortHandle,
    time::sleep,
};

/// The versions of MCP that are spoken, the newest first.
pub(super) const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Errors of JSON-RPC.
const INVALID_REQUEST: i64 = -32600;
const NO_METHOD: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
/// MCP's own: there is no such resource.
const NO_RESOURCE: i64 = -32002;

/// What a client is sent.
pub(super) enum Sent {
    /// A message.
    Message(Value),
    /// Bytes that are no message.
    Raw(String),
    /// A line of stderr.
    Stderr(String),
    /// An answer of HTTP.
    Http(HttpAnswer),
    /// The end of a stream that goes on in another; the pause in milliseconds.
    Close(u64),
    /// The end of the process, or of the connection.
    Exit(u8),
}

/// What all conversations of a server share.
pub(super) struct McpState {
    pub script: McpScript,
    tools: Mutex<Vec<ScriptedTool>>,
    /// Calls of each tool so far.
    calls: Mutex<BTreeMap<String, usize>>,
    asked: AtomicU64,
}

/// The conversation with one client.
pub(super) struct Conversation {
    state: Arc<McpState>,
    /// Whether `initialize` has come; `None`: that does not matter, as all clients share the conversation.
    is_initialized: Mutex<Option<bool>>,
    running: Mutex<HashMap<String, AbortHandle>>,
    asks: Mutex<HashMap<u64, oneshot::Sender<Value>>>,
}

/// A result that is being gathered, or what takes its place.
#[derive(Default)]
struct Gathered {
    content: Vec<Value>,
    structured: Option<Value>,
    is_error: Option<bool>,
}

/// How the steps of a request ended.
enum Outcome {
    /// With what they gathered.
    Gathered(Gathered),
    /// With an answer.
    Answered(Result<Value, (i64, String)>),
    /// Without one.
    Silent,
}

impl McpState {
    pub(super) fn new(script: McpScript) -> Arc<Self> {
        let tools = Mutex::new(script.tools.clone());
        Arc::new(Self { tools, script, calls: Mutex::default(), asked: AtomicU64::new(1) })
    }

    /// The definitions of all tools, as they are listed.
    fn definitions(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for tool in lock(&self.tools).iter() {
            let mut definition = Map::new();
            definition.insert("name".to_owned(), tool.name.clone());
            let schema = tool.input_schema.clone().unwrap_or_else(|| json!({ "type": "object" }));
            let members = [
                ("title", tool.title.clone()),
                ("description", tool.description.clone()),
                ("inputSchema", Some(schema)),
                ("outputSchema", tool.output_schema.clone()),
                ("annotations", tool.annotations.clone()),
            ];
            let members = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
            definition.extend(members);
            match (tool.copies, tool.name.as_str()) {
                (Some(copies), Some(name)) => all.extend((1..=copies).map(|number| {
                    definition.insert("name".to_owned(), format!("{name}_{number}").into());
                    Value::Object(definition.clone())
                })),
                _ => all.push(Value::Object(definition)),
            }
        }
        all
    }

    /// The steps of the next call of this tool; `None`: there is no such tool.
    fn next_call(&self, name: &str) -> Option<Vec<McpStep>> {
        let is_copy = |tool: &ScriptedTool, own: &str| {
            let number =
                name.strip_prefix(own).and_then(|rest| rest.strip_prefix('_')?.parse::<usize>().ok());
            tool.copies.zip(number).is_some_and(|(copies, number)| (1..=copies).contains(&number))
        };
        let tools = lock(&self.tools);
        let mut named = tools.iter().filter_map(|tool| Some((tool, tool.name.as_str()?)));
        let (tool, _) =
            named.find(|(tool, own)| (*own == name && tool.copies.is_none()) || is_copy(tool, own))?;
        let mut calls = lock(&self.calls);
        let count = calls.entry(name.to_owned()).or_default();
        let steps = tool.calls.get(*count).or(tool.calls.last()).cloned().unwrap_or_default();
        *count += 1;
        Some(steps)
    }
}

impl Conversation {
    /// The conversation with a client that has yet to begin.
    pub(super) fn new(state: Arc<McpState>) -> Arc<Self> {
        Self::with(state, Some(false))
    }

    /// The conversation with all clients of a server without sessions.
    pub(super) fn shared(state: Arc<McpState>) -> Arc<Self> {
        Self::with(state, None)
    }

    fn with(state: Arc<McpState>, is_initialized: Option<bool>) -> Arc<Self> {
        let (running, asks) = (Mutex::default(), Mutex::default());
        Arc::new(Self { state, is_initialized: Mutex::new(is_initialized), running, asks })
    }

    /// Plays what happens before anything is read.
    pub(super) async fn start(&self, out: &mpsc::Sender<Sent>) {
        self.play(&self.state.script.on_start, &Value::Null, out).await;
    }

    /// Plays what happens on the stream beside answers, which stays open.
    pub(super) async fn listen(&self, out: &mpsc::Sender<Sent>) {
        self.play(&self.state.script.on_listen, &Value::Null, out).await;
        out.closed().await;
    }

    /// Handles a message of the client, beside everything else; what it causes goes to `out`.
    pub(super) fn receive(self: &Arc<Self>, message: Value, out: mpsc::Sender<Sent>) {
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        match (method, id) {
            (Some(method), Some(id)) => {
                let (own, key) = (Arc::clone(self), id.to_string());
                let refusal = self.note_order(&method);
                let task = tokio::spawn(async move {
                    let outcome = match refusal {
                        Some(text) => Outcome::Answered(Err((INVALID_REQUEST, text.to_owned()))),
                        None => own.outcome(&method, &message, &out).await,
                    };
                    send_answer(outcome, &id, &out).await;
                    lock(&own.running).remove(&id.to_string());
                });
                lock(&self.running).insert(key, task.abort_handle());
            }
            (Some(method), None) => {
                let request = message.pointer("/params/requestId").map(Value::to_string);
                let cancelled = request.filter(|_| method == "notifications/cancelled");
                if let Some(task) = cancelled.and_then(|id| lock(&self.running).remove(&id)) {
                    task.abort();
                }
            }
            (None, Some(id)) => {
                let ask = id.as_u64().and_then(|id| lock(&self.asks).remove(&id));
                ask.map(|ask| ask.send(message));
            }
            (None, None) => {}
        }
    }

    /// Notes that a request of this method has come; says what is wrong with its place in the conversation.
    fn note_order(&self, method: &str) -> Option<&'static str> {
        let mut state = lock(&self.is_initialized);
        let is_initialized = state.as_mut()?;
        match (method, *is_initialized) {
            ("ping", _) => None,
            ("initialize", true) => Some("the session has begun"),
            ("initialize", false) => {
                *is_initialized = true;
                None
            }
            (_, true) => None,
            (_, false) => Some("expected initialize first"),
        }
    }

    async fn outcome(&self, method: &str, message: &Value, out: &mpsc::Sender<Sent>) -> Outcome {
        let refused = |code, text: String| Outcome::Answered(Err((code, text)));
        if message.get("jsonrpc") != Some(&"2.0".into()) {
            return refused(INVALID_REQUEST, "jsonrpc: expected \"2.0\"".to_owned());
        }
        let none = Vec::new();
        let before = self.state.script.methods.get(method).unwrap_or(&none);
        match self.play(before, message, out).await {
            Outcome::Gathered(_) => {}
            other => return other,
        }
        if method == "tools/call" {
            let name = message.pointer("/params/name").and_then(Value::as_str).unwrap_or_default();
            let Some(steps) = self.state.next_call(name) else {
                return refused(INVALID_PARAMS, format!("Unknown tool: {name}"));
            };
            if steps.is_empty() {
                let arguments = message.pointer("/params/arguments").unwrap_or(&Value::Null).to_string();
                let content = json!([{ "type": "text", "text": arguments }]);
                return Outcome::Answered(Ok(json!({ "content": content })));
            }
            return match self.play(&steps, message, out).await {
                Outcome::Gathered(gathered) => Outcome::Answered(Ok(gathered.result())),
                other => other,
            };
        }
        Outcome::Answered(self.usual(method, message.get("params").unwrap_or(&Value::Null)))
    }

    /// The answer to everything but calls, where the script has no other.
    fn usual(&self, method: &str, params: &Value) -> Result<Value, (i64, String)> {
        let script = &self.state.script;
        let text = |key: &str| params.get(key).and_then(Value::as_str).unwrap_or_default();
        let listed = |key: &str, all: Vec<Value>| {
            let start = text("cursor").parse().unwrap_or(0).min(all.len());
            let end = start.saturating_add(script.page_size.unwrap_or(all.len())).min(all.len());
            let mut page = Map::new();
            page.insert(key.to_owned(), all.get(start..end).unwrap_or_default().into());
            if end < all.len() {
                page.insert("nextCursor".to_owned(), end.to_string().into());
            }
            Value::Object(page)
        };
        match method {
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => Ok(json!({})),
            "initialize" => Ok(self.greeting(text("protocolVersion"))),
            "tools/list" => Ok(listed("tools", self.state.definitions())),
            "resources/list" => {
                let resource = |it: &super::script::ScriptedResource| {
                    let mut shown = json!({ "uri": it.uri, "name": it.name.as_deref().unwrap_or(&it.uri) });
                    for (key, value) in [("description", &it.description), ("mimeType", &it.mime_type)] {
                        if let Some(value) = value {
                            shown[key] = value.as_str().into();
                        }
                    }
                    shown
                };
                Ok(listed("resources", script.resources.iter().map(resource).collect()))
            }
            "resources/templates/list" => Ok(listed("resourceTemplates", script.resource_templates.clone())),
            "resources/read" => {
                let uri = text("uri");
                let found = script.resources.iter().find(|it| it.uri == uri);
                let found = found.ok_or_else(|| (NO_RESOURCE, format!("Resource not found: {uri}")))?;
                let mut contents = json!({ "uri": uri });
                for (key, value) in
                    [("mimeType", &found.mime_type), ("text", &found.text), ("blob", &found.blob)]
                {
                    if let Some(value) = value {
                        contents[key] = value.as_str().into();
                    }
                }
                Ok(json!({ "contents": [contents] }))
            }
            "prompts/list" => {
                let prompt = |it: &super::script::ScriptedPrompt| {
                    let mut shown = json!({ "name": it.name, "arguments": it.arguments });
                    if let Some(description) = &it.description {
                        shown["description"] = description.as_str().into();
                    }
                    shown
                };
                Ok(listed("prompts", script.prompts.iter().map(prompt).collect()))
            }
            "prompts/get" => {
                let name = text("name");
                let found = script.prompts.iter().find(|it| it.name == name);
                let found = found.ok_or_else(|| (INVALID_PARAMS, format!("Unknown prompt: {name}")))?;
                let mut filled = found.text.clone();
                for (key, value) in params.get("arguments").and_then(Value::as_object).into_iter().flatten() {
                    filled = filled.replace(&format!("{{{key}}}"), value.as_str().unwrap_or_default());
                }
                let content = json!({ "type": "text", "text": filled });
                Ok(json!({ "messages": [{ "role": "user", "content": content }] }))
            }
            _ => Err((NO_METHOD, format!("Method not found: {method}"))),
        }
    }

    /// The answer to `initialize`.
    fn greeting(&self, version: &str) -> Value {
        let script = &self.state.script;
        let known = VERSIONS.iter().find(|known| **known == version).unwrap_or(&VERSIONS[0]);
        let version = script.protocol_version.as_deref().unwrap_or(known);
        let capabilities = script.capabilities.clone().unwrap_or_else(|| {
            let has = [
                ("tools", true, json!({ "listChanged": true })),
                (
                    "resources",
                    !script.resources.is_empty() || !script.resource_templates.is_empty(),
                    json!({}),
                ),
                ("prompts", !script.prompts.is_empty(), json!({})),
                ("logging", true, json!({})),
            ];
            let has = has.into_iter().filter(|(_, is_there, _)| *is_there);
            has.map(|(key, _, value)| (key.to_owned(), value)).collect()
        });
        let mut greeting = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": { "name": script.name.as_deref().unwrap_or("scripted"), "version": "1" },
        });
        if let Some(instructions) = &script.instructions {
            greeting["instructions"] = instructions.as_str().into();
        }
        greeting
    }

    /// Performs steps for a message.
    async fn play(&self, steps: &[McpStep], message: &Value, out: &mpsc::Sender<Sent>) -> Outcome {
        let mut gathered = Gathered::default();
        let text = |text: String| json!({ "type": "text", "text": text });
        let notice = |method: &str, params: Value| {
            Sent::Message(json!({ "jsonrpc": "2.0", "method": method, "params": params }))
        };
        for step in steps {
            let sent = match step {
                McpStep::WaitMs(wait) => {
                    sleep(Duration::from_millis(*wait)).await;
                    continue;
                }
                McpStep::Text(it) => {
                    gathered.content.push(text(it.clone()));
                    continue;
                }
                McpStep::Filler(filler) => {
                    gathered.content.push(text(filler.text.repeat(filler.times)));
                    continue;
                }
                McpStep::Content(block) => {
                    gathered.content.push(block.clone());
                    continue;
                }
                McpStep::Structured(value) => {
                    gathered.structured = Some(value.clone());
                    continue;
                }
                McpStep::IsError(is_error) => {
                    gathered.is_error = Some(*is_error);
                    continue;
                }
                McpStep::Progress(progress) => {
                    let Some(token) = message.pointer("/params/_meta/progressToken") else { continue };
                    let mut params = Value::Object(progress.clone());
                    params["progressToken"] = token.clone();
                    notice("notifications/progress", params)
                }
                McpStep::Notify(it) => notice(&it.method, Value::Object(it.params.clone())),
                McpStep::Ask(it) => {
                    let id = self.state.asked.fetch_add(1, Ordering::Relaxed);
                    let (answer, answered) = oneshot::channel();
                    lock(&self.asks).insert(id, answer);
                    let ask = json!({ "jsonrpc": "2.0", "id": id, "method": it.method, "params": it.params });
                    if out.send(Sent::Message(ask)).await.is_err() {
                        return Outcome::Silent;
                    }
                    let answer = answered.await.unwrap_or_default();
                    let outcome = answer.get("result").or(answer.get("error")).unwrap_or(&Value::Null);
                    gathered.content.push(text(outcome.to_string()));
                    continue;
                }
                McpStep::Tools(tools) => {
                    lock(&self.state.tools).clone_from(tools);
                    notice("notifications/tools/list_changed", json!({}))
                }
                McpStep::Result(result) => return Outcome::Answered(Ok(result.clone())),
                McpStep::Fail(failure) => {
                    return Outcome::Answered(Err((failure.code, failure.message.clone())));
                }
                McpStep::Write(it) => Sent::Raw(format!("{it}\n")),
                McpStep::Flood(it) => {
                    let piece = it.repeat((64 * 1024 / it.len()).max(1));
                    while out.send(Sent::Raw(piece.clone())).await.is_ok() {}
                    return Outcome::Silent;
                }
                McpStep::CloseStream(pause) => Sent::Close(*pause),
                McpStep::Stderr(it) => Sent::Stderr(format!("{it}\n")),
                McpStep::Hang(true) => pending().await,
                McpStep::Hang(false) => continue,
                McpStep::Exit(_) | McpStep::Http(_) => {
                    let last = match step {
                        McpStep::Http(answer) => Sent::Http(answer.clone()),
                        McpStep::Exit(status) => Sent::Exit(*status),
                        _ => continue,
                    };
                    let _ = out.send(last).await;
                    return Outcome::Silent;
                }
            };
            if out.send(sent).await.is_err() {
                return Outcome::Silent;
            }
        }
        Outcome::Gathered(gathered)
    }
}

async fn send_answer(outcome: Outcome, id: &Value, out: &mpsc::Sender<Sent>) {
    let answer = match outcome {
        Outcome::Answered(Ok(result)) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Outcome::Answered(Err((code, text))) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": text } })
        }
        Outcome::Gathered(_) | Outcome::Silent => return,
    };
    // Fails only when the client is gone.
    let _ = out.send(Sent::Message(answer)).await;
}

impl Gathered {
    /// The result of a call.
    fn result(self) -> Value {
        let mut result = json!({ "content": self.content });
        if let Some(structured) = self.structured {
            result["structuredContent"] = structured;
        }
        if let Some(is_error) = self.is_error {
            result["isError"] = is_error.into();
        }
        result
    }
}
