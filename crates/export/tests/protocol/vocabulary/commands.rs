//! Rules for commands: their responses, their disposition in each state, the states that they lead to.

use super::*;

fn commands(bundle: &Value) -> impl Iterator<Item = (&str, &Value)> {
    leaves(bundle, "RpcCommand").into_iter().map(|name| (name, &bundle["$defs"][name]))
}

pub fn responses(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    let mut answered = Vec::new();
    let successes = leaves(bundle, "RpcSuccess");
    for (name, def) in commands(bundle) {
        let Some(response) = def["x-response"].as_str().filter(|response| successes.contains(response))
        else {
            out.push(format!("{name}: x-response {} is no success response", def["x-response"]));
            continue;
        };
        let schema = &bundle["$defs"][response];
        let (asked, told) = (&def["properties"]["type"]["const"], &schema["properties"]["command"]["const"]);
        if asked != told {
            out.push(format!("{name}: says {asked}, its {response} says {told}"));
        }
        if bases_of(bundle, def) != bases_of(bundle, schema) {
            out.push(format!("{name}: is in other dialects than its {response}"));
        }
        answered.push(response);
    }
    let orphans = successes.iter().filter(|name| !answered.contains(name));
    out.extend(orphans.map(|name| format!("{name}: answers no command")));
    let strangers = defs(bundle).filter(|(name, def)| {
        [
            "x-response",
            "x-in",
            "x-leads-to",
            "x-fails-to",
            "x-control",
            "x-reads",
            "x-answered",
            "x-ends",
            "x-meanwhile",
            "x-limit",
            "x-served",
            "x-cuts",
            "x-causes",
        ]
        .iter()
        .any(|key| def.get(key).is_some())
            && !commands(bundle).any(|(command, _)| command == *name)
    });
    out.extend(strangers.map(|(name, _)| format!("{name}: has what only commands have")));
    out
}

pub fn dispositions(bundle: &Value) -> Complaints {
    let mut out = Complaints::new();
    for (name, def) in commands(bundle) {
        let table = &def["x-in"];
        for (state, entry) in members(table) {
            if !states(bundle).contains(&state.as_str()) {
                out.push(format!("{name}: x-in names `{state}`, which is no state"));
            }
            let wrong = cases(entry).find_map(|case| wrong_disposition(bundle, def, case));
            out.extend(wrong.map(|wrong| format!("{name}: in {state} {wrong}")));
        }
        for base in bases_of(bundle, def) {
            let there = leaf_states(bundle).into_iter().filter(|name| is_there(state(bundle, name), base));
            let open = there.filter(|state| !is_decided(bundle, table, state, base));
            out.extend(open.map(|state| format!("{name}: no disposition in {state} for {base}")));
        }
    }
    out
}

/// The cases of an entry of `x-in`; a bare disposition is the only case of its entry.
fn cases(entry: &Value) -> impl Iterator<Item = &Value> {
    let bare = (!entry.is_array()).then_some(entry);
    bare.into_iter().chain(items(entry))
}

/// Whether a dialect has the state.
fn is_there(state: &Value, base: &str) -> bool {
    state.get("dialects").is_none_or(|list| texts(list).contains(&base))
}

/// Whether some case applies whatever the command's fields say.
fn is_decided(bundle: &Value, table: &Value, name: &str, base: &str) -> bool {
    let parent = name.split('.').next().unwrap_or(name);
    let like = state(bundle, name)["like"].as_str().unwrap_or_default();
    let Some(entry) = [name, parent, like].iter().find_map(|name| table.get(*name)) else { return false };
    cases(entry).any(|case| {
        case.get("when").is_none() && case.get("dialects").is_none_or(|list| texts(list).contains(&base))
    })
}

fn wrong_disposition(bundle: &Value, def: &Value, case: &Value) -> Option<String> {
    let known = ["dialects", "when", "disposition", "error"];
    if let Some((key, _)) = members(case).find(|(key, _)| !known.contains(&key.as_str())) {
        return Some(format!("a case has `{key}`"));
    }
    let disposition = case.as_str().or(case["disposition"].as_str()).unwrap_or_default();
    if bundle["states"]["dispositions"].get(disposition).is_none() {
        return Some(format!("`{disposition}` is no disposition"));
    }
    match (disposition == "reject", case.get("error").and_then(Value::as_str)) {
        (true, None) => return Some("reject names no error".to_owned()),
        (false, Some(_)) => return Some(format!("{disposition} names an error")),
        (true, Some(error)) => {
            let text = &bundle["errors"][error]["text"];
            let missing = bases(bundle).into_iter().find(|base| !text.is_string() && !text[base].is_string());
            if let Some(base) = missing {
                return Some(format!("reject names `{error}`, which has no text for {base}"));
            }
        }
        (false, None) => {}
    }
    wrong_case(bundle, def, case, &[])
}

pub fn leads(bundle: &Value) -> Complaints {
    let (all, leaves) = (states(bundle), leaf_states(bundle));
    let mut out = Complaints::new();
    for (name, def) in commands(bundle) {
        let leads = ["x-leads-to", "x-fails-to"].map(|key| members(&def[key]).map(move |lead| (key, lead)));
        for (key, (from, to)) in leads.into_iter().flatten() {
            if !all.contains(&from.as_str()) {
                out.push(format!("{name}: {key} names `{from}`, which is no state"));
            }
            if to.as_str().is_none_or(|to| !leaves.contains(&to)) {
                out.push(format!("{name}: {key} leads from {from} to {to}, which is no state"));
            }
        }
        let flags = [("x-cuts", true), ("x-control", true), ("x-reads", true), ("x-meanwhile", true)];
        for (key, only) in flags.into_iter().chain([("x-served", false)]) {
            if def.get(key).is_some_and(|flag| *flag != only) {
                out.push(format!("{name}: {key} can only be {only}"));
            }
        }
        let words = [
            ("x-answered", &["always", "soon", "later", "any-time"][..]),
            ("x-ends", &["run", "retry", "shell", "login"]),
            ("x-limit", &["logins"]),
        ];
        for (key, known) in words {
            if def.get(key).is_some_and(|word| known.iter().all(|known| word != known)) {
                out.push(format!("{name}: {key} can only be {}", known.join(", ")));
            }
        }
        if def.get("x-answered").is_some() && def.get("x-reads").is_some() {
            out.push(format!("{name}: x-reads says when it is answered already"));
        }
    }
    out
}
