//! Scripts of MCP servers: their file, its schema and its errors.

use pi_rpc_model::scripted::ScriptError;
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The longest generated text, in bytes.
const MAX_GENERATED: usize = 64 * 1024 * 1024;

/// A script for pi-rpc's scripted MCP server: its tools, resources and prompts, and what becomes of each request.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(title = "pi-rpc MCP script")]
pub struct McpScript {
    /// The schema of this file, for editors; not read.
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    /// The name of the server (default `scripted`).
    pub name: Option<String>,
    /// What the server says of itself at the start.
    pub instructions: Option<String>,
    /// The version of MCP that it answers with; by default the client's, or the newest where it does not know that.
    pub protocol_version: Option<String>,
    /// The capabilities that it declares; by default those that the script has something for.
    pub capabilities: Option<Map<String, Value>>,
    /// The tools.
    pub tools: Vec<ScriptedTool>,
    /// The most tools, resources or prompts of a page of their list; by default all are on one.
    pub page_size: Option<usize>,
    /// The resources.
    pub resources: Vec<ScriptedResource>,
    /// The templates of resources, as they are listed.
    pub resource_templates: Vec<Value>,
    /// The prompts.
    pub prompts: Vec<ScriptedPrompt>,
    /// What happens before anything is read (stdio), or before each connection's first answer (HTTP does nothing).
    pub on_start: Vec<McpStep>,
    /// What happens before the usual answer to a request, by its method, such as `initialize` or `tools/list`. A step that
    /// answers takes the place of the usual answer.
    pub methods: BTreeMap<String, Vec<McpStep>>,
    /// Over HTTP: what happens on the stream beside answers, which then stays open. Without any step there is no such stream.
    pub on_listen: Vec<McpStep>,
    /// The process outlives the end of its stdin, and ignores TERM.
    pub ignores_end: bool,
    /// Over HTTP: the key that requests need as `Authorization: Bearer KEY`; others get the status 401.
    pub key: Option<String>,
    /// Over HTTP: requests need a token of the authorization server that is at the same address.
    pub oauth: Option<OAuthScript>,
    /// Over HTTP: no sessions are made.
    pub without_sessions: bool,
}

/// An authorization server, whose user agrees at once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OAuthScript {
    /// The scopes that the MCP server names.
    pub scopes: Vec<String>,
    /// Lifetime of tokens in seconds, as it is said; they are good for longer.
    pub expires_in: Option<u64>,
    /// The number of requests that a token is good for; by default any.
    pub uses: Option<usize>,
    /// Clients may describe themselves by a document.
    pub takes_documents: bool,
    /// The resource that the metadata names; by default the address of the MCP server.
    pub resource: Option<String>,
    /// The issuer that the metadata names; by default the address.
    pub issuer: Option<String>,
}

/// A tool.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptedTool {
    /// The name.
    pub name: Value,
    /// The title.
    #[serde(default)]
    pub title: Option<Value>,
    /// The description.
    #[serde(default)]
    pub description: Option<Value>,
    /// The schema of its arguments; by default that of any object. Any value is listed as it is.
    #[serde(default)]
    pub input_schema: Option<Value>,
    /// The schema of its structured result.
    #[serde(default)]
    pub output_schema: Option<Value>,
    /// Hints about what it does.
    #[serde(default)]
    pub annotations: Option<Value>,
    /// List it so many times, as `NAME_1`, `NAME_2`, …
    #[serde(default)]
    pub copies: Option<usize>,
    /// What its calls do: each takes the next, and the last one stays. Without any, a call is answered with its arguments.
    #[serde(default)]
    pub calls: Vec<Vec<McpStep>>,
}

/// A resource.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptedResource {
    /// The address.
    pub uri: String,
    /// The name; by default the address.
    #[serde(default)]
    pub name: Option<String>,
    /// A description.
    #[serde(default)]
    pub description: Option<String>,
    /// The media type.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// The text.
    #[serde(default)]
    pub text: Option<String>,
    /// The bytes in Base64, in place of a text.
    #[serde(default)]
    pub blob: Option<String>,
}

/// A prompt.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptedPrompt {
    /// The name.
    pub name: String,
    /// A description.
    #[serde(default)]
    pub description: Option<String>,
    /// The arguments, as they are listed.
    #[serde(default)]
    pub arguments: Vec<Value>,
    /// The text; `{name}` stands for the argument of that name.
    pub text: String,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum McpStep {
    /// Wait so many milliseconds.
    WaitMs(u64),
    /// Add a text to the result of the call.
    Text(String),
    /// Add a text to the result that repeats.
    Filler(Filler),
    /// Add content to the result as it is, such as `{"type": "image", …}`.
    Content(Value),
    /// Give the result a structured value.
    Structured(Value),
    /// Say that the result is an error.
    IsError(bool),
    /// Report progress, if the client wants it: `{"progress": 1, "total": 3, "message": "…"}`.
    Progress(Map<String, Value>),
    /// Send a notification.
    Notify(Request),
    /// Send a request to the client, such as `elicitation/create`; its answer becomes a text of the result.
    Ask(Request),
    /// Have these tools from now on, and say that the list has changed.
    Tools(Vec<ScriptedTool>),
    /// Answer with this result as it is, in place of what was gathered.
    Result(Value),
    /// Answer with an error of JSON-RPC.
    Fail(RpcFailure),
    /// Write this text as it is, with a line feed, beside all messages.
    Write(String),
    /// Write this text again and again until nobody reads.
    Flood(String),
    /// Write a line to stderr.
    Stderr(String),
    /// Never answer.
    Hang(bool),
    /// Exit with this status; over HTTP, cut the connection.
    Exit(u8),
    /// Over HTTP: close the stream, and go on in the one that the client resumes it by. It is asked to wait so many milliseconds before.
    CloseStream(u64),
    /// Over HTTP: answer with this status, these headers and this body.
    Http(HttpAnswer),
}

/// A text that repeats.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Filler {
    /// The text.
    pub text: String,
    /// How often it comes.
    pub times: usize,
}

/// A notification, or a request to the client.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The parameters (default `{}`).
    #[serde(default)]
    pub params: Map<String, Value>,
}

/// An error of JSON-RPC.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RpcFailure {
    /// The code, such as -32603.
    pub code: i64,
    /// The message.
    pub message: String,
}

/// An answer of HTTP without a message.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HttpAnswer {
    /// The status, 200 to 599.
    pub status: u16,
    /// The headers.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The body.
    #[serde(default)]
    pub body: String,
}

impl McpScript {
    /// Reads the text of a script file.
    ///
    /// # Errors
    ///
    /// The text is not JSON, has the wrong shape, or generates too much. The error names the place and the expectation.
    pub fn from_json(text: &str) -> Result<Self, ScriptError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let script: Self = serde_path_to_error::deserialize(&mut json).map_err(ScriptError::from)?;
        json.end().map_err(ScriptError::NotJson)?;
        script.check()?;
        Ok(script)
    }

    /// A server with one tool that answers with its arguments, `echo`.
    pub fn demo() -> Self {
        let echo = ScriptedTool {
            name: "echo".into(),
            title: None,
            description: Some("Answers with its arguments.".into()),
            input_schema: None,
            output_schema: None,
            annotations: None,
            copies: None,
            calls: Vec::new(),
        };
        Self { tools: vec![echo], ..Self::default() }
    }

    fn check(&self) -> Result<(), ScriptError> {
        let tools = self.tools.iter().enumerate().flat_map(|(at, tool)| {
            let calls = tool.calls.iter().enumerate();
            calls.map(move |(call, steps)| (format!("tools[{at}].calls[{call}]"), steps))
        });
        let methods = self.methods.iter().map(|(method, steps)| (format!("methods.{method}"), steps));
        let start = [("onStart".to_owned(), &self.on_start), ("onListen".to_owned(), &self.on_listen)];
        for (place, steps) in start.into_iter().chain(methods).chain(tools) {
            for (at, step) in steps.iter().enumerate() {
                let fault = match step {
                    McpStep::Filler(filler)
                        if filler.text.len().saturating_mul(filler.times) > MAX_GENERATED =>
                    {
                        format!("expected at most {MAX_GENERATED} bytes of generated text")
                    }
                    McpStep::Flood(text) if text.is_empty() => "flood: expected a text, got none".to_owned(),
                    McpStep::Http(answer) if !(200..=599).contains(&answer.status) => {
                        format!("http.status: expected 200 to 599, got {}", answer.status)
                    }
                    _ => continue,
                };
                return Err(ScriptError::Invalid { path: format!("{place}[{at}]"), reason: fault });
            }
        }
        Ok(())
    }
}

/// The JSON Schema (2020-12) of a script file, for editors.
pub fn mcp_script_schema() -> Value {
    schema_for!(McpScript).to_value()
}
