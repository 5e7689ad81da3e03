//! Names for places in the schema that a client's author knows: the command, event or response that they belong to.

use super::advice::Advice;
use crate::parts::{ref_name, target_name};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Most frames that are named for a definition that many use.
const MOST_USERS: usize = 3;

/// A definition's kind of frame and its name there: `event`, `agent_end`.
type Label = (String, String);

pub(super) struct Places {
    labels: BTreeMap<String, Label>,
    /// The definitions that refer to each.
    users: BTreeMap<String, BTreeSet<String>>,
    /// Constants of `type`, for frames that a union names by their definitions.
    types: BTreeMap<String, String>,
}

impl Places {
    pub(super) fn new(defs: [&Map<String, Value>; 2], advice: &Advice) -> Self {
        let mut places = Self { labels: BTreeMap::new(), users: BTreeMap::new(), types: BTreeMap::new() };
        for (name, def) in defs.into_iter().flatten() {
            let mapping = def["discriminator"]["mapping"].as_object().into_iter().flatten();
            if let Some(word) = advice.family(name) {
                let tagged = mapping.filter_map(|(tag, target)| Some((target_name(target)?, tag)));
                for (target, tag) in tagged {
                    let is_own = |label: &Label| !word.starts_with("frame") || label.0.starts_with("frame");
                    if places.labels.get(target).is_none_or(is_own) {
                        places.labels.insert(target.to_owned(), (word.to_owned(), tag.clone()));
                    }
                }
            }
            if let Some(tag) = def["properties"]["type"]["const"].as_str() {
                places.types.insert(name.clone(), tag.to_owned());
            }
            let mut used = BTreeSet::new();
            references(def, &mut used);
            for target in used {
                places.users.entry(target).or_default().insert(name.clone());
            }
        }
        places
    }

    /// Where a difference is, by its path that begins with a definition.
    pub(super) fn place(&self, at: &str) -> String {
        let end = at.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(at.len());
        let (def, path) = at.split_at(end);
        let inner = path.trim_start_matches('.');
        let member = if inner.is_empty() { String::new() } else { format!(" `{inner}`") };
        match self.labels.get(def) {
            Some((word, tag)) => format!("{word} `{tag}`{member}"),
            None => format!("`{def}`{member}{}", self.users_of(def)),
        }
    }

    /// A branch of a union, as the kind of frame that it is.
    pub(super) fn branch(&self, union: &str, tag: &str, advice: &Advice) -> String {
        let tag = self.types.get(tag).map_or(tag, String::as_str);
        match advice.family(union) {
            Some(word) => format!("{word} `{tag}`"),
            None => format!("`{tag}` of {}", self.place(union)),
        }
    }

    /// ` (in event X, response to Y, …)`: the nearest frames that have the definition.
    fn users_of(&self, def: &str) -> String {
        let (mut seen, mut level) = (BTreeSet::from([def]), vec![def]);
        let mut found = Vec::new();
        while !level.is_empty() && found.is_empty() {
            let mut next = Vec::new();
            for user in level.iter().filter_map(|name| self.users.get(*name)).flatten() {
                if seen.insert(user) {
                    match self.labels.get(user) {
                        Some((word, tag)) => found.push(format!("{word} `{tag}`")),
                        None => next.push(user.as_str()),
                    }
                }
            }
            level = next;
        }
        found.sort();
        let more = if found.len() > MOST_USERS { ", …" } else { "" };
        found.truncate(MOST_USERS);
        if found.is_empty() { String::new() } else { format!(" (in {}{more})", found.join(", ")) }
    }
}

fn references(schema: &Value, found: &mut BTreeSet<String>) {
    found.extend(ref_name(schema).map(str::to_owned));
    match schema {
        Value::Object(members) => members.values().for_each(|inner| references(inner, found)),
        Value::Array(list) => list.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}
