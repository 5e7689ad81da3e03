//! Folds updates that follow one another in a conversation into one row, with what each of them has added.

use super::subject::{frame, seconds};
use crate::report::TimelineEntry;
use maud::{Markup, html};
use pi_rpc_files::harmless::harmless;
use pi_rpc_protocol::AgentSessionEventKind;
use pi_rpc_recording::Direction;
use serde_json::Value;

/// The most characters of a text that a folded row shows.
const SHOWN: usize = 120;

/// Records of a conversation that are shown together.
pub(super) enum Group<'a> {
    /// A record with a row of its own.
    Single(&'a TimelineEntry),
    /// Updates of one message or tool call, without findings.
    Updates(Vec<(&'a TimelineEntry, Update)>),
}

impl Group<'_> {
    /// The state after the last record.
    pub fn state(&self) -> &str {
        match self {
            Self::Single(entry) => &entry.state,
            Self::Updates(updates) => updates.last().map_or("", |(entry, _)| &entry.state),
        }
    }
}

/// What an update of a message or tool call has added.
pub(super) struct Update {
    /// The event.
    kind: AgentSessionEventKind,
    /// What was updated: the kind of the delta, or the tool.
    what: String,
    /// The added text; `None`: the update has none, or was shortened.
    added: Option<String>,
    /// The whole text so far, where the update repeats it.
    whole: Option<String>,
}

impl Update {
    /// Reads the record of an update; `None`: the record is none, or too long to be kept whole.
    fn of(entry: &TimelineEntry, before: Option<&Self>) -> Option<Self> {
        if entry.direction != Direction::Out || !entry.findings.is_empty() {
            return None;
        }
        let frame: Value = serde_json::from_str(entry.whole.as_ref().unwrap_or(&entry.text)).ok()?;
        let kind = AgentSessionEventKind::parse(frame["type"].as_str()?).filter(|kind| kind.is_update())?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let event = &frame["assistantMessageEvent"];
        if let Some(what) = text(&event["type"]) {
            return Some(Self { kind, what, added: text(&event["delta"]), whole: None });
        }
        let whole = text(&frame["partialResult"]["content"][0]["text"]);
        let said = before.and_then(|before| before.whole.as_deref()).unwrap_or_default();
        let added = whole.as_deref().map(|whole| whole.strip_prefix(said).unwrap_or(whole).to_owned());
        let what = text(&frame["toolName"]).unwrap_or_else(|| kind.as_str().to_owned());
        Some(Self { kind, what, added, whole })
    }
}

/// Groups the records of a conversation. A single update stays a row.
pub(super) fn grouped(timeline: &[TimelineEntry]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for entry in timeline {
        let open = match groups.last_mut() {
            Some(Group::Updates(updates)) => Some(updates),
            _ => None,
        };
        let before = open.as_ref().and_then(|updates| updates.last()).map(|(_, update)| update);
        match (Update::of(entry, before), open) {
            (Some(update), Some(updates)) if updates.last().is_some_and(|(_, it)| it.kind == update.kind) => {
                updates.push((entry, update));
            }
            (Some(update), _) => groups.push(Group::Updates(vec![(entry, update)])),
            (None, _) => groups.push(Group::Single(entry)),
        }
    }
    let single = |group| match group {
        Group::Updates(updates) if updates.len() == 1 => Group::Single(updates[0].0),
        group => group,
    };
    groups.into_iter().map(single).collect()
}

/// Renders updates as one row, which unfolds to what each has added and to its frame.
pub(super) fn updates_row(updates: &[(&TimelineEntry, Update)], state_before: Option<&str>) -> Markup {
    let [(first, update), .., (last, _)] = updates else { return Markup::default() };
    let text: String = updates.iter().filter_map(|(_, update)| update.added.as_deref()).collect();
    html! {
        tr.folded {
            td.number { (first.record) "–" (last.record) }
            td.number { (seconds(first.t)) }
            td { "out" }
            td.text {
                details {
                    summary { (updates.len()) " × " (update.kind.as_str()) @if !text.is_empty() { ": " span.soft { (quoted(&text)) } } }
                    ol.updates {
                        @for (entry, update) in updates {
                            li {
                                span.number { (entry.record) } " " span.number { (seconds(entry.t)) } " " (harmless(&update.what))
                                @if let Some(added) = &update.added { " " code { (quoted(added)) } }
                                " " (frame(&format!("frame of {} bytes", whole(entry).len()), Some(whole(entry))))
                            }
                        }
                    }
                }
            }
            td.state.same[state_before == Some(last.state.as_str())] { (last.state) }
        }
    }
}

/// The whole record.
fn whole(entry: &TimelineEntry) -> &str {
    entry.whole.as_ref().unwrap_or(&entry.text)
}

/// A text as a JSON string, shortened in the middle.
fn quoted(text: &str) -> String {
    let count = text.chars().count();
    let short = match count > SHOWN {
        true => {
            let head: String = text.chars().take(SHOWN / 2).collect();
            let tail: String = text.chars().skip(count - SHOWN / 2).collect();
            format!("{head} … {tail}")
        }
        false => text.to_owned(),
    };
    harmless(&Value::from(short).to_string())
}
