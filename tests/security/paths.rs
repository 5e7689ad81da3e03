//! Paths from a host or a model: protected files stay unchanged, and reading never hangs or is endless.

use crate::extended_support::outcome;
use crate::serve_support::{Server, at_once, binary, command, pairs, sample};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// A server with a session in a file, and a conversation in it.
fn talking() -> Server {
    let dir = tempfile::tempdir().unwrap();
    let mut serve = command(binary(), dir.path());
    serve.args(["serve", "--dialect", "pi", "--model", "scripted/demo", "--session", "./talk.jsonl"]);
    let mut server = Server::start(Dialect::Pi, dir, serve);
    server.run("hello");
    server
}

#[test]
fn export_overwrites_no_session_or_device() {
    let mut server = talking();
    let other = json!({"type": "session", "version": 3, "id": "other", "timestamp": "2026-01-05T10:00:00.000Z", "cwd": "/"});
    let other = format!("{other}\n");
    fs::write(server.path("other.jsonl"), &other).unwrap();
    symlink(server.path("talk.jsonl"), server.path("link.html")).unwrap();
    fs::create_dir(server.path("folder")).unwrap();
    fifo(&server.path("pipe"));
    let before = fs::read(server.path("talk.jsonl")).unwrap();
    for path in [
        "talk.jsonl",
        "link.html",
        "other.jsonl",
        "folder",
        "pipe",
        "/dev/null",
        "/dev/full",
        "/proc/self/mem",
    ] {
        let refused = server.ask("export", json!({"type": "export_html", "outputPath": path}));
        assert_eq!(refused["success"], false, "{path}: {refused}");
    }
    assert_eq!(fs::read(server.path("talk.jsonl")).unwrap(), before);
    assert_eq!(fs::read_to_string(server.path("other.jsonl")).unwrap(), other);
    // What is a page, or anything else of the host, may be written over, and a link stays one.
    fs::write(server.path("real.html"), "x".repeat(10_000_000)).unwrap();
    symlink(server.path("real.html"), server.path("page.html")).unwrap();
    server.data(json!({"type": "export_html", "outputPath": "page.html"}));
    let page = fs::read_to_string(server.path("real.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(server.path("page.html").is_symlink());
    server.run("and on it goes");
    server.finishes();
}

#[test]
fn switching_leaves_other_files_unchanged() {
    let mut server = talking();
    let files = [
        ("notes.txt", "Buy milk"),
        ("data.json", "{\"a\": 1}\n"),
        ("lines.jsonl", "{\"type\":\"message\"}\n{\"type\":\"session\"}\n"),
        ("code.rs", "fn main() {}\n// no line feed"),
        ("typed.json", "{\"type\": \"other\""),
    ];
    for (name, text) in files {
        fs::write(server.path(name), text).unwrap();
    }
    fs::create_dir(server.path("folder")).unwrap();
    fifo(&server.path("pipe"));
    let others = ["folder", "pipe", "/dev/zero", "/dev/tty", "/proc/self/mem", "talk.jsonl/under"];
    for name in files.iter().map(|(name, _)| *name).chain(others) {
        let path = if name.starts_with('/') { name.into() } else { server.path(name) };
        let refused = server.ask("switch", json!({"type": "switch_session", "sessionPath": path}));
        assert_eq!(refused["success"], false, "{name}: {refused}");
    }
    for (name, text) in files {
        assert_eq!(fs::read_to_string(server.path(name)).unwrap(), text, "{name}");
    }
    // The session goes on in its own file.
    let before = fs::metadata(server.path("talk.jsonl")).unwrap().len();
    server.run("still here");
    assert!(fs::metadata(server.path("talk.jsonl")).unwrap().len() > before);
    server.finishes();
}

#[test]
fn an_id_is_no_path() {
    let dir = tempfile::tempdir().unwrap();
    for id in ["../../escape", "a/b", "..", "/etc/x", "a\nb", "\u{1b}[2J", "-", ""] {
        let mut serve = command(binary(), dir.path());
        let ended = serve
            .args(["serve", "--model", "scripted/demo", "--session-id", id])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(ended.status.code(), Some(1), "{id:?}");
        assert!(!ended.stderr.contains(&0x1b), "{id:?}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn session_name_stays_one_line() {
    let mut server = talking();
    let name = "a\nb\u{1b}[2J\u{202e}\0\u{2028}c";
    server.data(json!({"type": "set_session_name", "name": name}));
    assert_eq!(server.data(json!({"type": "get_state"}))["sessionName"], name);
    let dir = server.finishes();
    let lines = fs::read_to_string(dir.path().join("talk.jsonl")).unwrap();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["name"], name);
}

/// What the tool says of these arguments, and whether it failed; in a folder that `furnish` fills.
fn call(tool: &str, arguments: Value, furnish: impl FnOnce(&Path)) -> (String, bool, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    furnish(dir.path());
    let turns = json!([
        {"onResult": "", "repeat": true, "say": [{"text": "So it was."}]},
        {"repeat": true, "say": [{"tool": tool, "arguments": arguments}]},
    ]);
    let mut server = Server::script_in(
        Dialect::Pi,
        dir,
        turns,
        &["--no-session", "--tools", "read,write,edit,grep,find,ls"],
    );
    let frames = server.run("go");
    let (text, failed) = outcome(&frames);
    let text = text.to_owned();
    assert!(server.peak_mib() < 300, "{tool}: {} MiB", server.peak_mib());
    (text, failed, server.finishes())
}

#[test]
fn tools_do_not_hang_on_devices() {
    let paths = ["pipe", "/dev/zero", "/dev/full", "/proc/self/mem", "loop", "folder"];
    // Each tool and each path is in the sample.
    at_once(sample(pairs(&paths, &["read", "write", "edit"]), 2), |(path, tool)| {
        let mut arguments = json!({"path": path});
        let more: &[(&str, &str)] = match tool {
            "write" => &[("content", "x")],
            "edit" => &[("oldText", "a"), ("newText", "b")],
            _ => &[],
        };
        more.iter().for_each(|(name, text)| arguments[name] = json!(text));
        let (text, failed, _dir) = call(tool, arguments, |dir| {
            fifo(&dir.join("pipe"));
            symlink("loop", dir.join("loop")).unwrap();
            fs::create_dir(dir.join("folder")).unwrap();
        });
        assert!(failed, "{tool} {path}: {text}");
    });
}

#[test]
fn searches_skip_devices_and_loops() {
    for (tool, arguments) in [
        ("grep", json!({"pattern": "needle", "path": "."})),
        ("find", json!({"pattern": "*.txt", "path": "."})),
        ("ls", json!({"path": "."})),
    ] {
        let (text, failed, _dir) = call(tool, arguments, |dir| {
            fifo(&dir.join("pipe"));
            symlink(".", dir.join("around")).unwrap();
            symlink("/dev/zero", dir.join("zero")).unwrap();
            fs::write(dir.join("there.txt"), "a needle\n").unwrap();
            fs::write(dir.join("line\nfeed.txt"), "a needle\n").unwrap();
        });
        assert!(!failed && text.contains("there.txt"), "{tool}: {text}");
        assert!(!text.contains("around/there.txt"), "{tool}: {text}");
    }
}

/// A PNG that says that it is that large, with hardly any data.
fn png(width: u32, height: u32) -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc)))
    };
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 6, 0, 0, 0]].concat();
    for (kind, data) in [(b"IHDR", header), (b"IDAT", vec![0x78, 0x9c, 0x63, 0, 0]), (b"IEND", Vec::new())] {
        let body = [&kind[..], &data].concat();
        png.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        png.extend(&body);
        png.extend(crc(&body).to_be_bytes());
    }
    png
}

#[test]
fn image_with_huge_claim_takes_no_memory() {
    for image in [png(50_000, 50_000), png(u32::MAX >> 1, 1), png(0, 0), b"\x89PNG\r\n\x1a\nbroken".to_vec()]
    {
        // The memory is bounded in `call`; the server goes on, whatever the tool says.
        call("read", json!({"path": "bomb.png"}), |dir| fs::write(dir.join("bomb.png"), &image).unwrap());
    }
}

#[test]
fn huge_file_is_read_in_part() {
    let (text, failed, _dir) = call("read", json!({"path": "large.txt"}), |dir| {
        fs::File::create(dir.join("large.txt")).unwrap().set_len(1 << 40).unwrap();
    });
    assert!(failed || text.len() < 200_000, "{} bytes", text.len());
}
