//! The files that tool calls in the summarized part have read or modified.
//!
//! Source: pi source, xcsh source.

use pi_rpc_protocol::{AgentMessage, AssistantContent, CompactionDetails, StopReason};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc};

/// Tags of the two lists at the end of a summary.
const TAGS: [&str; 2] = ["read-files", "modified-files"];

/// Paths of files that were read or modified, as the calls name them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TouchedFiles {
    read: BTreeSet<String>,
    modified: BTreeSet<String>,
}

impl TouchedFiles {
    /// Reads the files in the details of a compaction; none if the details have another shape.
    pub fn from_details(details: &Value) -> Self {
        let Ok(details) = <CompactionDetails as Deserialize>::deserialize(details) else {
            return Self::default();
        };
        let CompactionDetails { read_files, modified_files } = details;
        Self { read: read_files.into_iter().collect(), modified: modified_files.into_iter().collect() }
    }

    /// Adds the files of another set.
    pub fn extend(&mut self, other: Self) {
        self.read.extend(other.read);
        self.modified.extend(other.modified);
    }

    /// Adds the files in the tool calls of `messages`. Calls of failed or aborted answers never ran.
    pub fn note(&mut self, messages: &[Arc<AgentMessage>]) {
        for message in messages {
            let AgentMessage::Assistant(message) = message.as_ref() else { continue };
            if matches!(message.stop_reason, StopReason::Error | StopReason::Aborted) {
                continue;
            }
            for block in &message.content {
                let AssistantContent::ToolCall(call) = block else { continue };
                let touched = match call.name.as_str() {
                    "read" => &mut self.read,
                    "write" | "edit" => &mut self.modified,
                    _ => continue,
                };
                touched.extend(call.arguments.get("path").and_then(Value::as_str).map(str::to_owned));
            }
        }
    }

    /// Builds the `details` of a compaction; a modified file is not listed as read.
    pub fn details(&self) -> CompactionDetails {
        CompactionDetails {
            read_files: self.read.difference(&self.modified).cloned().collect(),
            modified_files: self.modified.iter().cloned().collect(),
        }
    }

    /// Formats the lists behind a summary, each of at most `lines` lines; empty ones are left out.
    pub(crate) fn lists(&self, lines: Option<u64>) -> String {
        let CompactionDetails { read_files, modified_files } = self.details();
        let lists = TAGS.into_iter().zip([read_files, modified_files]);
        lists.map(|(tag, paths)| list(tag, &paths, lines)).collect()
    }
}

/// Strips the lists of files from `summary`, which an earlier compaction added or the model copied.
pub(super) fn without_lists(summary: &str) -> String {
    let mut summary = summary.to_owned();
    for tag in TAGS {
        let (open, close) = (format!("<{tag}>\n"), format!("\n</{tag}>"));
        while let Some(start) = summary.find(&open)
            && let Some(end) = summary[start..].find(&close).map(|end| start + end + close.len())
        {
            let rest = summary.split_off(end);
            summary.truncate(summary[..start].trim_end().len());
            summary += &rest;
        }
    }
    summary
}

/// Formats a list of `paths`; if it is too long, its last line counts the rest.
fn list(tag: &str, paths: &[String], lines: Option<u64>) -> String {
    if paths.is_empty() {
        return String::new();
    }
    let most = lines.and_then(|lines| usize::try_from(lines).ok()).filter(|most| paths.len() > *most);
    let shown = most.map_or(paths.len(), |most| most.saturating_sub(1));
    let mut text = paths[..shown].join("\n");
    if most.is_some() {
        text += &format!("\n({} more)", paths.len() - shown);
    }
    format!("\n\n<{tag}>\n{}\n</{tag}>", text.trim_start_matches('\n'))
}
