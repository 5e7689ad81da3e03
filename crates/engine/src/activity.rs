//! What the agent is doing: the states of the [chart](pi_rpc_machine), each with its own data.

use crate::run::{
    compaction::Compaction,
    state::{EndedRun, Phase, Run},
};
use std::time::Duration;

/// What the agent is doing; data that only one state has lies in its variant.
#[derive(Debug)]
pub enum Activity {
    /// No run is open, and none follows by itself.
    Idle,
    /// A prompt is accepted; its run opens after the `before_agent_start` hook.
    Starting,
    /// A run is open, from `agent_start` to `agent_end`.
    Streaming(Box<Run>),
    /// A run has ended. What follows it is to be decided, or, without it, has been: in dialects with `agent_settled`
    /// that comes next.
    Settling(Option<Box<EndedRun>>),
    /// A failed run is retried at this moment of the monotonic clock.
    Retrying(Duration),
    /// The conversation is compacted between runs.
    Compacting(Box<Compaction>),
    /// The session is being changed, and extensions are notified.
    Switching,
}

impl Activity {
    /// The open run.
    pub fn run(&self) -> Option<&Run> {
        match self {
            Self::Streaming(run) => Some(run),
            _ => None,
        }
    }

    /// The open run.
    pub fn run_mut(&mut self) -> Option<&mut Run> {
        match self {
            Self::Streaming(run) => Some(run),
            _ => None,
        }
    }

    /// The compaction under way, between runs or between two turns of one.
    pub fn compaction(&self) -> Option<&Compaction> {
        match self {
            Self::Compacting(compaction) => Some(compaction),
            Self::Streaming(run) => match &run.phase {
                Phase::Compacting(compaction) => Some(compaction),
                _ => None,
            },
            _ => None,
        }
    }

    /// The compaction under way, between runs or between two turns of one.
    pub fn compaction_mut(&mut self) -> Option<&mut Compaction> {
        match self {
            Self::Compacting(compaction) => Some(compaction),
            Self::Streaming(run) => match &mut run.phase {
                Phase::Compacting(compaction) => Some(compaction),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a run is open.
    pub const fn is_streaming(&self) -> bool {
        matches!(self, Self::Streaming(_))
    }

    /// Whether a failed run waits for its retry.
    pub const fn is_retrying(&self) -> bool {
        matches!(self, Self::Retrying(_))
    }

    /// When a failed run is retried, on the monotonic clock.
    pub const fn retry_due(&self) -> Option<Duration> {
        match self {
            Self::Retrying(due) => Some(*due),
            _ => None,
        }
    }
}
