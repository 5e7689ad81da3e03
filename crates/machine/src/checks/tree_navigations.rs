//! Judges navigations to another branch of the session, and where its next entries go.
//!
//! Rule: `tree-navigation`.

use super::{
    frame_context::FrameContext,
    session_checks::{CommandArguments, SessionChecks},
};
use crate::{
    findings::Findings,
    session_state::{
        digest::text_digest,
        entries::{BranchPoint, KnownEntry},
    },
};
use pi_rpc_protocol::{AgentMessageKind as Role, RuleId as Rule, SessionEntry, TreeNavigation};
use std::mem;

impl SessionChecks {
    /// Takes in the outcome of a navigation.
    pub(super) fn navigated(
        &mut self,
        arguments: Option<CommandArguments>,
        outcome: &TreeNavigation,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        // The response itself has increased the version.
        let is_current = self.entries.version == Some(self.version - 1)
            && self.entries.listed().is_some()
            && !at.cut
            && !at.has_extensions
            && !self.may_be_changed_by_extensions();
        if outcome.cancelled {
            let is_bare = outcome.editor_text.is_none() && outcome.summary_entry.is_none();
            found.expect(Rule::TreeNavigation, is_bare, || {
                "no text and no summary of a navigation that was given up".to_owned()
            });
            return self.stay_on_branch();
        }
        found.expect(Rule::TreeNavigation, outcome.aborted != Some(true), || {
            "`cancelled` true beside `aborted`, at /data/cancelled".to_owned()
        });
        let parent = match arguments {
            Some(CommandArguments::Navigate { target, adds_label }) if is_current => {
                self.follow_navigation(&target, adds_label, outcome, found)
            }
            _ => BranchPoint::Unknown,
        };
        self.lose_branch();
        self.entries.branch(parent);
        if let Some(entry) = outcome.summary_entry.as_ref().filter(|_| !at.cut) {
            self.entries.announce(&SessionEntry::BranchSummary(entry.clone()));
        }
    }

    /// Takes in that a navigation has changed nothing: what was known of all entries before its response still is.
    pub(super) fn stay_on_branch(&mut self) {
        if self.entries.version == Some(self.version - 1) {
            self.entries.version = Some(self.version);
        }
    }

    /// Judges a navigation in a session whose entries are known. Returns the parent of its next entry.
    fn follow_navigation(
        &self,
        target: &str,
        adds_label: bool,
        outcome: &TreeNavigation,
        found: &mut Findings,
    ) -> BranchPoint {
        let leaf = self.entries.leaf();
        let Some(chosen) = self.entries.place(target).and_then(|place| self.entries.get(place)) else {
            found.fail(Rule::TreeNavigation, format!("an error, as no entry has the id `{target}`"));
            return BranchPoint::Unknown;
        };
        // There is nothing to do then, whatever the entry is.
        if leaf == BranchPoint::At(Some(chosen.id)) {
            return leaf;
        }
        let parent = match position(chosen, outcome, found) {
            Some(parent) if leaf != BranchPoint::Unknown => BranchPoint::At(parent),
            _ => return BranchPoint::Unknown,
        };
        let Some(summary) = &outcome.summary_entry else {
            // The entry of the label is not told.
            return if adds_label { BranchPoint::Unknown } else { parent };
        };
        let told = summary.parent_id.as_deref().map(text_digest);
        found.expect(Rule::TreeNavigation, BranchPoint::At(told) == parent, || {
            "the entry that the session continues from at /data/summaryEntry/parentId".to_owned()
        });
        BranchPoint::Unknown
    }

    /// Forgets the messages in memory; what is known of the entries stays.
    fn lose_branch(&mut self) {
        self.has_branched = true;
        let entries = mem::take(&mut self.entries);
        let (file, has_begun) = (self.file.take(), self.has_begun);
        self.miss();
        (self.entries, self.file, self.has_begun) = (entries, file, has_begun);
    }
}

/// Judges the text that a navigation to an entry returns, and gives the id of the entry that the session continues from;
/// `None` if that cannot be told: extensions may have added a message that a user could have written.
fn position(chosen: &KnownEntry, outcome: &TreeNavigation, found: &mut Findings) -> Option<Option<u64>> {
    let role = chosen.message?.role;
    let returned = outcome.editor_text.as_deref().map(|text| text_digest(text).max(1));
    match (role, chosen.text) {
        (Role::User, Some(text)) => {
            found.expect(Rule::TreeNavigation, text == 0 || returned == Some(text), || {
                "the text of the chosen message at /data/editorText".to_owned()
            });
            Some(chosen.parent)
        }
        (Role::User, None) => Some(chosen.parent),
        _ => {
            found.expect(Rule::TreeNavigation, returned.is_none(), || {
                "no /data/editorText, as the chosen entry is no message of the user".to_owned()
            });
            Some(Some(chosen.id))
        }
    }
}
