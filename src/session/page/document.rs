//! The page as a whole: what it is called, what it tells at the top, and every run of the tree below.

use std::collections::BTreeSet;
use std::sync::Arc;

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

use crate::html::head;
use crate::protocol::AgentMessage;
use crate::session::totals;

use super::entry::entry;
use super::figures::{count, counted, dollars, time, tokens_told};
use super::input::{Body, Page};
use super::navigation::{branch_name, branches, navigation};
use super::results::Results;
use super::sheet::{Sheet, place, run_place};
use super::text::{Shown, plain};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The whole page. It grows at one end, entry by entry.
pub(super) fn document(page: &Page) -> String {
    let sheet = Sheet::of(page);
    let mut text = String::new();
    DOCTYPE.render_to(&mut text);
    text.push_str("<html lang=\"en\">");
    head(&plain(&sheet.title()), STYLE, Some(SCRIPT)).render_to(&mut text);
    text.push_str("<body>");
    top(&sheet).render_to(&mut text);
    navigation(&sheet).render_to(&mut text);
    text.push_str("<main id=\"main\">");
    conversation(&sheet, &mut text);
    for run in 1..sheet.shape.runs.len() {
        branch(&sheet, run, &mut text);
    }
    text.push_str("</main>");
    html! {
        footer { p { "Written by " (Shown(&page.written_by)) ". Times are UTC." } }
        script { (PreEscaped(SCRIPT)) }
    }
    .render_to(&mut text);
    text.push_str("</body></html>\n");
    text
}

fn top(sheet: &Sheet<'_>) -> Markup {
    let page = sheet.page;
    html! {
        a.skip href="#main" { "Skip to the conversation" }
        header.top {
            h1 { bdi { (Shown(&sheet.title())) } }
            dl.facts { (facts(page)) }
            @if let Some(instructions) = &page.instructions {
                details { summary { "What the model is told first" } div.said { (Shown(instructions)) } }
            }
            p.folding hidden { button type="button" { "Unfold all" } " " button type="button" { "Fold all" } }
        }
    }
}

/// The session in figures, all branches together: each was paid for.
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
        div { dt { "Session" } dd { bdi { (Shown(&page.session)) } } }
        div { dt { "Directory" } dd { bdi { (Shown(&page.cwd)) } } }
        @if let Some(created) = page.created { div { dt { "Begun" } dd { (time(created)) } } }
        @if !models.is_empty() {
            div { dt { @if models.len() == 1 { "Model" } @else { "Models" } } dd {
                @for (at, model) in models.iter().enumerate() { @if at > 0 { ", " } bdi { (Shown(model)) } }
            } }
        }
        div { dt { "Messages" } dd {
            (count(totals.all)) ": " (counted(totals.user, "prompt", "prompts")) ", "
            (counted(totals.assistant, "answer", "answers")) ", " (counted(totals.calls, "tool call", "tool calls"))
        } }
        div { dt { "Tokens" } dd {
            (tokens_told(tokens.input, tokens.cache_read, tokens.cache_write, tokens.output))
        } }
        div { dt { "Cost" } dd { (dollars(totals.cost)) } }
    }
}

/// The leaf's path.
fn conversation(sheet: &Sheet<'_>, text: &mut String) {
    text.push_str("<section aria-labelledby=\"b0\"><h2 id=\"b0\">Conversation</h2>");
    run(sheet, 0, text);
    let what = if sheet.shape.runs[0].entries.is_empty() {
        "Nothing was said yet."
    } else {
        "The conversation stands here."
    };
    html! { p.note.leaf { (what) } }.render_to(text);
    text.push_str("</section>");
}

/// What was said beside the leaf's path, folded.
fn branch(sheet: &Sheet<'_>, number: usize, text: &mut String) {
    text.push_str("<section class=\"branch\"><details>");
    html! {
        summary id=(run_place(number)) { h2 { (branch_name(sheet, number)) } }
        p.note {
            @match sheet.shape.runs[number].from {
                Some(entry) => { "It leaves after " a href={ "#" (place(entry)) } { "this entry" } "." },
                None => "It begins by itself.",
            }
        }
    }
    .render_to(text);
    run(sheet, number, text);
    text.push_str("</details></section>");
}

fn run(sheet: &Sheet<'_>, number: usize, text: &mut String) {
    let entries = &sheet.shape.runs[number].entries;
    let results = Results::of(sheet, entries);
    for &at in entries {
        entry(sheet, at, &results).render_to(text);
        branches(sheet, at).render_to(text);
    }
}
