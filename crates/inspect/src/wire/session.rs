//! What is inspected, and its sums.

use schemars::JsonSchema;
use serde::Serialize;

/// What is inspected.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// Where the records come from.
    pub source: Source,
    /// Whether more records may come.
    pub live: bool,
    /// Whether lines can be sent.
    pub sends: bool,
    /// Why nothing can be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sends_not: Option<String>,
    /// The dialect by which everything is judged.
    pub dialect: String,
    /// The version of the server, as `0.84`, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How the dialect was found.
    pub dialect_by: DialectOrigin,
    /// All dialects, for the choice.
    pub dialects: Vec<String>,
    /// Totals of the recording.
    pub totals: Totals,
    /// State after the last record.
    pub state: StateView,
    /// How far a file is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
    /// The version of this program.
    pub program: String,
}

/// Where the records come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Source {
    /// A server that the inspector has started.
    Command {
        /// The server and its arguments, with credentials redacted.
        argv: Vec<String>,
        /// The number of the process.
        #[serde(skip_serializing_if = "Option::is_none")]
        pid: Option<u32>,
        /// The exit status, after the end: 128 plus the signal for a process that was killed.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
    },
    /// A session of a host.
    Host {
        /// The address of the host.
        address: String,
        /// The id of the session; absent before one is chosen.
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<String>,
    },
    /// A recording.
    File {
        /// The path as given.
        path: String,
        /// Whether the file has grown since it was opened.
        grows: bool,
    },
}

/// How the dialect was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DialectOrigin {
    /// By the command line or the page.
    Chosen,
    /// By the first record of the recording.
    Recording,
    /// By frames that only one dialect has.
    Frames,
    /// Nothing shows it: the default.
    Default,
}

/// Totals of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// Records.
    pub records: u32,
    /// Items of the conversation.
    pub items: u32,
    /// Findings.
    pub findings: u32,
    /// Bytes of all records.
    pub bytes: u64,
    /// Milliseconds from the first record to the last.
    pub duration: f64,
    /// Lines that are no records.
    pub unread: u32,
    /// Lines of the host.
    pub r#in: u32,
    /// Lines of the server.
    pub out: u32,
    /// Lines of the server's stderr.
    pub err: u32,
    /// Events of the process.
    pub meta: u32,
    /// Findings that were counted but not kept.
    pub findings_left_out: u32,
    /// Whether the limit of records or bytes was reached: nothing more is read.
    pub full: bool,
}

/// The state of all regions after a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "State")]
pub struct StateView {
    /// The state of the flow, by its name in the schema.
    pub flow: String,
    /// Open dialogs.
    pub dialogs: u32,
    /// Running shell commands of the host.
    pub shells: u32,
    /// Whether the input has ended.
    pub closing: bool,
    /// All of it as text.
    pub text: String,
}

/// How far a file is read, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reading {
    /// Bytes that were read.
    pub done: u64,
    /// Bytes of the file.
    pub total: u64,
}

/// A transition of the flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Transition {
    /// The record that took it.
    pub record: u32,
    /// The state before.
    pub from: String,
    /// The state after.
    pub to: String,
    /// The kind of the frame.
    pub by: String,
    /// Whether a run ended without closing events.
    pub cut: bool,
}

/// Open sessions of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostSessions {
    /// The sessions.
    pub sessions: Vec<HostSession>,
}

/// An open session of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostSession {
    /// The id in the session's file; of a session without a file, the handle.
    pub id: String,
    /// The handle, by which the host knows it.
    pub handle: String,
    /// The name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}
