//! Eight servers of npm and PyPI over stdio.

use crate::{
    comparison::{Call, both, compare, configure, options, play, replaced, settle, vendor},
    peer_support::Agent,
    serve_support::of_type,
    toolchain_support::{environment, packages, progress, run},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
    thread,
};

/// The folder of the packages of npm.
pub fn node_packages() -> Option<PathBuf> {
    packages("tests/mcp_peers/node")
}

/// The folder of the programs of PyPI.
fn python_programs() -> Option<PathBuf> {
    Some(environment("tests/mcp_peers/requirements.txt")?.parent().unwrap().to_owned())
}

/// An entry for a program of npm.
fn of_npm(packages: &Path, program: &str, arguments: &[&str]) -> Value {
    let program = packages.join("node_modules/.bin").join(program);
    json!({ "command": program, "args": arguments, "exposure": "direct" })
}

/// An entry for a program of PyPI.
fn of_pypi(programs: &Path, program: &str, arguments: &[&str]) -> Value {
    json!({ "command": programs.join(program), "args": arguments, "exposure": "direct" })
}

/// The entries of all eight, by name; `None`, with a note, where they cannot be had.
pub fn all_eight() -> Option<Vec<(&'static str, Value)>> {
    let (npm, pypi) = (node_packages()?, python_programs()?);
    let memory = json!({ "MEMORY_FILE_PATH": "HOME/memory.json" });
    let mut with_memory = of_npm(&npm, "mcp-server-memory", &[]);
    with_memory["env"] = memory;
    Some(vec![
        ("everything", of_npm(&npm, "mcp-server-everything", &[])),
        ("filesystem", of_npm(&npm, "mcp-server-filesystem", &["HOME"])),
        ("memory", with_memory),
        ("thinking", of_npm(&npm, "mcp-server-sequential-thinking", &[])),
        ("commands", of_npm(&npm, "mcp-server-commands", &[])),
        ("fetch", of_pypi(&pypi, "mcp-server-fetch", &["--ignore-robots-txt", "--allow-private-ips"])),
        ("git", of_pypi(&pypi, "mcp-server-git", &["--repository", "HOME/repository"])),
        ("time", of_pypi(&pypi, "mcp-server-time", &["--local-timezone", "UTC"])),
    ])
}

/// Makes the files that the servers work with.
pub fn prepare(home: &Path) {
    fs::write(home.join("a.txt"), "first\nsecond\n").unwrap();
    let repository = home.join("repository");
    fs::create_dir_all(&repository).unwrap();
    fs::write(repository.join("b.txt"), "text\n").unwrap();
    let git = |words: &[&str]| {
        let mut git = Command::new("git");
        git.env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home)
            .current_dir(&repository);
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "A").env(format!("GIT_{who}_EMAIL"), "a@b.c");
            git.env(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
        }
        run(git.args(words)).unwrap();
    };
    git(&["init", "--quiet", "--initial-branch=main"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "Begin"]);
    fs::write(repository.join("b.txt"), "text\nmore\n").unwrap();
}

/// A page on this machine, until the process ends.
pub fn page() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.read(&mut [0; 4096]);
            let body = "<html><body><h1>Title</h1><p>A paragraph.</p></body></html>";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
            let _ = write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        }
    });
    address
}

/// The calls of each server.
fn calls(server: &str) -> Vec<Call> {
    match server {
        "everything" => vec![
            ("echo", json!({ "message": "Grüße" })),
            ("get-sum", json!({ "a": 2, "b": 3 })),
            ("get-tiny-image", json!({})),
            ("get-structured-content", json!({ "location": "New York" })),
            ("get-annotated-message", json!({ "messageType": "error", "includeImage": true })),
            ("get-resource-links", json!({ "count": 2 })),
            ("trigger-long-running-operation", json!({ "duration": 0.2, "steps": 2 })),
            ("get-sum", json!({ "a": "two", "b": 3 })),
        ],
        "filesystem" => vec![
            ("read_text_file", json!({ "path": "HOME/a.txt" })),
            ("write_file", json!({ "path": "HOME/c.txt", "content": "third" })),
            ("search_files", json!({ "path": "HOME", "pattern": "*.txt" })),
            ("read_text_file", json!({ "path": "/etc/hostname" })),
        ],
        "memory" => vec![
            (
                "create_entities",
                json!({ "entities": [{ "name": "A", "entityType": "letter", "observations": ["first"] }] }),
            ),
            ("search_nodes", json!({ "query": "letter" })),
            ("read_graph", json!({})),
        ],
        "thinking" => vec![(
            "sequentialthinking",
            json!({ "thought": "One.", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1 }),
        )],
        "commands" => vec![("run_command", json!({ "command": "echo from the server" }))],
        "fetch" => vec![
            ("fetch", json!({ "url": format!("http://{}/", page()) })),
            ("fetch", json!({ "url": "http://127.0.0.1:1/" })),
        ],
        "git" => vec![
            ("git_status", json!({ "repo_path": "HOME/repository" })),
            ("git_diff_unstaged", json!({ "repo_path": "HOME/repository" })),
            ("git_log", json!({ "repo_path": "HOME/repository", "max_count": 1 })),
            ("git_status", json!({ "repo_path": "HOME" })),
        ],
        "time" => vec![(
            "convert_time",
            json!({ "source_timezone": "Nowhere", "time": "12:00", "target_timezone": "Asia/Tokyo" }),
        )],
        _ => Vec::new(),
    }
}

#[test]
fn eight_servers_give_the_same() {
    let Some(servers) = all_eight() else { return };
    for (server, entry) in servers {
        compare(server, &entry, &calls(server), prepare);
    }
}

/// A script that names all tools of servers, and calls some.
#[cfg(feature = "codemode")]
const SCRIPT: &str = "\
const names = ALL_TOOLS.map((tool) => tool.name).filter((name) => name.startsWith('mcp__')).sort();
text(names);
const [sum, graph, time] = await Promise.all([
  tools.mcp__everything__get_sum({ a: 1, b: 2 }),
  tools.mcp__memory__read_graph({}),
  tools.mcp__time__convert_time({ source_timezone: 'UTC', time: '12:00', target_timezone: 'UTC' }),
]);
text(sum); text(graph); text(time);
const failed = await Promise.allSettled([tools.mcp__filesystem__read_text_file({ path: '/etc/hostname' })]);
return failed.map((it) => [it.status, it.value?.isError]);";

#[cfg(feature = "codemode")]
#[test]
fn scripts_reach_all_eight_alike() {
    let Some(servers) = all_eight() else { return };
    let Some(kinds) = both() else { return };
    let outputs = kinds.map(|kind| {
        let home = tempfile::tempdir().unwrap();
        prepare(home.path());
        let place = home.path().to_str().unwrap().to_owned();
        let entries = servers.iter().map(|(name, entry)| {
            let mut entry = replaced(entry, "HOME", &place);
            entry.as_object_mut().unwrap().shift_remove("exposure");
            ((*name).to_owned(), entry)
        });
        let entries: serde_json::Map<String, Value> = entries.collect();
        configure(home.path(), &entries.into());
        let vendor = vendor(&[json!({ "tool": "codemode", "arguments": { "code": SCRIPT } })]);
        let mut agent = Agent::start_in(home, kind, vendor.address, &options(kind));
        settle(&mut agent);
        let frames = play(&mut agent, "call 0.");
        agent.ends();
        let ends = of_type(&frames, "tool_execution_end");
        let of_script = ends.iter().find(|end| end["toolName"] == "codemode").unwrap();
        let nested = ends.iter().filter(|end| end["toolName"] != "codemode");
        let mut nested: Vec<String> = nested
            .map(|end| {
                let members: Vec<&String> = end.as_object().unwrap().keys().collect();
                format!("{} {:?} {members:?}", end["toolName"], end["isError"])
            })
            .collect();
        nested.sort();
        // The first text has the time that the script took.
        let texts = of_script["result"]["content"].as_array().unwrap().iter().skip(1);
        let texts: Vec<String> =
            texts.map(|block| block["text"].as_str().unwrap_or_default().replace(&place, "HOME")).collect();
        let output = texts.join("\n");
        (of_script["isError"].clone(), output, nested)
    });
    let [theirs, ours] = outputs;
    assert_eq!(ours, theirs);
    progress(&format!("eight servers from one script: {} nested calls alike", ours.2.len()));
}
