//! The todos that the model writes.

use crate::protocol::{TodoPhase, ToolExecutionEndEvent};
use serde::Deserialize;

/// The tool by which the model writes todos.
const TOOL: &str = "todo_write";

/// What `todo_write` tells beyond its content.
#[derive(Deserialize)]
struct Written {
    phases: Vec<TodoPhase>,
}

/// The list that the model has written by a call that succeeded.
pub fn written(end: &ToolExecutionEndEvent) -> Option<Vec<TodoPhase>> {
    let details = end.result.details.as_ref().filter(|_| end.tool_name == TOOL && !end.is_error)?;
    serde_json::from_value::<Written>(details.clone()).ok().map(|written| written.phases)
}
