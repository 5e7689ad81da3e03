//! Four conversations with a scripted server: declared tools, tools that are searched, tools that scripts call, and a broken
//! configuration. Both programs send the same frames, member by member, in the same order of members.

use crate::{
    comparison::{both, configure, options, play, settle, vendor},
    peer_support::{Agent, Kind},
    serve_support::{binary, of_type},
    toolchain_support::progress,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// An entry for the scripted server.
fn entry(home: &Path, exposure: &str) -> Value {
    let schema = json!({ "type": "object", "properties": { "t": { "type": "string" } }, "required": ["t"] });
    let tool = json!({ "name": "echo", "description": "echoes", "inputSchema": schema, "calls": [[{ "text": "heard" }]] });
    let script = home.join("mcp-script.json");
    fs::write(&script, json!({ "tools": [tool] }).to_string()).unwrap();
    json!({
        "command": binary(), "args": ["mock-mcp", "--script", script], "exposure": exposure, "description": "Echo things",
    })
}

/// What a frame is made of: its members in their order, and its texts where those are no program's own.
fn form(value: &Value, key: &str) -> Value {
    match value {
        Value::Object(members) => {
            // Ours are described without the first; each has its own texts and schemas of its own tools.
            let own = ["constrainedSampling", "usage", "sections", "parameters"];
            let kept = members.iter().filter(|(key, _)| !own.contains(&key.as_str()));
            Value::Array(kept.map(|(key, value)| json!([key, form(value, key)])).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| form(item, key)).collect()),
        Value::Number(_) => "a number".into(),
        Value::String(text) => match key {
            "type" | "role" | "toolName" | "name" | "status" | "method" | "message" | "notifyType"
            | "command" | "customType" | "stopReason" | "loaded" => text.as_str().into(),
            _ => "a text".into(),
        },
        other => other.clone(),
    }
}

/// The forms of all frames, without deltas, and without progress, whose number depends on time. What the user is told comes last: its
/// place depends on time, too.
fn forms(frames: &[Value], home: &Path) -> Vec<String> {
    let is_timed = |frame: &&Value| {
        let is_start = frame["type"] == "message_start" && frame["message"]["role"] == "assistant";
        // How much of an answer is there at its start is each program's own.
        is_start || frame["type"] == "message_update" || frame["type"] == "tool_execution_update"
    };
    let home = home.to_str().unwrap();
    let (told, frames): (Vec<&Value>, Vec<&Value>) =
        frames.iter().filter(|it| !is_timed(it)).partition(|frame| frame["type"] == "extension_ui_request");
    frames.into_iter().chain(told).map(|it| form(it, "").to_string().replace(home, "HOME")).collect()
}

/// Plays prompts with a program whose `mcp.json` has these servers; the model makes a call for each but the last, which is `/mcp`.
fn played(kind: Kind, servers: impl Fn(&Path) -> Value, calls: &[Value]) -> Vec<String> {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().to_owned();
    configure(&place, &servers(&place));
    let vendor = vendor(calls);
    let mut agent = Agent::start_in(home, kind, vendor.address, &options(kind));
    let mut frames = settle(&mut agent);
    for at in 0..calls.len() {
        frames.extend(play(&mut agent, &format!("call {at}.")));
    }
    agent.prompt("/mcp");
    agent.until(|frame| {
        frames.push(frame.clone());
        frame["type"] == "extension_ui_request"
    });
    let entries = agent.ask(json!({ "type": "get_entries" }));
    frames.extend(entries["entries"].as_array().unwrap().iter().cloned());
    agent.ends();
    assert_eq!(vendor.refusals(), Vec::<String>::new(), "{kind:?}");
    assert!(!of_type(&frames, "agent_settled").is_empty());
    forms(&frames, &place)
}

#[track_caller]
fn alike(name: &str, servers: impl Fn(&Path) -> Value, calls: &[Value]) {
    let Some(kinds) = both() else { return };
    let [theirs, ours] = kinds.map(|kind| played(kind, &servers, calls));
    for (at, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(ours, theirs, "{name}: frame {at}");
    }
    assert_eq!(ours.len(), theirs.len(), "{name}: {:?}", ours.last());
    progress(&format!("conversation {name}: {} frames and entries alike", ours.len()));
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "tool": tool, "arguments": arguments })
}

#[test]
fn direct_tools_are_used_alike() {
    let calls = [
        call("mcp__t__echo", json!({ "t": "hello" })),
        call("mcp__t__echo", json!({})),
        call("mcp__t__none", json!({})),
    ];
    alike("direct", |home| json!({ "t": entry(home, "direct") }), &calls);
}

#[test]
fn searched_tools_are_used_alike() {
    let calls = [
        call("tool_search", json!({ "query": "echo" })),
        call("mcp__t__echo", json!({ "t": "later" })),
        call("tool_search", json!({ "query": "nothing of the kind" })),
    ];
    alike("deferred", |home| json!({ "t": entry(home, "deferred") }), &calls);
}

#[cfg(feature = "codemode")]
#[test]
fn scripts_call_tools_alike() {
    let first = "const r = await tools.mcp__t__echo({t:'hi'}); text(r); const b = await tools.bash({command:'echo nested; exit 2'}); \
                 console.log(1); try { await tools.read({path:'nope'}) } catch (e) { text(String(e)) } store('k', 5); return b;";
    let second = "text(load('k')); text((await searchTools('echo'))); throw new Error('bad')";
    let calls = [first, second].map(|code| call("codemode", json!({ "code": code })));
    alike("codemode", |home| json!({ "t": entry(home, "codemode") }), &calls);
}

#[test]
fn broken_configuration_is_told_alike() {
    let servers =
        |home: &Path| json!({ "t": entry(home, "direct"), "in valid": { "command": "x" }, "half": {} });
    alike("broken", servers, &[json!({ "text": "Done." })]);
}
