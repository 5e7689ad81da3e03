//! The way through the tree: a list of the prompts with the branches between them, and links where branches part.

use maud::{Markup, html};

use super::figures::counted;
use super::input::Body;
use super::sheet::{Sheet, place, run_place};
use super::text::Shown;

/// Everything that can be gone to. Lists are as deep as runs are nested, which is not deep.
pub(super) fn navigation(sheet: &Sheet<'_>) -> Markup {
    html! {
        nav aria-label="Contents" {
            details {
                summary { "Contents" }
                (prompts(sheet, 0, None))
                (runs(sheet, sheet.shape.leaving(None)))
            }
        }
    }
}

/// What stands out in a run, in order, but for the prompt that the run is called by; runs that leave it are listed where
/// they do.
fn prompts(sheet: &Sheet<'_>, run: usize, called_by: Option<usize>) -> Markup {
    let mut items = Vec::new();
    for &entry in &sheet.shape.runs[run].entries {
        if called_by != Some(entry)
            && let Some(heading) = heading(sheet, entry)
        {
            items.push(html! { a href={ "#" (place(entry)) } { (heading) } });
        }
        let leaving = sheet.shape.leaving(Some(entry));
        if !leaving.is_empty() {
            items.push(runs(sheet, leaving));
        }
    }
    html! { @if !items.is_empty() { ul { @for item in items { li { (item) } } } } }
}

fn runs(sheet: &Sheet<'_>, runs: &[usize]) -> Markup {
    html! {
        @if !runs.is_empty() {
            ul.branches {
                @for &run in runs { li { (link(sheet, run)) (prompts(sheet, run, sheet.first_prompt(run))) } }
            }
        }
    }
}

fn heading(sheet: &Sheet<'_>, entry: usize) -> Option<Markup> {
    let label = sheet.label(entry).map(|label| html! { span.label { bdi { (Shown(label)) } } " " });
    let text = match &sheet.page.entries[entry].body {
        Body::Compaction { .. } => Some(html! { "Compaction" }),
        _ => {
            let words = || label.as_ref().and_then(|_| sheet.words(entry));
            sheet.prompt(entry).or_else(words).map(|text| html! { bdi { (Shown(&text)) } })
        }
    };
    (label.is_some() || text.is_some())
        .then(|| html! { (label.unwrap_or_default()) (text.unwrap_or_default()) })
}

/// Where other runs leave after an entry.
pub(super) fn branches(sheet: &Sheet<'_>, entry: usize) -> Markup {
    let leaving = sheet.shape.leaving(Some(entry));
    html! {
        @if !leaving.is_empty() {
            div.fork {
                p { (counted(leaving.len() as u64, "other branch leaves", "other branches leave")) " here:" }
                ul { @for &run in leaving { li { (link(sheet, run)) } } }
            }
        }
    }
}

fn link(sheet: &Sheet<'_>, run: usize) -> Markup {
    html! { a href={ "#" (run_place(run)) } { (branch_name(sheet, run)) } }
}

/// What a branch is called: its number, its first prompt and how long it is.
pub(super) fn branch_name(sheet: &Sheet<'_>, run: usize) -> Markup {
    let entries = sheet.shape.runs[run].entries.len() as u64;
    html! {
        "Branch " (run) ": "
        @if let Some(gist) = sheet.gist(run) { bdi { (Shown(&gist)) } " " }
        span.gist { (counted(entries, "entry", "entries")) }
    }
}
