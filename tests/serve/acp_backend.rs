//! `serve --backend acp`: hosts of every dialect drive an agent of the Agent Client Protocol, and the judge sees both sides.
#![cfg(feature = "acp")]

use crate::serve_support::{BOTH, Server, binary, command, eventually, of_type, processes_of};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    io::Read as _,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

/// The agent of `examples/acp_agent.rs`, which `cargo test` builds; with `--test serve`, add `--example acp_agent`.
fn small_agent() -> PathBuf {
    let agent = binary().with_file_name("examples").join("acp_agent");
    assert!(agent.exists(), "cargo build --example acp_agent");
    agent
}

/// A server in front of the small agent, with a recorder before it.
fn server(dialect: Dialect) -> Server {
    server_of(dialect, &[small_agent().to_str().unwrap()])
}

fn server_of(dialect: Dialect, agent: &[&str]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let mut command = command(binary(), dir.path());
    command.args(["tap", "--dialect", dialect.as_str(), "--record", "record.jsonl", "--"]).arg(binary());
    command
        .args(["serve", "--no-session", "--dialect", dialect.as_str(), "--backend", "acp", "--"])
        .args(agent);
    let mut server = Server::start(dialect, dir, command);
    if dialect == Dialect::Xcsh {
        server.until_type("ready");
    }
    server
}

/// Ends the server, whose recording the judge must find no fault in.
#[track_caller]
fn judged(mut server: Server) {
    let dialect = server.dialect;
    server.close_stdin();
    let ended = server.ends();
    let mut check = command(binary(), ended.dir.path());
    let checked = check.args(["check", "--dialect", dialect.as_str(), "record.jsonl"]).output().unwrap();
    let report = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(checked.status.success(), "{report}\n{}", ended.stderr);
}

/// The assistant's messages of a run, as text: blocks, then the stop reason.
fn answers(frames: &[Value]) -> Vec<String> {
    let ended = of_type(frames, "message_end").into_iter().map(|frame| frame["message"].clone());
    let answers = ended.filter(|message| message["role"] == "assistant");
    let block = |block: &Value| match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap().to_owned(),
        Some("thinking") => format!("({})", block["thinking"].as_str().unwrap()),
        _ => format!("{}{}", block["name"].as_str().unwrap(), block["arguments"]),
    };
    let text = |message: Value| {
        let blocks: Vec<String> = message["content"].as_array().unwrap().iter().map(block).collect();
        format!("{} {}", blocks.join(" "), message["stopReason"].as_str().unwrap())
    };
    answers.map(text).collect()
}

/// The results of a run: whether each is an error, and its text.
fn results(frames: &[Value]) -> Vec<(bool, String)> {
    let ends = of_type(frames, "tool_execution_end").into_iter();
    let text = |end: &Value| end["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    ends.map(|end| (end["isError"] == true, text(end))).collect()
}

#[test]
fn agent_answers_in_every_dialect() {
    for dialect in Dialect::ALL {
        let mut server = server(dialect);
        let frames = server.run("hello");
        assert_eq!(answers(&frames), ["(Hm.) You said: hello stop"], "{dialect}");
        let roles = of_type(&frames, "message_end").into_iter().map(|frame| frame["message"]["role"].clone());
        assert_eq!(roles.collect::<Vec<_>>(), ["user", "assistant"], "{dialect}");
        let state = server.data(json!({ "type": "get_state" }));
        assert_eq!(
            (&state["model"]["provider"], &state["model"]["name"]),
            (&json!("acp"), &json!("small-agent"))
        );
        judged(server);
    }
}

#[test]
fn two_calls_at_once_run_together() {
    for dialect in BOTH {
        let mut server = server(dialect);
        let frames = server.run("two");
        let read = |title: &str| json!({ "title": title, "kind": "read" });
        let calls = format!("read{} read{} toolUse", read("First"), read("Second"));
        assert_eq!(answers(&frames), [calls.as_str(), "both stop"], "{dialect}");
        let mut results = results(&frames);
        // Where calls run side by side, either may end first.
        results.sort_unstable();
        assert_eq!(results, [(false, "1".to_owned()), (false, "2".to_owned())]);
        judged(server);
    }
}

#[test]
fn permission_is_a_dialog_of_the_host() {
    for (dialect, chosen, told) in [(Pi, "Allow", "yes"), (Pi1, "Reject", "no")] {
        let mut server = server(dialect);
        server.send(json!({ "type": "prompt", "message": "permission" }));
        let dialog = server.until_type("extension_ui_request").pop().unwrap();
        let title = "The agent requests permission: Delete everything";
        assert_eq!(
            (&dialog["method"], &dialog["title"], &dialog["options"]),
            (&json!("select"), &json!(title), &json!(["Allow", "Reject"]))
        );
        server.send(json!({ "type": "extension_ui_response", "id": dialog["id"], "value": chosen }));
        let frames = server.until_type("agent_end");
        assert_eq!(results(&frames), [(false, format!("chosen: {told}"))]);
        judged(server);
    }
}

#[test]
fn agent_edits_files_through_the_server() {
    let mut server = server(Pi1);
    let path = server.path("notes.txt");
    std::fs::write(&path, "old\n").unwrap();
    let frames = server.run(&format!("edit {}", path.display()));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "OLD\n");
    let end = of_type(&frames, "tool_execution_end")[0];
    assert_eq!(
        (&end["toolName"], &end["result"]["details"]["diff"]),
        (&json!("edit"), &json!("-1 old\n+1 OLD"))
    );
    judged(server);
}

#[test]
fn agent_runs_commands_in_terminals() {
    let mut server = server(Pi1);
    let frames = server.run("terminal echo shown; exit 4");
    assert_eq!(results(&frames), [(false, "shown\n".to_owned())]);
    assert_eq!(answers(&frames)[1], "exit code Some(4) stop");
    judged(server);
}

#[test]
fn separators_of_lines_stay_in_text() {
    let mut server = server(Pi1);
    assert_eq!(answers(&server.run("separators")), ["a\u{2028}b\u{2029}c stop"]);
    judged(server);
}

#[test]
fn flood_of_chunks_arrives_whole() {
    let mut server = server(Pi1);
    let answers = answers(&server.run("flood"));
    assert_eq!(answers[0].len(), 2000 * 1000 + " stop".len());
    judged(server);
}

#[test]
fn agent_that_dies_fails_the_run() {
    let mut server = server(Pi1);
    let frames = server.run("die");
    let message = of_type(&frames, "message_end").pop().unwrap()["message"].clone();
    let text = "The agent small-agent has ended: exit status: 3; its last words: out of luck";
    assert_eq!((&message["stopReason"], &message["errorMessage"]), (&json!("error"), &json!(text)));
    // The next prompt starts the agent again, and brings what the last one has not answered.
    let frames = server.run("hello");
    assert_eq!(answers(&frames), ["(Hm.) You said: die\nhello stop"]);
    judged(server);
}

#[test]
fn abort_cancels_the_turn_of_the_agent() {
    for (prompt, awaited) in [("wait", "message_update"), ("hang", "tool_execution_start")] {
        let mut server = server(Pi1);
        server.send(json!({ "type": "prompt", "message": prompt }));
        server.until_type(awaited);
        server.send(json!({ "id": "a", "type": "abort" }));
        server.until_type("agent_end");
        let frames = server.run("hello");
        assert_eq!(answers(&frames), ["(Hm.) You said: hello stop"], "{prompt}");
        judged(server);
    }
}

#[test]
fn follow_up_is_the_next_prompt() {
    let mut server = server(Pi1);
    server.send(json!({ "type": "prompt", "message": "permission" }));
    let dialog = server.until_type("extension_ui_request").pop().unwrap();
    server.send(json!({ "type": "follow_up", "message": "and then" }));
    server.send(json!({ "type": "extension_ui_response", "id": dialog["id"], "cancelled": true }));
    let frames = server.until_type("agent_end");
    assert_eq!(results(&frames), [(false, "chosen: no".to_owned())]);
    assert_eq!(answers(&frames).last().unwrap(), "(Hm.) You said: and then stop");
    judged(server);
}

#[test]
fn commands_of_the_agent_are_listed() {
    let mut server = server(Pi1);
    server.run("hello");
    let commands = server.data(json!({ "type": "get_commands" }));
    let named = commands["commands"].as_array().unwrap().iter().find(|it| it["name"] == "shout").unwrap();
    assert_eq!((&named["description"], &named["source"]), (&json!("Says it louder"), &json!("extension")));
    judged(server);
}

#[test]
fn refusals_name_their_reason() {
    let mut server = server(Pi1);
    let frames = server.run("refuse");
    let message = of_type(&frames, "message_end").pop().unwrap()["message"].clone();
    assert_eq!(message["errorMessage"], "The agent refuses to go on (refusal)");
    // A session must be long to be compacted.
    server.run("flood");
    server.run("hello");
    let refused = server.ask("c", json!({ "type": "compact" }));
    assert_eq!(refused["success"], false, "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("keeps its own context"), "{refused}");
    judged(server);
}

#[test]
fn host_tools_are_refused_with_reason() {
    let mut server = server(Dialect::Omp);
    let tool =
        json!({ "name": "weather", "description": "Tells the weather.", "parameters": { "type": "object" } });
    let refused = server.ask("h", json!({ "type": "set_host_tools", "tools": [tool] }));
    let text = "The agent behind this server uses its own tools; it cannot be given tools of the host";
    let expected = json!({ "id": "h", "type": "response", "command": "set_host_tools", "success": false, "error": text });
    assert_eq!(refused, expected);
    assert_eq!(server.data(json!({ "type": "set_host_tools", "tools": [] })), json!({ "toolNames": [] }));
    judged(server);
}

#[test]
fn prompt_behind_fork_fails_with_reason() {
    let mut server = server(Pi1);
    server.run("one");
    server.run("two");
    let points = server.data(json!({ "type": "get_fork_messages" }));
    let second = &points["messages"][1];
    assert_eq!(second["text"], "two");
    server.data(json!({ "type": "fork", "entryId": second["entryId"] }));
    let message = of_type(&server.run("instead"), "message_end").pop().unwrap()["message"].clone();
    let text = "The agent cannot go back in its session, and it has messages that are not in this one. Begin a new session";
    assert_eq!((&message["stopReason"], &message["errorMessage"]), (&json!("error"), &json!(text)));
    server.data(json!({ "type": "new_session" }));
    assert_ne!(answers(&server.run("three")), Vec::<String>::new());
    judged(server);
}

#[test]
fn options_that_agents_cannot_heed_are_refused() {
    for (options, text) in [
        (
            &["--backend", "acp"][..],
            "Error: --backend acp: expected -- and the command line of an agent behind the options",
        ),
        (
            &["--backend", "mcp", "--", "x"],
            "Error: --backend mcp: expected acp, or rpc:DIALECT with what the server speaks, such as rpc:pi-1",
        ),
        (
            &["--backend", "acp", "--model", "sonnet", "--", "x"],
            "Error: --model cannot be combined with --backend acp: the agent has its own models; set_model chooses among them",
        ),
        (
            &["--backend", "acp", "--max-turns", "3", "--", "x"],
            "Error: --max-cost, --max-turns or --max-time of a run cannot be combined with --backend acp: the agent decides how long it works on a prompt; session= limits the session",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let refused = command(binary(), dir.path()).arg("serve").args(options).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&refused.stderr).trim_end(), text);
        assert_eq!(refused.status.code(), Some(2));
    }
    let dir = tempfile::tempdir().unwrap();
    let refused =
        command(binary(), dir.path()).args(["serve", "--backend", "acp", "--", "./none"]).output().unwrap();
    let text = "Error: The agent ./none cannot be started: No such file or directory (os error 2)";
    assert_eq!(String::from_utf8_lossy(&refused.stderr).trim_end(), text);
}

/// `serve --backend acp` with this agent, a program of the shell, and options in front.
fn starting(dir: &Path, options: &[&str], agent: &str) -> Child {
    let mut line = command(binary(), dir);
    line.args(["serve", "--no-session", "--dialect", "pi-1"]).args(options);
    line.args(["--backend", "acp", "--", "sh", "-c", agent]);
    line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The exit status and stderr of a server whose processes have all ended.
#[track_caller]
fn ended(dir: &Path, mut server: Child) -> (Option<i32>, String) {
    // Waiting would close it.
    let _stdin = server.stdin.take();
    let status = server.wait().unwrap();
    let mut stderr = String::new();
    server.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    eventually("its processes have ended", || processes_of(dir).is_empty());
    (status.code(), stderr)
}

#[test]
fn endless_line_of_agent_ends_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = starting(dir.path(), &["--max-frame", "100000"], "tr -d '\\n' < /dev/zero");
    let (status, stderr) = ended(dir.path(), server);
    assert!(stderr.contains("a line of more than 100000 bytes"), "{stderr}");
    assert_eq!(status, Some(1));
}

#[test]
fn end_of_input_ends_starting_agent() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = starting(dir.path(), &[], "sleep 600");
    drop(server.stdin.take());
    assert_eq!(ended(dir.path(), server), (Some(0), String::new()));
}

#[test]
fn signal_ends_starting_agent() {
    let dir = tempfile::tempdir().unwrap();
    for (signal, status) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let server = starting(dir.path(), &[], "touch started; sleep 600");
        eventually("the agent is started", || dir.path().join("started").exists());
        kill_process(Pid::from_child(&server), signal).unwrap();
        assert_eq!(ended(dir.path(), server), (Some(status), String::new()));
        std::fs::remove_file(dir.path().join("started")).unwrap();
    }
}

#[test]
fn end_of_input_ends_restarting_agent() {
    let agent = small_agent();
    let script = "if [ -e started ]; then touch again; sleep 600; fi; touch started; exec \"$0\"";
    let mut server = server_of(Pi1, &["sh", "-c", script, agent.to_str().unwrap()]);
    server.run("die");
    server.send(json!({ "type": "prompt", "message": "hello" }));
    eventually("the agent is started again", || server.dir.path().join("again").exists());
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
}
