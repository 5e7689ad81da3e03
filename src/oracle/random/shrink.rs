//! The shortest conversation that still fails.

use serde_json::Value;

/// Leaves out steps of a scenario, many at a time and then one by one, as long as what is left still fails. `fails` is
/// asked at most `tries` times.
pub fn shortest(scenario: &Value, tries: usize, mut fails: impl FnMut(&Value) -> bool) -> Value {
    let mut best = scenario.clone();
    let mut left = tries;
    let mut size = steps(&best).len() / 2;
    while size > 0 {
        let mut at = 0;
        let mut was_shortened = false;
        while at < steps(&best).len() && left > 0 {
            let candidate = without(&best, at, size);
            left -= 1;
            if fails(&candidate) {
                (best, was_shortened) = (candidate, true);
            } else {
                at += size;
            }
        }
        // What one step was needed for may be gone.
        size = if was_shortened && size == 1 && left > 0 { 1 } else { size / 2 };
    }
    best
}

fn steps(scenario: &Value) -> &[Value] {
    scenario["steps"].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn without(scenario: &Value, at: usize, size: usize) -> Value {
    let steps = steps(scenario).iter().enumerate();
    let kept: Vec<Value> =
        steps.filter(|(place, _)| !(at..at + size).contains(place)).map(|(_, step)| step.clone()).collect();
    let mut shorter = scenario.clone();
    if let Some(steps) = shorter.get_mut("steps") {
        *steps = kept.into();
    }
    shorter
}
