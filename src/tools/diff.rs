//! What an edit changed, for people: the changed lines with some lines around them, each with its number.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline};

use crate::protocol::EditToolDetails;

/// How many unchanged lines are shown before the first change and after the last one.
const AROUND: usize = 4;

/// How long the shortest difference is looked for; what has not been compared by then counts as changed.
const PATIENCE: Duration = Duration::from_secs(2);

/// The difference between two texts, in pi's format: `+` and the number in the new text, `-` or a blank and the number
/// in the old one, then the line. Numbers are padded on the left to the same width; ` ...` stands for lines left out.
pub(super) fn numbered_diff(old: &str, new: &str) -> EditToolDetails {
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let deadline = Instant::now() + PATIENCE;
    let stretches = capture_diff_slices_deadline(Algorithm::Myers, &old_lines, &new_lines, Some(deadline));
    let longest = old.split('\n').count().max(new.split('\n').count());
    let mut shown = Shown { width: longest.to_string().len(), lines: Vec::new() };
    let mut first_changed_line = None;
    for (at, stretch) in stretches.iter().enumerate() {
        let (before, after) = (stretch.old_range(), stretch.new_range());
        if stretch.tag() == DiffTag::Equal {
            let is_last = at + 1 == stretches.len();
            let start =
                if at == 0 { before.end.saturating_sub(AROUND).max(before.start) } else { before.start };
            let end = if is_last { before.end.min(start + AROUND) } else { before.end };
            shown.left_out(start > before.start);
            shown.lines(' ', &old_lines, start..end);
            shown.left_out(end < before.end);
        } else {
            first_changed_line.get_or_insert(after.start as u64 + 1);
            shown.lines('-', &old_lines, before);
            shown.lines('+', &new_lines, after);
        }
    }
    EditToolDetails { diff: shown.lines.join("\n"), first_changed_line }
}

struct Shown {
    width: usize,
    lines: Vec<String>,
}

impl Shown {
    fn lines(&mut self, sign: char, lines: &[&str], range: Range<usize>) {
        let width = self.width;
        for (line, number) in lines[range.clone()].iter().zip(range.start + 1..) {
            let line = line.strip_suffix('\n').unwrap_or(line);
            self.lines.push(format!("{sign}{number:>width$} {line}"));
        }
    }

    fn left_out(&mut self, some: bool) {
        if some {
            self.lines.push(format!(" {:>1$} ...", "", self.width));
        }
    }
}
