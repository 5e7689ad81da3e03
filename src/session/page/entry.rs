//! Entries as they stand in a run: each with its heading, its time and its place to link to.

use maud::{Markup, html};

use crate::protocol::{AgentMessage, AssistantMessage, SystemContent, SystemMessage};

use super::figures::{count, time};
use super::input::Body;
use super::message::{added, answer, files, said, summary};
use super::results::Results;
use super::sheet::{Sheet, place};
use super::text::{Shown, plain};
use super::tool;

/// One entry; a result that stands with its call is not shown again.
pub(super) fn entry(sheet: &Sheet<'_>, number: usize, results: &Results) -> Markup {
    match &sheet.page.entries[number].body {
        Body::Message(_) if results.stands_with_call(number) => Markup::default(),
        Body::Message(said) => message(sheet, number, said, results),
        Body::Model(model) => change(sheet, number, "Model:", model),
        Body::Level(level) => change(sheet, number, "Thinking:", level.as_deref().unwrap_or("not set")),
        Body::Name(name) => change(sheet, number, "Session named", name),
        Body::Label { label: None, .. } => change(sheet, number, "Bookmark", "taken away"),
        Body::Label { label: Some(label), target } => html! {
            p.change id=(place(number)) {
                "Bookmark " b { bdi { (Shown(label)) } }
                @if let Some(target) = sheet.shape.entry(target) { " on " a href={ "#" (place(target)) } { "an entry" } }
            }
        },
        Body::Compaction { summary, tokens_before, first_kept } => {
            let kept = first_kept.as_deref().and_then(|kept| sheet.shape.entry(kept));
            compaction(sheet, number, summary, *tokens_before, kept)
        }
        Body::Other { kind, data } => html! {
            details.change id=(place(number)) {
                summary { "Entry " b { bdi { (Shown(kind)) } } (mark(sheet, number)) }
                (tool::data(data))
            }
        },
    }
}

/// A setting from here on, or for the whole session.
fn change(sheet: &Sheet<'_>, number: usize, what: &str, value: &str) -> Markup {
    html! { p.change id=(place(number)) { (what) " " b { bdi { (Shown(value)) } } (mark(sheet, number)) } }
}

fn compaction(
    sheet: &Sheet<'_>,
    number: usize,
    text: &str,
    tokens_before: u64,
    kept: Option<usize>,
) -> Markup {
    let who = html! { "Compaction " span.gist { (count(tokens_before)) " tokens before it" } };
    let body = html! {
        p.note {
            "From here on the model is told this summary"
            @match kept {
                Some(kept) => { " and what was said " a href={ "#" (place(kept)) } { "since here" } "." },
                None => ".",
            }
        }
        (summary(text))
    };
    article(sheet, number, "summary", &who, &body)
}

fn message(sheet: &Sheet<'_>, number: usize, message: &AgentMessage, results: &Results) -> Markup {
    let block = |class, who: &str, body: Markup| article(sheet, number, class, &html! { (who) }, &body);
    match message {
        AgentMessage::User(message) => block("user", "User", said(&message.content)),
        AgentMessage::System(message) => block("summary", "Instructions", system(message)),
        AgentMessage::Developer(message) => block("user", "Instruction", said(&message.content)),
        AgentMessage::Assistant(message) => assistant(sheet, number, message, results),
        AgentMessage::ToolResult(message) => block("", "Tool", tool::lone_result(message)),
        AgentMessage::BashExecution(message) => block("user", "Command of the user", tool::bash(message)),
        AgentMessage::PythonExecution(message) => block("user", "Python of the user", tool::python(message)),
        AgentMessage::FileMention(message) => block("user", "Files of the user", files(message)),
        AgentMessage::BranchSummary(message) => {
            block("summary", "Summary of another branch", summary(&message.summary))
        }
        AgentMessage::CompactionSummary(message) => {
            block("summary", "Summary of what came before", summary(&message.summary))
        }
        AgentMessage::Custom(message) => {
            extension(sheet, number, &message.custom_type, &added(&message.content, message.display))
        }
        AgentMessage::HookMessage(message) => {
            extension(sheet, number, &message.custom_type, &added(&message.content, message.display))
        }
    }
}

fn assistant(sheet: &Sheet<'_>, number: usize, message: &AssistantMessage, results: &Results) -> Markup {
    let who = html! {
        "Assistant " span.gist { bdi { (Shown(&message.provider)) "/" (Shown(&message.model)) } }
    };
    let body = answer(message, |block, call| {
        let result = results.of_call(number, block);
        let message = result.and_then(|result| match sheet.message(result) {
            Some(AgentMessage::ToolResult(message)) => Some((message, place(result))),
            _ => None,
        });
        tool::call(call, message)
    });
    article(sheet, number, "assistant", &who, &body)
}

/// What the model is told of itself, section by section, and which tools came and went.
fn system(message: &SystemMessage) -> Markup {
    let sections = || message.sections.iter().flatten();
    let added = || message.tools_added.iter().flatten().map(|tool| &tool.name);
    let removed = || message.tools_removed.iter().flatten().map(|tool| &tool.name);
    html! {
        @match &message.content {
            SystemContent::Text(text) => @if !text.is_empty() { pre { (Shown(text)) } },
            SystemContent::Blocks(blocks) => @for block in blocks { pre { (Shown(&block.text)) } },
        }
        @for (name, text) in sections() {
            details { summary { bdi { (Shown(name)) } } pre { @if let Some(text) = text { (Shown(text)) } } }
        }
        @if added().next().is_some() { p.note { "Tools: " @for name in added() { code { (Shown(name)) } " " } } }
        @if removed().next().is_some() { p.note { "No longer: " @for name in removed() { code { (Shown(name)) } " " } } }
    }
}

fn extension(sheet: &Sheet<'_>, number: usize, kind: &str, body: &Markup) -> Markup {
    article(sheet, number, "summary", &html! { "Extension " span.gist { bdi { (Shown(kind)) } } }, body)
}

/// What somebody said.
fn article(sheet: &Sheet<'_>, number: usize, class: &str, who: &Markup, body: &Markup) -> Markup {
    let entry = &sheet.page.entries[number];
    html! {
        article class=[(!class.is_empty()).then_some(class)] id=(place(number)) {
            header {
                h3 { (who) }
                (mark(sheet, number))
                a.anchor href={ "#" (place(number)) } title={ "Entry " (plain(&entry.id)) } { (time(entry.at)) }
            }
            (body)
        }
    }
}

/// The bookmark on an entry.
fn mark(sheet: &Sheet<'_>, number: usize) -> Markup {
    html! { @if let Some(label) = sheet.label(number) { " " span.label { bdi { (Shown(label)) } } " " } }
}
