//! Which session a server starts with, where it lies, and what is told of it.

use crate::{
    serve_support::{Ended, Server, binary, command},
    session_support::{HEADER, entry, file, user},
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};
use tempfile::TempDir;

/// The demo in `home`.
fn demo(home: &Path, options: &[&str]) -> Command {
    let mut command = command(binary(), home);
    command.args(["--mode", "rpc", "--model", "scripted/demo"]).args(options);
    command
}

fn start(home: TempDir, options: &[&str]) -> Server {
    let command = demo(home.path(), options);
    Server::start(Dialect::Pi, home, command)
}

fn session_file(server: &mut Server) -> String {
    server.data(json!({ "type": "get_state" }))["sessionFile"].as_str().unwrap().to_owned()
}

#[test]
fn relative_session_path_is_reported_absolute() {
    let home = tempfile::tempdir().unwrap();
    let expected = fs::canonicalize(home.path()).unwrap().join("talks/a.jsonl");
    let mut server = start(home, &["--session", "./talks/./a.jsonl"]);
    assert_eq!(session_file(&mut server), expected.to_str().unwrap());
    server.finishes();
}

#[test]
fn new_session_stays_in_named_folder() {
    let home = tempfile::tempdir().unwrap();
    let folder = fs::canonicalize(home.path()).unwrap().join("elsewhere");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.jsonl"), file(&[HEADER.to_owned(), user("a", None, "one")])).unwrap();
    let mut server = start(home, &["--session", "elsewhere/a.jsonl"]);
    server.data(json!({ "type": "new_session" }));
    server.run("hi");
    let next = session_file(&mut server);
    assert_eq!(Path::new(&next).parent(), Some(folder.as_path()));
    let header = fs::read_to_string(&next).unwrap();
    assert!(header.lines().next().unwrap().contains(r#""cwd":"/w""#), "{header}");
    server.finishes();
}

#[test]
fn session_error_names_its_file() {
    let odd = entry("message", "b", Some("a"), json!({ "message": { "role": "oracle" } }));
    let lines = [HEADER.to_owned(), "garbage".to_owned(), user("a", None, "one"), odd];
    for option in ["--session", "--fork"] {
        let home = tempfile::tempdir().unwrap();
        let path = fs::canonicalize(home.path()).unwrap().join("s.jsonl");
        fs::write(&path, file(&lines)).unwrap();
        let mut server = start(home, &[option, "s.jsonl"]);
        server.close_stdin();
        let Ended { status, stderr, .. } = server.ends();
        assert_eq!(status.code(), Some(0));
        for told in ["line 2 passed over: no JSON object", "entry b could not be read whole: "] {
            let told = format!("{}: {told}", path.display());
            assert!(stderr.contains(&told), "{option}: {stderr}");
        }
    }
}

#[test]
fn unset_home_defaults_to_the_users() {
    let home = tempfile::tempdir().unwrap();
    let mut command = demo(home.path(), &["--session", "~/pi-rpc-test-of-home.jsonl"]);
    command.env_remove("HOME");
    let mut server = Server::start(Dialect::Pi, home, command);
    let path = session_file(&mut server);
    let told = Command::new("sh").args(["-c", "eval echo ~$(id -un)"]).output().unwrap();
    let expected = format!("{}/pi-rpc-test-of-home.jsonl", String::from_utf8(told.stdout).unwrap().trim());
    assert_eq!(path, expected);
    server.finishes();
}

#[test]
fn only_a_regular_file_is_copied() {
    for (name, why) in [("/dev/null", "not a regular file"), ("none.jsonl", "No such file")] {
        let home = tempfile::tempdir().unwrap();
        let output = demo(home.path(), &["--fork", name]).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(told.contains("Cannot fork: ") && told.contains(why), "{told}");
    }
}

fn id(server: &mut Server) -> String {
    server.data(json!({ "type": "get_state" }))["sessionId"].as_str().unwrap().to_owned()
}

/// What the program says on stderr, and the exit status.
fn refused(home: &Path, options: &[&str]) -> (String, Option<i32>) {
    let output = demo(home, options).output().unwrap();
    (String::from_utf8(output.stderr).unwrap(), output.status.code())
}

#[test]
fn session_id_option_creates_or_resumes() {
    let mut server = start(tempfile::tempdir().unwrap(), &["--session-id", "task-7"]);
    assert_eq!(id(&mut server), "task-7");
    let file = session_file(&mut server);
    assert!(file.ends_with("_task-7.jsonl"), "{file}");
    server.run("hi");
    server.data(json!({ "type": "new_session" }));
    assert_ne!(id(&mut server), "task-7", "of the first session alone");
    server.close_stdin();
    let Ended { stderr, dir, .. } = server.ends();
    assert!(stderr.contains("No session of this project has the id 'task-7'; a new one gets it"), "{stderr}");

    let mut server = start(dir, &["--session-id", "task-7"]);
    assert_eq!(session_file(&mut server), file);
    server.data(json!({ "type": "new_session" }));
    assert_ne!(id(&mut server), "task-7", "of the session that goes on alone");
    let dir = server.finishes();

    let (told, status) = refused(dir.path(), &["--session-id", "task-7", "--fork", "task-7"]);
    assert!(told.contains("Session already exists with id 'task-7'") && status == Some(1), "{told}");
    let mut server = start(dir, &["--session-id", "task-8", "--fork", "task-7"]);
    assert_eq!(id(&mut server), "task-8");
    let dir = server.finishes();
    let mut server = start(dir, &["--session-id", "x", "--no-session"]);
    assert_eq!(id(&mut server), "x");
    server.finishes();
}

#[test]
fn id_of_another_server_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let place = home.path().to_owned();
    let mut server = start(home, &["--session-id", "task-7"]);
    let file = session_file(&mut server);
    let refusal = "Session 'task-7' is in use by another process";
    for begun in [false, true] {
        if begun {
            server.run("hi");
        }
        for options in [&["--session-id", "task-7"][..], &["--session-id", "task-7", "--fork", &file]] {
            let (told, status) = refused(&place, options);
            assert!(told.contains(refusal) && status == Some(1), "{options:?}: {status:?} {told}");
        }
    }
    server.close_stdin();
    let dir = server.ends().dir;
    let beside = fs::read_dir(Path::new(&file).parent().unwrap()).unwrap();
    let beside: Vec<_> = beside.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(beside, [Path::new(&file)]);
    let mut server = start(dir, &["--session-id", "task-7"]);
    assert_eq!(session_file(&mut server), file);
    server.finishes();
}

#[test]
fn invalid_session_id_or_name_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let check = |options: &[&str], expected: &str| {
        let (told, status) = refused(home.path(), options);
        assert!(told.contains(expected) && status == Some(1), "{options:?}: {status:?} {told}");
    };
    let ends = "expected letters, digits, `-`, `_` and `.`, with a letter or a digit at both ends";
    for id in ["", "-a", "a.", "a/b", "ä", "a b"] {
        check(&[&format!("--session-id={id}")], &format!("--session-id: {ends}"));
    }
    check(&["--continue", "--session-id", "a"], "--session-id cannot be combined with --continue");
    check(&["--name", " "], "--name: expected a name that is not empty");
}

#[test]
fn name_option_is_first_session_entry() {
    let home = tempfile::tempdir().unwrap();
    let mut server = start(home, &["--name", "mine"]);
    server.run("hi");
    let file = fs::read_to_string(session_file(&mut server)).unwrap();
    let lines: Vec<Value> = file.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..4], ["session", "session_info", "model_change", "thinking_level_change"]);
    server.finishes();
}
