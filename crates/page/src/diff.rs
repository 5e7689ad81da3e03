//! Renders differences of files: added and removed lines are coloured and keep their sign.

use maud::{Markup, html};

use super::text::VisibleText;

/// Renders a difference in pi's numbered or the unified format as the content of a `pre`.
pub(super) fn diff(text: &str) -> Markup {
    html! {
        @for line in text.split_inclusive('\n') {
            @match DiffLine::of(line) {
                DiffLine::Added => ins { (VisibleText(line)) },
                DiffLine::Removed => del { (VisibleText(line)) },
                DiffLine::Place => span.place { (VisibleText(line)) },
                DiffLine::Kept => (VisibleText(line)),
            }
        }
    }
}

enum DiffLine {
    Added,
    Removed,
    /// Path and line number of the lines that follow.
    Place,
    Kept,
}

impl DiffLine {
    fn of(line: &str) -> Self {
        let heads = ["+++ ", "--- ", "@@ "];
        match line.as_bytes().first() {
            _ if heads.iter().any(|head| line.starts_with(head)) => Self::Place,
            Some(b'+') => Self::Added,
            Some(b'-') => Self::Removed,
            _ => Self::Kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_marked_by_its_sign() {
        assert_eq!(
            diff("--- a/x\n 1 same\n-2 <old>\n+2 new").into_string(),
            "<span class=\"place\">--- a/x\n</span> 1 same\n<del>-2 &lt;old&gt;\n</del><ins>+2 new</ins>"
        );
    }
}
