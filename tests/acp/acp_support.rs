//! Runs `pi-rpc acp` with the official client, keeps its wire, validates and judges it.

use crate::client_terminals::Terminals;
use agent_client_protocol::{
    Agent, ByteStreams, Client, Error, on_receive_notification, on_receive_request,
    schema::ProtocolVersion,
    v1::{ConnectionTo, Responder, schema as acp},
};
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command as StdCommand, Stdio},
    sync::{Arc, LazyLock, Mutex},
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, duplex},
    process::{Child, Command},
    sync::watch,
};
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_pi-rpc");

/// Longest line that the support passes through.
const PIPE: usize = 1 << 20;

/// A home with a script for the model, and the options of `pi-rpc acp`.
pub struct Setup {
    pub home: TempDir,
    pub options: Vec<String>,
    pub capabilities: acp::ClientCapabilities,
    /// Which option of a permission request is chosen, by its index; `None`: the request is cancelled.
    pub choice: Option<usize>,
    /// The text that is entered into forms; `None`: they are declined.
    pub entered: Option<String>,
    /// Whether requests to the user stay open until they are cancelled.
    pub holds_dialogs: bool,
    /// Texts of files that the client has open.
    pub unsaved: HashMap<PathBuf, String>,
    /// Further variables of the program's environment.
    pub variables: Vec<(&'static str, &'static str)>,
}

impl Setup {
    /// The own engine with this script.
    pub fn own(turns: Value) -> Self {
        let home = tempfile::tempdir().unwrap();
        let script = json!({ "model": { "name": "Scripted", "reasoning": true, "contextWindow": 200_000 }, "turns": turns });
        fs::write(home.path().join("script.json"), script.to_string()).unwrap();
        fs::create_dir(home.path().join("project")).unwrap();
        let model = format!("scripted/{}", home.path().join("script.json").display());
        let options = vec!["--model".to_owned(), model];
        let choice = Some(0);
        let session = acp::ClientSessionCapabilities::new()
            .notices(acp::NoticeCapabilities::new())
            .compaction(acp::CompactionCapabilities::new());
        Self {
            home,
            options,
            capabilities: acp::ClientCapabilities::new().session(session),
            choice,
            entered: None,
            holds_dialogs: false,
            unsaved: HashMap::new(),
            variables: Vec::new(),
        }
    }

    /// A server of this program in a process, in `dialect`.
    pub fn foreign(turns: Value, dialect: &str) -> Self {
        let mut setup = Self::own(turns);
        let serve = [
            &["--agent", "--", PROGRAM, "serve", "--dialect", dialect].map(str::to_owned)[..],
            &setup.options,
        ]
        .concat();
        setup.options = serve;
        setup
    }

    /// With further options in front.
    pub fn with(mut self, options: &[&str]) -> Self {
        self.options.splice(0..0, options.iter().map(|it| (*it).to_owned()));
        self
    }

    /// With forms, into which this text is entered.
    pub fn entering(mut self, text: Option<&str>) -> Self {
        let forms = acp::ElicitationCapabilities::new().form(acp::ElicitationFormCapabilities::new());
        self.capabilities = self.capabilities.elicitation(forms);
        self.entered = text.map(str::to_owned);
        self
    }

    /// Writes the settings of every dialect.
    pub fn settings(&self, settings: &Value) {
        for (folder, name) in [(".pi", "settings.json"), (".xcsh", "settings.json"), (".omp", "config.yml")] {
            let folder = self.home.path().join(folder).join("agent");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(name), settings.to_string()).unwrap();
        }
    }

    /// With an executable file in its home; returns its path.
    pub fn script(&self, name: &str, text: &str) -> String {
        let path = self.home.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_string_lossy().into_owned()
    }

    /// The working directory of sessions.
    pub fn project(&self) -> PathBuf {
        self.home.path().join("project")
    }

    /// The recording of the first session's server.
    pub fn recording(&self) -> PathBuf {
        self.home.path().join("talk.jsonl")
    }

    pub fn start(&self) -> Child {
        let record = self.recording().to_string_lossy().into_owned();
        let mut program = Command::new(PROGRAM);
        program.arg("acp").args(["--record", &record]).args(&self.options);
        program.env_clear().env("HOME", self.home.path()).env("PATH", std::env::var_os("PATH").unwrap());
        program.envs(self.variables.iter().copied());
        program.current_dir(self.home.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        program.kill_on_drop(true).spawn().unwrap()
    }

    /// Judges the recordings by the rules of the protocol.
    pub fn judge(&self) {
        let files = fs::read_dir(self.home.path()).unwrap().map(|entry| entry.unwrap().path());
        let talks: Vec<PathBuf> = files.filter(|path| path.to_string_lossy().contains("/talk")).collect();
        assert!(!talks.is_empty(), "nothing was recorded");
        // A server that was refused at its start has written nothing.
        let has_frames = |talk: &&PathBuf| fs::read_to_string(talk).unwrap().contains("\"dir\":\"out\"");
        for talk in talks.iter().filter(has_frames) {
            let checked = StdCommand::new(PROGRAM).arg("check").arg(talk).output().unwrap();
            let report = String::from_utf8_lossy(&checked.stdout);
            assert!(checked.status.success(), "{report}\n{}", fs::read_to_string(talk).unwrap());
        }
    }
}

/// The side that has written a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Client,
    Agent,
}

/// What both sides have written.
#[derive(Clone)]
pub struct Wire(Arc<Mutex<Vec<(Side, Value)>>>, watch::Sender<usize>);

impl Wire {
    fn new() -> Self {
        Self(Arc::default(), watch::Sender::new(0))
    }

    fn push(&self, side: Side, line: &str) {
        let message = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:.300}"));
        self.0.lock().unwrap().push((side, message));
        self.1.send_modify(|count| *count += 1);
    }

    pub fn messages(&self) -> Vec<(Side, Value)> {
        self.0.lock().unwrap().clone()
    }

    /// The updates of all sessions, in order.
    pub fn updates(&self) -> Vec<Value> {
        let updates = self.messages().into_iter().filter(|(_, it)| it["method"] == "session/update");
        updates.map(|(_, it)| it["params"]["update"].clone()).collect()
    }

    /// Those of one kind.
    pub fn updates_of(&self, kind: &str) -> Vec<Value> {
        self.updates().into_iter().filter(|it| it["sessionUpdate"] == kind).collect()
    }

    /// The texts of chunks of one kind, joined.
    pub fn text(&self, kind: &str) -> String {
        self.updates_of(kind).iter().map(|it| it["content"]["text"].as_str().unwrap_or_default()).collect()
    }

    /// Waits until a message fits.
    pub async fn wait_for(&self, fits: impl Fn(&Value) -> bool) {
        let mut news = self.1.subscribe();
        while !self.0.lock().unwrap().iter().any(|(_, message)| fits(message)) {
            news.changed().await.unwrap();
        }
    }

    /// Checks every message against ACP's own schema, but for those of extensions.
    pub fn validate(&self) {
        let mut methods = HashMap::new();
        for (side, message) in self.messages() {
            let (schema, value) = match (message["method"].as_str(), message.get("result")) {
                (Some(method), _) => {
                    if let Some(id) = message.get("id") {
                        methods.insert((side, id.to_string()), method.to_owned());
                    }
                    (format!("{method} params"), message["params"].clone())
                }
                (None, Some(result)) => {
                    let asked = if side == Side::Client { Side::Agent } else { Side::Client };
                    let method = &methods[&(asked, message["id"].to_string())];
                    (format!("{method} result"), result.clone())
                }
                (None, None) => ("error".to_owned(), message["error"].clone()),
            };
            if schema.starts_with('_') {
                continue;
            }
            let validator = SCHEMAS.get(&*schema).unwrap_or_else(|| panic!("no schema for {schema}"));
            let errors: Vec<String> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{schema}: {errors:?}\n{message}");
        }
    }
}

impl std::hash::Hash for Side {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (*self as u8).hash(state);
    }
}

macro_rules! schemas {
    ($($name:literal: $type:ident),* $(,)?) => {
        HashMap::from([$(($name, validator(schemars::schema_for!(acp::$type)))),*])
    };
}

/// ACP's schema of each message, as its own crate generates it.
static SCHEMAS: LazyLock<HashMap<&str, jsonschema::Validator>> = LazyLock::new(|| {
    schemas! {
        "initialize params": InitializeRequest, "initialize result": InitializeResponse,
        "authenticate params": AuthenticateRequest, "authenticate result": AuthenticateResponse,
        "session/new params": NewSessionRequest, "session/new result": NewSessionResponse,
        "session/load params": LoadSessionRequest, "session/load result": LoadSessionResponse,
        "session/resume params": ResumeSessionRequest, "session/resume result": ResumeSessionResponse,
        "session/fork params": ForkSessionRequest, "session/fork result": ForkSessionResponse,
        "session/list params": ListSessionsRequest, "session/list result": ListSessionsResponse,
        "session/delete params": DeleteSessionRequest, "session/delete result": DeleteSessionResponse,
        "session/close params": CloseSessionRequest, "session/close result": CloseSessionResponse,
        "session/prompt params": PromptRequest, "session/prompt result": PromptResponse,
        "session/cancel params": CancelNotification,
        "session/set_mode params": SetSessionModeRequest, "session/set_mode result": SetSessionModeResponse,
        "session/set_config_option params": SetSessionConfigOptionRequest,
        "session/set_config_option result": SetSessionConfigOptionResponse,
        "session/update params": SessionNotification,
        "session/request_permission params": RequestPermissionRequest,
        "session/request_permission result": RequestPermissionResponse,
        "elicitation/create params": CreateElicitationRequest, "elicitation/create result": CreateElicitationResponse,
        "fs/read_text_file params": ReadTextFileRequest, "fs/read_text_file result": ReadTextFileResponse,
        "fs/write_text_file params": WriteTextFileRequest, "fs/write_text_file result": WriteTextFileResponse,
        "terminal/create params": CreateTerminalRequest, "terminal/create result": CreateTerminalResponse,
        "terminal/output params": TerminalOutputRequest, "terminal/output result": TerminalOutputResponse,
        "terminal/wait_for_exit params": WaitForTerminalExitRequest,
        "terminal/wait_for_exit result": WaitForTerminalExitResponse,
        "terminal/kill params": KillTerminalRequest, "terminal/kill result": KillTerminalResponse,
        "terminal/release params": ReleaseTerminalRequest, "terminal/release result": ReleaseTerminalResponse,
        "$/cancel_request params": CancelRequestNotification,
        "error": Error,
    }
});

fn validator(schema: schemars::Schema) -> jsonschema::Validator {
    jsonschema::validator_for(schema.as_value()).unwrap()
}

/// Copies lines, and keeps them.
async fn tee(from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, side: Side, wire: Wire) {
    let mut lines = BufReader::new(from).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        wire.push(side, &line);
        if to.write_all(line.as_bytes()).await.is_err() || to.write_all(b"\n").await.is_err() {
            return;
        }
    }
    let _ = to.shutdown().await;
}

/// Responds now, or, if the user does nothing, once the agent has cancelled its request.
fn respond_or_hold<T: agent_client_protocol::JsonRpcResponse>(
    responder: Responder<T>,
    holds: bool,
    response: impl FnOnce() -> T + Send + 'static,
) {
    tokio::spawn(async move {
        if holds {
            responder.cancellation().cancelled().await;
        }
        // Fails once the agent has gone.
        let _ = responder.respond(response());
    });
}

/// The only text of a form, as the user has entered it.
fn accepted(request: &acp::CreateElicitationRequest, text: String) -> acp::ElicitationAcceptAction {
    let acp::ElicitationMode::Form(form) = &request.mode else { panic!("{request:?}") };
    let name = form.requested_schema.properties.keys().next().unwrap().clone();
    let content = [(name, acp::ElicitationContentValue::String(text))];
    acp::ElicitationAcceptAction::new().content(std::collections::BTreeMap::from(content))
}

/// Drives the program with the official client; then validates the wire and judges the server's side.
pub async fn drive<T>(
    setup: &Setup,
    talk: impl AsyncFnOnce(ConnectionTo<Agent>, Wire) -> Result<T, Error>,
) -> (T, Wire) {
    let mut child = setup.start();
    let wire = Wire::new();
    let (ours, theirs) = duplex(PIPE);
    let (from_client, to_client) = tokio::io::split(theirs);
    let to_agent = tokio::spawn(tee(from_client, child.stdin.take().unwrap(), Side::Client, wire.clone()));
    let from_agent = tokio::spawn(tee(child.stdout.take().unwrap(), to_client, Side::Agent, wire.clone()));
    let (reading, writing) = tokio::io::split(ours);
    let transport = ByteStreams::new(writing.compat_write(), reading.compat());
    let choice = setup.choice;
    let capabilities = setup.capabilities.clone();
    let unsaved = setup.unsaved.clone();
    let (holds, entered) = (setup.holds_dialogs, setup.entered.clone());
    let terminals = Terminals::default();
    let [created, waited, shown, killed] = [(); 4].map(|()| terminals.clone());
    let seen = wire.clone();
    let result = Client
        .v1()
        .on_receive_notification(async |_: acp::SessionNotification, _| Ok(()), on_receive_notification!())
        .on_receive_request(
            async move |request: acp::RequestPermissionRequest, responder, _| {
                let chosen =
                    choice.and_then(|index| request.options.get(index)).map(|it| it.option_id.clone());
                respond_or_hold(responder, holds, move || {
                    acp::RequestPermissionResponse::new(match chosen {
                        Some(id) => {
                            acp::RequestPermissionOutcome::Selected(acp::SelectedPermissionOutcome::new(id))
                        }
                        None => acp::RequestPermissionOutcome::Cancelled,
                    })
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: acp::ReadTextFileRequest, responder, _| {
                let text = unsaved.get(&request.path).cloned();
                let text = text.or_else(|| fs::read_to_string(&request.path).ok());
                match text {
                    Some(text) => responder.respond(acp::ReadTextFileResponse::new(text)),
                    None => responder.respond_with_error(Error::invalid_params()),
                }
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: acp::WriteTextFileRequest, responder, _| {
                fs::write(&request.path, &request.content).unwrap();
                responder.respond(acp::WriteTextFileResponse::new())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: acp::CreateElicitationRequest, responder, _| {
                let entered = entered.clone();
                respond_or_hold(responder, holds, move || {
                    acp::CreateElicitationResponse::new(match entered {
                        Some(text) => acp::ElicitationAction::Accept(accepted(&request, text)),
                        None => acp::ElicitationAction::Decline,
                    })
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: acp::CreateTerminalRequest, responder, _| {
                responder.respond(created.create(&request))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: acp::WaitForTerminalExitRequest, responder, _| {
                let terminals = waited.clone();
                tokio::spawn(async move { responder.respond(terminals.exit(&request.terminal_id).await) });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: acp::TerminalOutputRequest, responder, _| {
                let terminals = shown.clone();
                tokio::spawn(async move { responder.respond(terminals.output(&request.terminal_id).await) });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: acp::KillTerminalRequest, responder, _| {
                killed.kill(&request.terminal_id);
                responder.respond(acp::KillTerminalResponse::new())
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |_: acp::ReleaseTerminalRequest, responder, _| {
                responder.respond(acp::ReleaseTerminalResponse::new())
            },
            on_receive_request!(),
        )
        .connect_with(transport, async move |connection: ConnectionTo<Agent>| {
            let hello = acp::InitializeRequest::new(ProtocolVersion::V1).client_capabilities(capabilities);
            connection.send_request(hello).block_task().await?;
            talk(connection, seen).await
        })
        .await;
    to_agent.abort();
    let _ = to_agent.await;
    from_agent.await.unwrap();
    let status = child.wait().await.unwrap();
    let result = result.unwrap_or_else(|error| panic!("{error}\n{:#?}", wire.messages()));
    assert!(status.success(), "{status}");
    wire.validate();
    setup.judge();
    (result, wire)
}

/// A new session in the project.
pub async fn new_session(connection: &ConnectionTo<Agent>, project: &Path) -> Result<acp::SessionId, Error> {
    let opened = connection.send_request(acp::NewSessionRequest::new(project)).block_task().await?;
    Ok(opened.session_id)
}

/// Gives a text and waits for the end of what it sets off.
pub async fn prompt(
    connection: &ConnectionTo<Agent>,
    session: &acp::SessionId,
    text: &str,
) -> Result<acp::StopReason, Error> {
    let content = vec![acp::ContentBlock::Text(acp::TextContent::new(text))];
    let request = acp::PromptRequest::new(session.clone(), content);
    Ok(connection.send_request(request).block_task().await?.stop_reason)
}
