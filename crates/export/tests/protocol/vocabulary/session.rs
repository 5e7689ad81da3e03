//! Rules for the session state: its members, the effects of frames on them, the responses that report them.

use super::*;

/// The keys of a member.
const MEMBER: [&str; 7] = ["description", "type", "absent", "silent", "fresh", "dialects", "kept"];

/// The words of an effect, and for each the keys that its row needs beside it.
const WORDS: [(&str, &[&str]); 7] = [
    ("set", &["to"]),
    ("next", &["to", "in"]),
    ("clamp", &["in"]),
    ("append", &["item"]),
    ("add", &["of"]),
    ("reset", &[]),
    ("forget", &[]),
];

/// The keys that a row may have besides: of `clamp` the value, of `set` a code.
const BESIDES: [(&str, &str); 2] = [("clamp", "to"), ("set", "code")];

pub fn members(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    let known = bases(bundle);
    let session = &bundle["session"];
    for (name, about) in super::members(&session["members"]) {
        let at = format!("session: {name}");
        if about["description"].as_str().is_none_or(|text| text.trim().is_empty()) {
            out.push(format!("{at}: no description"));
        }
        let strange = super::members(about).find(|(key, _)| !MEMBER.contains(&key.as_str()));
        out.extend(strange.map(|(key, _)| format!("{at}: has `{key}`")));
        let wrong = texts(&about["dialects"]).into_iter().find(|id| !known.contains(id));
        out.extend(wrong.map(|id| format!("{at}: `{id}` is no base dialect")));
        for flag in ["absent", "silent", "fresh"] {
            if about.get(flag).is_some_and(|value| *value != true) {
                out.push(format!("{at}: {flag} can only be true"));
            }
        }
        match (about.get("type"), about["kept"].as_str()) {
            (Some(schema), None) => {
                let lost = [ref_name(schema), ref_name(&schema["items"])].into_iter().flatten();
                let lost = lost.filter(|name| bundle["$defs"].get(name).is_none());
                out.extend(lost.map(|name| format!("{at}: $ref to {name}, which does not exist")));
            }
            (None, Some("list" | "sum")) => {}
            _ => out.push(format!("{at}: has a type, or is kept as list or sum")),
        }
    }
    let named: Vec<&str> = rows(bundle).filter_map(|(.., row)| row["code"].as_str()).collect();
    for (name, about) in super::members(&session["codes"]) {
        if about.as_str().is_none_or(|text| text.trim().is_empty()) {
            out.push(format!("session: the code {name} is not described"));
        }
        if !named.contains(&name.as_str()) {
            out.push(format!("session: no effect names the code {name}"));
        }
    }
    out
}

pub fn effects(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    let (commands, events) = (leaves(bundle, "RpcCommand"), leaves(bundle, "AgentSessionEvent"));
    for (name, def, row) in rows(bundle) {
        let roots: Vec<(&str, &str)> = match (def["x-response"].as_str(), commands.contains(&name)) {
            (Some(response), true) => vec![("command", name), ("data", response)],
            // That it lacks its response is another rule's affair.
            (None, true) => continue,
            _ if events.contains(&name) => vec![("event", name)],
            _ => {
                out.push(format!("{name}: x-effects on what is neither command nor event"));
                continue;
            }
        };
        out.extend(wrong_row(bundle, row, &roots).map(|wrong| format!("{name}: x-effects: {wrong}")));
    }
    out
}

pub fn tells(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    let successes = leaves(bundle, "RpcSuccess");
    for (name, def) in defs(bundle).filter(|(_, def)| def.get("x-tells").is_some()) {
        if !successes.contains(&name.as_str()) {
            out.push(format!("{name}: x-tells on what is no success"));
            continue;
        }
        for (member, path) in super::members(&def["x-tells"]) {
            if !is_member(bundle, member) {
                out.push(format!("{name}: x-tells: there is no member `{member}`"));
            }
            let path = path.as_str().unwrap_or_default();
            let wrong = lost(bundle, path, &[("data", name.as_str())]);
            out.extend(wrong.map(|wrong| format!("{name}: x-tells: {wrong}")));
        }
    }
    out
}

/// Every row of every `x-effects`: the def's name, the def, the row.
fn rows(bundle: &Value) -> impl Iterator<Item = (&str, &Value, &Value)> {
    defs(bundle).flat_map(|(name, def)| items(&def["x-effects"]).map(move |row| (name.as_str(), def, row)))
}

fn is_member(bundle: &Value, name: &str) -> bool {
    bundle["session"]["members"].get(name).is_some()
}

fn wrong_row(bundle: &Value, row: &Value, roots: &[(&str, &str)]) -> Option<String> {
    let words: Vec<_> = WORDS.iter().filter(|(word, _)| row.get(*word).is_some()).collect();
    let (word, needs) = match (words.as_slice(), row.get("code")) {
        ([(word, needs)], _) => (*word, *needs),
        ([], Some(_)) => ("code", &["of"][..]),
        _ => return Some(format!("{row} is not one effect")),
    };
    if let Some(missing) = needs.iter().find(|key| row.get(**key).is_none()) {
        return Some(format!("`{word}` without `{missing}`"));
    }
    let is_known = |key: &str| {
        [word, "when", "dialects"].contains(&key) || needs.contains(&key) || BESIDES.contains(&(word, key))
    };
    if let Some((key, _)) = members_of(row).find(|(key, _)| !is_known(key)) {
        return Some(format!("`{word}` beside `{key}`"));
    }
    let codes = &bundle["session"]["codes"];
    if let Some(code) = row["code"].as_str().filter(|code| codes.get(code).is_none()) {
        return Some(format!("there is no code `{code}`"));
    }
    let mut named: Vec<&str> = row["in"].as_str().into_iter().collect();
    match word {
        "code" => named.extend(texts(&row["of"])),
        _ => named.extend(row[word].as_str()),
    }
    if let Some(name) = named.iter().find(|name| !is_member(bundle, name)) {
        return Some(format!("there is no member `{name}`"));
    }
    if let Some(list) = row["in"].as_str()
        && bundle["session"]["members"][list]["type"]["type"] != "array"
    {
        return Some(format!("`in` names `{list}`, which is no list"));
    }
    if let Some(id) = texts(&row["dialects"]).into_iter().find(|id| !bases(bundle).contains(id)) {
        return Some(format!("`{id}` is no base dialect"));
    }
    let value = ["to", "item"].into_iter().chain((word == "add").then_some("of"));
    let mut paths: Vec<&str> = value.filter_map(|key| row[key].as_str()).collect();
    paths.extend(row["when"]["field"].as_str());
    if let Some(when) = row.get("when")
        && (when["field"].as_str().is_none() || texts(&when["is"]).is_empty())
    {
        return Some("`when` does not say what is to hold".to_owned());
    }
    paths.into_iter().find_map(|path| lost(bundle, path, roots))
}

fn members_of(row: &Value) -> impl Iterator<Item = (&String, &Value)> {
    super::members(row)
}

/// Reason why a path is invalid.
fn lost(bundle: &Value, path: &str, roots: &[(&str, &str)]) -> Option<String> {
    let mut steps = path.split('.');
    let root = steps.next().unwrap_or_default();
    let Some((_, def)) = roots.iter().find(|(name, _)| *name == root) else {
        return Some(format!("`{path}` begins with none of the frames at hand"));
    };
    let mut defs = vec![*def];
    for step in (root == "data").then_some("data").into_iter().chain(steps) {
        let properties: Vec<&Value> =
            defs.iter().filter_map(|def| bundle["$defs"][*def]["properties"].get(step)).collect();
        if properties.is_empty() {
            return Some(format!("`{path}`: there is no `{step}`"));
        }
        defs = properties.into_iter().flat_map(|schema| targets(bundle, schema)).collect();
    }
    None
}

/// The objects that a property may hold.
fn targets<'b>(bundle: &'b Value, schema: &'b Value) -> Vec<&'b str> {
    let branches = items(&schema["oneOf"]).filter_map(ref_name);
    ref_name(schema).into_iter().chain(branches).flat_map(|name| leaves(bundle, name)).collect()
}
