//! What the server wants of its host, and who answers: dialogs and tools that the host lends.

use super::hub::Hub;
use crate::protocol::{
    AgentToolResult, HostToolCall, HostToolDefinition, HostToolResult, HostToolUpdate, Inbound, JsonObject,
    Outbound, RpcExtensionUIRequest, RpcExtensionUIResponse, UICancelledResponse, UIConfirmedResponse,
    UIValueResponse,
};
use std::{collections::HashMap, fmt, pin::Pin, sync::Arc};
use tokio::task::{self, AbortHandle, JoinError, JoinSet};

/// The user's answer to a dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialogResponse {
    /// The option of a `select`, the text of an `input` or an `editor`.
    Value(String),
    /// To a `confirm`.
    Confirmed(bool),
    /// There is none: the dialog counts as closed.
    Cancelled,
}

/// A tool that the host lends to the agent: what models are told of it, and what it does.
pub struct HostTool {
    pub(super) definition: HostToolDefinition,
    run: RunTool,
}

impl HostTool {
    /// A tool that does `run` whenever it is called; an error is told to the model as such. When the call is aborted,
    /// what `run` has returned is dropped. One that panics has failed.
    pub fn new<F, R>(definition: HostToolDefinition, run: F) -> Self
    where
        F: Fn(HostCall) -> R + Send + Sync + 'static,
        R: Future<Output = Result<AgentToolResult, String>> + Send + 'static,
    {
        Self { definition, run: Arc::new(move |call| Box::pin(run(call))) }
    }
}

/// A call of a tool that the host lends.
pub struct HostCall {
    /// The call, with its arguments.
    pub call: HostToolCall,
    hub: Arc<Hub>,
}

impl HostCall {
    /// What the model calls the tool with; checked against the tool's schema.
    pub const fn arguments(&self) -> &JsonObject {
        &self.call.arguments
    }

    /// Tells how far the tool is.
    pub async fn update(&self, so_far: impl Into<AgentToolResult>) {
        let update = HostToolUpdate { id: self.call.id.clone(), partial_result: so_far.into() };
        self.hub.send_frame(update.into()).await;
    }
}

type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Decide = Arc<dyn Fn(RpcExtensionUIRequest) -> BoxFuture<DialogResponse> + Send + Sync>;
type RunTool = Arc<dyn Fn(HostCall) -> BoxFuture<Result<AgentToolResult, String>> + Send + Sync>;

/// What answers dialogs.
#[derive(Clone, Default)]
pub struct DialogHandler(Option<Decide>);

impl DialogHandler {
    /// Nothing: they are cancelled.
    pub const fn none() -> Self {
        Self(None)
    }

    /// `decide`, which runs beside everything else, and is dropped when the server calls the dialog off. It may take
    /// longer than the dialog is open: servers pass over answers that come too late.
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

/// Who answers.
#[derive(Default)]
pub(super) struct Callbacks {
    decide: DialogHandler,
    tools: HashMap<String, RunTool>,
    /// What goes on, by the id of what asked for it, and what is said in its place if it panics.
    running: HashMap<String, (AbortHandle, Inbound)>,
}

/// Something to be done about a frame.
pub(super) enum CallbackTask {
    Decide(RpcExtensionUIRequest, DialogHandler),
    Run(HostToolCall, Option<RunTool>),
}

impl Callbacks {
    pub fn set_dialog_handler(&mut self, decide: DialogHandler) {
        self.decide = decide;
    }

    /// Lends tools in place of those before, which it gives back.
    pub fn replace_tools(&mut self, tools: HashMap<String, RunTool>) -> HashMap<String, RunTool> {
        std::mem::replace(&mut self.tools, tools)
    }

    /// What is to be done about `frame`; what it calls off is called off at once.
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

    /// A task is over. Gives what is to be said in its place if it has panicked.
    pub fn finish(&mut self, task: task::Id, panicked: bool) -> Option<Inbound> {
        let is_it = |handle: &AbortHandle| handle.id() == task;
        let id = self.running.iter().find(|(_, (handle, _))| is_it(handle)).map(|(id, _)| id.clone())?;
        self.running.remove(&id).filter(|_| panicked).map(|(_, fallback)| fallback)
    }
}

/// The tools by their names.
pub(super) fn tools_by_name(tools: &[HostTool]) -> HashMap<String, RunTool> {
    tools.iter().map(|tool| (tool.definition.name.clone(), Arc::clone(&tool.run))).collect()
}

impl CallbackTask {
    /// Does it, beside everything else; its answer is sent when it is there.
    pub fn start(self, hub: &Arc<Hub>, tasks: &mut JoinSet<()>) {
        let (id, fallback, own) = (self.id().to_owned(), self.fallback(), Arc::clone(hub));
        let handle = tasks.spawn(async move {
            let answer = self.perform(&own).await;
            own.send_frame(answer).await;
        });
        hub.with_callbacks(|callbacks| callbacks.running.insert(id, (handle, fallback)));
    }

    /// A callback is over; one that has panicked is answered for.
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

    /// The answer if there is no other.
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
    /// The answer to the dialog `id`.
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
