//! Renders the table of contents, and links at the places where branches part.

use maud::{Markup, html};

use super::{
    figures::count_of,
    input::Body,
    text::VisibleText,
    view::{PageView, entry_anchor, segment_anchor},
};

/// Items of a part of the contents.
const PART_ITEMS: usize = 200;

/// Renders the table of contents. Lists are as deep as segments are nested, which is not deep.
pub(super) fn navigation(view: &PageView<'_>) -> Markup {
    html! {
        nav aria-label="Contents" {
            details {
                summary { "Contents" }
                ul { li { a href={ "#" (segment_anchor(0)) } { "Conversation" } } }
                (path(view))
                (segments(view, view.layout.branching_after(None)))
            }
        }
    }
}

/// Renders the prompts of the leaf's path; many of them in parts, as the entries themselves.
fn path(view: &PageView<'_>) -> Markup {
    let items = prompt_items(view, 0, None);
    html! {
        @if items.len() <= PART_ITEMS {
            (list(&items))
        } @else {
            @for part in items.chunks(PART_ITEMS) {
                div.part data-entries=(part.len()) { noscript { (list(part)) } }
            }
        }
    }
}

/// Renders the prompts of a segment in order, without the one that is its title.
fn prompts(view: &PageView<'_>, segment: usize, called_by: Option<usize>) -> Markup {
    list(&prompt_items(view, segment, called_by))
}

fn list(items: &[Markup]) -> Markup {
    html! { @if !items.is_empty() { ul { @for item in items { li { (item) } } } } }
}

/// The prompts of a segment, and branches where they leave.
fn prompt_items(view: &PageView<'_>, segment: usize, called_by: Option<usize>) -> Vec<Markup> {
    let mut items = Vec::new();
    for &entry in &view.layout.segments[segment].entries {
        if called_by != Some(entry)
            && let Some(heading) = heading(view, entry)
        {
            items.push(html! { a href={ "#" (entry_anchor(entry)) } { (heading) } });
        }
        let leaving = view.layout.branching_after(Some(entry));
        if !leaving.is_empty() {
            items.push(segments(view, leaving));
        }
    }
    items
}

fn segments(view: &PageView<'_>, segments: &[usize]) -> Markup {
    html! {
        @if !segments.is_empty() {
            ul.branches {
                @for &segment in segments { li { (link(view, segment)) (prompts(view, segment, view.first_prompt(segment))) } }
            }
        }
    }
}

fn heading(view: &PageView<'_>, entry: usize) -> Option<Markup> {
    let label = view.label(entry).map(|label| html! { span.label { bdi { (VisibleText(label)) } } " " });
    let text = match &view.page.entries[entry].body {
        Body::Compaction { .. } => Some(html! { "Compaction" }),
        _ => {
            let words = || label.as_ref().and_then(|_| view.preview(entry));
            view.prompt(entry).or_else(words).map(|text| html! { bdi { (VisibleText(&text)) } })
        }
    };
    (label.is_some() || text.is_some())
        .then(|| html! { (label.unwrap_or_default()) (text.unwrap_or_default()) })
}

/// Renders links to all that follows an entry where branches leave: `next` on its own segment, and the branches.
pub(super) fn branches(view: &PageView<'_>, entry: usize, next: Option<usize>) -> Markup {
    let leaving = view.layout.branching_after(Some(entry));
    html! {
        div.fork {
            p { (count_of(leaving.len() as u64, "other branch leaves", "other branches leave")) " here:" }
            ul {
                @if let Some(next) = next { li { a.own href={ "#" (entry_anchor(next)) } { "On from here" } } }
                @for &segment in leaving { li { (link(view, segment)) } }
            }
        }
    }
}

fn link(view: &PageView<'_>, segment: usize) -> Markup {
    html! { a href={ "#" (segment_anchor(segment)) } { (branch_name(view, segment)) } }
}

/// Renders the name of a branch: its number, its first prompt and its length.
pub(super) fn branch_name(view: &PageView<'_>, segment: usize) -> Markup {
    let entries = view.layout.segments[segment].entries.len() as u64;
    html! {
        "Branch " (segment) ": "
        @if let Some(gist) = view.segment_title(segment) { bdi { (VisibleText(&gist)) } " " }
        span.gist { (count_of(entries, "entry", "entries")) }
    }
}
