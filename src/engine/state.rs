//! What the engine tells of itself.

use super::Engine;
use crate::{
    protocol::{
        AgentMessage, AssistantContent, DialectStreamingFlag, SessionState, SessionStats, StopReason, number,
    },
    session::totals,
};

impl Engine {
    /// The answer to `get_state`.
    pub(super) fn session_state(&self) -> SessionState {
        let pending = Some(self.queued() as u64);
        let is_streaming = match self.dialect.record().streaming_flag {
            DialectStreamingFlag::Run => self.run.is_some(),
            DialectStreamingFlag::Busy => self.is_working(),
        };
        SessionState {
            model: Some(self.models[self.model].model.clone()),
            thinking_level: self.level,
            is_streaming,
            is_compacting: self.compacting.is_some(),
            steering_mode: self.steering.mode,
            follow_up_mode: self.follow_up.mode,
            interrupt_mode: Some(self.interrupt),
            session_file: self.session_file(),
            session_id: self.session.id().to_owned(),
            session_name: self.session.name(),
            auto_compaction_enabled: self.auto_compaction,
            message_count: self.session.messages().len() as u64,
            pending_message_count: pending,
            queued_message_count: pending,
            todo_phases: Some(self.todos.view()),
            system_prompt: None,
            dump_tools: None,
        }
    }

    /// The answer to `get_session_stats`.
    pub(super) fn session_stats(&self) -> SessionStats {
        let totals = totals(self.session.messages());
        SessionStats {
            session_file: self.session_file(),
            session_id: self.session.id().to_owned(),
            user_messages: totals.user,
            assistant_messages: totals.assistant,
            tool_calls: totals.calls,
            tool_results: totals.results,
            total_messages: totals.all,
            tokens: totals.tokens,
            cost: number(totals.cost),
            premium_requests: Some(0.into()),
        }
    }

    /// The text of the newest assistant message, if it has any; aborted ones without content do not count.
    pub(super) fn last_text(&self) -> Option<String> {
        let newest = self.session.messages().iter().rev().find_map(|message| match message.as_ref() {
            AgentMessage::Assistant(it) if it.stop_reason == StopReason::Aborted && it.content.is_empty() => {
                None
            }
            AgentMessage::Assistant(it) => {
                let texts = it.content.iter().filter_map(|block| match block {
                    AssistantContent::Text(text) => Some(text.text.as_str()),
                    _ => None,
                });
                Some(texts.collect::<String>().trim().to_owned())
            }
            _ => None,
        });
        newest.filter(|text| !text.is_empty())
    }

    /// A run, or what leads to one: a prompt that is looked at, a wait for another try, a compaction.
    pub(super) fn is_working(&self) -> bool {
        self.is_under_way() || self.is_preparing()
    }

    /// A run, a wait for another try, or a compaction.
    pub(super) const fn is_under_way(&self) -> bool {
        self.run.is_some() || self.wait.is_some() || self.compacting.is_some()
    }

    fn session_file(&self) -> Option<String> {
        self.session.file().map(|path| path.to_string_lossy().into_owned())
    }
}
