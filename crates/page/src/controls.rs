//! Renders what the script works with. Without a script none of it is shown.

use maud::{Markup, html};

use super::kinds::Kinds;

/// Renders the filter by kind, and the buttons for the whole page.
pub(super) fn actions(has_file: bool) -> Markup {
    html! {
        details.actions hidden {
            summary { @if has_file { "Filter, fold, download" } @else { "Filter and fold" } }
            div.choices {
                fieldset.kinds {
                    legend { "Show" }
                    @for (_, name, words) in Kinds::ALL {
                        label { input type="checkbox" name="kind" value=(name) checked; (words) }
                    }
                }
                div.buttons {
                    button #unfold type="button" { "Unfold all" } " "
                    button #fold type="button" { "Fold all" }
                    @if has_file { " " button #download type="button" { "Download JSONL" } }
                }
            }
        }
    }
}

/// Renders the search, which stays in view.
pub(super) fn search() -> Markup {
    html! {
        search.find hidden {
            label for="find" { "Search" }
            input #find type="search" placeholder="Press / to search" autocomplete="off" spellcheck="false";
            button #previous type="button" { "Previous" } " "
            button #next type="button" { "Next" }
            p.found role="status" {}
        }
    }
}
