//! The module for extensions in Python uses every frame of the schema under the real server.

use crate::{
    python_support::{examples, python},
    serve_support::{Server, binary, command, of_type, write_agent_file},
    toolchain_support::{environment, run},
};
use pi_rpc::{
    export::{Part, part_schema},
    protocol::Dialect::{Pi, Pi1},
};
use serde_json::{Value, json};
use std::{env, fs, path::Path, process::Command};

/// The extension that uses every frame.
fn all_frames() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/extension_languages/all_frames.py")
        .display()
        .to_string()
}

/// What the extension has shown in these frames.
fn notices(frames: &[Value]) -> Vec<String> {
    let requests = of_type(frames, "extension_ui_request").into_iter();
    requests.filter_map(|frame| frame["message"].as_str().map(str::to_owned)).collect()
}

/// Calls a slash command; gives what the extension shows, up to what begins so.
fn shown(server: &mut Server, line: &str, last: &str) -> Vec<String> {
    server.send(json!({ "type": "prompt", "message": line }));
    let last = format!("{last}: ");
    let frames = server.until(|frame| frame["message"].as_str().is_some_and(|text| text.starts_with(&last)));
    notices(&frames)
}

#[test]
fn python_extension_uses_every_frame() {
    if python().is_none() {
        return;
    }
    let no_call = "origin: expected the id of a tool call of this extension that runs";
    let no_virtual = "failed: There are no virtual models in this dialect.";
    for (dialect, aborted, uncalled, added, removed) in [
        (Pi, "Request was aborted.", "This dialect has no calls of tools by tools", no_virtual, no_virtual),
        (Pi1, "This operation was aborted", no_call, r#"["routed"]"#, "null"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let settings = json!({ "compaction": { "keepRecentTokens": 1 } });
        write_agent_file(dir.path(), dialect, "settings.json", &settings);
        let mut line = command(binary(), dir.path());
        line.args([
            "serve",
            "--dialect",
            dialect.as_str(),
            "--session-dir",
            "sessions",
            "--model",
            "lab/mine",
        ]);
        line.args(["-e", &all_frames()]).env("PYTHONPATH", examples()).env("PYTHONDONTWRITEBYTECODE", "1");
        let mut server = Server::start(dialect, dir, line);

        let frames = server.run("work");
        let end = of_type(&frames, "tool_execution_end")[0];
        assert_eq!(end["result"]["content"][0]["text"], "worked", "{dialect}");
        assert_eq!(end["result"]["details"], json!({ "seen": "work" }), "{dialect}");

        let wanted = [
            "seen: ['turn_end', 'turn_end']",
            "state: ['named', ['read', 'work'], True]",
            "entries: ['session_info', 'model_change', 'label']",
        ];
        assert_eq!(shown(&mut server, "/session", "entries"), wanted, "{dialect}");

        server.send(json!({ "type": "prompt", "message": "/ask" }));
        let frames =
            server.until(|frame| frame["message"].as_str().is_some_and(|it| it.starts_with("withdrawn")));
        let withdrawn = format!("withdrawn: {}", json!(aborted));
        let called = format!("called: failed: {uncalled}");
        let (added, removed) = (format!("virtual: {added}"), format!("removed: {removed}"));
        let wanted = [
            r#"models: ["far"]"#,
            r#"key: "far-away-key""#,
            "gone: []",
            &added,
            &removed,
            r#"tools: ["work"]"#,
            r#"commands: ["ask", "bye", "compact", "dialog", "leave", "run", "session", "take"]"#,
            r#"settings: {"keepRecentTokens": 1}"#,
            "prompt: true",
            r#"ran: [{"type": "text", "text": "out\n"}]"#,
            &called,
            r#"servers: [["later"]]"#,
            r#"completed: [{"type": "text", "text": "I have nothing to do."}]"#,
            &withdrawn,
        ];
        assert_eq!(notices(&frames), wanted, "{dialect}");
        let fault = json!({
            "type": "extension_error", "extensionPath": all_frames(), "event": "check", "error": "only a check",
        });
        assert_eq!(of_type(&frames, "extension_error"), [&fault], "{dialect}");

        assert_eq!(shown(&mut server, "/run", "idle"), ["idle: true"], "{dialect}");
        let compacted = shown(&mut server, "/compact", "compacted");
        assert!(compacted[0].starts_with(r#"compacted: "I have nothing to do."#), "{dialect}: {compacted:?}");
        let wanted = [
            "new: true",
            r#"messages: ["Begun."]"#,
            "forked: true",
            "back: true",
            "moved: true",
            "left: true",
        ];
        assert_eq!(shown(&mut server, "/leave", "left"), wanted, "{dialect}");

        server.send(json!({ "type": "prompt", "message": "/dialog first" }));
        let question = server.until_type("extension_ui_request").pop().unwrap();
        server.send(json!({ "type": "extension_ui_response", "id": question["id"], "value": "Ada" }));
        let answered = server.until_type("extension_ui_request").pop().unwrap();
        assert_eq!((&question["title"], &answered["message"]), (&json!("first"), &json!("first: Ada")));
        server.send(json!({ "type": "prompt", "message": "/dialog second" }));
        server.until_type("extension_ui_request");
        assert_eq!(shown(&mut server, "/take", "second"), ["second: None"], "{dialect}");

        server.send(json!({ "type": "prompt", "message": "/bye" }));
        let ended = server.ends();
        assert_eq!(ended.status.code(), Some(0), "{dialect}: {}", ended.stderr);
        let used: Value =
            serde_json::from_slice(&fs::read(ended.dir.path().join("frames.json")).unwrap()).unwrap();
        let schema = part_schema(dialect, Part::Extension);
        for (way, union) in [("sent", "FromExtension"), ("received", "ToExtension")] {
            let mapping = schema["$defs"][union]["discriminator"]["mapping"].as_object().unwrap();
            let mut all: Vec<&str> = mapping.keys().map(String::as_str).collect();
            all.sort_unstable();
            // Only the part of the server that connects MCP servers gets it.
            all.retain(|kind| *kind != "mcp_servers");
            assert_eq!(used[way], json!(all), "{dialect}");
        }
    }
}

#[test]
fn python_module_and_use_type_check() {
    let Some(python) = environment("sdk/python/requirements.txt") else { return };
    let mut mypy = Command::new(python);
    mypy.args(["-m", "mypy", "--strict", "--python-version", "3.10"]).current_dir(examples());
    mypy.args(["pi_rpc_frames.py", "pi_rpc_extension.py", &all_frames()]).env("MYPYPATH", examples());
    mypy.env("MYPY_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("mypy-extension"));
    if let Err(complaint) = run(&mut mypy) {
        panic!("{complaint}");
    }
}
