//! What events tell of the session: its name, its level, summaries that are tried again.

use crate::{
    machine::{findings::Findings, requests::Open},
    protocol::{AgentSessionEvent, RpcCommandKind, RuleId as Rule, SessionState, ThinkingLevel},
};
use serde::Serialize;
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The names that it has had.
    name: History<Option<String>>,
    level: History<ThinkingLevel>,
    /// Names that were told and belong to no answer yet.
    names: u64,
    retry: Retry,
    /// An event was missed.
    unsure: bool,
}

/// The values that something has had, oldest first, each with the number of the frame that told it; none where it is not
/// known.
#[derive(Clone, Debug)]
struct History<T>(VecDeque<(u64, T)>);

/// Values that are kept: a response may tell an older one, if its request came before the change.
const KEPT: usize = 64;

impl<T> Default for History<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: PartialEq + Serialize> History<T> {
    /// The latest value.
    fn last(&self) -> Option<&(u64, T)> {
        self.0.back()
    }

    /// From the frame `frame` on it is `value`.
    fn is(&mut self, frame: u64, value: T) {
        self.0.push_back((frame, value));
        if self.0.len() > KEPT {
            self.0.pop_front();
        }
    }

    /// A response to `request` tells `value` at the JSON pointer `at`: any that it has had since the request was written.
    fn expect(&mut self, request: &Open, at: &str, what: &str, value: T, found: &mut Findings) {
        let rule = Rule::ChangesTold;
        let Some((frame, last)) = self.0.back() else { return self.is(request.frame, value) };
        let until = |at: usize| self.0.get(at + 1).is_none_or(|(next, _)| *next > request.frame);
        let mut held = self.0.iter().enumerate().filter(|(at, _)| until(*at));
        match held.any(|(_, (_, held))| *held == value) {
            true => found.kept(rule),
            false => {
                found.because_of(Some(*frame), |found| found.differs(rule, at, what, last, &value));
                self.0.clear();
                self.is(found.frame(), value);
            }
        }
    }
}

/// Where a summary that is tried again stands.
#[derive(Clone, Debug, Default)]
enum Retry {
    #[default]
    None,
    /// This attempt waits.
    Scheduled(u64),
    /// This attempt is under way.
    Tried(u64),
}

impl Told {
    pub fn event(&mut self, event: &AgentSessionEvent, found: &mut Findings) {
        use AgentSessionEvent as Event;
        match event {
            Event::SessionInfoChanged(changed) => {
                self.name.is(found.frame(), changed.name.clone());
                self.names += 1;
            }
            Event::ThinkingLevelChanged(changed) => {
                let before = self.level.last().filter(|(_, level)| *level == changed.level);
                found.because_of(before.map(|(frame, _)| *frame), |found| {
                    found.expect(Rule::ChangesTold, before.is_none(), || {
                        format!("another level than `{}`, which it was", changed.level)
                    });
                });
                self.level.is(found.frame(), changed.level);
            }
            Event::SummarizationRetryScheduled(scheduled) => {
                let expected = match self.retry {
                    Retry::None => Some(1),
                    Retry::Tried(attempt) => Some(attempt + 1),
                    Retry::Scheduled(_) => None,
                };
                let fits = expected == Some(scheduled.attempt) && scheduled.attempt <= scheduled.max_attempts;
                found.expect(Rule::SummaryRetry, fits, || match expected {
                    Some(attempt) => format!("attempt {attempt} of at most {}", scheduled.max_attempts),
                    None => "the attempt that was announced".to_owned(),
                });
                self.retry = Retry::Scheduled(scheduled.attempt);
            }
            Event::SummarizationRetryAttemptStart(_) => {
                let Retry::Scheduled(attempt) = self.retry else {
                    return found.broken(Rule::SummaryRetry, "`summarization_retry_scheduled` first");
                };
                found.kept(Rule::SummaryRetry);
                self.retry = Retry::Tried(attempt);
            }
            Event::SummarizationRetryFinished(_) => {
                let open = !matches!(std::mem::take(&mut self.retry), Retry::None);
                found.expect(Rule::SummaryRetry, open, || "`summarization_retry_scheduled` first".to_owned());
            }
            Event::CompactionEnd(_) => {
                let open = !matches!(std::mem::take(&mut self.retry), Retry::None);
                found.expect(Rule::SummaryRetry, !open, || "`summarization_retry_finished` first".to_owned());
            }
            _ => {}
        }
    }

    /// A name is told before its answer, even if it is the same.
    pub fn answered(&mut self, request: &Open, success: bool, found: &mut Findings) {
        if request.command == RpcCommandKind::SetSessionName && success {
            found.expect(Rule::ChangesTold, self.names > 0 || self.unsure, || {
                "`session_info_changed` first".to_owned()
            });
            self.names = self.names.saturating_sub(1);
        }
    }

    /// What the server says of its state. `accepts`: a line waits that is no command here, and may be one there.
    pub fn state(&mut self, state: &SessionState, request: &Open, accepts: bool, found: &mut Findings) {
        if accepts {
            return self.unread();
        }
        let what = "the name that was told last";
        self.name.expect(request, "/data/sessionName", what, state.session_name.clone(), found);
        if let Some(level) = state.thinking_level {
            let what = "the level that was told last";
            self.level.expect(request, "/data/thinkingLevel", what, level, found);
        }
    }

    /// Another session has taken the place of this one.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Something was said or done of which the kind alone is known.
    pub fn unread(&mut self) {
        *self = Self { unsure: true, ..Self::default() };
    }
}
