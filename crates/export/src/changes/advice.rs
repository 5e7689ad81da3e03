//! What a client must do about a change: the sentences of `schema/advice.json`, the closest one first.

use crate::diff::{Difference, Kind, directions::Direction};
use pi_rpc_protocol::DialectVersion;
use serde_json::Value;

const ADVICE: &str = include_str!("../../../../schema/advice.json");

/// The sentences, for a change to one dialect.
pub(super) struct Advice {
    data: Value,
    /// New names of the dialect, each as `old=new`.
    renames: Vec<String>,
}

impl Advice {
    pub(super) fn new(record: &Value) -> Self {
        let renames = record["renames"].as_array().into_iter().flatten();
        Self {
            data: serde_json::from_str(ADVICE).unwrap_or_default(),
            renames: renames.filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }

    /// Words for what the branches of a union are, such as `event`.
    pub(super) fn family(&self, union: &str) -> Option<&str> {
        self.data["families"][union].as_str()
    }

    /// The sentence about a difference of frames; empty: nothing has to be done.
    pub(super) fn of_frames(&self, found: &Difference, direction: Direction) -> String {
        if let Some(own) = self.of_place(found) {
            return own.to_owned();
        }
        let renamed = self.renames.iter().filter_map(|rename| rename.split_once('='));
        let is_gone = matches!(found.kind, Kind::MemberGone | Kind::BranchGone);
        if let Some((_, new)) = renamed.into_iter().find(|(old, _)| is_gone && *old == found.name) {
            return self.of_kind("renamed").replace("{name}", new);
        }
        let kind = match (found.kind, found.at.as_str()) {
            (Kind::BranchGone, "RpcCommand") => return self.of_kind("commandGone"),
            (Kind::BranchGone, "AgentSessionEvent" | "Outbound") => return self.of_kind("eventGone"),
            (Kind::MemberGone, _) => "memberGone",
            (Kind::MemberOptional, _) => "memberOptional",
            (Kind::MemberRequired, _) => "memberRequired",
            (Kind::MemberNew, _) => "memberNew",
            (Kind::BranchGone, _) => "branchGone",
            (Kind::BranchNew, _) => "branchNew",
            (Kind::ValueGone, _) => "valueGone",
            (Kind::ValueNew, _) => "valueNew",
            (Kind::Other, _) => "other",
        };
        let of_written = self.of_kind(&format!("{kind}.written"));
        if direction.written && !of_written.is_empty() { of_written } else { self.of_kind(kind) }
    }

    /// The sentence about this very place, or about what is called so everywhere.
    pub(super) fn of_place(&self, found: &Difference) -> Option<&str> {
        let places = &self.data["places"];
        let own = places.get(format!("{}.{}", found.at, found.name));
        own.or_else(|| places.get(format!("*.{}", found.name)))?.as_str()
    }

    /// The sentence for a kind of change; empty if there is none.
    pub(super) fn of_kind(&self, kind: &str) -> String {
        self.data["kinds"][kind].as_str().unwrap_or_default().to_owned()
    }

    /// The sentence about a property of the records that has a new value, if a client has to know it.
    pub(super) fn of_record(&self, property: &str, value: &Value) -> Option<&str> {
        let own = &self.data["record"][property];
        let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        own.get(&name).or_else(|| own.get("*"))?.as_str()
    }

    /// What ends the work that a prompt has started.
    pub(super) fn end(&self, schema: &Value, record: &Value) -> &str {
        let events = &schema["$defs"]["AgentSessionEvent"]["discriminator"]["mapping"];
        let holds = |row: &&Value| match (row["event"].as_str(), row["record"].as_str()) {
            (Some(event), _) => events.get(event).is_some(),
            (_, Some(property)) => record[property] == row["is"],
            (None, None) => true,
        };
        self.data["ends"]
            .as_array()
            .into_iter()
            .flatten()
            .find(holds)
            .and_then(|row| row["says"].as_str())
            .unwrap_or_default()
    }

    /// Notes on a step from one dialect to another that no schema has.
    pub(super) fn notes(&self, from: DialectVersion, to: DialectVersion) -> impl Iterator<Item = &str> {
        let step = format!("{} {}", from.dialect, to.dialect);
        let notes = if from.dialect == to.dialect { None } else { self.data["steps"][step].as_array() };
        notes.into_iter().flatten().filter_map(Value::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_rpc_protocol::BUNDLE;

    #[test]
    fn sentences_are_about_what_exists() {
        let bundle: Value = serde_json::from_str(BUNDLE).expect("build.rs wrote JSON");
        let advice: Value = serde_json::from_str(ADVICE).expect("JSON");
        let names =
            |part: &str| -> Vec<String> { advice[part].as_object().expect(part).keys().cloned().collect() };
        let is_property = |path: &String| {
            let inner = path.split('.').fold(&bundle["record"], |at, name| &at["properties"][name]);
            !inner.is_null()
        };
        let is_place = |place: &String| {
            let (def, name) = place.split_once('.').unwrap_or((place, ""));
            let is_anywhere = def == "*" && BUNDLE.contains(&format!("\"{name}\":"));
            let def = &bundle["$defs"][def];
            let is_value = |value: &Value| value.as_str() == Some(name.trim_matches('"'));
            is_anywhere
                || def["properties"].get(name).is_some()
                || def["discriminator"]["mapping"].get(name).is_some()
                || def["enum"].as_array().into_iter().flatten().any(is_value)
                || def["oneOf"].to_string().contains(&format!("/{name}\""))
        };
        let strange: Vec<String> = [
            names("record").into_iter().filter(|path| !is_property(path)).collect::<Vec<_>>(),
            names("places").into_iter().filter(|place| !is_place(place)).collect(),
            names("families").into_iter().filter(|union| bundle["$defs"][union]["oneOf"].is_null()).collect(),
        ]
        .concat();
        assert_eq!(strange, Vec::<String>::new(), "schema/advice.json");
    }
}
