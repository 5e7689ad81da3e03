//! The state and the statistics of the session, for `get_state`, `get_session_stats` and extensions.

use crate::{core::Engine, run::compaction::Compaction};
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, Check as _, ContextUsage, DialectLastText, DialectStatsOver,
    DialectStreamingFlag, Model, SessionFacts, SessionHeader, SessionMember, SessionState, SessionStats,
    StopReason, number,
};
use pi_rpc_session::{
    compaction::{context_tokens, is_counted},
    totals,
};
use serde_json::Value;

/// Shortest request, in milliseconds, for which a speed is reported (observed).
const SPEED_FROM: f64 = 100.0;

/// Fill level for a model whose context window is not known.
const NO_CONTEXT: ContextUsage = ContextUsage { tokens: None, context_window: 0, percent: None };

impl Engine {
    /// The data of the response to `get_state`.
    pub(crate) fn session_state(&self) -> SessionState {
        let pending = Some(self.queued() as u64);
        let is_streaming = match self.dialect.record().streaming_flag {
            DialectStreamingFlag::Run => self.activity.is_streaming(),
            // A compaction requested by the host leads to no run.
            DialectStreamingFlag::Busy => {
                let on_request = |it: &Compaction| it.is_manual() && !it.has_prompt();
                self.is_working() && !self.activity.compaction().is_some_and(on_request)
            }
            // Also while a prompt waits for its compaction; not during one requested by the host.
            DialectStreamingFlag::Settled => {
                let compacts_first = self.activity.compaction().is_some_and(Compaction::has_prompt);
                self.series.chain.is_some() || self.activity.is_starting() || compacts_first
            }
        };
        // Messages of another dialect, which a session may hold, do not count.
        let base = self.dialect.base();
        let visible = self.store.session.roles().filter(|role| role.is_in(base));
        let facts = self.session_facts();
        SessionState {
            model: facts.model,
            thinking_level: facts.thinking_level,
            is_streaming,
            is_compacting: self.activity.compaction().is_some(),
            steering_mode: facts.steering_mode,
            follow_up_mode: facts.follow_up_mode,
            interrupt_mode: Some(facts.interrupt_mode),
            session_file: facts.session_file,
            session_id: facts.session_id,
            session_name: facts.session_name,
            auto_compaction_enabled: facts.auto_compaction_enabled,
            message_count: visible.count() as u64,
            pending_message_count: pending,
            queued_message_count: pending,
            has_pending_async_work: Some(false),
            is_settled: Some(self.is_settled()),
            todo_phases: Some(facts.todo_phases),
            system_prompt: None,
            dump_tools: None,
            fast_mode_enabled: Some(false),
            tokens_per_second: Some(self.tokens_per_second()),
            fast_mode_active: Some(false),
            context_usage: Some(self.context_usage().unwrap_or(NO_CONTEXT)),
        }
    }

    /// The members of the session's state that a host can set or read. In debug builds they are compared with what the
    /// emitted frames tell of them.
    pub(crate) fn session_facts(&self) -> SessionFacts {
        let mut todo_phases = self.todos.view();
        // Todos have ids in some dialects only.
        todo_phases.fit(self.dialect.base());
        SessionFacts {
            model: self.current_model().or_else(|| self.unselected_model()),
            thinking_level: self.models.level,
            steering_mode: self.modes.steering,
            follow_up_mode: self.modes.follow_up,
            interrupt_mode: self.modes.interrupt,
            auto_compaction_enabled: self.modes.auto_compaction,
            session_id: self.store.session.id().to_owned(),
            session_file: self.session_file(),
            session_name: self.store.session.name(),
            todo_phases,
        }
    }

    /// The model that stands for none in the session's state, if the dialect has one. Source: pi 1.6.0, observed.
    fn unselected_model(&self) -> Option<Model> {
        self.dialect.record().unselected_model.map(|name| Model::named(name, name, name, name))
    }

    /// A member of the session's state that contradicts the emitted frames, while nothing is under way.
    pub(crate) fn mismatched_state_member(&self) -> Option<SessionMember> {
        match self.is_idle() {
            true => self
                .activity
                .machine()
                .contradiction(self.session_facts().into_values(), self.extensions.has_any()),
            false => None,
        }
    }

    /// The data of the response to `get_session_stats`.
    pub(crate) fn session_stats(&self) -> SessionStats {
        let totals = match self.dialect.record().stats_over {
            // Messages of another dialect, which a session may hold, do not count.
            DialectStatsOver::Context => {
                let base = self.dialect.base();
                let messages = self.store.session.messages().iter();
                totals(messages.filter(|message| message.kind().is_in(base)))
            }
            DialectStatsOver::Session => self.store.session.tree().totals(),
        };
        let facts = self.session_facts();
        SessionStats {
            session_file: facts.session_file,
            session_id: facts.session_id,
            user_messages: totals.user,
            assistant_messages: totals.assistant,
            tool_calls: totals.calls,
            tool_results: totals.results,
            total_messages: totals.all,
            tokens: totals.tokens,
            cost: number(totals.cost),
            premium_requests: Some(0.into()),
            context_usage: self.context_usage(),
        }
    }

    /// How full the context is, where the model states its window. Tokens are unknown from a compaction until the next
    /// answer. Source: pi 1 source.
    pub(crate) fn context_usage(&self) -> Option<ContextUsage> {
        let context_window = self.limits_model().context_window;
        let (messages, compacted) = (self.store.session.messages(), self.store.session.compacted());
        let is_known = compacted == 0 || is_counted(messages, compacted);
        let tokens = is_known.then(|| context_tokens(messages, compacted));
        let percent = tokens.map(|tokens| number(tokens as f64 / context_window as f64 * 100.0));
        let tokens = tokens.and_then(|tokens| i64::try_from(tokens).ok());
        (context_window > 0).then_some(ContextUsage { tokens, context_window, percent })
    }

    /// The speed of the newest answer in tokens per second; null for one that failed or was aborted, or came at once.
    fn tokens_per_second(&self) -> Value {
        let newest = self.store.session.messages().iter().rev().find_map(|message| match message.as_ref() {
            AgentMessage::Assistant(it) => Some(it),
            _ => None,
        });
        let newest = newest.filter(|it| !matches!(it.stop_reason, StopReason::Aborted | StopReason::Error));
        let speed = newest.and_then(|it| {
            let duration = it.duration.as_ref()?.as_f64().filter(|it| *it >= SPEED_FROM)?;
            Some(number(it.usage.output as f64 / duration * 1000.0))
        });
        speed.map_or(Value::Null, Value::Number)
    }

    /// The text of the newest assistant message that counts in the dialect, if it has any.
    pub(crate) fn last_assistant_text(&self) -> Option<String> {
        let choice = self.dialect.record().last_text;
        let newest = self.store.session.messages().iter().rev().find_map(|message| {
            let AgentMessage::Assistant(it) = message.as_ref() else { return None };
            let texts = it.content.iter().filter_map(|block| match block {
                AssistantContent::Text(text) => Some(text.text.as_str()),
                _ => None,
            });
            let text = texts.collect::<String>().trim().to_owned();
            let counts = match choice {
                DialectLastText::Newest => it.stop_reason != StopReason::Aborted || !it.content.is_empty(),
                DialectLastText::WithText => it.stop_reason == StopReason::Stop || !text.is_empty(),
            };
            counts.then_some(text)
        });
        newest.filter(|text| !text.is_empty())
    }

    /// Whether a run is open or may follow by itself: a prompt being examined, a retry, a compaction.
    pub(crate) fn is_working(&self) -> bool {
        self.is_under_way() || self.has_prompt_under_way()
    }

    /// Whether a run, a retry, a compaction or a chain of runs is under way.
    pub(crate) const fn is_under_way(&self) -> bool {
        self.activity.is_under_way() || self.series.chain.is_some()
    }

    /// The header of the session, as its file begins.
    pub fn header(&self) -> &SessionHeader {
        self.store.session.header()
    }

    pub(crate) fn session_file(&self) -> Option<String> {
        self.store.session.file().map(|path| path.to_string_lossy().into_owned())
    }
}
