//! Permissions for good: offered, kept, listed, revoked, and no wider than they say.

use crate::serve_support::{Server, binary, command};
use pi_rpc::protocol::Dialect::Pi1;
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;

/// A home with a folder `work` and a model that makes these shell calls, one in each answer.
fn home(commands: &[&str]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("work")).unwrap();
    let call = |command: &&str| json!({ "say": [{ "tool": "bash", "arguments": { "command": command } }] });
    let turns: Vec<Value> =
        commands.iter().map(call).chain([json!({ "say": [{ "text": "Well." }] })]).collect();
    fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
    dir
}

/// A server in `work`.
fn server(dir: TempDir) -> Server {
    let mut line = command(binary(), dir.path());
    line.current_dir(dir.path().join("work"));
    line.args(["--mode", "rpc", "--dialect", "pi-1", "--no-session", "--confirm-tools", "bash"]);
    line.args(["--model", "scripted/../script.json"]);
    Server::start(Pi1, dir, line)
}

/// Prompts, and chooses the options whose texts begin so, one for each question. Returns the titles of all questions.
fn run(server: &mut Server, choices: &[&str]) -> Vec<String> {
    server.send(json!({ "type": "prompt", "message": "go" }));
    let mut titles = Vec::new();
    loop {
        let frames =
            server.until(|frame| frame["type"] == "extension_ui_request" || frame["type"] == "agent_settled");
        let asked = frames.last().unwrap();
        if asked["type"] == "agent_settled" {
            assert_eq!(titles.len(), choices.len(), "{titles:?}");
            return titles;
        }
        let options: Vec<&str> =
            asked["options"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let wanted = choices.get(titles.len()).unwrap_or_else(|| panic!("{titles:?} {asked}"));
        let chosen = options.iter().find(|option| option.starts_with(wanted));
        let chosen = chosen.unwrap_or_else(|| panic!("{wanted}: {options:?}"));
        server.send(json!({ "type": "extension_ui_response", "id": asked["id"], "value": chosen }));
        titles.push(asked["title"].as_str().unwrap().to_owned());
    }
}

/// What `pi-rpc permissions` prints.
fn permissions(home: &Path, words: &[&str]) -> String {
    let mut line = command(binary(), home);
    line.current_dir(home.join("work")).env("PI_RPC_DIALECT", "pi-1").arg("permissions").args(words);
    let ended = line.output().unwrap();
    String::from_utf8([ended.stdout, ended.stderr].concat()).unwrap()
}

#[test]
fn prefix_of_a_command_is_kept() {
    let commands = ["ls", "ls .", "ls -a", "ls; touch made", "ls && touch made", "ls $(touch made)"];
    let mut first = server(home(&commands));
    let titles = run(
        &mut first,
        &["Always allow commands without options that begin with \"ls\"", "Deny", "Deny", "Deny", "Deny"],
    );
    assert_eq!(
        titles[1..3],
        [r#"Allow bash? {"command":"ls -a"}"#, r#"Allow bash? {"command":"ls; touch made"}"#]
    );
    assert!(!first.path("work/made").exists());
    let dir = first.finishes();
    // In another process, of the same project.
    let mut second = server(dir);
    run(&mut second, &["Deny", "Deny", "Deny", "Deny"]);
}

#[test]
fn revoked_permission_counts_at_once() {
    let dir = home(&["touch one", "touch one", "touch one"]);
    let mut server = server(dir);
    server.send(json!({ "type": "prompt", "message": "go" }));
    let asked = server.until_type("extension_ui_request").pop().unwrap();
    let text = "Always allow the command \"touch one\" in this project";
    server.send(json!({ "type": "extension_ui_response", "id": asked["id"], "value": text }));
    server.until_type("agent_settled");
    let home = server.dir.path().to_owned();
    let listed: Value = serde_json::from_str(&permissions(&home, &["list", "--json"])).unwrap();
    let project = fs::canonicalize(home.join("work")).unwrap();
    assert_eq!(
        listed[0]["permission"],
        json!({ "tool": "bash", "covers": { "command": ["touch", "one"] }, "scope": { "project": project } })
    );
    let id = listed[0]["id"].as_str().unwrap();
    assert!(permissions(&home, &["list"]).starts_with(id));
    assert!(permissions(&home, &["revoke", "nothing"]).contains("no permission has this id"));
    assert!(permissions(&home, &["revoke", id]).starts_with("revoked "));
    assert_eq!(permissions(&home, &["list"]), "");
}

#[test]
fn session_permission_ends_with_session() {
    let dir = home(&[]);
    let call = |command: &str| json!({ "say": [{ "tool": "bash", "arguments": { "command": command } }] });
    let text = json!({ "say": [{ "text": "Well." }] });
    let turns = json!([call("touch one"), call("touch two"), text, call("touch three"), text]);
    fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
    let mut server = server(dir);
    run(&mut server, &["Allow for this session"]);
    let listed = permissions(server.dir.path(), &["list"]);
    assert!(listed.contains("(session "), "{listed}");
    assert_eq!(server.ask("n", json!({ "type": "new_session" }))["success"], true);
    run(&mut server, &["Deny"]);
    let made = ["work/one", "work/two", "work/three"].map(|it| server.path(it).exists());
    assert_eq!(made, [true, true, false]);
}

#[test]
fn path_permission_stays_in_its_folder() {
    let dir = home(&[]);
    let write =
        |path: &str| json!({ "say": [{ "tool": "write", "arguments": { "path": path, "content": "x" } }] });
    let turns: Vec<Value> = ["src/a", "src/b", "src/../c", "src/link/d", "e"].map(write).into();
    let turns = [turns, vec![json!({ "say": [{ "text": "Well." }] })]].concat();
    fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
    fs::create_dir_all(dir.path().join("work/src")).unwrap();
    fs::create_dir(dir.path().join("outside")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("outside"), dir.path().join("work/src/link")).unwrap();
    let mut line = command(binary(), dir.path());
    line.current_dir(dir.path().join("work"));
    line.args(["--mode", "rpc", "--dialect", "pi-1", "--no-session", "--confirm-tools", "write"]);
    line.args(["--model", "scripted/../script.json"]);
    let mut server = Server::start(Pi1, dir, line);
    run(&mut server, &["Allow write below", "Deny", "Deny", "Deny"]);
    let made =
        ["work/src/a", "work/src/b", "work/c", "outside/d", "work/e"].map(|it| server.path(it).exists());
    assert_eq!(made, [true, true, false, false, false]);
}
