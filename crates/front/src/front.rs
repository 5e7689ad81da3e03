//! [`Front`]: the two sides, and what waits between them.

use crate::{
    account::Account,
    bridges::bridges,
    ends::RunEnds,
    errors::ErrorTexts,
    events::has_nested_calls,
    host_tools::HostTools,
    listed_commands::list_command,
    plan::Plan,
    queues::{QueuedText, Queues},
    responses::answers_twice,
    tool_order::ToolOrder,
    totals::{StatsBridge, Totals},
};
use pi_rpc_machine::{Machine, State};
use pi_rpc_protocol::{
    AgentSessionEventKind, AssistantMessage, Base, ChunkReassembler, Dialect, DialectEndOfInput,
    DialectMessageUpdate, DialectReady, DialectVersion, Emission, Encoder, FromJson,
    NegotiateProtocolCommand, Outbound, ReadyFrame, ReassembledLine, RequestId, RpcCommand, RpcCommandKind,
    Update, from_value,
};
use serde_json::{Map, Value};
use std::collections::VecDeque;

/// Whether frames of one dialect are frames of the other, so that bytes can pass as they are.
pub fn is_same_wire(one: Dialect, other: Dialect) -> bool {
    one.base() == other.base()
}

/// What is to be written after a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Lines for the client, with their line feeds.
    pub to_client: Vec<u8>,
    /// Lines for the server, with their line feeds.
    pub to_server: Vec<u8>,
    /// Texts for people: frames that could not be carried.
    pub notices: Vec<String>,
    /// Whether the server's input is to be closed.
    pub closes_input: bool,
}

/// A client and a server of different dialects.
pub struct Front {
    pub(crate) server: Side,
    pub(crate) client: Side,
    pub(crate) spoken: DialectVersion,
    pub(crate) to_client: Plan,
    pub(crate) to_server: Plan,
    pub(crate) errors: ErrorTexts,
    pub(crate) encoder: Encoder,
    pub(crate) chunks: ChunkReassembler,
    pub(crate) account: Account,
    /// Commands that the server has not answered, in the order of sending.
    pub(crate) open: Vec<OpenCommand>,
    /// Commands that the client may give now, but that the server would refuse in its state.
    pub(crate) waiting: VecDeque<WaitingCommand>,
    pub(crate) ends: RunEnds,
    /// Version of the protocol that the client has negotiated.
    pub(crate) negotiated: Option<u64>,
    pub(crate) frames_in_chunks: u64,
    /// Frames for the client that come earlier than its chart has them.
    pub(crate) late: VecDeque<Outbound>,
    /// The assistant message that is open for the client, without its content.
    pub(crate) partial: Option<AssistantMessage>,
    /// The end of a block, whose snapshot is complete with the message.
    pub(crate) last_step: Option<Update>,
    /// Whether snapshots have members that the server's deltas lack.
    pub(crate) completes_snapshots: bool,
    pub(crate) tools: ToolOrder,
    /// Whether the server accepts a prompt before it refuses it, and the client's own server does not.
    pub(crate) accepts_first: bool,
    /// Events of calls that another call has made, if the client knows of none.
    pub(crate) drops_nested: bool,
    pub(crate) queues: Queues,
    pub(crate) host_tools: HostTools,
    /// The server's command for what the client's dialect announces: the slash commands.
    pub(crate) lists_commands_by: Option<RpcCommandKind>,
    pub(crate) stats: StatsBridge,
    /// Ids of the prompts for which a `prompt_result` is due.
    pub(crate) prompts: Vec<Option<RequestId>>,
    /// Of the messages in memory, once they are listed for statistics.
    pub(crate) listed: Option<Totals>,
    /// Of the messages of the session that have been seen.
    pub(crate) seen: Totals,
    /// The last announcement of each event that only reports changes.
    pub(crate) announced: Vec<(AgentSessionEventKind, Map<String, Value>)>,
    /// Responses to commands that end work, which come behind its end.
    pub(crate) delayed: Vec<Outbound>,
    pub(crate) commands_sent: u64,
    next_own: u64,
    input_has_ended: bool,
}

/// One of the two sides.
pub struct Side {
    pub dialect: Dialect,
    pub machine: Machine,
}

/// A command that the server has not answered.
#[derive(Clone, Debug)]
pub struct OpenCommand {
    pub number: u64,
    pub id: Option<RequestId>,
    /// The command of the server.
    pub kind: RpcCommandKind,
    pub origin: Origin,
    /// Whether it was answered, in dialects that answer a prompt twice.
    pub is_answered: bool,
}

/// A command that waits until the server accepts it.
#[derive(Debug)]
pub struct WaitingCommand {
    pub command: RpcCommand,
    pub origin: Origin,
}

/// A command of the client.
#[derive(Clone, Debug)]
pub struct ClientCommand {
    /// The command as the client calls it.
    pub kind: RpcCommandKind,
    /// The command itself, if events announce what it has done.
    pub given: Option<RpcCommand>,
    /// Its text, if it goes to a queue.
    pub queued: Option<QueuedText>,
    /// Whether the client's own server would queue its message.
    pub is_queued: bool,
}

impl ClientCommand {
    /// `is_queued`: whether the client's own server would queue its message.
    pub fn new(command: &RpcCommand, is_queued: bool) -> Self {
        let kind = command.kind();
        let is_announced = bridges().announcements.iter().any(|it| it.command == kind.as_str());
        Self {
            kind,
            given: is_announced.then(|| command.clone()),
            queued: QueuedText::of(command, is_queued),
            is_queued,
        }
    }
}

/// Where a command comes from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The client has given this command.
    Client(Box<ClientCommand>),
    /// The front asks whether anything goes on, at this count of events.
    Probe(u64),
    /// A step before this command, which does what the client has asked for.
    Step(Box<RpcCommand>, Box<ClientCommand>),
    /// The front asks for the slash commands.
    List,
    /// The front's own, whose response changes nothing.
    Own,
}

impl Side {
    fn new(dialect: Dialect) -> Self {
        Self { dialect, machine: Machine::new(dialect, false) }
    }

    pub fn base(&self) -> Base {
        self.dialect.base()
    }
}

impl Front {
    /// A front for a server of one dialect, possibly an older version of it, and a client of another.
    pub fn new(server: DialectVersion, client: Dialect) -> Self {
        let (from, to) = (server.base(), client.base());
        let snapshots = |dialect: Dialect| dialect.record().message_update == DialectMessageUpdate::Snapshot;
        Self {
            server: Side::new(server.dialect),
            client: Side::new(client),
            spoken: server,
            to_client: Plan::new(from, to),
            to_server: Plan::new(to, from),
            errors: ErrorTexts::new(from, to),
            encoder: Encoder::new(client),
            chunks: ChunkReassembler::new(server.dialect),
            account: Account::new(client),
            open: Vec::new(),
            waiting: VecDeque::new(),
            ends: RunEnds::new(server.dialect, client),
            negotiated: None,
            frames_in_chunks: 0,
            late: VecDeque::new(),
            partial: None,
            last_step: None,
            completes_snapshots: snapshots(client) && !snapshots(server.dialect),
            tools: ToolOrder::new(server.dialect, client),
            accepts_first: answers_twice(server.dialect) && !answers_twice(client),
            drops_nested: !has_nested_calls(to),
            queues: Queues::new(from, to),
            host_tools: HostTools::new(from, to),
            lists_commands_by: list_command(from, to),
            stats: StatsBridge::new(server.dialect, client),
            prompts: Vec::new(),
            listed: None,
            seen: Totals::default(),
            announced: Vec::new(),
            delayed: Vec::new(),
            commands_sent: 0,
            next_own: 0,
            input_has_ended: false,
        }
    }

    /// What is written before the first line.
    pub fn start(&mut self, out: &mut Output) {
        let record = self.client.dialect.record();
        if record.ready != DialectReady::None {
            let (limits, versions) = (&record.frame_limits, &record.protocol_versions);
            let supported = [versions.first, versions.chunks].into_iter().flatten();
            let mut ready = Outbound::ReadyFrame(ReadyFrame {
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
                protocol_version: versions.first,
                supported_protocol_versions: Some(supported.map(|it| it as i64).collect()),
                max_frame_bytes: limits.frame,
                max_reassembled_frame_bytes: limits.reassembled,
            });
            pi_rpc_protocol::Check::fit(&mut ready, self.client.base());
            self.emit(ready, out);
        }
        // Whole frames, in chunks if need be; without it, large ones are cut down.
        if let Some(version) = self.server.dialect.record().protocol_versions.chunks {
            let command = NegotiateProtocolCommand { id: None, protocol_version: version };
            self.send_own(command.into(), Origin::Own, out);
        }
        self.list_commands(out);
    }

    /// The states in which the client and the server are.
    pub fn states(&self) -> (State, State) {
        (self.client.machine.state(), self.server.machine.state())
    }

    /// Takes the end of the client's input.
    pub fn end_of_input(&mut self, out: &mut Output) {
        self.input_has_ended = true;
        self.client.machine.end_of_input();
        self.close_if_done(out);
    }

    /// Closes the server's input, unless the client's own server would finish work that this server aborts.
    pub(crate) fn close_if_done(&self, out: &mut Output) {
        let end = |side: &Side| side.dialect.record().end_of_input;
        let finishes =
            end(&self.client) == DialectEndOfInput::Finish && end(&self.server) != DialectEndOfInput::Finish;
        let is_busy =
            || !self.waiting.is_empty() || self.open.iter().any(|it| !it.is_answered) || !self.is_idle();
        // The client has gone: nobody answers an open dialog, and its run would never end.
        let has_dialog = self.server.machine.state().dialogs > 0;
        // A command that is several of the server was read before the end.
        let has_step = self.open.iter().any(|it| matches!(it.origin, Origin::Step(..)));
        if self.input_has_ended && (has_dialog || !(has_step || finishes && is_busy())) {
            out.closes_input = true;
        }
    }

    fn is_idle(&self) -> bool {
        self.server.machine.flow() == pi_rpc_protocol::FlowState::Idle
    }

    /// Takes a line of the server.
    pub fn server_line(&mut self, line: &[u8], out: &mut Output) {
        match self.chunks.take(line) {
            Ok(ReassembledLine::Whole) => self.server_frame(line, out),
            Ok(ReassembledLine::Piece) => {}
            Ok(ReassembledLine::Frame(frame)) => self.server_frame(&frame, out),
            Err(error) => out.notices.push(format!("a chunk of the server: {error}")),
        }
        self.release_waiting(out);
        self.close_if_done(out);
    }

    /// Writes a frame to the client.
    pub(crate) fn emit(&mut self, frame: Outbound, out: &mut Output) {
        self.emit_emission(&Emission::Frame(frame), out);
    }

    pub(crate) fn emit_emission(&mut self, emission: &Emission, out: &mut Output) {
        self.client.machine.outbound(emission);
        let from = out.to_client.len();
        self.encoder.encode(emission, &mut out.to_client);
        self.split_large_frame(from, out);
    }

    /// Splits what was written behind `from` into chunks, if the client has negotiated them and it is too large.
    fn split_large_frame(&mut self, from: usize, out: &mut Output) {
        let record = self.client.dialect.record();
        let (Some(limit), Some(size)) = (record.frame_limits.frame, record.frame_limits.chunk) else {
            return;
        };
        let length = out.to_client.len() - from;
        if self.negotiated.is_none()
            || self.negotiated != record.protocol_versions.chunks
            || length as u64 <= limit
        {
            return;
        }
        self.frames_in_chunks += 1;
        let id = format!("frame-{}", self.frames_in_chunks);
        let mut frame = out.to_client.split_off(from);
        frame.pop();
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        out.to_client.extend(pi_rpc_protocol::split_frame(&frame, &id, size));
    }

    /// Writes a frame that is a value; one that the client's dialect refuses is dropped with a notice.
    pub(crate) fn emit_value(&mut self, value: &Value, out: &mut Output) -> bool {
        match typed::<Outbound>(value) {
            Ok(frame) if !pi_rpc_protocol::Check::is_refused(&frame, self.client.base()) => {
                self.emit(frame, out);
                true
            }
            Ok(_) => {
                self.note_lost(value, "a member that the client's dialect wants is missing", out);
                false
            }
            Err(error) => {
                self.note_lost(value, &error, out);
                false
            }
        }
    }

    fn note_lost(&self, value: &Value, reason: &str, out: &mut Output) {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
        out.notices.push(format!("a `{kind}` frame of the server was dropped: {reason}"));
    }

    /// Sends a command of the front's own.
    pub(crate) fn send_own(&mut self, mut command: RpcCommand, origin: Origin, out: &mut Output) {
        self.next_own += 1;
        command.set_id(RequestId::from(format!("{OWN_IDS}{}", self.next_own).as_str()));
        self.send(command, origin, out);
    }
}

/// Beginning of the ids of the front's own commands.
pub const OWN_IDS: &str = "pi-rpc-front-";

/// A value as a type.
pub fn typed<T: FromJson>(value: &Value) -> Result<T, String> {
    from_value(value).map_err(|error| error.to_string())
}
