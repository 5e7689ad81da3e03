//! A file system that does not answer: commands, aborts and signals are heard, and the session goes on when it is back.

use crate::{
    kept_support::{agrees, directory, files, keeping, started},
    serve_support::Server,
    states::{DIALECTS, assert_whole, last},
    table::row,
};
use pi_rpc::protocol::Dialect;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// A write to a session file does not return as long as the file `hung` is there; `waits` tells that one has begun.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
ssize_t write(int fd, const void *bytes, size_t count) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    if (length > 6 && !memcmp(path + length - 6, ".jsonl", 6))
        while (!access("hung", F_OK)) {
            int begun = open("waits", O_CREAT | O_WRONLY, 0600);
            if (begun >= 0) close(begun);
            usleep(2000);
        }
    return real(fd, bytes, count);
}
"#;

/// Makes the library with [`SHIM`]; `false`: there is no compiler for C.
fn compiled(dir: &Path) -> bool {
    fs::write(dir.join("hang.c"), SHIM).unwrap();
    let mut compiler = Command::new("cc");
    compiler.current_dir(dir).args(["-shared", "-fPIC", "-O1", "-o", "hang.so", "hang.c", "-ldl"]);
    let made = compiler.status().is_ok_and(|status| status.success());
    if !made {
        eprintln!("not tested: a hung disk, for want of a compiler for C");
    }
    made
}

/// A server with a session that has begun, on a disk that has just stopped to answer: a prompt waits for it.
fn hung(dialect: Dialect, timeout: &str) -> Option<Server> {
    let dir = directory(&json!([{ "repeat": true, "say": [{ "text": "An answer." }] }]));
    if !cfg!(target_os = "linux") || !compiled(dir.path()) {
        return None;
    }
    let mut command = keeping(dialect, dir.path(), &["--disk-timeout", timeout]);
    command.env("LD_PRELOAD", dir.path().join("hang.so"));
    let mut server = started(dialect, dir, command);
    server.send(json!({ "type": "prompt", "message": "Hello?" }));
    server.until_type(last(dialect));
    fs::write(server.path("hung"), "").unwrap();
    server.send(json!({ "type": "prompt", "message": "Are you there?" }));
    server.awaits("waits");
    Some(server)
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
    let mut times = 0;
    for dialect in DIALECTS {
        let Some(mut server) = hung(dialect, "1") else { return };
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
        times += 1;
    }
    row(
        "The file system of the session does not answer",
        times,
        "reads are answered; after `--disk-timeout` the run ends with an error that names the file, and prompts are refused",
        "nothing: when it answers again, what was missed is written first",
    );
}

#[test]
fn hung_disk_does_not_stop_aborts() {
    let mut times = 0;
    for dialect in DIALECTS {
        let Some(mut server) = hung(dialect, "0") else { return };
        server.send(json!({ "id": "abort", "type": "abort" }));
        let frames = server.until(|frame| frame["id"] == "abort");
        assert_eq!(frames.last().unwrap()["success"], true, "{dialect}");
        assert!(matches!(*errors(&frames), [error] if error.contains("has not answered")), "{dialect}");
        times += 1;
    }
    row(
        "The file system of the session does not answer, and the host aborts",
        times,
        "the run ends two seconds later with an error that names the file, then the abort is answered",
        "nothing, if it answers again before the server ends",
    );
}

#[test]
fn hung_disk_does_not_stop_signals() {
    let mut times = 0;
    for dialect in DIALECTS {
        let Some(server) = hung(dialect, "0") else { return };
        server.signal(Signal::TERM);
        let ended = server.ends();
        assert_eq!(ended.status.code(), Some(143), "{dialect}: {}", ended.stderr);
        assert_whole(ended.dir.path(), dialect.as_str());
        times += 1;
    }
    row(
        "The file system of the session does not answer, and TERM comes",
        times,
        "what goes on ends two seconds later; status 143",
        "what was said since it stopped to answer",
    );
}
