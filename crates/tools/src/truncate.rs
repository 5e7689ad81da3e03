//! Truncates text to a number of lines and bytes, keeping its head or its tail.
//!
//! Lines are separated by line feeds, so `"a\n"` has two, or in pi 1 one ([`Limits::ignores_final_feed`]); all sizes are
//! UTF-8 bytes. Both directions keep whole lines, with one exception: of a last line that alone is too long, the tail keeps
//! the end.

use pi_rpc_protocol::{TruncationResult, TruncationUnit};

/// Most lines in a tool's result, as in pi.
pub const MAX_LINES: u64 = 2000;

/// Most bytes in a tool's result, as in pi.
pub const MAX_BYTES: u64 = 50 * 1024;

/// The line limit where only bytes count, as pi has it on the wire (2^53−1).
pub const NO_LINE_LIMIT: u64 = 9_007_199_254_740_991;

/// Limits of a text; the one that is reached first truncates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most lines; at least 1.
    pub lines: u64,
    /// Most UTF-8 bytes; at least 4, so that one character always fits.
    pub bytes: u64,
    /// Whether no line begins behind a line feed at the end, and what is cut has none, as in pi 1.
    pub ignores_final_feed: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lines: MAX_LINES, bytes: MAX_BYTES, ignores_final_feed: false }
    }
}

impl Limits {
    /// Whether a line stands behind the last line feed of a whole text.
    fn counts_line_at_end(self, text: &str) -> bool {
        !self.ignores_final_feed || !(text.is_empty() || text.ends_with('\n'))
    }
}

/// Keeps the first whole lines of `text`.
pub fn truncate_head(text: &str, limits: Limits) -> TruncationResult {
    truncate_head_of(text, Totals::of(text, limits), limits)
}

/// [`truncate_head`] for a text of which only the start is available: `totals` describes the whole; `text` is the whole, or
/// a first part longer than `limits.bytes`.
fn truncate_head_of(text: &str, totals: Totals, limits: Limits) -> TruncationResult {
    if totals.fit(limits) {
        return whole(text, totals, limits);
    }
    let mut end = 0;
    let mut lines = 0;
    let mut truncated_by = TruncationUnit::Lines;
    let last = limits.counts_line_at_end(text).then_some(text.len());
    for line_end in text.match_indices('\n').map(|(at, _)| at).chain(last) {
        if lines == limits.lines {
            break;
        }
        if line_end as u64 > limits.bytes {
            truncated_by = TruncationUnit::Bytes;
            break;
        }
        end = line_end;
        lines += 1;
    }
    TruncationResult {
        first_line_exceeds_limit: lines == 0,
        output_lines: lines,
        ..cut(text[..end].to_owned(), truncated_by, totals, limits)
    }
}

/// Keeps the last whole lines of `text`; of a last line that is too long, its end.
pub fn truncate_tail(text: &str, limits: Limits) -> TruncationResult {
    truncate_tail_of(text, Totals::of(text, limits), limits)
}

/// [`truncate_tail`] for a text of which only the end is available: `totals` describes the whole; `end` is the whole, or a
/// last part that is longer than `limits.bytes` without a line feed at its end.
pub(super) fn truncate_tail_of(end: &str, totals: Totals, limits: Limits) -> TruncationResult {
    if totals.fit(limits) {
        return whole(end, totals, limits);
    }
    let end = match limits.ignores_final_feed {
        true => end.strip_suffix('\n').unwrap_or(end),
        false => end,
    };
    let mut start = end.len();
    let mut lines = 0;
    let mut truncated_by = TruncationUnit::Lines;
    for line_start in end.rmatch_indices('\n').map(|(at, _)| at + 1).chain([0]) {
        if lines == limits.lines {
            break;
        }
        if (end.len() - line_start) as u64 > limits.bytes {
            truncated_by = TruncationUnit::Bytes;
            break;
        }
        start = line_start;
        lines += 1;
    }
    // Only the empty line after the last line feed fits. pi shows nothing here; the end of the line before is more use.
    let partial = start == end.len() && truncated_by == TruncationUnit::Bytes;
    if partial {
        let room = usize::try_from(limits.bytes).unwrap_or(usize::MAX);
        start = end.ceil_char_boundary(end.len().saturating_sub(room));
        lines = 1 + u64::from(end.ends_with('\n'));
    }
    TruncationResult {
        last_line_partial: partial,
        output_lines: lines,
        ..cut(end[start..].to_owned(), truncated_by, totals, limits)
    }
}

/// Lines of a result, of which only as many are kept as can be shown; the rest is counted.
pub(super) struct LineBuffer {
    start: String,
    totals: Totals,
}

impl LineBuffer {
    pub(super) fn new() -> Self {
        Self { start: String::new(), totals: Totals { lines: 0, bytes: 0 } }
    }

    pub(super) fn push(&mut self, line: &str) {
        let feed = u64::from(self.totals.lines > 0);
        if self.start.len() as u64 <= MAX_BYTES {
            self.start.push_str(if feed > 0 { "\n" } else { "" });
            self.start.push_str(line);
        }
        self.totals.lines += 1;
        self.totals.bytes += feed + line.len() as u64;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.totals.lines == 0
    }

    /// The lines that fit into [`MAX_BYTES`], without a limit of lines.
    pub(super) fn truncated(&self) -> TruncationResult {
        truncate_head_of(&self.start, self.totals, Limits { lines: NO_LINE_LIMIT, ..Limits::default() })
    }
}

/// A size for people: `512B`, `50.0KB`, `1.5MB`. Halves round up, as JavaScript's `toFixed` does.
pub fn size_text(bytes: u64) -> String {
    const KB: u64 = 1024;
    const MB: u64 = 1024 * 1024;
    let tenths = |unit: u64| (bytes.saturating_mul(10).saturating_add(unit / 2)) / unit;
    match bytes {
        0..KB => format!("{bytes}B"),
        KB..MB => format!("{}.{}KB", tenths(KB) / 10, tenths(KB) % 10),
        _ => format!("{}.{}MB", tenths(MB) / 10, tenths(MB) % 10),
    }
}

/// The size of a whole text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) lines: u64,
    pub(super) bytes: u64,
}

impl Totals {
    pub(super) fn of(text: &str, limits: Limits) -> Self {
        let last = u64::from(limits.counts_line_at_end(text));
        Self { lines: line_feeds(text) + last, bytes: text.len() as u64 }
    }

    pub(super) fn fit(self, limits: Limits) -> bool {
        self.lines <= limits.lines && self.bytes <= limits.bytes
    }
}

/// Counts line feeds.
pub(super) fn line_feeds(text: &str) -> u64 {
    text.bytes().filter(|byte| *byte == b'\n').count() as u64
}

fn whole(text: &str, totals: Totals, limits: Limits) -> TruncationResult {
    TruncationResult {
        truncated: false,
        truncated_by: None,
        output_lines: totals.lines,
        ..cut(text.to_owned(), TruncationUnit::Lines, totals, limits)
    }
}

/// The members that all truncations share; the caller sets the others.
fn cut(content: String, truncated_by: TruncationUnit, totals: Totals, limits: Limits) -> TruncationResult {
    TruncationResult {
        truncated: true,
        truncated_by: Some(truncated_by),
        total_lines: totals.lines,
        total_bytes: totals.bytes,
        output_lines: 0,
        output_bytes: content.len() as u64,
        last_line_partial: false,
        first_line_exceeds_limit: false,
        max_lines: limits.lines,
        max_bytes: limits.bytes,
        content,
    }
}
