//! Plays one scenario, from the creation of its home to the result.

use super::{
    Adapter, Conversation, Home, PlayOptions,
    steps::{Host, StopReason},
};
use pi_rpc_files::private_files;
use pi_rpc_mock::{
    Mock,
    mcp::{McpMock, McpScript},
};
use pi_rpc_oracle::report::{Outcome, Subject};
use pi_rpc_protocol::{Dialect, DialectVersion, Side, Version};
use pi_rpc_recording::{DialectMismatch, TraceWriter};
use pi_rpc_scenario::Scenario;
use std::{ffi::OsString, io::BufWriter, net::Ipv4Addr, num::NonZeroU32, path::PathBuf};

/// A server to play scenarios with.
#[derive(Clone, Debug)]
pub struct Server {
    /// The program.
    pub program: PathBuf,
    /// The arguments of the program, before those of the adapter.
    pub args: Vec<OsString>,
    /// How the server is started and configured.
    pub adapter: Adapter,
    /// The dialect of the server.
    pub dialect: Dialect,
    /// The version of the server, if later members are not to be required.
    pub version: Option<Version>,
}

impl Server {
    const fn dialect_version(&self) -> DialectVersion {
        DialectVersion { dialect: self.dialect, version: self.version, any_version: false }
    }
}

/// The result of a scenario.
#[derive(Debug)]
pub struct Played {
    /// The result for the report.
    pub subject: Subject,
    /// The dialect that the server plainly speaks, if it is another one than that by which it is judged.
    pub mismatch: Option<DialectMismatch>,
    /// Whether a process of the server has written a line.
    pub has_written: bool,
    /// Whether the server could not be started, or never wrote a frame.
    pub never_started: bool,
}

/// Plays a scenario and returns the result. Needs a tokio runtime of its own, so that everything left open ends with it.
pub async fn play(server: &Server, scenario: &Scenario, options: PlayOptions<'_>) -> Played {
    let file = options
        .keep
        .map(|keep| private_files::create(&keep.join(format!("{}.jsonl", scenario.name))))
        .transpose();
    let (trace, unkept) = file.map_or_else(|error| (None, Some(error)), |file| (file, None));
    let trace = trace.map(|file| TraceWriter::new(BufWriter::new(file)).redacting(options.redact));
    let mut conversation =
        Conversation::new(&scenario.name, server.dialect_version(), trace, options.timeline);
    conversation.answers_dialogs = scenario.answers_dialogs;
    if let Some(error) = unkept {
        return result(
            conversation,
            Some(StopReason::Error(format!("the conversation cannot be kept: {error}"))),
        );
    }
    if let Some(unsupported) = unsupported(server, scenario) {
        return result(conversation, Some(StopReason::NotSupported(unsupported)));
    }
    let model = Mock::bind((Ipv4Addr::LOCALHOST, 0).into(), scenario.script.clone()).await;
    let model =
        model.map_err(|error| StopReason::Error(format!("no address for the scripted model: {error}")));
    let mcp = mcp_servers(scenario).await;
    let furnished = model.and_then(|model| {
        let mcp = mcp.map_err(StopReason::Error)?;
        let addresses = mcp.iter().map(|(name, server)| (name.clone(), server.address())).collect();
        let home = Home::make(server, scenario, model.address(), &addresses).map_err(StopReason::Error)?;
        Ok((model.lenient(), mcp, home))
    });
    let (model, mcp, home) = match furnished {
        Ok(furnished) => furnished,
        Err(stop) => return result(conversation, Some(stop)),
    };
    let serving = tokio::spawn(model.serve());
    // Dropped at the end, which ends them.
    let mut serving_mcp = tokio::task::JoinSet::new();
    mcp.into_iter().for_each(|(_, server)| drop(serving_mcp.spawn(server.serve())));
    let factor = options.patience.map_or(1, NonZeroU32::get);
    let mut host = Host::new(server, home, conversation, scenario.tolerates_unknown, factor);
    let stop = steps(&mut host, scenario).await.err();
    // The server is ended after a failed step, too; the first failure is the reported one.
    let stop = stop.or(host.end().await.err());
    serving.abort();
    let mut played = result(host.conversation, stop.clone());
    if let (Some(StopReason::TimedOut(text)), Some(_)) = (stop, options.patience) {
        // The findings may have the same slowness as their cause.
        played.subject.findings.clear();
        (played.subject.outcome, played.subject.reason) = match options.strict {
            true => (Outcome::Failed, Some(format!("too slow: {text}"))),
            false => (Outcome::Error, Some(format!("not judged, too slow: {text}"))),
        };
    }
    played
}

/// The scripted servers of a scenario, by their names.
async fn mcp_servers(scenario: &Scenario) -> Result<Vec<(String, McpMock)>, String> {
    let mut servers = Vec::new();
    for (name, server) in &scenario.mcp_servers {
        let wrong = |error: &dyn std::fmt::Display| format!("mcpServers.{name}: {error}");
        let script = McpScript::from_json(&server.script.to_string()).map_err(|error| wrong(&error))?;
        let bound = McpMock::bind((Ipv4Addr::LOCALHOST, 0).into(), script).await;
        servers.push((name.clone(), bound.map_err(|error| wrong(&error))?));
    }
    Ok(servers)
}

/// The reason why the server does not support the scenario, if so.
fn unsupported(server: &Server, scenario: &Scenario) -> Option<String> {
    if !scenario.is_for(server.dialect) {
        return Some(format!("the scenario is not for {}", server.dialect));
    }
    let lacking = scenario.needs.iter().find(|need| !server.adapter.offers(**need))?;
    Some(format!("the adapter {} does not offer `{lacking}`", server.adapter.name))
}

/// Builds the result from the conversation and the reason why the steps stopped.
fn result(conversation: Conversation, stop: Option<StopReason>) -> Played {
    let (mismatch, has_written) = (conversation.dialect_mismatch(), conversation.has_ever_written());
    let cannot_start = matches!(stop, Some(StopReason::CannotStart(_)));
    let (subject, is_silent) = subject(conversation, stop);
    Played { subject, mismatch, has_written, never_started: cannot_start || is_silent }
}

/// The result for the report, and whether the server never wrote a frame.
fn subject(conversation: Conversation, stop: Option<StopReason>) -> (Subject, bool) {
    let stderr_tail: String = conversation.stderr_tail().map(|line| format!("\nstderr: {line}")).collect();
    let (mut subject, stop) = match conversation.finish() {
        (subject, None) => (subject, stop),
        (subject, Some(error)) => {
            (subject, Some(StopReason::Error(format!("the conversation was not kept: {error}"))))
        }
    };
    // The host of a scenario breaks rules on purpose.
    subject.findings.retain(|found| found.rule.about().side == Side::Server);
    if subject.outcome == Outcome::Error {
        // The failed step adds nothing: the server never wrote a frame.
        subject.reason = subject.reason.map(|reason| reason + &stderr_tail);
        return (subject, true);
    }
    (subject.outcome, subject.reason) = match stop {
        None => (Outcome::Passed, None),
        Some(StopReason::Failed(text) | StopReason::TimedOut(text)) => {
            (Outcome::Failed, Some(text + &stderr_tail))
        }
        Some(StopReason::NotSupported(text)) => (Outcome::NotSupported, Some(text)),
        Some(StopReason::NotExercised(text)) => (Outcome::NotExercised, Some(text)),
        Some(StopReason::CannotStart(text) | StopReason::Error(text)) => (Outcome::Error, Some(text)),
    };
    (subject, false)
}

async fn steps(host: &mut Host<'_>, scenario: &Scenario) -> Result<(), StopReason> {
    host.start(&[])?;
    for (place, step) in scenario.steps_for(host.server.dialect) {
        host.step(step).await.map_err(|stop| stop.at(&place))?;
    }
    Ok(())
}

impl StopReason {
    /// The same reason, prefixed with the place in the scenario.
    fn at(self, place: &str) -> Self {
        let put = |text: String| format!("{place}: {text}");
        match self {
            Self::Failed(text) => Self::Failed(put(text)),
            Self::TimedOut(text) => Self::TimedOut(put(text)),
            Self::NotSupported(text) => Self::NotSupported(put(text)),
            Self::NotExercised(text) => Self::NotExercised(put(text)),
            Self::CannotStart(text) => Self::CannotStart(text),
            Self::Error(text) => Self::Error(put(text)),
        }
    }
}
