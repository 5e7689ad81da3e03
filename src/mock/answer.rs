//! An answer on its way: the clock, failures, silence and cuts, the same for every vendor.

use super::{connection::Connection, journal::RunningGuard, refusal::failure_body, vendor::Vendor};
use crate::model::{
    scripted::{Failure, Step, StepAction},
    types::StreamEvent,
};
use axum::body::{Body, Bytes};
use futures_util::stream;
use serde_json::Value;
use std::{convert::Infallible, future::pending, time::Duration, vec};
use tokio::time::sleep;

/// Renders an answer in a vendor's form, event by event.
pub(super) trait Writer: Send {
    /// The server-sent events that say `event`, ready for the wire. Failures do not come here.
    fn event(&mut self, event: &StreamEvent) -> String;

    /// The server-sent event that ends an answer that fails with the error object `body`.
    fn failure(&mut self, failure: &Failure, body: &str) -> String;

    /// The answer as one JSON object, once its last event was told.
    fn whole(&self) -> Value;
}

/// What is left to be said, and to whom.
pub(super) struct AnswerStream {
    pub vendor: Vendor,
    pub writer: Box<dyn Writer>,
    pub steps: vec::IntoIter<Step>,
    pub failure: Option<Failure>,
    pub connection: Connection,
    /// Bytes until the connection is cut.
    pub left: Option<usize>,
    /// Held until the answer is said or its client is gone.
    pub _running: RunningGuard,
}

/// How an answer that is given in one piece ends.
pub(super) enum Outcome {
    Whole(Value),
    Failed(Failure),
}

impl AnswerStream {
    /// Waits for the whole answer.
    pub async fn outcome(&mut self) -> Outcome {
        for step in self.steps.by_ref() {
            wait(step.delay_ms).await;
            match step.action {
                StepAction::Hang => pending().await,
                StepAction::Event(StreamEvent::Fail { .. }) => {
                    return Outcome::Failed(self.failure.clone().unwrap_or_default());
                }
                StepAction::Event(event) => drop(self.writer.event(&event)),
            }
        }
        Outcome::Whole(self.writer.whole())
    }

    /// The answer as server-sent events.
    pub fn stream(self) -> Body {
        Body::from_stream(stream::unfold(self, |mut answer| async {
            let chunk = answer.chunk().await?;
            Some((Ok::<_, Infallible>(chunk), answer))
        }))
    }

    /// The answer as one piece that is already rendered, cut like any other.
    pub fn piece(mut self, text: String) -> Body {
        self.steps = Vec::new().into_iter();
        Body::from_stream(stream::unfold((Some(text), self), |(mut text, mut answer)| async {
            let chunk = match text.take() {
                Some(text) => answer.cut(text),
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
                StepAction::Event(event) => self.writer.event(&event),
            };
            if !text.is_empty() {
                return Some(self.cut(text));
            }
        }
    }

    async fn fail(&mut self) -> String {
        let failure = self.failure.take().unwrap_or_default();
        match failure_body(&failure, self.vendor) {
            Some(body) => self.writer.failure(&failure, &body),
            None => self.hang_up().await,
        }
    }

    /// Everything said so far is written, then the connection ends.
    async fn hang_up(&mut self) -> String {
        self.connection.cut_after_writing();
        pending().await
    }

    fn cut(&mut self, text: String) -> Bytes {
        let mut bytes = Bytes::from(text);
        if let Some(left) = &mut self.left {
            bytes.truncate(*left);
            *left -= bytes.len();
        }
        bytes
    }
}

/// Waits so many milliseconds.
pub(super) async fn wait(delay_ms: u64) {
    if delay_ms > 0 {
        sleep(Duration::from_millis(delay_ms)).await;
    }
}

/// A server-sent event with `data`; a vendor that does not name its events gives no `name`.
pub(super) fn sse(name: Option<&str>, data: &str) -> String {
    let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
    let data: String = data.split('\n').map(|line| format!("data: {line}\n")).collect();
    format!("{name}{data}\n")
}
