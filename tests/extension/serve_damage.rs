//! Extensions that crash, hang or babble: the host is told, and the session goes on.

use crate::{
    extended_support::{
        assert_goes_on, calling, error, executable, extended, notice, outcome, script, started,
    },
    serve_support::{Server, binary, command, eventually, processes_of},
};
use pi_rpc::protocol::Dialect::Pi;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs::File,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

/// Less than any deadline that is not meant.
const SOON: Duration = Duration::from_secs(8);

const STRAYED: &str = "16 lines were no frames; the extension was ended";

fn turns() -> Value {
    calling("bash", json!({"command": "echo by bash"}))
}

/// The frames of an extension's trouble, which come first; then the session goes on and ends in good order.
#[track_caller]
fn assert_told(mut server: Server, wanted: &[(&str, &str)]) {
    for (event, text) in wanted {
        assert_eq!(server.next(), error(&server, "bad", event, text));
    }
    assert_goes_on(&mut server);
    server.close_stdin();
    let ended = server.ends_within(SOON);
    assert_eq!((ended.status.code(), ended.frames, ended.stderr.as_str()), (Some(0), vec![], ""));
}

#[test]
fn killed_server_leaves_no_extension_running() {
    let body = "trap '' TERM HUP; touch begun; while :; do sleep 1000; done";
    let server = extended(Pi, &turns(), &[("stubborn", body)]);
    server.awaits("begun");
    server.signal(Signal::KILL);
    eventually("it has ended", || processes_of(server.dir.path()).is_empty());
}

fn gone(reason: &str) -> String {
    format!("The extension has ended and is not started again: {reason}")
}

#[test]
fn exit_before_registration_is_reported_once() {
    let cases = [
        ("exit 3", "it exited with status 3"),
        ("echo 'no module' >&2; exit 1", "it exited with status 1: no module"),
        (
            "printf 'Traceback:\\n\\n  line 1\\033[2J\\nError: no module\\n' >&2; exit 1",
            "it exited with status 1: Traceback:\n  line 1\\u{1b}[2J\nError: no module",
        ),
        ("echo why >&2; exec >&-; exec sleep 1000", "it closed its stdout: why"),
        ("kill -SEGV $$", "it was killed by signal 11"),
        ("exec >&-; exec sleep 1000", "it closed its stdout"),
        ("tr '\\0' x < /dev/zero", "it wrote a line of more than 8388608 bytes"),
    ];
    for (body, why) in cases {
        assert_told(extended(Pi, &turns(), &[("bad", body)]), &[("end", &gone(why))]);
    }
}

#[test]
fn unstartable_extension_is_reported() {
    for (content, why) in [
        (None, "it cannot be started: there is no such file"),
        (
            Some("#!/no/such/interpreter\n"),
            "it cannot be started: its interpreter is missing: /no/such/interpreter",
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bad").to_str().unwrap().to_owned();
        content.map(|content| executable(dir.path(), "bad", content));
        assert_told(started(Pi, dir, &turns(), &[path]), &[("end", &gone(why))]);
    }
}

#[test]
fn garbage_is_reported_once_then_fatal() {
    let babble = "A line is no frame: expected value at column 1: babble";
    let wanted = [("frame", babble), ("frame", STRAYED), ("end", &gone("it was stopped"))];
    assert_told(extended(Pi, &turns(), &[("bad", "while :; do echo babble; done")]), &wanted);
}

#[test]
fn random_bytes_are_garbage() {
    let server = &mut extended(Pi, &turns(), &[("bad", "exec cat /dev/urandom")]);
    let frames = server.until(|frame| frame["event"] == "end");
    let path = server.path("bad").display().to_string();
    assert!(frames.iter().all(|frame| frame["extensionPath"] == path), "{frames:?}");
    assert_eq!(frames.last().unwrap(), &error(server, "bad", "end", &gone("it was stopped")));
    assert_goes_on(server);
}

#[test]
fn frame_flood_blocks_nothing_and_stays_small() {
    // 100 MB of frames that nobody asked for, of 10 kB each, and of 50 bytes without end.
    let body = r#"
        say '{"type":"register"}'
        x=$(head -c 10000 /dev/zero | tr '\0' x)
        yes '{"type":"accept","id":"'$x'"}' | head -n 10000
        notify flooded
        exec yes '{"type":"ui_cancel","id":"none"}'"#;
    let mut server = extended(Pi, &turns(), &[("bad", body)]);
    assert_goes_on(&mut server);
    server.until(|frame| notice(frame) == Some("flooded"));
    assert_goes_on(&mut server);
    assert_eq!(outcome(&server.run("go")), ("by bash\n", false));
    let peak = server.peak_mib();
    assert!(peak < 120, "{peak} MiB");
    server.close_stdin();
    assert_eq!(server.ends_within(SOON).status.code(), Some(0));
}

#[test]
fn flood_before_registration_is_held_back() {
    let flood = r#"
        say '{"type":"register"}'
        x=$(head -c 10000 /dev/zero | tr '\0' x)
        > begun
        yes '{"type":"accept","id":"'$x'"}' | head -n 5000
        notify flooded; await nothing"#;
    let slow = "while ! [ -e go ]; do sleep 0.01; done; say '{\"type\":\"register\"}'; await nothing";
    let mut server = extended(Pi, &turns(), &[("bad", flood), ("slow", slow)]);
    server.awaits("begun");
    server.stands_still();
    let peak = server.peak_mib();
    assert!(peak < 40, "{peak} MiB");
    std::fs::write(server.path("go"), "").unwrap();
    server.until(|frame| notice(frame) == Some("flooded"));
    assert_told(server, &[]);
}

#[test]
fn dialog_flood_ends_its_extension() {
    let body = r#"
        say '{"type":"register"}'
        exec yes '{"type":"ui","request":{"type":"extension_ui_request","id":"1","method":"confirm","title":"T","message":"M"}}'"#;
    let mut server = extended(Pi, &turns(), &[("bad", body)]);
    let crowded = "A line is no frame: more than 100 dialogs are open";
    let wanted = [("frame", crowded), ("frame", STRAYED), ("end", "The extension has ended: it was stopped")];
    let wanted = wanted.map(|(event, text)| error(&server, "bad", event, text));
    for _ in 0..3 {
        let frames = server.until(|frame| frame["event"] == "end");
        let (dialogs, errors) = frames.split_at(frames.len() - 3);
        assert!(dialogs.iter().all(|frame| frame["method"] == "confirm"), "{dialogs:?}");
        assert_eq!((dialogs.len(), errors), (100, &wanted[..]));
    }
    let last = server.until(|frame| frame["event"] == "end").pop().unwrap();
    assert_eq!(last, error(&server, "bad", "end", &gone("it was stopped")));
    assert_told(server, &[]);
}

#[test]
fn tool_with_taken_name_is_skipped() {
    let first = r#"
        say '{"type":"register","tools":[{"name":"bash","description":"First.","parameters":{}}]}'
        while await tool_call; do
          say '{"type":"tool_result","id":"'$id'","result":{"content":[{"type":"text","text":"first"}]}}'
        done"#;
    let second = r#"
        say '{"type":"register","tools":[{"name":"bash","description":"Second.","parameters":{}}]}'
        await tool_call
        notify "asked after all"
        await nothing"#;
    let mut server = extended(Pi, &turns(), &[("first", first), ("bad", second)]);
    let conflict = "Tool \"bash\" conflicts with an existing tool";
    assert_eq!(server.next(), error(&server, "bad", "register", conflict));
    assert_eq!(outcome(&server.run("go")), ("first", false));
    assert_told(server, &[]);
}

#[test]
fn invalid_result_fails_its_call() {
    let body = r#"
        say '{"type":"register","tools":[{"name":"mine","description":"Mine.","parameters":{}}]}'
        await tool_call
        say '{"type":"tool_result","id":"'$id'","result":{"content":[{"type":"text","text":5}]}}'
        await nothing"#;
    let mut server = extended(Pi, &calling("mine", json!({})), &[("bad", body)]);
    let frames = server.run("go");
    let (text, is_error) = outcome(&frames);
    assert!(is_error && text.contains("invalid type: integer `5`, expected a string"), "{text}");
    assert_told(server, &[]);
}

#[test]
fn unread_64_mib_end_the_extension() {
    let body = "say '{\"type\":\"register\",\"events\":[\"*\"]}'\nexec sleep 1000";
    let mut server = extended(Pi, &turns(), &[("bad", body)]);
    let full = "The extension has ended: it does not read: more than 67108864 bytes are pending";
    let full = error(&server, "bad", "end", full);
    // Told several times in each run.
    let long = "x".repeat(20 << 20);
    let mut told = Vec::new();
    // What is started anew hears the rest of its run at most: that is less.
    while told.is_empty() {
        let frames = server.run(&long);
        told.extend(frames.into_iter().filter(|frame| frame["type"] == "extension_error"));
    }
    assert_eq!(told, [full]);
    assert_goes_on(&mut server);
}

#[test]
fn child_holding_pipes_ends_with_extension() {
    let body = r#"
        (trap '' TERM HUP; exec sleep 1000) &
        say '{"type":"register"}'
        notify here
        exit 5"#;
    let mut server = extended(Pi, &turns(), &[("bad", body)]);
    for _ in 0..3 {
        assert_eq!(notice(&server.next()), Some("here"));
        assert_eq!(
            server.next(),
            error(&server, "bad", "end", "The extension has ended: it exited with status 5")
        );
    }
    assert_eq!(notice(&server.next()), Some("here"));
    assert_eq!(server.next(), error(&server, "bad", "end", &gone("it exited with status 5")));
    let left: Vec<_> =
        processes_of(server.dir.path()).into_iter().filter(|one| one.contains("sleep")).collect();
    assert_eq!(left, Vec::<String>::new());
    assert_told(server, &[]);
}

#[test]
fn large_stderr_output_is_ignored() {
    let body = r#"
        say '{"type":"register"}'
        yes 'a warning that is of no use' | head -c 100000000 >&2
        notify done
        await nothing"#;
    let mut server = extended(Pi, &turns(), &[("bad", body)]);
    assert_goes_on(&mut server);
    server.until(|frame| notice(frame) == Some("done"));
    let peak = server.peak_mib();
    assert!(peak < 120, "{peak} MiB");
    assert_told(server, &[]);
}

#[test]
fn unread_stderr_blocks_nothing() {
    let body = r#"
        say '{"type":"register"}'
        yes 'something to say' | head -n 100000 >&2
        notify said
        await nothing"#;
    let dir = tempfile::tempdir().unwrap();
    let path = script(dir.path(), "bad", body);
    let fifo = dir.path().join("stderr");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // Open at both ends, so that nobody waits for the other; never read.
    let held = File::options().read(true).write(true).open(&fifo).unwrap();
    std::fs::write(dir.path().join("script.json"), json!({ "turns": turns() }).to_string()).unwrap();
    let mut line = command(Path::new("sh"), dir.path());
    line.args(["-c", "exec \"$0\" \"$@\" 2> stderr"]).arg(binary()).env("RUST_LOG", "info");
    line.args(["serve", "--no-session", "--model", "scripted/script.json", "-e", &path]);
    let mut server = Server::start(Pi, dir, line);
    server.until(|frame| notice(frame) == Some("said"));
    assert_told(server, &[]);
    drop(held);
}

#[test]
fn unregistered_extension_ends_after_ten_seconds() {
    let body = "sleep 1000 & wait";
    let mut server = extended(
        Pi,
        &turns(),
        &[("bad", body), ("good", "say '{\"type\":\"register\"}'; notify hi; await nothing")],
    );
    let begun = Instant::now();
    server.send(json!({"id": "1", "type": "get_state"}));
    assert_eq!(
        server.next(),
        error(&server, "bad", "start", "It did not register within 10 s and was ended")
    );
    assert!((9..20).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    let mut frames = [server.next(), server.next(), server.next()];
    frames.sort_by_key(|frame| frame["type"].to_string());
    assert_eq!(frames[0], error(&server, "bad", "end", &gone("it was stopped")));
    assert_eq!((notice(&frames[1]), &frames[2]["id"]), (Some("hi"), &json!("1")));
    assert_told(server, &[]);
}

#[test]
fn signal_before_registration_ends_server_immediately() {
    let server = extended(Pi, &turns(), &[("bad", "> begun\ntrap '' TERM\nsleep 1000 & wait\nsleep 1000")]);
    server.awaits("begun");
    server.signal(rustix::process::Signal::TERM);
    let ended = server.ends_within(SOON);
    assert_eq!((ended.status.code(), ended.frames, ended.stderr.as_str()), (Some(143), vec![], ""));
}

#[test]
fn bad_extensions_do_not_affect_good_one() {
    let dir = tempfile::tempdir().unwrap();
    let good = r#"
        say '{"type":"register","tools":[{"name":"slow","description":"Takes its time.","parameters":{}}]}'
        while await tool_call; do
          say '{"type":"tool_result","id":"'$id'","result":{"content":[{"type":"text","text":"mine"}]}}'
        done"#;
    let scripts = [
        ("a", "exit 1"),
        ("b", "while :; do echo babble; done"),
        ("c", "say '{\"type\":\"register\"}'\nexec yes '{\"type\":\"ui_cancel\",\"id\":\"none\"}'"),
        ("d", "say '{\"type\":\"register\"}'\nexec tr '\\0' x < /dev/zero"),
        ("e", good),
        ("f", "say '{\"type\":\"register\",\"events\":[\"*\"]}'\nexec sleep 1000"),
    ];
    let paths = scripts.map(|(name, body)| script(dir.path(), name, body));
    let mut server = started(Pi, dir, &calling("slow", json!({})), &paths);
    for _ in 0..5 {
        assert_eq!(outcome(&server.run("go")), ("mine", false));
    }
    server.close_stdin();
    assert_eq!(server.ends_within(SOON).status.code(), Some(0));
}
