//! Rules for events and UI requests: the states in which they occur, and their responses.

use super::*;

/// Conditions of cases in addition to members of the event: members of its message.
const OF_MESSAGE: [&str; 2] = ["role", "stopReason"];

/// All outbound frames except responses.
fn events(bundle: &Value) -> Vec<&str> {
    let responses = leaves(bundle, "RpcResponse");
    leaves(bundle, "Outbound").into_iter().filter(|name| !responses.contains(name)).collect()
}

pub fn fires(bundle: &Value) -> Complaints {
    let (all, leaves) = (states(bundle), leaf_states(bundle));
    let events = events(bundle);
    let mut out = Complaints::new();
    for name in &events {
        let def = &bundle["$defs"][*name];
        let mut fires_for = Vec::new();
        for case in items(&def["x-fires-in"]) {
            let known = ["dialects", "when", "in", "to"];
            let strange = members(case).find(|(key, _)| !known.contains(&key.as_str()));
            out.extend(strange.map(|(key, _)| format!("{name}: a case of x-fires-in has `{key}`")));
            if items(&case["in"]).next().is_none() {
                out.push(format!("{name}: a case of x-fires-in has no states"));
            }
            let wrong = texts(&case["in"]).into_iter().filter(|state| *state != "*" && !all.contains(state));
            out.extend(wrong.map(|state| format!("{name}: fires in `{state}`, which is no state")));
            if case.get("to").is_some_and(|to| to.as_str().is_none_or(|to| !leaves.contains(&to))) {
                out.push(format!("{name}: leads to {}, which is no state", case["to"]));
            }
            let message = if def["properties"].get("message").is_some() { &OF_MESSAGE[..] } else { &[] };
            out.extend(wrong_case(bundle, def, case, message).map(|wrong| format!("{name}: {wrong}")));
            fires_for.extend(match case.get("dialects") {
                Some(list) => texts(list),
                None => bases_of(bundle, def),
            });
        }
        let silent = bases_of(bundle, def).into_iter().filter(|base| !fires_for.contains(base));
        out.extend(silent.map(|base| format!("{name}: fires nowhere in {base}")));
    }
    let strangers = defs(bundle)
        .filter(|(name, def)| def.get("x-fires-in").is_some() && !events.contains(&name.as_str()));
    out.extend(strangers.map(|(name, _)| format!("{name}: has x-fires-in but is no event")));
    out
}

pub fn mentioned(bundle: &Value) -> Complaints {
    let tag = |name: &str| {
        let tag = &bundle["$defs"][name]["properties"]["type"]["const"];
        tag.as_str().unwrap_or_default().to_owned()
    };
    let known: Vec<String> = events(bundle).into_iter().map(tag).collect();
    let mut out = Complaints::new();
    for (name, def) in defs(bundle) {
        for key in ["x-causes", "x-after"] {
            let by_dialect = items(&def[key]).filter_map(|entry| entry["event"].as_str());
            let strange = texts(&def[key])
                .into_iter()
                .chain(by_dialect)
                .filter(|event| !known.iter().any(|it| it == event));
            out.extend(strange.map(|event| format!("{name}: {key} names `{event}`, which is no event")));
        }
    }
    let strangers = defs(bundle)
        .filter(|(name, def)| def.get("x-after").is_some() && !events(bundle).contains(&name.as_str()));
    out.extend(strangers.map(|(name, _)| format!("{name}: has x-after but is no event")));
    out
}

pub fn answers(bundle: &Value) -> Complaints {
    let requests = leaves(bundle, "RpcExtensionUIRequest");
    let mut out = Complaints::new();
    for (name, def) in defs(bundle) {
        let is_request = requests.contains(&name.as_str());
        match (is_request, def.get("x-answer")) {
            (true, None) => out.push(format!("{name}: does not say which answer it wants")),
            (false, Some(_)) => out.push(format!("{name}: has x-answer but is no ui request")),
            (true, Some(Value::Null)) | (false, None) => {}
            (true, Some(answer)) => {
                if !["value", "confirmed"].iter().any(|known| answer == known) {
                    out.push(format!("{name}: x-answer {answer} is unknown"));
                }
            }
        }
    }
    out
}

pub fn hook_results(bundle: &Value) -> Complaints {
    let hooks = leaves(bundle, "HookEvent");
    let known = &bundle["$defs"]["HookResult"]["properties"];
    let mut out = Complaints::new();
    let mut counting = Vec::new();
    for (name, def) in defs(bundle) {
        let is_hook = hooks.contains(&name.as_str());
        match (is_hook, def.get("x-result")) {
            (true, None) => out.push(format!("{name}: does not say what of an answer counts")),
            (false, Some(_)) => out.push(format!("{name}: has x-result but is no hook")),
            _ => {}
        }
        let names = texts(&def["x-result"]);
        let strange = names.iter().filter(|member| known.get(member).is_none());
        out.extend(
            strange.map(|member| format!("{name}: x-result names `{member}`, which HookResult has not")),
        );
        counting.extend(names);
    }
    let idle = members(known).filter(|(member, _)| !counting.contains(&member.as_str()));
    out.extend(idle.map(|(member, _)| format!("HookResult.{member}: counts for no hook")));
    out
}
