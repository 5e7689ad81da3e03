//! The model that all servers talk to: a script behind Anthropic's API, in a process of its own.

use crate::{DELTAS, Outcome, process::Process};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    time::Instant,
};

/// Number of tool calls of one prompt.
pub const CALLS: usize = 50;

/// Number of characters of a delta.
pub const CHARACTERS: u32 = 20;

/// Process of the model.
pub struct Model {
    pub address: SocketAddr,
    conversations: AtomicUsize,
    _process: Process,
}

impl Model {
    /// Starts a model with tool calls for `conversations` conversations.
    pub fn start(place: &Path, conversations: usize) -> Outcome<Self> {
        let path = place.join("script.json");
        fs::write(&path, script(conversations).to_string()).map_err(|error| error.to_string())?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_pi-rpc"));
        command.args(["mock-llm", "--lenient", "--exit-with-stdin", "--script"]).arg(path);
        let mut process = Process::spawn(&mut command)?;
        let line = process.until("listening on")?;
        let line = String::from_utf8_lossy(&line);
        let address = line.rsplit('/').next().and_then(|address| address.parse().ok());
        let address = address.ok_or_else(|| format!("no address: {line}"))?;
        Ok(Self { address, conversations: 0.into(), _process: process })
    }

    /// Next prompt that leads to [`CALLS`] bash calls.
    pub fn tools(&self) -> String {
        tools(self.conversations.fetch_add(1, Ordering::Relaxed))
    }

    /// Next prompt that leads to [`CALLS`] calls of a tool of an MCP server.
    pub fn mcp_calls(&self) -> String {
        mcp_calls(self.conversations.fetch_add(1, Ordering::Relaxed))
    }

    /// Seconds for the longest answer with a client that discards it; the best of five.
    pub fn alone(&self) -> Outcome<f64> {
        let times: Result<Vec<_>, _> = (0..5).map(|_| self.answer()).collect();
        Ok(times.map_err(|error| error.to_string())?.into_iter().fold(f64::INFINITY, f64::min))
    }

    fn answer(&self) -> std::io::Result<f64> {
        let prompt = burst(DELTAS[DELTAS.len() - 1]);
        let messages = json!([{ "role": "user", "content": prompt }]);
        let body =
            json!({ "model": "fake-1", "max_tokens": 100, "stream": true, "messages": messages }).to_string();
        let mut stream = TcpStream::connect(self.address)?;
        let since = Instant::now();
        write!(
            stream,
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nx-api-key: key\r\nanthropic-version: 2023-06-01\r\n\
             content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let mut chunk = vec![0; 64 * 1024];
        while stream.read(&mut chunk)? > 0 {}
        Ok(since.elapsed().as_secs_f64())
    }
}

/// Prompt that is answered in `deltas` deltas, as fast as possible.
pub fn burst(deltas: u32) -> String {
    format!("Say {deltas} deltas at once.")
}

/// Prompt that is answered in `deltas` deltas, one per millisecond.
pub fn paced(deltas: u32) -> String {
    format!("Say {deltas} deltas one by one.")
}

fn tools(conversation: usize) -> String {
    format!("Call bash in conversation {conversation}.")
}

fn mcp_calls(conversation: usize) -> String {
    format!("Call the echo in conversation {conversation}.")
}

fn script(conversations: usize) -> Value {
    let mut turns = Vec::new();
    for deltas in DELTAS {
        let text = text(deltas * CHARACTERS);
        let say = |delay: u32| json!([{ "text": text, "size": CHARACTERS, "delayMs": delay }]);
        turns.push(json!({ "match": burst(deltas), "repeat": true, "say": say(0) }));
        turns.push(json!({ "match": paced(deltas), "repeat": true, "say": say(1) }));
    }
    for conversation in 0..conversations {
        let prompt = tools(conversation);
        // All commands differ, as some servers intervene when a call is repeated.
        turns.extend((0..CALLS).map(|call| {
            let command = format!("true # {call}");
            json!({ "match": prompt, "say": [{ "tool": "bash", "arguments": { "command": command } }] })
        }));
        let prompt = mcp_calls(conversation);
        turns.extend((0..CALLS).map(|call| {
            let text = format!("call {call}");
            json!({ "match": prompt, "say": [{ "tool": "mcp__s0__echo", "arguments": { "text": text } }] })
        }));
    }
    turns.push(json!({ "repeat": true, "say": [{ "text": "An answer." }] }));
    json!({ "turns": turns })
}

/// Text without repetition, as some servers end an answer that repeats itself.
fn text(characters: u32) -> String {
    let mut rng = fastrand::Rng::with_seed(1);
    (1..=characters).map(|at| if at % 7 == 0 { ' ' } else { rng.lowercase() }).collect()
}
