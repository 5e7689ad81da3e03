//! Pairs tool results with their calls, to be shown together.

use std::collections::{HashMap, HashSet};

use pi_rpc_protocol::{AgentMessage, AssistantContent};

use super::view::PageView;

/// The results of a segment by their calls.
#[derive(Default)]
pub(super) struct Results {
    /// Entry of each result, by the entry of the answer and the index of the call among its blocks.
    of_calls: HashMap<(usize, usize), usize>,
    with_call: HashSet<usize>,
}

impl Results {
    /// Pairs the results of a segment: a result belongs to a call of the last answer before it, if no prompt is in
    /// between.
    pub fn of(view: &PageView<'_>, entries: &[usize]) -> Self {
        let mut results = Self::default();
        let mut open: HashMap<&str, (usize, usize)> = HashMap::new();
        for &entry in entries {
            match view.message(entry) {
                Some(AgentMessage::Assistant(message)) => {
                    open.clear();
                    for (block, content) in message.content.iter().enumerate() {
                        if let AssistantContent::ToolCall(call) = content {
                            open.entry(&call.id).or_insert((entry, block));
                        }
                    }
                }
                Some(AgentMessage::ToolResult(message)) => {
                    if let Some(call) = open.remove(message.tool_call_id.as_str()) {
                        results.of_calls.insert(call, entry);
                        results.with_call.insert(entry);
                    }
                }
                Some(AgentMessage::User(_)) => open.clear(),
                _ => {}
            }
        }
        results
    }

    /// The entry of a call's result, given the answer's entry and the call's index among its blocks.
    pub fn of_call(&self, answer: usize, block: usize) -> Option<usize> {
        self.of_calls.get(&(answer, block)).copied()
    }

    /// Whether an entry is a result that is shown with its call.
    pub fn is_shown_with_call(&self, entry: usize) -> bool {
        self.with_call.contains(&entry)
    }
}
