//! One scenario, from its clean home to what came out.

use super::{
    Adapter, Conversation, Home, PlayOptions,
    steps::{Host, StopReason},
};
use crate::{
    mock::Mock,
    oracle::{
        TraceWriter,
        report::{Outcome, Subject},
        scenario::Scenario,
    },
    private_files,
    protocol::{Dialect, DialectVersion, Side, Version},
};
use std::{ffi::OsString, io::BufWriter, net::Ipv4Addr, num::NonZeroU32, path::PathBuf};

/// A server that scenarios are played with.
#[derive(Clone, Debug)]
pub struct Server {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, before those of the adapter.
    pub args: Vec<OsString>,
    /// How it is told where its model is.
    pub adapter: Adapter,
    /// What it speaks.
    pub dialect: Dialect,
    /// Its version, where members that came later are not to be asked for.
    pub version: Option<Version>,
}

impl Server {
    const fn dialect_version(&self) -> DialectVersion {
        DialectVersion { dialect: self.dialect, version: self.version }
    }
}

/// Plays a scenario, and tells what came out. Needs a tokio runtime of its own: what is left open ends
/// with it.
pub async fn play(server: &Server, scenario: &Scenario, options: PlayOptions<'_>) -> Subject {
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
        return subject(
            conversation,
            Some(StopReason::Error(format!("the conversation cannot be kept: {error}"))),
        );
    }
    if let Some(unsupported) = unsupported(server, scenario) {
        return subject(conversation, Some(StopReason::NotSupported(unsupported)));
    }
    let model = Mock::bind((Ipv4Addr::LOCALHOST, 0).into(), scenario.script.clone()).await;
    let model =
        model.map_err(|error| StopReason::Error(format!("no address for the scripted model: {error}")));
    let furnished = model.and_then(|model| {
        let home = Home::make(server, scenario, model.address()).map_err(StopReason::Error)?;
        Ok((model.lenient(), home))
    });
    let (model, home) = match furnished {
        Ok(furnished) => furnished,
        Err(stop) => return subject(conversation, Some(stop)),
    };
    let serving = tokio::spawn(model.serve());
    let factor = options.patience.map_or(1, NonZeroU32::get);
    let mut host = Host::new(server, home, conversation, scenario.tolerates_unknown, factor);
    let stop = steps(&mut host, scenario).await.err();
    // However far it went, the server is ended; one that does not end then is no news.
    let stop = stop.or(host.end().await.err());
    serving.abort();
    let mut subject = subject(host.conversation, stop.clone());
    if let (Some(StopReason::TimedOut(text)), Some(_)) = (stop, options.patience) {
        // What else was found may come of the same slowness.
        subject.findings.clear();
        (subject.outcome, subject.reason) =
            (Outcome::NotExercised, Some(format!("not judged, too slow: {text}")));
    }
    subject
}

/// Why the server is not asked.
fn unsupported(server: &Server, scenario: &Scenario) -> Option<String> {
    if !scenario.is_for(server.dialect) {
        return Some(format!("the scenario is not for {}", server.dialect));
    }
    let lacking = scenario.needs.iter().find(|need| !server.adapter.offers(**need))?;
    Some(format!("the adapter {} does not offer `{lacking}`", server.adapter.name))
}

/// What came out, but for what the findings say.
fn subject(conversation: Conversation, stop: Option<StopReason>) -> Subject {
    let stderr_tail: String = conversation.stderr_tail().map(|line| format!("\nstderr: {line}")).collect();
    let (mut subject, stop) = match conversation.finish() {
        (subject, None) => (subject, stop),
        (subject, Some(error)) => {
            (subject, Some(StopReason::Error(format!("the conversation was not kept: {error}"))))
        }
    };
    // What is wrong with the host's side was meant so.
    subject.findings.retain(|found| found.rule.about().side == Side::Server);
    if subject.outcome == Outcome::Error {
        // What it did not do says nothing: it never wrote a frame.
        subject.reason = subject.reason.map(|reason| reason + &stderr_tail);
        return subject;
    }
    (subject.outcome, subject.reason) = match stop {
        None => (Outcome::Passed, None),
        Some(StopReason::Failed(text) | StopReason::TimedOut(text)) => {
            (Outcome::Failed, Some(text + &stderr_tail))
        }
        Some(StopReason::NotSupported(text)) => (Outcome::NotSupported, Some(text)),
        Some(StopReason::NotExercised(text)) => (Outcome::NotExercised, Some(text)),
        Some(StopReason::Error(text)) => (Outcome::Error, Some(text)),
    };
    subject
}

async fn steps(host: &mut Host<'_>, scenario: &Scenario) -> Result<(), StopReason> {
    host.start(&[])?;
    for (place, step) in scenario.steps_for(host.server.dialect) {
        host.step(step).await.map_err(|stop| stop.at(&place))?;
    }
    Ok(())
}

impl StopReason {
    /// The same, with the place in the scenario before it.
    fn at(self, place: &str) -> Self {
        let put = |text: String| format!("{place}: {text}");
        match self {
            Self::Failed(text) => Self::Failed(put(text)),
            Self::TimedOut(text) => Self::TimedOut(put(text)),
            Self::NotSupported(text) => Self::NotSupported(put(text)),
            Self::NotExercised(text) => Self::NotExercised(put(text)),
            Self::Error(text) => Self::Error(put(text)),
        }
    }
}
