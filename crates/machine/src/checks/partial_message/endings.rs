//! Judges how a message has begun and ended, when it is complete.
//!
//! Rules: `assistant-start-empty`, `start-stop-reason`, `block-protocol`, `blocks-announced`, `toolcall-end-eq`,
//! `end-eq-last`.

use super::{PartialMessage, has_tokens, judge_growth, text_of};
use crate::{checks::stored_message::is_repeated, findings::Findings};
use pi_rpc_protocol::{
    AssistantContent, AssistantMessage, BlockKind, Dialect, DialectMessageStart, RuleId as Rule, StopReason,
};

/// The least length in bytes of a text that is not repeated by chance.
const DOUBLED: usize = 16;

impl PartialMessage {
    /// Judges the complete message. A failed one may contain more than was streamed.
    pub fn end(&self, message: &AssistantMessage, failed: bool, dialect: Dialect, found: &mut Findings) {
        self.constant(message, found);
        found.with_cause(Some(self.began), |found| self.begun(message, dialect, found));
        if self.incomplete {
            return;
        }
        // A failure of the loop itself has a message of its own, without what was streamed.
        let is_own = message.stop_reason == StopReason::Error && is_blank(&message.content);
        if !is_own && !found.has_extensions() {
            found.with_cause(Some(self.began), |found| self.keeps(message, found));
        }
        if failed {
            if !is_own && !found.has_extensions() {
                self.end_failed(message, found);
            }
            return;
        }
        if let Some(open) = self.blocks.iter().position(|block| block.end.is_none()) {
            return match self.overlaps {
                true => {}
                false => found.fail(Rule::BlockProtocol, format!("block {open} to end first")),
            };
        }
        let kinds = |content: &[AssistantContent]| {
            content.iter().map(AssistantContent::block_kind).collect::<Vec<_>>()
        };
        let announced: Vec<BlockKind> = self.blocks.iter().map(|block| block.kind).collect();
        if kinds(&message.content) != announced {
            return found
                .fail(Rule::BlocksAnnounced, format!("the {} blocks that were streamed", announced.len()));
        }
        found.pass(Rule::BlocksAnnounced);
        let mut calls_differ = false;
        for (place, (block, whole)) in self.blocks.iter().zip(&message.content).enumerate() {
            if let (Some(end), AssistantContent::Text(_) | AssistantContent::Thinking(_)) = (&block.end, whole)
                && self.shown.is_some()
                && text_of(end) != text_of(whole)
                // Else the end of the block is what is wrong.
                && text_of(end).map(str::trim_end) == Some(block.text.trim_end())
            {
                let at = format!("/message/content/{place}/{}", block.member());
                let what = "the text of the block at its end";
                found.fail_with_difference(Rule::EndEqLast, &at, what, &text_of(end), &text_of(whole));
            }
            if let (Some(before), AssistantContent::ToolCall(call)) = (self.arguments.get(&place), whole) {
                judge_growth(place, before, &call.arguments, found);
            }
            if let (BlockKind::Toolcall, Some(end)) = (block.kind, &block.end) {
                calls_differ |= end != whole;
                let at = format!("/message/content/{place}");
                let what = "the call as it was at its end";
                match end == whole {
                    true => found.pass(Rule::ToolcallEndEq),
                    false => found.fail_with_difference(Rule::ToolcallEndEq, &at, what, end, whole),
                }
            }
        }
        let streamed = || {
            let ends: Vec<&AssistantContent> =
                self.blocks.iter().filter_map(|block| block.end.as_ref()).collect();
            ends.len() == self.blocks.len()
                && ends.iter().zip(&message.content).all(|(end, whole)| text_of(end) == text_of(whole))
        };
        let what = "the blocks that were streamed";
        match &self.shown {
            _ if calls_differ => found.pass(Rule::EndEqLast),
            Some(shown) => {
                found.expect_same(Rule::EndEqLast, "/message/content", what, shown, &message.content);
            }
            None if streamed() => found.pass(Rule::EndEqLast),
            None => {
                let ends: Vec<_> = self.blocks.iter().filter_map(|block| block.end.as_ref()).collect();
                found.fail_with_difference(
                    Rule::EndEqLast,
                    "/message/content",
                    what,
                    &ends,
                    &message.content,
                );
            }
        }
    }

    /// Judges that the id and the usage that the stream has shown are not lost.
    fn keeps(&self, message: &AssistantMessage, found: &mut Findings) {
        if let (Some(streamed), Some(_)) = (&self.response_id, &message.response_id) {
            let what = "the id of the response as it was streamed";
            let told = message.response_id.as_ref().unwrap_or(streamed);
            found.expect_same(Rule::EndEqLast, "/message/responseId", what, streamed, told);
        }
        if let (Some(usage), false) = (&self.usage, has_tokens(&message.usage)) {
            let (what, told) = ("the usage that was streamed, or more", &message.usage);
            found.fail_with_difference(Rule::EndEqLast, "/message/usage", what, usage, told);
        }
    }

    /// Judges the content of a message that failed: each block begins with what was streamed of it.
    fn end_failed(&self, message: &AssistantMessage, found: &mut Findings) {
        for (place, block) in self.blocks.iter().enumerate() {
            let streamed = block.text.trim_end_matches('\n');
            if streamed.is_empty() || block.kind == BlockKind::Toolcall {
                continue;
            }
            let whole = message.content.get(place);
            if whole.is_some_and(|whole| whole.block_kind() == block.kind && text_of(whole).is_none()) {
                continue;
            }
            let whole = whole.filter(|whole| whole.block_kind() == block.kind).and_then(text_of);
            let rest = whole.and_then(|whole| whole.strip_prefix(streamed));
            let is_doubled = rest == Some(streamed) && streamed.len() >= DOUBLED;
            match rest.is_some() && !is_doubled {
                true => found.pass(Rule::EndEqLast),
                false => {
                    let at = format!("/message/content/{place}/{}", block.member());
                    let what = format!("block {place} to begin with what was streamed of it, once");
                    found.fail_with_difference(Rule::EndEqLast, &at, what, &streamed, &whole);
                }
            }
        }
    }

    /// Judges the start: a message begins empty, except one that fails before any content.
    fn begun(&self, message: &AssistantMessage, dialect: Dialect, found: &mut Findings) {
        let (start, record) = (&self.start, dialect.record());
        let as_it_ends = is_repeated(start, message);
        let at_request = record.message_start == DialectMessageStart::Request;
        let empty = match (at_request, start.content.as_slice()) {
            (true, content) => content.is_empty() && !has_tokens(&start.usage),
            (false, []) => true,
            (false, [AssistantContent::ToolCall(call)]) => call.arguments.is_empty(),
            (false, [block]) => text_of(block).is_none_or(str::is_empty),
            (false, _) => false,
        };
        found.expect(Rule::AssistantStartEmpty, as_it_ends || empty, || match at_request {
            true => "no content and no usage at the start".to_owned(),
            false => "no more than one block, opened, at the start".to_owned(),
        });
        let reason = record.unfinished_stop_reason.as_str();
        let unfinished = start.stop_reason.as_str() == reason && start.error_message.is_none();
        // The end of an empty message that has failed may say instead why it could not be stored.
        let is_empty_failure = |message: &AssistantMessage| {
            message.content.is_empty()
                && matches!(message.stop_reason, StopReason::Error | StopReason::Aborted)
                && message.error_message.is_some()
        };
        let fails = is_empty_failure(start) && is_empty_failure(message) && {
            let (stop_reason, error_message) = (start.stop_reason, start.error_message.clone());
            is_repeated(start, &AssistantMessage { stop_reason, error_message, ..message.clone() })
        };
        found.expect(Rule::StartStopReason, as_it_ends || unfinished || fails, || {
            format!("stopReason {reason} and no errorMessage at the start")
        });
    }
}

/// Whether the content has no text and no call.
fn is_blank(content: &[AssistantContent]) -> bool {
    content.iter().all(|block| text_of(block).is_some_and(str::is_empty))
}
