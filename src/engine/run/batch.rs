//! The tool calls of one assistant message, and how far each is.

use crate::engine::io::CallId;
use crate::protocol::{AgentToolResult, JsonObject, ToolCall, ToolResultMessage};
use std::time::Duration;

/// The calls of the open turn.
#[derive(Debug)]
pub struct Batch {
    /// The calls, in the message's order.
    pub calls: Vec<CallSlot>,
    /// The results that are emitted.
    pub results: Vec<ToolResultMessage>,
    /// Steering has arrived: what has not run is skipped.
    pub skipping: bool,
    /// The end of a call was emitted: it is still to be looked whether steering waits.
    pub checks_steering: bool,
    /// The message failed: none of its calls is run, and this is their result.
    pub unrun: Option<String>,
    /// The message was cut off: its calls are not run either, and each has its result right behind its end.
    pub cut_off: bool,
    /// Every result so far ends the run: the model is not requested again.
    pub terminates: bool,
    /// A tool of an extension is exclusive: one call after another, whatever the style.
    pub in_turn: bool,
}

impl Batch {
    /// Another message has taken the place of a result.
    pub fn replace_result(&mut self, result: &ToolResultMessage) {
        let same = |it: &&mut ToolResultMessage| it.tool_call_id == result.tool_call_id;
        if let Some(told) = self.results.iter_mut().rev().find(same) {
            *told = result.clone();
        }
    }
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
    /// The arguments that the extension of its tool has made of the model's.
    pub prepared: Option<JsonObject>,
    /// The arguments that it runs with, or that an extension wants it to.
    pub changed: Option<JsonObject>,
}

/// How far a call is. `Done` comes last in every style.
#[derive(Debug)]
pub enum CallStage {
    /// Not announced yet.
    Waiting,
    /// Announced; the extension of its tool may change the arguments before they are checked.
    Preparing,
    /// Announced and found fit; somebody may prevent it.
    Checked(JsonObject),
    /// Permitted; not running yet.
    Ready(JsonObject),
    /// Its tool runs, by this request.
    Running(CallId),
    /// It has ended; somebody may change its result.
    Ended,
    /// Over; its end is held until it is its turn: several may end at once, and some styles emit all together.
    Held(AgentToolResult, bool),
    /// Its end is emitted; its result waits for those of the others.
    Emitted(AgentToolResult, bool),
    /// Its result is emitted.
    Done,
}

impl CallStage {
    /// Taken up and not over: others may have to wait for it.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Preparing | Self::Checked(_) | Self::Running(_) | Self::Ended)
    }
}
