//! Judges how many messages the server counts, and pages of them.
//!
//! Rules: `message-count`, `messages-listed`.

use super::{
    frame_context::FrameContext,
    pending_read::{Interference, PendingRead},
    session_checks::{SessionChecks, StreamedCount},
};
use crate::{
    findings::Findings,
    session_state::{message_log::ListedMessages, message_record::Presence},
};
use pi_rpc_protocol::{FlowState, MessagePage, RuleId as Rule, SessionState};

impl SessionChecks {
    /// Judges a reported number of messages in memory; `pointer` is its place in the frame. Returns whether it can be right.
    pub(super) fn counted(&self, count: u64, pointer: &str, found: &mut Findings) -> bool {
        let all = self.memory.all;
        let certain = self.log.in_memory().filter(|item| item.memory == Presence::In).count();
        let least = (certain + self.shells.certain()) as u64;
        let fits =
            self.memory.fits_all(count) && (all.is_some() || self.log.is_compacted() || count >= least);
        let what = match all {
            Some(all) if self.memory.possible() > 0 => {
                format!("{all} to {} messages", all + self.memory.possible())
            }
            Some(_) => "as many messages as there are".to_owned(),
            None => "at least the messages that were said".to_owned(),
        };
        match fits {
            true => found.pass(Rule::MessageCount),
            false => {
                let expected = all.unwrap_or(least);
                found.fail_with_difference(Rule::MessageCount, pointer, what, &expected, &count);
            }
        }
        fits
    }

    /// Judges a page of the messages in memory.
    pub(super) fn page_listed(
        &mut self,
        page: &MessagePage,
        read: &PendingRead,
        sight: Interference,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        if page.messages.len() as u64 == page.total_messages {
            // It is the whole list.
            return self.listed(&page.messages, read, sight, at, found);
        }
        let list = ListedMessages::of(page.messages.iter().enumerate(), !at.cut);
        if !(self.may_be_changed_by_extensions() && self.stranger.edits) {
            let altered = self.log.altered(&list);
            found.expect(Rule::MessagesListed, altered.is_none(), || {
                altered.map(|fault| fault.expected("/data/messages")).unwrap_or_default()
            });
        }
        if sight == Interference::None && !self.may_be_changed_by_extensions() {
            self.counted(page.total_messages, "/data/totalMessages", found);
        }
    }

    /// Judges a number that was reported while an answer streamed by the one that is reported now.
    pub(super) fn count_of_streamed(&mut self, count: u64, found: &mut Findings) {
        let Some(before) = self.streamed.take() else { return };
        let is_known = before.epoch == self.epoch && !self.has_shells && !self.log.has_removed();
        let Some(added) = self.emitted.checked_sub(before.emitted).filter(|_| is_known) else { return };
        found.with_cause(Some(before.frame), |found| {
            let what = "the messages that were counted while an answer streamed, and those that came since";
            let expected = before.count + added;
            found.expect_same(Rule::MessageCount, "/data/messageCount", what, &expected, &count);
        });
    }

    /// Judges the number of messages while an answer streams: the answer itself is added with its end.
    pub(super) fn count_of_run(
        &mut self,
        state: &SessionState,
        read: &PendingRead,
        sight: Interference,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let is_still = sight == Interference::Running
            && read.version == self.version
            && at.now.flow == FlowState::StreamingMessage
            && !self.may_be_changed_by_extensions();
        if !is_still || self.has_shells {
            return;
        }
        let Some(all) = self.memory.all.filter(|_| self.memory.possible() == 0) else {
            let count = state.message_count;
            self.streamed =
                Some(StreamedCount { count, emitted: self.emitted, epoch: self.epoch, frame: at.frame });
            return;
        };
        let what = "the messages before the one that is being streamed";
        found.expect_same(Rule::MessageCount, "/data/messageCount", what, &all, &state.message_count);
    }
}
