//! Keeps frames within the limit of the dialect: cut down in the first version of the protocol, in chunks from the second on.
//!
//! Source: oh-my-pi source; observed.

use pi_rpc_protocol::{
    AgentEndEvent, AgentSessionEvent, AgentSessionEventKind, CUT_MARK, CUT_MEMBERS, Dialect, Emission,
    Encoder, Outbound, RequestId, RpcErrorResponse, RpcFrameError, RpcResponse, RpcSuccess, errors,
    split_frame,
};
use serde_json::{Map, Value};

/// Longest id that an error in place of a response repeats, in characters.
const MAX_ID: usize = 1024;

/// What is kept of a frame in each pass: UTF-16 units of a string, items of a list, members of an object.
const PASSES: [(usize, usize, usize); 7] = [
    (262_144, 512, 512),
    (65_536, 256, 256),
    (16_384, 128, 128),
    (4096, 64, 64),
    (1024, 32, 32),
    (256, 8, 16),
    (64, 1, 8),
];

/// Units of a shortened string that the note about it takes.
const NOTE: usize = 80;

/// The limiter of the frames of one process.
pub struct FrameLimiter {
    dialect: Dialect,
    /// Bytes of the longest line, with its line feed.
    frame: usize,
    /// Bytes of the longest frame in chunks.
    reassembled: usize,
    /// Bytes of a chunk.
    chunk: usize,
    sends_chunks: bool,
    /// Frames that were sent in chunks.
    chunked: u64,
}

impl FrameLimiter {
    /// Creates the limiter of a dialect; `None`: frames have no limit there.
    pub fn new(dialect: Dialect) -> Option<Self> {
        let limits = &dialect.record().frame_limits;
        let size = |bytes: Option<u64>| usize::try_from(bytes?).ok();
        Some(Self {
            dialect,
            frame: size(limits.frame)?,
            reassembled: size(limits.reassembled)?,
            chunk: size(limits.chunk)?,
            sends_chunks: false,
            chunked: 0,
        })
    }

    /// Whether a line of so many bytes, with its line feed, is over the limit.
    pub const fn is_exceeded(&self, bytes: usize) -> bool {
        bytes > self.frame
    }

    /// Whether the emission selects another version of the protocol.
    pub fn is_negotiation(emission: &Emission) -> bool {
        matches!(
            emission,
            Emission::Frame(Outbound::Response(RpcResponse::Success(RpcSuccess::NegotiateProtocol(_))))
        )
    }

    /// Follows a frame that is written: from the response to `negotiate_protocol` on, large frames are sent in chunks.
    pub fn follow(&mut self, emission: &Emission) {
        self.sends_chunks |= Self::is_negotiation(emission);
    }

    /// The lines in place of a line that is over the limit.
    pub fn limit(&mut self, line: &[u8]) -> Vec<u8> {
        let frame = line.strip_suffix(b"\n").unwrap_or(line);
        let Ok(Value::Object(whole)) = serde_json::from_slice::<Value>(frame) else { return line.to_vec() };
        let kind = whole.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        if kind == "response" && !self.sends_chunks {
            return self.refusal(&whole);
        }
        let mut cut = whole;
        if kind == AgentSessionEventKind::AgentEnd.as_str() {
            drop_sent_messages(&mut cut);
            let line = line_of(&cut);
            if !self.is_exceeded(line.len()) {
                return line;
            }
        }
        match self.sends_chunks {
            true => self.in_chunks(&cut, &kind),
            false => self.shrunk(&cut, &kind),
        }
    }

    fn in_chunks(&mut self, frame: &Map<String, Value>, kind: &str) -> Vec<u8> {
        let line = line_of(frame);
        let bytes = line.strip_suffix(b"\n").unwrap_or(&line);
        if bytes.len() > self.reassembled {
            return match kind {
                "response" => self.refusal(frame),
                _ => self.substitute(frame, kind),
            };
        }
        self.chunked += 1;
        split_frame(bytes, &format!("rpc-{}", self.chunked), self.chunk)
    }

    fn shrunk(&self, frame: &Map<String, Value>, kind: &str) -> Vec<u8> {
        let passes = PASSES.into_iter().map(|pass| line_of(&shrink_object(frame, pass)));
        let fitting = passes.into_iter().find(|line| !self.is_exceeded(line.len()));
        fitting.unwrap_or_else(|| self.substitute(frame, kind))
    }

    /// The error in place of a response that is too large.
    fn refusal(&self, response: &Map<String, Value>) -> Vec<u8> {
        let text = |member: &str| response.get(member).and_then(Value::as_str);
        let refusal = RpcErrorResponse {
            id: text("id").map(|id| RequestId::String(id.chars().take(MAX_ID).collect())),
            command: text("command").unwrap_or_default().to_owned(),
            error: errors::response_too_large(self.dialect.base()).to_owned(),
            code: None,
        };
        encoded(&Outbound::Response(refusal.into()))
    }

    /// The frame in place of an event that is too large even when it is cut down.
    fn substitute(&self, frame: &Map<String, Value>, kind: &str) -> Vec<u8> {
        let end = serde_json::from_value::<AgentEndEvent>(frame.clone().into()).ok();
        encoded(&match end.filter(|end| end.message_count.is_some()) {
            Some(end) => AgentSessionEvent::from(AgentEndEvent { messages: Vec::new(), ..end }).into(),
            None => Outbound::FrameError(RpcFrameError {
                original_type: Some(kind.to_owned()),
                error: errors::frame_too_large(self.dialect.base()).to_owned(),
            }),
        })
    }
}

fn encoded(frame: &Outbound) -> Vec<u8> {
    let mut line = Vec::new();
    Encoder::encode_frame(frame, &mut line);
    line
}

fn line_of(frame: &Map<String, Value>) -> Vec<u8> {
    let mut line = serde_json::to_vec(frame).unwrap_or_default();
    line.push(b'\n');
    line
}

/// Drops the messages at the beginning of the run that were sent in this form, and notes the number of all.
fn drop_sent_messages(end: &mut Map<String, Value>) {
    let Some(Value::Array(messages)) = end.get_mut("messages") else { return };
    let count = messages.len();
    // An assistant message was sent with the time of its end, which is not repeated.
    let sent = messages.iter().take_while(|message| message["role"] != "assistant").count();
    messages.drain(..sent);
    end.insert("messageCount".to_owned(), count.into());
}

fn shrink(value: &Value, pass: (usize, usize, usize)) -> Value {
    match value {
        Value::String(text) => shrink_text(text, pass.0).into(),
        Value::Array(items) => {
            let mut kept: Vec<Value> = items.iter().take(pass.1).map(|item| shrink(item, pass)).collect();
            if items.len() > pass.1 {
                kept.push(format!("…[{} items{CUT_MARK}", items.len() - pass.1).into());
            }
            kept.into()
        }
        Value::Object(members) => Value::Object(shrink_object(members, pass)),
        other => other.clone(),
    }
}

fn shrink_object(members: &Map<String, Value>, pass: (usize, usize, usize)) -> Map<String, Value> {
    let kept = members.iter().take(pass.2).map(|(key, value)| (key.clone(), shrink(value, pass)));
    let mut kept: Map<String, Value> = kept.collect();
    if members.len() > pass.2 {
        kept.insert(CUT_MEMBERS.to_owned(), (members.len() - pass.2).into());
    }
    kept
}

fn shrink_text(text: &str, most: usize) -> String {
    let units = text.encode_utf16().count();
    if units <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(NOTE);
    let mut used = 0;
    let kept = text.chars().take_while(|letter| {
        used += letter.len_utf16();
        used <= room
    });
    let kept: String = kept.collect();
    let elided = units - kept.encode_utf16().count();
    format!("{kept}\n…[{elided} chars{CUT_MARK}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_rpc_protocol::{NegotiateProtocolResponse, NegotiatedProtocol};
    use serde_json::json;

    fn limiter() -> FrameLimiter {
        FrameLimiter::new(Dialect::Omp).expect("omp has a limit")
    }

    fn line(frame: &Value) -> Vec<u8> {
        let mut line = serde_json::to_vec(frame).expect("JSON");
        line.push(b'\n');
        line
    }

    fn negotiated() -> FrameLimiter {
        let mut limiter = limiter();
        let data = NegotiatedProtocol { protocol_version: 2 };
        let response = RpcSuccess::from(NegotiateProtocolResponse { id: None, data });
        limiter.follow(&Emission::Frame(Outbound::Response(response.into())));
        limiter
    }

    #[test]
    fn large_response_becomes_error() {
        let large = json!({
            "id": "r1", "type": "response", "command": "get_messages", "success": true, "data": "x".repeat(1_100_000),
        });
        let expected = json!({
            "id": "r1", "type": "response", "command": "get_messages", "success": false,
            "error": "RPC response exceeded the transport limit",
        });
        assert_eq!(limiter().limit(&line(&large)), line(&expected));
    }

    #[test]
    fn long_text_is_shortened() {
        let large = json!({ "type": "notice", "level": "info", "message": "é".repeat(700_000) });
        let text = "é".repeat(262_064);
        let expected = json!({
            "type": "notice", "level": "info", "message": format!("{text}\n…[437936 chars elided for RPC frame]"),
        });
        assert_eq!(limiter().limit(&line(&large)), line(&expected));
    }

    #[test]
    fn run_end_drops_sent_prompt() {
        let user = json!({ "role": "user", "content": "x".repeat(1_100_000) });
        let answer = json!({ "role": "assistant", "content": [] });
        let large = json!({ "type": "agent_end", "messages": [user, answer], "isTerminal": true });
        let expected =
            json!({ "type": "agent_end", "messages": [answer], "isTerminal": true, "messageCount": 2 });
        assert_eq!(limiter().limit(&line(&large)), line(&expected));
    }

    #[test]
    fn negotiated_version_sends_chunks() {
        let large = line(&json!({ "type": "notice", "level": "info", "message": "x".repeat(1_100_000) }));
        let expected = split_frame(&large[..large.len() - 1], "rpc-1", 262_144);
        assert_eq!(negotiated().limit(&large), expected);
    }

    #[test]
    fn frame_over_all_limits_is_named() {
        let large = line(&json!({ "type": "notice", "level": "info", "message": "x".repeat(67_200_000) }));
        let expected = json!({
            "type": "rpc_frame_error", "originalType": "notice", "error": "RPC frame exceeded the transport limit",
        });
        assert_eq!(negotiated().limit(&large), line(&expected));
    }
}
