//! The files that were touched in what is summed up.
//!
//! Source: pi source, xcsh source.

use crate::protocol::{AgentMessage, AssistantContent, CompactionDetails, StopReason};
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc};

/// The tags of the two lists at the end of a summary.
const TAGS: [&str; 2] = ["read-files", "modified-files"];

/// Paths, as the calls named them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    read: BTreeSet<String>,
    modified: BTreeSet<String>,
}

impl Files {
    /// What a compaction noted; nothing where it is of another shape.
    pub fn from_details(details: &Value) -> Self {
        let Ok(details) = <CompactionDetails as Deserialize>::deserialize(details) else {
            return Self::default();
        };
        let CompactionDetails { read_files, modified_files } = details;
        Self { read: read_files.into_iter().collect(), modified: modified_files.into_iter().collect() }
    }

    /// Adds what was noted elsewhere.
    pub fn extend(&mut self, other: Self) {
        self.read.extend(other.read);
        self.modified.extend(other.modified);
    }

    /// Adds the files that the calls in `messages` name. Answers that failed or were aborted called nothing.
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

    /// For the `details` of the compaction: what was modified is not listed as read.
    pub fn details(&self) -> CompactionDetails {
        CompactionDetails {
            read_files: self.read.difference(&self.modified).cloned().collect(),
            modified_files: self.modified.iter().cloned().collect(),
        }
    }

    /// What is added to the summary: the lists that are not empty, each of at most `lines` lines.
    pub(in crate::session) fn lists(&self, lines: Option<u64>) -> String {
        let CompactionDetails { read_files, modified_files } = self.details();
        let lists = TAGS.into_iter().zip([read_files, modified_files]);
        lists.map(|(tag, paths)| list(tag, &paths, lines)).collect()
    }
}

/// `summary` without the lists of files that an earlier compaction added, or that the model took over from there.
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

/// A list of `paths`; the last of its lines tells how many there was no room for.
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
