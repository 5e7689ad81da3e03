//! Calls of tools, as ACP shows them. Does no IO.

use super::mapping::{ToolMapping, mapping};
use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, ImageContent as AcpImage, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus,
    TextContent, ToolCall, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdateFields,
};
use pi_rpc_protocol::{AgentToolResult, ImageContent, TodoStatus, UserContent};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};

/// A call before it runs.
pub fn pending_call(id: &str, name: &str, arguments: &Map<String, Value>, directory: &Path) -> ToolCall {
    let tool = mapping().tool(name);
    ToolCall::new(id.to_owned(), tool.title(name, arguments))
        .name(name.to_owned())
        .kind(tool.kind)
        .status(ToolCallStatus::Pending)
        .content(diffs(tool, arguments, directory))
        .locations(locations(tool, arguments, directory))
        .raw_input(Value::Object(arguments.clone()))
}

/// A call that has begun to run.
pub fn running_fields() -> ToolCallUpdateFields {
    ToolCallUpdateFields::new().status(ToolCallStatus::InProgress)
}

/// What a call has put out so far.
pub fn progress_fields(result: &AgentToolResult) -> ToolCallUpdateFields {
    ToolCallUpdateFields::new().status(ToolCallStatus::InProgress).content(contents(&result.content))
}

/// The end of a call. A change of a file that has succeeded keeps showing its difference.
pub fn ended_fields(
    name: &str,
    arguments: Option<&Map<String, Value>>,
    result: &AgentToolResult,
    is_error: bool,
    directory: &Path,
) -> ToolCallUpdateFields {
    let status = if is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
    let shown = arguments.map(|arguments| diffs(mapping().tool(name), arguments, directory));
    let content = shown.filter(|diffs| !diffs.is_empty() && !is_error);
    let raw = serde_json::to_value(result).unwrap_or_default();
    ToolCallUpdateFields::new()
        .status(status)
        .content(content.unwrap_or_else(|| contents(&result.content)))
        .raw_output(raw)
}

/// The plan in the details of a result, if the tool keeps one.
pub fn plan(name: &str, result: &AgentToolResult) -> Option<Plan> {
    let member = mapping().tool(name).plan.as_deref()?;
    let phases = result.details.as_ref()?.get(member)?.as_array()?;
    let tasks = phases.iter().filter_map(|phase| phase.get("tasks")?.as_array()).flatten();
    Some(Plan::new(tasks.filter_map(plan_entry).collect()))
}

/// The entry of a todo; one that was given up is on no plan.
fn plan_entry(task: &Value) -> Option<PlanEntry> {
    let content = task.get("content")?.as_str()?;
    let status = match TodoStatus::parse(task.get("status")?.as_str()?)? {
        TodoStatus::Pending => PlanEntryStatus::Pending,
        TodoStatus::InProgress => PlanEntryStatus::InProgress,
        TodoStatus::Completed => PlanEntryStatus::Completed,
        TodoStatus::Abandoned => return None,
    };
    Some(PlanEntry::new(content, PlanEntryPriority::Medium, status))
}

fn locations(tool: &ToolMapping, arguments: &Map<String, Value>, directory: &Path) -> Vec<ToolCallLocation> {
    let Some(path) = path(tool, arguments, directory) else { return Vec::new() };
    let line = tool.line.as_ref().and_then(|line| arguments.get(line)?.as_f64());
    let location = ToolCallLocation::new(path);
    vec![match line.filter(|line| *line >= 1.0) {
        // `as` rounds down and stops at the ends of the range.
        Some(line) => location.line(line as u32),
        None => location,
    }]
}

/// The differences that a call makes.
fn diffs(tool: &ToolMapping, arguments: &Map<String, Value>, directory: &Path) -> Vec<ToolCallContent> {
    let (Some(path), Some(new)) = (path(tool, arguments, directory), &tool.new_text) else {
        return Vec::new();
    };
    let replacement = |from: &Map<String, Value>| {
        let text = |member: &Option<String>| from.get(member.as_ref()?)?.as_str().map(str::to_owned);
        let diff = Diff::new(path.clone(), from.get(new)?.as_str()?);
        Some(ToolCallContent::Diff(diff.old_text(text(&tool.old_text))))
    };
    let list = tool.edits.as_ref().and_then(|edits| arguments.get(edits)?.as_array());
    match list {
        Some(list) => list.iter().filter_map(|edit| replacement(edit.as_object()?)).collect(),
        None => replacement(arguments).into_iter().collect(),
    }
}

/// The file that a call is about, as an absolute path.
fn path(tool: &ToolMapping, arguments: &Map<String, Value>, directory: &Path) -> Option<PathBuf> {
    let path = arguments.get(tool.path.as_ref()?)?.as_str()?;
    Some(directory.join(path))
}

/// Texts and images of a result.
fn contents(blocks: &[UserContent]) -> Vec<ToolCallContent> {
    blocks.iter().map(|block| ToolCallContent::from(content_block(block))).collect()
}

/// A block of a message, as ACP has it.
pub fn content_block(block: &UserContent) -> ContentBlock {
    match block {
        UserContent::Text(text) => ContentBlock::Text(TextContent::new(text.text.clone())),
        UserContent::Image(ImageContent { data, mime_type }) => {
            ContentBlock::Image(AcpImage::new(data.clone(), mime_type.clone()))
        }
    }
}
