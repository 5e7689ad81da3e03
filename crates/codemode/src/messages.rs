//! The lines between the sandbox and its user, as JSON.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A tool as a script sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScriptTool {
    /// Its name, as calls have it.
    pub name: String,
    /// The member of `tools` that calls it.
    pub identifier: String,
    /// What `ALL_TOOLS` says of it.
    pub description: String,
}

/// The first line: what is to be run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Start {
    /// The body of an async function.
    pub code: String,
    /// The tools that it may call.
    pub tools: Vec<ScriptTool>,
    /// The names of functions that its user answers.
    pub functions: Vec<String>,
    /// Stored values, each as JSON text.
    pub store: BTreeMap<String, String>,
}

/// The answer to a call.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The id of the call.
    pub id: u64,
    /// The value as JSON text; `None`: undefined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Why the call failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a script calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallTarget {
    /// A tool, with one object as arguments.
    Tool,
    /// One of the functions, with a list of arguments.
    Function,
}

/// A part of the output of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OutputItem {
    /// Of `text`.
    Text {
        /// The text.
        text: String,
    },
    /// Of `console`.
    Console {
        /// The line.
        text: String,
    },
    /// Of `image`.
    Image {
        /// The image in base64.
        data: String,
        /// Its type, found by its first bytes.
        mime_type: String,
    },
}

/// What a script does.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub(crate) enum Report {
    /// A call, to be answered.
    Call {
        id: u64,
        target: CallTarget,
        name: String,
        /// JSON text; `None`: undefined.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arguments: Option<String>,
    },
    /// Output.
    Output { item: OutputItem },
    /// The end.
    Done {
        /// Why the script failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// The value that it returned, as JSON text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        value: Option<String>,
        /// Keys that it stored, each with JSON text; `None`: removed.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        writes: BTreeMap<String, Option<String>>,
    },
}
