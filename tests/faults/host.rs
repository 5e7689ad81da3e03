//! Hosts that go away, do not read, or write what nobody should: the server goes on, or ends and leaves nothing behind.

use crate::{
    serve_support::{Server, at_once, binary, command, eventually, of_type, pairs, processes_of, sample},
    states::{DIALECTS, State, assert_tidy, assert_whole, greeted, last, place, serving, start},
    table::row,
};
use pi_rpc::protocol::Dialect::{Pi1, Xcsh};
use serde_json::{Value, json};
use std::path::Path;

/// The most memory that a server may take here, in MiB.
const MODEST: u64 = 100;

#[test]
fn killed_host_takes_the_server_along() {
    let cases = pairs(&pairs(&State::ALL, &DIALECTS), &[true, false]);
    let times = at_once(sample(cases, 5), |((state, dialect), stdin_first)| {
        let what = format!("{state:?}, {dialect}, stdin first: {stdin_first}");
        let mut server = state.server(dialect);
        if stdin_first {
            server.close_stdin();
        }
        server.close_stdout();
        server.close_stdin();
        let ended = server.ends();
        assert!(matches!(ended.status.code(), Some(0 | 1)), "{what}: {}", ended.status);
        assert_tidy(ended.dir.path(), &ended.frames, &what);
    });
    row("The host is killed, in nine states and three dialects", times);
}

#[test]
fn closed_stdout_ends_the_server() {
    let states: Vec<State> = State::busy().collect();
    let busy = at_once(sample(pairs(&states, &DIALECTS), 2), |(state, dialect)| {
        let what = format!("{state:?}, {dialect}");
        let mut server = state.server(dialect);
        server.close_stdout();
        let ended = server.ends();
        assert_eq!(ended.status.code(), Some(1), "{what}: {}", ended.stderr);
        assert_tidy(ended.dir.path(), &ended.frames, &what);
    });
    for dialect in DIALECTS {
        let mut server = State::Idle.server(dialect);
        server.close_stdout();
        // Where nothing goes on, it is noticed by the next answer; by a later one if another test starts a process just
        // then, which has all that we have for a moment.
        eventually("the server ends", || !server.try_send(json!({ "type": "get_state" })));
        assert_eq!(server.ends().status.code(), Some(1), "{dialect}");
    }
    let times = busy + DIALECTS.len();
    row("stdout is closed and stdin is not, in nine states and three dialects", times);
}

/// In `pi` it is finished, which `tests/serve` shows.
#[test]
fn end_of_input_ends_outstanding_work() {
    // An extension that loads is waited for, and in `pi-1` a command is.
    let is_ended = |&(state, dialect): &(State, _)| match state {
        State::Loading => false,
        State::Bash | State::Unread => dialect == Xcsh,
        _ => true,
    };
    let cases = pairs(&State::ALL, &[Pi1, Xcsh]).into_iter().filter(is_ended);
    let times = at_once(sample(cases, 3), |(state, dialect)| {
        let what = format!("{state:?}, {dialect}");
        let mut server = state.server(dialect);
        server.close_stdin();
        let ended = server.ends();
        assert_eq!(ended.status.code(), Some(0), "{what}: {}", ended.stderr);
        assert_eq!(of_type(&ended.frames, "agent_end").len(), 0, "{what}");
        assert_tidy(ended.dir.path(), &ended.frames, &what);
    });
    row("stdin ends while something goes on, in `pi-1` and `xcsh`", times);
}

#[test]
fn unterminated_last_line_is_served() {
    let line = r#"{"id":"1","type":"get_state"}"#;
    // The whole line is in each sample.
    let lengths: Vec<usize> = (0..=line.len()).rev().collect();
    let times = at_once(sample(pairs(&DIALECTS, &lengths), 10), |(dialect, length)| {
        let mut server = start(dialect, place(&json!([])), &[]);
        server.send_bytes(&line.as_bytes()[..length]);
        server.close_stdin();
        greeted(&mut server);
        let ended = server.ends();
        let said: Vec<_> = ended.frames.iter().map(|it| (&it["command"], &it["success"])).collect();
        let (parse, state) = (json!("parse"), json!("get_state"));
        let expected = match length {
            0 => Vec::new(),
            _ if length == line.len() => vec![(&state, &Value::Bool(true))],
            _ => vec![(&parse, &Value::Bool(false))],
        };
        assert_eq!((ended.status.code(), said), (Some(0), expected), "{dialect}: {}", &line[..length]);
        assert_eq!(ended.stderr, "");
    });
    row("stdin ends at each byte of a command", times);
}

#[test]
fn closed_stderr_loses_warnings_only() {
    let mut times = 0;
    // The one has no stderr at all, the other one that nobody has the other end of.
    for without in ["2>&-", "2> >(:); wait $!"] {
        for dialect in DIALECTS {
            let dir = place(&json!([{ "repeat": true, "say": [{ "text": "An answer." }] }]));
            let mut command = command(Path::new("bash"), dir.path());
            command.args(["-c", &format!("exec {without}; exec \"$@\""), "bash"]).arg(binary());
            command.args(["serve", "--model", "scripted/script.json", "--no-session"]);
            command.args(["--dialect", dialect.as_str()]);
            let mut server = Server::start(dialect, dir, command);
            greeted(&mut server);
            for _ in 0..3 {
                // It is warned of.
                server.send(json!({ "type": "extension_ui_response", "id": 5 }));
                assert_eq!(server.ask("1", json!({ "type": "get_state" }))["success"], true);
                times += 1;
            }
            server.run("Hello?");
            server.close_stdin();
            assert_eq!(server.ends().status.code(), Some(0), "{dialect}");
        }
    }
    row("A warning, with stderr closed", times);
}

#[test]
fn hostile_lines_are_answered_without_side_effects() {
    let limit = 10_000;
    let padded = |length: usize| {
        let (head, tail) = (r#"{"id":"p","type":"get_state","pad":""#, r#""}"#);
        format!("{head}{}{tail}", "x".repeat(length - head.len() - tail.len())).into_bytes()
    };
    let served = |prefix: &str, suffix: &str| {
        format!(r#"{prefix}{{"id":"p","type":"get_state"}}{suffix}"#).into_bytes()
    };
    let deep = |open: &str, close: &str| {
        format!(r#"{{"id":"p","type":"get_state","x":{}{}}}"#, open.repeat(1000), close.repeat(1000))
    };
    let lines = |dialect| -> [(Vec<u8>, bool); 14] {
        [
            (b"no JSON".to_vec(), false),
            (vec![0], false),
            (vec![0; 5000], false),
            (b"\xff\xfe\xfd".to_vec(), false),
            (b"{\"type\":\"prompt\",\"message\":\"\xc3\x28\"}".to_vec(), false),
            // As in each original.
            (served("\u{feff}", ""), dialect == Xcsh),
            (served("", "\r"), true),
            (served(" \t", " \t\r"), true),
            (served("", "\0"), false),
            (deep("[", "]").into_bytes(), false),
            (deep("{\"a\":", "1}").into_bytes(), false),
            (padded(limit), true),
            (padded(limit + 1), false),
            (padded(limit * 100), false),
        ]
    };
    let mut times = 0;
    for dialect in DIALECTS {
        let mut server = serving(dialect, &json!([]), &["--max-frame", &limit.to_string()]);
        for (line, is_served) in &lines(dialect) {
            server.send_bytes(&[line, &b"\n"[..]].concat());
            let answer = server.next();
            let shown = String::from_utf8_lossy(&line[..line.len().min(60)]);
            assert_eq!(answer["success"], *is_served, "{dialect}: {shown}: {answer}");
            assert!(*is_served || answer["error"].as_str().is_some_and(|it| !it.is_empty()), "{answer}");
            assert_eq!(
                server.ask("1", json!({ "type": "get_state" }))["success"],
                true,
                "{dialect}: {shown}"
            );
            times += 1;
        }
        server.finishes();
    }
    row(
        "Garbage, NULs, a BOM, CRLF, broken UTF-8, 1000 levels of JSON, a line of the limit, one more, a hundred times it",
        times,
    );
}

#[test]
fn blocked_host_delays_run_without_memory() {
    let mut times = 0;
    for dialect in DIALECTS {
        // More than may wait: where each update repeats the message, that are fewer.
        let deltas = if dialect == Pi1 { 20_000 } else { 3000 };
        let turns = json!([{ "say": [{ "text": "0123456", "deltas": deltas, "size": 5 }] }]);
        let mut server = serving(dialect, &turns, &[]);
        server.send(json!({ "type": "prompt", "message": "go" }));
        server.stands_still();
        // Commands are taken all the same.
        server.send_bytes(&b"{\"type\":\"get_state\"}\n".repeat(100));
        server.stands_still();
        let (mut answers, mut updates, mut text, mut ended) = (0, 0, String::new(), false);
        while !ended || answers < 100 {
            let frame = server.next();
            answers += usize::from(frame["command"] == "get_state");
            let delta = frame["assistantMessageEvent"]["delta"].as_str().unwrap_or_default();
            updates += usize::from(!delta.is_empty());
            text += delta;
            ended |= frame["type"] == last(dialect);
        }
        assert_eq!(text, "0123456".chars().cycle().take(5 * deltas).collect::<String>(), "{dialect}");
        assert!(updates < deltas, "{dialect}: {updates} updates");
        assert!(server.peak_mib() < MODEST, "{dialect}: {} MiB", server.peak_mib());
        times += 1;
        server.finishes();
    }
    row("The host stops reading while a run streams", times);
}

#[test]
fn killed_server_leaves_file_whole() {
    let mut times = 0;
    for dialect in DIALECTS {
        let mut server = State::Tool.server(dialect);
        server.child.kill().unwrap();
        server.child.wait().unwrap();
        eventually("its tool has ended", || processes_of(server.dir.path()).is_empty());
        assert_whole(server.dir.path(), dialect.as_str());
        times += 1;
    }
    row("The server itself is killed with KILL while a tool runs", times);
}
