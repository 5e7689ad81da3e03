//! Moves responses behind later events.

use pi_rpc_protocol::{AgentSessionEventKind, RpcCommandKind};
use serde::Deserialize;
use std::borrow::Cow;

/// Most frames that a response is moved by.
const LATER: usize = 6;

/// Moves responses to `commands` behind up to [`LATER`] events, never behind another response. Returns how many were moved.
pub fn delay(lines: &mut [&[u8]], commands: &[RpcCommandKind], random: &mut fastrand::Rng) -> u64 {
    let mut delayed = 0;
    // From the end on, so that a moved response is not met again.
    for at in (0..lines.len()).rev() {
        let Some((line, rest)) = lines.get_mut(at..).and_then(|tail| tail.split_first_mut()) else {
            continue;
        };
        let Some(command) = ResponseLine::of(line).succeeded().filter(|kind| commands.contains(kind)) else {
            continue;
        };
        // Behind the end of the run that the prompt is queued in, its response would announce a run of its own.
        let stays = |head: &ResponseLine| {
            command == RpcCommandKind::Prompt && head.kind == AgentSessionEventKind::AgentEnd.as_str()
        };
        let heads = rest.iter().map(|line| ResponseLine::of(line));
        let events = heads.take_while(|head| head.is_event() && !stays(head)).count();
        let later = random.usize(0..=events.min(LATER));
        if let Some(moved) = lines.get_mut(at..=at + later) {
            moved.rotate_left(1);
        }
        delayed += u64::from(later > 0);
    }
    delayed
}

/// The members of a frame that decide.
#[derive(Default, Deserialize)]
struct ResponseLine<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    command: Cow<'a, str>,
    #[serde(default)]
    success: bool,
}

impl<'a> ResponseLine<'a> {
    fn of(line: &'a [u8]) -> Self {
        serde_json::from_slice(line).unwrap_or_default()
    }

    /// The command whose success this is.
    fn succeeded(&self) -> Option<RpcCommandKind> {
        (self.kind == "response" && self.success).then(|| RpcCommandKind::parse(&self.command)).flatten()
    }

    fn is_event(&self) -> bool {
        self.kind != "response"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_response_is_never_behind_its_run() {
        let answer: &[u8] = br#"{"type":"response","command":"prompt","success":true}"#;
        let (start, end): (&[u8], &[u8]) = (br#"{"type":"agent_start"}"#, br#"{"type":"agent_end"}"#);
        let sunk = |lines: [&'static [u8]; 3], seed| {
            let mut lines = lines;
            delay(&mut lines, &[RpcCommandKind::Prompt], &mut fastrand::Rng::with_seed(seed));
            lines
        };
        let places = |lines: [&'static [u8]; 3]| {
            let at = |seed| sunk(lines, seed).iter().position(|line| *line == answer);
            (0..100).filter_map(at).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(places([answer, start, end]), [0, 1].into());
        assert_eq!(places([answer, end, start]), [0].into());
    }
}
