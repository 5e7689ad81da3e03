//! Plays a run with a program.

use super::{Observations, Run, case::Case, layout::lay_out, observe::Traces};
use crate::serve_support::{FakeVendor, Server, TOO_LONG, binary};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The program that is played with.
#[derive(Clone, Copy)]
pub enum Program<'a> {
    Ours,
    /// A release of pi: a program and its first arguments.
    Pi(&'a [PathBuf]),
}

impl Program<'_> {
    fn command(self, root: &Path, run: &Run) -> Command {
        let mut command = match self {
            Self::Ours => Command::new(binary()),
            Self::Pi(words) => {
                let mut command = Command::new(&words[0]);
                command.args(&words[1..]);
                command
            }
        };
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", root.join("home")).env("TMPDIR", root.join("tmp")).env("PI_OFFLINE", "1");
        let text = |text: &String| text.replace("{root}", &root.display().to_string());
        command.envs(run.variables.iter().map(|(name, value)| (name, text(value))));
        command.current_dir(root.join("project"));
        match &run.arguments {
            Some(arguments) => command.args(arguments.iter().map(text)),
            None => command.args(["--mode", "rpc"]).args(run.options.iter().map(text)),
        };
        command
    }
}

/// Plays a run, and returns what was observed; nothing if pi needs a program for it that is not here.
pub fn play((topic, run): &(String, Run), program: Program<'_>) -> Observations {
    let mut observations = Observations::new();
    let can_play = match (program, &run.needs) {
        (Program::Pi(_), Some(needed)) => is_on_path(needed),
        _ => true,
    };
    if can_play {
        play_run(topic, run, program, &mut observations);
    }
    observations
}

fn is_on_path(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

fn play_run(topic: &str, run: &Run, program: Program<'_>, observations: &mut Observations) {
    let dir = tempfile::tempdir().expect("a folder");
    let root = dir.path().canonicalize().expect("a path");
    let vendor = FakeVendor::plays_leniently(&script(run));
    lay_out(&root, run, vendor.address);
    let command = program.command(&root, run);
    let mut note = |case: &Case, value: Value| {
        let known = observations.insert(format!("{topic}/{}/{}", run.name, case.name), value);
        assert!(known.is_none(), "{topic}/{}/{}: twice", run.name, case.name);
    };
    if run.arguments.is_some() {
        let end = Some(run_to_end(command, &run.stdin));
        for case in &run.cases {
            let requests = vendor.journal.received();
            let traces =
                Traces { root: &root, requests, frames: Vec::new(), response: Value::Null, end: end.clone() };
            note(case, traces.see(&case.see));
        }
        return;
    }
    let mut session = Session { server: Server::start(Dialect::Pi1, dir, command), asked: 0, ended: false };
    let mut frames_of_all = Vec::new();
    for case in run.cases.iter().filter(|case| !is_of_end(case)) {
        let before = vendor.journal.received().len();
        let (response, frames) = session.play(case);
        frames_of_all.extend(frames.clone());
        let requests = vendor.journal.received().split_off(before);
        let traces = Traces { root: &root, requests, frames, response, end: None };
        note(case, if session.ended { json!("ended") } else { traces.see(&default_names(case)) });
    }
    let (server, mut stderr) = (session.server, String::new());
    let status = finish(server, &mut stderr);
    for case in run.cases.iter().filter(|case| is_of_end(case)) {
        let traces = Traces {
            root: &root,
            requests: vendor.journal.received(),
            frames: frames_of_all.clone(),
            response: Value::Null,
            end: Some((status, String::new(), stderr.clone())),
        };
        note(case, traces.see(&case.see));
    }
}

/// Whether the case is about the end of the process.
fn is_of_end(case: &Case) -> bool {
    case.prompt.is_none() && case.call.is_none() && case.command.is_none()
}

fn default_names(case: &Case) -> Vec<String> {
    let names: &[&str] = match case {
        _ if !case.see.is_empty() => return case.see.clone(),
        Case { call: Some(_), .. } => &["result"],
        Case { prompt: Some(_), .. } => &["sent"],
        _ => &["data", "error"],
    };
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The script of the model: its own turns, a turn for each call of a tool, and an answer to everything else.
fn script(run: &Run) -> Value {
    let calls = run.cases.iter().filter_map(|case| {
        let (tool, arguments) = case.call.as_ref()?;
        Some(json!({
            "match": format!("case {}.", case.name), "repeat": true,
            "say": [{ "tool": tool, "arguments": arguments }],
        }))
    });
    let mut turns = run.turns.clone();
    turns.push(json!({ "onResult": "", "repeat": true, "say": [{ "text": "Done." }] }));
    turns.extend(calls);
    turns.push(json!({ "repeat": true, "say": [{ "text": "Well." }] }));
    json!({ "turns": turns })
}

/// Runs a process to its end: status, stdout and stderr.
fn run_to_end(mut command: Command, stdin: &str) -> (Option<i32>, String, String) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let mut input = child.stdin.take().expect("stdin");
    // It may have ended.
    drop(input.write_all(stdin.as_bytes()));
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// A conversation with a process.
struct Session {
    server: Server,
    asked: usize,
    ended: bool,
}

impl Session {
    /// Plays a case: the response, and all frames up to the end of what it caused.
    fn play(&mut self, case: &Case) -> (Value, Vec<Value>) {
        self.asked += 1;
        let id = format!("q{}", self.asked);
        let mut command = match case {
            Case { command: Some(command), .. } => command.clone(),
            Case { call: Some(_), .. } => {
                json!({ "type": "prompt", "message": format!("case {}.", case.name) })
            }
            Case { prompt, .. } => json!({ "type": "prompt", "message": prompt }),
        };
        command["id"] = id.clone().into();
        if !self.server.try_send(command) {
            self.ended = true;
            return (Value::Null, Vec::new());
        }
        let (mut response, mut frames) = (Value::Null, Vec::new());
        let mut is_open = false;
        while response.is_null() || is_open {
            let Some(frame) = self.next() else { break };
            match frame["type"].as_str() {
                Some("response") if frame["id"] == id.as_str() => {
                    response = frame.clone();
                    is_open |= frame["data"]["disposition"] == "started";
                }
                Some("agent_start") => is_open = true,
                Some("agent_settled") => is_open = false,
                _ => {}
            }
            frames.push(frame);
        }
        (response, frames)
    }

    /// The next frame; a line that is none counts as no frame. `None`: the process has ended.
    fn next(&mut self) -> Option<Value> {
        let line = self.server.next_line();
        self.ended |= line.is_none();
        line.map(|line| serde_json::from_slice(&line).unwrap_or_default())
    }
}

/// Closes stdin and waits for the end; returns the status.
fn finish(mut server: Server, stderr: &mut String) -> Option<i32> {
    server.close_stdin();
    while server.next_line().is_some() {}
    let ended = server.ends_within(TOO_LONG);
    *stderr = ended.stderr;
    ended.status.code()
}
