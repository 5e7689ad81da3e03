//! `bash` and `abort_bash`: what the host's own commands give, and in which order.

use crate::serve_support::{BOTH, Server, keys, processes_of};
use pi_rpc::protocol::Dialect::{self, Omp, Pi, Xcsh};
use serde_json::{Value, json};

fn bash(command: &str) -> Value {
    json!({"type": "bash", "command": command})
}

/// The keys of a result, beside those that are not always there.
fn usual_keys(dialect: Dialect, more: &[&'static str]) -> Vec<&'static str> {
    let own: &[&str] = match dialect {
        Xcsh => &["outputBytes", "outputLines", "totalBytes", "totalLines"],
        _ => &[],
    };
    let mut keys = [&["cancelled", "output", "truncated"], own, more].concat();
    keys.sort_unstable();
    keys
}

#[test]
fn command_returns_output_and_exit_code() {
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        for (command, output, code) in [
            ("echo out; echo err >&2", "out\nerr\n", 0),
            ("true", "", 0),
            ("exit 3", "", 3),
            ("printf 'no newline'; false", "no newline", 1),
            ("cat; echo \"$HOME\" | wc -l", "1\n", 0),
            ("no_such_command_xyz 2>/dev/null", "", 127),
        ] {
            let result = server.data(bash(command));
            assert_eq!((&result["output"], &result["exitCode"]), (&json!(output), &json!(code)), "{command}");
            assert_eq!((&result["cancelled"], &result["truncated"]), (&json!(false), &json!(false)));
            let more: &[&str] = if dialect == Xcsh { &["exitCode", "newCwd"] } else { &["exitCode"] };
            assert_eq!(keys(&result), usual_keys(dialect, more), "{result}");
        }
        server.finishes();
    }
}

#[test]
fn empty_output_is_a_line_in_xcsh() {
    for (dialect, of_nothing) in [(Xcsh, 1), (Omp, 0)] {
        let mut server = Server::demo(dialect);
        for (command, lines) in [("true", of_nothing), ("printf x", 1), ("echo x", 2)] {
            let result = server.data(bash(command));
            let counts = ["totalLines", "outputLines"].map(|key| result[key].as_u64());
            assert_eq!(counts, [Some(lines); 2], "{dialect}, {command}");
        }
        server.finishes();
    }
}

#[test]
fn long_output_gives_tail_and_file() {
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        let command = r"for i in $(seq 20000); do printf 'line \033[1m%s\033[0m\n' $i; done";
        let result = server.data(bash(command));
        let output = result["output"].as_str().unwrap();
        let whole: String = (1..=20000).map(|i| format!("line {i}\n")).collect();
        assert_eq!(result["truncated"], true);
        assert!(whole.ends_with(output) && output.len() <= 51200 && output.starts_with("line "), "{output}");
        match dialect {
            Pi => {
                assert_eq!(output.matches('\n').count(), 1999);
                let path = result["fullOutputPath"].as_str().unwrap();
                let name = path.strip_prefix(server.dir.path().to_str().unwrap()).unwrap();
                assert!(name.starts_with("/pi-bash-") && name.ends_with(".log"), "{name}");
                assert_eq!(std::fs::read_to_string(path).unwrap(), whole);
            }
            _ => {
                assert!(output.len() > 51000, "{}", output.len());
                let counts =
                    ["totalLines", "totalBytes", "outputBytes"].map(|key| result[key].as_u64().unwrap());
                assert_eq!(counts, [20001, whole.len() as u64, output.len() as u64]);
                assert_eq!(result["outputLines"], output.split('\n').count());
            }
        }
        server.finishes();
    }
}

#[test]
fn only_xcsh_keeps_the_working_directory() {
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        let home = server.dir.path().canonicalize().unwrap().display().to_string();
        server.data(bash("mkdir -p 'a b/c'"));
        let moved = server.data(bash("cd 'a b/c'"));
        let here = server.data(bash("pwd -P"));
        let gone = server.data(bash("cd .. && rmdir c && exit 3"));
        let after = server.data(bash("pwd -P"));
        let (deep, up) = match dialect {
            Xcsh => (format!("{home}/a b/c"), format!("{home}/a b")),
            _ => (home.clone(), home.clone()),
        };
        assert_eq!(
            (&here["output"], &after["output"]),
            (&json!(format!("{deep}\n")), &json!(format!("{up}\n")))
        );
        assert_eq!(gone["exitCode"], if dialect == Xcsh { 3 } else { 1 });
        if dialect == Xcsh {
            assert_eq!(moved["newCwd"], deep);
        }
        server.finishes();
    }
}

#[test]
fn xcsh_orders_changes_and_reads_immediately() {
    let mut server = Server::demo(Xcsh);
    server.send(json!({"id": "1", "type": "bash", "command": "until [ -e go ]; do sleep 0.01; done; echo 1 >> order"}));
    server.send(json!({"id": "2", "type": "bash", "command": "echo 2 >> order; cat order"}));
    server.send(json!({"id": "3", "type": "get_state"}));
    server.send_bytes(b"not json\n");
    server.send(json!({"id": "4", "type": "set_session_name", "name": ""}));
    server.send(json!({"id": "5", "type": "get_last_assistant_text"}));
    let mut answers: Vec<Value> = (0..2).map(|_| server.next()).collect();
    std::fs::write(server.path("go"), "").unwrap();
    answers.extend((0..4).map(|_| server.next()));
    let told: Vec<&str> =
        answers.iter().map(|answer| answer["id"].as_str().or(answer["command"].as_str()).unwrap()).collect();
    assert_eq!(told, ["3", "5", "1", "2", "parse", "4"]);
    assert_eq!(answers[3]["data"]["output"], "1\n2\n");
    server.finishes();
}

#[test]
fn abort_bash_ends_commands_and_their_processes() {
    for dialect in BOTH {
        let mut server = Server::demo(dialect);
        let stuck = "trap '' TERM; sleep 1000 & sleep 1000 & echo begun; touch NAME; wait; sleep 1000";
        let count = if dialect == Pi { 3 } else { 1 };
        for at in 0..count {
            let command = stuck.replace("NAME", &at.to_string());
            server.send(json!({"id": at.to_string(), "type": "bash", "command": command}));
        }
        (0..count).for_each(|at| server.awaits(&at.to_string()));
        server.send(json!({"id": "abort", "type": "abort_bash"}));
        assert_eq!(
            server.next(),
            json!({"id": "abort", "type": "response", "command": "abort_bash", "success": true})
        );
        for _ in 0..count {
            let answer = server.next();
            assert_eq!((&answer["command"], &answer["data"]["output"]), (&json!("bash"), &json!("begun\n")));
            assert_eq!(keys(&answer["data"]), usual_keys(dialect, &[]), "{answer}");
            assert_eq!(answer["data"]["cancelled"], true);
        }
        assert_eq!(processes_of(server.dir.path()).len(), 1, "{:?}", processes_of(server.dir.path()));
        assert_eq!(server.ask("idle", json!({"type": "abort_bash"}))["success"], true);
        server.finishes();
    }
}

#[test]
fn xcsh_control_commands_bypass_running_bash() {
    let mut server = Server::demo(Xcsh);
    server.send(json!({"id": "1", "type": "bash", "command": "touch begun; sleep 1000"}));
    server.send(json!({"id": "2", "type": "bash", "command": "touch second"}));
    server.awaits("begun");
    for kind in ["abort", "abort_retry", "abort_bash"] {
        assert_eq!(server.ask(kind, json!({"type": kind}))["success"], true);
    }
    for id in ["1", "2"] {
        let answer = server.next();
        assert_eq!((&answer["id"], &answer["data"]["cancelled"]), (&json!(id), &json!(true)));
    }
    assert!(!server.path("second").exists());
    assert_eq!(server.data(bash("echo third"))["output"], "third\n");
    server.finishes();
}

#[test]
fn missing_kept_directory_falls_back() {
    let mut server = Server::demo(Xcsh);
    server.data(bash("mkdir here; cd here"));
    std::fs::remove_dir_all(server.path("here")).unwrap();
    let answer = server.data(bash("pwd"));
    assert_eq!(answer["output"], format!("{}\n", server.dir.path().canonicalize().unwrap().display()));
    server.finishes();
}

#[test]
fn missing_working_directory_fails_the_command() {
    for (dialect, answered_as, id) in [(Pi, "bash", json!("x")), (Xcsh, "parse", Value::Null)] {
        let mut server = Server::demo(dialect);
        server.data(json!({"type": "get_state"}));
        std::fs::remove_dir_all(server.dir.path()).unwrap();
        server.send(json!({"id": "x", "type": "bash", "command": "true"}));
        let answer = server.next();
        assert_eq!(
            (&answer["success"], &answer["command"], &answer["id"]),
            (&json!(false), &json!(answered_as), &id)
        );
        assert!(answer["error"].as_str().unwrap().contains("Working directory does not exist"), "{answer}");
        server.finishes();
    }
}
