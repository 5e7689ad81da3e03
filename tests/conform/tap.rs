//! `pi-rpc tap`: what passes through it, and how it ends.

use crate::serve_support::{Server, bash_turns, binary, command, eventually, processes_of, thorough};
use pi_rpc::protocol::Dialect::Pi;
use proptest::{collection::vec, prelude::*};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process::{Child, Command, Output, Stdio},
    thread,
};
use tempfile::TempDir;

/// A tap with these options in front of a server.
fn tap(dir: &Path, options: &[&str], server: &[&str]) -> Command {
    let mut tap = command(binary(), dir);
    tap.env_remove("PI_RPC_DIALECT").arg("tap").args(options).arg("--").args(server);
    tap.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    tap
}

/// A tap in front of a shell that runs `script`.
fn shell(script: &str) -> (TempDir, Child) {
    let dir = tempfile::tempdir().unwrap();
    let child = tap(dir.path(), &[], &["sh", "-c", script]).spawn().unwrap();
    (dir, child)
}

/// What comes out when `chunks` go in, each in a write of its own.
fn passed(mut tap: Command, chunks: Vec<Vec<u8>>) -> Output {
    let mut child = tap.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writing = thread::spawn(move || chunks.iter().for_each(|chunk| stdin.write_all(chunk).unwrap()));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap();
    output
}

/// The records of `trace.jsonl`, from what follows `dir` on.
fn recorded(dir: &Path) -> Vec<String> {
    let trace = std::fs::read_to_string(dir.join("trace.jsonl")).unwrap();
    trace.lines().map(|line| line.split_once(",\"dir\":").unwrap().1.to_owned()).collect()
}

/// Reads as many bytes as `expected` has, which are those.
#[track_caller]
fn reads(child: &mut Child, expected: &str) {
    let mut read = vec![0; expected.len()];
    child.stdout.as_mut().unwrap().read_exact(&mut read).unwrap();
    assert_eq!(String::from_utf8_lossy(&read), expected);
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if thorough() { 24 } else { 6 }))]

    #[test]
    fn any_bytes_pass_unchanged(chunks in vec(chunk(), 0..12)) {
        let dir = tempfile::tempdir().unwrap();
        let output = passed(tap(dir.path(), &["--record", "trace.jsonl"], &["cat"]), chunks.clone());
        prop_assert_eq!(output.status.code(), Some(0));
        prop_assert_eq!(output.stdout, chunks.concat());
        prop_assert!(dir.path().join("trace.jsonl").exists());
    }
}

/// Garbage, text with awkward characters, frames, and blocks longer than a pipe.
fn chunk() -> impl Strategy<Value = Vec<u8>> {
    let frame = json!({"type": "get_state", "id": "\u{2028}é"}).to_string();
    prop_oneof![
        vec(any::<u8>(), 0..200),
        "[\n\ra\u{2028}\u{1f600}\\x00]{0,40}".prop_map(String::into_bytes),
        Just(format!("{frame}\n").into_bytes()),
        (any::<u8>(), 60_000..200_000_usize).prop_map(|(byte, length)| vec![byte; length]),
    ]
}

#[test]
fn command_spelled_as_hosts_do_is_tapped() {
    let dir = tempfile::tempdir().unwrap();
    let server = [binary().to_str().unwrap(), "--mode", "rpc", "--no-session", "--model", "scripted/demo"];
    let version = [binary().to_str().unwrap(), "-v"];
    let output = passed(tap(dir.path(), &["--record", "trace.jsonl"], &server), vec![STATE.into()]);
    let first = r#"{"id":"s","type":"response","command":"get_state","success":true,"#;
    assert!(output.stdout.starts_with(first.as_bytes()), "{}", String::from_utf8_lossy(&output.stdout));
    let recorded = recorded(dir.path());
    let argv = format!(r#""meta","frame":{{"event":"spawn","argv":{}"#, json!(server));
    assert!(recorded[0].starts_with(&argv), "{recorded:?}");
    assert_eq!(recorded.len(), 5, "{recorded:?}");
    let output = passed(tap(dir.path(), &["--record", "trace.jsonl"], &version), vec![]);
    assert_eq!(output.stdout, format!("{}\n", env!("CARGO_PKG_VERSION")).as_bytes());
    assert!(std::fs::read_to_string(dir.path().join("trace.jsonl")).unwrap().contains("-v"));
}

const STATE: &[u8] = b"{\"id\":\"s\",\"type\":\"get_state\"}\n";

#[test]
fn part_of_a_line_passes_at_once() {
    let (_dir, mut child) = shell("cat");
    for part in ["{\"type\":", " \"get_", "\u{2028}", "state\"}\r", "\n{"] {
        child.stdin.as_mut().unwrap().write_all(part.as_bytes()).unwrap();
        reads(&mut child, part);
    }
    drop(child.stdin.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn long_line_passes_and_is_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let line = vec![b'x'; 3_000_000];
    // The recording is not waited for without end once the server is gone.
    let server = ["sh", "-c", "cat; until [ -e recorded ]; do sleep 0.01; done"];
    let (trace, recorded) = (dir.path().join("trace.jsonl"), dir.path().join("recorded"));
    let twice = 2 * line.len() as u64;
    let waiting = thread::spawn(move || {
        eventually("it is recorded", || trace.metadata().is_ok_and(|file| file.len() > twice));
        std::fs::write(recorded, "").unwrap();
        std::fs::read_to_string(trace).unwrap()
    });
    let chunks = vec![line.clone(), b"\n".to_vec()];
    let output = passed(tap(dir.path(), &["--record", "trace.jsonl"], &server), chunks);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), line.len() + 1));
    let trace = waiting.join().unwrap();
    let lengths = trace.lines().filter(|text| text.len() > line.len());
    assert_eq!(lengths.count(), 2, "once in and once out");
}

#[test]
fn killed_server_leaves_complete_recording() {
    let dir = tempfile::tempdir().unwrap();
    let server = ["sh", "-c", "printf 'one\\ntw'; kill -KILL $$"];
    let child = tap(dir.path(), &["--record", "trace.jsonl"], &server).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(137), &b"one\ntw"[..]));
    let argv = json!(server);
    let spawn = format!(r#""meta","frame":{{"event":"spawn","argv":{argv},"server":"sh"}}}}"#);
    let exit = r#""meta","frame":{"event":"exit","code":137}}"#;
    let said = [spawn.as_str(), r#""out","raw":"one"}"#, r#""out","raw":"tw"}"#, exit];
    // Whether the end of its own input comes before the server's end is chance.
    let mut recorded = recorded(dir.path());
    recorded.retain(|line| !line.contains("stdin closed"));
    assert_eq!(recorded, said);
}

#[test]
fn invalid_host_lines_are_recorded_unchanged() {
    let dir = tempfile::tempdir().unwrap();
    let input = b"{\"type\": \"abort\"}\nbad\n\n\xff\n{}".to_vec();
    passed(tap(dir.path(), &["--record", "trace.jsonl"], &["sh", "-c", "cat > copy"]), vec![input.clone()]);
    assert_eq!(std::fs::read(dir.path().join("copy")).unwrap(), input);
    let said = [
        r#""in","frame":{"type": "abort"}}"#,
        r#""in","raw":"bad\n"}"#,
        r#""in","raw":"\n"}"#,
        r#""in","raw64":"/wo="}"#,
        r#""in","raw":"{}"}"#,
        r#""meta","frame":{"event":"stdin closed"}}"#,
        r#""meta","frame":{"event":"exit","code":0}}"#,
    ];
    assert_eq!(recorded(dir.path())[1..], said);
}

#[test]
fn the_status_is_that_of_the_server() {
    for (script, status) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143)] {
        let (_dir, child) = shell(script);
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(status), "{script}");
    }
}

#[test]
fn server_that_cannot_start_fails_tap() {
    let dir = tempfile::tempdir().unwrap();
    let output = tap(dir.path(), &[], &["./nothing"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text, "Error: cannot start ./nothing: No such file or directory (os error 2)\n");
}

#[test]
fn signals_reach_the_server_once_each() {
    let heard = "trap 'echo TERM' TERM; trap 'echo INT' INT; trap 'echo HUP; exit 9' HUP; echo ready
        while :; do sleep 0.01; done";
    let dir = tempfile::tempdir().unwrap();
    let mut child = tap(dir.path(), &["--record", "trace.jsonl"], &["sh", "-c", heard]).spawn().unwrap();
    reads(&mut child, "ready\n");
    for (signal, name) in [(Signal::TERM, "TERM\n"), (Signal::INT, "INT\n"), (Signal::HUP, "HUP\n")] {
        send(&child, signal);
        reads(&mut child, name);
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(9), Vec::new()));
    let signals: Vec<String> =
        recorded(dir.path()).into_iter().filter(|said| said.contains("signal")).collect();
    let signal = |number| format!(r#""meta","frame":{{"event":"signal","number":{number}}}}}"#);
    assert_eq!(signals, [15, 2, 1].map(signal));
}

#[test]
fn slow_host_blocks_server_without_loss() {
    let (dir, mut child) = shell("head -c 3000000 /dev/zero; touch written");
    let mut read = vec![0; 1];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut read).unwrap();
    // Three pipes' worth cannot be under way.
    assert!(!dir.path().join("written").exists());
    stdout.read_to_end(&mut read).unwrap();
    assert_eq!((child.wait().unwrap().code(), read.len()), (Some(0), 3_000_000));
}

#[test]
fn closed_host_stdout_breaks_server_pipe() {
    let (_dir, mut child) = shell("exec yes");
    reads(&mut child, "y\n");
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(128 + 13));
}

#[test]
fn closed_host_stdout_ends_silent_server() {
    let dir = tempfile::tempdir().unwrap();
    let turns = json!({ "turns": bash_turns("touch begun; sleep 1000") });
    std::fs::write(dir.path().join("script.json"), turns.to_string()).unwrap();
    let serve = [binary().to_str().unwrap(), "serve", "--no-session", "--model", "scripted/script.json"];
    let tap = tap(dir.path(), &[], &serve);
    let mut server = Server::start(Pi, dir, tap);
    server.send(json!({"type": "prompt", "message": "go"}));
    server.awaits("begun");
    server.close_stdout();
    assert_eq!(server.ends().status.code(), Some(1));
}

#[test]
fn closed_server_stdin_breaks_host_pipe() {
    let (dir, mut child) = shell("exec 0<&-; echo closed; until [ -e go ]; do sleep 0.01; done");
    reads(&mut child, "closed\n");
    let mut stdin = child.stdin.take().unwrap();
    let broken = std::iter::repeat_with(|| stdin.write_all(b"x")).find_map(Result::err).unwrap();
    assert_eq!(broken.kind(), ErrorKind::BrokenPipe);
    std::fs::write(dir.path().join("go"), "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn child_holding_pipe_does_not_hold_tap() {
    let (dir, child) = shell("sleep 1000 2>&- & echo done");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"done\n"[..]));
    let [sleep] = &processes_of(dir.path())[..] else { panic!("the child alone is left") };
    let pid = sleep.split(' ').next().and_then(|pid| pid.parse().ok()).and_then(Pid::from_raw);
    kill_process(pid.unwrap(), Signal::KILL).unwrap();
}

#[test]
fn full_disk_ends_only_the_recording() {
    let dir = tempfile::tempdir().unwrap();
    let output = passed(tap(dir.path(), &["--record", "/dev/full"], &["cat"]), vec![b"one\ntwo\n".to_vec()]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"one\ntwo\n"[..]));
    let told = String::from_utf8(output.stderr).unwrap();
    let first = told.lines().next().unwrap();
    assert_eq!(first, "tap: the recording ends here: No space left on device (os error 28)");
}

#[test]
fn unread_report_blocks_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let _unread = full_pipe(&dir.path().join("report"));
    let mut child = tap(dir.path(), &["--report", "report"], &["seq", "100000"]).spawn().unwrap();
    let mut said = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut said).unwrap();
    assert_eq!(said.iter().filter(|byte| **byte == b'\n').count(), 100_000);
    // It has some patience with its last words, which a signal ends.
    while child.try_wait().unwrap().is_none() {
        send(&child, Signal::TERM);
        thread::yield_now();
    }
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    let early = "tap: the recording and the report are incomplete: writing them took too long\n";
    assert_eq!((output.status.code(), told.as_str()), (Some(0), early));
}

/// A named pipe in which there is no room, with both its ends.
fn full_pipe(path: &Path) -> File {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    let mut pipe = File::options().read(true).write(true).custom_flags(NON_BLOCKING).open(path).unwrap();
    let full = std::iter::repeat_with(|| pipe.write(&[b'x'; 4096])).find_map(Result::err).unwrap();
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    pipe
}

/// Linux's `O_NONBLOCK`.
const NON_BLOCKING: i32 = 0o4000;

#[test]
fn violations_are_reported_and_counted_per_side() {
    let dir = tempfile::tempdir().unwrap();
    let server =
        ["sh", "-c", r#"read line; echo '{"type":"response","id":"2","command":"abort","success":true}'"#];
    let mut child = tap(dir.path(), &["--report", "report.txt"], &server).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"type\":\"abort\",\"id\":\"1\"}\n").unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
    let report = std::fs::read_to_string(dir.path().join("report.txt")).unwrap();
    let first = report.lines().nth(1).unwrap();
    let expected = "tap: MUST resp-known-id: record 3, response(abort ok) in idle: expected ";
    assert!(first.starts_with(expected), "{report}");
    let last = report.lines().last().unwrap();
    let of_server = last.strip_prefix("tap: violations of the server: ").unwrap();
    let (of_server, rest) = of_server.split_once("; of the host: nothing; ").unwrap();
    assert!(of_server.ends_with(" MUST"), "{report}");
    assert!(rest.ends_with(" rules exercised"), "{report}");
}

#[test]
fn dialect_is_that_of_the_frames() {
    let dir = tempfile::tempdir().unwrap();
    let frame = r#"{"type":"message_start","message":{"role":"system","content":"Be brief.","timestamp":1}}"#;
    for (script, expected) in [
        (format!("echo '{frame}'"), "tap: dialect pi-1, not pi: by record 2, a `message_start`"),
        ("true".to_owned(), "tap: dialect pi: no frame tells; name another with --dialect"),
    ] {
        let mut child = tap(dir.path(), &[], &["sh", "-c", &script]).spawn().unwrap();
        // Held open: the end of the input would be a record, before or behind the frame.
        let stdin = child.stdin.take();
        let output = child.wait_with_output().unwrap();
        drop(stdin);
        assert_eq!(String::from_utf8(output.stderr).unwrap().lines().next(), Some(expected));
    }
    let output = tap(dir.path(), &["--dialect", "pi"], &["true"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("tap: violations of the server: "), "{told}");
}

#[test]
fn unknown_tier_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let output = tap(dir.path(), &["--tier", "nonsense"], &["true"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("expected must, should or observed"), "{told}");
}
