//! This program beside the newest release of pi that was played.

use super::{Observations, Program, Run, differences, folder, play, recorded, write};
use crate::serve_support::at_once;
use serde_json::Value;
use std::{collections::BTreeMap, env, sync::Mutex};

/// The release that ours is compared with.
pub const NEWEST: &str = "1.6.0";

/// Plays the runs; what is not as in pi has to be in `differences.json`, with a reason. `UPDATE=1` writes it there.
#[track_caller]
pub fn differs_as_listed(runs: impl Iterator<Item = (String, Run)> + Send) {
    let all = Mutex::new(Observations::new());
    at_once(runs, |run| {
        let observed = play(&run, Program::Ours);
        all.lock().unwrap().extend(observed);
    });
    let (ours, theirs, mut listed) = (all.into_inner().unwrap(), recorded(NEWEST), differences());
    let mut wrong = Vec::new();
    for (name, value) in &ours {
        let pi = theirs.get(name).unwrap_or(&Value::Null);
        let known = listed.get(name);
        let why = known.and_then(|known| known.get("why")).cloned().unwrap_or_default();
        let difference =
            BTreeMap::from([("ours".to_owned(), value.clone()), ("why".to_owned(), why.clone())]);
        let differs = pi != value;
        if known != differs.then_some(&difference) || differs && why.is_null() {
            wrong.push(format!("{name}\n  pi:   {pi}\n  ours: {value}"));
        }
        match differs {
            true => drop(listed.insert(name.clone(), difference)),
            false => drop(listed.remove(name)),
        }
    }
    if env::var_os("UPDATE").is_some() {
        write(&folder().join("differences.json"), &listed);
    }
    assert!(
        wrong.is_empty(),
        "{}\nmend it, or list it: UPDATE=1, and a reason in tests/surroundings/differences.json",
        wrong.join("\n")
    );
}
