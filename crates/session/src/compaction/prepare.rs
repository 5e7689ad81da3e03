//! Divides a conversation into a summarized and a kept part.

use super::{
    PathEntry, PathEntryKind, TouchedFiles, context_tokens,
    cut::{self, Cut},
    files::without_lists,
};
use pi_rpc_protocol::{AgentMessage, CompactionSummaryMessage};
use std::sync::Arc;

/// A compaction, ready but for its summary.
#[derive(Clone, Debug, PartialEq)]
pub struct Preparation {
    /// Id of the first entry that is kept.
    pub first_kept: Arc<str>,
    /// Tokens in the context before the compaction.
    pub tokens_before: u64,
    /// Whole turns to summarize, oldest message first.
    pub history: Vec<Arc<AgentMessage>>,
    /// The beginning of a turn whose rest is kept; empty if no turn is split.
    pub prefix: Vec<Arc<AgentMessage>>,
    /// Summary of the previous compaction, without its lists of files.
    pub previous_summary: Option<String>,
    /// UTF-16 units of conversation in one request for a summary, at most; `None`: all.
    pub most: Option<u64>,
    /// Files touched in `history` and `prefix`, and those noted by the previous compaction.
    pub files: TouchedFiles,
}

/// Why there is nothing to compact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NothingToCompact {
    /// No message came since the last compaction.
    AlreadyCompacted,
    /// The whole conversation would be kept.
    TooSmall,
}

/// Divides `path`, root first, keeping about the `keep_recent` latest tokens.
///
/// Messages that the previous compaction kept are divided again, like newer ones. The documented range begins only
/// behind that compaction, and early versions of pi cut there; but the kept messages are in no summary, and once cut
/// away they would be lost for good. Later versions of pi divide them again, too.
///
/// If everything would be kept there is nothing to do; early versions of pi ask for a summary of nothing.
///
/// `path` may begin with the first entry that the last compaction kept.
///
/// Source: pi source, xcsh source, observed.
pub fn prepare(path: &[PathEntry], keep_recent: u64) -> Result<Preparation, NothingToCompact> {
    prepare_with(path, |range| cut::find(range, keep_recent))
}

/// Divides `path` after a request overflowed the model's `window` of tokens: a message that alone fills the context
/// is summarized, too, even if nothing is kept. Of a conversation longer than the context, models get the beginning
/// and the end. The prompt that was requested stays as it is: there is nothing to do if it is all there is.
///
/// Own: the originals keep an earlier message of that size, too, so that the next request does not fit either.
pub fn prepare_overflow(
    path: &[PathEntry],
    keep_recent: u64,
    window: u64,
    reserve: u64,
) -> Result<Preparation, NothingToCompact> {
    let find = |range: &[&PathEntry]| {
        let usual = cut::find(range, keep_recent);
        let summarises = |cut: &Cut| range[..cut.kept].iter().any(|entry| entry.message().is_some());
        let usual = usual.filter(|cut| summarises(cut) && !cut::keeps_huge(range, cut.kept, window));
        match cut::find_at_prompt(range) {
            Some(at_prompt) => usual.filter(|cut| cut.kept <= at_prompt.kept).or(Some(at_prompt)),
            None => usual.or_else(|| cut::find_behind(range, keep_recent, window)),
        }
    };
    let mut prepared = prepare_with(path, find)?;
    // Three characters a token instead of four: the estimate may be wrong.
    prepared.most = (window > 0).then(|| (window.saturating_sub(reserve) * 3).max(window));
    Ok(prepared)
}

fn prepare_with(
    path: &[PathEntry],
    find: impl Fn(&[&PathEntry]) -> Option<Cut>,
) -> Result<Preparation, NothingToCompact> {
    let previous = path.iter().enumerate().rev().find_map(|(place, entry)| Previous::of(place, entry));
    if previous.as_ref().is_some_and(|last| messages(&path[last.place..]).is_empty()) {
        return Err(NothingToCompact::AlreadyCompacted);
    }
    let start = previous.as_ref().map_or(0, |last| last.start(path));
    let is_compaction = |entry: &&PathEntry| matches!(entry.kind, PathEntryKind::Compaction { .. });
    let range: Vec<&PathEntry> = path[start..].iter().filter(|entry| !is_compaction(entry)).collect();
    let cut = find(&range).ok_or(NothingToCompact::TooSmall)?;
    let history = messages(range[..cut.turn].iter().copied());
    let prefix = messages(range[cut.turn..cut.kept].iter().copied());
    if history.is_empty() && prefix.is_empty() {
        return Err(NothingToCompact::TooSmall);
    }
    let mut files = previous.as_ref().map(Previous::files).unwrap_or_default();
    files.note(&history);
    files.note(&prefix);
    Ok(Preparation {
        first_kept: range[cut.kept].id.clone(),
        tokens_before: tokens(path, start, previous.as_ref()),
        history,
        prefix,
        previous_summary: previous.map(|last| without_lists(last.summary)),
        most: None,
        files,
    })
}

/// The previous compaction.
struct Previous<'a> {
    place: usize,
    summary: &'a str,
    first_kept: &'a str,
    /// Its details; `None`: an extension made it.
    details: Option<&'a serde_json::Value>,
}

impl<'a> Previous<'a> {
    fn of(place: usize, entry: &'a PathEntry) -> Option<Self> {
        let PathEntryKind::Compaction { summary, first_kept, details, from_hook } = &entry.kind else {
            return None;
        };
        let details = details.as_ref().filter(|_| !from_hook);
        Some(Self { place, summary, first_kept, details })
    }

    /// Index of the first entry to divide.
    fn start(&self, path: &[PathEntry]) -> usize {
        let kept = path[..self.place].iter().position(|entry| *entry.id == *self.first_kept);
        kept.unwrap_or(self.place)
    }

    fn files(&self) -> TouchedFiles {
        self.details.map(TouchedFiles::from_details).unwrap_or_default()
    }
}

/// Estimates the tokens of the last summary and the entries from `start` on.
fn tokens(path: &[PathEntry], start: usize, previous: Option<&Previous<'_>>) -> u64 {
    let Some(previous) = previous else { return context_tokens(&messages(&path[start..]), 0) };
    let summary = CompactionSummaryMessage {
        summary: previous.summary.to_owned(),
        short_summary: None,
        tokens_before: 0,
        provider_payload: None,
        timestamp: 0,
        blocks: None,
        images: None,
        method: None,
        tokens_after: None,
    };
    let mut context = vec![Arc::new(AgentMessage::CompactionSummary(summary))];
    context.extend(messages(&path[start..previous.place]));
    let compacted = context.len();
    context.extend(messages(&path[previous.place..]));
    context_tokens(&context, compacted)
}

fn messages<'a>(entries: impl IntoIterator<Item = &'a PathEntry>) -> Vec<Arc<AgentMessage>> {
    entries.into_iter().filter_map(PathEntry::message).cloned().collect()
}
