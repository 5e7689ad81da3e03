//! The parts of a compaction's summary, and the progress of each.

use crate::{io::CallId, requests::SummaryPart};
use pi_rpc_protocol::Usage;
use pi_rpc_session::compaction::{SummaryRequest, sum_usage};
use std::{collections::VecDeque, time::Duration};

/// The parts of a summary.
#[derive(Debug, Default)]
pub struct Summaries {
    /// Parts that are not requested yet.
    pub waiting: VecDeque<(SummaryPart, SummaryRequest)>,
    /// Parts that are requested or written.
    pub requested: Vec<RequestedPart>,
}

/// A part of the summary that is requested from a model.
#[derive(Debug)]
pub struct RequestedPart {
    pub part: SummaryPart,
    pub request: SummaryRequest,
    pub progress: SummaryProgress,
    /// Retries so far.
    pub attempt: u64,
}

/// How far a part of the summary is.
#[derive(Debug)]
pub enum SummaryProgress {
    /// Requested by this request, which is outstanding or has finally failed.
    Outstanding(CallId),
    /// Retried at this moment of the monotonic clock.
    Retrying(Duration),
    /// It is written.
    Written { text: String, usage: Usage },
}

impl Summaries {
    pub fn text(&self, part: SummaryPart) -> Option<&str> {
        self.requested.iter().find_map(|it| match &it.progress {
            SummaryProgress::Written { text, .. } if it.part == part => Some(text.as_str()),
            _ => None,
        })
    }

    pub fn is_open(&self) -> bool {
        self.requested.iter().any(|it| !matches!(it.progress, SummaryProgress::Written { .. }))
    }

    /// The usage of all answers together.
    pub fn usage(&self) -> Option<Usage> {
        let usages = self.requested.iter().filter_map(|it| match &it.progress {
            SummaryProgress::Written { usage, .. } => Some(usage.clone()),
            _ => None,
        });
        usages.reduce(sum_usage)
    }

    /// When the next part is requested again, on the monotonic clock.
    pub fn due(&self) -> Option<Duration> {
        let dues = self.requested.iter().filter_map(|it| match it.progress {
            SummaryProgress::Retrying(due) => Some(due),
            _ => None,
        });
        dues.min()
    }
}
