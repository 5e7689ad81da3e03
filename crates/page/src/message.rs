//! Renders messages by role.

use maud::{Markup, html};

use pi_rpc_protocol::{
    AssistantContent, AssistantMessage, FileMentionMessage, ImageContent, MessageContent, StopReason,
    ToolCall, Usage, UserContent,
};

use super::{
    figures::{count_of, dollars, token_counts},
    markdown::{first_words, markdown, markdown_of_prompt},
    text::{SizeLimit, VisibleText, first_line},
    tool::text,
};

/// Types of images that are shown; others are not known to be only pictures.
const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Size up to which a prompt is shown unfolded.
const SHORT: SizeLimit = SizeLimit { lines: 80, bytes: 6_000 };

/// Characters of a folded prompt that stay visible.
const PREVIEW_CHARS: usize = 160;

/// Renders the content of a prompt: Markdown, with the line breaks as they were typed.
pub(super) fn prompt_content(content: &MessageContent) -> Markup {
    html! {
        @match content {
            MessageContent::Text(text) => (prompt(text)),
            MessageContent::Blocks(blocks) => {
                @for block in blocks {
                    @match block {
                        UserContent::Text(block) => (prompt(&block.text)),
                        UserContent::Image(block) => (image(block, "Image in the message")),
                    }
                }
            }
        }
    }
}

fn prompt(text: &str) -> Markup {
    html! {
        @if !SHORT.holds(text) {
            details {
                summary {
                    bdi { (VisibleText(&first_line(text, PREVIEW_CHARS))) } " "
                    span.outcome { (count_of(text.lines().count() as u64, "line", "lines")) }
                }
                div.answer { (markdown_of_prompt(text)) }
            }
        } @else if !text.is_empty() {
            div.answer { (markdown_of_prompt(text)) }
        }
    }
}

/// The first text of a message that is not blank.
pub(super) fn first_text(content: &MessageContent) -> &str {
    match content {
        MessageContent::Text(text) => text,
        MessageContent::Blocks(blocks) => {
            let mut texts = blocks.iter().filter_map(|block| match block {
                UserContent::Text(block) => Some(block.text.as_str()),
                UserContent::Image(_) => None,
            });
            texts.find(|text| !text.trim().is_empty()).unwrap_or_default()
        }
    }
}

/// Renders an answer; `call` renders a tool call, given its index among the blocks.
pub(super) fn answer(message: &AssistantMessage, call: impl Fn(usize, &ToolCall) -> Markup) -> Markup {
    html! {
        @for (place, block) in message.content.iter().enumerate() {
            @match block {
                AssistantContent::Text(block) => div.answer { (markdown(&block.text)) },
                AssistantContent::Thinking(block) if block.redacted.unwrap_or(false) => (redacted()),
                AssistantContent::Thinking(block) => (thinking(&block.thinking)),
                AssistantContent::RedactedThinking(_) => (redacted()),
                AssistantContent::ToolCall(block) => (call(place, block)),
            }
        }
        @if let Some(ending) = ending(message) { (ending) }
        (usage_line(&message.usage))
    }
}

fn thinking(text: &str) -> Markup {
    html! {
        @if !text.trim().is_empty() {
            details.thinking {
                summary { b { "Thinking" } " " span.gist { bdi { (VisibleText(&first_words(text, PREVIEW_CHARS))) } } }
                div.answer { (markdown(text)) }
            }
        }
    }
}

fn redacted() -> Markup {
    html! { p.note { "Thinking that the provider keeps to itself." } }
}

/// Renders how an answer ended; `None`: regularly.
fn ending(message: &AssistantMessage) -> Option<Markup> {
    let label = match message.stop_reason {
        StopReason::Stop | StopReason::ToolUse => return None,
        StopReason::Pending => "Not complete.",
        StopReason::Deferred => "To be answered later.",
        StopReason::Length => "Cut at the output limit.",
        StopReason::Aborted => "Aborted.",
        StopReason::Error => "Failed.",
    };
    Some(html! {
        p.ending { b { (label) } @if let Some(error) = &message.error_message { " " bdi { (VisibleText(error)) } } }
    })
}

/// Renders the usage of an answer; nothing if there is none.
fn usage_line(usage: &Usage) -> Markup {
    let tokens = token_counts(usage.input, usage.cache_read, usage.cache_write, usage.output);
    let cost = usage.cost.total.as_f64().unwrap_or(0.0);
    html! {
        @if !tokens.is_empty() {
            p.spent {
                (tokens)
                @if cost > 0.0 { " · " (dollars(cost)) }
            }
        }
    }
}

/// Renders an image; its name only, if its data is missing or its type is not shown.
pub(super) fn image(image: &ImageContent, what: &str) -> Markup {
    let is_base64 = |letter: u8| letter.is_ascii_alphanumeric() || b"+/=".contains(&letter);
    let is_picture = PICTURES.contains(&image.mime_type.as_str());
    html! {
        @if is_picture && !image.data.is_empty() && image.data.bytes().all(is_base64) {
            img alt=(what) src={ "data:" (image.mime_type) ";base64," (image.data) };
        } @else {
            p.note { (what) ": " bdi { (VisibleText(&image.mime_type)) } ", not shown" }
        }
    }
}

/// Renders the files that were attached to a prompt.
pub(super) fn files(message: &FileMentionMessage) -> Markup {
    html! {
        @for file in &message.files {
            details.tool {
                summary { code { bdi { (VisibleText(&file.path)) } } }
                @if file.skipped_reason.is_some() { p.note { "Too large to be read in." } }
                @if !file.content.is_empty() { (text(&file.content)) }
                @if let Some(picture) = &file.image { (image(picture, "Image in the file")) }
            }
        }
    }
}

/// Renders a summary of other messages.
pub(super) fn summary(text: &str) -> Markup {
    html! {
        details.tool {
            summary { b { "Summary" } " " span.gist { bdi { (VisibleText(&first_words(text, PREVIEW_CHARS))) } } }
            div.answer { (markdown(text)) }
        }
    }
}

/// Renders a message of an extension; folded if it was not to be displayed.
pub(super) fn extension_message(content: &MessageContent, is_shown: bool) -> Markup {
    html! {
        @if is_shown { (prompt_content(content)) } @else { details { summary { "For the model only" } (prompt_content(content)) } }
    }
}
