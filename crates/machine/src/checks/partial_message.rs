//! Judges the streaming of an assistant message, block by block.
//!
//! Rules: `assistant-constant`, `block-protocol`, `delta-concat`, `partial-prefix`, `partial-monotonic`,
//! `partial-eq-message`, `partial-eq-rest`, `partial-eq-end`, `toolcall-args`, `toolcall-end-eq`.

mod endings;

use super::usage::{check_sums, counters};
use crate::findings::Findings;
use pi_rpc_protocol::{
    AssistantContent, AssistantMessage, BlockKind, JsonObject, MessageUpdateEvent, RuleId as Rule, Step,
    StopReason, ToolCall, Update, Usage, parse_arguments, parse_partial,
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
    /// The arguments of the newest snapshot of each call, by the index of its block.
    arguments: BTreeMap<usize, JsonObject>,
}

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
    pub fn snapshot(&mut self, event: &MessageUpdateEvent, found: &mut Findings) {
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

/// Whether any tokens are counted.
fn has_tokens(usage: &Usage) -> bool {
    usage.total_tokens > 0 || counters(usage).iter().any(|count| *count > 0)
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
