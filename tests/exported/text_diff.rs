//! Text difference between two exports, in which dialects other than `pi` are stored.
//!
//! A line `@ COUNT PATH` takes lines of the base over, and names where in the JSON they end; a line `- COUNT` leaves lines of
//! the base out; a line `+…` is of the other text alone. Counts are relative, so that a change moves no line but its own.

use similar::{ChangeTag, TextDiff};
use std::fmt::Write as _;

/// Difference of `text` from `base`.
pub fn delta(base: &str, text: &str) -> String {
    let lines: Vec<&str> = base.lines().collect();
    let (mut out, mut old, mut same, mut gone) = (String::new(), 0, 0, 0);
    for change in TextDiff::from_lines(base, text).iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        if sign != '-' && gone > 0 {
            let _ = writeln!(out, "- {gone}");
            gone = 0;
        }
        if sign != ' ' && same > 0 {
            let _ = writeln!(out, "@ {same} {}", path(&lines[..old], change.value()));
            same = 0;
        }
        match sign {
            ' ' => same += 1,
            '-' => gone += 1,
            _ => {
                let _ = write!(out, "+{}", change.value());
            }
        }
        old += usize::from(sign != '+');
    }
    if gone > 0 {
        let _ = writeln!(out, "- {gone}");
    }
    out
}

/// The members that a line of indented JSON is in.
fn path(before: &[&str], line: &str) -> String {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let (mut names, mut inner) = (Vec::new(), depth(line));
    for line in before.iter().rev() {
        if depth(line) < inner {
            inner = depth(line);
            names.extend(line.trim().strip_suffix("\": {").or(line.trim().strip_suffix("\": [")));
        }
    }
    names.iter().rev().map(|name| name.trim_start_matches('"')).collect::<Vec<_>>().join("/")
}

/// Applies a difference to its base; `None`: it is none, or belongs to a longer base.
pub fn applied(base: &str, delta: &str) -> Option<String> {
    let (mut rest, mut out) = (base.split_inclusive('\n'), String::new());
    for line in delta.split_inclusive('\n') {
        match line.split_at(1) {
            ("@", count) => {
                let count: usize = count.split_whitespace().next()?.parse().ok()?;
                for _ in 0..count {
                    out.push_str(rest.next()?);
                }
            }
            ("-", count) => {
                let count: usize = count.trim().parse().ok()?;
                for _ in 0..count {
                    rest.next()?;
                }
            }
            ("+", line) => out.push_str(line),
            _ => return None,
        }
    }
    out.extend(rest);
    Some(out)
}
