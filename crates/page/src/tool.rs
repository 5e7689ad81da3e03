//! Renders a tool call with its result as a block that folds, and the user's commands alike.

use maud::{Markup, html};
use serde_json::{Map, Value};

use pi_rpc_protocol::{
    BashExecutionMessage, PythonExecutionMessage, ToolCall, ToolResultMessage, UserContent,
};

use super::{
    diff::diff,
    figures::count_of,
    message::image,
    text::{SizeLimit, VisibleText, first_line, printed},
};

/// Size up to which a result is unfolded.
const SHORT: SizeLimit = SizeLimit { lines: 16, bytes: 2_000 };

/// Size up to which a difference is unfolded: readers look for it most.
const SHORT_DIFFERENCE: SizeLimit = SizeLimit { lines: 80, bytes: 8_000 };

/// Arguments that are shown in the headline of a call, best first: those of the built-in tools and of common others.
const HEADLINE_ARGUMENTS: [&str; 8] =
    ["command", "pattern", "query", "url", "path", "file_path", "prompt", "name"];

/// Characters of an argument in the headline.
const PREVIEW_CHARS: usize = 160;

/// Length up to which an argument is shown beside its name.
const ONE_LINE: usize = 100;

/// Renders a call, with its result if there is one.
pub(super) fn call(call: &ToolCall, result: Option<(&ToolResultMessage, String)>) -> Markup {
    let headline = CallHeadline::of(&call.arguments);
    let difference = result.as_ref().and_then(|(result, _)| difference(result));
    let is_open = result.as_ref().is_none_or(|(result, _)| is_short(result));
    html! {
        details.tool open[is_open] {
            summary {
                b { (VisibleText(&call.name)) } " "
                @if let Some(gist) = &headline.gist { code { bdi { (VisibleText(gist)) } } " " }
                @match &result {
                    Some((result, _)) => (outcome(result)),
                    None => span.outcome { "no result" },
                }
            }
            @if let Some(intent) = &call.intent { p.note { (VisibleText(intent)) } }
            @if !headline.rest.is_empty() {
                // The old and the new text are in the difference.
                @if difference.is_some() {
                    details { summary { "Arguments" } (arguments(&headline.rest)) }
                } @else {
                    (arguments(&headline.rest))
                }
            }
            @if let Some((result, anchor)) = result { div id=(anchor) { (outcome_in_full(result)) } }
        }
    }
}

/// Renders a result whose call is not before it on its branch.
pub(super) fn lone_result(result: &ToolResultMessage) -> Markup {
    html! {
        details.tool open[is_short(result)] {
            summary { "Result of " b { (VisibleText(&result.tool_name)) } " " (outcome(result)) }
            (outcome_in_full(result))
        }
    }
}

/// Renders a command of the user.
pub(super) fn bash(bash: &BashExecutionMessage) -> Markup {
    let notes = notes(bash.exit_code, bash.cancelled, bash.truncated, bash.exclude_from_context);
    executed("$", &bash.command, &bash.output, &notes)
}

/// Renders Python code of the user.
pub(super) fn python(python: &PythonExecutionMessage) -> Markup {
    let notes = notes(python.exit_code, python.cancelled, python.truncated, python.exclude_from_context);
    executed(">>>", &python.code, &python.output, &notes)
}

fn notes(exit_code: Option<i64>, is_cancelled: bool, is_cut: bool, is_private: Option<bool>) -> Vec<String> {
    let notes = [
        exit_code.filter(|code| *code != 0).map(|code| format!("exit code {code}")),
        is_cancelled.then(|| "cancelled".to_owned()),
        is_cut.then(|| "output cut".to_owned()),
        is_private.unwrap_or(false).then(|| "not told to the model".to_owned()),
    ];
    notes.into_iter().flatten().collect()
}

fn executed(prompt: &str, code: &str, output: &str, notes: &[String]) -> Markup {
    html! {
        pre.command { (prompt) " " (VisibleText(code)) }
        @if !output.is_empty() { (text(output)) }
        @if !notes.is_empty() { span.outcome { (notes.join(" · ")) } }
    }
}

/// Renders text; a long one is folded under its first line.
pub(super) fn text(text: &str) -> Markup {
    let text = printed(text);
    html! {
        @if SHORT.holds(&text) {
            (block(&text))
        } @else {
            details {
                summary { code { bdi { (VisibleText(&first_line(&text, PREVIEW_CHARS))) } } " " span.outcome { (lines(&text)) } }
                (block(&text))
            }
        }
    }
}

/// The headline of a call, and the arguments that are not shown in it whole.
struct CallHeadline<'a> {
    gist: Option<String>,
    rest: Vec<(&'a str, &'a Value)>,
}

impl<'a> CallHeadline<'a> {
    fn of(arguments: &'a Map<String, Value>) -> Self {
        let argument = HEADLINE_ARGUMENTS.into_iter().find_map(|name| arguments.get_key_value(name));
        let argument = argument.filter(|(_, value)| value.is_string());
        let argument = argument.or_else(|| arguments.iter().find(|(_, value)| value.is_string()));
        let (shown_name, value) = match argument {
            Some((name, Value::String(value))) => (Some(name), value.as_str()),
            _ => (None, ""),
        };
        let gist = first_line(value, PREVIEW_CHARS);
        let is_whole = gist == value;
        let rest = arguments.iter().filter(|(name, _)| shown_name != Some(name) || !is_whole);
        Self {
            rest: rest.map(|(name, value)| (name.as_str(), value)).collect(),
            gist: (!gist.is_empty()).then(|| gist.into_owned()),
        }
    }
}

/// Renders a JSON value.
pub(super) fn data(value: &Value) -> Markup {
    block(&json(value))
}

fn arguments(arguments: &[(&str, &Value)]) -> Markup {
    html! {
        dl.arguments {
            @for (name, value) in arguments {
                div { dt { bdi { (VisibleText(name)) } } dd { @match value {
                    Value::String(value) if value.len() > ONE_LINE || value.contains('\n') => (text(value)),
                    Value::String(value) => code { bdi { (VisibleText(value)) } },
                    Value::Array(_) | Value::Object(_) => (text(&json(value))),
                    other => code { (VisibleText(&json(other))) },
                } } }
            }
        }
    }
}

/// Formats a value as indented JSON.
fn json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Renders whether a call succeeded, and the number of lines if its result is folded.
fn outcome(result: &ToolResultMessage) -> Markup {
    html! {
        @if result.is_error {
            span.outcome.bad { "failed" }
        } @else if result.is_warning.unwrap_or(false) {
            span.outcome { "with a warning" }
        } @else {
            span.outcome.good { "done" }
        }
        @if !is_short(result) {
            " " span.outcome { (texts(result).map(lines).collect::<Vec<_>>().join(" · ")) }
        }
    }
}

fn outcome_in_full(result: &ToolResultMessage) -> Markup {
    html! {
        @if let Some(difference) = difference(result) { pre { (diff(difference)) } }
        @if result.content.is_empty() { p.note { "It returned nothing." } }
        @for content in &result.content {
            @match content {
                UserContent::Text(content) => (block(&printed(&content.text))),
                UserContent::Image(content) => (image(content, "Image returned by the tool")),
            }
        }
    }
}

/// The difference in the details of the `edit` tool's result.
fn difference(result: &ToolResultMessage) -> Option<&str> {
    result.details.as_ref()?.get("diff")?.as_str().filter(|text| !text.is_empty())
}

fn is_short(result: &ToolResultMessage) -> bool {
    let has_short_difference = difference(result).is_none_or(|text| SHORT_DIFFERENCE.holds(text));
    has_short_difference && texts(result).all(|text| SHORT.holds(text))
}

fn texts(result: &ToolResultMessage) -> impl Iterator<Item = &str> {
    result.content.iter().filter_map(|content| match content {
        UserContent::Text(content) => Some(content.text.as_str()),
        UserContent::Image(_) => None,
    })
}

fn lines(text: &str) -> String {
    count_of(text.lines().count() as u64, "line", "lines")
}

/// Renders preformatted text. HTML parsers drop a leading line feed: one is added.
fn block(text: &str) -> Markup {
    html! { pre { "\n" (VisibleText(text)) } }
}
