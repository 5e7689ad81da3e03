//! Frames of the server, on their way to the client.

use crate::{
    front::{Front, Output, typed},
    names::renamed,
    plan::TYPE,
};
use pi_rpc_machine::Kind;
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, AgentSessionEventKind as Event, AssistantContent, AssistantMessage,
    Base, Check as _, Cost, Dialect, DialectEmitsTitle, DialectMessageStart, Emission, FlowState,
    MessageUpdateEvent, Outbound, RpcExtensionUIRequest, RpcResponse, Step, StopReason,
    ToolExecutionStartEvent, Update, Usage, read_versioned,
};
use serde_json::{Map, Value};

/// Most frames that wait for their place in the client's chart.
const MOST_LATE: usize = 64;

impl Front {
    /// Takes a whole frame of the server.
    pub(crate) fn server_frame(&mut self, line: &[u8], out: &mut Output) {
        let frame = match read_versioned::<Outbound>(line, self.spoken, true) {
            Ok(read) => read.frame,
            Err(error) => return self.pass_unknown(line, &error.to_string(), out),
        };
        if let Outbound::Response(response) = &frame
            && self.extension_answered(response, out)
        {
            return;
        }
        let emission = Emission::Frame(frame);
        self.server.machine.outbound(&emission);
        let Emission::Frame(frame) = emission else { return };
        match frame {
            Outbound::Response(RpcResponse::Success(response)) => self.server_succeeded(response, out),
            Outbound::Response(RpcResponse::ErrorResponse(error)) => self.server_failed(error, out),
            Outbound::AgentSessionEvent(AgentSessionEvent::MessageUpdate(update)) => {
                self.server_updated(&update, out)
            }
            Outbound::AgentSessionEvent(event) => self.server_event(event, out),
            // The front has greeted already.
            Outbound::ReadyFrame(_) => {}
            Outbound::ExtensionUIRequest(request) if self.extension_asked(&request, out) => {}
            Outbound::ExtensionUIRequest(RpcExtensionUIRequest::SetTitle(_)) if self.drops_titles() => {}
            frame => self.pass_frame(&frame, out),
        }
    }

    /// Whether the server always sends titles, and the client's own only where its environment wants them.
    fn drops_titles(&self) -> bool {
        let emits = |dialect: Dialect| dialect.record().emits_title;
        emits(self.client.dialect) == DialectEmitsTitle::OptIn
            && emits(self.server.dialect) == DialectEmitsTitle::Always
    }

    /// Passes a line on whose type neither dialect has: clients skip it, as they would from their own server.
    fn pass_unknown(&self, line: &[u8], error: &str, out: &mut Output) {
        let value: Option<Map<String, Value>> = serde_json::from_slice(line).ok();
        let kind = value.as_ref().and_then(|it| it.get(TYPE)).and_then(Value::as_str);
        match kind {
            Some(kind) if self.to_client.frame(kind).is_none() => {
                out.to_client.extend_from_slice(line);
                out.to_client.push(b'\n');
            }
            kind => {
                let kind = kind.unwrap_or("frame without a type");
                out.notices.push(format!("a line of the server was dropped, `{kind}`: {error}"));
            }
        }
    }

    /// A frame that stands for itself: a dialog, an error of an extension, a call of a tool of the host.
    fn pass_frame(&mut self, frame: &Outbound, out: &mut Output) {
        let Ok(value) = serde_json::to_value(frame) else { return };
        let id = value.get(TYPE).and_then(Value::as_str).and_then(|kind| self.to_client.frame(kind));
        match id.and_then(|id| self.to_client.carry(id, value, &self.account)) {
            Some(value) => drop(self.emit_value(&value, out)),
            None => out.notices.push(format!("a `{}` frame of the server was dropped", kind_name(frame))),
        }
    }

    /// An event of the session.
    fn server_event(&mut self, event: AgentSessionEvent, out: &mut Output) {
        let frame = Outbound::AgentSessionEvent(event);
        let kind = Kind::of_outbound(&frame);
        let Ok(value) = serde_json::to_value(&frame) else { return };
        if let Some(step) = self.last_step.take_if(|_| !matches!(kind, Kind::AssistantEnd(_))) {
            self.emit_emission(&Emission::Update(step), out);
        }
        if self.drops_nested && is_nested(&frame) {
            return;
        }
        if is_placed(kind, self.server.base()) {
            self.ends.events += 1;
            if kind == Kind::RetryEnd(true) {
                let (is_told, is_held) = (self.ends.has_told_retry_end(), self.ends_wait_for_retry());
                self.ends.note(kind, &value);
                if !is_told {
                    self.emit_event(value, out);
                }
                return if is_held {
                    self.end_work(out)
                };
            }
            if !matches!(kind, Kind::Event(Event::AgentEnd | Event::AgentSettled)) {
                self.release_end(Some(kind), out);
            }
        }
        match &frame {
            Outbound::AgentSessionEvent(AgentSessionEvent::AgentSettled(settled)) => {
                self.account.is_aborted = settled.aborted.unwrap_or(self.account.is_aborted);
                return self.end_work(out);
            }
            Outbound::AgentSessionEvent(AgentSessionEvent::AgentEnd(_)) => {
                return self.run_ended(value, out);
            }
            Outbound::AgentSessionEvent(AgentSessionEvent::ToolExecutionEnd(end)) => {
                self.end_host_call(&end.tool_call_id, out);
            }
            Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(_)) => {
                self.account.messages_begun += 1
            }
            Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(end)) => {
                self.seen.add(&end.message);
                if let AgentMessage::Assistant(answer) = &end.message {
                    self.account.is_aborted = answer.stop_reason == StopReason::Aborted;
                }
            }
            _ => {}
        }
        self.ends.note(kind, &value);
        if let Kind::MessageStart(_) = kind
            && let Some(message) =
                value.get("message").filter(|message| message.get("role") == Some(&Value::from("user")))
        {
            self.message_delivered(&message.clone(), out);
        }
        if let Some(reason) = value.get("reason").filter(|_| is_compaction_start(kind)) {
            self.account.compaction_reason = Some(reason.clone());
        }
        let is_message = matches!(kind, Kind::MessageEnd(_) | Kind::AssistantEnd(_));
        if !self.emit_event(value, out) && is_message {
            self.account.hidden_messages += 1;
        }
        if kind == Kind::Event(Event::AgentStart) {
            // The end of a chain, too, repeats what was said since its last start.
            self.ends.messages.clear();
        }
        if matches!(kind, Kind::CompactionEnd(_) | Kind::Event(Event::AutoCompactionEnd)) {
            self.recount(out);
        }
        if is_placed(kind, self.server.base()) {
            self.probe_after(out);
        }
    }

    /// Gives a message that begins the form of an unfinished one in the client's dialect.
    fn mark_unfinished(&self, frame: &mut Outbound) {
        let reason = |dialect: Dialect| StopReason::parse(dialect.record().unfinished_stop_reason.as_str());
        if let Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(start)) = frame
            && let AgentMessage::Assistant(message) = &mut start.message
            && let (Some(given), Some(wanted)) = (reason(self.server.dialect), reason(self.client.dialect))
            // A value that the client lacks has become the nearest one already.
            && [given, wanted].contains(&message.stop_reason)
            && message.error_message.is_none()
        {
            message.stop_reason = wanted;
            // Each block has a start of its own; a server may show here what it only tells later.
            message.content.clear();
            if self.client.dialect.record().message_start == DialectMessageStart::Request {
                // It begins before the answer.
                message.usage = no_usage();
            }
        }
    }

    /// Emits an event of the server in the client's dialect. Returns whether the dialect can have it.
    pub(crate) fn emit_event(&mut self, mut value: Value, out: &mut Output) -> bool {
        let Some(name) = value.get(TYPE).and_then(Value::as_str).and_then(Event::parse) else { return false };
        let name = renamed(self.server.base(), self.client.base(), name.as_str());
        if let Some(object) = value.as_object_mut() {
            object.insert(TYPE.to_owned(), name.into());
        }
        let id = self.to_client.frame(name);
        let Some(value) = id.and_then(|id| self.to_client.carry(id, value, &self.account)) else {
            return false;
        };
        match typed::<Outbound>(&value) {
            Ok(mut frame) if !frame.is_refused(self.client.base()) => {
                self.mark_unfinished(&mut frame);
                if self.is_news(&value) {
                    self.place(frame, out);
                }
            }
            Ok(_) => out
                .notices
                .push(format!("a `{name}` event of the server was dropped: a required member is missing")),
            Err(error) => out.notices.push(format!("a `{name}` event of the server was dropped: {error}")),
        }
        true
    }

    /// Emits an event at its place in the client's chart: behind the events that it follows, or later.
    fn place(&mut self, frame: Outbound, out: &mut Output) {
        let base = self.client.base();
        if !is_placed(Kind::of_outbound(&frame), base) {
            return self.emit(frame, out);
        }
        for frame in self.tools.take(frame) {
            let kind = Kind::of_outbound(&frame);
            self.emit_bounds_before(kind, out);
            let flow = self.client.machine.flow();
            if self.may_come(kind) {
                self.emit_placed(frame, out);
            } else if comes_later(kind, flow, base) {
                if self.late.len() < MOST_LATE {
                    self.late.push_back(frame);
                }
            } else if flow.is_streaming() || kind.fires(base).next().is_none() {
                self.emit_placed(frame, out);
            } else {
                let name = kind_name(&frame);
                out.notices.push(format!(
                    "a `{name}` event was dropped: it has no place in {flow} in the client's dialect"
                ));
            }
            let due = self.late.iter().position(|frame| self.may_come(Kind::of_outbound(frame)));
            if let Some(frame) = due.and_then(|at| self.late.remove(at)) {
                self.emit_placed(frame, out);
            }
        }
    }

    fn emit_placed(&mut self, frame: Outbound, out: &mut Output) {
        match &frame {
            Outbound::AgentSessionEvent(AgentSessionEvent::MessageStart(start)) => {
                self.partial = match &start.message {
                    AgentMessage::Assistant(message) => {
                        Some(AssistantMessage { content: Vec::new(), ..AssistantMessage::clone(message) })
                    }
                    _ => None,
                };
            }
            Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(end)) => {
                if let AgentMessage::Assistant(message) = &end.message {
                    self.finish_partial(message, out);
                }
            }
            _ => {}
        }
        let answer = match &frame {
            Outbound::AgentSessionEvent(AgentSessionEvent::MessageEnd(end)) => match &end.message {
                AgentMessage::Assistant(message) => Some(message.stop_reason),
                _ => None,
            },
            _ => None,
        };
        let started = match &frame {
            Outbound::AgentSessionEvent(AgentSessionEvent::ToolExecutionStart(it)) => {
                Some(it.tool_call_id.clone())
            }
            _ => None,
        };
        self.emit(frame, out);
        answer.into_iter().for_each(|reason| self.end_retry_within(reason, out));
        started.into_iter().for_each(|id| self.host_tool_started(id, out));
    }

    /// Emits the last step of a message with what only the complete message has: the signatures of its blocks.
    fn finish_partial(&mut self, message: &AssistantMessage, out: &mut Output) {
        let Some(mut last) = self.last_step.take() else { return };
        for (index, block) in message.content.iter().enumerate().take(last.index) {
            let step = Step::End(block.clone());
            let unseen = Emission::Update(Update { index, block: block.block_kind(), step, rest: None });
            self.encoder.encode(&unseen, &mut Vec::new());
        }
        if let Some(block) = message.content.get(last.index).filter(|block| block.block_kind() == last.block)
        {
            last.step = Step::End(block.clone());
        }
        self.emit_emission(&Emission::Update(last), out);
    }

    /// A step of the partial message.
    fn server_updated(&mut self, event: &MessageUpdateEvent, out: &mut Output) {
        let Some(mut update) = event.assistant_message_event.update() else { return };
        let usage = event.usage.as_ref().or_else(|| event.message.as_ref().map(|message| &message.usage));
        if let (Some(partial), Some(usage)) = (&mut self.partial, usage)
            && partial.usage != *usage
        {
            partial.usage = usage.clone();
            update.rest = Some(Box::new(partial.clone()));
        }
        if let Step::Start(block) | Step::End(block) = &mut update.step
            && block.is_refused(self.client.base())
        {
            match self.carry_block(block) {
                Some(carried) => *block = carried,
                None => return,
            }
        }
        let mut emission = Emission::Update(update);
        emission.fit(self.client.base());
        let Emission::Update(update) = emission else { return };
        if let Some(step) = self.last_step.take() {
            self.emit_emission(&Emission::Update(step), out);
        }
        match &update.step {
            // The signature of a block is in the snapshot, but not in the event of a server that sends deltas.
            Step::End(_) if self.completes_snapshots => self.last_step = Some(update),
            _ => self.emit_emission(&Emission::Update(update), out),
        }
    }

    fn carry_block(&self, block: &AssistantContent) -> Option<AssistantContent> {
        let id = self.to_client.find("AssistantContent")?;
        let value = self.to_client.carry(id, serde_json::to_value(block).ok()?, &self.account)?;
        typed(&value).ok()
    }
}

/// The usage of a message whose answer has not begun.
fn no_usage() -> Usage {
    let zero = || serde_json::Number::from(0);
    let cost = Cost {
        input: zero(),
        output: zero(),
        cache_read: zero(),
        cache_write: zero(),
        total: zero(),
        total_from_provider: None,
    };
    Usage {
        input: 0,
        output: 0,
        cache_read: 0,
        cache_write: 0,
        total_tokens: 0,
        premium_requests: None,
        cost,
        cache_write1h: None,
        reasoning: None,
    }
}

/// Whether the dialect has calls that another call has made.
pub fn has_nested_calls(base: Base) -> bool {
    let mut nested = Outbound::AgentSessionEvent(
        ToolExecutionStartEvent {
            tool_call_id: String::new(),
            tool_name: String::new(),
            args: Map::new(),
            intent: None,
            parent_tool_call_id: Some(String::new()),
        }
        .into(),
    );
    // Members that the dialect does not have are left out.
    nested.fit(base);
    is_nested(&nested)
}

/// Whether the event is about a call that another call has made.
fn is_nested(frame: &Outbound) -> bool {
    let Outbound::AgentSessionEvent(event) = frame else { return false };
    match event {
        AgentSessionEvent::ToolExecutionStart(it) => it.parent_tool_call_id.is_some(),
        AgentSessionEvent::ToolExecutionUpdate(it) => it.parent_tool_call_id.is_some(),
        AgentSessionEvent::ToolExecutionEnd(it) => it.parent_tool_call_id.is_some(),
        _ => false,
    }
}

/// Whether events of this kind have a place in the chart of the dialect.
pub fn is_placed(kind: Kind, base: Base) -> bool {
    kind.fires(base).any(|row| row.states.len() < FlowState::ALL.len())
}

/// Whether an event that may not come in a state of a run has its place in a later one of the run.
fn comes_later(kind: Kind, flow: FlowState, base: Base) -> bool {
    flow.is_streaming() && kind.fires(base).any(|row| row.states.iter().any(|state| state.is_streaming()))
}

const fn is_compaction_start(kind: Kind) -> bool {
    matches!(kind, Kind::CompactionStart(_) | Kind::Event(Event::AutoCompactionStart))
}

fn kind_name(frame: &Outbound) -> &'static str {
    Kind::of_outbound(frame).name().unwrap_or("response")
}
