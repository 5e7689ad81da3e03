//! The bridges between dialects that the schema does not say by itself: `schema/front.json`.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::{collections::BTreeMap, sync::LazyLock};

/// The text of `schema/front.json`.
pub const BRIDGES: &str = include_str!("../../../schema/front.json");

static PARSED: LazyLock<Bridges> = LazyLock::new(|| {
    // A test reads the file; what it finds wrong never gets this far.
    serde_json::from_str(BRIDGES).unwrap_or_default()
});

/// The bridges of this build.
pub fn bridges() -> &'static Bridges {
    &PARSED
}

/// What becomes of something that the other dialect does not have.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bridges {
    /// For readers of the file.
    #[allow(dead_code, reason = "read by people")]
    pub description: String,
    /// The nearest value of an enumeration: title of the def → value → value.
    pub values: BTreeMap<String, BTreeMap<String, String>>,
    /// The nearest branch of a union: title of the def → value of the tag → branch.
    pub branches: BTreeMap<String, BTreeMap<String, Branch>>,
    /// Required members: title of the def, a dot and the name → source of the value.
    pub members: BTreeMap<String, Member>,
    /// Commands of the same meaning.
    pub commands: BTreeMap<String, String>,
    /// Commands that are several of the other dialect.
    pub sequences: BTreeMap<String, Sequence>,
    /// Events before the response to a command.
    pub announcements: Vec<Announcement>,
}

/// A branch of a union that stands for another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// Value of the tag.
    pub to: String,
    /// Members with other names: old → new.
    pub renames: BTreeMap<String, String>,
    /// Members with fixed values.
    pub set: Map<String, Value>,
    /// The reason.
    pub why: String,
}

/// Source of a member's value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Another member of the same object.
    pub from: Option<String>,
    /// Fixed value, possibly null; absent: none.
    #[serde(default, deserialize_with = "some")]
    pub default: Option<Value>,
    /// Value from the account of the session.
    pub computed: Option<Computed>,
    /// Whether it is computed even where the other dialect has the member.
    #[serde(default)]
    pub always: bool,
    /// The reason.
    pub why: Option<String>,
}

/// Several commands in place of one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sequence {
    /// The commands; each is sent when the one before has been answered. The last one has the members of the command.
    pub steps: Vec<String>,
    /// The reason.
    pub why: String,
}

/// Events that announce what a command has done.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Announcement {
    /// The command.
    pub command: String,
    /// The events, in order.
    pub events: Vec<AnnouncedEvent>,
    /// The reason.
    #[allow(dead_code, reason = "read by people")]
    pub why: String,
}

/// An event that announces what a command has done.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AnnouncedEvent {
    /// Members with fixed values.
    pub fixed: Map<String, Value>,
    /// Members with values of the command (`/command`) or of the response (`/data`), by their paths.
    pub paths: BTreeMap<String, String>,
    /// The member for the error text of a command that fails; `None`: the event announces a success only.
    pub failed: Option<String>,
    /// The path of a value without which the event does not come; `None`: it always comes.
    pub only_with: Option<String>,
    /// The path of a flag with which the event does not come; `None`: it always comes.
    pub unless: Option<String>,
    /// Whether it only comes if its value is another than the last one.
    #[serde(default)]
    pub if_changed: bool,
}

/// Values that are computed from the account of the session.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Computed {
    /// Whether a retry follows the run.
    WillRetry,
    /// Whether the work was aborted.
    Aborted,
    /// The reason with which the last compaction began.
    CompactionReason,
    /// Whether a compaction was aborted, or skipped, where the client cannot be told of that.
    CompactionAborted,
    /// Id of the message, counted from 1.
    MessageId,
    /// Usage of the partial message.
    Usage,
    /// The partial message, or a member of it.
    Snapshot,
    /// What became of a prompt.
    PromptDisposition,
    /// Whether the client's own server would say that it streams.
    IsStreaming,
    /// Number of messages that the client knows.
    MessageCount,
    /// Interrupt mode of a server that has none.
    InterruptMode,
    /// Whether all work has ended.
    IsSettled,
    /// Fill level of the context.
    ContextUsage,
    /// Source of a slash command.
    SourceInfo,
    /// What the first frame says.
    Greeting,
    /// Provider and id of a model in one text.
    ModelName,
    /// Provider of a model.
    ModelProvider,
    /// Id of a model.
    ModelId,
}

/// A value that is there, even if it is null.
fn some<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
