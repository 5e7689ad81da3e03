//! The agent that answers in place of models and tools: the requests that the server makes, whatever protocol it speaks.
//!
//! The engine takes the agent for a model and its tools. A [`ModelCall`] makes it go on: its text and thinking are the
//! answer, and a tool that it starts ends the answer with a call. The call runs until the agent reports its end; then the
//! next model call goes on where the answer ended.

use pi_rpc_engine::{CallId, Input, ModelCall};
use pi_rpc_model::types::StreamEvent;
use pi_rpc_protocol::{AgentToolResult, RpcExtensionUIResponse, TextContent, UserContent};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

/// An agent that can be started.
pub trait Agent: Send {
    /// Starts the task that serves the requests of the link. Dialogs and commands of the agent go to `inputs`.
    fn start(self: Box<Self>, inputs: mpsc::Sender<Input>) -> AgentLink;
}

/// A request of the server to the agent.
pub enum AgentRequest {
    /// Go on with the conversation.
    Answer(AgentAnswer),
    /// Report the states of a tool call.
    FollowTool(AgentTool),
    /// The tool call with this id was cancelled: the turn ends.
    CancelTool(String),
    /// A dialog of the agent has closed.
    DialogClosed {
        /// The id of the request.
        request: CallId,
        /// The response; `None`: there is none.
        response: Option<RpcExtensionUIResponse>,
    },
    /// End everything: the session is over.
    End,
}

/// A model call for the agent to answer.
pub struct AgentAnswer {
    /// The conversation, the model and the level.
    pub call: Box<ModelCall>,
    /// Takes the answer; closed once the call is cancelled.
    pub events: mpsc::Sender<StreamEvent>,
}

/// A tool call of the agent that the engine has started.
pub struct AgentTool {
    /// The agent's id of the call.
    pub id: String,
    /// Takes the states of the call; a new one replaces the one before.
    pub states: watch::Sender<ToolState>,
}

/// The state of a tool call.
#[derive(Clone, Debug, Default)]
pub struct ToolState {
    /// The whole result so far; `None`: nothing is known yet.
    pub result: Option<AgentToolResult>,
    /// Whether the call has failed; `None`: it goes on.
    pub end: Option<bool>,
}

/// The server's end of the connection with the agent's task.
#[derive(Clone)]
pub struct AgentLink {
    requests: mpsc::UnboundedSender<AgentRequest>,
    task: std::sync::Arc<std::sync::Mutex<Option<JoinHandle<()>>>>,
}

impl AgentLink {
    /// The link to a task that serves the requests, and ends after [`AgentRequest::End`].
    pub fn new(requests: mpsc::UnboundedSender<AgentRequest>, task: JoinHandle<()>) -> Self {
        Self { requests, task: std::sync::Arc::new(std::sync::Mutex::new(Some(task))) }
    }

    /// Requests the answer to a model call; of its events, `buffer` are ahead of the reader.
    pub(super) fn answer(&self, call: Box<ModelCall>, buffer: usize) -> mpsc::Receiver<StreamEvent> {
        let (events, answer) = mpsc::channel(buffer);
        self.send(AgentRequest::Answer(AgentAnswer { call, events }));
        answer
    }

    /// Passes the response to a dialog on.
    pub(super) fn close_dialog(&self, request: CallId, response: Option<RpcExtensionUIResponse>) {
        self.send(AgentRequest::DialogClosed { request, response });
    }

    /// Sends the states of a tool call to the loop until the call ends or is cancelled.
    pub(super) async fn follow_tool(
        &self,
        call: CallId,
        id: String,
        inputs: mpsc::Sender<Input>,
        mut gate: watch::Receiver<bool>,
        cancel: CancellationToken,
    ) {
        let (states, mut news) = watch::channel(ToolState::default());
        self.send(AgentRequest::FollowTool(AgentTool { id: id.clone(), states }));
        let ended = async {
            loop {
                // The task of the agent has ended, or does not know the call.
                if news.changed().await.is_err() {
                    return (failure("The agent does not report on this call any more."), true);
                }
                // Fails only when the loop has ended; then the sends below fail, too.
                let _ = gate.wait_for(|open| *open).await;
                let ToolState { result, end } = news.borrow_and_update().clone();
                match (result, end) {
                    (Some(result), Some(is_error)) => return (result, is_error),
                    (Some(result), None) => {
                        let _ = inputs.send(Input::ToolProgress { call, result }).await;
                    }
                    (None, _) => {}
                }
            }
        };
        let (result, is_error) = tokio::select! {
            biased;
            () = cancel.cancelled() => {
                self.send(AgentRequest::CancelTool(id));
                (failure("The call was cancelled."), true)
            }
            ended = ended => ended,
        };
        let _ = inputs.send(Input::ToolEnd { call, result, is_error }).await;
    }

    /// Ends the agent and waits until it is gone.
    pub(super) async fn end(self) {
        self.send(AgentRequest::End);
        let task = self.task.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(task) = task {
            // Fails only by a defect of the task, which is logged.
            let _ = task.await;
        }
    }

    fn send(&self, request: AgentRequest) {
        // Fails only once the task has ended; answers and calls then end by their closed channels.
        let _ = self.requests.send(request);
    }
}

/// A result with this text only.
fn failure(text: &str) -> AgentToolResult {
    AgentToolResult {
        content: vec![UserContent::Text(TextContent { text: text.to_owned(), text_signature: None })],
        details: None,
        is_warning: None,
        structured_content: None,
        is_error: None,
        usage: None,
        terminate: None,
    }
}
