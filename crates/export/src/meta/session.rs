//! The session's state in the meta file: members, their effects, and the responses that have their values.

use super::{
    frames::{Frames, text, texts},
    types::{EffectAbout, EffectCondition, MemberAbout, SessionAbout},
};
use crate::parts::ref_name;
use serde_json::Value;
use std::collections::BTreeMap;

/// The kinds of effects, each with the key of the path to its value.
const EFFECTS: [(&str, &str); 7] = [
    ("set", "to"),
    ("next", "to"),
    ("clamp", "to"),
    ("append", "item"),
    ("add", "of"),
    ("reset", ""),
    ("forget", ""),
];

/// The session's state in one dialect.
pub struct Session<'a> {
    frames: &'a Frames,
    /// `session.json`.
    about: &'a Value,
    /// The dialect whose frames are used.
    base: &'a str,
}

impl<'a> Session<'a> {
    pub fn new(frames: &'a Frames, about: &'a Value, base: &'a str) -> Self {
        Self { frames, about, base }
    }

    /// The members and codes of the dialect.
    pub fn about(&self) -> SessionAbout {
        let members = self.about["members"].as_object().into_iter().flatten();
        let codes = self.about["codes"].as_object().into_iter().flatten();
        let used = self.codes();
        SessionAbout {
            description: text(&self.about["description"]),
            members: members
                .filter_map(|(name, about)| {
                    Some(MemberAbout {
                        schema: self.schema_of(name)?,
                        name: name.clone(),
                        description: text(&about["description"]),
                        absent: about["absent"] == true,
                        silent: about["silent"] == true,
                        fresh: about["fresh"] == true,
                        kept: about["kept"].as_str().unwrap_or("value").to_owned(),
                    })
                })
                .collect(),
            codes: codes
                .filter(|(name, _)| used.contains(name))
                .map(|(name, about)| (name.clone(), text(about)))
                .collect(),
        }
    }

    /// The effects of a command whose success is `response`, or of an event.
    pub fn effects(&self, def: &str, response: Option<&str>) -> Vec<EffectAbout> {
        let rows = self.frames.annotated(def)["x-effects"].as_array().into_iter().flatten();
        rows.filter(|row| self.has(row)).filter_map(|row| self.effect(row, def, response)).collect()
    }

    /// The members in a response, each with the path to its value.
    pub fn tells(&self, response: &str) -> BTreeMap<String, String> {
        let members = self.frames.annotated(response)["x-tells"].as_object().into_iter().flatten();
        let known = |(name, path): &(&String, &Value)| {
            self.schema_of(name).is_some()
                && self.resolve(response, path.as_str().unwrap_or_default()).is_some()
        };
        members.filter(known).map(|(name, path)| (name.clone(), text(path))).collect()
    }

    fn effect(&self, row: &Value, def: &str, response: Option<&str>) -> Option<EffectAbout> {
        let word = EFFECTS.iter().find(|(word, _)| row.get(*word).is_some());
        let (effect, key) = word.copied().unwrap_or(("code", ""));
        let mut members = if effect == "code" { texts(&row["of"]) } else { vec![text(&row[effect])] };
        members.retain(|name| self.schema_of(name).is_some());
        let value = row[key].as_str();
        let root =
            |path: &str| if path.starts_with("data.") || path == "data" { response } else { Some(def) };
        let is_there = |path: &str| root(path).is_some_and(|root| self.resolve(root, path).is_some());
        if members.is_empty() || value.is_some_and(|path| !is_there(path)) {
            return None;
        }
        let when = row.get("when");
        Some(EffectAbout {
            when: when.map(|when| EffectCondition { field: text(&when["field"]), is: texts(&when["is"]) }),
            effect: effect.to_owned(),
            members,
            value: value.map(str::to_owned),
            r#in: row["in"].as_str().map(str::to_owned),
            code: row["code"].as_str().map(str::to_owned),
        })
    }

    /// The codes that an effect of the dialect names.
    fn codes(&self) -> Vec<String> {
        let commands = self.frames.branches("RpcCommand").into_iter().flat_map(|(_, def)| {
            let response = self.frames.annotation(&def, "x-response");
            self.effects(&def, response.as_deref())
        });
        let events = self.frames.branches("AgentSessionEvent").into_iter();
        let events = events.flat_map(|(_, def)| self.effects(&def, None));
        commands.chain(events).filter_map(|effect| effect.code).collect()
    }

    /// The schema of a member's value; `None` if the dialect has no such member. A member without a type has that of its value
    /// in a response.
    fn schema_of(&self, name: &str) -> Option<Value> {
        let about = self.about["members"].get(name).filter(|about| self.has(about))?;
        if let Some(own) = about.get("type") {
            return Some(own.clone());
        }
        let responses = self.frames.branches("RpcSuccess").into_iter().map(|(_, def)| def);
        let mut paths = responses.filter_map(|response| {
            let path = self.frames.annotated(&response)["x-tells"][name].as_str()?;
            self.resolve(&response, path)
        });
        paths.next()
    }

    /// The schema at a path; `None` if the dialect has no such place.
    fn resolve(&self, def: &str, path: &str) -> Option<Value> {
        let steps: Vec<&str> = path.split('.').collect();
        let steps = if steps.first() == Some(&"data") { &steps[..] } else { steps.get(1..)? };
        let (mut def, mut at) = (def.to_owned(), None);
        for step in steps {
            if let Some(schema) = at.take() {
                def = target(&schema)?;
            }
            at = Some(self.frames.member(&def, step)?.clone());
        }
        at
    }

    /// Whether the list `dialects`, if there is one, has the dialect.
    fn has(&self, limited: &Value) -> bool {
        limited
            .get("dialects")
            .and_then(Value::as_array)
            .is_none_or(|ids| ids.iter().any(|id| id == self.base))
    }
}

/// The definition that a schema refers to, directly or beside null.
fn target(schema: &Value) -> Option<String> {
    let branches = schema["oneOf"].as_array().into_iter().flatten();
    ref_name(schema).or_else(|| branches.filter_map(ref_name).next()).map(str::to_owned)
}
