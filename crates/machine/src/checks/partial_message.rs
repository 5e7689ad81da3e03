//! Judges the streaming of an assistant message, block by block.
//!
//! Rules: `assistant-start-empty`, `start-stop-reason`, `assistant-constant`, `block-protocol`, `blocks-announced`,
//! `delta-concat`, `partial-prefix`, `partial-monotonic`, `partial-eq-message`, `partial-eq-rest`,
//! `partial-eq-end`, `toolcall-args`, `toolcall-end-eq`, `end-eq-last`.

use super::stored_message::is_repeated;
use super::usage::{check_sums, counters};
use crate::findings::Findings;
use pi_rpc_protocol::{
    AssistantContent, AssistantMessage, BlockKind, Dialect, DialectMessageStart, JsonObject,
    MessageUpdateEvent, RuleId as Rule, Step, StopReason, ToolCall, Update, Usage, parse_arguments,
    parse_partial,
};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
/// An assistant message that is being streamed.
pub struct PartialMessage {
    start: AssistantMessage,
    /// The frame with which the message began.
    began: u64,
    blocks: Vec<Block>,
    /// Whether a step did not fit or was shortened, so that the content of the blocks is not known.
    incomplete: bool,
    /// Whether a block has begun within another one, which is reported once.
    overlaps: bool,
    /// The content of the last snapshot, if the dialect has snapshots.
    shown: Option<Vec<AssistantContent>>,
    /// The newest id of the provider's response.
    response_id: Option<String>,
    /// The newest usage that is not empty.
    usage: Option<Usage>,
    /// The tokens of the newest snapshots: of the message, and of `partial`, which may be ahead.
    tokens: [Tokens; 2],
    /// The arguments of the newest snapshot of each call, by the index of its block.
    arguments: BTreeMap<usize, JsonObject>,
}

/// The counters of a usage, with their total.
type Tokens = [u64; 5];

#[derive(Clone, Debug)]
/// A content block that is being streamed.
pub struct Block {
    kind: BlockKind,
    text: String,
    /// The id and name of a tool call, if its start has them.
    call: Option<(String, String)>,
    end: Option<AssistantContent>,
}

impl PartialMessage {
    /// Creates a message that has begun with the frame `began`.
    pub fn new(start: &AssistantMessage, began: u64) -> Self {
        Self {
            start: start.clone(),
            began,
            blocks: Vec::new(),
            incomplete: false,
            overlaps: false,
            shown: None,
            response_id: start.response_id.clone(),
            usage: Some(start.usage.clone()).filter(has_tokens),
            tokens: [[0; 5]; 2],
            arguments: BTreeMap::new(),
        }
    }

    /// Marks the content as not completely known.
    pub const fn mark_incomplete(&mut self) {
        self.incomplete = true;
    }

    /// Takes in one step of the stream.
    pub fn update(&mut self, update: &Update, found: &mut Findings) {
        if self.incomplete {
            return;
        }
        let next = self.blocks.len();
        let unended = self.blocks.iter().position(|block| block.end.is_none());
        let expected = match (&update.step, self.open(update)) {
            (Step::Start(block), _) if update.index == next => {
                match unended.filter(|_| !self.overlaps) {
                    Some(open) => found.fail(Rule::BlockProtocol, format!("block {open} to end first")),
                    None => found.pass(Rule::BlockProtocol),
                }
                self.overlaps |= unended.is_some();
                return self.blocks.push(Block::new(update.block, block));
            }
            (Step::Delta(delta), Some(block)) => return block.text.push_str(delta),
            (Step::End(whole), Some(block)) => return block.end(whole, found),
            (Step::Start(_), _) => format!("block {next} to start"),
            (Step::Delta(_), None) => "a delta of an open block".to_owned(),
            (Step::End(_), None) => "the end of an open block".to_owned(),
        };
        self.incomplete = true;
        found.fail(Rule::BlockProtocol, expected);
    }

    /// Takes in one step as a `message_update`, which in some dialects contains snapshots, even twice.
    pub fn snapshot(&mut self, event: &MessageUpdateEvent, dialect: Dialect, found: &mut Findings) {
        let update = event.assistant_message_event.update();
        if let Some(update) = &update {
            self.update(update, found);
        }
        if let Some(usage) = &event.usage {
            self.on_usage(usage, "/usage", found);
        }
        let Some(message) = &event.message else { return };
        self.on_usage(&message.usage, "/message/usage", found);
        // It may be ahead of the message.
        let partial = event.assistant_message_event.partial();
        if let Some(partial) = partial.filter(|partial| partial.usage != message.usage) {
            check_sums(&partial.usage, &self.start.api, "/assistantMessageEvent/partial/usage", found);
        }
        // Where the two have to be equal, another rule tells that they are not.
        let may_differ = Rule::PartialEqEnd.tier(dialect.base()).is_none();
        let is_same = partial.is_none_or(|partial| partial.usage == message.usage);
        if may_differ || is_same {
            self.count(0, &message.usage, "/message/usage", found);
        }
        if let Some(partial) = partial.filter(|_| may_differ) {
            self.count(1, &partial.usage, "/assistantMessageEvent/partial/usage", found);
        }
        self.grow_arguments(&message.content, found);
        if message.response_id.is_some() && message.response_id != self.response_id {
            self.response_id.clone_from(&message.response_id);
        }
        if let Some((update, block)) = update
            .and_then(|update| Some((update.index, self.blocks.get(update.index)?)))
            .filter(|_| !self.incomplete)
        {
            let shown = message.content.get(update);
            match shown {
                Some(shown) if block.is_in(shown) => found.pass(Rule::PartialPrefix),
                shown => {
                    let at = format!("/message/content/{update}/{}", block.member());
                    let what = format!("block {update} to begin with what was streamed of it");
                    let shown = shown.and_then(text_of).map(|text| beginning(text, block.text.len()));
                    found.fail_with_difference(Rule::PartialPrefix, &at, what, &block.text, &shown);
                }
            }
        }
        if let Some(partial) = event.assistant_message_event.partial() {
            let (rule, at) = (Rule::PartialEqMessage, "/assistantMessageEvent/partial/content");
            let what = "the same content in `message` and `partial`";
            found.expect_same(rule, at, what, &message.content, &partial.content);
            let (at, what) = ("/assistantMessageEvent/partial", "the same in `message` and `partial`");
            match has_same_metadata(message, partial) {
                true => found.pass(Rule::PartialEqRest),
                false => {
                    // Other rules compare these.
                    let (content, stop_reason) = (message.content.clone(), message.stop_reason);
                    let usage = message.usage.clone();
                    let partial = AssistantMessage { content, stop_reason, usage, ..partial.clone() };
                    found.fail_with_difference(Rule::PartialEqRest, at, what, message, &partial);
                }
            }
            found.expect_same(
                Rule::PartialEqEnd,
                at,
                what,
                &Completion::of(message),
                &Completion::of(partial),
            );
        }
        self.constant(message, found);
        if let Some(before) = self.shown.replace(message.content.clone()).filter(|_| !self.incomplete) {
            let continues = |(before, now): (&AssistantContent, &AssistantContent)| {
                match (text_of(before), text_of(now)) {
                    // Thinking may lose the blank line at its end.
                    (Some(before), Some(now)) => now.starts_with(before.trim_end_matches('\n')),
                    _ => before.block_kind() == now.block_kind(),
                }
            };
            let grown =
                before.len() <= message.content.len() && before.iter().zip(&message.content).all(continues);
            found
                .expect(Rule::PartialMonotonic, grown, || "nothing less than the snapshot before".to_owned());
        }
    }

    /// Takes in the usage so far.
    fn on_usage(&mut self, usage: &Usage, at: &str, found: &mut Findings) {
        if self.usage.as_ref() == Some(usage) {
            return;
        }
        check_sums(usage, &self.start.api, at, found);
        if has_tokens(usage) {
            self.usage = Some(usage.clone());
        }
    }

    /// Judges that no token that a snapshot has counted is lost in a later one.
    fn count(&mut self, track: usize, usage: &Usage, at: &str, found: &mut Findings) {
        let now = tokens_of(usage);
        let before = std::mem::replace(&mut self.tokens[track], now);
        let lost = COUNTERS.iter().zip(before.iter().zip(&now)).find(|(_, (before, now))| now < before);
        match lost {
            None => found.pass(Rule::PartialMonotonic),
            Some((name, (before, now))) => {
                let what = "the tokens of the snapshot before, or more";
                found.fail_with_difference(
                    Rule::PartialMonotonic,
                    &format!("{at}/{name}"),
                    what,
                    before,
                    now,
                );
            }
        }
    }

    /// Judges that the arguments in snapshots only grow.
    fn grow_arguments(&mut self, content: &[AssistantContent], found: &mut Findings) {
        for (place, block) in content.iter().enumerate() {
            let AssistantContent::ToolCall(call) = block else { continue };
            if let Some(before) = self.arguments.insert(place, call.arguments.clone()) {
                judge_growth(place, &before, &call.arguments, found);
            }
        }
    }

    fn open(&mut self, update: &Update) -> Option<&mut Block> {
        self.blocks.get_mut(update.index).filter(|block| block.kind == update.block && block.end.is_none())
    }

    fn constant(&self, message: &AssistantMessage, found: &mut Findings) {
        found.with_cause(Some(self.began), |found| {
            let what = "api, provider, model and timestamp as at the start";
            let (start, now) = (FixedMembers::of(&self.start), FixedMembers::of(message));
            found.expect_same(Rule::AssistantConstant, "/message", what, &start, &now);
        });
    }

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
        for (track, before) in self.tokens.iter().enumerate() {
            let now = tokens_of(&message.usage);
            let lost = COUNTERS.iter().zip(before.iter().zip(&now)).find(|(_, (before, now))| now < before);
            if let Some((name, (before, now))) = lost.filter(|_| track == 0 || before > &self.tokens[0]) {
                let what = "the tokens that were streamed, or more";
                let at = format!("/message/usage/{name}");
                found.fail_with_difference(Rule::EndEqLast, &at, what, before, now);
            }
        }
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

impl Block {
    fn new(kind: BlockKind, start: &AssistantContent) -> Self {
        let call = match start {
            AssistantContent::ToolCall(call) if !call.id.is_empty() => {
                Some((call.id.clone(), call.name.clone()))
            }
            _ => None,
        };
        Self { kind, text: text_of(start).unwrap_or_default().to_owned(), call, end: None }
    }

    fn end(&mut self, whole: &AssistantContent, found: &mut Findings) {
        found.pass(Rule::BlockProtocol);
        if let Some(text) = text_of(whole) {
            let same = match self.kind {
                // The end of thinking may lack the blank line at the end of its deltas.
                BlockKind::Thinking => text.trim_end_matches('\n') == self.text.trim_end_matches('\n'),
                BlockKind::Text | BlockKind::Toolcall => text == self.text,
            };
            match same {
                true => found.pass(Rule::DeltaConcat),
                false => {
                    let what = "the deltas of the block together";
                    found.fail_with_difference(
                        Rule::DeltaConcat,
                        "/assistantMessageEvent/content",
                        what,
                        &self.text,
                        &text,
                    );
                }
            }
        }
        if let AssistantContent::ToolCall(call) = whole {
            let (at, what) = ("/assistantMessageEvent/toolCall/arguments", "what its deltas add up to");
            found.expect_same(Rule::ToolcallArgs, at, what, &self.arguments(call), &call.arguments);
            let named = self.call.as_ref().is_none_or(|(id, name)| (id, name) == (&call.id, &call.name));
            found.expect(Rule::ToolcallEndEq, named, || "the id and the name of its start".to_owned());
        }
        self.end = Some(whole.clone());
    }

    /// The arguments that the deltas of a call that is over add up to. Texts that are no JSON object are none, or, with
    /// servers that say nothing of it, what could be read of them.
    fn arguments(&self, call: &ToolCall) -> JsonObject {
        match parse_arguments(&self.text) {
            // Not every server repairs what can be repaired.
            _ if call.arguments_error.is_some() => serde_json::from_str(&self.text).unwrap_or_default(),
            Ok(arguments) if arguments == call.arguments => arguments,
            Err(_) if call.arguments.is_empty() => JsonObject::new(),
            _ => parse_partial(&self.text),
        }
    }

    /// The member with the text of the block.
    const fn member(&self) -> &'static str {
        match self.kind {
            BlockKind::Text => "text",
            BlockKind::Thinking => "thinking",
            BlockKind::Toolcall => "arguments",
        }
    }

    /// Whether the block of a snapshot begins with the streamed text; it may be ahead.
    fn is_in(&self, shown: &AssistantContent) -> bool {
        match (self.kind, text_of(shown)) {
            (BlockKind::Text, Some(text)) => text.starts_with(&self.text),
            (BlockKind::Thinking, Some(text)) => text.starts_with(self.text.trim_end_matches('\n')),
            (BlockKind::Text | BlockKind::Thinking, None) => shown.block_kind() == self.kind,
            (BlockKind::Toolcall, _) => shown.block_kind() == BlockKind::Toolcall,
        }
    }
}

/// The least length in bytes of a text that is not repeated by chance.
const DOUBLED: usize = 16;

/// Whether any tokens are counted.
fn has_tokens(usage: &Usage) -> bool {
    usage.total_tokens > 0 || counters(usage).iter().any(|count| *count > 0)
}

/// The names of [`Tokens`].
const COUNTERS: [&str; 5] = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"];

fn tokens_of(usage: &Usage) -> Tokens {
    let [input, output, cache_read, cache_write] = counters(usage);
    [input, output, cache_read, cache_write, usage.total_tokens]
}

/// Characters at the end of a text that was read from a part of its JSON, which may be read otherwise when there is more of it.
const UNSURE: usize = 6;

/// Judges that the arguments of a call go on as they were shown.
fn judge_growth(place: usize, before: &JsonObject, now: &JsonObject, found: &mut Findings) {
    let changed = before.iter().find(|(name, value)| !now.get(*name).is_some_and(|now| grows(value, now)));
    match changed {
        None => found.pass(Rule::PartialMonotonic),
        Some((name, value)) => {
            let at = format!("/message/content/{place}/arguments/{name}");
            let what = "the argument as it was shown, or more of it";
            found.fail_with_difference(Rule::PartialMonotonic, &at, what, value, &now.get(name));
        }
    }
}

/// Whether a value that was read from a part of its JSON goes on as `now`.
fn grows(before: &Value, now: &Value) -> bool {
    match (before, now) {
        (Value::String(before), Value::String(now)) => {
            let sure = before.char_indices().rev().nth(UNSURE - 1).map_or(0, |(end, _)| end);
            now.starts_with(&before[..sure])
        }
        (Value::Array(before), Value::Array(now)) => {
            before.len() <= now.len() && before.iter().zip(now).all(|(before, now)| grows(before, now))
        }
        (Value::Object(before), Value::Object(now)) => {
            before.iter().all(|(name, value)| now.get(name).is_some_and(|now| grows(value, now)))
        }
        (Value::Number(_), Value::Number(_)) | (Value::Null, _) => true,
        (before, now) => before == now,
    }
}

/// Whether the content has no text and no call.
fn is_blank(content: &[AssistantContent]) -> bool {
    content.iter().all(|block| text_of(block).is_some_and(str::is_empty))
}

fn text_of(block: &AssistantContent) -> Option<&str> {
    match block {
        AssistantContent::Text(it) => Some(&it.text),
        AssistantContent::Thinking(it) if it.redacted != Some(true) => Some(&it.thinking),
        _ => None,
    }
}

/// Whether two messages are equal except for content, usage and stop reason.
fn has_same_metadata(one: &AssistantMessage, other: &AssistantMessage) -> bool {
    macro_rules! same {
        ($($name:ident),*) => {{
            // Names every member, so that a new one cannot be left out.
            let AssistantMessage { content: _, usage: _, stop_reason: _, $($name),* } = one;
            true $(&& *$name == other.$name)*
        }};
    }
    same!(
        api,
        provider,
        model,
        timestamp,
        response_id,
        response_model,
        raw_stop_reason,
        provider_thinking_level,
        diagnostics,
        deferred,
        end_turn,
        error_message,
        error_status,
        error_id,
        duration,
        ttft,
        completed_at,
        context_snapshot,
        retry_recovery,
        provider_payload,
        duration_ms,
        thinking_level
    )
}

/// The usage and the stop reason of a message.
#[derive(PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Completion<'a> {
    usage: &'a Usage,
    stop_reason: StopReason,
}

impl<'a> Completion<'a> {
    const fn of(message: &'a AssistantMessage) -> Self {
        Self { usage: &message.usage, stop_reason: message.stop_reason }
    }
}

/// The members of a message that are fixed from its start.
#[derive(PartialEq, Serialize)]
struct FixedMembers<'a> {
    api: &'a str,
    provider: &'a str,
    model: &'a str,
    timestamp: u64,
}

impl<'a> FixedMembers<'a> {
    fn of(message: &'a AssistantMessage) -> Self {
        let AssistantMessage { api, provider, model, timestamp, .. } = message;
        Self { api, provider, model, timestamp: *timestamp }
    }
}

/// The first `length` bytes of a text.
fn beginning(text: &str, length: usize) -> &str {
    &text[..text.floor_char_boundary(length)]
}
