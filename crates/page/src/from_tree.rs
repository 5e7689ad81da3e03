//! Builds the page of a session's tree.

use serde_json::Value;

use pi_rpc_protocol::{
    CompactionEntry, LabelEntry, ModelChangeEntry, SessionEntryKind as Kind, SessionInfoEntry,
    ThinkingLevelChangeEntry,
};
use pi_rpc_session::{Entry, Tree, time::millis};

use super::input::{Body, Page, PageEntry};

/// Members that every entry has; the page shows them in its own way.
const COMMON: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// Options of a page.
#[derive(Clone, Debug, Default)]
pub struct PageOptions {
    /// Program and version that write the page.
    pub written_by: String,
    /// The system prompt, if readers are to see it.
    pub instructions: Option<String>,
}

/// Renders a session as one HTML document: see [`Page`].
pub fn html(tree: &Tree, options: &PageOptions) -> String {
    Page::of(tree, options).html()
}

impl Page {
    /// Builds the page with every branch of a session. Parses every message.
    pub fn of(tree: &Tree, options: &PageOptions) -> Self {
        let header = tree.header();
        Self {
            name: tree.name(),
            session: header.id.clone(),
            cwd: header.cwd.clone(),
            created: Some(millis(&header.timestamp)).filter(|at| *at > 0),
            written_by: options.written_by.clone(),
            instructions: options.instructions.clone(),
            file: tree.lines(),
            entries: tree.entries().iter().zip(tree.line_indices()).map(page_entry).collect(),
            leaf: tree.leaf_id().map(|id| id.to_string()),
        }
    }
}

fn page_entry((entry, line): (&Entry, usize)) -> PageEntry {
    PageEntry {
        id: entry.id().to_string(),
        parent: entry.parent().map(|parent| parent.to_string()),
        at: entry.at(),
        line: Some(line),
        body: body(entry).unwrap_or_else(|| other(entry)),
    }
}

/// Reads the content of an entry; `None`: its kind is unknown, or it does not fit the schema.
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

/// Keeps an entry as raw members.
fn other(entry: &Entry) -> Body {
    let parsed = serde_json::from_slice(entry.line());
    let Ok(Value::Object(mut members)) = parsed else {
        let line = String::from_utf8_lossy(entry.line()).into_owned();
        return Body::Other { kind: "unreadable".to_owned(), data: Value::String(line) };
    };
    let kind = members.get("type").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    members.retain(|name, _| !COMMON.contains(&name.as_str()));
    Body::Other { kind, data: Value::Object(members) }
}
