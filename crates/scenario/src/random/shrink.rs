//! Shrinks a failing conversation.

use serde_json::Value;

/// Leaves out steps of a scenario, then turns of its script, as long as the rest still fails. Calls `fails` at most `tries`
/// times.
pub fn shrink_scenario(scenario: &Value, mut tries: usize, mut fails: impl FnMut(&Value) -> bool) -> Value {
    let mut best = scenario.clone();
    for list in ["/steps", "/script/turns"] {
        let Some(all) = best.pointer(list).and_then(Value::as_array).cloned() else { continue };
        let with = |some: &[Value]| {
            let mut shorter = best.clone();
            if let Some(all) = shorter.pointer_mut(list) {
                *all = some.into();
            }
            shorter
        };
        best = with(&shrink_list(&all, &mut tries, |some| fails(&with(some))));
    }
    best
}

/// Leaves out items of `all`, many at a time and then one by one, as long as the rest still fails. Calls `fails` at most
/// `tries` times, and counts `tries` down.
pub fn shrink_list<T: Clone>(all: &[T], tries: &mut usize, mut fails: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut best = all.to_vec();
    let mut size = (best.len() / 2).max(usize::from(best.len() == 1));
    while size > 0 {
        let mut at = 0;
        let mut was_shortened = false;
        while at < best.len() && *tries > 0 {
            let mut candidate = best.clone();
            candidate.drain(at..(at + size).min(best.len()));
            *tries -= 1;
            if fails(&candidate) {
                (best, was_shortened) = (candidate, true);
            } else {
                at += size;
            }
        }
        // An item may have become superfluous with another one.
        size = if was_shortened && size == 1 && *tries > 0 { 1 } else { size / 2 };
    }
    best
}
