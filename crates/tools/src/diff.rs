//! Renders the difference of two texts: changed lines with their context and line numbers, or a unified patch.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, ChangeTag, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};

use pi_rpc_protocol::EditToolDetails;

/// Unchanged lines before the first change and after the last one.
const CONTEXT_LINES: usize = 4;

/// Time limit of the comparison; lines that are not compared by then count as changed.
const PATIENCE: Duration = Duration::from_secs(2);

/// The difference between two texts, in pi's format: `+` and the number in the new text, `-` or a blank and the number
/// in the old one, then the line. Numbers are padded on the left to the same width; ` ...` stands for lines left out.
pub fn numbered_diff(old: &str, new: &str) -> EditToolDetails {
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let (mut gone, mut come) = changed_lines(&old_lines, &new_lines);
    slide_down(&mut gone, &old_lines);
    slide_down(&mut come, &new_lines);
    let longest = old.split('\n').count().max(new.split('\n').count());
    let mut shown = DiffLines { width: longest.to_string().len(), lines: Vec::new() };
    let mut first_changed_line = None;
    let (mut at_old, mut at_new) = (0, 0);
    while at_old < gone.len() || at_new < come.len() {
        let (removed, added) = (run_of(&gone, at_old, true), run_of(&come, at_new, true));
        if !removed.is_empty() || !added.is_empty() {
            first_changed_line.get_or_insert(at_new as u64 + 1);
        }
        shown.push_lines('-', &old_lines, removed.clone());
        shown.push_lines('+', &new_lines, added.clone());
        // Unchanged lines are equally many on both sides.
        let kept = run_of(&gone, removed.end, false);
        let kept = kept.start..kept.start + kept.len().min(run_of(&come, added.end, false).len());
        let (is_first, is_last) = (first_changed_line.is_none(), kept.end == gone.len());
        let start =
            if is_first { kept.end.saturating_sub(CONTEXT_LINES).max(kept.start) } else { kept.start };
        let is_last = is_last && added.end + kept.len() == come.len();
        let end = if is_last { kept.end.min(start + CONTEXT_LINES) } else { kept.end };
        shown.push_ellipsis(start > kept.start);
        shown.push_lines(' ', &old_lines, start..end);
        shown.push_ellipsis(end < kept.end);
        (at_old, at_new) = (kept.end, added.end + kept.len());
    }
    EditToolDetails { diff: shown.lines.join("\n"), first_changed_line, patch: None }
}

/// The difference as a unified patch of the file `name`.
pub(super) fn patch(name: &str, old: &str, new: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let mut patch = String::new();
    for hunk in group_diff_ops(compare(&old, &new), CONTEXT_LINES) {
        if patch.is_empty() {
            patch = format!("--- {name}\n+++ {name}\n");
        }
        // Writing to a string does not fail.
        let _ = writeln!(patch, "{}", hunk_head(&hunk));
        for change in hunk.iter().flat_map(|operation| operation.iter_changes(&old, &new)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let line = change.value();
            let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
            let _ = write!(patch, "{sign}{line}{end}");
        }
    }
    patch
}

/// The line in front of a hunk; like pi, it has the number of lines even where that is 1.
fn hunk_head(hunk: &[DiffOp]) -> String {
    let (first, last) = (&hunk[0], &hunk[hunk.len() - 1]);
    let range = |start: usize, end: usize| format!("{},{}", start + usize::from(end > start), end - start);
    let old = range(first.old_range().start, last.old_range().end);
    let new = range(first.new_range().start, last.new_range().end);
    format!("@@ -{old} +{new} @@")
}

/// Compares lines. The one place that calls the algorithm, which is compiled anew for each type of its arguments.
fn compare(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    capture_diff_slices_deadline(Algorithm::Myers, old, new, Some(Instant::now() + PATIENCE))
}

/// Flags for removed lines of the old text, and for added lines of the new one.
fn changed_lines(old: &[&str], new: &[&str]) -> (Vec<bool>, Vec<bool>) {
    let (mut gone, mut come) = (vec![false; old.len()], vec![false; new.len()]);
    for stretch in compare(old, new) {
        if stretch.tag() != DiffTag::Equal {
            gone[stretch.old_range()].fill(true);
            come[stretch.new_range()].fill(true);
        }
    }
    (gone, come)
}

/// Moves changes down where a difference is ambiguous, as pi does: of two equal lines, one of them new, the second counts
/// as the new one.
fn slide_down(changed: &mut [bool], lines: &[&str]) {
    // Of the run of changed lines that ends before `end`.
    let mut start = 0;
    for end in 1..lines.len() {
        match (changed[end - 1], changed[end]) {
            (false, true) => start = end,
            (true, false) => {
                if let Some(same) = (start..end).find(|at| lines[*at] == lines[end]) {
                    (changed[same], changed[end]) = (false, true);
                    start = same + 1;
                }
            }
            _ => {}
        }
    }
}

/// The run of lines from `start` on that are all changed, or all not.
fn run_of(changed: &[bool], start: usize, wanted: bool) -> Range<usize> {
    let length = changed[start..].iter().take_while(|changed| **changed == wanted).count();
    start..start + length
}

struct DiffLines {
    width: usize,
    lines: Vec<String>,
}

impl DiffLines {
    fn push_lines(&mut self, sign: char, lines: &[&str], range: Range<usize>) {
        let width = self.width;
        for (line, number) in lines[range.clone()].iter().zip(range.start + 1..) {
            let line = line.strip_suffix('\n').unwrap_or(line);
            self.lines.push(format!("{sign}{number:>width$} {line}"));
        }
    }

    fn push_ellipsis(&mut self, some: bool) {
        if some {
            self.lines.push(format!(" {:>1$} ...", "", self.width));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patch_counts_single_lines() {
        assert_eq!(patch("a", "one\n", "1\n"), "--- a\n+++ a\n@@ -1,1 +1,1 @@\n-one\n+1\n");
        assert_eq!(patch("a", "", "1\n"), "--- a\n+++ a\n@@ -0,0 +1,1 @@\n+1\n");
    }
}
