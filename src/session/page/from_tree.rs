//! The page of a session as it is kept.

use serde_json::Value;

use crate::protocol::{
    CompactionEntry, LabelEntry, ModelChangeEntry, SessionEntryKind as Kind, SessionInfoEntry,
    ThinkingLevelChangeEntry,
};
use crate::session::time::millis;
use crate::session::{Entry, Tree};

use super::input::{Body, Page, PageEntry};

/// The members that every entry has; the page tells them its own way.
const COMMON: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// What a page tells beside the session.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// What writes the page: a program and its version.
    pub written_by: String,
    /// What the model is told before the conversation, if readers are to see it.
    pub instructions: Option<String>,
}

/// The session as one HTML document: see [`Page`].
pub fn html(tree: &Tree, options: &PageOptions) -> String {
    Page::of(tree, options).html()
}

impl Page {
    /// Every branch of a session. Every message in it is parsed for this.
    pub fn of(tree: &Tree, options: &PageOptions) -> Self {
        let header = tree.header();
        Self {
            name: tree.name(),
            session: header.id.clone(),
            cwd: header.cwd.clone(),
            created: Some(millis(&header.timestamp)).filter(|at| *at > 0),
            written_by: options.written_by.clone(),
            instructions: options.instructions.clone(),
            entries: tree.entries().iter().map(page_entry).collect(),
            leaf: tree.leaf_id().map(|id| id.to_string()),
        }
    }
}

fn page_entry(entry: &Entry) -> PageEntry {
    PageEntry {
        id: entry.id().to_string(),
        parent: entry.parent().map(|parent| parent.to_string()),
        at: entry.at(),
        body: body(entry).unwrap_or_else(|| other(entry)),
    }
}

/// What an entry of a known kind says; none if it is not as such an entry should be.
fn body(entry: &Entry) -> Option<Body> {
    let body = match entry.kind()? {
        Kind::Message | Kind::CustomMessage | Kind::BranchSummary => Body::Message(entry.message()?.clone()),
        Kind::ModelChange => {
            let change: ModelChangeEntry = entry.read()?;
            let of_provider = |id| Some(format!("{}/{id}", change.provider?));
            Body::Model(change.model.or_else(|| of_provider(change.model_id?))?)
        }
        Kind::ThinkingLevelChange => Body::Level(entry.read::<ThinkingLevelChangeEntry>()?.thinking_level),
        Kind::Compaction => {
            let compaction: CompactionEntry = entry.read()?;
            Body::Compaction {
                summary: compaction.summary,
                tokens_before: compaction.tokens_before,
                first_kept: Some(compaction.first_kept_entry_id),
            }
        }
        Kind::Label => {
            let LabelEntry { target_id: target, label, .. } = entry.read()?;
            Body::Label { target, label: label.filter(|label| !label.is_empty()) }
        }
        Kind::SessionInfo => Body::Name(entry.read::<SessionInfoEntry>()?.name?),
        _ => return None,
    };
    Some(body)
}

/// An entry as it stands in the file.
fn other(entry: &Entry) -> Body {
    let said = serde_json::from_slice(entry.line());
    let Ok(Value::Object(mut members)) = said else {
        let line = String::from_utf8_lossy(entry.line()).into_owned();
        return Body::Other { kind: "unreadable".to_owned(), data: Value::String(line) };
    };
    let kind = members.get("type").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    members.retain(|name, _| !COMMON.contains(&name.as_str()));
    Body::Other { kind, data: Value::Object(members) }
}
