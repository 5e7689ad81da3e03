//! What events tell of the session: its name, its level, summaries that are tried again.

use crate::{
    machine::{findings::Findings, requests::OpenRequest},
    protocol::{AgentSessionEvent, RpcCommandKind, RuleId as Rule, ThinkingLevel},
};

#[derive(Clone, Debug, Default)]
pub struct SessionEvents {
    /// The level that an event told last, and the number of its frame.
    level: Option<(u64, ThinkingLevel)>,
    /// Names that were told and belong to no answer yet.
    names: u64,
    retry: SummaryRetry,
    /// An event was missed.
    unsure: bool,
}

/// Where a summary that is tried again stands.
#[derive(Clone, Debug, Default)]
enum SummaryRetry {
    #[default]
    None,
    /// This attempt waits.
    Scheduled(u64),
    /// This attempt is under way.
    Tried(u64),
}

impl SessionEvents {
    pub fn on_event(&mut self, event: &AgentSessionEvent, found: &mut Findings) {
        use AgentSessionEvent as Event;
        match event {
            Event::SessionInfoChanged(_) => self.names += 1,
            Event::ThinkingLevelChanged(changed) => {
                let before = self.level.filter(|(_, level)| *level == changed.level);
                found.with_cause(before.map(|(frame, _)| frame), |found| {
                    found.expect(Rule::ChangesTold, before.is_none(), || {
                        format!("another level than `{}`, which it was", changed.level)
                    });
                });
                self.level = Some((found.frame(), changed.level));
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

    /// A name is told before its answer, even if it is the same.
    pub fn on_response(&mut self, request: &OpenRequest, success: bool, found: &mut Findings) {
        if request.command == RpcCommandKind::SetSessionName && success {
            found.expect(Rule::ChangesTold, self.names > 0 || self.unsure, || {
                "`session_info_changed` first".to_owned()
            });
            self.names = self.names.saturating_sub(1);
        }
    }

    /// Another session has taken the place of this one.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Something was said or done of which the kind alone is known.
    pub fn on_unread_event(&mut self) {
        *self = Self { unsure: true, ..Self::default() };
    }
}
