//! What `/metrics` tells: counts and times of this process, as Prometheus reads them.
//!
//! A process is one host, so that there is one set of them.

use super::{registry::SessionHost, shared_sessions::RecordCounts};
use pi_rpc_guarded_listener::StrangerEvent;
use pi_rpc_protocol::{
    AgentMessage, AgentSessionEvent, CompactionResult, Emission, Outbound, SessionStatus, Usage,
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::{Registry, Unit},
};
use std::{
    sync::{LazyLock, atomic::AtomicU64},
    time::Duration,
};

/// The metrics of this process.
pub static METRICS: LazyLock<Metrics> = LazyLock::new(Metrics::new);

/// One label.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StateLabel {
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct KindLabel {
    kind: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CodeLabel {
    code: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReasonLabel {
    reason: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CommandLabel {
    command: &'static str,
}

/// Counts and times.
pub struct Metrics {
    registry: Registry,
    sessions: Family<StateLabel, Gauge>,
    connections: Family<KindLabel, Gauge>,
    runs: Counter,
    tokens: Family<KindLabel, Counter>,
    dollars: Counter<f64, AtomicU64>,
    command_seconds: Family<CommandLabel, Histogram>,
    frame_seconds: Histogram,
    coalesced: Counter,
    snapshots: Counter,
    pending: Gauge,
    refusals: Family<CodeLabel, Counter>,
    violations: Counter,
    strangers: Gauge,
    strangers_closed: Family<ReasonLabel, Counter>,
    notices: Family<StateLabel, Counter>,
    owned_files: Gauge,
    session_records: Family<StateLabel, Gauge>,
    usage_errors: Counter,
}

/// A connection that is counted until it is dropped.
pub struct CountedConnection(KindLabel);

impl Drop for CountedConnection {
    fn drop(&mut self) {
        METRICS.connections.get_or_create(&self.0).dec();
    }
}

impl Metrics {
    fn new() -> Self {
        // From a tenth of a millisecond to 26 seconds.
        let times = || Histogram::new(exponential_buckets(0.0001, 4.0, 10));
        let mut new = Self {
            registry: Registry::with_prefix("pi_rpc"),
            sessions: Family::default(),
            connections: Family::default(),
            runs: Counter::default(),
            tokens: Family::default(),
            dollars: Counter::default(),
            command_seconds: Family::new_with_constructor(times),
            frame_seconds: times(),
            coalesced: Counter::default(),
            snapshots: Counter::default(),
            pending: Gauge::default(),
            refusals: Family::default(),
            violations: Counter::default(),
            strangers: Gauge::default(),
            strangers_closed: Family::default(),
            notices: Family::default(),
            owned_files: Gauge::default(),
            session_records: Family::default(),
            usage_errors: Counter::default(),
        };
        let registry = &mut new.registry;
        registry.register("sessions", "Sessions by state", new.sessions.clone());
        registry.register("connections", "Connections: of one session, or shared", new.connections.clone());
        registry.register("runs", "Runs that have begun", new.runs.clone());
        registry.register("tokens", "Tokens that answers report", new.tokens.clone());
        registry.register("cost_dollars", "Cost that answers report", new.dollars.clone());
        registry.register_with_unit(
            "command",
            "From a command to its response",
            Unit::Seconds,
            new.command_seconds.clone(),
        );
        registry.register_with_unit(
            "frame_queue",
            "From a frame of a session to its connection",
            Unit::Seconds,
            new.frame_seconds.clone(),
        );
        registry.register(
            "coalesced_deltas",
            "Deltas that were joined to others for slow readers",
            new.coalesced.clone(),
        );
        registry.register(
            "lag_snapshots",
            "Snapshots in place of frames for slow readers",
            new.snapshots.clone(),
        );
        registry.register("pending_bytes", "Bytes that wait for readers", new.pending.clone());
        registry.register("refusals", "Refused requests and commands, by code", new.refusals.clone());
        registry.register(
            "violations",
            "Frames and moves of this server that break a rule of the protocol",
            new.violations.clone(),
        );
        registry.register(
            "strangers",
            "Connections that have not shown yet who they act for",
            new.strangers.clone(),
        );
        registry.register(
            "strangers_closed",
            "Such connections that were closed",
            new.strangers_closed.clone(),
        );
        registry.register("notices", "Notices for --webhook, by what became of them", new.notices.clone());
        registry.register(
            "owned_files",
            "Files of sessions whose owners are noted, of sessions that are open or were",
            new.owned_files.clone(),
        );
        registry.register(
            "session_records",
            "Sessions of all hosts of a cluster: open, and closed ones that can be opened again",
            new.session_records.clone(),
        );
        registry.register(
            "usage_errors",
            "Uses of limits that could not be counted over all hosts of a cluster",
            new.usage_errors.clone(),
        );
        new
    }

    /// All of them, in OpenMetrics text.
    pub fn text(&self, host: &SessionHost) -> String {
        let run_here = host.run_here();
        for status in SessionStatus::ALL {
            let count = run_here.iter().filter(|known| **known == status).count();
            let label = StateLabel { state: status.as_str() };
            self.sessions.get_or_create(&label).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        self.owned_files.set(i64::try_from(host.source.owners.count()).unwrap_or(i64::MAX));
        if let Some(RecordCounts { open, closed }) = host.shared_records() {
            for (state, count) in [("open", open), ("closed", closed)] {
                let gauge = self.session_records.get_or_create(&StateLabel { state });
                gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
            }
        }
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    /// Counts a connection of one session, or a shared one.
    pub fn connection(&self, kind: &'static str) -> CountedConnection {
        let label = KindLabel { kind };
        self.connections.get_or_create(&label).inc();
        CountedConnection(label)
    }

    /// Counts what a session emits. Returns the dollars that an answer has cost, once it has ended.
    pub fn observe(&self, emission: &Emission) -> Option<f64> {
        let (Emission::Frame(frame) | Emission::Line { frame, .. }) = emission else { return None };
        let Outbound::AgentSessionEvent(event) = frame else { return None };
        match event {
            AgentSessionEvent::AgentStart(_) => {
                self.runs.inc();
                None
            }
            AgentSessionEvent::MessageEnd(event) => match &event.message {
                AgentMessage::Assistant(message) => self.count_usage(&message.usage),
                // Of requests that the tool has made itself.
                AgentMessage::ToolResult(message) => self.count_usage(message.usage.as_ref()?),
                _ => None,
            },
            AgentSessionEvent::CompactionEnd(event) => self.count_summary(event.result.as_ref()),
            AgentSessionEvent::AutoCompactionEnd(event) => self.count_summary(event.result.as_ref()),
            _ => None,
        }
    }

    /// Counts the requests for the summary of a compaction.
    fn count_summary(&self, result: Option<&CompactionResult>) -> Option<f64> {
        self.count_usage(result?.usage.as_ref()?)
    }

    /// Counts what an answer has used. Returns the dollars that it has cost.
    pub fn count_usage(&self, usage: &Usage) -> Option<f64> {
        let Usage { input, output, cache_read, cache_write, .. } = usage;
        for (kind, count) in
            [("input", input), ("output", output), ("cache_read", cache_read), ("cache_write", cache_write)]
        {
            self.tokens.get_or_create(&KindLabel { kind }).inc_by(*count);
        }
        let dollars = usage.cost.total.as_f64().filter(|dollars| *dollars > 0.0)?;
        self.dollars.inc_by(dollars);
        Some(dollars)
    }

    /// Connections, and bytes that wait for readers.
    pub fn connections_and_pending(&self) -> (u64, u64) {
        let connections = ["session", "shared"].map(|kind| {
            let connections = self.connections.get_or_create(&KindLabel { kind }).get();
            u64::try_from(connections).unwrap_or_default()
        });
        (connections.iter().sum(), u64::try_from(self.pending.get()).unwrap_or_default())
    }

    /// Deltas that were joined for slow readers, and snapshots in place of frames.
    pub fn lag(&self) -> (u64, u64) {
        (self.coalesced.get(), self.snapshots.get())
    }

    /// Counts a command that was responded to.
    pub fn command(&self, command: &'static str, taken: Duration) {
        self.command_seconds.get_or_create(&CommandLabel { command }).observe(taken.as_secs_f64());
    }

    /// Counts a frame that has left its queue.
    pub fn frame(&self, waited: Duration) {
        self.frame_seconds.observe(waited.as_secs_f64());
    }

    /// Counts a delta that was joined to another.
    pub fn coalesced(&self) {
        self.coalesced.inc();
    }

    /// Counts frames that were dropped for a snapshot.
    pub fn lagged(&self) {
        self.snapshots.inc();
    }

    /// Corrects the bytes that wait for readers.
    pub fn pending(&self, before: usize, now: usize) {
        let signed = |bytes| i64::try_from(bytes).unwrap_or(i64::MAX);
        self.pending.inc_by(signed(now) - signed(before));
    }

    /// Counts frames and moves of this server that break a rule.
    pub fn violations(&self, count: u64) {
        self.violations.inc_by(count);
    }

    /// How many violations of our own there were.
    #[cfg(test)]
    pub fn count_of_violations(&self) -> u64 {
        self.violations.get()
    }

    /// Counts what happens to a stranger.
    pub fn stranger(&self, event: StrangerEvent) {
        let closed = |reason| self.strangers_closed.get_or_create(&ReasonLabel { reason }).inc();
        match event {
            StrangerEvent::Came => drop(self.strangers.inc()),
            StrangerEvent::Left => drop(self.strangers.dec()),
            StrangerEvent::Late => drop(closed("late")),
            StrangerEvent::Displaced => drop(closed("displaced")),
        }
    }

    /// Counts a notice.
    pub fn notice(&self, state: &'static str) {
        self.notices.get_or_create(&StateLabel { state }).inc();
    }

    /// Counts a use of a limit that could not be counted for all hosts.
    pub fn usage_error(&self) {
        self.usage_errors.inc();
    }

    /// Counts a refusal.
    pub fn refusal(&self, code: &'static str) {
        self.refusals.get_or_create(&CodeLabel { code }).inc();
    }
}
