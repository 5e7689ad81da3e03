//! Tools of the client reach the model of a server whose dialect has none, by an extension of ours in the server.

use crate::{
    serve_support::{binary, command},
    toolchain_support::{had, node},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

/// A client of `xcsh` behind a front, before a server of `pi-1`.
struct Conversation {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _folder: tempfile::TempDir,
}

impl Conversation {
    /// `None`, with a note: there is no Node.js.
    fn start(turns: &Value) -> Option<Self> {
        had(node(), "PI_RPC_REQUIRE_NODE")?;
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
        let mut line = command(binary(), folder.path());
        line.args(["front", "--speak", "xcsh", "--server-dialect", "pi-1", "--host-tools", "--"]);
        line.arg(binary()).args([
            "serve",
            "--dialect",
            "pi-1",
            "--no-session",
            "--model",
            "scripted/script.json",
        ]);
        let mut child = line.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Some(Self { child, input, output, _folder: folder })
    }

    fn send(&mut self, frame: &Value) {
        writeln!(self.input, "{frame}").unwrap();
    }

    fn find(&mut self, mut is_it: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server has ended");
            let frame: Value = serde_json::from_str(&line).unwrap();
            assert!(!line.contains("pi-rpc-host-tools"), "the client sees the extension: {line}");
            if is_it(&frame) {
                return frame;
            }
        }
    }

    fn set_tools(&mut self) -> Value {
        let tool = json!({
            "name": "weather", "description": "Tells the weather.",
            "parameters": { "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"] },
        });
        self.send(&json!({ "id": "1", "type": "set_host_tools", "tools": [tool] }));
        self.find(|frame| frame["command"] == "set_host_tools")
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn calls_the_tool() -> Value {
    json!([
        { "match": "weather", "onResult": "Rain", "say": [{ "text": "Take an umbrella." }] },
        { "match": "weather", "say": [{ "tool": "weather", "id": "c1", "arguments": { "city": "Ulm" } }] },
        { "repeat": true, "say": [{ "text": "As you say." }] },
    ])
}

#[test]
fn tool_of_the_client_is_called() {
    let Some(mut it) = Conversation::start(&calls_the_tool()) else { return };
    let set = it.set_tools();
    assert_eq!(set["data"]["toolNames"], json!(["weather"]), "{set}");
    it.send(&json!({ "id": "2", "type": "prompt", "message": "the weather" }));
    let call = it.find(|frame| frame["type"] == "host_tool_call");
    assert_eq!([&call["toolCallId"], &call["toolName"]], ["c1", "weather"]);
    assert_eq!(call["arguments"], json!({ "city": "Ulm" }));
    let content = json!([{ "type": "text", "text": "Rain" }]);
    it.send(
        &json!({ "type": "host_tool_update", "id": call["id"], "partialResult": { "content": content } }),
    );
    it.find(|frame| frame["type"] == "tool_execution_update");
    it.send(&json!({ "type": "host_tool_result", "id": call["id"], "result": { "content": content } }));
    let end = it.find(|frame| frame["type"] == "tool_execution_end");
    assert_eq!(end["result"]["content"], content);
    it.find(|frame| frame["type"] == "agent_end");
}

#[test]
fn aborted_call_is_cancelled() {
    let Some(mut it) = Conversation::start(&calls_the_tool()) else { return };
    it.set_tools();
    it.send(&json!({ "id": "2", "type": "prompt", "message": "the weather" }));
    let call = it.find(|frame| frame["type"] == "host_tool_call");
    it.send(&json!({ "id": "3", "type": "abort" }));
    let cancel = it.find(|frame| frame["type"] == "host_tool_cancel");
    assert_eq!(cancel["targetId"], call["id"]);
    it.find(|frame| frame["type"] == "agent_end");
}

#[test]
fn overlapping_commands_are_each_answered() {
    let Some(mut it) = Conversation::start(&calls_the_tool()) else { return };
    let set = |id: &str, name: &str| {
        let tool =
            json!({ "name": name, "description": "d", "parameters": { "type": "object", "properties": {} } });
        json!({ "id": id, "type": "set_host_tools", "tools": [tool] })
    };
    it.send(&set("1", "weather"));
    it.send(&set("2", "bash"));
    let mut answered = || it.find(|frame| frame["command"] == "set_host_tools");
    let (first, second) = (answered(), answered());
    assert_eq!((&first["id"], &first["data"]["toolNames"]), (&json!("1"), &json!(["weather"])), "{first}");
    assert_eq!((&second["id"], &second["success"]), (&json!("2"), &json!(false)), "{second}");
}
