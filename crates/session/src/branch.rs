//! Leaving a branch: which entries are abandoned when a session continues elsewhere in its tree, and their summary.
//!
//! Source: pi source.

use super::{
    compaction::{SummaryRequest, TouchedFiles, branch_request, estimate},
    entry::Entry,
    tree::Tree,
};
use pi_rpc_protocol::{
    AgentMessage, AgentMessageKind, BranchSummaryEntry, CustomMessageEntry, MessageContent, SessionEntryKind,
    UserContent, texts,
};
use std::{collections::HashSet, sync::Arc};

/// The entries of the current branch that another branch does not share.
#[derive(Debug)]
pub struct AbandonedEntries<'t> {
    /// The last entry on both branches; `None`: they share none.
    pub common: Option<&'t Arc<str>>,
    /// The entries behind `common`, up to the leaf, oldest first.
    pub entries: Vec<&'t Entry>,
}

/// The place at which a session continues when the user chooses an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NavigationTarget {
    /// The new leaf; `None`: the beginning of the session.
    pub leaf: Option<Arc<str>>,
    /// The text of the chosen message, for the host's editor; `None`: the entry is no prompt.
    pub text: Option<String>,
}

/// An abandoned branch, ready to be summarized.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BranchPreparation {
    /// Its newest messages within the token budget, oldest first.
    pub messages: Vec<Arc<AgentMessage>>,
    /// The files that its tool calls read or modified.
    pub files: TouchedFiles,
}

impl Tree {
    /// Finds the entries that are abandoned when the session continues at the entry `target`.
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

    /// Resolves a chosen entry to the new leaf: the entry before a message of the user or of an extension, else the
    /// entry itself. `None`: there is no entry `id`.
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
    /// Selects the newest of `entries` (oldest first) that fit into `budget` tokens; 0: all. Results of tools are
    /// left out, their calls are not.
    pub fn new(entries: &[&Entry], budget: u64) -> Self {
        let mut branch = Self::default();
        for summary in entries.iter().filter(|it| it.kind() == Some(SessionEntryKind::BranchSummary)) {
            let Some(BranchSummaryEntry { details: Some(details), from_hook, from_extension, .. }) =
                summary.read()
            else {
                continue;
            };
            if !from_hook.or(from_extension).unwrap_or(false) {
                branch.files.extend(TouchedFiles::from_details(&details));
            }
        }
        let mut tokens = 0;
        // Results of tools and system messages do not go into the summary.
        let left_out = [Some(AgentMessageKind::ToolResult), Some(AgentMessageKind::System)];
        for entry in entries.iter().rev().filter(|entry| !left_out.contains(&entry.role())) {
            let Some(message) = entry.message() else { continue };
            let own = estimate(message);
            let is_summary =
                matches!(entry.kind(), Some(SessionEntryKind::Compaction | SessionEntryKind::BranchSummary));
            let fits = budget == 0 || tokens + own <= budget;
            // A summary stands for many entries: one more is taken while nine tenths of the budget are not used.
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

    /// Builds the request for the summary; `None`: there is no message. `instructions` are added to the usual ones,
    /// or take their place if `replace`.
    pub fn request(&self, instructions: Option<&str>, replace: bool) -> Option<SummaryRequest> {
        branch_request(&self.messages, instructions, replace)
    }

    /// Formats a model's text as the session stores it, with lists of files of at most `list_lines` lines each.
    pub fn summary(&self, text: &str, list_lines: Option<u64>) -> String {
        texts::branch_preamble(text) + &self.files.lists(list_lines)
    }
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
