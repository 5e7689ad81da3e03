//! A draft of what `schema/` needs for a new release: an overlay for the release before, and the members that came and went.
//! It is made from declarations alone, so descriptions are missing, and what only behaves differently is not in it.

use super::{Page, facts::Facts};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Kinds of facts that are frames, with the end of their definitions' names.
const FRAMES: [(&str, &str); 2] = [("commands", "Command"), ("events", "Event")];

/// Where the draft is for: a dialect, and its release before and after.
pub struct Step<'a> {
    pub dialect: &'a str,
    pub from: &'a str,
    pub to: &'a str,
}

/// Prints the draft if frames differ.
pub fn print(old: &Facts, new: &Facts, step: &Step<'_>, page: &mut Page) {
    let mut defs = Map::new();
    for (kind, end) in FRAMES {
        let (was, is) = (old.of(kind), new.of(kind));
        for (name, text) in &is {
            let changed = changes(was.get(name).map(String::as_str), text, step);
            if !changed["properties"].as_object().is_none_or(Map::is_empty) || !was.contains_key(name) {
                defs.insert(format!("{}{end}", camel_case(name)), changed);
            }
        }
        for name in was.keys().filter(|name| !is.contains_key(*name)) {
            defs.insert(format!("{}{end}", camel_case(name)), json!({ "x-dialects": [before(step)] }));
        }
    }
    if defs.is_empty() {
        return;
    }
    let overlay = json!({
        "id": before(step),
        "title": format!("{} before {}", step.dialect, step.to),
        "description": "",
        "extends": step.dialect,
        "frames": before(step),
        "versionsFrom": step.from,
        "startedAs": [],
        "x-source": "observed",
    });
    page.heading(2, "draft for the schema");
    page.line(&format!("`schema/dialects/{}.json`:\n\n```json\n{overlay:#}\n```\n", before(step)));
    page.line(&format!("`schema/`, by definition:\n\n```json\n{:#}\n```", Value::Object(defs)));
}

/// The name of the overlay for the release before: `pi-1@1.6`.
fn before(step: &Step<'_>) -> String {
    let minor = step.from.rsplit_once('.').map_or(step.from, |(minor, _)| minor);
    format!("{}@{minor}", step.dialect)
}

/// A new definition, or the properties of a known one that came, went or changed.
fn changes(old: Option<&str>, new: &str, step: &Step<'_>) -> Value {
    let is = members(new);
    let Some(was) = old.map(members) else {
        let required: Vec<&String> = is.iter().filter(|(_, (need, _))| *need).map(|(name, _)| name).collect();
        let properties: Map<String, Value> =
            is.iter().map(|(name, (_, ty))| (name.clone(), schema(ty))).collect();
        return json!({
            "type": "object", "properties": properties, "required": required,
            "x-dialects": [step.dialect, format!("!{}", before(step))], "x-since": step.to,
        });
    };
    let mut properties = Map::new();
    for (name, (need, ty)) in &is {
        match was.get(name) {
            None => {
                let mut property = schema(ty);
                property["x-since"] = step.to.into();
                property["x-dialects"] = json!([step.dialect, format!("!{}", before(step))]);
                if *need {
                    property["x-required-in"] = json!([step.dialect]);
                }
                properties.insert(name.clone(), property);
            }
            Some((before_need, before_ty)) if (before_need, before_ty) != (need, ty) => {
                let need = if *need == *before_need { Value::Null } else { json!(need) };
                let was = json!([{ "dialects": [before(step)], "schema": schema(before_ty) }]);
                let mut property = schema(ty);
                if before_ty != ty {
                    property["x-type-in"] = was;
                }
                if need != Value::Null {
                    property["x-required-in"] =
                        json!([if need == true { step.dialect.to_owned() } else { before(step) }]);
                }
                properties.insert(name.clone(), property);
            }
            Some(_) => {}
        }
    }
    for (name, (_, ty)) in was.iter().filter(|(name, _)| !is.contains_key(*name)) {
        let mut property = schema(ty);
        property["x-dialects"] = json!([before(step)]);
        properties.insert(name.clone(), property);
    }
    json!({ "properties": properties })
}

/// The members of a declaration in TypeScript: whether each is required, and its type.
fn members(text: &str) -> BTreeMap<String, (bool, String)> {
    let parts = text.split(';').filter_map(|part| part.trim().split_once(':'));
    let member = |(name, ty): (&str, &str)| {
        let name = name.trim();
        let bare = name.trim_end_matches('?');
        let is_name =
            !bare.is_empty() && bare.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        is_name
            .then(|| (bare.to_owned(), (bare == name, ty.split_whitespace().collect::<Vec<_>>().join(" "))))
    };
    parts.filter_map(member).collect()
}

/// A type of TypeScript as JSON Schema, as far as it is plain; else its text stands in the description.
fn schema(ty: &str) -> Value {
    let text = |ty: &str| ty.strip_prefix('"').and_then(|ty| ty.strip_suffix('"')).map(str::to_owned);
    let options: Vec<&str> = ty.split('|').map(str::trim).collect();
    if let Some(values) = options.iter().map(|option| text(option)).collect::<Option<Vec<_>>>() {
        return match &values[..] {
            [one] => json!({ "type": "string", "const": one, "description": "" }),
            values => json!({ "type": "string", "enum": values, "description": "" }),
        };
    }
    if let Some(item) = ty.strip_suffix("[]") {
        return json!({ "type": "array", "items": schema(item), "description": "" });
    }
    let is_name = ty.starts_with(|letter: char| letter.is_ascii_uppercase())
        && ty.chars().all(|letter| letter.is_ascii_alphanumeric());
    match ty {
        "string" | "number" | "boolean" => json!({ "type": ty, "description": "" }),
        name if is_name => json!({ "$ref": format!("#/$defs/{name}"), "description": "" }),
        other => json!({ "description": format!("In TypeScript: {other}") }),
    }
}

fn camel_case(name: &str) -> String {
    let capital = |part: &str| {
        part.chars().take(1).flat_map(char::to_uppercase).chain(part.chars().skip(1)).collect::<String>()
    };
    name.split('_').map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(kind: &'static str, list: &[(&str, &str)]) -> Facts {
        let mut facts = Facts::default();
        facts.add(kind, list.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())));
        facts
    }

    #[test]
    fn members_that_came_and_went_are_drafted() {
        let old = facts("commands", &[("steer", "message: string; hard?: boolean;"), ("same", "a: string;")]);
        let new = facts(
            "commands",
            &[
                ("steer", "message: string; images: ImageContent[];"),
                ("same", "a: string;"),
                ("go_on", r#"how?: "now" | "later";"#),
            ],
        );
        let mut page = Page::default();
        print(&old, &new, &Step { dialect: "pi-1", from: "1.6.0", to: "1.7.0" }, &mut page);
        let blocks: Vec<Value> = page
            .text()
            .split("```json\n")
            .skip(1)
            .map(|rest| serde_json::from_str(rest.split("\n```").next().unwrap_or_default()).expect("JSON"))
            .collect();
        assert_eq!((&blocks[0]["id"], &blocks[0]["extends"]), (&json!("pi-1@1.6"), &json!("pi-1")));
        let own = json!(["pi-1", "!pi-1@1.6"]);
        let expected = json!({
            "GoOnCommand": {
                "type": "object",
                "properties": { "how": { "type": "string", "enum": ["now", "later"], "description": "" } },
                "required": [], "x-dialects": own, "x-since": "1.7.0",
            },
            "SteerCommand": { "properties": {
                "images": {
                    "type": "array", "items": { "$ref": "#/$defs/ImageContent", "description": "" }, "description": "",
                    "x-since": "1.7.0", "x-dialects": own, "x-required-in": ["pi-1"],
                },
                "hard": { "type": "boolean", "description": "", "x-dialects": ["pi-1@1.6"] },
            } },
        });
        assert_eq!(blocks[1], expected);
    }

    #[test]
    fn same_frames_need_no_draft() {
        let facts = facts("events", &[("agent_end", "messages: AgentMessage[];")]);
        let mut page = Page::default();
        print(&facts, &facts, &Step { dialect: "pi-1", from: "1.5.2", to: "1.6.0" }, &mut page);
        assert_eq!(page.text(), "");
    }
}
