//! Figures beside pi: a call, and the start of eight servers. They are told, and judge nothing.

use crate::{
    comparison::{both, configure, options, play, replaced, vendor},
    peer_support::{Agent, Kind},
    serve_support::{binary, of_type},
    stdio_servers::{all_eight, prepare},
    toolchain_support::progress,
};
use serde_json::{Value, json};
use std::time::Instant;

/// Calls of a script, one after another.
const CALLS: usize = 500;

/// How often each figure is taken.
const TIMES: usize = 5;

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The time of a call in milliseconds, by a script that makes many; the server answers at once.
fn call(kind: Kind) -> f64 {
    let home = tempfile::tempdir().unwrap();
    let entry = json!({ "command": binary(), "args": ["mock-mcp"] });
    configure(home.path(), &json!({ "s": entry }));
    let code = format!("for (let at = 0; at < {CALLS}; at++) await tools.mcp__s__echo({{ at }});");
    let script = |code: &str| json!({ "tool": "codemode", "arguments": { "code": code } });
    let vendor = vendor(&[script("await tools.mcp__s__echo({})"), script(&code)]);
    let mut agent = Agent::start_in(home, kind, vendor.address, &options(kind));
    play(&mut agent, "call 0.");
    let frames = play(&mut agent, "call 1.");
    agent.ends();
    let ends = of_type(&frames, "tool_execution_end");
    assert_eq!(ends.len(), CALLS + 1, "{kind:?}");
    let of_script = ends.iter().find(|end| end["toolName"] == "codemode").unwrap();
    of_script["durationMs"].as_f64().unwrap() / CALLS as f64
}

/// The seconds from the start of the program to the end of the first prompt, which waits for eight servers.
fn start(kind: Kind, servers: &[(&str, Value)]) -> f64 {
    let home = tempfile::tempdir().unwrap();
    prepare(home.path());
    let place = home.path().to_str().unwrap().to_owned();
    let entries = servers.iter().map(|(name, entry)| ((*name).to_owned(), replaced(entry, "HOME", &place)));
    let entries: serde_json::Map<String, Value> = entries.collect();
    configure(home.path(), &entries.into());
    let vendor = vendor(&[json!({ "text": "Done." })]);
    let began = Instant::now();
    let mut agent = Agent::start_in(home, kind, vendor.address, &options(kind));
    play(&mut agent, "call 0.");
    let took = began.elapsed().as_secs_f64();
    agent.ends();
    took
}

#[test]
fn calls_and_starts_have_figures() {
    let (Some(kinds), Some(servers)) = (both(), all_eight()) else { return };
    let name = |kind: Kind| if kind == Kind::Ours { "pi-rpc" } else { "pi 1.6.0" };
    for kind in kinds {
        let calls = median((0..TIMES).map(|_| call(kind)).collect());
        progress(&format!(
            "{}: {calls:.2} ms for a call from a script, median of {TIMES} × {CALLS}",
            name(kind)
        ));
    }
    for kind in kinds {
        let starts = median((0..TIMES).map(|_| start(kind, &servers)).collect());
        progress(&format!(
            "{}: {starts:.2} s to the end of the first prompt with eight servers, median of {TIMES}",
            name(kind)
        ));
    }
}
