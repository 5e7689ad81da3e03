//! What the rules of a script match against, from the engine's conversation. `mock::prompt_context` has the same for
//! requests that come by HTTP.

use pi_rpc_engine::ModelCall;
use pi_rpc_model::scripted::ToolText;
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, DeveloperMessage, MessageContent, UserContent, UserMessage,
};
use std::sync::Arc;

/// Prompt and tool results of the conversation so far; each call adds only its new messages.
#[derive(Debug, Default)]
pub struct ScriptContext {
    /// The text of the newest prompt.
    pub prompt: String,
    /// Tool results since that prompt.
    pub results: Vec<ToolText>,
    /// Characters of all messages.
    pub chars: usize,
    session: String,
    count: usize,
    last: Option<Arc<AgentMessage>>,
}

impl ScriptContext {
    /// Adds the messages of a call since the last one, or all if the conversation does not continue that.
    pub fn update(&mut self, call: &ModelCall) {
        let before = self.count.checked_sub(1).and_then(|at| call.messages.get(at));
        let goes_on = before.zip(self.last.as_ref()).is_some_and(|(one, other)| Arc::ptr_eq(one, other));
        if !goes_on || self.session != call.session_id {
            *self = Self { session: call.session_id.clone(), ..Self::default() };
        }
        for message in &call.messages[self.count..] {
            self.note(message);
        }
        self.count = call.messages.len();
        self.last = call.messages.last().cloned();
    }

    fn note(&mut self, message: &AgentMessage) {
        let text = text_of(message);
        self.chars += text.chars().count();
        match message {
            AgentMessage::User(_) | AgentMessage::Developer(_) => {
                self.prompt = text;
                self.results.clear();
            }
            AgentMessage::ToolResult(result) => {
                let name = result.tool_name.clone();
                self.results.push(ToolText { name, text, is_error: result.is_error });
            }
            _ => {}
        }
    }
}

fn text_of(message: &AgentMessage) -> String {
    let join = |blocks: &[UserContent]| {
        let texts = blocks.iter().filter_map(|block| match block {
            UserContent::Text(text) => Some(text.text.as_str()),
            UserContent::Image(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    };
    match message {
        AgentMessage::User(UserMessage { content, .. })
        | AgentMessage::Developer(DeveloperMessage { content, .. }) => match content {
            MessageContent::Text(text) => text.clone(),
            MessageContent::Blocks(blocks) => join(blocks),
        },
        AgentMessage::ToolResult(result) => join(&result.content),
        AgentMessage::Assistant(answer) => {
            let texts = answer.content.iter().filter_map(|block| match block {
                AssistantContent::Text(text) => Some(text.text.as_str()),
                AssistantContent::Thinking(thinking) => Some(thinking.thinking.as_str()),
                AssistantContent::RedactedThinking(_) | AssistantContent::ToolCall(_) => None,
            });
            texts.collect()
        }
        AgentMessage::BashExecution(bash) => bash.output.clone(),
        AgentMessage::CompactionSummary(summary) => summary.model_text(),
        AgentMessage::BranchSummary(summary) => summary.model_text(),
        _ => String::new(),
    }
}
