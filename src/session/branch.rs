//! What is left behind when a session goes on at another place of its tree, and how a model sums it up.
//!
//! Source: pi source.

use super::{
    compaction::{Files, SummaryRequest, branch_request, estimate},
    entry::Entry,
    tree::Tree,
};
use crate::protocol::{
    AgentMessage, AgentMessageKind, BranchSummaryEntry, CustomMessageEntry, MessageContent, SessionEntryKind,
    UserContent, texts,
};
use std::{collections::HashSet, sync::Arc};

/// What is left behind.
#[derive(Debug)]
pub struct AbandonedEntries<'t> {
    /// The last entry that is on both branches; `None`: none is.
    pub common: Option<&'t Arc<str>>,
    /// The entries from there to the leaf, oldest first.
    pub entries: Vec<&'t Entry>,
}

/// Where a session goes on when an entry is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NavigationTarget {
    /// The entry behind which it goes on; `None`: at its beginning.
    pub leaf: Option<Arc<str>>,
    /// The text of the message chosen, which is to be said anew.
    pub text: Option<String>,
}

/// A branch that only lacks its summary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BranchPreparation {
    /// What was said on it, as far as there is room for it, oldest first.
    pub messages: Vec<Arc<AgentMessage>>,
    /// The files that were touched.
    pub files: Files,
}

impl Tree {
    /// What is left behind by going on at the entry `target`.
    pub fn abandoned_entries(&self, target: &str) -> AbandonedEntries<'_> {
        let path = self.path();
        let there: HashSet<&Arc<str>> =
            self.path_to(self.index_of(target)).into_iter().map(Entry::id).collect();
        let shared = path.iter().rposition(|entry| there.contains(entry.id()));
        AbandonedEntries {
            common: shared.map(|at| path[at].id()),
            entries: path[shared.map_or(0, |at| at + 1)..].to_vec(),
        }
    }

    /// Where the session goes on when `id` is chosen: before what the user or an extension said, behind anything else.
    /// `None`: there is no such entry.
    pub fn navigation_target(&self, id: &str) -> Option<NavigationTarget> {
        let entry = self.get(id)?;
        let text = match entry.kind() {
            Some(SessionEntryKind::CustomMessage) => {
                Some(entry.read::<CustomMessageEntry>().map(|it| text_of(it.content)).unwrap_or_default())
            }
            _ => self.user_text(id),
        };
        let leaf = if text.is_some() { entry.parent() } else { Some(entry.id()) };
        Some(NavigationTarget { leaf: leaf.cloned(), text })
    }
}

impl BranchPreparation {
    /// What a model is to sum up of `entries`, oldest first: the newest of them that take no more than `budget` tokens; 0:
    /// all. Of tools only the calls are told.
    pub fn new(entries: &[&Entry], budget: u64) -> Self {
        let mut branch = Self::default();
        for summary in entries.iter().filter(|it| it.kind() == Some(SessionEntryKind::BranchSummary)) {
            let Some(BranchSummaryEntry { details: Some(details), from_hook, from_extension, .. }) =
                summary.read()
            else {
                continue;
            };
            if !from_hook.or(from_extension).unwrap_or(false) {
                branch.files.extend(Files::from_details(&details));
            }
        }
        let mut tokens = 0;
        for entry in entries.iter().rev() {
            let Some(message) = entry.message().filter(|_| is_summarized(entry)) else { continue };
            let own = estimate(message);
            let is_summary =
                matches!(entry.kind(), Some(SessionEntryKind::Compaction | SessionEntryKind::BranchSummary));
            let fits = budget == 0 || tokens + own <= budget;
            // A summary stands for much: it is taken where there is nearly room for it.
            if fits || is_summary && tokens < budget / 10 * 9 {
                branch.messages.push(message.clone());
                tokens += own;
            }
            if !fits {
                break;
            }
        }
        branch.messages.reverse();
        branch.files.note(&branch.messages);
        branch
    }

    /// Asks for the summary; `None`: nothing was said. `instructions` are what it is to dwell on, or all that is asked if
    /// they `replace` the usual ones.
    pub fn request(&self, instructions: Option<&str>, replace: bool) -> Option<SummaryRequest> {
        branch_request(&self.messages, instructions, replace)
    }

    /// The summary as it is kept, of what the model said; lists of files have so many lines at most.
    pub fn summary(&self, said: &str, list_lines: Option<u64>) -> String {
        texts::branch_preamble(said) + &self.files.lists(list_lines)
    }
}

/// Whether what the entry says is summed up: the results of tools are not, nor what the model is told of itself.
fn is_summarized(entry: &Entry) -> bool {
    let untold = [Some(AgentMessageKind::ToolResult), Some(AgentMessageKind::System)];
    !untold.contains(&entry.role())
}

fn text_of(content: MessageContent) -> String {
    match content {
        MessageContent::Text(text) => text,
        MessageContent::Blocks(blocks) => {
            let texts = blocks.into_iter().filter_map(|block| match block {
                UserContent::Text(block) => Some(block.text),
                UserContent::Image(_) => None,
            });
            texts.collect()
        }
    }
}
