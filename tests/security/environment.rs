//! Environment of child processes, and access to that of the server.

use crate::extended_support::{executable, script};
use crate::serve_support::{Server, bash_turns, binary, command, write_agent_file, write_models_file};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::{fs::chown, process::CommandExt as _},
    path::Path,
    process::Command,
};
use tempfile::TempDir;

/// Those that hold keys: of a provider that is known, of one in `models.json`, of AWS, and by their names alone.
const KEYS: [&str; 11] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GITHUB_TOKEN",
    "HF_TOKEN",
    "NPM_TOKEN",
    "OPENAI_API_KEY",
    "OWN_DOLLAR",
    "OWN_NAME",
    "SOME_CLIENT_SECRET",
    "unknown_api_key",
];

/// Those that hold none, whatever refers to them.
const OTHERS: [&str; 4] = ["AWS_PROFILE", "AWS_REGION", "LANG", "OTHER_API_KEY_PATH"];

/// A home with references to variables, an extension, one of pi's own and a model that calls bash.
fn home(settings: &Value) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let models = json!({"providers": {"own": {
        "baseUrl": "http://x", "apiKey": "OWN_NAME", "api": "openai-completions", "models": [{"id": "m"}],
        "headers": {"A": "${OWN_DOLLAR}", "Language": "$LANG"},
    }}});
    write_models_file(dir.path(), Dialect::Pi1, &models);
    write_agent_file(dir.path(), Dialect::Pi1, "settings.json", settings);
    fs::create_dir(dir.path().join(".pi/work")).unwrap();
    let turns = json!({"turns": bash_turns("env > tool")});
    fs::write(dir.path().join("script.json"), turns.to_string()).unwrap();
    script(dir.path(), "extension", "env > extension.env\nsay '{\"type\":\"register\"}'\nawait nothing");
    executable(dir.path(), "node", "#!/bin/sh\nenv > node.tmp; mv node.tmp node.env\n");
    fs::write(dir.path().join("own.ts"), "export default () => {};\n").unwrap();
    dir
}

fn server(dir: TempDir, options: &[&str]) -> Server {
    let mut command = command(binary(), dir.path());
    command.args(["serve", "--no-session", "--dialect", "pi-1", "--model", "scripted/script.json"]);
    // What stands for Node loads nothing.
    command.args(["--keep-going", "-e", "./extension", "-e", "./own.ts"]).args(options);
    command.env("PI_RPC_NODE", dir.path().join("node"));
    command.envs(KEYS.map(|name| (name, format!("value of {name}"))));
    command.envs(OTHERS.map(|name| (name, format!("value of {name}"))));
    Server::start(Dialect::Pi1, dir, command)
}

/// The names of the variables that a child has found, of those that the tests set.
fn found(dir: &Path, file: &str) -> Vec<&'static str> {
    let text = fs::read_to_string(dir.join(file)).unwrap();
    let set = |name: &&str| text.lines().any(|line| line == format!("{name}=value of {name}"));
    let mut found: Vec<&str> = KEYS.into_iter().chain(OTHERS).filter(set).collect();
    found.sort_unstable();
    found
}

/// Every kind of child has these keys, and everything that is no key.
#[track_caller]
fn assert_children_have(settings: &Value, options: &[&str], keys: &[&'static str]) {
    let mut server = server(home(settings), options);
    server.send(json!({"type": "prompt", "message": "go"}));
    server.until_type("agent_settled");
    server.data(json!({"type": "bash", "command": "env > command"}));
    server.awaits("node.env");
    let mut expected = [keys, &OTHERS].concat();
    expected.sort_unstable();
    for child in ["tool", "command", "extension.env", "node.env"] {
        assert_eq!(found(server.dir.path(), child), expected, "{child}");
    }
}

#[test]
fn children_get_environment_without_model_keys() {
    assert_children_have(&json!({}), &[], &[]);
}

#[test]
fn children_get_keys_passed_by_user() {
    assert_children_have(&json!({}), &["--pass-keys", "HF_TOKEN,OWN_NAME"], &["HF_TOKEN", "OWN_NAME"]);
    assert_children_have(
        &json!({"passKeys": ["HF_TOKEN"]}),
        &["--pass-keys", "OWN_NAME"],
        &["HF_TOKEN", "OWN_NAME"],
    );
    assert_children_have(&json!({"passKeys": ["all"]}), &[], &KEYS);
}

#[test]
fn children_get_keys_of_passed_patterns() {
    let aws = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
    assert_children_have(
        &json!({"passKeys": ["aws_*"]}),
        &["--pass-keys", "*_api_key"],
        &[&aws[..], &["OPENAI_API_KEY", "unknown_api_key"]].concat(),
    );
}

#[test]
fn wrong_entries_of_passed_keys_are_refused() {
    let refusal = |dir: &Path, options: &[&str]| {
        let mut command = command(binary(), dir);
        command
            .args(["serve", "--no-session", "--dialect", "pi-1", "--model", "scripted/demo"])
            .args(options);
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let dir = tempfile::tempdir().unwrap();
    let expected = "expected names of variables, where * stands for any text, or all; got";
    let (status, text) = refusal(dir.path(), &["--pass-keys", "HF_TOKEN,$NPM_TOKEN"]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains(&format!("--pass-keys: {expected} \"$NPM_TOKEN\"")), "{text}");
    write_agent_file(dir.path(), Dialect::Pi1, "settings.json", &json!({"passKeys": ["A", "NPM_TOKEN=abc"]}));
    let (status, text) = refusal(dir.path(), &[]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains(&format!("passKeys[1]: {expected} \"NPM_TOKEN\"")), "{text}");
    assert!(!text.contains("abc"), "{text}");
}

#[test]
fn a_project_cannot_have_keys_passed_on() {
    let dir = home(&json!({}));
    let project = dir.path().join("project");
    fs::create_dir_all(project.join(".pi")).unwrap();
    fs::write(project.join(".pi/settings.json"), r#"{"passKeys": ["all"]}"#).unwrap();
    let mut command = command(binary(), dir.path());
    command.current_dir(&project).env("OPENAI_API_KEY", "value of OPENAI_API_KEY");
    command.args(["serve", "--no-session", "--dialect", "pi-1", "--model", "scripted/demo"]);
    let mut server = Server::start(Dialect::Pi1, dir, command);
    let ran = server.data(json!({"type": "bash", "command": "env"}));
    assert!(!ran["output"].as_str().unwrap().contains("OPENAI_API_KEY"), "{ran}");
}

#[test]
fn variable_named_by_extension_is_withheld() {
    let dir = tempfile::tempdir().unwrap();
    let lab = json!({"type": "register_provider", "name": "lab", "config": {
        "baseUrl": "http://x", "apiKey": "$LAB_KEY", "api": "openai-completions", "models": [{"id": "m"}],
    }});
    let body = format!("say '{lab}'\nsay '{{\"type\":\"register\"}}'\nawait nothing");
    let path = script(dir.path(), "lab", &body);
    let mut command = command(binary(), dir.path());
    command.args(["serve", "--no-session", "--dialect", "pi-1", "--model", "lab/m", "-e", &path]);
    command.env("LAB_KEY", "value of LAB_KEY");
    let mut server = Server::start(Dialect::Pi1, dir, command);
    let ran = server.data(json!({"type": "bash", "command": "env"}));
    assert!(ran["output"].as_str().unwrap().contains("HOME="), "{ran}");
    assert!(!ran["output"].as_str().unwrap().contains("LAB_KEY"), "{ran}");
}

/// Runs the binary without the rights of the super-user, from whom nothing can be hidden.
fn unprivileged(dir: &Path) -> Command {
    const NOBODY: u32 = 65534;
    if !rustix::process::getuid().is_root() {
        return command(binary(), dir);
    }
    let copy = dir.join("pi-rpc");
    // A process of its own writes it: what we have open for writing, another test's child may inherit, and then it
    // cannot run.
    assert!(Command::new("cp").arg(binary()).arg(&copy).status().unwrap().success());
    chown(dir, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut command = command(&copy, dir);
    command.uid(NOBODY).gid(NOBODY);
    command
}

#[test]
#[cfg(target_os = "linux")]
fn command_cannot_read_server_environment() {
    let read = |key: Option<&str>, options: &[&str]| {
        let dir = tempfile::tempdir().unwrap();
        let mut command = unprivileged(dir.path());
        command.args(["serve", "--no-session", "--model", "scripted/demo"]).args(options);
        command.envs(key.map(|key| ("OPENAI_API_KEY", key)));
        let mut server = Server::start(Dialect::Pi, dir, command);
        let ran =
            server.data(json!({"type": "bash", "command": "cat /proc/$PPID/environ 2>&1 | tr '\\0' '\\n'"}));
        ran["output"].as_str().unwrap().to_owned()
    };
    assert!(read(None, &[]).contains("HOME="));
    let refused = read(Some("secret"), &[]);
    assert!(refused.contains("Permission denied") && !refused.contains("secret"), "{refused}");
    assert!(read(None, &["--api-key", "secret"]).contains("Permission denied"));
    // There is nothing to hide.
    assert!(read(Some("secret"), &["--pass-keys", "all"]).contains("OPENAI_API_KEY=secret"));
}
