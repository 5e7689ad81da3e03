//! One server, sent the host's lines of a recording.

use crate::unlike::normalized;
use serde_json::{Value, json};
use std::{
    fs,
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

/// Script of the model.
#[derive(Clone, Copy)]
pub struct Script {
    /// Name in the report.
    pub name: &'static str,
    /// Whether the first answer never ends.
    hangs: bool,
}

/// The models that each recording is played with.
pub const SCRIPTS: [Script; 2] =
    [Script { name: "answering", hangs: false }, Script { name: "hanging", hangs: true }];

/// Silence after which no further output is expected.
const QUIET: Duration = Duration::from_millis(300);

/// Plays the host's lines of a recording, and returns the output of the server.
pub fn played(binary: &Path, recording: &Path, script: Script) -> io::Result<Vec<String>> {
    let home = tempfile::tempdir()?;
    let (mut server, lines) = start(binary, dialect(recording), script, home.path())?;
    let mut written = Vec::new();
    let mut stdin = server.stdin.take().ok_or_else(|| io::Error::other("the server has no stdin"))?;
    for line in host_lines(recording)? {
        // A server that has ended writes nothing more, which shows.
        if send(&mut stdin, &line).is_err() {
            break;
        }
        while let Ok(line) = lines.recv_timeout(QUIET) {
            written.extend(normalized(&line));
        }
    }
    drop(stdin);
    while let Ok(line) = lines.recv_timeout(Duration::from_secs(10)) {
        written.extend(normalized(&line));
    }
    // One that does not end by itself has said all that is compared.
    let _ = server.kill();
    server.wait()?;
    Ok(written)
}

fn start(binary: &Path, dialect: &str, script: Script, home: &Path) -> io::Result<(Child, Receiver<String>)> {
    let file = home.join("script.json");
    fs::write(&file, turns(script).to_string())?;
    let mut server = Command::new(fs::canonicalize(binary)?)
        .args(["serve", "--dialect", dialect, "--model"])
        .arg(format!("scripted/{}", file.display()))
        .args(["--session-dir", "sessions", "--no-extensions", "--no-context-files", "--no-skills"])
        .current_dir(home)
        .env("HOME", home)
        .env("PI_CODING_AGENT_DIR", home.join("agent"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let stdout = server.stdout.take().ok_or_else(|| io::Error::other("the server has no stdout"))?;
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        BufReader::new(stdout).lines().map_while(Result::ok).all(|line| sender.send(line).is_ok())
    });
    Ok((server, lines))
}

/// The model's turns: a tool call, then text, and so on; or a first answer without an end.
fn turns(script: Script) -> Value {
    let hanging = json!({ "say": [{ "text": "This goes on" }], "hang": true });
    let calling =
        json!({ "say": [{ "text": "Look." }, { "tool": "bash", "arguments": { "command": "echo one" } }] });
    let ending = json!({ "repeat": true, "say": [{ "thinking": "Well." }, { "text": "Done." }] });
    match script.hangs {
        true => json!({ "turns": [hanging, calling, ending] }),
        false => json!({ "turns": [calling, ending] }),
    }
}

/// The dialect of a recording, by the program that it is of.
fn dialect(recording: &Path) -> &'static str {
    let path = recording.to_string_lossy();
    match () {
        () if path.contains("xcsh") => "xcsh",
        () if path.contains("pi-1") => "pi-1",
        () => "pi",
    }
}

/// Lines of the host, byte for byte where the recording has the bytes.
fn host_lines(recording: &Path) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(recording)?;
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines = records.filter(|record| record["dir"] == "in").map(|record| match &record["raw"] {
        Value::String(raw) => raw.clone(),
        _ => format!("{}\n", record["frame"]),
    });
    Ok(lines.collect())
}

fn send(stdin: &mut ChildStdin, line: &str) -> io::Result<()> {
    stdin.write_all(line.as_bytes())?;
    stdin.flush()
}
