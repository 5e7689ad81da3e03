//! Devices, pipes and huge files in a project: the server does not hang, lose commands of the host,
//! or use memory for them.

use crate::serve_support::{BOTH, Server, binary, command};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::Path,
    process::Command,
};

/// Whatever is read from a folder where a server starts; `.pi` stands for the dialect's folders.
const FILES: [&str; 19] = [
    ".pi/settings.json",
    ".pi/agent/settings.json",
    ".pi/agent/models.json",
    ".pi/agent/auth.json",
    ".pi/agent/trust.json",
    ".pi/agent/AGENTS.md",
    ".pi/SYSTEM.md",
    ".pi/APPEND_SYSTEM.md",
    ".pi/prompts/hostile.md",
    ".pi/prompts/.gitignore",
    ".pi/skills/hostile/SKILL.md",
    ".pi/skills/.ignore",
    ".pi/extensions/.gitignore",
    ".pi/extensions/hostile/package.json",
    "AGENTS.md",
    ".gitignore",
    ".ignore",
    "below/.gitignore",
    "below/.fdignore",
];

/// Far more than any of them may have.
const ENORMOUS: u64 = 600 << 20;

/// What a server may take at most: a debug build needs some 30 MiB.
const MEMORY: u64 = 128 << 20;

fn made(path: &Path, what: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match what {
        "fifo" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "enormous" => File::create(path).unwrap().set_len(ENORMOUS).unwrap(),
        device => symlink(device, path).unwrap(),
    }
}

/// The most memory that a server has had, in bytes.
fn peak(server: &Server) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

fn serving(dialect: Dialect, what: &str) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let own = if dialect == Dialect::Xcsh { ".xcsh" } else { ".pi" };
    for file in FILES {
        let file = file.strip_prefix(".pi/").map_or(file.to_owned(), |rest| format!("{own}/{rest}"));
        made(&dir.path().join(file), what);
    }
    fs::write(dir.path().join("found.txt"), "needle").unwrap();
    let call = |tool: &str, arguments: Value| json!({ "tool": tool, "id": tool, "arguments": arguments });
    let calls =
        json!([call("find", json!({ "pattern": "*.txt" })), call("grep", json!({ "pattern": "needle" }))]);
    let turns = json!([{ "say": calls }, { "say": [{ "text": "Done." }] }]);
    fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
    let mut command = command(binary(), dir.path());
    command.args(["serve", "--model", "scripted/script.json", "--no-session", "--tools", "find,grep"]);
    command.args(["--dialect", dialect.as_str()]);
    Server::start(dialect, dir, command)
}

#[test]
fn hostile_files_neither_hang_nor_fill_memory() {
    for dialect in BOTH {
        for what in ["/dev/zero", "/dev/stdin", "fifo", "enormous"] {
            let mut server = serving(dialect, what);
            // Nothing else has read what the host writes.
            let state = server.data(json!({ "type": "get_state" }));
            assert_eq!(state["isStreaming"], false, "{dialect}, {what}");
            if dialect == Dialect::Pi {
                server.data(json!({ "type": "get_commands" }));
            }
            let frames = server.run("Look around.");
            let mut results: Vec<&str> = frames
                .iter()
                .filter(|frame| frame["type"] == "tool_execution_end")
                .filter_map(|frame| frame["result"]["content"][0]["text"].as_str())
                .collect();
            // The tools run at once: either may be over first.
            results.sort_unstable();
            assert!(
                matches!(*results, [found, matched] if found.contains("found.txt") && matched.contains("needle")),
                "{dialect}, {what}: {results:?}"
            );
            let peak = peak(&server);
            assert!(peak < MEMORY, "{dialect}, {what}: {} MiB", peak >> 20);
            server.close_stdin();
            let ended = server.ends();
            assert_eq!(ended.status.code(), Some(0), "{dialect}, {what}: {}", ended.stderr);
            let reason = match what {
                "enormous" => "may have",
                _ => "not a regular file",
            };
            for name in ["settings.json", "models.json", "auth.json", "AGENTS.md"] {
                let told = ended.stderr.lines().any(|line| line.contains(name) && line.contains(reason));
                assert!(told, "{dialect}, {what}: {name} is not named\n{}", ended.stderr);
            }
        }
    }
}
