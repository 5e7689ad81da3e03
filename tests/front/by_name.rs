//! The front by the name of an agent, and clients whose dialect is found out.

use serde_json::{Value, json};
use std::{
    env, fs,
    io::Write as _,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
    process::{Command, Output, Stdio},
};

const BINARY: &str = env!("CARGO_BIN_EXE_pi-rpc");

/// Writes a program `name` that starts our server.
fn write_server(folder: &Path, name: &str, dialect: &str) {
    fs::create_dir_all(folder).unwrap();
    let program = folder.join(name);
    let text =
        format!("#!/bin/sh\nexec '{BINARY}' serve --dialect {dialect} --no-session --model scripted/demo\n");
    fs::write(&program, text).unwrap();
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
}

/// What a command writes for these lines.
fn frames(command: &mut Command, lines: &[Value]) -> (Vec<Value>, Output) {
    let mut process =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = process.stdin.take().unwrap();
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    drop(input);
    let output = process.wait_with_output().unwrap();
    let frames = String::from_utf8(output.stdout.clone()).unwrap();
    (frames.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), output)
}

/// A client that starts `pi`, with the link before a server of `pi-1`.
fn by_link(folder: &Path, speak: &str) -> Command {
    let (links, servers) = (folder.join("links"), folder.join("servers"));
    fs::create_dir_all(&links).unwrap();
    symlink(BINARY, links.join("pi")).unwrap();
    write_server(&servers, "pi", "pi-1");
    let path = env::join_paths([&links, &servers]).unwrap();
    let path = format!("{}:{}", path.to_str().unwrap(), env::var("PATH").unwrap());
    let mut command = Command::new(links.join("pi"));
    command.args(["--mode", "rpc"]).env("PATH", path).env("PI_RPC_FRONT", speak).env_remove("PI_RPC_DIALECT");
    command
}

#[test]
fn link_is_front_of_next_program() {
    let folder = tempfile::tempdir().unwrap();
    let (frames, output) = frames(
        &mut by_link(folder.path(), "pi"),
        &[json!({ "id": "1", "type": "prompt", "message": "Hello" })],
    );
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let has_snapshots =
        frames.iter().any(|frame| frame["type"] == "message_update" && frame["message"].is_object());
    assert!(has_snapshots, "{frames:#?}");
    assert_eq!(frames.last().map(|frame| &frame["type"]), Some(&json!("agent_end")));
}

#[test]
fn link_that_starts_itself_ends() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = by_link(folder.path(), "pi");
    let again = folder.path().join("servers/pi");
    // A script in place of the server that starts `pi` again.
    fs::write(&again, "#!/bin/sh\nexec pi \"$@\"\n").unwrap();
    let (frames, output) = frames(&mut command, &[]);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(frames.is_empty() && errors.contains("PI_RPC_FRONT_SERVER names the program"), "{errors}");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn other_command_lines_reach_real_program() {
    let folder = tempfile::tempdir().unwrap();
    let command = by_link(folder.path(), "pi");
    fs::write(folder.path().join("servers/pi"), "#!/bin/sh\necho \"real $*\"\n").unwrap();
    let mut version = Command::new(command.get_program());
    version.arg("--version");
    for (name, value) in command.get_envs() {
        version.env(name, value.unwrap_or_default());
    }
    let output = version.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "real --version\n");
}

/// The front without `--speak` before our server.
fn undecided(dialect: &str) -> Command {
    let mut command = Command::new(BINARY);
    command.args([
        "front",
        "--",
        BINARY,
        "serve",
        "--dialect",
        dialect,
        "--no-session",
        "--model",
        "scripted/demo",
    ]);
    command.env_remove("PI_RPC_DIALECT");
    command
}

#[test]
fn command_of_other_dialect_begins_translation() {
    let lines =
        [json!({ "id": "1", "type": "get_state" }), json!({ "id": "2", "type": "get_available_commands" })];
    let (frames, output) = frames(&mut undecided("pi-1"), &lines);
    let responses: Vec<_> =
        frames.iter().map(|frame| (&frame["id"], &frame["command"], &frame["success"])).collect();
    let (yes, one, two) = (json!(true), json!("1"), json!("2"));
    let (state, commands) = (json!("get_state"), json!("get_available_commands"));
    let errors = String::from_utf8_lossy(&output.stderr);
    let answers: Vec<_> = responses.into_iter().filter(|(id, ..)| id.is_string()).collect();
    assert_eq!(answers, [(&one, &state, &yes), (&two, &commands, &yes)], "{errors}");
    assert!(errors.contains("as its command `get_available_commands` shows"), "{errors}");
}

#[test]
fn same_dialect_passes_bytes_as_they_are() {
    let lines = [json!({ "id": "1", "type": "get_state" }), json!({ "id": "2", "type": "get_entries" })];
    let (through, output) = frames(&mut undecided("pi-1"), &lines);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(through.iter().map(|frame| &frame["id"]).collect::<Vec<_>>(), ["1", "2"]);
}
