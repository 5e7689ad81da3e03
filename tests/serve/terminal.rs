//! What a person sees who starts a program at a terminal.

use crate::serve_support::{binary, command, shown, terminal};
use std::{
    io::Write as _,
    process::{Command, Stdio},
};
use tempfile::TempDir;

fn at_terminal(dir: &TempDir, arguments: &[&str]) -> Command {
    let mut command = command(binary(), dir.path());
    command.args(arguments).env("TERM", "xterm");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn server_names_itself_to_a_person() {
    let dir = tempfile::tempdir().unwrap();
    let (mut person, inner) = terminal();
    let mut server = at_terminal(&dir, &["serve", "--no-session", "--model", "scripted/demo"]);
    let server = server.stdin(inner).spawn().unwrap();
    // Ctrl-D.
    person.write_all(b"\x04").unwrap();
    let output = server.wait_with_output().unwrap();
    let line = format!(
        "pi-rpc {}: serving the protocol of pi on stdin and stdout, one JSON object a line, such as \
         {{\"type\":\"get_state\"}}; Ctrl-D ends it. For a prompt and its answer: pi-rpc -p PROMPT; to type commands: \
         pi-rpc repl\n",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!((output.status.code(), String::from_utf8(output.stderr).unwrap()), (Some(0), line));
    assert_eq!(output.stdout, b"");
}

#[test]
fn tap_shows_remarks_without_escapes() {
    let dir = tempfile::tempdir().unwrap();
    let arguments = ["tap", "--", "sh", "-c", r"printf '\033[2Jmor\303' >&2; printf '\244\n\tdone\007' >&2"];
    let (person, inner) = terminal();
    let mut tap = at_terminal(&dir, &arguments);
    let mut child = tap.stderr(inner).spawn().unwrap();
    drop(tap);
    let seen = shown(person);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let remarks = "\\u{1b}[2Jmorä\n\tdone\\u{7}";
    assert!(seen.starts_with(remarks) && !seen.contains(['\u{1b}', '\u{7}']), "{seen:?}");
    // A file gets what was written.
    let output = at_terminal(&dir, &arguments).output().unwrap();
    assert!(output.stderr.starts_with("\u{1b}[2Jmorä\n\tdone\u{7}".as_bytes()), "{output:?}");
}

#[test]
fn conform_shows_progress_to_a_person() {
    let dir = tempfile::tempdir().unwrap();
    let (person, inner) = terminal();
    let mut conform = at_terminal(
        &dir,
        &["conform", "--scenario", "prompt-plain", "--", "sh", "-c", r#"echo '{"type":"turn_end"}'"#],
    );
    let mut child = conform.stderr(inner).spawn().unwrap();
    drop(conform);
    let seen = shown(person);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    // Before the first has ended, which may be long; how often it is drawn again depends on the machine.
    assert!(seen.contains(" 0/1 "), "{seen:?}");
}
