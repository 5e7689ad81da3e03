//! Executes the steps of a scenario, one by one.

use super::{
    Home, Server,
    conversation::{Conversation, WaitError},
    expected_frames::{ExpectedFrames, shortened},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use pi_rpc_client::Signal;
use pi_rpc_files::regular_files::{self, SERVER_FILE};
use pi_rpc_scenario::{
    Ask, Chunk, Expect, ExpectExit, ExpectFile, Idle, Only, Pattern, Patterns, SignalName, Step,
};
use serde_json::{Map, Value, json};
use std::{borrow::Cow, collections::BTreeMap, time::Duration};
use tokio::time::{Instant, timeout};

/// Milliseconds that a step waits by default.
const PATIENCE_MS: u64 = 15_000;

/// The interval at which an expected file is read again.
const LOOK: Duration = Duration::from_millis(5);

/// The reason why a scenario stops before its last step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The server did not do what was expected.
    Failed(String),
    /// The server did not do what was expected in time.
    TimedOut(String),
    /// The server does not implement what the scenario needs.
    NotSupported(String),
    /// The conversation did not reach the situation of the scenario, because of a race.
    NotExercised(String),
    /// The server's process could not be started.
    CannotStart(String),
    /// An error that is not the server's fault.
    Error(String),
}

type StepResult<T = ()> = Result<T, StopReason>;

/// The host of one scenario.
pub struct Host<'a> {
    /// The server to start.
    pub server: &'a Server,
    /// The home of the server.
    pub home: Home,
    /// The conversation with the server.
    pub conversation: Conversation,
    /// Whether the scenario goes on after the server has refused a command as unknown.
    tolerates_unknown: bool,
    /// A factor for every deadline.
    patience_factor: u32,
    /// The number of commands that were given an id.
    sent: u64,
}

impl<'a> Host<'a> {
    /// Creates a host without a process.
    pub const fn new(
        server: &'a Server,
        home: Home,
        conversation: Conversation,
        tolerates_unknown: bool,
        patience_factor: u32,
    ) -> Self {
        Self { server, home, conversation, tolerates_unknown, patience_factor, sent: 0 }
    }

    /// Starts a process with `more` options after all others.
    pub fn start(&mut self, more: &[String]) -> StepResult {
        let command = self.home.command(self.server, more).map_err(StopReason::Error)?;
        self.conversation.start(command).map_err(|error| {
            StopReason::CannotStart(format!("{} cannot be started: {error}", self.server.program.display()))
        })
    }

    /// Executes one step.
    pub async fn step(&mut self, step: &Step) -> StepResult {
        match step {
            Step::Send(it) => self.send(&it.send).await,
            Step::SendRaw(it) => self.send_raw(&it.send_raw).await,
            Step::Ask(it) => self.ask(it).await,
            Step::Expect(it) => self.expect(it).await,
            Step::Idle(it) => self.idle(it).await,
            Step::Put(it) => self.home.put(&it.put, it.text.as_bytes()).map(drop).map_err(StopReason::Error),
            Step::ExpectFile(it) => self.expect_file(it).await,
            Step::Signal(it) => {
                self.conversation.signal(signal(it.signal));
                Ok(())
            }
            Step::CloseInput(_) => {
                self.conversation.close_input();
                Ok(())
            }
            Step::CloseOutput(_) => {
                self.conversation.close_output();
                Ok(())
            }
            Step::Reading(it) => {
                self.conversation.set_reading(it.reading);
                Ok(())
            }
            Step::ExpectExit(it) => self.expect_exit(it).await,
            Step::Restart(it) => {
                self.end().await?;
                self.start(&it.restart)
            }
            // `Scenario::steps_for` has flattened these.
            Step::Only(Only { .. }) => Ok(()),
        }
    }

    /// Ends the process: closes its input, then sends SIGTERM, then SIGKILL.
    pub async fn end(&mut self) -> StepResult {
        let patience = self.scaled(self.server.adapter.end_within_ms);
        self.conversation.set_reading(true);
        self.conversation.close_input();
        if self.ends_within(patience).await {
            return Ok(());
        }
        for signal in [Signal::TERM, Signal::KILL] {
            self.conversation.signal(signal);
            if self.ends_within(patience).await {
                break;
            }
        }
        Err(StopReason::TimedOut(format!(
            "the server did not end within {} ms of its input",
            patience.as_millis()
        )))
    }

    async fn ends_within(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while self.conversation.runs() {
            if self.conversation.wait_for_output(deadline).await == Err(WaitError::TimedOut) {
                return false;
            }
        }
        self.conversation.record_processes_left().await;
        true
    }

    async fn send(&mut self, frame: &Map<String, Value>) -> StepResult {
        let frame = self.home.variables.fill(&Value::Object(frame.clone())).map_err(StopReason::Error)?;
        self.write(format!("{frame}\n").as_bytes()).await
    }

    async fn send_raw(&mut self, chunks: &[Chunk]) -> StepResult {
        for chunk in chunks {
            let bytes: Cow<'_, [u8]> = match chunk {
                Chunk::Text(text) => {
                    self.home.variables.fill_text(text).map_err(StopReason::Error)?.into_bytes().into()
                }
                Chunk::Base64 { base64 } => {
                    let bytes = BASE64_STANDARD.decode(base64);
                    bytes.map_err(|error| StopReason::Error(format!("base64: {error}")))?.into()
                }
                Chunk::Repeat { repeat, times } => repeat.repeat(*times).into_bytes().into(),
            };
            self.write(&bytes).await?;
        }
        Ok(())
    }

    async fn write(&mut self, bytes: &[u8]) -> StepResult {
        let patience = self.patience(None);
        match timeout(patience, self.conversation.write(bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                Err(StopReason::Failed(format!("the server does not read its input any more: {error}")))
            }
            Err(_) => {
                Err(StopReason::TimedOut(format!("the server read no input for {} ms", patience.as_millis())))
            }
        }
    }

    async fn ask(&mut self, step: &Ask) -> StepResult {
        let mut command = step.ask.clone();
        if !command.contains_key("id") {
            self.sent += 1;
            command.insert("id".to_owned(), format!("ask-{}", self.sent).into());
        }
        let command = self.home.variables.fill(&Value::Object(command)).map_err(StopReason::Error)?;
        let response = self.call(&command, self.deadline(step.within_ms)).await?;
        let wanted = match &step.response {
            Some(pattern) => self.fill(pattern)?,
            None => Pattern::try_from(json!({"success": true})).map_err(StopReason::Error)?,
        };
        match wanted.fits(&response) {
            true => self.capture(&step.capture, &response),
            false => Err(StopReason::Failed(format!(
                "expected a response like {wanted}, got {}",
                shortened(&response)
            ))),
        }
    }

    /// Sends a command and waits for its response. Other frames stay in the queue.
    async fn call(&mut self, command: &Value, deadline: Instant) -> StepResult<Value> {
        let mut at = self.conversation.unread_frames.len();
        self.write(format!("{command}\n").as_bytes()).await?;
        loop {
            while let Some(frame) = self.conversation.unread_frames.get(at) {
                if frame["type"] == "response" && frame["id"] == command["id"] {
                    return Ok(self.conversation.unread_frames.remove(at).unwrap_or_default());
                }
                at += 1;
            }
            self.wait_for_output(deadline, || format!("the response to {}", shortened(command))).await?;
        }
    }

    async fn expect(&mut self, step: &Expect) -> StepResult {
        let patterns = match &step.expect {
            Patterns::One(pattern) => std::slice::from_ref(pattern),
            Patterns::All(patterns) => patterns,
        };
        let patterns = patterns.iter().map(|pattern| self.fill(pattern)).collect::<StepResult<Vec<_>>>()?;
        let without = step.without.as_ref().map(|pattern| self.fill(pattern)).transpose()?;
        let unless = step.unless.as_ref().map(|pattern| self.fill(pattern)).transpose()?;
        let mut wanted = ExpectedFrames::new(patterns);
        let deadline = self.deadline(step.within_ms);
        while !wanted.is_complete() {
            let Some(frame) = self.conversation.unread_frames.pop_front() else {
                if step.optional && self.conversation.wait_for_output(deadline).await.is_err() {
                    return Ok(());
                }
                if !step.optional {
                    self.wait_for_output(deadline, || format!("a frame like {}", wanted.missing())).await?;
                }
                continue;
            };
            let Some(other) = wanted.take(frame) else { continue };
            if without.as_ref().is_some_and(|without| without.fits(&other)) {
                return Err(StopReason::Failed(format!(
                    "expected {} without {}",
                    wanted.missing(),
                    shortened(&other)
                )));
            }
            if unless.as_ref().is_some_and(|unless| unless.fits(&other)) {
                return Err(StopReason::NotExercised(format!(
                    "{} came before {}",
                    shortened(&other),
                    wanted.missing()
                )));
            }
        }
        let mut found = wanted.found();
        let found = match &step.expect {
            Patterns::One(_) => found.pop().unwrap_or_default(),
            Patterns::All(_) => Value::Array(found),
        };
        self.capture(&step.capture, &found)
    }

    /// Waits until the server is idle. Frames alone do not show that, as a retry or a compaction may be about to begin, so
    /// `get_state` is sent; twice if a prompt was acknowledged and no run began, which may be a command of an extension or a
    /// run that is late.
    async fn idle(&mut self, step: &Idle) -> StepResult {
        let what = || "the server to be idle".to_owned();
        let deadline = self.deadline(step.within_ms);
        let mut times = 0;
        loop {
            while self.conversation.is_idle() == Some(false) {
                self.wait_for_output(deadline, what).await?;
            }
            self.sent += 1;
            let command = json!({"id": format!("ask-{}", self.sent), "type": "get_state"});
            let state = self.call(&command, deadline).await?;
            let busy = ["isStreaming", "isCompacting"].iter().any(|flag| state["data"][flag] == true);
            times = if busy { 0 } else { times + 1 };
            match self.conversation.is_idle() {
                Some(true) if times >= 1 => break,
                None if times >= 2 => break,
                // Idle by the frames but not by the state: more frames will come.
                Some(true) | None if busy => self.wait_for_output(deadline, what).await?,
                _ => {}
            }
        }
        self.conversation.unread_frames.clear();
        Ok(())
    }

    async fn expect_file(&mut self, step: &ExpectFile) -> StepResult {
        let path = self.home.path(&step.expect_file).map_err(StopReason::Error)?;
        let lines: Vec<Pattern> = step.lines.iter().map(|line| self.fill(line)).collect::<StepResult<_>>()?;
        let deadline = self.deadline(step.within_ms);
        loop {
            let missing = match regular_files::read_to_string(&path, SERVER_FILE) {
                Err(error) => Some(error.to_string()),
                Ok(text) => missing(&text, step.contains.as_deref(), &lines),
            };
            let Some(missing) = missing else { return Ok(()) };
            if Instant::now() >= deadline {
                self.conversation.record_timeout(&step.expect_file);
                return Err(StopReason::TimedOut(format!("{}: {missing}", path.display())));
            }
            let look = deadline.min(Instant::now() + LOOK);
            if let Err(WaitError::Ended(_)) = self.conversation.wait_for_output(look).await {
                tokio::time::sleep_until(look).await;
            }
        }
    }

    async fn expect_exit(&mut self, step: &ExpectExit) -> StepResult {
        let deadline = self.deadline(step.within_ms);
        while self.conversation.runs() {
            self.wait_for_output(deadline, || "the end of the server".to_owned()).await?;
        }
        self.conversation.record_processes_left().await;
        self.conversation.unread_frames.clear();
        let (wanted, status) = (self.fill(&step.expect_exit)?, json!(self.conversation.status()));
        match wanted.fits(&status) {
            true => Ok(()),
            false => Err(StopReason::Failed(format!("expected the exit status {wanted}, got {status}"))),
        }
    }

    /// Waits for the next output of the server; `what` describes the expectation in an error.
    async fn wait_for_output(&mut self, deadline: Instant, what: impl FnOnce() -> String) -> StepResult {
        let more = self.conversation.wait_for_output(deadline).await;
        if let Some(command) = self.conversation.unknown_command.filter(|_| !self.tolerates_unknown) {
            return Err(StopReason::NotSupported(format!(
                "the server does not know the command `{command}`"
            )));
        }
        match more {
            Ok(()) => Ok(()),
            Err(WaitError::Ended(status)) => {
                Err(StopReason::Failed(format!("the server ended with status {status}; expected {}", what())))
            }
            Err(WaitError::TimedOut) => {
                let what = what();
                self.conversation.record_timeout(&what);
                Err(StopReason::TimedOut(format!("timed out waiting for {what}")))
            }
        }
    }

    fn capture(&mut self, names: &BTreeMap<String, String>, from: &Value) -> StepResult {
        for (name, pointer) in names {
            let Some(value) = from.pointer(pointer) else {
                return Err(StopReason::Failed(format!(
                    "expected something at {pointer} in {}",
                    shortened(from)
                )));
            };
            self.home.variables.set(name, value.clone());
        }
        Ok(())
    }

    fn fill(&self, pattern: &Pattern) -> StepResult<Pattern> {
        pattern.fill(&self.home.variables).map_err(StopReason::Error)
    }

    fn deadline(&self, within_ms: Option<u64>) -> Instant {
        Instant::now() + self.patience(within_ms)
    }

    /// The time that a step may take, longer while the server is starting.
    fn patience(&self, within_ms: Option<u64>) -> Duration {
        let start = if self.conversation.has_written() { 0 } else { self.server.adapter.start_within_ms };
        self.scaled(within_ms.unwrap_or(PATIENCE_MS).saturating_add(start))
    }

    fn scaled(&self, milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds.saturating_mul(self.patience_factor.into()))
    }
}

/// The first expectation that the text of a file does not meet, as an error text.
fn missing(text: &str, contains: Option<&str>, lines: &[Pattern]) -> Option<String> {
    if let Some(part) = contains.filter(|part| !text.contains(part)) {
        return Some(format!("expected the text `{part}` in it"));
    }
    let mut values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let missing = lines.iter().find(|line| !values.any(|value| line.fits(&value)));
    missing.map(|line| format!("expected a line like {line} in it, behind those before"))
}

const fn signal(name: SignalName) -> Signal {
    match name {
        SignalName::Term => Signal::TERM,
        SignalName::Int => Signal::INT,
        SignalName::Hup => Signal::HUP,
        SignalName::Kill => Signal::KILL,
    }
}
