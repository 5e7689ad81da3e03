//! The tool calls of one assistant message, and the stage of each.

use crate::io::CallId;
use pi_rpc_protocol::{
    AgentToolResult, JsonObject, NestedCall, RpcExtensionUIResponse, ToolCall, ToolResultMessage, Usage,
};
use std::time::Duration;

/// The calls of the open turn.
#[derive(Debug)]
pub struct Batch {
    /// The calls, in the message's order; behind them those that tools have made, in the order in which they came.
    pub calls: Vec<CallSlot>,
    /// The results that are emitted.
    pub results: Vec<ToolResultMessage>,
    /// Whether steering has arrived, so that calls which have not run are skipped.
    pub skipping: bool,
    /// Whether steering is to be checked, because the end of a call was emitted.
    pub checks_steering: bool,
    /// The result of all calls of a failed message, none of which is run.
    pub unrun: Option<String>,
    /// Whether the message was cut off: its calls are not run, and the result of each follows its end at once.
    pub cut_off: bool,
    /// Whether every result so far asks to end the run without another model request.
    pub terminates: bool,
    /// Whether calls run one after another in any style, because a tool of an extension is exclusive.
    pub in_turn: bool,
}

/// One call of a batch.
#[derive(Debug)]
pub struct CallSlot {
    /// The call, as the model made it.
    pub call: ToolCall,
    pub stage: CallStage,
    /// When its tool began, on the monotonic clock.
    pub began: Option<Duration>,
    /// How many milliseconds its tool took.
    pub took: Option<u64>,
    /// What its tool says that it has used so far of models.
    pub used: Option<Usage>,
    /// The arguments after the `prepare_arguments` hook.
    pub prepared: Option<JsonObject>,
    /// The arguments to run with, after the `tool_call` hook.
    pub changed: Option<JsonObject>,
    /// Who waits for the result; `None`: the model.
    pub nesting: Option<NestedSlot>,
    /// What another process has done for the call before this one went on with the run.
    pub before: CallBefore,
}

/// What another process has done for a call that has not begun.
#[derive(Debug, Default)]
pub struct CallBefore {
    /// It has emitted `tool_execution_start`.
    pub is_announced: bool,
    /// The call was permitted, with the arguments of the model.
    pub is_permitted: bool,
    /// The id and the title of the dialog that asked for consent, until this process asks.
    pub question: Option<(String, String)>,
    /// What the host has answered to it since.
    pub answer: Option<RpcExtensionUIResponse>,
}

/// What a call belongs to that a tool has made.
#[derive(Debug)]
pub struct NestedSlot {
    /// The place of the call whose tool has made it.
    pub outer: usize,
    /// The action of the extension that waits for its result.
    pub action: CallId,
    /// Whether nobody waits for the result any more.
    pub is_withdrawn: bool,
    /// When it was announced, on the monotonic clock.
    pub announced: Option<Duration>,
    /// What the result message of the outermost call records of it, once it has ended, without arguments.
    pub record: Option<NestedCall>,
}

impl CallSlot {
    /// A call that has not begun.
    pub fn new(call: ToolCall) -> Self {
        Self {
            call,
            stage: CallStage::Waiting,
            began: None,
            took: None,
            used: None,
            prepared: None,
            changed: None,
            nesting: None,
            before: CallBefore::default(),
        }
    }
}

/// How far a call is. `Done` comes last in every style.
#[derive(Debug)]
pub enum CallStage {
    /// Not announced yet.
    Waiting,
    /// Announced; the extension of its tool may change the arguments before they are checked.
    Preparing,
    /// Announced, with valid arguments; hooks or the host may prevent the call.
    Checked(JsonObject),
    /// Permitted; not running yet.
    Ready(JsonObject),
    /// Its tool runs, by this request.
    Running(CallId),
    /// The tool has ended; the `tool_result` hook may change the result.
    Ended,
    /// The result is final; its end is held to keep the order, or until all calls have ended.
    Held(AgentToolResult, bool),
    /// Its end is emitted; its result waits for those of the others.
    Emitted(AgentToolResult, bool),
    /// Its result is emitted.
    Done,
}

impl CallSlot {
    /// Whether another process has asked about the call, and this one will ask again if nothing prevents the call.
    pub const fn is_to_be_asked_again(&self) -> bool {
        let is_unbegun =
            matches!(self.stage, CallStage::Waiting | CallStage::Preparing | CallStage::Checked(_));
        self.before.question.is_some() && is_unbegun
    }
}

impl CallStage {
    /// Whether the call has begun and its result is not final.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Preparing | Self::Checked(_) | Self::Running(_) | Self::Ended)
    }
}
