//! Renders the whole page: title, facts, and every segment of the tree.

use std::collections::BTreeSet;
use std::sync::Arc;

use maud::{DOCTYPE, Markup, PreEscaped, Render, html};

use pi_rpc_html::{BASE_STYLE, COPY_SCRIPT, head};
use pi_rpc_protocol::AgentMessage;
use pi_rpc_session::{time::day, totals};

use super::{
    controls::{actions, search},
    embedded_file::embedded_file,
    entry::entry,
    figures::{count, count_of, day_and_time, day_heading, dollars, token_counts},
    input::{Body, Page},
    kinds::Kinds,
    navigation::{branch_name, branches, navigation},
    parts::PartWriter,
    results::Results,
    text::{VisibleText, visible_plain_text},
    view::{PageView, entry_anchor, segment_anchor},
};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Renders the page into one string, entry by entry.
pub(super) fn document(page: &Page) -> String {
    let view = PageView::of(page);
    let mut text = String::new();
    DOCTYPE.render_to(&mut text);
    text.push_str("<html lang=\"en\">");
    let script = [COPY_SCRIPT, SCRIPT].concat();
    head(&visible_plain_text(&view.title()), &[BASE_STYLE, STYLE].concat(), Some(&script))
        .render_to(&mut text);
    text.push_str("<body>");
    top(&view).render_to(&mut text);
    navigation(&view).render_to(&mut text);
    text.push_str("<main id=\"main\">");
    search().render_to(&mut text);
    let mut parts = PartWriter::new(page.entries.len());
    conversation(&view, &mut parts, &mut text);
    for segment in 1..view.layout.segments.len() {
        branch(&view, segment, &mut parts, &mut text);
    }
    text.push_str("</main>");
    html! {
        footer { p { "Written by " (VisibleText(&page.written_by)) ". Times are UTC." } }
        @if !page.file.is_empty() { (embedded_file(&page.file, &page.session)) }
        script { (PreEscaped(&script)) }
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
            (facts(page))
            @if let Some(instructions) = page.instructions.as_ref().filter(|_| !has_system_message(page)) {
                details { summary { "Instructions of the model" } div.said { (VisibleText(instructions)) } }
            }
            (actions(!page.file.is_empty()))
        }
    }
}

/// Whether the conversation itself shows the instructions of the model.
fn has_system_message(page: &Page) -> bool {
    let is_system =
        |body: &Body| matches!(body, Body::Message(it) if matches!(**it, AgentMessage::System(_)));
    page.entries.iter().any(|entry| is_system(&entry.body))
}

/// Totals of the session, over all branches: the most important in a line, which unfolds to all.
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
        details.facts {
            summary {
                (count_of(totals.user, "prompt", "prompts")) ", " (count_of(totals.calls, "tool call", "tool calls"))
                ", " (dollars(totals.cost))
            }
            dl.key-facts {
                div { dt { "Session" } dd { bdi { (VisibleText(&page.session)) } } }
                div { dt { "Directory" } dd { bdi { (VisibleText(&page.cwd)) } } }
                @if let Some(created) = page.created { div { dt { "Begun" } dd { (day_and_time(created)) } } }
                @if !models.is_empty() {
                    div { dt { @if models.len() == 1 { "Model" } @else { "Models" } } dd {
                        @for (at, model) in models.iter().enumerate() { @if at > 0 { ", " } bdi { (VisibleText(model)) } }
                    } }
                }
                div { dt { "Messages" } dd { (count(totals.all)) ", " (count_of(totals.assistant, "answer", "answers")) } }
                div { dt { "Tokens" } dd {
                    (token_counts(tokens.input, tokens.cache_read, tokens.cache_write, tokens.output))
                } }
            }
        }
    }
}

/// Renders the leaf's path.
fn conversation(view: &PageView<'_>, parts: &mut PartWriter, text: &mut String) {
    text.push_str("<section aria-labelledby=\"b0\"><h2 id=\"b0\">Conversation</h2>");
    segment(view, 0, parts, text);
    let what = if view.layout.segments[0].entries.is_empty() {
        "Nothing was said yet."
    } else {
        "The conversation stands here."
    };
    html! { p.note.leaf { (what) } }.render_to(text);
    text.push_str("</section>");
}

/// Renders a branch beside the leaf's path. The script shows it only when it is chosen.
fn branch(view: &PageView<'_>, number: usize, parts: &mut PartWriter, text: &mut String) {
    let anchor = segment_anchor(number);
    let from = view.layout.segments[number].from;
    text.push_str(&format!("<section class=\"branch\" aria-labelledby=\"{anchor}\""));
    if let Some(part) = from.and_then(|entry| parts.ending_with(entry)) {
        text.push_str(&format!(" data-after=\"p{part}\""));
    }
    text.push('>');
    html! {
        h2 id=(anchor) { (branch_name(view, number)) }
        p.note {
            @match from {
                Some(entry) => { "It leaves after " a href={ "#" (entry_anchor(entry)) } { "this entry" } "." },
                None => "It begins by itself.",
            }
        }
    }
    .render_to(text);
    segment(view, number, parts, text);
    text.push_str("<p class=\"note leaf\">This branch ends here.</p></section>");
}

fn segment(view: &PageView<'_>, number: usize, parts: &mut PartWriter, text: &mut String) {
    let entries = &view.layout.segments[number].entries;
    let results = Results::of(view, entries);
    let mut shown_day = None;
    for (place, &at) in entries.iter().enumerate() {
        let mut markup = entry(view, at, &results).0;
        let time = view.page.entries[at].at;
        let of_day =
            Some(day(time)).filter(|day| time > 0 && !markup.is_empty() && shown_day.as_ref() != Some(day));
        if of_day.is_some() {
            markup.insert_str(0, &day_heading(time).0);
            shown_day = of_day;
        }
        parts.add(Kinds::of(&view.page.entries[at].body), &markup, text);
        if !view.layout.branching_after(Some(at)).is_empty() {
            parts.fork(at, &branches(view, at, entries.get(place + 1).copied()).0, text);
        }
    }
    parts.end(text);
}
