//! Spans as data: what begins and ends, when, below what.

use pi_rpc_server::TraceContext;
use std::time::Duration;

/// Names a span among those of its session; never used twice.
pub type SpanNumber = u64;

/// What becomes known of a span.
#[derive(Clone, Debug, PartialEq)]
pub enum SpanEvent {
    /// It has begun.
    Started(SpanStart),
    /// It has ended. Comes once for each that has begun.
    Ended(SpanEnd),
}

/// The beginning of a span.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanStart {
    /// Names it.
    pub number: SpanNumber,
    /// What it is a part of.
    pub parent: Parent,
    /// Its name.
    pub name: String,
    /// Who does the work.
    pub kind: SpanKind,
    /// When, since the Unix epoch.
    pub at: Duration,
    /// What is known at its beginning.
    pub attributes: Vec<Attribute>,
}

/// The end of a span.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanEnd {
    /// Names it.
    pub number: SpanNumber,
    /// When, since the Unix epoch.
    pub at: Duration,
    /// What is known at its end.
    pub attributes: Vec<Attribute>,
    /// Whether the work has failed.
    pub failure: Option<Failure>,
}

/// Why the work of a span has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its class, one of few.
    pub class: String,
    /// Its text, if texts are recorded.
    pub text: Option<String>,
}

/// What a span is a part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parent {
    /// Nothing: it begins a trace.
    None,
    /// A span of the client.
    Client(TraceContext),
    /// A span of the session that began before.
    Span(SpanNumber),
}

/// Who does the work of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// This process.
    Internal,
    /// Another one, which this one has requested.
    Client,
}

/// A name and a value.
pub type Attribute = (&'static str, AttributeValue);

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum AttributeValue {
    /// A text.
    Text(String),
    /// Some texts.
    Texts(Vec<String>),
    /// A count.
    Count(u64),
    /// Seconds.
    Seconds(f64),
    /// Whether something is so.
    Flag(bool),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for AttributeValue {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<bool> for AttributeValue {
    fn from(is_so: bool) -> Self {
        Self::Flag(is_so)
    }
}

impl From<Vec<&str>> for AttributeValue {
    fn from(texts: Vec<&str>) -> Self {
        Self::Texts(texts.into_iter().map(str::to_owned).collect())
    }
}

impl Failure {
    /// A failure of this class, without a text.
    pub fn of(class: &str) -> Self {
        Self { class: class.to_owned(), text: None }
    }
}
