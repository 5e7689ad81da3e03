//! Todo lists: written by the model, and shortened by the server when a todo is finished.

use pi_rpc_protocol::{TodoPhase, TodoStatus, ToolExecutionEndEvent};
use serde::Deserialize;

/// The tool by which the model writes todos.
const TOOL: &str = "todo_write";

/// The details of a result of `todo_write`.
#[derive(Deserialize)]
struct Written {
    phases: Vec<TodoPhase>,
}

/// The todo list in the result of a successful `todo_write`.
pub fn written_todos(end: &ToolExecutionEndEvent) -> Option<Vec<TodoPhase>> {
    let details = end.result.details.as_ref().filter(|_| end.tool_name == TOOL && !end.is_error)?;
    serde_json::from_value::<Written>(details.clone()).ok().map(|written| written.phases)
}

/// Whether a todo is finished.
pub const fn is_finished(status: TodoStatus) -> bool {
    matches!(status, TodoStatus::Completed | TodoStatus::Abandoned)
}

/// The possible lists after one finished todo was removed.
pub fn without_one_finished(phases: &[TodoPhase]) -> impl Iterator<Item = Vec<TodoPhase>> {
    let places = phases.iter().enumerate().flat_map(|(at, phase)| {
        let done = phase.tasks.iter().enumerate().filter(|(_, task)| is_finished(task.status));
        done.map(move |(task, _)| (at, task))
    });
    places.map(|(at, task)| {
        let mut left = phases.to_vec();
        left[at].tasks.remove(task);
        left.retain(|phase| !phase.tasks.is_empty());
        left
    })
}
