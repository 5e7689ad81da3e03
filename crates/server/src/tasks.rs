//! Model calls, tools, shell commands and extensions that run beside the loop and send inputs to it.

#[cfg(not(panic = "unwind"))]
compile_error!("A task that panics becomes an error result, for which panics have to unwind.");

use super::{
    agent::{Agent, AgentLink},
    logins::{self, LoginAccess, Logins},
    models::PreparedCall,
    provider_call::ProviderCall,
    provider_hooks::ProviderHooks,
    queries::KeyLookup,
};
use pi_rpc_engine::{
    CallId, ExtensionSetup, Input, LoginEnd, LoginStart, ModelCall, RequestHooks, ShellEnd, ShellStart,
    ToolSession, ToolStart,
};
use pi_rpc_extension::{self as extension, BuiltIn, ExtensionEnvironment, Extensions, NodeHost};
use pi_rpc_files::{confinement::Confinement, secrets::Secrets};
use pi_rpc_model::{
    scripted::{Step, StepAction},
    types::StreamEvent,
};
use pi_rpc_model_http::http::DEFECT;
use pi_rpc_processes::Processes;
use pi_rpc_protocol::{
    AgentSessionEventKind, AgentToolResult, Dialect, DialectBashAbortNotice, ImageContent,
    RpcExtensionUIResponse, TextContent, UserContent,
};
use pi_rpc_tools::{
    self as tools, Block, CommandEnd, Limits, OutputFiles, SESSION_VARIABLES, ShellControl, ShellOptions,
    ShellOutcome, StopNotice, ToolContext, ToolDelegate, ToolOutput, run_shell,
};
use serde_json::Value;
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    task::{AbortHandle, JoinError},
};
use tokio_util::sync::CancellationToken;

/// Directory, shell and limits that tools and commands run with.
pub struct ToolEnvironment {
    /// The working directory.
    pub directory: PathBuf,
    /// The shell; `None`: bash, else sh.
    pub shell: Option<PathBuf>,
    /// Lines in front of every command.
    pub prefix: Option<String>,
    /// The folder of the agent's own programs.
    pub programs: Option<PathBuf>,
    /// Largest file with the full output of a command, in bytes; `None`: 1 GiB.
    pub output_file_limit: Option<u64>,
    /// Files with full outputs of earlier commands.
    pub output_files: OutputFiles,
    /// Environment variables that are withheld from commands and extensions.
    pub secrets: Secrets,
    /// Where instructions of the project may be, and which files are none.
    pub confinement: Confinement,
    /// Whether large images are scaled down.
    pub scales_images: bool,
    /// What tools do outside of this process.
    pub delegate: Option<Arc<dyn ToolDelegate>>,
}

/// What runs extensions that are no programs of their own.
pub struct ExtensionRuntimes {
    /// The Node host for pi's own extensions.
    pub node: Option<NodeHost>,
    /// What stands in place of the last extension and runs in this process.
    pub built_in: Option<Arc<dyn BuiltIn>>,
}

/// Running model calls, tools, shell commands and extensions; starts and cancels them.
pub struct Tasks {
    inputs: mpsc::Sender<Input>,
    gate: watch::Receiver<bool>,
    dialect: Dialect,
    pub(super) tool_environment: ToolEnvironment,
    processes: Processes,
    /// Running extensions.
    pub extensions: Extensions,
    /// Hooks of extensions on requests to providers.
    pub provider_hooks: ProviderHooks,
    logins: Logins,
    /// The agent that answers in place of models and tools.
    agent: Option<AgentLink>,
    models: HashMap<CallId, AbortHandle>,
    tokens: HashMap<CallId, CancellationToken>,
}

impl Tasks {
    /// Nothing is started yet. Inputs of models, tools and commands go to `inputs`; those of extensions have a channel of
    /// their own, which is returned, so that they cannot delay the others. While `gate` is `false` all of them pause.
    pub fn new(
        inputs: mpsc::Sender<Input>,
        gate: watch::Receiver<bool>,
        dialect: Dialect,
        tool_environment: ToolEnvironment,
        extension_setup: &ExtensionSetup,
        ExtensionRuntimes { node, built_in }: ExtensionRuntimes,
        agent: Option<Box<dyn Agent>>,
    ) -> (Self, extension::ExtensionInputs) {
        let processes = Processes::new();
        let (extensions, extension_inputs) = Extensions::new(ExtensionEnvironment {
            paths: extension_setup.extensions.clone(),
            node: extension_setup.hosted.as_ref().map(|hosted| hosted.place).zip(node),
            // What is built in comes last, and nothing of its place is a file.
            built_in: built_in.map(|it| (extension_setup.extensions.len().saturating_sub(1), it)),
            directory: tool_environment.directory.clone(),
            dialect,
            max_frame: extension_setup.max_frame,
            max_pending: extension::MAX_PENDING,
            gate: gate.clone(),
            processes: processes.clone(),
            secrets: tool_environment.secrets.clone(),
        });
        let tasks = Self {
            provider_hooks: ProviderHooks::new(inputs.clone()),
            agent: agent.map(|agent| agent.start(inputs.clone())),
            inputs,
            gate,
            dialect,
            tool_environment,
            processes,
            extensions,
            logins: Logins::default(),
            models: HashMap::new(),
            tokens: HashMap::new(),
        };
        (tasks, extension_inputs)
    }

    /// Starts a model call; `hooks`: the hooks of extensions to run on its request.
    pub fn call_model(&mut self, call: CallId, answer: PreparedCall, hooks: RequestHooks) {
        let forwarder = StreamForwarder { call, inputs: self.inputs.clone(), gate: self.gate.clone() };
        let failed = move |_| {
            let message = format!("The answer could not be read: {DEFECT}");
            Input::Model { call, event: StreamEvent::Fail { message, retry_after: None } }
        };
        let task = match answer {
            PreparedCall::Script(steps) => {
                guard("an answer", &self.inputs, forwarder.forward_script(steps), failed)
            }
            PreparedCall::Provider(provider_call) => guard(
                "an answer",
                &self.inputs,
                forwarder.forward_call(provider_call, self.provider_hooks.clone(), hooks),
                failed,
            ),
        };
        self.models.retain(|_, task| !task.is_finished());
        self.models.insert(call, task);
    }

    /// Whether an agent answers in place of models and tools.
    pub const fn has_agent(&self) -> bool {
        self.agent.is_some()
    }

    /// Has the agent answer a model call.
    pub fn call_agent(&mut self, model_call: Box<ModelCall>) {
        let Some(agent) = &self.agent else { return };
        let call = model_call.call;
        let forwarder = StreamForwarder { call, inputs: self.inputs.clone(), gate: self.gate.clone() };
        let task =
            guard("an answer", &self.inputs, forwarder.forward_agent(agent.clone(), model_call), move |_| {
                let message = format!("The answer could not be read: {DEFECT}");
                Input::Model { call, event: StreamEvent::Fail { message, retry_after: None } }
            });
        self.models.retain(|_, task| !task.is_finished());
        self.models.insert(call, task);
    }

    /// Passes the agent the response to its dialog.
    pub fn close_agent_dialog(&self, request: CallId, response: Option<RpcExtensionUIResponse>) {
        if let Some(agent) = &self.agent {
            agent.close_dialog(request, response);
        }
    }

    /// Cancels a model call.
    pub fn cancel_model(&mut self, call: CallId) {
        if let Some(task) = self.models.remove(&call) {
            task.abort();
        }
    }

    /// Starts a tool call.
    pub fn run_tool(&mut self, start: ToolStart) {
        let ToolStart { call, tool_call_id, name, arguments, session } = start;
        if let Some((agent, id)) = self.agent.clone().zip(tool_call_id.clone()) {
            let (inputs, gate, cancel) = (self.inputs.clone(), self.gate.clone(), self.token(call));
            let work = async move { agent.follow_tool(call, id, inputs, gate, cancel).await };
            guard("a tool", &self.inputs, work, move |panic| {
                let (result, is_error) = tool_result(ToolOutput::error(format!("The tool failed: {panic}")));
                Input::ToolEnd { call, result, is_error }
            });
            return;
        }
        let (progress, mut news) = mpsc::channel(1);
        let context = ToolContext {
            call_id: tool_call_id,
            cwd: self.tool_environment.directory.clone(),
            cancel: self.token(call),
            progress: Some(progress),
            gate: self.gate.clone(),
            shell: ShellOptions {
                variables: session_variables(*session),
                ..self.shell_options(ShellOptions::for_tool())
            },
            rules: &self.dialect.record().tools,
            scales_images: self.tool_environment.scales_images,
            processes: self.processes.clone(),
            delegate: self.tool_environment.delegate.clone(),
        };
        let inputs = self.inputs.clone();
        let work = async move {
            let arguments = Value::Object(arguments);
            let run = tools::run(&name, &arguments, context);
            tokio::pin!(run);
            let output = loop {
                tokio::select! {
                    biased;
                    Some(output) = news.recv() => {
                        let result = tool_result(output).0;
                        if inputs.send(Input::ToolProgress { call, result }).await.is_err() {
                            return;
                        }
                    }
                    output = &mut run => break output,
                }
            };
            if let Ok(output) = news.try_recv() {
                let result = tool_result(output).0;
                let _ = inputs.send(Input::ToolProgress { call, result }).await;
            }
            let (result, is_error) = tool_result(output);
            // Fails only when the loop has ended.
            let _ = inputs.send(Input::ToolEnd { call, result, is_error }).await;
        };
        guard("a tool", &self.inputs, work, move |panic| {
            let (result, is_error) = tool_result(ToolOutput::error(format!("The tool failed: {panic}")));
            Input::ToolEnd { call, result, is_error }
        });
    }

    /// Starts a shell command of the host.
    pub fn run_shell(&mut self, start: ShellStart) {
        let ShellStart { call, command, directory } = start;
        let (sender, mut pieces) = mpsc::channel(1);
        let tells_output = AgentSessionEventKind::BashExecutionUpdate.is_in(self.dialect.base());
        let control = ShellControl {
            cancel: self.token(call),
            gate: self.gate.clone(),
            progress: None,
            follower: Some(sender).filter(|_| tells_output),
            processes: self.processes.clone(),
        };
        let keeps_directory = self.dialect.record().bash.keeps_directory;
        let options = ShellOptions { keeps_directory, ..self.shell_options(ShellOptions::for_command()) };
        // A kept directory that was removed would make every later command fail.
        let kept = directory.map(PathBuf::from).filter(|directory| directory.is_dir());
        let directory = kept.unwrap_or_else(|| self.tool_environment.directory.clone());
        let inputs = self.inputs.clone();
        let work = async move {
            let run = run_shell(&command, Path::new(&directory), &options, control);
            // All output is sent before the end.
            let tell = async {
                while let Some(delta) = pieces.recv().await {
                    if inputs.send(Input::ShellProgress { call, delta }).await.is_err() {
                        return;
                    }
                }
            };
            let (ran, ()) = tokio::join!(run, tell);
            let end = ran.map(|outcome| shell_end(outcome, &options)).map_err(|error| error.to_string());
            let _ = inputs.send(Input::ShellEnd { call, end }).await;
        };
        guard("a command", &self.inputs, work, move |panic| Input::ShellEnd {
            call,
            end: Err(format!("The command failed: {panic}")),
        });
    }

    /// Starts a login.
    pub fn log_in(&mut self, start: LoginStart, access: LoginAccess) {
        let call = start.call;
        let work = self.logins.begin(start, access, self.inputs.clone());
        guard("a login", &self.inputs, work, move |panic| Input::LoginEnd {
            call,
            end: LoginEnd::Failed(panic.to_string()),
        });
    }

    /// Passes a login what its user has pasted.
    pub fn paste_login(&self, call: CallId, text: String) {
        self.logins.paste(call, text);
    }

    /// Cancels a login.
    pub fn cancel_login(&mut self, call: CallId) {
        self.logins.cancel(call);
    }

    /// Forgets a login that has ended.
    pub fn forget_login(&mut self, call: CallId) {
        self.logins.forget(call);
    }

    /// Removes a stored login.
    pub fn log_out(&self, call: CallId, provider: String, access: LoginAccess) {
        let inputs = self.inputs.clone();
        let work = async move {
            let removed = logins::log_out(access, provider).await;
            // Fails only when the loop has ended.
            let _ = inputs.send(Input::LogoutEnd { call, removed }).await;
        };
        guard("a logout", &self.inputs, work, move |panic| Input::LogoutEnd {
            call,
            removed: Err(panic.to_string()),
        });
    }

    /// Resolves a key for an extension.
    pub fn resolve_key(&self, lookup: KeyLookup) {
        let inputs = self.inputs.clone();
        let lost = lookup.failure();
        tokio::spawn(async move {
            let known = match lookup.refresh_login().await {
                // May run a command that prints the key.
                Ok(()) => tokio::task::spawn_blocking(|| lookup.resolve()).await.unwrap_or(lost),
                Err(refused) => refused,
            };
            // Fails only when the loop has ended.
            let _ = inputs.send(known).await;
        });
    }

    /// Cancels a tool call or a shell command.
    pub fn cancel(&mut self, call: CallId) {
        if let Some(token) = self.tokens.remove(&call) {
            token.cancel();
        }
    }

    /// Forgets a tool or shell command that has ended.
    pub fn forget(&mut self, call: CallId) {
        self.tokens.remove(&call);
    }

    /// Refuses new processes, as stdout is closed; full outputs of commands are no longer kept in files.
    pub fn refuse_processes(&self) {
        self.processes.close();
    }

    /// Ends every task and process and refuses new ones.
    pub async fn end_all(&mut self) {
        self.models.drain().for_each(|(_, task)| task.abort());
        self.logins.cancel_all();
        self.tokens.drain().for_each(|(_, token)| token.cancel());
        self.extensions.close().await;
        if let Some(agent) = self.agent.take() {
            agent.end().await;
        }
        self.processes.end_all().await;
    }

    fn token(&mut self, call: CallId) -> CancellationToken {
        self.tokens.entry(call).or_default().clone()
    }

    fn shell_options(&self, options: ShellOptions) -> ShellOptions {
        let bash = &self.dialect.record().bash;
        let ToolEnvironment { shell, prefix, programs, secrets, output_file_limit, output_files, .. } =
            &self.tool_environment;
        ShellOptions {
            shell: shell.clone(),
            prefix: prefix.clone(),
            programs: programs.clone(),
            environment: secrets.child_environment(),
            timeout: bash.timeout_seconds.map(Duration::from_secs),
            limits: Limits {
                lines: bash.max_lines,
                bytes: bash.max_bytes,
                ignores_final_feed: bash.ignores_final_feed,
            },
            file_limit: output_file_limit.unwrap_or(options.file_limit),
            files: output_files.clone(),
            stop_notice: match bash.abort_notice {
                DialectBashAbortNotice::AfterOutput => StopNotice::After,
                DialectBashAbortNotice::BeforeOutput => StopNotice::Before,
            },
            reports_timeout: bash.timeout_seconds.is_some(),
            ..options
        }
    }
}

/// The variables of a command of the model about its session, by the names of [`SESSION_VARIABLES`].
fn session_variables(session: ToolSession) -> Vec<(&'static str, String)> {
    let (provider, model) = session.model.unzip();
    let level = session.level.map(|level| level.as_str().to_owned());
    let values = [Some(session.id), session.file, provider, model, level];
    let named = SESSION_VARIABLES.into_iter().zip(values);
    named.filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Spawns `work`, called `what` in the log. If it panics, sends `failed`, as the engine would wait for its end for ever.
fn guard(
    what: &'static str,
    inputs: &mpsc::Sender<Input>,
    work: impl Future<Output = ()> + Send + 'static,
    failed: impl FnOnce(JoinError) -> Input + Send + 'static,
) -> AbortHandle {
    let inputs = inputs.clone();
    let task = tokio::spawn(work);
    let handle = task.abort_handle();
    tokio::spawn(async move {
        if let Err(error) = task.await
            && error.is_panic()
        {
            tracing::error!("{what} has failed by {DEFECT}; the session goes on");
            // Fails only when the loop has ended.
            let _ = inputs.send(failed(error)).await;
        }
    });
    handle
}

/// Forwards the stream of one model call to the loop, at the pace of the loop.
struct StreamForwarder {
    call: CallId,
    inputs: mpsc::Sender<Input>,
    gate: watch::Receiver<bool>,
}

/// Stream events of a provider that are buffered; the rest stays in the connection.
const STREAM_BUFFER: usize = 16;

impl StreamForwarder {
    async fn forward_script(mut self, steps: Vec<Step>) {
        for step in steps {
            if step.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(step.delay_ms)).await;
            }
            let StepAction::Event(event) = step.action else { return std::future::pending().await };
            if !self.forward(event).await {
                return;
            }
        }
    }

    async fn forward_call(
        mut self,
        provider_call: ProviderCall,
        provider_hooks: ProviderHooks,
        hooks: RequestHooks,
    ) {
        let (sender, mut events) = mpsc::channel(STREAM_BUFFER);
        let forwarding = async {
            while let Some(event) = events.recv().await {
                if !self.forward(event).await {
                    return;
                }
            }
        };
        tokio::join!(provider_call.run(sender, provider_hooks, hooks), forwarding);
    }

    async fn forward_agent(mut self, agent: AgentLink, model_call: Box<ModelCall>) {
        let mut events = agent.answer(model_call, STREAM_BUFFER);
        while let Some(event) = events.recv().await {
            let is_last = matches!(event, StreamEvent::Finish(_) | StreamEvent::Fail { .. });
            if !self.forward(event).await || is_last {
                return;
            }
        }
        // The task of the agent is gone, by a defect of it.
        let message = format!("The answer could not be read: {DEFECT}");
        self.forward(StreamEvent::Fail { message, retry_after: None }).await;
    }

    /// Sends one event once the gate is open; `false` if the loop has ended.
    async fn forward(&mut self, event: StreamEvent) -> bool {
        // Fails only when the outbox was dropped; then the send below fails, too.
        let _ = self.gate.wait_for(|open| *open).await;
        self.inputs.send(Input::Model { call: self.call, event }).await.is_ok()
    }
}

fn tool_result(output: ToolOutput) -> (AgentToolResult, bool) {
    let content = output.content.into_iter().map(|block| match block {
        Block::Text(text) => UserContent::Text(TextContent { text, text_signature: None }),
        Block::Image { data, mime_type } => UserContent::Image(ImageContent { data, mime_type }),
    });
    let has_ended_badly = output.is_error && output.structured.is_some();
    let result = AgentToolResult {
        content: content.collect(),
        details: output.details,
        is_warning: None,
        structured_content: output.structured,
        // A tool that fails has nothing for programs; a command that has, only ended with another status than 0.
        is_error: has_ended_badly.then_some(true),
        usage: None,
        terminate: None,
    };
    (result, output.is_error)
}

fn shell_end(outcome: ShellOutcome, options: &ShellOptions) -> ShellEnd {
    let exit_code = outcome.ending.exit_code();
    let cut = &outcome.truncation;
    let mut counts = [cut.total_lines, cut.total_bytes, cut.output_lines, cut.output_bytes];
    // The host knows of commands that it has aborted; a timeout is mentioned.
    let timed_out =
        options.stop_notice == StopNotice::Before && matches!(outcome.ending, CommandEnd::TimedOut(_));
    let output = match outcome.ending.leading_notice().filter(|_| timed_out) {
        Some(notice) => {
            let added = [1, notice.len() as u64 + 1, 1, notice.len() as u64 + 1];
            counts.iter_mut().zip(added).for_each(|(count, added)| *count += added);
            format!("{notice}\n{}", cut.content)
        }
        None => cut.content.clone(),
    };
    let notice = outcome.removed.to_string();
    let added = [notice.matches('\n').count() as u64, notice.len() as u64];
    counts.iter_mut().zip(added.iter().cycle()).for_each(|(count, added)| *count += added);
    ShellEnd {
        output: output + &notice,
        exit_code,
        cancelled: exit_code.is_none(),
        truncated: cut.truncated,
        full_output_path: outcome.full_output_path.map(|path| path.display().to_string()),
        directory: outcome.directory.map(|path| path.display().to_string()),
        counts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(panic: JoinError) -> Input {
        Input::ShellEnd { call: 1, end: Err(panic.to_string()) }
    }

    #[tokio::test]
    async fn panicking_task_fails_with_its_reason() {
        let (sender, mut inputs) = mpsc::channel(1);
        guard("a test", &sender, async { panic!("a defect") }, failed);
        let Some(Input::ShellEnd { call: 1, end: Err(text) }) = inputs.recv().await else { panic!() };
        assert!(text.contains("a defect"), "{text}");
        guard("a test", &sender, std::future::ready(()), failed);
        guard("a test", &sender, std::future::pending(), failed).abort();
        drop(sender);
        assert!(inputs.recv().await.is_none());
    }
}
