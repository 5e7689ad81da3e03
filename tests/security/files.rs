//! Created files are readable only by their user, whatever the umask.

use crate::serve_support::{Server, binary, command};
use pi_rpc::protocol::Dialect;
use serde_json::json;
use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// The binary under that umask.
fn under(umask: &str, dir: &Path) -> Command {
    let mut shell = command(Path::new("/bin/sh"), dir);
    shell.args(["-c", "umask \"$0\"; exec \"$@\"", umask]).arg(binary());
    shell
}

/// The modes of everything below a folder, by name; `work` is what the user keeps there.
fn modes(folder: &Path, found: &mut Vec<(String, u32)>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let mode = entry.metadata().unwrap().permissions().mode() & 0o7777;
        found.push((entry.path().display().to_string(), mode));
        if entry.file_type().unwrap().is_dir() {
            modes(&entry.path(), found);
        }
    }
}

/// Nothing below the folder can be read by others; there is something of each of these names.
#[track_caller]
fn assert_private(dir: &TempDir, wanted: &[&str]) {
    let mut found = Vec::new();
    modes(dir.path(), &mut found);
    let ours: Vec<&(String, u32)> =
        found.iter().filter(|(name, _)| !name.ends_with("/script.json")).collect();
    for name in wanted {
        assert!(ours.iter().any(|(path, _)| path.contains(name)), "{name} is not there: {ours:?}");
    }
    for (path, mode) in ours {
        assert_eq!(mode & 0o077, 0, "{path} has mode {mode:o}");
    }
}

#[test]
fn server_files_are_private() {
    for umask in ["000", "022"] {
        let dir = tempfile::tempdir().unwrap();
        let turns = json!({"turns": [
            {"onResult": "", "repeat": true, "say": [{"text": "So it was."}]},
            {"repeat": true, "say": [{"tool": "bash", "arguments": {"command": "seq 100000"}}]},
        ]});
        fs::write(dir.path().join("script.json"), turns.to_string()).unwrap();
        let mut serve = under(umask, dir.path());
        serve.args(["serve", "--dialect", "pi", "--model", "scripted/script.json"]);
        let mut server = Server::start(Dialect::Pi, dir, serve);
        server.run("go");
        let cut = server.data(json!({"type": "bash", "command": "seq 100000"}));
        assert_eq!(cut["truncated"], true, "{cut}");
        server.data(json!({"type": "export_html", "outputPath": "page.html"}));
        server.data(json!({"type": "new_session"}));
        server.run("go");
        server.close_stdin();
        let ended = server.ends();
        assert_private(&ended.dir, &["/.pi/agent/sessions/", ".jsonl", "pi-bash-", "page.html"]);
        // A copy, and a folder that is named.
        let mut copies = under(umask, ended.dir.path());
        copies.args(["serve", "--model", "scripted/demo", "--session-dir", "talks/deep", "--fork"]);
        let session =
            fs::read_dir(ended.dir.path().join(".pi/agent/sessions")).unwrap().flatten().next().unwrap();
        let session = fs::read_dir(session.path()).unwrap().flatten().next().unwrap().path();
        assert!(copies.arg(session).stdin(Stdio::null()).stdout(Stdio::null()).status().unwrap().success());
        assert_private(&ended.dir, &["/talks/deep/"]);
    }
}

#[test]
fn recordings_and_reports_are_their_users_alone() {
    let dir = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut command = under("000", dir.path());
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().unwrap();
    };
    let own = binary().to_str().unwrap();
    run(&[
        "tap",
        "--record",
        "talk.jsonl",
        "--report",
        "tap.txt",
        "--",
        own,
        "serve",
        "--no-session",
        "--model",
        "scripted/demo",
    ]);
    run(&["check", "talk.jsonl", "--format", "html", "--report", "report.html"]);
    run(&[
        "conform",
        "--scenario",
        "end-at-once",
        "--keep",
        "a/b",
        "--format",
        "junit",
        "--report",
        "report.xml",
        "--",
        own,
    ]);
    assert_private(&dir, &["talk.jsonl", "tap.txt", "report.html", "a/b/end-at-once.jsonl", "report.xml"]);
}

#[test]
fn existing_files_keep_their_mode() {
    let dir = tempfile::tempdir().unwrap();
    let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode() & 0o7777;
    let set =
        |name: &str, mode| fs::set_permissions(dir.path().join(name), Permissions::from_mode(mode)).unwrap();
    fs::create_dir(dir.path().join("talks")).unwrap();
    fs::write(dir.path().join("page.html"), "old").unwrap();
    fs::write(dir.path().join("talk.jsonl"), "").unwrap();
    for (name, kept) in [("talks", 0o755), ("page.html", 0o644), ("talk.jsonl", 0o640)] {
        set(name, kept);
    }
    let talk = [
        json!({"type": "prompt", "message": "hi"}),
        json!({"type": "export_html", "outputPath": "page.html"}),
    ];
    let mut serve = under("000", dir.path());
    serve.args(["serve", "--model", "scripted/demo", "--session-dir", "talks", "--session", "./talk.jsonl"]);
    let mut child = serve.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let frames = format!("{}\n{}\n", talk[0], talk[1]);
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), frames.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(fs::read_to_string(dir.path().join("page.html")).unwrap().starts_with("<!DOCTYPE html>"));
    assert!(fs::metadata(dir.path().join("talk.jsonl")).unwrap().len() > 0);
    assert_eq!([mode("talks"), mode("page.html"), mode("talk.jsonl")], [0o755, 0o644, 0o640]);
}
