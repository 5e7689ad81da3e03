//! One prompt turn of the agent: puts its updates into answers and tool calls.
//!
//! An answer is open while the engine waits for it. Text and thinking go into it; so do tool calls, until something else
//! follows them or [`end_calls`](Turn::end_calls) is called: then the answer ends, and its calls run. What the agent sends
//! meanwhile waits, but for updates of calls that are in an answer already.

use super::call::{self, block_text};
use agent_client_protocol::v1::schema::{
    ContentChunk, SessionUpdate, StopReason, ToolCall, ToolCallStatus, ToolCallUpdate, UsageUpdate,
};
use pi_rpc_model::{
    sequence::BlockSequencer,
    types::{Bill, BlockStart, Finish, StreamEvent, TokenCounts},
};
use pi_rpc_protocol::JsonObject;
use std::collections::{HashMap, VecDeque, hash_map::Entry};

/// Updates that may wait for running calls.
const MAX_WAITING: usize = 100_000;

/// A prompt turn.
#[derive(Default)]
pub struct Turn {
    /// What has not been put into an answer yet.
    waiting: VecDeque<TurnItem>,
    /// The calls that are in an answer.
    calls: HashMap<String, TurnCall>,
    /// The answer that the engine waits for.
    answer: Option<OpenAnswer>,
    /// Costs of the session that an answer has reported.
    reported_cost: f64,
    /// An answer was failed by [`fail`](Self::fail).
    has_failed: bool,
}

enum TurnItem {
    Text(String),
    Thought(String),
    Call(Box<ToolCall>),
    Usage(UsageUpdate),
    End(Result<StopReason, String>),
}

/// A call that is in an answer.
struct TurnCall {
    call: ToolCall,
    /// The arguments that the answer has.
    arguments: JsonObject,
}

struct OpenAnswer {
    blocks: BlockSequencer,
    /// The block of text or thinking that is open: its index, and whether it is thinking.
    open: Option<(usize, bool)>,
    /// The calls, each with its open block.
    calls: Vec<(String, usize)>,
}

/// The end of a turn that the open answer has come to.
#[derive(Debug, PartialEq)]
pub struct TurnEnd(pub Result<StopReason, String>);

impl Turn {
    /// A turn of a session whose costs so far were reported.
    pub fn new(reported_cost: f64) -> Self {
        Self { reported_cost, ..Self::default() }
    }

    /// Costs of the session that were reported.
    pub const fn cost(&self) -> f64 {
        self.reported_cost
    }

    /// Opens an answer.
    pub fn begin_answer(&mut self, session: &str) {
        let mut blocks = BlockSequencer::default();
        blocks.emit(StreamEvent::ResponseId(session.to_owned()));
        self.answer = Some(OpenAnswer { blocks, open: None, calls: Vec::new() });
    }

    /// Whether the engine waits for an answer.
    pub const fn has_answer(&self) -> bool {
        self.answer.is_some()
    }

    /// Whether the open answer has failed.
    pub const fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether the open answer has calls: it ends soon.
    pub fn has_calls(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| !answer.calls.is_empty())
    }

    /// Takes an update in.
    pub fn push(&mut self, update: SessionUpdate) {
        let item = match update {
            SessionUpdate::AgentMessageChunk(ContentChunk { content, .. }) => {
                TurnItem::Text(block_text(&content))
            }
            SessionUpdate::AgentThoughtChunk(ContentChunk { content, .. }) => {
                TurnItem::Thought(block_text(&content))
            }
            SessionUpdate::ToolCall(call) => TurnItem::Call(Box::new(call)),
            SessionUpdate::ToolCallUpdate(update) => return self.update_call(update),
            SessionUpdate::UsageUpdate(usage) => TurnItem::Usage(usage),
            _ => return,
        };
        self.queue(item);
    }

    /// Takes an update of a call in. The first one of a call that was not announced announces it.
    pub fn update_call(&mut self, update: ToolCallUpdate) {
        let id = update.tool_call_id.0.to_string();
        if let Some(TurnCall { call, .. }) = self.calls.get_mut(&id) {
            let is_step = update.fields.status.is_some_and(|status| status != ToolCallStatus::Pending);
            call.update(update.fields);
            let mut joined = self.answer.iter().flat_map(|answer| &answer.calls);
            // The calls of an answer have all been announced once one of them begins.
            if is_step && joined.any(|(known, _)| *known == id) {
                self.end_calls();
            }
            return;
        }
        let waiting = self.waiting.iter_mut().find_map(|item| match item {
            TurnItem::Call(call) if call.tool_call_id == update.tool_call_id => Some(call),
            _ => None,
        });
        match waiting {
            Some(call) => call.update(update.fields),
            None => {
                let title = update.fields.title.clone().unwrap_or_default();
                let mut call = ToolCall::new(update.tool_call_id, title);
                call.update(update.fields);
                self.queue(TurnItem::Call(Box::new(call)));
            }
        }
    }

    /// Notes that the agent has ended the turn. Calls that it has left open have failed.
    pub fn end(&mut self, end: Result<StopReason, String>) {
        self.queue(TurnItem::End(end));
        for known in self.calls.values_mut() {
            fail_if_open(&mut known.call);
        }
        for item in &mut self.waiting {
            if let TurnItem::Call(call) = item {
                fail_if_open(call);
            }
        }
    }

    /// Puts what waits into the open answer, as far as it goes. Returns the end of the turn once the answer has come to it:
    /// the answer is then to be finished, or goes on with another turn.
    pub fn advance(&mut self) -> Option<TurnEnd> {
        while let Some(answer) = self.answer.as_mut().filter(|answer| !answer.blocks.is_finished()) {
            let item = self.waiting.pop_front()?;
            match item {
                TurnItem::Usage(usage) => {
                    let event = usage_event(&mut self.reported_cost, &usage);
                    answer.blocks.emit(event);
                }
                TurnItem::Call(call) => self.put_call(*call),
                other if !answer.calls.is_empty() => {
                    self.waiting.push_front(other);
                    self.end_calls();
                }
                TurnItem::Text(text) => answer.put_text(&text, false),
                TurnItem::Thought(text) => answer.put_text(&text, true),
                TurnItem::End(end) => return Some(TurnEnd(end)),
            }
        }
        None
    }

    /// Ends the answer if it has calls: no further one joins them.
    pub fn end_calls(&mut self) {
        let Some(answer) = self.answer.as_mut().filter(|it| !it.calls.is_empty() && !it.blocks.is_finished())
        else {
            return;
        };
        for (id, index) in &answer.calls {
            let Some(TurnCall { call, arguments }) = self.calls.get_mut(id) else { continue };
            *arguments = call::arguments(call);
            answer.blocks.delta(*index, &serde_json::to_string(arguments).unwrap_or_default());
            answer.blocks.end(*index, None);
        }
        answer.blocks.finish(Finish::ToolUse, None);
    }

    /// Finishes the answer with the end of the turn.
    pub fn finish(&mut self, TurnEnd(end): TurnEnd) {
        let Some(answer) = &mut self.answer else { return };
        let blocks = &mut answer.blocks;
        match end {
            Ok(StopReason::EndTurn) => blocks.finish(Finish::Stop, None),
            Ok(StopReason::MaxTokens) => blocks.finish(Finish::Length, Some("max_tokens")),
            Ok(StopReason::MaxTurnRequests) => blocks.finish(Finish::Stop, Some("max_turn_requests")),
            Ok(StopReason::Refusal) => blocks.fail("The agent refuses to go on (refusal)".to_owned()),
            Ok(StopReason::Cancelled) => blocks.fail("The agent has cancelled the turn".to_owned()),
            Ok(other) => {
                blocks.fail(format!("The agent has ended the turn for an unknown reason: {other:?}"))
            }
            Err(reason) => blocks.fail(reason),
        }
    }

    /// Fails the answer.
    pub fn fail(&mut self, reason: String) {
        if let Some(answer) = &mut self.answer {
            answer.blocks.fail(reason);
            self.has_failed = true;
        }
    }

    /// Takes the events of the answer that are ready; the answer is closed with its last one.
    pub fn take_events(&mut self) -> Vec<StreamEvent> {
        let Some(answer) = &mut self.answer else { return Vec::new() };
        let events = answer.blocks.take();
        if answer.blocks.is_finished() {
            self.answer = None;
        }
        events
    }

    /// A call that is in an answer.
    pub fn call(&self, id: &str) -> Option<&ToolCall> {
        self.calls.get(id).map(|known| &known.call)
    }

    /// The arguments that a call has in its answer: those of the time when the answer ended.
    pub fn arguments(&self, id: &str) -> Option<&JsonObject> {
        self.calls.get(id).map(|known| &known.arguments)
    }

    /// The title of a call, in an answer or not.
    pub fn title(&self, id: &str) -> Option<&str> {
        let waiting = self.waiting.iter().find_map(|item| match item {
            TurnItem::Call(call) if *call.tool_call_id.0 == *id => Some(&**call),
            _ => None,
        });
        self.call(id).or(waiting).map(|call| call.title.as_str()).filter(|title| !title.is_empty())
    }

    fn queue(&mut self, item: TurnItem) {
        if self.waiting.len() < MAX_WAITING {
            return self.waiting.push_back(item);
        }
        // Without the end of the turn the engine would wait for ever.
        if matches!(item, TurnItem::End(_)) {
            let text = format!("The agent has sent more than {MAX_WAITING} updates beside a running call");
            self.waiting.push_back(TurnItem::End(Err(text)));
        }
    }

    fn put_call(&mut self, call: ToolCall) {
        let id = call.tool_call_id.0.to_string();
        let known = match self.calls.entry(id.clone()) {
            Entry::Occupied(mut known) => {
                // Announced again: the newer account counts.
                known.get_mut().call = call;
                return;
            }
            Entry::Vacant(new) => new.insert(TurnCall { call, arguments: JsonObject::new() }),
        };
        let Some(answer) = &mut self.answer else { return };
        answer.close_text();
        let block = BlockStart::ToolCall { id: id.clone(), name: call::tool_name(&known.call) };
        // Its arguments may still come: the block stays open until the answer ends.
        let index = answer.blocks.open(block);
        answer.calls.push((id, index));
    }
}

impl OpenAnswer {
    fn put_text(&mut self, text: &str, is_thinking: bool) {
        let index = match self.open {
            Some((index, thinks)) if thinks == is_thinking => index,
            _ => {
                self.close_text();
                let block = if is_thinking { BlockStart::Thinking } else { BlockStart::Text };
                let index = self.blocks.open(block);
                self.open = Some((index, is_thinking));
                index
            }
        };
        self.blocks.delta(index, text);
    }

    fn close_text(&mut self) {
        if let Some((index, _)) = self.open.take() {
            self.blocks.end(index, None);
        }
    }
}

fn fail_if_open(call: &mut ToolCall) {
    if call::end(call).is_none() {
        call.status = ToolCallStatus::Failed;
    }
}

/// The usage event of an update: what the context holds, and what the session has cost since the last one.
fn usage_event(reported: &mut f64, usage: &UsageUpdate) -> StreamEvent {
    let spent = usage.cost.as_ref().filter(|cost| cost.currency == "USD").map(|cost| cost.amount);
    let billed = spent.filter(|spent| spent.is_finite() && *spent >= 0.0).map(|spent| {
        let since = (spent - std::mem::replace(reported, spent)).max(0.0);
        let total = (since * 1e12) as u64;
        // The parts have to make the total, and the agent names none.
        Bill::Parts { input: total, output: 0, cache_read: 0, cache_write: 0, total }
    });
    StreamEvent::Usage(TokenCounts { input: usage.used, billed, ..TokenCounts::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::v1::schema::ToolCallUpdateFields;

    fn text(text: &str) -> SessionUpdate {
        SessionUpdate::AgentMessageChunk(ContentChunk::new(text.into()))
    }

    fn call(id: &str) -> SessionUpdate {
        SessionUpdate::ToolCall(ToolCall::new(id.to_owned(), "Look").name("look".to_owned()))
    }

    fn completed(id: &str) -> SessionUpdate {
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Completed);
        SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields))
    }

    /// The words of the events: `[` begins a block, `]` ends one.
    fn words(turn: &mut Turn) -> String {
        let end = turn.advance();
        if let Some(end) = end {
            turn.finish(end);
        }
        let words = turn.take_events().into_iter().map(|event| match event {
            StreamEvent::Start { block: BlockStart::ToolCall { id, .. }, .. } => format!("call {id}["),
            StreamEvent::Start { block, .. } => {
                format!("{}[", if block == BlockStart::Text { "text" } else { "thinking" })
            }
            StreamEvent::Delta { delta, .. } => delta,
            StreamEvent::End { .. } => "] ".to_owned(),
            StreamEvent::Finish(finish) => finish.name().to_owned(),
            StreamEvent::Fail { message, .. } => message,
            _ => String::new(),
        });
        words.collect()
    }

    fn turn(updates: impl IntoIterator<Item = SessionUpdate>) -> Turn {
        let mut turn = Turn::default();
        turn.begin_answer("s");
        updates.into_iter().for_each(|update| turn.push(update));
        turn
    }

    const ARGUMENTS: &str = r#"{"title":"Look","kind":"other"}"#;

    #[test]
    fn text_after_call_waits_for_it() {
        let mut turn = turn([text("a"), text("b"), call("c1"), text("after")]);
        assert_eq!(words(&mut turn), format!("text[ab] call c1[{ARGUMENTS}] toolUse"));
        turn.push(completed("c1"));
        assert_eq!(call::end(turn.call("c1").unwrap()), Some(false));
        turn.begin_answer("s");
        turn.end(Ok(StopReason::EndTurn));
        assert_eq!(words(&mut turn), "text[after] stop");
    }

    #[test]
    fn calls_join_until_one_begins() {
        let mut turn = turn([call("c1"), call("c2")]);
        assert_eq!(words(&mut turn), "call c1[");
        assert!(turn.has_calls());
        let begun = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
        turn.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new("c2", begun)));
        turn.push(completed("c2"));
        turn.push(call("c3"));
        assert_eq!(words(&mut turn), format!("{ARGUMENTS}] call c2[{ARGUMENTS}] toolUse"));
        turn.begin_answer("s");
        let fields = ToolCallUpdateFields::new().raw_input(serde_json::json!({ "at": 3 }));
        assert_eq!(words(&mut turn), "call c3[");
        turn.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new("c3", fields)));
        turn.end_calls();
        assert_eq!(words(&mut turn), r#"{"at":3}] toolUse"#);
    }

    #[test]
    fn unfinished_call_fails_with_the_turn() {
        let mut turn = turn([call("c1")]);
        words(&mut turn);
        turn.end(Ok(StopReason::EndTurn));
        assert_eq!(words(&mut turn), format!("{ARGUMENTS}] toolUse"));
        assert_eq!(call::end(turn.call("c1").unwrap()), Some(true));
        turn.begin_answer("s");
        assert_eq!(words(&mut turn), "stop");
    }

    #[test]
    fn refusal_and_cancellation_are_errors() {
        for (reason, text) in [
            (StopReason::Refusal, "The agent refuses to go on (refusal)"),
            (StopReason::Cancelled, "The agent has cancelled the turn"),
        ] {
            let mut turn = turn([]);
            turn.end(Ok(reason));
            assert_eq!(words(&mut turn), text);
        }
    }

    #[test]
    fn cost_is_counted_once() {
        let usage = |amount: f64| {
            let cost = agent_client_protocol::v1::schema::Cost::new(amount, "USD");
            SessionUpdate::UsageUpdate(UsageUpdate::new(10, 100).cost(cost))
        };
        let mut turn = turn([usage(1.0), usage(1.5)]);
        turn.advance();
        let billed = turn.take_events().into_iter().filter_map(|event| match event {
            StreamEvent::Usage(TokenCounts { billed, input: 10, .. }) => billed,
            _ => None,
        });
        let billed: Vec<Bill> = billed.collect();
        let of_input = |total| Bill::Parts { input: total, output: 0, cache_read: 0, cache_write: 0, total };
        assert_eq!(billed, [of_input(1_000_000_000_000), of_input(500_000_000_000)]);
    }
}
