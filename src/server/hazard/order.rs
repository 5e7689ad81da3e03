//! Responses behind events that came after them.

use crate::protocol::RpcCommandKind;
use serde::Deserialize;
use std::borrow::Cow;

/// The most frames that one response comes later.
const LATER: usize = 6;

/// Lets responses to these commands sink behind events: never behind another response, nor by much.
pub fn sink(lines: &mut [&[u8]], commands: &[RpcCommandKind], random: &mut fastrand::Rng) {
    // From the end on, so that one that has sunk is not met again.
    for at in (0..lines.len()).rev() {
        let Some((line, rest)) = lines.get_mut(at..).and_then(|tail| tail.split_first_mut()) else {
            continue;
        };
        let is_asked = |kind: RpcCommandKind| commands.contains(&kind);
        if !Head::of(line).succeeded().is_some_and(is_asked) {
            continue;
        }
        let events = rest.iter().take_while(|line| Head::of(line).is_event()).count();
        let later = random.usize(0..=events.min(LATER));
        if let Some(moved) = lines.get_mut(at..=at + later) {
            moved.rotate_left(1);
        }
    }
}

#[derive(Default, Deserialize)]
struct Head<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    command: Cow<'a, str>,
    #[serde(default)]
    success: bool,
}

impl<'a> Head<'a> {
    fn of(line: &'a [u8]) -> Self {
        serde_json::from_slice(line).unwrap_or_default()
    }

    /// The command that was done.
    fn succeeded(&self) -> Option<RpcCommandKind> {
        (self.kind == "response" && self.success).then(|| RpcCommandKind::parse(&self.command)).flatten()
    }

    fn is_event(&self) -> bool {
        self.kind != "response"
    }
}
