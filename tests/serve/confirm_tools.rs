//! `--confirm-tools` guards what it names, or the server does not start.

use crate::serve_support::{Server, binary, command, of_type};
use pi_rpc::protocol::Dialect::{Pi, Pi1, Xcsh};
use serde_json::json;
use std::process::Stdio;

/// The status and the words of a server that does not start; `None`: it has, and ends with its input.
fn refusal(dialect: &str, arguments: &[&str]) -> Option<(Option<i32>, String)> {
    let dir = tempfile::tempdir().unwrap();
    let mut command = command(binary(), dir.path());
    command.args(["--mode", "rpc", "--no-session", "--model", "scripted/demo", "--dialect", dialect]);
    let ended = command.args(arguments).stdin(Stdio::null()).output().unwrap();
    let words = String::from_utf8(ended.stderr).unwrap().trim_end().to_owned();
    (!ended.status.success()).then_some((ended.status.code(), words))
}

#[test]
fn name_that_no_tool_has_is_refused() {
    let all = "bash, edit, find, grep, ls, read, write";
    for (given, why) in [
        ("BASH", "no tool is called \"BASH\"; did you mean \"bash\"?".to_owned()),
        ("bahs", "no tool is called \"bahs\"; did you mean \"bash\"?".to_owned()),
        ("read,wirte", "no tool is called \"wirte\"; did you mean \"write\"?".to_owned()),
        (
            "deploy",
            format!("no tool matches \"deploy\"; expected one of {all}, or a pattern of them (*: all)"),
        ),
        ("mcp_*", format!("no tool matches \"mcp_*\"; expected one of {all}, or a pattern of them (*: all)")),
        ("b[a", "\"b[a\" is no pattern: unclosed character class; missing ']'".to_owned()),
        (
            " , ",
            "got \" , \", expected names of tools, or patterns of them, separated by commas (*: all)"
                .to_owned(),
        ),
    ] {
        for dialect in ["pi", "pi-1"] {
            let (status, words) = refusal(dialect, &["--confirm-tools", given]).expect(given);
            let (status, words) = (status, sorted(&words));
            assert_eq!(
                (status, words),
                (Some(2), sorted(&format!("Error: --confirm-tools: {why}"))),
                "{dialect}"
            );
        }
    }
}

/// The words in the order of the alphabet: which order tools have is no matter.
fn sorted(words: &str) -> Vec<&str> {
    let mut words: Vec<&str> = words.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    words.sort_unstable();
    words
}

#[test]
fn confirm_name_case_counts_in_xcsh() {
    for given in ["BASH", "Todo_Write"] {
        let (status, words) = refusal("xcsh", &["--confirm-tools", given]).expect(given);
        let meant = given.to_lowercase();
        let text =
            format!("Error: --confirm-tools: no tool is called \"{given}\"; did you mean \"{meant}\"?");
        assert_eq!((status, words), (Some(2), text));
    }
    assert_eq!(refusal("xcsh", &["--confirm-tools", "deploy"]), None);
}

#[test]
fn names_and_patterns_of_tools_are_taken() {
    for given in ["bash", "bash,write,edit", "*", "b*", "gr?p"] {
        assert_eq!(refusal("pi", &["--confirm-tools", given, "--tools", "read"]), None, "{given}");
    }
}

#[test]
fn star_asks_before_every_tool() {
    for dialect in [Pi, Pi1, Xcsh] {
        let turns = json!([{"say": [{"tool": "write", "arguments": {"path": "made", "content": "x"}}]}, {"say": [{"text": "Well."}]}]);
        let mut server = Server::script_with(dialect, json!({ "turns": turns }), &["--confirm-tools", "*"]);
        server.send(json!({"type": "prompt", "message": "go"}));
        let frames = server.until_type("extension_ui_request");
        let asked = frames.last().unwrap();
        assert_eq!(asked["title"], r#"Allow write? {"path":"made","content":"x"}"#, "{dialect}");
        server.send(json!({"type": "extension_ui_response", "id": asked["id"], "value": "Deny"}));
        let frames = server.until_type("agent_end");
        let end = of_type(&frames, "tool_execution_end")[0];
        assert_eq!(
            end["result"]["content"][0]["text"], "The user did not allow this call of write.",
            "{dialect}"
        );
        assert!(!server.path("made").exists(), "{dialect}");
    }
}
