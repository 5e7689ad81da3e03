//! Responses of the server, on their way to the client.

use crate::{
    front::{ClientCommand, Front, OpenCommand, Origin, Output, WaitingCommand, typed},
    totals::{StatsBridge, Totals},
};
use pi_rpc_protocol::{
    AgentMessage, Check as _, Dialect, DialectErrorStyle, DialectLevelWithoutThinking, DialectPromptAck,
    EndedWork, GetMessagesCommand, Outbound, PromptDisposition, RequestId, RpcCommandKind, RpcErrorResponse,
    RpcSuccess, errors,
};
use serde_json::Value;

impl Front {
    /// A success response.
    pub(crate) fn server_succeeded(&mut self, response: RpcSuccess, out: &mut Output) {
        let kind = response.command();
        let Some(open) = self.take_open(response.id(), Some(kind)) else {
            return out.notices.push(format!("a response to `{kind}` was dropped: no such command is open"));
        };
        match open.origin {
            Origin::Client(asked) => {
                self.answer(response, *asked, open.id, out);
            }
            Origin::Probe(events) => {
                if let RpcSuccess::GetState(state) = response {
                    self.probed(events, &state.data, out);
                }
            }
            Origin::Step(next, asked) => {
                if let RpcSuccess::GetMessages(list) = &response {
                    self.listed = Some(Totals::of(&list.data.messages, self.client.base()));
                    self.count_hidden(&list.data.messages);
                }
                self.waiting.push_back(WaitingCommand { command: *next, origin: Origin::Client(asked) });
            }
            Origin::List => self.commands_listed(response, out),
            Origin::Own => {
                if let RpcSuccess::GetMessages(list) = &response {
                    self.count_hidden(&list.data.messages);
                }
            }
        }
    }

    /// Counts the messages in memory that the client does not see.
    fn count_hidden(&mut self, messages: &[AgentMessage]) {
        let base = self.client.base();
        let hidden = messages.iter().filter(|message| !message.kind().is_in(base)).count();
        self.account.hidden_messages = hidden as u64;
    }

    /// Asks for the messages in memory after a compaction, which may have taken some away that the client does not see.
    pub(crate) fn recount(&mut self, out: &mut Output) {
        if self.account.hidden_messages > 0 {
            self.send_own(GetMessagesCommand::default().into(), Origin::Own, out);
        }
    }

    /// Counts what the client's dialect counts.
    fn bridge_stats(&mut self, response: &mut RpcSuccess) {
        let RpcSuccess::GetSessionStats(stats) = response else { return };
        match (self.stats, self.listed.take()) {
            (StatsBridge::OfContext, Some(listed)) => {
                listed.replace(&mut stats.data);
                // Those that the client does not see are taken from the number of the server.
                stats.data.total_messages += self.account.hidden_messages;
            }
            (StatsBridge::OfSession, _) => self.seen.raise(&mut stats.data),
            _ => {}
        }
    }

    /// Takes the thinking level of a model that does not think out of the state, where the client's dialect has none there.
    fn unset_level(&self, response: &mut RpcSuccess) {
        let RpcSuccess::GetState(state) = response else { return };
        let unset = DialectLevelWithoutThinking::Unset;
        let thinks = state.data.model.as_ref().is_none_or(|model| model.reasoning);
        if !thinks && self.client.dialect.record().level_without_thinking == unset {
            state.data.thinking_level = None;
        }
    }

    /// Answers a command of the client with a success response of the server.
    fn answer(
        &mut self,
        mut response: RpcSuccess,
        asked: ClientCommand,
        id: Option<RequestId>,
        out: &mut Output,
    ) {
        let kind = response.command();
        self.hide_extension(&mut response);
        self.account.is_queued = asked.is_queued;
        let is_replaced = kind.replaces_session() && !response.is_vetoed();
        if is_replaced {
            self.account.hidden_messages = 0;
            self.seen = Totals::default();
            self.announced.clear();
            self.forget_queues();
        }
        self.bridge_stats(&mut response);
        self.unset_level(&mut response);
        if kind == RpcCommandKind::Compact {
            self.recount(out);
        }
        if let Some(queued) = asked.queued.filter(|_| !response.is_vetoed()) {
            self.message_queued(queued, out);
        }
        self.account.is_streaming = self.client.machine.is_streaming();
        let given = list_length(&response);
        let disposition = match &response {
            RpcSuccess::Prompt(it) => it.data.as_ref().and_then(|data| data.disposition),
            _ => None,
        };
        let mut value = serde_json::to_value(Outbound::Response(response.into())).unwrap_or_default();
        if let Some(object) = value.as_object_mut() {
            object.insert(COMMAND.to_owned(), asked.kind.as_str().into());
        }
        if let Some(given) = &asked.given {
            let data = value.get("data").cloned().unwrap_or_default();
            self.announce(given, Ok(&data), out);
        }
        let def = self.to_client.response(asked.kind.as_str());
        let carried = def.and_then(|def| self.to_client.carry(def, value, &self.account));
        if let (Some(given), Some(carried)) = (given, &carried) {
            let shown = carried.pointer(MESSAGES).and_then(Value::as_array).map_or(given, Vec::len);
            self.account.hidden_messages = given.saturating_sub(shown) as u64;
        }
        let is_after_end =
            matches!(kind.ended_work(), Some(EndedWork::Run | EndedWork::Retry)) && self.is_probing();
        match carried.map(|carried| typed::<Outbound>(&carried)) {
            Some(Ok(frame)) if is_after_end => self.delayed.push(frame),
            Some(Ok(frame)) if !frame.is_refused(self.client.base()) => self.emit(frame, out),
            _ => {
                let text = format!("the server's response to `{kind}` cannot be said in this dialect");
                return self.fail_command(id, asked.kind, &text, out);
            }
        }
        if is_replaced {
            self.list_commands(out);
            self.keep_host_tools(out);
        }
        if asked.kind == RpcCommandKind::Prompt && !asked.is_queued {
            self.prompt_accepted(id, disposition == Some(PromptDisposition::Handled), out);
        }
    }

    /// An error response.
    pub(crate) fn server_failed(&mut self, error: RpcErrorResponse, out: &mut Output) {
        let text = self.errors.carry(&error.error);
        let named = RpcCommandKind::parse(&error.command);
        let open = match error.id.as_ref().filter(|id| **id != RequestId::Null) {
            Some(id) => self.take_open(Some(id), named),
            None => self.take_origin(&error),
        };
        let Some(OpenCommand { id, origin, is_answered, .. }) = open else {
            return out.notices.push(format!("an error of the server was dropped: {text}"));
        };
        match origin {
            Origin::Client(_) if is_answered && !answers_twice(self.client.dialect) => {
                out.notices.push(format!("a prompt failed after its success response: {text}"));
            }
            Origin::Client(asked) => {
                if let Some(given) = &asked.given {
                    self.announce(given, Err(&text), out);
                }
                let response = match self.client.dialect.record().error_style {
                    DialectErrorStyle::Echo => RpcErrorResponse {
                        id,
                        command: asked.kind.as_str().to_owned(),
                        error: text,
                        code: None,
                    },
                    DialectErrorStyle::Parse => RpcErrorResponse {
                        id: None,
                        command: "parse".to_owned(),
                        error: errors::parse(self.client.base(), &text),
                        code: None,
                    },
                };
                self.emit(Outbound::Response(response.into()), out);
            }
            // The step was not needed, or is not possible; what follows it says so itself.
            Origin::Step(next, asked) => {
                self.waiting.push_back(WaitingCommand { command: *next, origin: Origin::Client(asked) });
            }
            Origin::Probe(_) | Origin::List | Origin::Own => {}
        }
    }

    /// Takes the open command that a response with this id answers.
    fn take_open(&mut self, id: Option<&RequestId>, kind: Option<RpcCommandKind>) -> Option<OpenCommand> {
        let answers =
            |open: &OpenCommand| open.id.as_ref() == id && kind.is_none_or(|kind| kind == open.kind);
        let at = self.open.iter().position(answers)?;
        Some(self.take_at(at))
    }

    /// Takes the open command that an error without an id most likely answers.
    fn take_origin(&mut self, error: &RpcErrorResponse) -> Option<OpenCommand> {
        let open = self.open.iter().map(|open| (open.number, open.kind));
        let number = self.server.dialect.origin_of_error(error, open)?;
        let at = self.open.iter().position(|open| open.number == number)?;
        Some(self.take_at(at))
    }

    fn take_at(&mut self, at: usize) -> OpenCommand {
        let is_kept = self.open[at].kind == RpcCommandKind::Prompt
            && answers_twice(self.server.dialect)
            && !self.open[at].is_answered;
        if !is_kept {
            return self.open.remove(at);
        }
        let number = self.open[at].number;
        // Of prompts that were answered once, the newest alone may be answered again.
        self.open.retain(|open| !open.is_answered || open.number == number);
        let mut taken = self.open[at.min(self.open.len() - 1)].clone();
        for open in self.open.iter_mut().filter(|open| open.number == number) {
            open.is_answered = true;
            taken = OpenCommand { is_answered: false, ..open.clone() };
        }
        taken
    }
}

/// Whether a prompt is accepted at once, and may fail after that.
pub fn answers_twice(dialect: Dialect) -> bool {
    dialect.record().prompt_ack == DialectPromptAck::ImmediateThenMaybeError
}

/// Number of messages in a response that lists all of them.
fn list_length(response: &RpcSuccess) -> Option<usize> {
    match response {
        RpcSuccess::GetMessages(it) => Some(it.data.messages.len()),
        _ => None,
    }
}

const COMMAND: &str = "command";

const MESSAGES: &str = "/data/messages";
