//! Compares two meta files: dispositions of commands, cases of events, texts, rules, records.

use super::Difference;
use serde_json::Value;

/// Lists of the meta file: name, key of the items, and the compared members.
const LISTS: [(&str, &str, &[&str]); 3] = [
    (
        "commands",
        "type",
        &["request", "response", "error", "data", "states", "leadsTo", "failsTo", "control", "causes"],
    ),
    ("events", "type", &["def", "family", "cases"]),
    ("dialogs", "method", &["def", "answer", "answers"]),
];

/// Members of a record that only identify the dialect.
pub const IDENTITY_KEYS: [&str; 7] =
    ["id", "title", "description", "extends", "frames", "startedAs", "version"];

/// The differences, by path.
pub fn differences(a: &Value, b: &Value) -> Vec<Difference> {
    let mut found = Comparison(Vec::new());
    let shared: Vec<String> = states(a).into_iter().filter(|state| states(b).contains(state)).collect();
    for (list, key, parts) in LISTS {
        let find = |file: &Value, name: &Value| items(&file[list]).find(|it| it[key] == *name).cloned();
        for old in items(&a[list]) {
            let at = format!("{list} {}", old[key].as_str().unwrap_or_default());
            match find(b, &old[key]) {
                Some(new) => parts.iter().for_each(|part| {
                    let at = format!("{at}: {part}");
                    match *part {
                        "states" => {
                            found.compare(&at, &within(&old[*part], &shared), &within(&new[*part], &shared))
                        }
                        _ => found.compare(&at, &old[*part], &new[*part]),
                    }
                }),
                // Clients that send a removed command, or wait for a removed event, fail.
                None => found.note(&at, "is gone".to_owned(), [true, false]),
            }
        }
        for new in items(&b[list]).filter(|new| find(a, &new[key]).is_none()) {
            let at = format!("{list} {}", new[key].as_str().unwrap_or_default());
            found.note(&at, "is new".to_owned(), [list == "dialogs", list == "commands"]);
            if let Some(last) = found.0.last_mut() {
                last.is_new_command = list == "commands";
            }
        }
    }
    found.own_states(a, b, &shared);
    found.chart(&a["chart"], &b["chart"]);
    for (at, _, old, new) in pairs("errors", a, b) {
        found.compare(&at, &old["text"], &new["text"]);
    }
    found.rules(a, b);
    for (at, name, old, new) in pairs("record", a, b) {
        if !IDENTITY_KEYS.contains(&name.as_str()) {
            found.compare(&at, &old, &new);
        }
    }
    for (at, _, old, new) in pairs("limits", a, b) {
        found.compare(&at, &old, &new);
    }
    found.0
}

/// The members of `part` in either file: path, name, and both values.
pub fn pairs(part: &str, a: &Value, b: &Value) -> Vec<(String, String, Value, Value)> {
    let (a, b) = (&a[part], &b[part]);
    let new = members(b).filter(|(name, _)| a.get(name.as_str()).is_none());
    let names = members(a).chain(new).map(|(name, _)| name);
    names.map(|name| (format!("{part} {name}"), name.clone(), a[name].clone(), b[name].clone())).collect()
}

struct Comparison(Vec<Difference>);

impl Comparison {
    fn note(&mut self, at: &str, what: String, [breaks_client, breaks_server]: [bool; 2]) {
        let at = at.to_owned();
        self.0.push(Difference { at, what, breaks_client, breaks_server, ..Difference::default() });
    }

    /// Compares objects member by member, lists of equal length item by item, everything else as a whole.
    fn compare(&mut self, at: &str, a: &Value, b: &Value) {
        match (a, b) {
            _ if a == b => {}
            _ if is_outcomes(a) && is_outcomes(b) => {
                self.note(at, format!("is {}, was {}", show(b), show(a)), refusal_changes(a, b));
            }
            (Value::Object(old), Value::Object(new)) => {
                for (key, value) in old.iter().filter(|(key, _)| *key != "description") {
                    self.compare(&format!("{at}.{key}"), value, new.get(key).unwrap_or(&Value::Null));
                }
                let is_added = |key: &str| key != "description" && !old.contains_key(key);
                for (key, value) in new.iter().filter(|(key, _)| is_added(key)) {
                    self.compare(&format!("{at}.{key}"), &Value::Null, value);
                }
            }
            (Value::Array(old), Value::Array(new)) if is_of_texts(a) && is_of_texts(b) => {
                let less =
                    old.iter().filter(|text| !new.contains(text)).map(|text| format!("no longer {text}"));
                let more = new.iter().filter(|text| !old.contains(text)).map(|text| format!("also {text}"));
                let what: Vec<String> = more.chain(less).collect();
                let what = if what.is_empty() { "is in another order".to_owned() } else { what.join(", ") };
                self.note(at, what, [false, false]);
            }
            (Value::Array(old), Value::Array(new))
                if is_cases(a) && is_cases(b) && old.len() != new.len() =>
            {
                for (list, other, word) in [(new, old, "also"), (old, new, "no longer")] {
                    for own in list.iter().filter(|own| !other.contains(own)) {
                        self.note(at, format!("{word} {}", case(own)), [false, false]);
                    }
                }
            }
            (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
                for (index, (old, new)) in old.iter().zip(new).enumerate() {
                    self.compare(&format!("{at}[{index}]"), old, new);
                }
            }
            // Another kind of response to a dialog breaks both sides.
            _ => self.note(at, format!("is {}, was {}", show(b), show(a)), [at.ends_with(": answer"); 2]),
        }
    }

    /// Compares rules: a new one breaks the side that must keep it, a removed one the side that relies on it.
    fn rules(&mut self, a: &Value, b: &Value) {
        for (at, _, old, new) in pairs("rules", a, b) {
            let is_servers = [&old, &new].iter().any(|rule| rule["side"] == "server");
            let (old, new) = (&old["tier"], &new["tier"]);
            let (is_learnt, is_lost) = (new == "MUST" && old != "MUST", old == "MUST" && new != "MUST");
            if old != new {
                let breaks = [
                    is_servers && is_lost || !is_servers && is_learnt,
                    is_servers && is_learnt || !is_servers && is_lost,
                ];
                self.note(&at, format!("is {}, was {}", show(new), show(old)), breaks);
            }
        }
    }

    /// Lists what commands do in the states that only one side has: by outcome, not by command.
    fn own_states(&mut self, a: &Value, b: &Value, shared: &[String]) {
        for (file, word) in [(a, "is gone"), (b, "is new")] {
            for state in states(file).iter().filter(|state| !shared.contains(state)) {
                let mut outcomes: Vec<(String, Vec<&str>)> = Vec::new();
                for command in items(&file["commands"]) {
                    let own = &command["states"][state.as_str()];
                    if own.is_null() {
                        continue;
                    }
                    let (own, name) = (show(own), text(&command["type"]));
                    match outcomes.iter_mut().find(|(outcome, _)| *outcome == own) {
                        Some((_, names)) => names.push(name),
                        None => outcomes.push((own, vec![name])),
                    }
                }
                for (outcome, names) in outcomes {
                    let what = format!("{word}: {outcome} for {}", names.join(", "));
                    self.note(&format!("commands in state {state}"), what, [false, false]);
                }
            }
        }
    }

    /// Compares states and transitions by name. They break no side by themselves; commands and events show that.
    fn chart(&mut self, a: &Value, b: &Value) {
        let [old, new] = [a, b].map(|chart| -> Vec<String> {
            let of_region = |region: &Value| -> Vec<String> {
                let name = text(&region["name"]);
                let states =
                    items(&region["states"]).map(|state| format!("{name}: {}", text(&state["name"])));
                let steps = items(&region["transitions"]);
                let steps = steps.map(|it| {
                    format!("{name}: {} → {}: {}", text(&it["from"]), text(&it["to"]), text(&it["label"]))
                });
                states.chain(steps).collect()
            };
            items(&chart["regions"]).flat_map(of_region).collect()
        });
        for (list, other, word) in [(&old, &new, "is gone"), (&new, &old, "is new")] {
            for line in list.iter().filter(|line| !other.contains(line)) {
                self.note(&format!("chart {line}"), word.to_owned(), [false, false]);
            }
        }
    }
}

/// Whether something accepted becomes refused, and whether something refused becomes accepted.
pub fn refusal_changes(a: &Value, b: &Value) -> [bool; 2] {
    let conditions = [a, b].into_iter().flat_map(items).map(|outcome| &outcome["when"]);
    let values =
        conditions.flat_map(|when| items(&when["is"]).map(move |value| Some((&when["field"], value))));
    let mut breaks = [false, false];
    for probe in values.chain([None]) {
        let (was, is) = (is_refused(a, probe), is_refused(b, probe));
        breaks[0] |= is && !was;
        breaks[1] |= was && !is;
    }
    breaks
}

/// Whether a command is refused whose member has this value; `None`: for which no condition holds.
fn is_refused(outcomes: &Value, probe: Option<(&Value, &Value)>) -> bool {
    let holds = |when: &Value| {
        when.is_null()
            || probe.is_some_and(|(field, value)| {
                when["field"] == *field && items(&when["is"]).any(|is| is == value)
            })
    };
    items(outcomes)
        .find(|outcome| holds(&outcome["when"]))
        .is_some_and(|first| first["disposition"] == "reject")
}

fn is_outcomes(list: &Value) -> bool {
    items(list).next().is_some_and(|first| first.get("disposition").is_some())
}

fn is_of_texts(list: &Value) -> bool {
    items(list).all(Value::is_string)
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn members(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    object.as_object().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub fn show(value: &Value) -> String {
    if is_outcomes(value) {
        return items(value).map(outcome).collect::<Vec<_>>().join(", else ");
    }
    match value["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        Some(name) => name.to_owned(),
        None if value.is_null() => "absent".to_owned(),
        None => value.to_string(),
    }
}

/// Names of all states in which commands have outcomes.
fn states(file: &Value) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in items(&file["commands"]).flat_map(|command| members(&command["states"])) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// The outcomes in these states only.
fn within(outcomes: &Value, states: &[String]) -> Value {
    let own = members(outcomes).filter(|(name, _)| states.contains(name));
    own.map(|(name, outcome)| (name.clone(), outcome.clone())).collect()
}

fn is_cases(list: &Value) -> bool {
    items(list).next().is_some_and(|first| first["in"].is_array())
}

/// `in idle or starting, to compacting, after agent_start, if role is custom`.
fn case(case: &Value) -> String {
    let texts = |list: &Value| items(list).filter_map(Value::as_str).collect::<Vec<_>>().join(" or ");
    let mut out = format!("in {}", texts(&case["in"]));
    if let Some(to) = case["to"].as_str() {
        out += &format!(", to {to}");
    }
    if items(&case["after"]).next().is_some() {
        out += &format!(
            ", after {}",
            items(&case["after"]).filter_map(Value::as_str).collect::<Vec<_>>().join(" and ")
        );
    }
    if let Some(field) = case["when"]["field"].as_str() {
        out += &format!(", if {field} is {}", texts(&case["when"]["is"]));
    }
    out
}

/// `reject (busy)`, `queue if streamingBehavior is steer or followUp`.
fn outcome(outcome: &Value) -> String {
    let mut out = outcome["disposition"].as_str().unwrap_or_default().to_owned();
    if let Some(error) = outcome["error"].as_str() {
        out += &format!(" ({error})");
    }
    if let Some(field) = outcome["when"]["field"].as_str() {
        let values: Vec<&str> = items(&outcome["when"]["is"]).filter_map(Value::as_str).collect();
        out += &format!(" if {field} is {}", values.join(" or "));
    }
    out
}
