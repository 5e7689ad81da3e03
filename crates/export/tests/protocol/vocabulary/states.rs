//! Rules for the states of the machine.

use super::*;

pub fn states(bundle: &Value) -> Complaints {
    let (known, names) = (bases(bundle), super::states(bundle));
    let mut out = Complaints::new();
    for state in flow(bundle) {
        let name = state["name"].as_str().unwrap_or_default();
        let strange = texts(&state["dialects"]).into_iter().find(|id| !known.contains(id));
        out.extend(strange.map(|id| format!("{name}: is in `{id}`, which is no base dialect")));
        if state.get("dialects").is_some_and(|list| texts(list).is_empty()) {
            out.push(format!("{name}: is in no dialect"));
        }
        let parent = name.split_once('.').map(|(parent, _)| parent);
        if state["parent"].as_str() != parent {
            out.push(format!("{name}: its parent is {}", state["parent"]));
        }
        if let Some(like) = state.get("like").map(|like| like.as_str().unwrap_or_default())
            && (!names.contains(&like) || self::state(bundle, like).get("like").is_some() || like == name)
        {
            out.push(format!("{name}: is like `{like}`, which is no state with dispositions of its own"));
        }
    }
    out
}
