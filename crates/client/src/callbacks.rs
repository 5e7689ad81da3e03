//! Callbacks of the host: handlers of dialogs, and tools of the host that the agent may call.

use super::hub::Hub;
use pi_rpc_protocol::{
    AgentToolResult, HostToolCall, HostToolDefinition, HostToolResult, HostToolUpdate, Inbound, JsonObject,
    Outbound, RpcExtensionUIRequest, RpcExtensionUIResponse, UICancelledResponse, UIConfirmedResponse,
    UIValueResponse,
};
use std::{collections::HashMap, fmt, pin::Pin, sync::Arc};
use tokio::task::{self, AbortHandle, JoinError, JoinSet};

/// The user's response to a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialogResponse {
    /// The chosen option of a `select`, or the text of an `input` or `editor`.
    Value(String),
    /// The choice in a `confirm`.
    Confirmed(bool),
    /// The user has closed the dialog.
    Cancelled,
}

/// A tool of the host: its definition for the model, and its implementation.
pub struct HostTool {
    pub(super) definition: HostToolDefinition,
    run: RunTool,
}

impl HostTool {
    /// A tool that calls `run`. An `Err` or a panic becomes an error result for the model; if the call is aborted, the future
    /// is dropped.
    pub fn new<F, R>(definition: HostToolDefinition, run: F) -> Self
    where
        F: Fn(HostCall) -> R + Send + Sync + 'static,
        R: Future<Output = Result<AgentToolResult, String>> + Send + 'static,
    {
        Self { definition, run: Arc::new(move |call| Box::pin(run(call))) }
    }
}

/// A call of a tool of the host.
pub struct HostCall {
    /// The frame, with tool name and arguments.
    pub call: HostToolCall,
    hub: Arc<Hub>,
}

impl HostCall {
    /// The arguments, checked against the tool's schema.
    pub const fn arguments(&self) -> &JsonObject {
        &self.call.arguments
    }

    /// Sends a partial result.
    pub async fn update(&self, so_far: impl Into<AgentToolResult>) {
        let update = HostToolUpdate { id: self.call.id.clone(), partial_result: so_far.into() };
        self.hub.send_frame(update.into()).await;
    }
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Decide = Arc<dyn Fn(RpcExtensionUIRequest) -> BoxFuture<DialogResponse> + Send + Sync>;
type RunTool = Arc<dyn Fn(HostCall) -> BoxFuture<Result<AgentToolResult, String>> + Send + Sync>;

/// Asynchronous handler of dialogs.
#[derive(Clone, Default)]
pub struct DialogHandler(Option<Decide>);

impl DialogHandler {
    /// No handler: dialogs are cancelled.
    pub const fn none() -> Self {
        Self(None)
    }

    /// A handler that calls `decide`, concurrently with everything else. If the server cancels the dialog, the future is
    /// dropped. Servers ignore responses that come after a dialog's timeout.
    pub fn new<F, A>(decide: F) -> Self
    where
        F: Fn(RpcExtensionUIRequest) -> A + Send + Sync + 'static,
        A: Future<Output = DialogResponse> + Send + 'static,
    {
        Self(Some(Arc::new(move |request| Box::pin(decide(request)))))
    }
}

impl fmt::Debug for DialogHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "DialogHandler(..)" } else { "DialogHandler(none)" })
    }
}

/// The registered callbacks and those that are running.
#[derive(Default)]
pub(super) struct Callbacks {
    decide: DialogHandler,
    tools: HashMap<String, RunTool>,
    /// Running callbacks by the id of their request, each with the response that is sent if it panics.
    running: HashMap<String, (AbortHandle, Inbound)>,
}

/// A callback to run for a frame.
pub(super) enum CallbackTask {
    Decide(RpcExtensionUIRequest, DialogHandler),
    Run(HostToolCall, Option<RunTool>),
}

impl Callbacks {
    pub fn set_dialog_handler(&mut self, decide: DialogHandler) {
        self.decide = decide;
    }

    /// Replaces the tools, and returns the previous ones.
    pub fn replace_tools(&mut self, tools: HashMap<String, RunTool>) -> HashMap<String, RunTool> {
        std::mem::replace(&mut self.tools, tools)
    }

    /// The callback to run for `frame`, if any. Cancels the one that `frame` cancels.
    pub fn task_for(&mut self, frame: &Outbound) -> Option<CallbackTask> {
        match frame {
            Outbound::ExtensionUIRequest(RpcExtensionUIRequest::Cancel(cancel)) => {
                self.cancel(&cancel.target_id)
            }
            Outbound::HostToolCancel(cancel) => self.cancel(&cancel.target_id),
            Outbound::ExtensionUIRequest(request) if request.kind().is_dialog() => {
                return Some(CallbackTask::Decide(request.clone(), self.decide.clone()));
            }
            Outbound::HostToolCall(call) => {
                return Some(CallbackTask::Run(call.clone(), self.tools.get(&call.tool_name).cloned()));
            }
            _ => {}
        }
        None
    }

    fn cancel(&mut self, id: &str) {
        if let Some((task, _)) = self.running.remove(id) {
            task.abort();
        }
    }

    /// Removes a callback that has ended. Returns the response to send if it has panicked.
    pub fn finish(&mut self, task: task::Id, panicked: bool) -> Option<Inbound> {
        let is_it = |handle: &AbortHandle| handle.id() == task;
        let id = self.running.iter().find(|(_, (handle, _))| is_it(handle)).map(|(id, _)| id.clone())?;
        self.running.remove(&id).filter(|_| panicked).map(|(_, fallback)| fallback)
    }
}

/// The implementations of tools, by name.
pub(super) fn tools_by_name(tools: &[HostTool]) -> HashMap<String, RunTool> {
    tools.iter().map(|tool| (tool.definition.name.clone(), Arc::clone(&tool.run))).collect()
}

impl CallbackTask {
    /// Spawns the callback; its response is sent once it completes.
    pub fn start(self, hub: &Arc<Hub>, tasks: &mut JoinSet<()>) {
        let (id, fallback, own) = (self.id().to_owned(), self.fallback(), Arc::clone(hub));
        let handle = tasks.spawn(async move {
            let answer = self.perform(&own).await;
            own.send_frame(answer).await;
        });
        hub.with_callbacks(|callbacks| callbacks.running.insert(id, (handle, fallback)));
    }

    /// Handles the end of a callback; if it has panicked, sends its fallback response.
    pub fn finish(done: Result<(task::Id, ()), JoinError>, hub: &Arc<Hub>, tasks: &mut JoinSet<()>) {
        let (id, panicked) = match &done {
            Ok((id, ())) => (*id, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        if let Some(answer) = hub.with_callbacks(|callbacks| callbacks.finish(id, panicked)) {
            let hub = Arc::clone(hub);
            tasks.spawn(async move { hub.send_frame(answer).await });
        }
    }

    fn id(&self) -> &str {
        match self {
            Self::Decide(request, _) => request.id(),
            Self::Run(call, _) => &call.id,
        }
    }

    /// The response in case of a panic.
    fn fallback(&self) -> Inbound {
        let id = self.id().to_owned();
        match self {
            Self::Decide(..) => Inbound::ExtensionUIResponse(DialogResponse::Cancelled.into_frame(id)),
            Self::Run(call, _) => {
                let result = format!("The tool {} has failed", call.tool_name).into();
                HostToolResult { id, result, is_error: Some(true) }.into()
            }
        }
    }

    async fn perform(self, hub: &Arc<Hub>) -> Inbound {
        match self {
            Self::Decide(request, decide) => {
                let id = request.id().to_owned();
                let answer = match decide.0 {
                    Some(decide) => decide(request).await,
                    None => DialogResponse::Cancelled,
                };
                Inbound::ExtensionUIResponse(answer.into_frame(id))
            }
            Self::Run(call, run) => {
                let id = call.id.clone();
                let result = match run {
                    Some(run) => run(HostCall { call, hub: Arc::clone(hub) }).await,
                    None => Err(format!("No tool is called {}", call.tool_name)),
                };
                let is_error = result.is_err().then_some(true);
                let result = result.unwrap_or_else(AgentToolResult::from);
                HostToolResult { id, result, is_error }.into()
            }
        }
    }
}

impl DialogResponse {
    /// The frame that responds to the dialog `id`.
    fn into_frame(self, id: String) -> RpcExtensionUIResponse {
        match self {
            Self::Value(value) => RpcExtensionUIResponse::UIValueResponse(UIValueResponse { id, value }),
            Self::Confirmed(confirmed) => {
                RpcExtensionUIResponse::UIConfirmedResponse(UIConfirmedResponse { id, confirmed })
            }
            Self::Cancelled => {
                RpcExtensionUIResponse::UICancelledResponse(UICancelledResponse { id, timed_out: None })
            }
        }
    }
}
