//! The first minute: the command of the README, the names and options that hosts start the binary by.

use crate::serve_support::{BOTH, Server, at_once, binary, command, of_type, types};
use pi_rpc::{export::json_schema, protocol::Dialect};
use serde_json::{Value, json};
use std::{
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Output},
};

const PROMPT: &[u8] = b"{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"What is in this folder?\"}\n";

/// The binary as a host starts it, in a directory with two entries, with a key of a vendor whom nobody asks.
fn started(dialect: Dialect, program: &Path, arguments: &[&str]) -> Server {
    started_with(dialect, program, |command| command.args(arguments))
}

fn started_with(dialect: Dialect, program: &Path, set: impl Fn(&mut Command) -> &mut Command) -> Server {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("Src")).unwrap();
    std::fs::write(dir.path().join("read me.txt"), "").unwrap();
    let mut command = command(program, dir.path());
    command.env("ANTHROPIC_API_KEY", "unused");
    set(&mut command);
    Server::start(dialect, dir, command)
}

/// What the binary says to a command line that it does not serve.
fn told(arguments: &[&str]) -> (Option<i32>, String, String) {
    let dir = tempfile::tempdir().unwrap();
    let Output { status, stdout, stderr } =
        command(binary(), dir.path()).args(arguments).stdin(std::process::Stdio::null()).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

/// Whether the server that has just been started speaks that dialect.
#[track_caller]
fn assert_speaks(mut server: Server, dialect: Dialect) {
    server.send(json!({"id": "s", "type": "get_state"}));
    let first = server.next();
    assert_eq!(first["type"], if dialect == Dialect::Xcsh { "ready" } else { "response" }, "{first}");
    if dialect == Dialect::Xcsh {
        assert_eq!(server.next()["id"], "s");
    }
    server.finishes();
}

#[test]
fn prompt_gives_a_complete_run() {
    let order = [
        "response",
        "agent_start",
        "turn_start",
        "message_start",
        "message_end",
        "message_start",
        "thinking_start",
        "thinking_delta",
        "thinking_end",
        "text_start",
        "text_delta",
        "text_end",
        "toolcall_start",
        "toolcall_delta",
        "toolcall_end",
        "message_end",
        "tool_execution_start",
        "tool_execution_end",
        "message_start",
        "message_end",
        "turn_end",
        "turn_start",
        "message_start",
        "text_start",
        "text_delta",
        "text_end",
        "message_end",
        "turn_end",
        "agent_end",
    ];
    for dialect in BOTH {
        let validator = jsonschema::validator_for(&json_schema(dialect)).unwrap();
        let options =
            ["serve", "--no-session", "--model", "scripted/demo", "--tools", "read,ls", "--dialect"];
        let mut server = started(dialect, binary(), &[&options[..], &[dialect.as_str()]].concat());
        server.send_bytes(PROMPT);
        server.close_stdin_in(Dialect::Pi);
        let mut frames = server.until_type("agent_end");
        for frame in &frames {
            assert!(validator.is_valid(frame), "{frame}");
        }
        if dialect == Dialect::Xcsh {
            let ready = frames.remove(0);
            assert_eq!(ready, json!({"type": "ready", "version": env!("CARGO_PKG_VERSION")}));
        }
        assert_eq!(types(&frames), order);
        assert_eq!(frames[0], json!({"id": "1", "type": "response", "command": "prompt", "success": true}));
        let end = of_type(&frames, "tool_execution_end")[0];
        assert_eq!(end["result"]["content"], json!([{"type": "text", "text": "read me.txt\nSrc/"}]));
        let said = frames.last().unwrap()["messages"][3]["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(said.contains("2 entries: `read me.txt`, `Src/`"), "{said}");
        server.finishes();
    }
}

impl Server {
    /// As a shell's pipe does, which ends behind the prompt.
    fn close_stdin_in(&mut self, dialect: Dialect) {
        if self.dialect == dialect {
            self.close_stdin();
        }
    }
}

#[test]
fn snapshots_and_deltas_agree() {
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        let frames = server.run("hello");
        let mut text = String::new();
        for frame in of_type(&frames, "message_update") {
            let event = &frame["assistantMessageEvent"];
            assert_eq!(event["partial"], frame["message"]);
            let block = &frame["message"]["content"][event["contentIndex"].as_u64().unwrap() as usize];
            match event["type"].as_str().unwrap() {
                "text_start" | "thinking_start" => text.clear(),
                "text_delta" | "thinking_delta" => {
                    text.push_str(event["delta"].as_str().unwrap());
                    let key = event["type"].as_str().unwrap().trim_end_matches("_delta");
                    assert_eq!(block[key], text);
                }
                "text_end" | "thinking_end" => assert_eq!(event["content"], text),
                _ => {}
            }
        }
        server.finishes();
    }
}

#[test]
fn host_command_lines_start_the_server() {
    let lines: [&[&str]; 6] = [
        &["--mode", "rpc", "--no-session"],
        &["--mode=rpc"],
        &["--no-session", "--model", "scripted/demo:high", "--mode", "rpc"],
        &["--mode", "rpc", "--provider", "scripted", "--model", "demo", "--thinking", "low"],
        &[
            "--mode",
            "rpc",
            "--no-themes",
            "--no-extensions",
            "--approve",
            "--no-approve",
            "--frobnicate=x",
            "-z",
        ],
        &["serve", "--dialect=pi", "a message", "--mode", "rpc"],
    ];
    for line in lines {
        assert_speaks(started(Dialect::Pi, binary(), line), Dialect::Pi);
    }
}

#[test]
fn state_has_level_and_name_of_options() {
    for (options, level) in [
        (&["--thinking", "low"][..], "low"),
        (&["--model", "scripted/demo:high"], "high"),
        (&["--model", "scripted/demo:high", "--thinking", "off"], "off"),
    ] {
        let mut server = Server::with(Dialect::Pi, &[options, &["--name", "A name"]].concat());
        let state = server.data(json!({"type": "get_state"}));
        assert_eq!((&state["thinkingLevel"], &state["sessionName"]), (&json!(level), &json!("A name")));
        assert_eq!(state.get("sessionFile"), None);
        server.finishes();
    }
}

#[test]
fn dialect_comes_from_option_environment_or_name() {
    let links = tempfile::tempdir().unwrap();
    let [pi, xcsh] = ["pi", "xcsh"].map(|name| links.path().join(name));
    symlink(binary(), &pi).unwrap();
    symlink(binary(), &xcsh).unwrap();
    let rpc = ["--mode", "rpc"];
    let by_path: PathBuf = "xcsh".into();
    for (program, name, dialect) in [
        (pi.as_path(), &pi, Dialect::Pi1),
        (&xcsh, &xcsh, Dialect::Xcsh),
        (binary(), &binary().to_owned(), Dialect::Pi1),
        (binary(), &by_path, Dialect::Xcsh),
    ] {
        let server = started_with(dialect, program, |command| {
            command.env_remove("PI_RPC_DIALECT").arg0(name).args(rpc)
        });
        assert_speaks(server, dialect);
    }
    for (variable, option, dialect) in [
        ("xcsh", None, Dialect::Xcsh),
        ("pi", None, Dialect::Pi),
        ("", None, Dialect::Xcsh),
        ("pi", Some("xcsh"), Dialect::Xcsh),
        ("xcsh", Some("pi"), Dialect::Pi),
        ("nonsense", Some("pi"), Dialect::Pi),
    ] {
        let server = started_with(dialect, &xcsh, |command| {
            let option = option.map(|name| ["--dialect", name]);
            command.env("PI_RPC_DIALECT", variable).args(rpc).args(option.into_iter().flatten())
        });
        assert_speaks(server, dialect);
    }
}

#[test]
fn extension_frames_have_their_own_schema() {
    for dialect in BOTH {
        let (status, printed, errors) =
            told(&["schema", "--part", "extension", "--dialect", dialect.as_str()]);
        assert_eq!((status, errors.as_str()), (Some(0), ""));
        let validator = jsonschema::validator_for(&serde_json::from_str(&printed).unwrap()).unwrap();
        for frame in [json!({"type": "register"}), json!({"type": "cancel", "id": "1"})] {
            assert!(validator.is_valid(&frame), "{frame}");
        }
        for frame in [json!({"type": "done"}), json!({"type": "prompt", "message": "m"})] {
            assert!(!validator.is_valid(&frame), "{frame}");
        }
    }
}

#[test]
fn the_version_is_one_line() {
    let line = format!("{}\n", env!("CARGO_PKG_VERSION"));
    for arguments in [
        &["-v"][..],
        &["--mode", "rpc", "--version"],
        &["serve", "-v"],
        &["--dialect", "pi-1", "--version"],
        &["--no-session", "-v", "--", "--mode"],
    ] {
        assert_eq!(told(arguments), (Some(0), line.clone(), String::new()), "{arguments:?}");
    }
    let mut server = Server::with(Dialect::Pi, &["--system-prompt", "-v", "--name", "--version"]);
    assert_eq!(server.data(json!({"type": "get_state"}))["sessionName"], "--version");
    server.finishes();
}

#[test]
fn without_a_model_prompts_are_refused() {
    let reason = "No models available.\n\nSet an API key environment variable:";
    for dialect in [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh] {
        let dir = tempfile::tempdir().unwrap();
        let mut serve = command(binary(), dir.path());
        serve.args(["--mode", "rpc", "--dialect", dialect.as_str()]);
        let mut server = Server::start(dialect, dir, serve);
        if dialect == Dialect::Xcsh {
            assert_eq!(server.next()["type"], "ready");
        }
        let state = server.data(json!({"type": "get_state"}));
        let stand_in = dialect.record().unselected_model.map(Value::from);
        assert_eq!(
            (state["model"].get("id"), state["model"].is_null(), &state["isStreaming"]),
            (stand_in.as_ref(), stand_in.is_none(), &json!(false)),
            "{dialect}"
        );
        assert_eq!(server.data(json!({"type": "get_available_models"})), json!({"models": []}));
        server.send(json!({"id": "p", "type": "prompt", "message": "hi"}));
        let refused = server.until(|frame| frame["success"] == false).pop().unwrap();
        assert!(refused["error"].as_str().unwrap().contains(reason), "{dialect}: {refused}");
        assert_eq!(server.data(json!({"type": "bash", "command": "echo on"}))["output"], "on\n");
        server.close_stdin();
        let ended = server.ends();
        assert_eq!(ended.status.code(), Some(0), "{dialect}");
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    }
}

#[test]
fn models_are_listed_beside_other_options() {
    let expected = told(&["--list-models", "sonnet"]);
    assert_eq!((expected.0, expected.1.as_str()), (Some(0), NO_MODELS));
    for arguments in [
        &["--dialect", "pi", "--no-session", "--list-models=sonnet"][..],
        &["--mode", "rpc", "--list-models", "sonnet", "--offline"],
    ] {
        assert_eq!(told(arguments), expected, "{arguments:?}");
    }
}

/// What `--list-models` prints where no provider has a key.
const NO_MODELS: &str = "No models available; pi-rpc models says what each provider needs\n";

#[test]
fn near_miss_of_an_option_is_named() {
    let mut server = Server::with(Dialect::Pi, &["--modle", "scripted/other", "--plan", "--seesion=x"]);
    assert_eq!(server.data(json!({"type": "get_state"}))["model"]["id"], "demo");
    server.close_stdin();
    let ended = server.ends();
    let warnings: Vec<&str> =
        ended.stderr.lines().filter_map(|line| Some(line.split_once("--")?.1)).collect();
    assert_eq!(
        warnings,
        [
            "modle: unknown, ignored; did you mean --model?",
            "seesion: unknown, ignored; did you mean --session?"
        ]
    );
}

#[test]
fn refused_option_is_named_once() {
    for (option, hint) in [("--modle", "; did you mean --model?"), ("--plan", "")] {
        let refusal = format!("Error: Unknown option: {option}{hint}\n");
        let arguments = ["serve", "--dialect", "pi-1", "--no-session", "--model", "scripted/demo", option];
        assert_eq!(told(&arguments), (Some(1), String::new(), refusal));
    }
}

#[test]
fn unsupported_arguments_are_refused_with_reason() {
    let file = "Error: @file arguments are not supported in RPC mode\n";
    for arguments in [&["--mode", "rpc", "@notes.md"][..], &["serve", "--no-session", "hello", "@a"]] {
        assert_eq!(told(arguments), (Some(1), String::new(), file.to_owned()));
    }
    for (arguments, status, words) in [
        (&["serve", "--model", "no-such/model"][..], 1, "Error: Model \"no-such/model\" not found."),
        (&["serve", "--provider", "nobody", "--model", "demo"], 1, "Error: Unknown provider \"nobody\"."),
        (&["--mode", "rpc", "--api-key", "k"], 1, "Error: --api-key requires a model to be specified via"),
        (
            &["serve", "--model", "scripted/no-such-file.json"],
            1,
            "Error: Cannot read the script no-such-file.json: ",
        ),
        (&["serve", "--dialect", "klingon"], 2, "Error: unknown dialect \"klingon\"; known: "),
        (&["--mode", "tui"], 1, "Error: --mode tui: expected rpc, json or text"),
        (&["--provider", "nobody", "--mode", "rpc"], 1, "Error: Unknown provider \"nobody\"."),
        (&["serve", "--max-frame", "0"], 2, "Error: --max-frame 0: expected a number of bytes"),
        (
            &["serve", "--max-output-file", "1GB"],
            2,
            "Error: --max-output-file 1GB: expected a number of bytes",
        ),
        (&["serve", "--model"], 1, "Error: "),
        (&["serve", "--resume"], 1, "Error: --resume: expected the path or id of a session"),
        (&["--mode", "rpc", "-r"], 1, "Error: --resume: expected the path or id of a session"),
        (&["serve", "-c", "--fork", "x"], 1, "Error: --fork cannot be combined with --continue\n"),
        (&["serve", "--fork", "x", "--session", "x"], 1, "Error: --session cannot be combined with --fork\n"),
        (&["serve", "--session", "x", "-c"], 1, "Error: --continue cannot be combined with --session\n"),
        (&["serve", "-c", "--no-session"], 1, "Error: --no-session cannot be combined with --continue\n"),
        (&["serve", "--session", " "], 2, "Error: --session: a path or an id is missing\n"),
        (&["serve", "--session-dir"], 1, "Error: "),
        (&["serve", "-e", "builtin:mcp"], 1, "Error: --extension builtin:mcp: pi's built-in extensions"),
        (&["install", "npm:x"], 1, "Error: install: this program writes no settings; edit packages"),
        (&["auth", "print-api-key"], 1, "Error: auth print-api-key: no credential is printed here"),
        (&["--export", "none.jsonl"], 1, "Error: File not found: "),
    ] {
        let (code, stdout, stderr) = told(arguments);
        assert_eq!((code, stdout.as_str()), (Some(status), ""), "{arguments:?}: {stderr}");
        assert!(stderr.starts_with(words), "{arguments:?}: {stderr}");
    }
}

#[test]
fn tools_are_offered_as_asked() {
    let cases: [(&[&str], &[&str]); 8] = [
        (&["--tools", "read,bash"], &["bash"]),
        (&["--tools=read"], &["read"]),
        (&["--tools", "read,bash", "-xt", "bash"], &["read"]),
        (&["--no-builtin-tools"], &[]),
        (&["-nbt", "--tools", "read"], &["read"]),
        (&["--tools", "bash,ls"], &["ls"]),
        // `ls` is there for those who ask for it.
        (&[], &["bash"]),
        (&["--no-tools"], &[]),
    ];
    at_once(cases.into_iter(), |(options, called)| {
        let mut server = Server::with(Dialect::Pi, options);
        let frames = server.run("hello");
        let calls = of_type(&frames, "tool_execution_start");
        let names: Vec<&Value> = calls.iter().map(|call| &call["toolName"]).collect();
        assert_eq!(names, called, "{options:?}");
        server.finishes();
    });
}
