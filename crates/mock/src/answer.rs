//! Plays an answer over a connection: delays, failures, silence and cuts, the same for every vendor.

use super::{connection::Connection, journal::RunningGuard, refusal::failure_body, vendor::Vendor};
use axum::body::{Body, Bytes};
use futures_util::stream;
use pi_rpc_model::{
    scripted::{Failure, Step, StepAction},
    types::StreamEvent,
};
use serde_json::Value;
use std::{convert::Infallible, future::pending, time::Duration, vec};
use tokio::time::sleep;

/// Renders an answer in a vendor's form, event by event.
pub(super) trait AnswerWriter: Send {
    /// Renders `event` as events of the vendor. Failures do not come here.
    fn event(&mut self, event: &StreamEvent) -> String;

    /// Renders the event that ends a failed answer with the error object `body`.
    fn failure(&mut self, failure: &Failure, body: &str) -> String;

    /// Renders the end of an answer that does not say why it ends.
    fn unreasoned_end(&mut self) -> String {
        String::new()
    }

    /// Encodes what was rendered for the connection.
    fn encode(&self, text: String) -> Vec<u8> {
        text.into_bytes()
    }

    /// Renders the answer as one JSON object, after its last event.
    fn whole(&self) -> Value;
}

/// The rest of an answer, and its connection.
pub(super) struct AnswerStream {
    pub vendor: Vendor,
    pub writer: Box<dyn AnswerWriter>,
    pub steps: vec::IntoIter<Step>,
    pub failure: Option<Failure>,
    /// Members for the last event of the answer.
    pub last_event: Option<Value>,
    pub connection: Connection,
    /// Bytes until the connection is cut; `None`: it is not.
    pub left: Option<usize>,
    /// Marks the answer as running until it ends or its client is gone.
    pub _running: RunningGuard,
}

/// The outcome of an answer that is not streamed.
pub(super) enum AnswerOutcome {
    Whole(Value),
    Failed(Failure),
}

impl AnswerStream {
    /// Plays the answer to its end.
    pub async fn outcome(&mut self) -> AnswerOutcome {
        for step in self.steps.by_ref() {
            wait(step.delay_ms).await;
            match step.action {
                StepAction::Hang => pending().await,
                StepAction::Event(StreamEvent::Fail { .. }) => match self.failure.clone() {
                    Some(failure) => return AnswerOutcome::Failed(failure),
                    // It only lacks its reason.
                    None => break,
                },
                StepAction::Event(event) => drop(self.writer.event(&event)),
            }
        }
        AnswerOutcome::Whole(self.writer.whole())
    }

    /// Streams the answer.
    pub fn stream(self) -> Body {
        Body::from_stream(stream::unfold(self, |mut answer| async {
            let chunk = answer.chunk().await?;
            Some((Ok::<_, Infallible>(chunk), answer))
        }))
    }

    /// Sends a rendered answer as one piece, cut like any other.
    pub fn piece(mut self, text: String) -> Body {
        self.steps = Vec::new().into_iter();
        Body::from_stream(stream::unfold((Some(text), self), |(mut text, mut answer)| async {
            let chunk = match text.take() {
                Some(text) => answer.cut(text.into_bytes()),
                None => answer.chunk().await?,
            };
            Some((Ok::<_, Infallible>(chunk), (text, answer)))
        }))
    }

    async fn chunk(&mut self) -> Option<Bytes> {
        if self.left == Some(0) {
            self.hang_up().await;
        }
        loop {
            let step = self.steps.next()?;
            wait(step.delay_ms).await;
            let text = match step.action {
                StepAction::Hang => pending().await,
                StepAction::Event(StreamEvent::Fail { .. }) => self.fail().await,
                StepAction::Event(event @ StreamEvent::Finish(_)) => {
                    let text = self.writer.event(&event);
                    match self.last_event.take() {
                        Some(members) => merge_over_last(&text, &members),
                        None => text,
                    }
                }
                StepAction::Event(event) => self.writer.event(&event),
            };
            if !text.is_empty() {
                let bytes = self.writer.encode(text);
                return Some(self.cut(bytes));
            }
        }
    }

    async fn fail(&mut self) -> String {
        let Some(failure) = self.failure.take() else { return self.writer.unreasoned_end() };
        match failure_body(&failure, self.vendor) {
            Some(body) => self.writer.failure(&failure, &body),
            None => self.hang_up().await,
        }
    }

    /// Closes the connection once everything emitted is written.
    async fn hang_up(&mut self) -> String {
        self.connection.cut_after_writing();
        pending().await
    }

    fn cut(&mut self, bytes: Vec<u8>) -> Bytes {
        let mut bytes = Bytes::from(bytes);
        if let Some(left) = &mut self.left {
            bytes.truncate(*left);
            *left -= bytes.len();
        }
        bytes
    }
}

/// Merges members over the last line of `text` that is an object of JSON.
fn merge_over_last(text: &str, members: &Value) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let parse = |line: &str| serde_json::from_str(line.strip_prefix("data: ")?.trim_end()).ok();
    let last = lines.iter().enumerate().rev().find_map(|(at, line)| Some((at, parse(line)?)));
    if let Some((at, mut event)) = last {
        merge(&mut event, members);
        let end = if lines[at].ends_with('\r') { "\r" } else { "" };
        lines[at] = format!("data: {event}{end}");
    }
    lines.join("\n")
}

/// Merges a patch over a value, by RFC 7396.
fn merge(value: &mut Value, patch: &Value) {
    let Value::Object(members) = patch else { return value.clone_from(patch) };
    if !value.is_object() {
        *value = Value::Object(serde_json::Map::new());
    }
    let Some(object) = value.as_object_mut() else { return };
    for (name, member) in members {
        match member {
            Value::Null => drop(object.remove(name)),
            member => merge(object.entry(name.clone()).or_insert(Value::Null), member),
        }
    }
}

/// Waits for `delay_ms` milliseconds.
pub(super) async fn wait(delay_ms: u64) {
    if delay_ms > 0 {
        sleep(Duration::from_millis(delay_ms)).await;
    }
}

/// Formats a server-sent event with `data`; without `name` for vendors that do not name their events.
pub(super) fn sse(name: Option<&str>, data: &str) -> String {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    let data: String = data.split('\n').map(|line| format!("data: {line}\n")).collect();
    format!("{name}{data}\n")
}
