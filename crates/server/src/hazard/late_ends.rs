//! Delays the ends of blocks to the end of their message, in dialects whose blocks may overlap.

use pi_rpc_protocol::{AgentSessionEventKind, AssistantMessageEventKind, RpcResponse, fires_anywhere};
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// Delayed ends of the partial message's blocks, as lines.
#[derive(Clone, Debug, Default)]
pub struct HeldEnds {
    held: Vec<Vec<u8>>,
    /// The newest update, whose snapshots the ends repeat in dialects that have some.
    last: Option<Vec<u8>>,
    delayed: u64,
    /// How many of those that are held were counted.
    overtaken: u64,
}

impl HeldEnds {
    /// How many ends came later than another frame.
    pub const fn delayed(&self) -> u64 {
        self.delayed
    }

    /// Takes a line; returns those that are due, in order.
    pub fn pass(&mut self, line: &[u8]) -> Vec<Vec<u8>> {
        let head: EventHead = serde_json::from_slice(line).unwrap_or_default();
        let change = head.change.map(|change| change.kind).unwrap_or_default();
        let ends_message = [AssistantMessageEventKind::Done, AssistantMessageEventKind::Error]
            .iter()
            .any(|it| it.as_str() == change);
        let is_update = head.kind == AgentSessionEventKind::MessageUpdate.as_str() && !ends_message;
        if is_update && change.ends_with("_end") {
            self.held.push(line.to_owned());
            self.last = Some(line.to_owned());
            return Vec::new();
        }
        if is_update || head.kind == RpcResponse::TYPE || fires_anywhere(&head.kind) {
            self.delayed += self.held.len() as u64 - self.overtaken;
            self.overtaken = self.held.len() as u64;
        }
        if is_update {
            self.last = Some(line.to_owned());
            return vec![line.to_owned()];
        }
        if head.kind == RpcResponse::TYPE || fires_anywhere(&head.kind) {
            return vec![line.to_owned()];
        }
        // Anything else may end the message.
        let last = self.last.take();
        self.overtaken = 0;
        let mut due: Vec<Vec<u8>> = self
            .held
            .drain(..)
            .map(|end| last.as_deref().map_or_else(|| end.clone(), |last| as_of(&end, last)))
            .collect();
        due.push(line.to_owned());
        due
    }
}

/// An end, with the snapshots of a later update.
fn as_of(end: &[u8], last: &[u8]) -> Vec<u8> {
    let (Ok(mut frame), Ok(last)) =
        (serde_json::from_slice::<Value>(end), serde_json::from_slice::<Value>(last))
    else {
        return end.to_owned();
    };
    for place in ["/message", "/assistantMessageEvent/partial", "/usage"] {
        if let (Some(own), Some(later)) = (frame.pointer_mut(place), last.pointer(place)) {
            own.clone_from(later);
        }
    }
    format!("{frame}\n").into_bytes()
}

/// The members of a frame that decide.
#[derive(Default, Deserialize)]
struct EventHead<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(rename = "assistantMessageEvent", borrow)]
    change: Option<Change<'a>>,
}

#[derive(Deserialize)]
struct Change<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ends_come_before_the_message_ends() {
        let update = |kind: &str, at: u64, text: &str| {
            json!({
                "type": "message_update", "assistantMessageEvent": { "type": kind, "contentIndex": at, "partial": text },
                "message": text,
            })
        };
        let (first, second) = (update("text_start", 0, "a"), update("toolcall_start", 1, "ab"));
        let end = json!({ "type": "message_end" });
        let mut ends = HeldEnds::default();
        let (answer, event) = (json!({ "type": "response" }), json!({ "type": "session_info_changed" }));
        let frames = [
            &first,
            &update("text_end", 0, "a"),
            &answer,
            &event,
            &second,
            &update("toolcall_end", 1, "abc"),
            &end,
        ];
        let passed = frames.iter().flat_map(|frame| ends.pass(format!("{frame}\n").as_bytes()));
        let passed: Vec<Value> = passed.map(|line| serde_json::from_slice(&line).unwrap()).collect();
        let due = [
            first.clone(),
            answer.clone(),
            event.clone(),
            second.clone(),
            update("text_end", 0, "abc"),
            update("toolcall_end", 1, "abc"),
            end.clone(),
        ];
        assert_eq!(passed, due);
        assert_eq!(ends.pass(b"{}\n"), [b"{}\n".to_vec()]);
    }
}
