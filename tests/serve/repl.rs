//! `pi-rpc repl` at a terminal: what a person types and sees.

use crate::serve_support::{binary, command, terminal};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    termios::{Winsize, tcsetwinsize},
};
use std::{
    fs::{self, File},
    io::{Read as _, Write as _},
    num::NonZero,
    os::unix::fs::PermissionsExt as _,
    process::Child,
};
use tempfile::TempDir;

const ROWS: NonZero<u16> = NonZero::new(50).unwrap();
const COLUMNS: NonZero<u16> = NonZero::new(120).unwrap();

/// A person at a terminal where the program runs.
struct Person {
    outer: File,
    screen: vt100::Parser,
    /// Everything that the program has written.
    bytes: Vec<u8>,
    child: Child,
}

impl Person {
    fn start(dir: &TempDir, arguments: &[&str], no_colour: bool) -> Self {
        let (outer, inner) = terminal();
        let size = Winsize { ws_row: ROWS.get(), ws_col: COLUMNS.get(), ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&outer, size).unwrap();
        let mut repl = command(binary(), dir.path());
        repl.arg("repl").args(arguments).env("TERM", "xterm").env("HOME", dir.path());
        repl.env_remove("NO_COLOR").env_remove("XDG_STATE_HOME").env_remove("PI_RPC_DIALECT");
        if no_colour {
            repl.env("NO_COLOR", "1");
        }
        let clone = || inner.try_clone().unwrap();
        repl.stdin(clone()).stdout(clone()).stderr(clone());
        let child = repl.spawn().unwrap();
        Self { outer, screen: vt100::Parser::new(ROWS, COLUMNS, 0), bytes: Vec::new(), child }
    }

    fn types(&mut self, text: &str) {
        self.outer.write_all(text.as_bytes()).unwrap();
    }

    /// Reads until this holds of the screen.
    #[track_caller]
    fn sees(&mut self, what: &str, holds: impl Fn(&str) -> bool) {
        let mut chunk = [0; 4096];
        while !holds(&self.screen.screen().contents()) {
            let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
            let polled = poll(&mut [PollFd::new(&self.outer, PollFlags::IN)], Some(&patience)).unwrap();
            let count = if polled == 0 { 0 } else { self.outer.read(&mut chunk).unwrap_or(0) };
            assert_ne!(count, 0, "{what} is not seen in:\n{}", self.screen.screen().contents());
            self.screen.process(&chunk[..count]);
            self.bytes.extend_from_slice(&chunk[..count]);
        }
    }

    /// Reads until the text is on the screen.
    #[track_caller]
    fn sees_text(&mut self, text: &str) {
        self.sees(text, |screen| screen.contains(text));
    }

    /// Reads until the last line is this prompt with what is typed.
    #[track_caller]
    fn sees_line(&mut self, state: &str, typed: &str) {
        let line = format!("{state:>20}> {typed}").trim_end().to_owned();
        self.sees(&line, |screen| screen.trim_end().lines().last() == Some(&line));
    }

    /// Types Ctrl-D, and waits for the end.
    fn leaves(mut self) -> (Option<i32>, String) {
        self.types("\x04");
        self.sees_text("the server ended with status");
        let status = self.child.wait().unwrap().code();
        (status, self.screen.screen().contents())
    }
}

#[test]
fn commands_are_completed_sent_and_kept() {
    let dir = tempfile::tempdir().unwrap();
    let options = ["--dialect", "pi-1", "--no-session", "--model", "scripted/demo"];
    let mut person = Person::start(&dir, &options, false);
    person.sees_line("idle", "");
    person.types("get_sta\t");
    person.sees_line("idle", "get_state");
    person.types("\r");
    person.sees_text("→ {\"id\":\"1\",\"type\":\"get_state\"}");
    person.sees_text("← {\"id\":\"1\",\"type\":\"response\",\"command\":\"get_state\",\"success\":true");
    // Members, then values of one.
    person.types("set_th\tle\tmi\t");
    person.sees_line("idle", "set_thinking_level level=minimal");
    person.types("\r");
    person.sees_text(
        "← {\"id\":\"2\",\"type\":\"response\",\"command\":\"set_thinking_level\",\"success\":true",
    );
    // The history.
    person.types("\x1b[A\x1b[A");
    person.sees_line("idle", "get_state");
    assert!(person.bytes.windows(3).any(|it| it == b"\x1b[3"), "frames are coloured");
    // Ctrl-U.
    person.types("\x15");
    let (status, screen) = person.leaves();
    assert_eq!(status, Some(0));
    assert!(screen.contains("2 sent, "), "{screen}");
    let history = dir.path().join(".local/state/pi-rpc/repl_history");
    assert_eq!(fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);
    let kept = fs::read_to_string(history).unwrap();
    assert_eq!(kept, "#V2\nget_state \nset_thinking_level level=minimal \n");
}

#[test]
fn frames_leave_the_typed_line_whole() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"until [ -e go ]; do sleep 0.01; done; echo '{"type":"agent_start"}'; cat > /dev/null"#;
    let mut person = Person::start(&dir, &["--dialect", "pi-1", "--", "sh", "-c", script], false);
    person.sees_line("idle", "");
    // Longer than the terminal is wide.
    let typed = format!("prompt {}", "word ".repeat(30));
    person.types(&typed);
    let words = |screen: &str| screen.replace('\n', "").matches("word").count();
    person.sees("the line", |screen| words(screen) == 30);
    fs::write(dir.path().join("go"), "").unwrap();
    person.sees_text("← {\"type\":\"agent_start\"}");
    person.sees("the line again", |screen| {
        screen.contains("   streaming.between> prompt word word") && words(screen) == 30
    });
    let screen = person.screen.screen().contents();
    assert!(!screen.contains("idle>"), "{screen}");
    // The machine refuses it now.
    person.types("\r");
    person
        .sees_text("not sent: the server refuses `prompt` in streaming.between: Agent is already processing");
    person.types("\x15");
    let (status, screen) = person.leaves();
    // The run was cut off by the end of the server, as the judge finds.
    assert_eq!(status, Some(0));
    assert!(screen.contains("0 sent, 1 received"), "{screen}");
}

#[test]
fn findings_come_with_their_frames() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"echo '{"type":"turn_end"}'; cat > /dev/null"#;
    let mut person = Person::start(&dir, &["--dialect", "pi", "--", "sh", "-c", script], true);
    person.sees_text("MUST schema: ");
    person.sees_line("idle", "");
    person.types("promt x\r");
    person.sees_text("there is no command `promt`; did you mean `prompt`?");
    person.types("? prompt\r");
    person.sees_text("  message, required: ");
    person.leaves();
}

#[test]
fn server_cannot_write_to_the_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let script = r#"printf '\033[2J\033]0;title\007no frame\n'; printf '\033[31mlog\n' >&2
        printf '{"type":"x","text":"\302\2332J\342\200\256"}\n'; cat > /dev/null"#;
    let mut person = Person::start(&dir, &["--dialect", "pi", "--", "sh", "-c", script], true);
    person.sees_text(r"← \u{1b}[2J\u{1b}]0;title\u{7}no frame");
    person.sees_text(r"stderr: \u{1b}[31mlog");
    person.sees_text(r#"← {"type":"x","text":"\u{9b}2J\u{202e}"}"#);
    let written = String::from_utf8_lossy(&person.bytes).into_owned();
    for hostile in ["\u{1b}[2J", "\u{1b}]0", "\u{9b}", "\u{202e}", "\u{1b}[3"] {
        assert!(!written.contains(hostile), "{hostile:?} in {written:?}");
    }
    person.leaves();
}

#[test]
fn end_of_the_server_is_shown() {
    let dir = tempfile::tempdir().unwrap();
    let mut person = Person::start(&dir, &["--", "sh", "-c", "exit 7"], true);
    person.sees_text("the server ended with status 7; 0 sent, 0 received");
    person.types("\r");
    assert_eq!(person.child.wait().unwrap().code(), Some(7));
}

#[test]
fn piped_lines_are_sent_in_turn() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("lines"),
        "prompt Hello\nget_last_assistant_text\nset_thinking_level level=lots\n",
    )
    .unwrap();
    let mut repl = command(binary(), dir.path());
    repl.args(["repl", "--", binary().to_str().unwrap(), "serve", "--dialect", "pi-1", "--no-session"]);
    repl.args(["--model", "scripted/demo"]).env_remove("PI_RPC_DIALECT");
    repl.stdin(File::open(dir.path().join("lines")).unwrap());
    let output = repl.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour where there is no terminal");
    assert!(text.contains("\ndialect pi-1, not pi: by record "), "{text}");
    assert!(
        text.contains("\nnot sent: `level`: invalid value: string \"lots\", expected one of `off`"),
        "{text}"
    );
    // The end of input waits for the run.
    assert!(text.contains("← {\"type\":\"agent_settled\""), "{text}");
    assert!(text.ends_with("judged by pi-1: nothing was found\n"), "{text}");
}
