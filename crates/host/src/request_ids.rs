//! Routes responses to the client that wrote the command: every command gets an id of its own on its way in, and its
//! client's id back on the way out, so that the ids of two clients cannot be confused.

use super::{metrics::METRICS, watcher::ClientId};
use memchr::memmem;
use pi_rpc_engine::Input;
use pi_rpc_protocol::{Inbound, Outbound, RequestId};
use std::{
    collections::{HashMap, VecDeque},
    time::Instant,
};

struct KnownCommand {
    client: ClientId,
    /// The client's own id.
    given: Option<RequestId>,
    kind: &'static str,
    /// When it came; `None`: it has been responded to.
    since: Option<Instant>,
}

/// The commands that may still be responded to.
#[derive(Default)]
pub struct RequestIds {
    next: u64,
    known: HashMap<u64, KnownCommand>,
    /// Commands that have been responded to, oldest first: some dialects respond to a prompt twice.
    answered: VecDeque<u64>,
    /// Clients of lines that are no frames, in order. Their responses may have no id.
    bad_lines: VecDeque<ClientId>,
}

/// Beginning of the ids that the engine sees.
const PREFIX: &str = "pi-rpc-host:";

/// An id as frames have it, up to its number.
const MEMBER: &[u8] = b"\"id\":\"pi-rpc-host:";

/// Bytes from the beginning of a frame in which its `id` is found: `type` may come before it.
const ID_WITHIN: usize = 64;

/// Answered commands that are kept.
const MAX_ANSWERED: usize = 1024;

impl RequestIds {
    /// Replaces the id of a command by one of our own.
    pub fn assign(&mut self, input: &mut Input, client: ClientId) {
        match input {
            Input::Frame(frame) => {
                let Inbound::Command(command) = &mut **frame else { return };
                self.next += 1;
                let given = command.id().cloned();
                command.set_id(RequestId::String(format!("{PREFIX}{}", self.next)));
                let (kind, since) = (command.kind().as_str(), Some(Instant::now()));
                self.known.insert(self.next, KnownCommand { client, given, kind, since });
            }
            Input::BadLine(error) if error.is_answered() => self.bad_lines.push_back(client),
            _ => {}
        }
    }

    /// How many commands have not been responded to.
    pub fn outstanding(&self) -> usize {
        self.known.len().saturating_sub(self.answered.len())
    }

    /// Whether an id was given here.
    pub fn is_ours(id: &str) -> bool {
        id.starts_with(PREFIX)
    }

    /// The client that an encoded frame is for, with its own id put back into the line. `None`: for every client.
    pub fn restore(&mut self, frame: &Outbound, line: &mut Vec<u8>) -> Option<ClientId> {
        let is_response = matches!(frame, Outbound::Response(_));
        let Some(at) = memmem::find(&line[..line.len().min(ID_WITHIN)], MEMBER) else {
            return if is_response { self.bad_lines.pop_front() } else { None };
        };
        let digits = line[at + MEMBER.len()..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = str::from_utf8(&line[at + MEMBER.len()..][..digits]).ok()?.parse().ok()?;
        let KnownCommand { client, given, kind, since } = self.known.get_mut(&number)?;
        let client = *client;
        // The quotation mark and the comma; an `id` is never the last member.
        let end = at + MEMBER.len() + digits + 2;
        let given = given.as_ref().and_then(|id| serde_json::to_string(id).ok());
        let given = given.map(|id| format!("\"id\":{id},")).unwrap_or_default();
        line.splice(at..end, given.into_bytes());
        if is_response {
            // A second response to a prompt reports its end.
            since.take().into_iter().for_each(|since| METRICS.command(kind, since.elapsed()));
            self.answered.push_back(number);
            if self.answered.len() > MAX_ANSWERED
                && let Some(oldest) = self.answered.pop_front()
            {
                self.known.remove(&oldest);
            }
        }
        Some(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_rpc_protocol::{
        AbortResponse, Dialect, Encoder, RpcErrorResponse, RpcResponse, RpcSuccess, errors, read_line,
    };

    fn command(ids: &mut RequestIds, client: ClientId, line: &str) -> RequestId {
        let read = read_line(line.as_bytes(), Dialect::Pi1).unwrap().unwrap();
        let mut input = Input::Frame(Box::new(read));
        ids.assign(&mut input, client);
        let Input::Frame(frame) = input else { panic!("another input") };
        let Inbound::Command(command) = *frame else { panic!("another frame") };
        command.id().unwrap().clone()
    }

    fn restored(ids: &mut RequestIds, frame: impl Into<Outbound>) -> (Option<ClientId>, String) {
        let frame = frame.into();
        let mut line = Vec::new();
        Encoder::encode_frame(&frame, &mut line);
        let client = ids.restore(&frame, &mut line);
        (client, String::from_utf8(line).unwrap())
    }

    fn success(id: &RequestId) -> Outbound {
        RpcResponse::from(RpcSuccess::from(AbortResponse { id: Some(id.clone()) })).into()
    }

    #[test]
    fn each_client_gets_its_own_id() {
        let mut ids = RequestIds::default();
        let first = command(&mut ids, 1, r#"{"type":"abort","id":"7"}"#);
        let second = command(&mut ids, 2, r#"{"type":"abort","id":7}"#);
        let third = command(&mut ids, 2, r#"{"type":"abort"}"#);
        let line =
            |id: &str| format!("{{{id}\"type\":\"response\",\"command\":\"abort\",\"success\":true}}\n");
        assert_eq!(restored(&mut ids, success(&third)), (Some(2), line("")));
        assert_eq!(restored(&mut ids, success(&second)), (Some(2), line("\"id\":7,")));
        assert_eq!(restored(&mut ids, success(&first)), (Some(1), line("\"id\":\"7\",")));
        assert_eq!(restored(&mut ids, success(&first)).0, Some(1), "a second response has the same client");
    }

    #[test]
    fn bad_lines_are_answered_in_order() {
        let mut ids = RequestIds::default();
        for client in [2, 1] {
            let error = read_line(b"{", Dialect::Pi1).unwrap_err();
            ids.assign(&mut Input::BadLine(error), client);
        }
        let response = || {
            let error = errors::parse(Dialect::Pi1.base(), "x");
            RpcResponse::from(RpcErrorResponse { id: None, command: "parse".to_owned(), error, code: None })
        };
        let event =
            pi_rpc_protocol::AgentSessionEvent::from(pi_rpc_protocol::AgentSettledEvent { aborted: None });
        assert_eq!(restored(&mut ids, event).0, None, "an event answers nobody");
        assert_eq!(restored(&mut ids, response()).0, Some(2));
        assert_eq!(restored(&mut ids, response()).0, Some(1));
    }
}
