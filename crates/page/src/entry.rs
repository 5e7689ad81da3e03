//! Renders entries: each with a heading, its time and an anchor.

use maud::{Markup, html};

use pi_rpc_protocol::{AgentMessage, AssistantMessage, SystemContent, SystemMessage};

use super::{
    figures::{count, count_of, time},
    input::Body,
    kinds::Kinds,
    message::{answer, extension_message, files, prompt_content, summary},
    results::Results,
    text::{VisibleText, visible_plain_text},
    tool,
    view::{PageView, entry_anchor},
};

/// Classes of an entry that is no message.
const CHANGE: &str = "change with-other";

/// Renders one entry; nothing for a result that is shown with its call.
pub(super) fn entry(view: &PageView<'_>, number: usize, results: &Results) -> Markup {
    match &view.page.entries[number].body {
        Body::Message(_) if results.is_shown_with_call(number) => Markup::default(),
        Body::Message(content) => message(view, number, content, results),
        Body::Model(model) => change(view, number, "Model:", model),
        Body::Level(level) => change(view, number, "Thinking:", level.as_deref().unwrap_or("not set")),
        Body::Name(name) => change(view, number, "Session named", name),
        Body::Label { label: None, .. } => change(view, number, "Bookmark", "taken away"),
        Body::Label { label: Some(label), target } => html! {
            p class=(CHANGE) id=(entry_anchor(number)) data-line=[line(view, number)] {
                "Bookmark " b { bdi { (VisibleText(label)) } }
                @if let Some(target) = view.layout.entry(target) { " on " a href={ "#" (entry_anchor(target)) } { "an entry" } }
            }
        },
        Body::Compaction { summary, tokens_before, first_kept } => {
            let kept = first_kept.as_deref().and_then(|kept| view.layout.entry(kept));
            compaction(view, number, summary, *tokens_before, kept)
        }
        Body::Other { kind, data } => html! {
            details class=(CHANGE) id=(entry_anchor(number)) data-line=[line(view, number)] {
                summary { "Entry " b { bdi { (VisibleText(kind)) } } (mark(view, number)) }
                (tool::data(data))
            }
        },
    }
}

/// Renders a change of settings.
fn change(view: &PageView<'_>, number: usize, what: &str, value: &str) -> Markup {
    html! { p class=(CHANGE) id=(entry_anchor(number)) data-line=[line(view, number)] { (what) " " b { bdi { (VisibleText(value)) } } (mark(view, number)) } }
}

fn compaction(
    view: &PageView<'_>,
    number: usize,
    text: &str,
    tokens_before: u64,
    kept: Option<usize>,
) -> Markup {
    let who = html! { "Compaction " span.gist { (count(tokens_before)) " tokens before it" } };
    let body = html! {
        p.note {
            "From here on the context is this summary"
            @match kept {
                Some(kept) => { " and the messages " a href={ "#" (entry_anchor(kept)) } { "since here" } "." },
                None => ".",
            }
        }
        (summary(text))
    };
    article(view, number, "summary", &who, &body)
}

fn message(view: &PageView<'_>, number: usize, message: &AgentMessage, results: &Results) -> Markup {
    let block = |class, who: &str, body: Markup| article(view, number, class, &html! { (who) }, &body);
    match message {
        AgentMessage::User(message) => block("user", "User", prompt_content(&message.content)),
        AgentMessage::System(message) => block("summary", "Instructions", system(message)),
        AgentMessage::Developer(message) => block("user", "Instruction", prompt_content(&message.content)),
        AgentMessage::Assistant(message) => assistant(view, number, message, results),
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
        AgentMessage::Custom(message) => extension(
            view,
            number,
            &message.custom_type,
            &extension_message(&message.content, message.display),
        ),
        AgentMessage::HookMessage(message) => extension(
            view,
            number,
            &message.custom_type,
            &extension_message(&message.content, message.display),
        ),
    }
}

fn assistant(view: &PageView<'_>, number: usize, message: &AssistantMessage, results: &Results) -> Markup {
    let who = html! {
        "Assistant " span.gist { bdi { (VisibleText(&message.provider)) "/" (VisibleText(&message.model)) } }
    };
    let body = answer(message, |block, call| {
        let result = results.of_call(number, block);
        let message = result.and_then(|result| match view.message(result) {
            Some(AgentMessage::ToolResult(message)) => Some((message, entry_anchor(result))),
            _ => None,
        });
        tool::call(call, message)
    });
    article(view, number, "assistant", &who, &body)
}

/// Renders a system message, folded: its sections, and the tools that it adds and removes.
fn system(message: &SystemMessage) -> Markup {
    let sections = || message.sections.iter().flatten();
    let added = || message.tools_added.iter().flatten().map(|tool| &tool.name);
    let removed = || message.tools_removed.iter().flatten().map(|tool| &tool.name);
    let gist = [
        (sections().count(), "section", "sections"),
        (added().count(), "tool", "tools"),
        (removed().count(), "tool taken away", "tools taken away"),
    ];
    let counts = gist.iter().filter(|(number, ..)| *number > 0);
    let counts: Vec<String> = counts.map(|(number, one, many)| count_of(*number as u64, one, many)).collect();
    html! {
        details {
            summary { @if counts.is_empty() { "Text" } @else { (counts.join(", ")) } }
            @match &message.content {
                SystemContent::Text(text) => @if !text.is_empty() { pre { (VisibleText(text)) } },
                SystemContent::Blocks(blocks) => @for block in blocks { pre { (VisibleText(&block.text)) } },
            }
            @for (name, text) in sections() {
                details { summary { bdi { (VisibleText(name)) } } pre { @if let Some(text) = text { (VisibleText(text)) } } }
            }
            @if added().next().is_some() { p.note { "Tools: " @for name in added() { code { (VisibleText(name)) } " " } } }
            @if removed().next().is_some() { p.note { "No longer: " @for name in removed() { code { (VisibleText(name)) } " " } } }
        }
    }
}

fn extension(view: &PageView<'_>, number: usize, kind: &str, body: &Markup) -> Markup {
    article(view, number, "summary", &html! { "Extension " span.gist { bdi { (VisibleText(kind)) } } }, body)
}

/// Renders a message with its author and time.
fn article(view: &PageView<'_>, number: usize, class: &str, who: &Markup, body: &Markup) -> Markup {
    let entry = &view.page.entries[number];
    html! {
        article class=(Kinds::of(&entry.body).classes(class)) id=(entry_anchor(number)) data-line=[entry.line] {
            header {
                h3 { (who) }
                (mark(view, number))
                a.anchor href={ "#" (entry_anchor(number)) } title={ "Entry " (visible_plain_text(&entry.id)) } { (time(entry.at)) }
            }
            (body)
        }
    }
}

/// The line of an entry in the session file.
fn line(view: &PageView<'_>, number: usize) -> Option<usize> {
    view.page.entries[number].line
}

/// Renders the label of an entry.
fn mark(view: &PageView<'_>, number: usize) -> Markup {
    html! { @if let Some(label) = view.label(number) { " " span.label { bdi { (VisibleText(label)) } } " " } }
}
