//! One conversation with a server of MCP under each program, and what of it must be alike.

use crate::{
    peer_support::{Agent, Kind, peer},
    serve_support::{FakeVendor, of_type},
    toolchain_support::progress,
};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;

/// A call of a tool: its name at the server, and the arguments. `HOME` in a text stands for the folder of the session.
pub type Call = (&'static str, Value);

/// Both programs; `None`, with a note, where pi cannot be had.
pub fn both() -> Option<[Kind; 2]> {
    Some([Kind::Pi(peer("1.6.0")?), Kind::Ours])
}

/// The options of either program.
pub fn options(kind: Kind) -> Vec<&'static str> {
    match kind {
        Kind::Ours => vec!["--dialect", "pi-1", "--no-session"],
        Kind::Pi(_) => vec!["--no-session"],
    }
}

/// The name of a tool for the model.
pub fn model_name(server: &str, tool: &str) -> String {
    format!("mcp__{server}__{}", tool.replace('-', "_"))
}

/// A vendor whose model makes one call for each prompt `call N.`.
pub fn vendor(calls: &[Value]) -> FakeVendor {
    let turns = calls.iter().enumerate().flat_map(|(at, call)| {
        let prompt = format!("call {at}.");
        [
            json!({ "match": prompt, "onResult": "", "repeat": true, "say": [{ "text": "Done." }] }),
            json!({ "match": prompt, "repeat": true, "say": [call] }),
        ]
    });
    FakeVendor::plays(&json!({ "turns": turns.collect::<Vec<_>>() }))
}

/// Writes `mcp.json` into a home.
pub fn configure(home: &Path, servers: &Value) {
    let folder = home.join(".pi/agent");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("mcp.json"), json!({ "mcpServers": servers }).to_string()).unwrap();
}

/// The value with another word in place of a word, in all its texts.
pub fn replaced(value: &Value, word: &str, other: &str) -> Value {
    serde_json::from_str(&value.to_string().replace(word, other)).unwrap()
}

/// Plays a prompt to its end, and gives the frames.
#[track_caller]
pub fn play(agent: &mut Agent, message: &str) -> Vec<Value> {
    let mut frames = Vec::new();
    agent.prompt(message);
    agent.until(|frame| {
        frames.push(frame.clone());
        frame["type"] == "agent_settled"
    });
    frames
}

/// What the user is told where a server cannot be used.
const TROUBLE: &str = "MCP servers need attention";

/// Waits until all servers are connected or cannot be, so that no prompt is ahead of a slow one; gives what the user is told meanwhile.
#[track_caller]
pub fn settle(agent: &mut Agent) -> Vec<Value> {
    let mut told = Vec::new();
    loop {
        agent.prompt("/mcp");
        let answer = agent.until(|frame| {
            let text = frame["message"].as_str().unwrap_or_default();
            let is_trouble = text.starts_with(TROUBLE);
            told.extend(is_trouble.then(|| frame.clone()));
            frame["method"] == "notify" && !is_trouble
        });
        let text = answer["message"].as_str().unwrap();
        if !text.contains(": connecting") && !text.contains(": starting") {
            return told;
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
}

/// Plays the calls with a server that has this entry; gives the frames with `HOME` in place of the folder.
#[track_caller]
pub fn conversation(kind: Kind, home: TempDir, server: &str, entry: &Value, calls: &[Call]) -> Vec<Value> {
    let place = home.path().to_str().unwrap().to_owned();
    configure(home.path(), &json!({ server: replaced(entry, "HOME", &place) }));
    let say = |(tool, arguments): &Call| {
        let arguments = replaced(arguments, "HOME", &place);
        json!({ "tool": model_name(server, tool), "arguments": arguments })
    };
    let vendor = vendor(&calls.iter().map(say).collect::<Vec<_>>());
    let mut agent = Agent::start_in(home, kind, vendor.address, &options(kind));
    let mut frames = settle(&mut agent);
    for at in 0..calls.len() {
        frames.extend(play(&mut agent, &format!("call {at}.")));
    }
    agent.ends();
    assert_eq!(vendor.refusals(), Vec::<String>::new(), "{kind:?}");
    frames.iter().map(|frame| replaced(frame, &place, "HOME")).collect()
}

/// The tools of servers as the model is told of them, without the sentence about scripts, which each program words itself.
pub fn declared(frames: &[Value]) -> Vec<Value> {
    let ends = of_type(frames, "message_end");
    let system = ends.iter().map(|frame| &frame["message"]).filter(|message| message["role"] == "system");
    let tools = system.flat_map(|message| message["toolsAdded"].as_array().cloned().unwrap_or_default());
    tools.filter(|tool| tool["name"].as_str().unwrap().starts_with("mcp__")).collect()
}

/// The results of calls, in the events and in the messages.
pub fn results(frames: &[Value]) -> Vec<Value> {
    let member = |frame: &Value| match frame["type"].as_str() {
        Some("tool_execution_end") => Some(json!([frame["toolName"], frame["result"], frame["isError"]])),
        Some("message_end") if frame["message"]["role"] == "toolResult" => {
            let message = &frame["message"];
            Some(json!([message["toolName"], message["content"], message["details"], message["isError"]]))
        }
        _ => None,
    };
    frames.iter().filter_map(member).collect()
}

/// The frames by their types and members, without deltas and progress, whose number depends on time.
pub fn shape(frames: &[Value]) -> Vec<String> {
    let is_timed = |kind: &str| ["message_update", "tool_execution_update"].contains(&kind);
    let shaped = frames.iter().filter_map(|frame| {
        let kind = frame["type"].as_str().unwrap();
        let members: Vec<&str> = frame.as_object().unwrap().keys().map(String::as_str).collect();
        let role = frame["message"]["role"].as_str().unwrap_or_default();
        (!is_timed(kind)).then(|| format!("{kind} {role} {}", members.join(",")))
    });
    shaped.collect()
}

/// Plays the calls with a server under both programs, and compares what the host sees.
#[track_caller]
pub fn compare(server: &str, entry: &Value, calls: &[Call], prepare: impl Fn(&Path)) {
    let Some(kinds) = both() else { return };
    let [theirs, ours] = kinds.map(|kind| {
        let home = tempfile::tempdir().unwrap();
        prepare(home.path());
        conversation(kind, home, server, entry, calls)
    });
    assert_eq!(declared(&ours), declared(&theirs), "{server}: the tools that the model is told of");
    assert_eq!(results(&ours), results(&theirs), "{server}: the results of calls");
    assert_eq!(shape(&ours), shape(&theirs), "{server}: the frames");
    let (tools, frames) = (declared(&ours).len(), shape(&ours).len());
    progress(&format!("{server}: {tools} tools, {} calls, {frames} frames alike", calls.len()));
}
