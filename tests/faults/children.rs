//! Children of the server that do not end, leave, flood or fail: none outlives its command where that can be known, and none
//! takes memory, disk or descriptors with it.

use crate::{
    serve_support::{Server, at_once, bash_turns, binary, command, eventually, pairs, processes_of, sample},
    states::{DIALECTS, assert_tidy, descriptors, last, place, run, serving, start, temporary},
    table::row,
};
use pi_rpc::protocol::Dialect::{self, Pi, Xcsh};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// Commands that do not end by themselves. Each makes the file `begun` when all of it runs.
const STAYING: [&str; 10] = [
    "trap '' TERM; sleep 1000 & touch begun; wait; sleep 1000",
    // In a group, or a session, of their own.
    "timeout 1000 sh -c 'touch begun; sleep 1000'; true",
    "timeout 1000 bash -c \"trap '' TERM; touch begun; sleep 1000; sleep 1000\"; true",
    "set -m; (touch begun; sleep 1000); true",
    "setsid -w sh -c 'touch begun; sleep 1000'; true",
    "setsid sh -c 'touch begun; sleep 1000' & wait",
    // They do not run when they are told to end.
    "touch begun; kill -STOP $$; true",
    "for i in $(seq 200); do sleep 1000 & done; touch begun; wait",
    "exec >&- 2>&-; touch begun; sleep 1000; true",
    "touch begun; yes; true",
];

/// How a command is ended.
#[derive(Clone, Copy, Debug)]
enum Way {
    AbortBash,
    AbortRun,
    Timeout,
    Terminate,
}

/// Ends a server's command, or the server; nothing is left of the command.
fn end_command((dialect, way): (Dialect, Way), command: &str) {
    let what = format!("{dialect}, {way:?}: {command}");
    let timeout = if matches!(way, Way::Timeout) { 1 } else { 0 };
    let turns = json!([
        { "onResult": "", "repeat": true, "say": [{ "text": "It has ended." }] },
        { "repeat": true, "say": [{ "tool": "bash", "arguments": { "command": command, "timeout": timeout } }] },
    ]);
    // A session's file would be opened meanwhile.
    let mut server = serving(dialect, &turns, &["--no-session"]);
    server.data(json!({ "type": "bash", "command": "true" }));
    let open = descriptors(&server);
    match way {
        Way::AbortBash | Way::Terminate => {
            server.send(json!({ "id": "b", "type": "bash", "command": command }));
        }
        Way::AbortRun | Way::Timeout => server.send(json!({ "type": "prompt", "message": "go?" })),
    }
    // One that is timed out need not get so far on a busy machine.
    if !matches!(way, Way::Timeout) {
        server.awaits("begun");
    }
    match way {
        Way::AbortBash => {
            server.send(json!({ "id": "a", "type": "abort_bash" }));
            assert_eq!(server.response("b")["data"]["cancelled"], true, "{what}");
        }
        Way::AbortRun => assert_eq!(server.ask("a", json!({ "type": "abort" }))["success"], true, "{what}"),
        Way::Timeout => drop(server.until_type(last(dialect))),
        Way::Terminate => server.signal(Signal::TERM),
    }
    if !matches!(way, Way::Terminate) {
        let left = processes_of(server.dir.path());
        assert_eq!(left.len(), 1, "{what}: {left:?}");
        eventually(&format!("{what}: descriptors are closed"), || descriptors(&server) <= open);
        server.close_stdin();
    }
    // Asserts that nothing is left of it.
    let ended = server.ends();
    if matches!(way, Way::Terminate) {
        assert_eq!(ended.status.code(), Some(143), "{what}");
        assert_tidy(ended.dir.path(), &ended.frames, &what);
    } else {
        assert_eq!(ended.status.code(), Some(0), "{what}");
    }
}

#[test]
fn ended_command_leaves_no_child() {
    let ways = [
        (Pi, Way::AbortBash),
        (Xcsh, Way::AbortBash),
        (Pi, Way::AbortRun),
        (Pi, Way::Timeout),
        (Pi, Way::Terminate),
    ];
    let cases = sample(pairs(&ways, &STAYING), 3);
    let times = at_once(cases, |(way, command)| end_command(way, command));
    row(
        "A command whose children ignore TERM, leave its group or session, stop themselves, are 200, or flood: aborted, timed out, \
         or the server gets TERM",
        times,
    );
}

/// A process that has left its session, and whose parent is gone: it tells its id in the file `daemon`.
const DAEMON: &str =
    "(setsid sh -c 'echo $$ > new; mv new daemon; exec sleep 1000' > /dev/null 2>&1 &); echo done";

#[test]
fn daemon_does_not_hold_up_the_host() {
    let mut times = 0;
    for dialect in DIALECTS {
        let mut server = serving(dialect, &bash_turns(DAEMON), &[]);
        run(&mut server, "go?");
        server.awaits("daemon");
        let id: i32 = fs::read_to_string(server.path("daemon")).unwrap().trim().parse().unwrap();
        let inherited = fs::read_dir(format!("/proc/{id}/fd")).unwrap().flatten();
        let inherited: Vec<PathBuf> = inherited.filter_map(|fd| fs::read_link(fd.path()).ok()).collect();
        let stdout = fs::read_link(format!("/proc/{}/fd/1", server.child.id())).unwrap();
        assert!(!inherited.contains(&stdout), "{dialect}: it holds {inherited:?}");
        server.close_stdin();
        // The output ends though it lives.
        while server.next_line().is_some() {}
        assert!(Path::new(&format!("/proc/{id}")).exists(), "{dialect}");
        kill_process(Pid::from_raw(id).unwrap(), Signal::KILL).unwrap();
        eventually("it is gone", || processes_of(server.dir.path()).is_empty());
        assert_eq!(server.ends().status.code(), Some(0), "{dialect}");
        times += 1;
    }
    row("A tool leaves a daemon behind: a session of its own, and its parent has ended", times);
}

#[test]
fn background_job_ends_with_the_server() {
    let commands =
        ["sleep 1000 & echo done", "(trap '' TERM HUP; sleep 1000 & wait) & echo done", "yes & echo done"];
    let times = 2 * at_once(sample(pairs(&DIALECTS, &commands), 4), |(dialect, command)| {
        let mut server = serving(dialect, &bash_turns(command), &[]);
        let output = server.data(json!({ "type": "bash", "command": command }))["output"].take();
        assert!(output.as_str().unwrap().contains("done") || command.starts_with("yes"), "{output}");
        run(&mut server, "go?");
        assert!(processes_of(server.dir.path()).len() > 2, "{dialect}: {command}");
        server.close_stdin();
        // Asserts that nothing is left of it.
        assert_eq!(server.ends().status.code(), Some(0), "{dialect}: {command}");
    });
    row("A shell ends, and a job of it holds its output open", times);
}

#[test]
fn oldest_output_file_is_removed_and_named() {
    for dialect in DIALECTS {
        let command = "yes a line | head -c 100000";
        let mut server = serving(dialect, &bash_turns(command), &["--max-output-files", "250000"]);
        let names = |server: &Server| temporary(server.dir.path());
        let bash = |server: &mut Server| {
            server.data(json!({ "type": "bash", "command": command }))["output"].as_str().unwrap().to_owned()
        };
        let plain = bash(&mut server);
        let oldest = names(&server);
        assert_eq!((bash(&mut server), oldest.len()), (plain.clone(), 1), "{dialect}");
        let second = names(&server).into_iter().find(|name| !oldest.contains(name)).unwrap();
        let notice = |server: &Server, name: &str| {
            format!("\n\n[Removed to make room for this output: {}]", server.path("tmp").join(name).display())
        };
        let text = tool_text(&run(&mut server, "go?"));
        assert!(text.ends_with(&notice(&server, &oldest[0])), "{dialect}: {}", &text[text.len() - 300..]);
        assert_eq!(bash(&mut server), plain + &notice(&server, &second), "{dialect}");
        let left = names(&server);
        assert_eq!((left.len(), left.contains(&oldest[0]), left.contains(&second)), (2, false, false));
        server.finishes();
    }
}

/// The text of the result of a run's tool.
fn tool_text(frames: &[Value]) -> String {
    let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
    end["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

/// How much the file with a command's output takes here, in bytes.
const FILE: u64 = 1 << 20;

#[test]
fn endless_output_takes_neither_memory_nor_disk() {
    let floods = ["yes a line", "yes | tr -d '\\n'", "cat /dev/urandom"];
    let times = 2 * at_once(sample(pairs(&DIALECTS, &floods), 4), |(dialect, flood)| {
        let command = format!("{flood} | head -c 3000000");
        let turns = bash_turns(&command);
        let mut server = serving(dialect, &turns, &["--max-output-file", &FILE.to_string()]);
        let data = server.data(json!({ "type": "bash", "command": command }));
        assert_eq!((&data["truncated"], &data["exitCode"]), (&json!(true), &json!(0)), "{dialect}: {flood}");
        assert!(data["output"].as_str().unwrap().len() <= 51_200, "{dialect}: {flood}");
        let text = tool_text(&run(&mut server, "go?"));
        assert!(text.contains("Full output: "), "{dialect}: {flood}: {}", &text[text.len() - 200..]);
        for name in temporary(server.dir.path()) {
            let kept = fs::read(server.path("tmp").join(name)).unwrap();
            let notice = b"\n[The rest was left out: this file takes 1.0MB]\n";
            assert!(kept.ends_with(notice), "{dialect}: {flood}");
            assert_eq!(kept.len(), FILE as usize + notice.len(), "{dialect}: {flood}");
        }
        assert_eq!(temporary(server.dir.path()).len(), 2);
        assert!(server.peak_mib() < 100, "{dialect}: {flood}: {} MiB", server.peak_mib());
        server.finishes();
    });
    row("3 MB of lines, of one line, of random bytes, where the file for it takes 1 MiB", times);
}

#[test]
fn command_that_breaks_itself_is_answered() {
    // What the result's text begins with, and the exit code of the command of the host.
    let cases: [(&str, &str, i32); 5] = [
        ("cat; echo read", "read\n", 0),
        ("exec <&-; cat 2>/dev/null; echo closed", "closed\n", 0),
        ("exec >&- 2>&-; sleep 0.05; exit 3", "", 3),
        ("echo before; kill -KILL $$", "before\n", 137),
        ("echo before; sh -c 'kill -SEGV $$' 2>/dev/null; exit 4", "before\n", 4),
    ];
    let times = 2 * at_once(sample(pairs(&DIALECTS, &cases), 2), |(dialect, (command, output, code))| {
        let mut server = serving(dialect, &bash_turns(command), &[]);
        let data = server.data(json!({ "type": "bash", "command": command }));
        assert!(data["output"].as_str().unwrap().starts_with(output), "{dialect}: {command}: {data}");
        assert_eq!(data["exitCode"], code, "{dialect}: {command}");
        assert_eq!(data["cancelled"], false, "{dialect}: {command}");
        let text = tool_text(&run(&mut server, "go?"));
        assert!(text.starts_with(output), "{dialect}: {command}: {text}");
        if matches!(code, 1..128) {
            assert!(text.ends_with(&format!("Command exited with code {code}")), "{text}");
        }
        let dir = server.finishes();
        assert_tidy(dir.path(), &[], command);
    });
    row("A command reads its stdin, closes its pipes, is killed, or its child crashes", times);
}

/// What an extension does once it has registered: a shell script; and whether that is the end of it.
const BAD: [(&str, bool); 8] = [
    ("exit 3", true),
    ("kill -SEGV $$", true),
    ("exec <&- >&-; sleep 1000", true),
    ("trap '' TERM HUP; while :; do sleep 1000; done", false),
    ("(trap '' TERM HUP; exec sleep 1000) & exit 0", true),
    ("setsid sleep 1000 & sleep 1000", false),
    ("while :; do echo babble; done", true),
    ("yes | tr -d '\\n'", true),
];

fn extended(dialect: Dialect, body: &str) -> Server {
    let dir = place(&json!([{ "repeat": true, "say": [{ "text": "An answer." }] }]));
    let path = dir.path().join("bad");
    fs::write(&path, format!("#!/bin/sh\nread -r hello\necho '{{\"type\":\"register\"}}'\n{body}\n"))
        .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    start(dialect, dir, &["-e", "./bad"])
}

#[test]
fn extension_that_fails_leaves_prompts_answered() {
    let times = at_once(sample(pairs(&DIALECTS, &BAD), 3), |(dialect, (body, ends))| {
        let what = format!("{dialect}: {body}");
        let mut server = extended(dialect, body);
        let mut told = false;
        for _ in 0..2 {
            let frames = run(&mut server, "Hello?");
            let answered = |frame: &Value| frame["message"]["content"][0]["text"] == "An answer.";
            assert!(frames.iter().any(answered), "{what}: {frames:?}");
            told |= frames.iter().any(|frame| frame["type"] == "extension_error");
        }
        if ends && !told {
            server.until_type("extension_error");
        }
        server.signal(Signal::TERM);
        let ended = server.ends();
        assert_eq!((ended.status.code(), ended.stderr.as_str()), (Some(143), ""), "{what}");
        assert_tidy(ended.dir.path(), &[], &what);
    });
    row(
        "An extension crashes, closes its pipes, hangs, ignores TERM, leaves children behind, writes garbage or a line without end",
        times,
    );
}

#[test]
fn killed_server_leaves_no_command_running() {
    let ways = ["bash", "prompt"];
    let times = STAYING.len()
        * at_once(sample(pairs(&DIALECTS, &ways), 4), |(dialect, way)| {
            for command in STAYING {
                let turns = json!([{ "repeat": true, "say": [{ "tool": "bash", "arguments": { "command": command } }] }]);
                let mut server = serving(dialect, &turns, &["--no-session"]);
                server.send(json!({ "type": way, "command": command, "message": "go?" }));
                server.awaits("begun");
                server.signal(Signal::KILL);
                let what = format!("{dialect}, {way}: {command} has ended");
                eventually(&what, || processes_of(server.dir.path()).is_empty());
            }
        });
    row("The server itself is killed with KILL while a command runs that does not end by itself", times);
}

#[test]
fn server_killed_while_starting_leaves_nothing() {
    let times = at_once(sample(0..32, 4), |_| {
        let mut server = serving(Pi, &json!([]), &["--no-session"]);
        let command = "trap '' TERM; touch begun; while :; do sleep 1000; done";
        for _ in 0..8 {
            server.send(json!({ "type": "bash", "command": command }));
        }
        // The others are being started then.
        server.awaits("begun");
        server.signal(Signal::KILL);
        eventually("all have ended", || processes_of(server.dir.path()).is_empty());
    });
    row("The server itself is killed with KILL while it starts commands", times);
}

#[cfg(feature = "acp")]
#[test]
fn killed_acp_leaves_no_command_running() {
    use std::{io::Write as _, process::Stdio};
    let own = |script: &str| vec!["acp".to_owned(), "--model".to_owned(), format!("scripted/{script}")];
    let foreign = |script: &str| {
        let agent =
            ["acp", "--agent", "--dialect", "pi", "--", binary().to_str().unwrap(), "serve", "--no-session"];
        [agent.map(str::to_owned).to_vec(), own(script)[1..].to_vec()].concat()
    };
    for is_own in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let run = "trap '' TERM HUP; touch begun; while :; do sleep 1000; done";
        let turns = json!({ "turns": [{ "repeat": true, "say": [{ "tool": "bash", "arguments": { "command": run } }] }] });
        let script = dir.path().join("script.json");
        fs::write(&script, turns.to_string()).unwrap();
        let mut command = command(binary(), dir.path());
        let script = script.to_str().unwrap();
        command
            .args(if is_own { own(script) } else { foreign(script) })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut agent = command.spawn().unwrap();
        let mut stdin = agent.stdin.take().unwrap();
        let mut stdout = BufReader::new(agent.stdout.take().unwrap());
        let mut request = |method: &str, params: Value| {
            writeln!(
                stdin,
                "{}",
                json!({ "jsonrpc": "2.0", "id": method, "method": method, "params": params })
            )
            .unwrap();
        };
        let mut answer = |method: &str| loop {
            let mut line = String::new();
            assert_ne!(stdout.read_line(&mut line).unwrap(), 0, "it ended before {method}");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == method {
                return message["result"].clone();
            }
        };
        request("initialize", json!({ "protocolVersion": 1 }));
        answer("initialize");
        request("session/new", json!({ "cwd": dir.path(), "mcpServers": [] }));
        let session = answer("session/new")["sessionId"].clone();
        request(
            "session/prompt",
            json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go?" }] }),
        );
        eventually("the command runs", || dir.path().join("begun").exists());
        agent.kill().unwrap();
        agent.wait().unwrap();
        eventually("the command has ended", || processes_of(dir.path()).is_empty());
    }
}
