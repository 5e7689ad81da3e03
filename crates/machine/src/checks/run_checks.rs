//! The checks of runs: their messages, retries and compactions. Passes each event on to the open run, turn and message.
//!
//! Rule: `retry-pairs`.

use super::{
    compaction::{CompactionEnd, CompactionStart},
    run::Run,
    turn::Turn,
};
use crate::{findings::Findings, spoken::Spoken};
use pi_rpc_protocol::{
    AgentEndEvent, AgentMessage, AgentSessionEvent, CompactionReason, DialectRunEnd, Emission, Outbound,
    RuleId as Rule, StopReason, fires_anywhere,
};

/// The checks of the runs of one conversation. Stores the messages of the current run. Takes in legal frames only.
#[derive(Clone, Debug)]
pub struct RunChecks {
    spoken: Spoken,
    run: Option<Run>,
    attempt: Option<u64>,
    /// The frame that announced the attempt.
    announced: Option<u64>,
    /// Whether a run has ended since the attempt was announced.
    tried: bool,
    /// Whether a TTSR rule has stopped the run, so that the next one continues its attempt.
    stopped: bool,
    compaction: CompactionStart,
    /// The frame with which the compaction began.
    compacts: Option<u64>,
}

impl RunChecks {
    /// Creates the checks for one conversation in the dialect.
    pub fn new(spoken: Spoken) -> Self {
        Self {
            spoken,
            run: None,
            attempt: None,
            announced: None,
            tried: false,
            stopped: false,
            compaction: CompactionStart::None,
            compacts: None,
        }
    }

    /// Takes in a legal frame or update.
    pub fn on_frame(&mut self, emission: &Emission, found: &mut Findings) {
        match emission {
            Emission::Update(update) => {
                if let Some(partial_message) = self.run.as_mut().and_then(Run::partial_message) {
                    partial_message.update(update, found);
                }
            }
            Emission::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::MessageUpdate(update))) => {
                if let Some(partial_message) = self.run.as_mut().and_then(Run::partial_message) {
                    partial_message.snapshot(update, found);
                }
            }
            Emission::Frame(Outbound::AgentSessionEvent(event)) => self.on_event(event, found),
            Emission::Frame(_) | Emission::Line { .. } => {}
        }
    }

    /// Marks the current run as incomplete, because strings of the latest frame were shortened: payloads are not compared.
    pub fn mark_incomplete(&mut self) {
        if let Some(run) = &mut self.run {
            run.mark_incomplete();
        }
    }

    /// Resynchronizes after an illegal frame that shows that frames were missed: forgets the current run, and starts again with
    /// the next beginning.
    pub fn resynchronize(&mut self, emission: &Emission) {
        use AgentSessionEvent as Event;
        if let Emission::Frame(Outbound::AgentSessionEvent(Event::CompactionStart(start))) = emission {
            self.compaction = CompactionStart::For(start.reason);
        }
        self.run = match emission {
            Emission::Frame(Outbound::AgentSessionEvent(
                Event::AgentEnd(_) | Event::AgentSettled(_) | Event::CompactionStart(_),
            )) => None,
            Emission::Frame(Outbound::AgentSessionEvent(Event::AutoRetryStart(start))) => {
                (self.attempt, self.tried) = (Some(start.attempt), false);
                None
            }
            Emission::Frame(Outbound::AgentSessionEvent(Event::TurnStart(_))) => {
                Some(Run::incomplete(Some(Turn::default())))
            }
            _ => Some(Run::incomplete(None)),
        };
    }

    /// Takes in an illegal frame that changes nothing, except that it may end a retry.
    pub fn on_stray(&mut self, emission: &Emission) {
        if let Emission::Frame(Outbound::AgentSessionEvent(AgentSessionEvent::AutoRetryEnd(_))) = emission {
            self.attempt = None;
        }
    }

    /// Marks the current run as incomplete after an unreadable event: nothing is compared until the next beginning.
    pub fn lose_content(&mut self) {
        self.run = self.run.take().map(|_| Run::incomplete(None));
        self.compaction = CompactionStart::Missed;
    }

    /// Takes in an event.
    fn on_event(&mut self, event: &AgentSessionEvent, found: &mut Findings) {
        use AgentSessionEvent as Event;
        match event {
            Event::TtsrTriggered(_) => self.stopped = true,
            event if fires_anywhere(event.kind().as_str()) => {}
            Event::AgentStart(_) => {
                // The originals do not end a retry whose run failed permanently or was aborted.
                let goes_on = std::mem::take(&mut self.stopped);
                if std::mem::take(&mut self.tried) && !goes_on {
                    self.attempt = None;
                }
                self.run = Some(Run::default());
            }
            Event::AutoRetryStart(start) => {
                let expected = self.attempt.map_or(1, |n| n + 1);
                found.with_cause(self.announced, |found| {
                    found.expect(
                        Rule::RetryPairs,
                        start.attempt == expected && start.attempt <= start.max_attempts,
                        || format!("attempt {expected} of at most {}", start.max_attempts),
                    );
                });
                (self.attempt, self.tried) = (Some(start.attempt), false);
                self.announced = Some(found.frame());
            }
            Event::AutoRetryEnd(end) => {
                let attempt = self.attempt.take();
                found.with_cause(self.announced.take(), |found| match &attempt {
                    Some(attempt) => {
                        let what = "the attempt that was announced last";
                        found.expect_same(Rule::RetryPairs, "/attempt", what, attempt, &end.attempt);
                    }
                    None => found.fail(Rule::RetryPairs, "an `auto_retry_start` first"),
                });
                found.expect(Rule::RetryPairs, end.success == end.final_error.is_none(), || {
                    "`finalError` exactly on failure".to_owned()
                });
            }
            Event::AutoCompactionStart(start) => self.compaction_starts(start.reason, found),
            Event::CompactionStart(start) => self.compaction_starts(start.reason, found),
            Event::AutoCompactionEnd(end) => self.compaction_ends(&CompactionEnd::from(end), found),
            Event::CompactionEnd(end) => self.compaction_ends(&CompactionEnd::from(end), found),
            event => {
                let Some(run) = &mut self.run else { return };
                run.on_event(event, self.spoken, found);
                if let Event::AgentEnd(end) = event {
                    run.end(end, found);
                    (self.run, self.tried) = (None, true);
                    // Where a chain of runs has one end, the success is reported behind it.
                    let follows = self.spoken.dialect.record().run_end == DialectRunEnd::Chain;
                    if self.attempt.is_some() && succeeded(end) && !follows {
                        self.attempt = None;
                        found.fail(Rule::RetryPairs, "`auto_retry_end` in the run that succeeded");
                    }
                }
            }
        }
    }

    const fn compaction_starts(&mut self, reason: CompactionReason, found: &Findings) {
        (self.compaction, self.compacts) = (CompactionStart::For(reason), Some(found.frame()));
    }

    fn compaction_ends(&mut self, end: &CompactionEnd, found: &mut Findings) {
        let start = std::mem::take(&mut self.compaction);
        found.with_cause(self.compacts.take(), |found| end.judge(start, self.spoken.dialect, found));
    }
}

/// Whether the last assistant message of the run has not failed.
fn succeeded(end: &AgentEndEvent) -> bool {
    let last = end.messages.iter().rev().find_map(|message| match message {
        AgentMessage::Assistant(message) => Some(message.stop_reason),
        _ => None,
    });
    last.is_some_and(|reason| !matches!(reason, StopReason::Error | StopReason::Aborted))
}
