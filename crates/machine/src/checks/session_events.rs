//! Judges events about the session's name and thinking level, and about retries of summaries.
//!
//! Rules: `summary-retry`, `changes-told`.

use super::frame_context::FrameContext;
use crate::{findings::Findings, requests::OpenRequest};
use pi_rpc_protocol::{
    AgentSessionEvent, AgentSessionEventKind, RpcCommandKind, RuleId as Rule, ThinkingLevel,
};

/// The latest names and levels from events, and the state of retrying a summary.
#[derive(Clone, Debug, Default)]
pub struct SessionEvents {
    /// The level of the last event, as told and as selected, and the number of its frame.
    level: Option<(u64, [Option<ThinkingLevel>; 2])>,
    /// Names from events without their response.
    names: u64,
    retry: SummaryRetry,
    /// Whether an event was missed.
    unsure: bool,
}

/// The state of retrying a summary.
#[derive(Clone, Debug, Default)]
enum SummaryRetry {
    #[default]
    None,
    /// This attempt is scheduled.
    Scheduled(u64),
    /// This attempt is running.
    Tried(u64),
}

impl SessionEvents {
    /// Takes in an event.
    pub fn on_event(&mut self, event: &AgentSessionEvent, found: &mut Findings) {
        use AgentSessionEvent as Event;
        match event {
            Event::SessionInfoChanged(_) => self.names += 1,
            Event::ThinkingLevelChanged(changed) => {
                let level = changed.level.or(changed.thinking_level);
                let levels = [level, changed.configured];
                let before = self.level.filter(|(_, known)| *known == levels);
                found.with_cause(before.map(|(frame, _)| frame), |found| {
                    found.expect(Rule::ChangesTold, before.is_none(), || {
                        let level = level.map_or("none", |level| level.as_str());
                        format!("another level than `{level}`, which it was")
                    });
                });
                self.level = Some((found.frame(), levels));
            }
            Event::SummarizationRetryScheduled(scheduled) => {
                let expected = match self.retry {
                    SummaryRetry::None => Some(1),
                    SummaryRetry::Tried(attempt) => Some(attempt + 1),
                    SummaryRetry::Scheduled(_) => None,
                };
                let fits = expected == Some(scheduled.attempt) && scheduled.attempt <= scheduled.max_attempts;
                found.expect(Rule::SummaryRetry, fits, || match expected {
                    Some(attempt) => format!("attempt {attempt} of at most {}", scheduled.max_attempts),
                    None => "the attempt that was announced".to_owned(),
                });
                self.retry = SummaryRetry::Scheduled(scheduled.attempt);
            }
            Event::SummarizationRetryAttemptStart(_) => {
                let SummaryRetry::Scheduled(attempt) = self.retry else {
                    return found.fail(Rule::SummaryRetry, "`summarization_retry_scheduled` first");
                };
                found.pass(Rule::SummaryRetry);
                self.retry = SummaryRetry::Tried(attempt);
            }
            Event::SummarizationRetryFinished(_) => {
                let open = !matches!(std::mem::take(&mut self.retry), SummaryRetry::None);
                found.expect(Rule::SummaryRetry, open, || "`summarization_retry_scheduled` first".to_owned());
            }
            Event::CompactionEnd(_) => {
                let open = !matches!(std::mem::take(&mut self.retry), SummaryRetry::None);
                found.expect(Rule::SummaryRetry, !open, || "`summarization_retry_finished` first".to_owned());
            }
            _ => {}
        }
    }

    /// Judges that an event has reported a name before the response, even if the name is unchanged.
    pub fn on_response(
        &mut self,
        request: &OpenRequest,
        success: bool,
        at: &FrameContext,
        found: &mut Findings,
    ) {
        let is_told = AgentSessionEventKind::SessionInfoChanged.is_in(at.base());
        if request.command == RpcCommandKind::SetSessionName && success && is_told {
            found.expect(Rule::ChangesTold, self.names > 0 || self.unsure, || {
                "`session_info_changed` first".to_owned()
            });
            self.names = self.names.saturating_sub(1);
        }
    }

    /// Forgets everything: the session has changed.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Takes in an event or a command of which only the kind is known.
    pub fn on_unread_event(&mut self) {
        *self = Self { unsure: true, ..Self::default() };
    }
}
