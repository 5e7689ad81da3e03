//! Normalization of lines, and comparison of two lists of them.

use regex::Regex;
use std::{fmt, sync::LazyLock};

/// Patterns of values that chance or the clock decides, with their replacements.
static REPLACED: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let rules = [
        (r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d[.-]\d{3}Z", "TIME"),
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID"),
        (r#""(timestamp|durationMs|duration|ttft|autoClearAt)":\d+"#, r#""$1":0"#),
        (r#""([0-9a-f]{8}|[0-9a-f]{16})""#, r#""ID""#),
        (r"(/tmp|/var/folders)/[^\s\x22\x27\\]*", "PATH"),
        (r"127\.0\.0\.1:\d+", "ADDRESS"),
        (r"call_[0-9A-Za-z]{6,}", "CALL"),
        (r"\b[0-9]{13}\b", "MILLISECONDS"),
    ];
    rules.into_iter().filter_map(|(pattern, by)| Some((Regex::new(pattern).ok()?, by))).collect()
});

/// Frames with the progress of a command.
const PROGRESS: [&str; 2] = [r#""type":"tool_execution_update""#, r#""type":"bash_execution_update""#];

/// A line without what chance or the clock decides; `None`: they decide whether there is such a line.
pub fn normalized(line: &str) -> Option<String> {
    if PROGRESS.iter().any(|kind| line.contains(kind)) {
        return None;
    }
    let mut line = line.to_owned();
    for (pattern, by) in REPLACED.iter() {
        line = pattern.replace_all(&line, *by).into_owned();
    }
    Some(line)
}

/// Counts of compared and differing conversations.
#[derive(Default)]
pub struct Tally {
    /// Number of conversations.
    compared: usize,
    /// Number of conversations in which the new binary differs.
    pub differ: usize,
    /// Number of conversations in which the old binary differs from itself, and the new one from both.
    undecided: usize,
    lines: usize,
}

impl Tally {
    /// Compares a conversation: the old binary's lines, those of its second try, and the new one's. Prints where they
    /// first differ.
    pub fn compare(&mut self, name: &str, [old, again, new]: &[Vec<String>; 3]) {
        self.compared += 1;
        self.lines += old.len();
        if new == old || new == again {
            return;
        }
        let is_undecided = old != again;
        *(if is_undecided { &mut self.undecided } else { &mut self.differ }) += 1;
        let at = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let line = |side: &[String]| side.get(at).cloned().unwrap_or_else(|| "(nothing)".to_owned());
        let verdict = if is_undecided { "decided by timing" } else { "DIFFERS" };
        println!("{name}: {verdict}: line {} of {} and {}", at + 1, old.len(), new.len());
        println!("  old {}\n  new {}", line(old), line(new));
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { compared, differ, undecided, lines } = self;
        write!(
            f,
            "{compared} conversations compared, {lines} lines: {differ} differ, {undecided} are decided by timing"
        )
    }
}
