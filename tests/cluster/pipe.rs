//! `pi-rpc attach` goes on while any host lives.

use crate::{
    host_support::waiting,
    nodes::{Nodes, open},
    serve_support::{binary, command},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Lines, Write as _},
    process::{Child, ChildStdin, ChildStdout, Stdio},
};

/// A pipe to a session.
struct Pipe {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Pipe {
    /// Attaches to a session by these nodes.
    fn start(nodes: &Nodes, indices: &[usize], session: &str) -> Self {
        let hosts = indices.iter().map(|index| format!("unix:{}", nodes.socket(*index).display()));
        let address = format!("{}/sessions/{session}", hosts.collect::<Vec<_>>().join(","));
        let mut line = command(binary(), nodes.socket(0).parent().unwrap());
        line.arg("attach").arg(address).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = line.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, stdin, stdout: BufReader::new(stdout).lines() }
    }

    fn send(&mut self, frame: &Value) {
        writeln!(self.stdin, "{frame}").unwrap();
    }

    /// The types of the frames up to the first one of this type.
    fn until(&mut self, kind: &str) -> Vec<String> {
        let mut kinds = Vec::new();
        while kinds.last().is_none_or(|last| last != kind) {
            let line = self.stdout.next().expect("the pipe has ended").unwrap();
            let frame: Value = serde_json::from_str(&line).unwrap();
            kinds.push(frame["type"].as_str().unwrap().to_owned());
        }
        kinds
    }

    /// Asks for the state, and whether the session works.
    fn is_streaming(&mut self, id: &str) -> bool {
        self.send(&json!({ "type": "get_state", "id": id }));
        loop {
            let line = self.stdout.next().expect("the pipe has ended").unwrap();
            let frame: Value = serde_json::from_str(&line).unwrap();
            if frame["id"] == id {
                return frame["data"]["isStreaming"].as_bool().unwrap_or_else(|| panic!("{frame}"));
            }
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn pipe_outlives_owner_and_host() {
    let Some(mut nodes) = Nodes::start_with(3, &waiting(), "5") else { return };
    // The first node has the session; the pipe goes by the second one.
    let session = open(&mut nodes.client(0));
    let mut pipe = Pipe::start(&nodes, &[1, 2], &session);
    pipe.send(&json!({ "type": "prompt", "id": "p", "message": "Wait" }));
    pipe.until("tool_execution_start");
    nodes.end(0, Signal::KILL);
    // The run that was cut is closed, though no host has its frames.
    let closed = pipe.until("agent_settled");
    let ends: Vec<&str> = closed.iter().map(String::as_str).filter(|kind| kind.contains("end")).collect();
    assert_eq!(ends, ["tool_execution_end", "turn_end", "agent_end"], "{closed:?}");
    assert!(!pipe.is_streaming("s"));
    nodes.end(1, Signal::KILL);
    assert!(!pipe.is_streaming("t"));
}
