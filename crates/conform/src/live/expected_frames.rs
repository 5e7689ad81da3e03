//! The frames that a step waits for, in any order.

use pi_rpc_scenario::Pattern;
use serde_json::Value;

/// The most characters of a frame in an error text.
const MAX_CHARACTERS: usize = 200;

/// The patterns of a step, each with the frame that has matched.
pub(super) struct ExpectedFrames(Vec<(Pattern, Option<Value>)>);

impl ExpectedFrames {
    pub fn new(patterns: impl IntoIterator<Item = Pattern>) -> Self {
        Self(patterns.into_iter().map(|pattern| (pattern, None)).collect())
    }

    pub fn is_complete(&self) -> bool {
        self.0.iter().all(|(_, found)| found.is_some())
    }

    /// Takes a frame that fits an unmatched pattern; returns any other frame.
    pub fn take(&mut self, frame: Value) -> Option<Value> {
        let place = self.0.iter_mut().find(|(pattern, found)| found.is_none() && pattern.fits(&frame));
        match place {
            Some((_, found)) => {
                *found = Some(frame);
                None
            }
            None => Some(frame),
        }
    }

    /// The unmatched patterns, as text.
    pub fn missing(&self) -> String {
        let missing = self.0.iter().filter(|(_, found)| found.is_none());
        missing.map(|(pattern, _)| pattern.to_string()).collect::<Vec<_>>().join(" and ")
    }

    /// The matched frames, in the order of the patterns.
    pub fn found(self) -> Vec<Value> {
        self.0.into_iter().filter_map(|(_, found)| found).collect()
    }
}

/// The text of a frame, shortened.
pub(super) fn shortened(frame: &Value) -> String {
    let text = frame.to_string();
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
