//! Renders the whole page: title, facts, and every segment of the tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

use crate::html::{BASE_STYLE, head};
use crate::protocol::AgentMessage;
use crate::session::totals;

use super::entry::entry;
use super::figures::{count, count_of, dollars, time, token_counts};
use super::input::{Body, Page};
use super::navigation::{branch_name, branches, navigation};
use super::results::Results;
use super::text::{VisibleText, visible_plain_text};
use super::view::{PageView, entry_anchor, segment_anchor};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Renders the page into one string, entry by entry.
pub(super) fn document(page: &Page) -> String {
    let view = PageView::of(page);
    let mut text = String::new();
    DOCTYPE.render_to(&mut text);
    text.push_str("<html lang=\"en\">");
    head(&visible_plain_text(&view.title()), &[BASE_STYLE, STYLE].concat(), Some(SCRIPT))
        .render_to(&mut text);
    text.push_str("<body>");
    top(&view).render_to(&mut text);
    navigation(&view).render_to(&mut text);
    text.push_str("<main id=\"main\">");
    conversation(&view, &mut text);
    for segment in 1..view.layout.segments.len() {
        branch(&view, segment, &mut text);
    }
    text.push_str("</main>");
    html! {
        footer { p { "Written by " (VisibleText(&page.written_by)) ". Times are UTC." } }
        script { (PreEscaped(SCRIPT)) }
    }
    .render_to(&mut text);
    text.push_str("</body></html>\n");
    text
}

fn top(view: &PageView<'_>) -> Markup {
    let page = view.page;
    html! {
        a.skip href="#main" { "Skip to the conversation" }
        header.top {
            h1 { bdi { (VisibleText(&view.title())) } }
            dl.key-facts { (facts(page)) }
            @if let Some(instructions) = &page.instructions {
                details { summary { "Instructions of the model" } div.said { (VisibleText(instructions)) } }
            }
            p.folding hidden { button type="button" { "Unfold all" } " " button type="button" { "Fold all" } }
        }
    }
}

/// Totals of the session, over all branches.
fn facts(page: &Page) -> Markup {
    let messages: Vec<Arc<AgentMessage>> = page
        .entries
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Message(message) => Some(Arc::clone(message)),
            _ => None,
        })
        .collect();
    let totals = totals(&messages);
    let models: BTreeSet<String> = messages
        .iter()
        .filter_map(|message| match message.as_ref() {
            AgentMessage::Assistant(message) => Some(format!("{}/{}", message.provider, message.model)),
            _ => None,
        })
        .collect();
    let tokens = &totals.tokens;
    html! {
        div { dt { "Session" } dd { bdi { (VisibleText(&page.session)) } } }
        div { dt { "Directory" } dd { bdi { (VisibleText(&page.cwd)) } } }
        @if let Some(created) = page.created { div { dt { "Begun" } dd { (time(created)) } } }
        @if !models.is_empty() {
            div { dt { @if models.len() == 1 { "Model" } @else { "Models" } } dd {
                @for (at, model) in models.iter().enumerate() { @if at > 0 { ", " } bdi { (VisibleText(model)) } }
            } }
        }
        div { dt { "Messages" } dd {
            (count(totals.all)) ": " (count_of(totals.user, "prompt", "prompts")) ", "
            (count_of(totals.assistant, "answer", "answers")) ", " (count_of(totals.calls, "tool call", "tool calls"))
        } }
        div { dt { "Tokens" } dd {
            (token_counts(tokens.input, tokens.cache_read, tokens.cache_write, tokens.output))
        } }
        div { dt { "Cost" } dd { (dollars(totals.cost)) } }
    }
}

/// Renders the leaf's path.
fn conversation(view: &PageView<'_>, text: &mut String) {
    text.push_str("<section aria-labelledby=\"b0\"><h2 id=\"b0\">Conversation</h2>");
    segment(view, 0, text);
    let what = if view.layout.segments[0].entries.is_empty() {
        "Nothing was said yet."
    } else {
        "The conversation stands here."
    };
    html! { p.note.leaf { (what) } }.render_to(text);
    text.push_str("</section>");
}

/// Renders a branch beside the leaf's path, folded.
fn branch(view: &PageView<'_>, number: usize, text: &mut String) {
    text.push_str("<section class=\"branch\"><details>");
    html! {
        summary id=(segment_anchor(number)) { h2 { (branch_name(view, number)) } }
        p.note {
            @match view.layout.segments[number].from {
                Some(entry) => { "It leaves after " a href={ "#" (entry_anchor(entry)) } { "this entry" } "." },
                None => "It begins by itself.",
            }
        }
    }
    .render_to(text);
    segment(view, number, text);
    text.push_str("</details></section>");
}

fn segment(view: &PageView<'_>, number: usize, text: &mut String) {
    let entries = &view.layout.segments[number].entries;
    let results = Results::of(view, entries);
    for &at in entries {
        entry(view, at, &results).render_to(text);
        branches(view, at).render_to(text);
    }
}
