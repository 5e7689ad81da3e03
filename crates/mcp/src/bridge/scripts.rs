//! `codemode`: scripts of the model that call tools, each in a sandbox of its own.
//!
//! A script gets what this file answers: calls of tools, which the engine carries out like calls of the model, and functions that
//! find and describe tools. What a script stores is an entry of the session, so that a branch has what was stored on its way.

use super::{
    model_calls::{MODEL_FUNCTIONS, ModelCallEnd, ModelCalls},
    *,
};
use crate::{
    naming::namespace,
    script_output::{ScriptCall, ScriptCallStatus, ScriptOutput},
    search::{Document, rank, schema_text},
};
use pi_rpc_codemode::{
    CallTarget, Completion, Event as ScriptEvent, Failure, Sandbox, Script, ScriptTool, SourceOptions, parse,
};
use pi_rpc_engine::declarations::{described, identifier};
use pi_rpc_protocol::{
    ExtensionAppendEntry, ExtensionCallTool, ExtensionResponse, ExtensionToolUpdate, ExtensionWithdraw,
    QueriedTool, UserContent,
};
use std::sync::LazyLock;
use tokio::sync::Semaphore;

/// The kind of entry that has what a script has stored. Source: observed.
const STORE: &str = "codemode-store";

/// How many scripts run at the same time in this program; more wait.
const MAX_SCRIPTS: usize = 4;

/// How long a script waits for others to end.
const START_WAIT: Duration = Duration::from_secs(60);

static SLOTS: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(MAX_SCRIPTS));

/// Functions of scripts beside those of the sandbox.
const FUNCTIONS: [&str; 3] = ["searchTools", "describeTool", "describeNamespace"];

/// How many tools `searchTools` finds without `limit`.
const SEARCH_LIMIT: u64 = 8;

/// Something that a script waits for.
pub(super) enum Reply {
    Answer(Value),
    Response(Box<ExtensionResponse>),
}

/// The scripts that run, by the ids of their calls.
#[derive(Default)]
pub(super) struct Scripts(HashMap<String, mpsc::UnboundedSender<Reply>>);

impl Scripts {
    /// Passes an answer on; gives back what is for no script.
    pub(super) fn pass_answer(&self, id: &str, data: Value) -> Option<Value> {
        match self.of(id) {
            Some(script) => {
                let _ = script.send(Reply::Answer(data));
                None
            }
            None => Some(data),
        }
    }

    /// Passes the response to an action on.
    pub(super) fn pass_response(&self, response: ExtensionResponse) {
        if let Some(script) = self.of(&response.id) {
            let _ = script.send(Reply::Response(Box::new(response)));
        }
    }

    pub(super) fn forget(&mut self, call: &str) {
        self.0.remove(call);
    }

    fn of(&self, id: &str) -> Option<&mpsc::UnboundedSender<Reply>> {
        self.0.get(id.strip_prefix(PREFIX)?.split('/').next()?)
    }
}

/// What ids of a script's requests begin with; the id of its call follows.
const PREFIX: &str = "script-";

/// What a script is told of a server.
#[derive(Clone)]
struct Namespace {
    server: String,
    description: Option<String>,
    instructions: Option<String>,
    tools: Vec<String>,
}

impl Namespace {
    /// Whether this is one of its names.
    fn is_called(&self, name: &str) -> bool {
        let name = identifier(name);
        name == namespace(&self.server) || name == identifier(&self.server)
    }
}

impl SessionBridge {
    /// Whether a script may call tools of the server: it names them, or looks for tools.
    fn reaches(code: &str, server: &Server) -> bool {
        let words = || code.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$');
        let looks = |word: &str| FUNCTIONS.contains(&word) || word == "ALL_TOOLS";
        words().any(|word| looks(word) || word.starts_with(&namespace(&server.entry.name)))
    }

    /// Starts a script, once the servers that it may call are settled.
    pub(super) async fn begin_script(&mut self, call: ExtensionToolCall) {
        self.wait(PendingRequest::Script(call)).await;
    }

    /// Whether the servers that a script may call are connected, or cannot be.
    pub(super) fn reached_servers_are_settled(&self, call: &ExtensionToolCall) -> bool {
        let code = call.arguments.get("code").and_then(Value::as_str).unwrap_or_default();
        self.servers.iter().all(|server| server.is_settled() || !Self::reaches(code, server))
    }

    pub(super) fn run_script(&mut self, call: ExtensionToolCall) {
        let Some(program) = self.program.clone() else { return };
        let known = self.servers.iter().filter(|server| server.source != Source::Withdrawn);
        let namespaces = known.map(|server| Namespace {
            server: server.entry.name.clone(),
            description: server.entry.description.clone(),
            instructions: match &server.state {
                State::Connected(connected) => connected.instructions.clone(),
                _ => None,
            },
            tools: server.tools.iter().map(|(name, _)| name.clone()).collect(),
        });
        let (sender, replies) = mpsc::unbounded_channel();
        self.scripts.0.insert(call.id.clone(), sender);
        let running = RunningScript {
            program,
            processes: self.surroundings.processes.clone(),
            output: self.output.clone(),
            namespaces: namespaces.collect(),
            replies,
            began: Instant::now(),
            requests: 0,
            calls: Vec::new(),
            available: self.models.clone(),
            models: None,
            tools: Vec::new(),
            call,
        };
        let events = self.events.downgrade();
        let id = running.call.id.clone();
        let ended = id.clone();
        let task = tokio::spawn(async move {
            running.run().await;
            if let Some(events) = events.upgrade() {
                let _ = events.send(Event::Ended(ended)).await;
            }
        });
        self.calls.insert(id, task.abort_handle());
    }
}

/// One script.
pub(super) struct RunningScript {
    pub(super) call: ExtensionToolCall,
    program: SandboxProgram,
    processes: pi_rpc_processes::Processes,
    output: BuiltInOutput,
    namespaces: Vec<Namespace>,
    replies: mpsc::UnboundedReceiver<Reply>,
    began: Instant,
    /// Requests to the engine so far.
    requests: u64,
    /// The calls that it has made.
    pub(super) calls: Vec<CallInScript>,
    /// The models that scripts may run.
    available: Option<Arc<ScriptModels>>,
    /// Its requests to models; `None`: it uses none.
    pub(super) models: Option<ModelCalls>,
    tools: Vec<QueriedTool>,
}

/// A call of a tool, or a request to a model, by a script.
pub(super) struct CallInScript {
    /// The id of the action, while a tool runs.
    pub(super) action: Option<String>,
    /// The id for the script.
    pub(super) id: u64,
    pub(super) began: Instant,
    pub(super) record: ScriptCall,
}

impl RunningScript {
    async fn run(mut self) {
        let code = self.call.arguments.get("code").and_then(Value::as_str).unwrap_or_default().to_owned();
        let (code, options) = match parse(&code) {
            Ok((code, options)) => (code.to_owned(), options),
            Err(error) => return self.output.send(ExtensionFailed { id: self.call.id, error }).await,
        };
        self.report().await;
        let Some(tools) = self.query(QueryKind::Tools).await else { return };
        let tools = tools.get("tools").cloned().unwrap_or_default();
        let tools: Vec<QueriedTool> = serde_json::from_value(tools).unwrap_or_default();
        self.tools = tools.into_iter().filter(|tool| tool.callable && tool.name != SCRIPT_TOOL).collect();
        let Some(entries) = self.query(QueryKind::Entries).await else { return };
        let available = self.available.as_ref().filter(|_| code.contains("models"));
        if let Some(models) = available.map(|models| models.current()) {
            let Some(known) = self.query(QueryKind::Models).await else { return };
            let chat = known.get("models").cloned().unwrap_or_default();
            self.models = Some(ModelCalls::new(models, serde_json::from_value(chat).unwrap_or_default()));
        }
        let functions = FUNCTIONS.iter().chain(self.models.iter().flat_map(|_| &MODEL_FUNCTIONS));
        let script = Script {
            code,
            tools: self.tools.iter().map(script_tool).collect(),
            functions: functions.map(|name| (*name).to_owned()).collect(),
            store: stored(&entries),
        };
        let mut output = ScriptOutput::default();
        let limit = options.timeout_ms.map(|limit| self.began + Duration::from_millis(limit));
        let outcome = self.serve(script, limit, &options, &mut output).await;
        self.finish(outcome, output, &options).await;
    }

    /// Runs the script to its end.
    async fn serve(
        &mut self,
        script: Script,
        limit: Option<Instant>,
        options: &SourceOptions,
        output: &mut ScriptOutput,
    ) -> Result<Completion, String> {
        let late =
            format!("Script timed out: it took more than {} ms", options.timeout_ms.unwrap_or_default());
        let wait = self.began + START_WAIT;
        let wait = limit.map_or(wait, |limit| limit.min(wait));
        let Ok(Ok(_slot)) = tokio::time::timeout_at(wait, SLOTS.acquire()).await else {
            return Err(match limit {
                Some(limit) if limit <= Instant::now() => late,
                _ => format!(
                    "The script was not started: {MAX_SCRIPTS} others run in this program, and none has ended within {} seconds",
                    START_WAIT.as_secs()
                ),
            });
        };
        let mut sandbox = Sandbox::start(&self.program, &self.processes, script)
            .map_err(|error| format!("Script sandbox failed: {error}"))?;
        loop {
            let expired = async {
                match limit {
                    Some(limit) => sleep_until(limit).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = expired => return Err(late),
                Some(reply) = self.replies.recv() => self.pass_on(&sandbox, reply).await,
                ended = next_model_call(&mut self.models) => self.end_model_call(&sandbox, ended).await,
                event = sandbox.next() => match event {
                    ScriptEvent::Call { id, target: CallTarget::Tool, name, arguments } => {
                        self.call_tool(&sandbox, id, name, arguments).await;
                    }
                    ScriptEvent::Call { id, target: CallTarget::Function, name, arguments } => {
                        let arguments = arguments.unwrap_or_default();
                        if MODEL_FUNCTIONS.contains(&name.as_str()) {
                            self.call_model_function(&sandbox, id, &name, &arguments).await;
                            continue;
                        }
                        sandbox.answer(id, self.call_function(&name, &arguments)).await;
                    }
                    ScriptEvent::Output(item) => output.add(item),
                    ScriptEvent::Done(Ok(completion)) => return Ok(completion),
                    ScriptEvent::Done(Err(Failure::Script(error))) => return Err(error),
                    ScriptEvent::Done(Err(Failure::Sandbox(error))) => {
                        return Err(format!("Script sandbox failed: {error}"));
                    }
                },
            }
        }
    }

    /// Has the engine run a tool.
    async fn call_tool(&mut self, sandbox: &Sandbox, id: u64, name: String, arguments: Option<Value>) {
        let arguments = match arguments {
            None | Some(Value::Null) => pi_rpc_protocol::JsonObject::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => {
                let error = format!("tools.{}(args): expected an object", identifier(&name));
                return sandbox.answer(id, Err(error)).await;
            }
        };
        let action = self.request_id();
        let record = ScriptCall::new(&self.call.tool_call_id, &name, &arguments);
        self.calls.push(CallInScript { action: Some(action.clone()), id, began: Instant::now(), record });
        let origin = Some(self.call.id.clone());
        self.output.send(ExtensionCallTool { id: action, origin, tool_name: name, arguments }).await;
        self.report().await;
    }

    /// Takes the end of a call, and passes it to the script.
    async fn pass_on(&mut self, sandbox: &Sandbox, reply: Reply) {
        if let Some((id, outcome)) = self.take_reply(reply) {
            self.report().await;
            sandbox.answer(id, outcome).await;
        }
    }

    /// The call that a reply ends, with what the script gets.
    fn take_reply(&mut self, reply: Reply) -> Option<(u64, Result<Option<Value>, String>)> {
        let Reply::Response(response) = reply else { return None };
        let ExtensionResponse { id, success, error, data } = *response;
        let ended = self.calls.iter_mut().find(|call| call.action.as_deref() == Some(id.as_str()))?;
        ended.action = None;
        ended.record.took = Some(ended.began.elapsed());
        let data = data.filter(|_| success).unwrap_or_default();
        let is_error = data.get("isError") != Some(&Value::Bool(false));
        if let Some(id) = data.get("toolCallId").and_then(Value::as_str) {
            ended.record.id = id.to_owned();
        }
        let result = data.get("result").cloned();
        let result: Option<AgentToolResult> = result.and_then(|result| serde_json::from_value(result).ok());
        let (texts, structured) = result.map_or_else(Default::default, |result| {
            (joined_texts(&result.content), result.structured_content)
        });
        let texts = error.unwrap_or(texts);
        ended.record.end(is_error, &texts);
        let has_structure =
            self.tools.iter().any(|it| it.name == ended.record.name && it.output_schema.is_some());
        let outcome = match structured.filter(|_| has_structure) {
            Some(value) => Ok(Some(value)),
            None if is_error && texts.is_empty() => Err(format!("Tool {} failed", ended.record.name)),
            None if is_error => Err(texts),
            None => Ok(Some(texts.into())),
        };
        Some((ended.id, outcome))
    }

    /// Ends the calls that still run, and then the call of the script.
    async fn finish(
        mut self,
        outcome: Result<Completion, String>,
        mut output: ScriptOutput,
        options: &SourceOptions,
    ) {
        let open: Vec<String> = self.calls.iter().filter_map(|call| call.action.clone()).collect();
        for action in &open {
            self.output.send(ExtensionWithdraw { id: action.clone() }).await;
        }
        // The engine ends what was withdrawn before it ends the call of the script.
        self.models.iter_mut().for_each(ModelCalls::cancel);
        let is_open = |call: &&mut CallInScript| call.record.status == ScriptCallStatus::Running;
        for call in self.calls.iter_mut().filter(is_open) {
            call.record.status = ScriptCallStatus::Cancelled;
            call.record.took = Some(call.began.elapsed());
        }
        let is_error = outcome.is_err();
        match outcome {
            Ok(Completion { value, writes }) => {
                if !writes.is_empty() {
                    self.store(writes).await;
                }
                output.returned(value);
            }
            Err(error) => output.failed(&error, self.calls.iter().map(|call| &call.record)),
        }
        let made = self.models.as_ref().map_or(0, |models| models.images);
        output.note_unshown(made);
        let usage = self.models.take().and_then(|models| models.usage);
        let (content, file) = output.content(self.began.elapsed(), is_error, options.max_output_tokens);
        let mut details = self.details();
        if let Some(file) = file {
            details["fullOutputPath"] = file.into();
        }
        let is_error = is_error.then_some(true);
        let result =
            AgentToolResult { content, details: Some(details), is_error, usage, ..AgentToolResult::from("") };
        self.output.send(ExtensionToolResult { id: self.call.id, result, is_error }).await;
    }

    /// Appends what the script has stored to the session.
    async fn store(&self, writes: BTreeMap<String, Option<Value>>) {
        let (mut set, mut deleted) = (serde_json::Map::new(), Vec::new());
        for (key, value) in writes {
            match value {
                Some(value) => drop(set.insert(key, value)),
                None => deleted.push(key),
            }
        }
        let data = Some(json!({ "set": set, "delete": deleted }));
        let origin = Some(self.call.id.clone());
        let custom_type = STORE.to_owned();
        self.output.send(ExtensionAppendEntry { id: None, origin, custom_type, data }).await;
    }

    /// Reports how far the calls of the script are.
    pub(super) async fn report(&self) {
        let partial_result = AgentToolResult {
            content: Vec::new(),
            details: Some(self.details()),
            usage: self.models.as_ref().and_then(ModelCalls::used),
            ..AgentToolResult::from("")
        };
        self.output.send(ExtensionToolUpdate { id: self.call.id.clone(), partial_result }).await;
    }

    fn details(&self) -> Value {
        json!({ "calls": self.calls.iter().map(|call| call.record.shown()).collect::<Vec<_>>() })
    }

    /// Queries a part of the state; `None`: the session is over.
    async fn query(&mut self, about: QueryKind) -> Option<Value> {
        let id = self.request_id();
        let query = ExtensionQuery { id, about, since: None, provider: None, model_id: None };
        self.output.send(query).await;
        loop {
            if let Reply::Answer(data) = self.replies.recv().await? {
                return Some(data);
            }
        }
    }

    fn request_id(&mut self) -> String {
        self.requests += 1;
        format!("{PREFIX}{}/{}", self.call.id, self.requests)
    }

    /// The answer to a function.
    fn call_function(&self, name: &str, arguments: &Value) -> Result<Option<Value>, String> {
        let text = |at: usize| arguments.get(at).and_then(Value::as_str);
        let first = text(0).ok_or_else(|| format!("{name}(): expected a string"))?;
        match name {
            "searchTools" => self.search_tools(first, arguments.get(1).unwrap_or(&Value::Null)).map(Some),
            "describeTool" => {
                let found =
                    self.tools.iter().find(|tool| tool.name == first || identifier(&tool.name) == first);
                Ok(found.map(|tool| sample(tool).into()))
            }
            _ => Ok(self.namespaces.iter().find(|it| it.is_called(first)).map(|it| self.namespace(it))),
        }
    }

    fn namespace(&self, found: &Namespace) -> Value {
        let is_here = |name: &&String| self.tools.iter().any(|tool| tool.name == **name);
        let tools: Vec<String> = found.tools.iter().filter(is_here).map(|name| identifier(name)).collect();
        let mut value = json!({ "name": namespace(&found.server) });
        if let Some(description) = &found.description {
            value["description"] = description.as_str().into();
        }
        if let Some(instructions) = &found.instructions {
            value["instructions"] = instructions.as_str().into();
        }
        value["tools"] = tools.into();
        value
    }

    fn search_tools(&self, query: &str, options: &Value) -> Result<Value, String> {
        let limit = match options.get("limit") {
            None | Some(Value::Null) => SEARCH_LIMIT,
            Some(limit) => limit
                .as_f64()
                .filter(|it| *it >= 1.0 && it.fract() == 0.0)
                .map(|it| it as u64)
                .ok_or("searchTools(): limit: expected an integer of at least 1")?,
        };
        let within = match options.get("namespace") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(_) => return Err("searchTools(): namespace: expected a string".to_owned()),
        };
        let of = |tool: &QueriedTool| self.namespaces.iter().find(|it| it.tools.contains(&tool.name));
        let is_within = |tool: &&QueriedTool| {
            within.is_none_or(|name| of(tool).is_some_and(|namespace| namespace.is_called(name)))
        };
        let tools: Vec<&QueriedTool> = self.tools.iter().filter(is_within).collect();
        let documents: Vec<Document> = tools
            .iter()
            .map(|tool| {
                let mut parts = vec![tool.description.clone()];
                schema_text(&Value::Object(tool.parameters.clone()), &mut parts);
                let about = of(tool).map(|it| {
                    let texts =
                        [Some(namespace(&it.server)), it.description.clone(), it.instructions.clone()];
                    texts.into_iter().flatten().collect::<Vec<_>>().join(" ")
                });
                Document {
                    name: tool.name.clone(),
                    text: parts.join(" "),
                    server_text: about.unwrap_or_default(),
                }
            })
            .collect();
        let ranked = rank(query, &documents, usize::try_from(limit).unwrap_or(usize::MAX));
        let found = ranked
            .into_iter()
            .filter_map(|at| tools.get(at))
            .map(|tool| json!({ "name": identifier(&tool.name), "description": sample(tool) }));
        Ok(found.collect())
    }
}

/// The next request to a model that ends; without any: never.
async fn next_model_call(models: &mut Option<ModelCalls>) -> ModelCallEnd {
    match models {
        Some(models) => models.next().await,
        None => std::future::pending().await,
    }
}

fn script_tool(tool: &QueriedTool) -> ScriptTool {
    ScriptTool { name: tool.name.clone(), identifier: identifier(&tool.name), description: sample(tool) }
}

fn sample(tool: &QueriedTool) -> String {
    let output = tool.output_schema.clone().map(Value::Object);
    let guidelines = tool.prompt_guidelines.as_deref().unwrap_or_default();
    let parameters = Value::Object(tool.parameters.clone());
    described(&tool.name, &tool.description, guidelines, &parameters, output.as_ref())
}

/// What the scripts on the branch of the session have stored.
fn stored(entries: &Value) -> BTreeMap<String, Value> {
    let listed = entries.get("entries").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let by_id: HashMap<&str, &Value> =
        listed.iter().filter_map(|entry| Some((entry.get("id")?.as_str()?, entry))).collect();
    let mut branch = Vec::new();
    let mut next = entries.get("leafId").and_then(Value::as_str);
    while let Some(entry) = next.and_then(|id| by_id.get(id)) {
        branch.push(*entry);
        // A file of others may have a circle.
        if branch.len() > listed.len() {
            break;
        }
        next = entry.get("parentId").and_then(Value::as_str);
    }
    let mut store = BTreeMap::new();
    for entry in
        branch.into_iter().rev().filter(|entry| entry.get("customType").is_some_and(|it| it == STORE))
    {
        let data = entry.get("data");
        let deleted = data.and_then(|data| data.get("delete")).and_then(Value::as_array);
        for key in deleted.into_iter().flatten().filter_map(Value::as_str) {
            store.remove(key);
        }
        let set = data.and_then(|data| data.get("set")).and_then(Value::as_object);
        store.extend(set.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())));
    }
    store
}

fn joined_texts(content: &[UserContent]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        UserContent::Text(block) => Some(block.text.as_str()),
        UserContent::Image(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The tool that runs scripts. Its description is the same whatever servers there are, so that providers keep what they have cached.
pub(super) fn codemode_tool(is_active: bool, has_models: bool) -> ExtensionTool {
    let parameters = json!({
        "type": "object",
        "required": ["code"],
        "properties": { "code": { "type": "string", "description": "JavaScript, as it is: no JSON, no code fence." } },
    });
    let guideline = "Use codemode for several calls that belong together: side by side with Promise.allSettled, one after another, or \
                     to reduce large results before you read them.";
    ExtensionTool {
        name: SCRIPT_TOOL.to_owned(),
        label: Some(SCRIPT_TOOL.to_owned()),
        description: if has_models { format!("{DESCRIPTION}\n{MODELS}") } else { DESCRIPTION.to_owned() },
        parameters: parameters.as_object().cloned().unwrap_or_default(),
        path: None,
        prompt_snippet: Some("Run JavaScript that calls other tools".to_owned()),
        prompt_guidelines: Some(vec![guideline.to_owned()]),
        sequential: None,
        inactive: (!is_active).then_some(true),
        exposure: Some(ToolExposure::ModelOnly),
        output_schema: None,
        runs_scripts: Some(true),
    }
}

const DESCRIPTION: &str = "\
Run a script that calls other tools, and see only what it puts out. The script is JavaScript, the body of an async function: `await` and \
`return` work at the top. It has no files, no network, no timers and no modules of Node; all it can do is call tools.
- `await tools.NAME({ ... })` calls a tool. It resolves to the text of the result, or to an object where the tool says so, and rejects \
with an Error if the call fails. Calls that are not awaited are cancelled at the end.
- `text(value)`, `image(dataUrlOrImageBlock)`, `console.log(...)` and the returned value are the output; `exit()` ends the script.
- `store(key, value)` keeps a small JSON value for later scripts, `load(key)` reads it.
- `await searchTools(query, { limit?, namespace? })` finds tools that are not declared to you, such as those of MCP servers; \
`await describeTool(name)` shows the types of one, `await describeNamespace(server)` the instructions and tools of a server, and \
`ALL_TOOLS` is the list of all as { name, description }.
- A first line `// @options: {\"max_output_tokens\": 10000, \"timeout_ms\": 60000}` sets limits.";

/// What is added where scripts run models.
const MODELS: &str = "\
- `models` has classifiers and models that make images: `await models.getAvailableOfType(\"classifier\" | \"image\" | \"chat\", provider?)`, \
`getModelsOfType` (also those without a key) and `getModelOfType(type, provider, id)` list them; `await models.classify(model, { state, \
images?, questions: { ID: { type: \"choice\" | \"score\" | \"bool\", instructions, criteria } } })` resolves to { answers, stopReason, \
errorMessage? }, with criteria { label: meaning }, [lowest, …] or { true, false }; `await models.generateImages(model, { input: [{ type: \
\"text\", text }] })` to { output, stopReason, errorMessage? }, whose image blocks `image()` shows.";
