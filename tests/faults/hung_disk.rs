//! A file system that does not answer: commands, aborts and signals are heard, and the session goes on when it is back.

use crate::{
    kept_support::{agrees, directory, files, keeping, started},
    serve_support::{Server, at_once},
    states::{DIALECTS, assert_whole, last},
    table::row,
};
use pi_rpc::protocol::Dialect;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Once,
};

/// A library whose `write` to a session file does not return as long as the file `hung` is there; `waits` tells that one has
/// begun.
const SHIM: &str = r##"
use std::{fs::{self, File}, path::Path, thread::sleep, time::Duration};
unsafe extern "C" {
    fn pwritev2(fd: i32, parts: *const [usize; 2], count: i32, offset: i64, flags: i32) -> isize;
}
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: i32, bytes: usize, length: usize) -> isize {
    let path = fs::read_link(format!("/proc/self/fd/{fd}")).unwrap_or_default();
    if path.extension().is_some_and(|end| end == "jsonl") {
        while Path::new("hung").exists() {
            let _ = File::create("waits");
            sleep(Duration::from_millis(2));
        }
    }
    // At the position of the file, as `write` does.
    unsafe { pwritev2(fd, &[bytes, length], 1, -1, 0) }
}
"##;

/// The library with [`SHIM`], made once.
fn library() -> PathBuf {
    static MADE: Once = Once::new();
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    MADE.call_once(|| {
        fs::write(dir.join("hang.rs"), SHIM).unwrap();
        let mut compiler = Command::new(Path::new(env!("CARGO")).with_file_name("rustc"));
        compiler.current_dir(dir).args(["--edition=2024", "--crate-type=cdylib", "hang.rs"]);
        assert!(compiler.status().unwrap().success());
    });
    dir.join("libhang.so")
}

/// A server with a session that has begun, on a disk that has just stopped to answer: a prompt waits for it.
fn hung(dialect: Dialect, timeout: &str) -> Server {
    let dir = directory(&json!([{ "repeat": true, "say": [{ "text": "An answer." }] }]));
    let mut command = keeping(dialect, dir.path(), &["--disk-timeout", timeout]);
    command.env("LD_PRELOAD", library());
    let mut server = started(dialect, dir, command);
    server.send(json!({ "type": "prompt", "message": "Hello?" }));
    server.until_type(last(dialect));
    fs::write(server.path("hung"), "").unwrap();
    server.send(json!({ "type": "prompt", "message": "Are you there?" }));
    server.awaits("waits");
    server
}

fn no_answer(server: &Server) -> String {
    let [path] = files(server.dir.path()).try_into().unwrap();
    format!("{}: the file system has not answered for ", path.display())
}

fn errors(frames: &[Value]) -> Vec<&str> {
    let ends = frames.iter().filter(|frame| frame["type"] == "turn_end");
    ends.filter_map(|frame| frame["message"]["errorMessage"].as_str()).collect()
}

#[test]
fn hung_disk_fails_its_run_in_time() {
    let times = at_once(DIALECTS.into_iter(), |dialect| {
        let mut server = hung(dialect, "1");
        assert_eq!(server.data(json!({ "type": "get_state" }))["isStreaming"], true, "{dialect}");
        let frames = server.until_type(last(dialect));
        let text = no_answer(&server);
        assert!(matches!(*errors(&frames), [error] if error.contains(&text)), "{dialect}: {frames:?}");
        server.send(json!({ "type": "prompt", "message": "Now?" }));
        let refused = server.until(|frame| frame["success"] == false).pop().unwrap();
        assert!(refused["error"].as_str().is_some_and(|error| error.contains(&text)), "{dialect}: {refused}");
        fs::remove_file(server.path("hung")).unwrap();
        // Refused until the thread has come back from the write.
        loop {
            server.send(json!({ "type": "prompt", "message": "And now?" }));
            let served = server.until(|frame| frame["success"] == false || frame["type"] == last(dialect));
            if served.last().unwrap()["type"] == last(dialect) {
                break;
            }
        }
        let [path] = files(server.dir.path()).try_into().unwrap();
        agrees(&mut server, &path);
        assert_whole(server.dir.path(), dialect.as_str());
    });
    row("The file system of the session does not answer", times);
}

#[test]
fn hung_disk_does_not_stop_aborts() {
    let times = at_once(DIALECTS.into_iter(), |dialect| {
        let mut server = hung(dialect, "0");
        server.send(json!({ "id": "abort", "type": "abort" }));
        let frames = server.until(|frame| frame["id"] == "abort");
        assert_eq!(frames.last().unwrap()["success"], true, "{dialect}");
        assert!(matches!(*errors(&frames), [error] if error.contains("has not answered")), "{dialect}");
    });
    row("The file system of the session does not answer, and the host aborts", times);
}

#[test]
fn lost_prompt_on_hung_disk_never_ends() {
    let times = at_once(DIALECTS.into_iter(), |dialect| {
        let mut server = hung(dialect, "0");
        // The write is under way, and the response came before it.
        let mut frames = server.until(|frame| frame["command"] == "prompt" && frame["type"] == "response");
        assert_eq!(frames.last().unwrap()["success"], true, "{dialect}");
        server.signal(Signal::KILL);
        let ended = server.ends();
        frames.extend(ended.frames);
        // Who was told of no end of the message knows that it may not be stored.
        let is_told =
            |frame: &Value| frame["type"] == "message_end" && frame.to_string().contains("Are you there?");
        assert!(!frames.iter().any(is_told), "{dialect}: {frames:?}");
        let [path] = files(ended.dir.path()).try_into().unwrap();
        assert!(!fs::read_to_string(path).unwrap().contains("Are you there?"), "{dialect}");
    });
    row("The file system of the session does not answer, and the server is killed behind a response", times);
}

#[test]
fn hung_disk_does_not_stop_signals() {
    let times = at_once(DIALECTS.into_iter(), |dialect| {
        let server = hung(dialect, "0");
        server.signal(Signal::TERM);
        let ended = server.ends();
        assert_eq!(ended.status.code(), Some(143), "{dialect}: {}", ended.stderr);
        assert_whole(ended.dir.path(), dialect.as_str());
    });
    row("The file system of the session does not answer, and TERM comes", times);
}
