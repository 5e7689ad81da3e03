//! A client of a shared connection.

use crate::{latencies::Latencies, vendor::Vendor};
use memchr::memmem;
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::Path,
    time::{Duration, Instant},
};

/// Time limit for a frame.
const PATIENCE: Duration = Duration::from_secs(120);
/// Commands that are written before the responses are read.
const BATCH: usize = 32;

pub struct Client {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    line: Vec<u8>,
    sessions: Vec<String>,
}

impl Client {
    pub fn connect(socket: &Path) -> Self {
        let writer = UnixStream::connect(socket).expect("a socket");
        let reader = writer.try_clone().expect("a socket");
        reader.set_read_timeout(Some(PATIENCE)).expect("a socket");
        let reader = BufReader::with_capacity(256 * 1024, reader);
        Self { reader, writer, line: Vec::new(), sessions: Vec::new() }
    }

    pub fn send(&mut self, frame: &Value) {
        self.writer.write_all(format!("{frame}\n").as_bytes()).expect("the host reads");
    }

    /// Reads a frame.
    fn next(&mut self) -> &[u8] {
        self.line.clear();
        let count = self.reader.read_until(b'\n', &mut self.line).expect("a frame");
        assert!(count > 0, "the host has hung up");
        &self.line
    }

    /// Reads up to the first frame with `mark`. Returns the number of frames.
    pub fn until(&mut self, mark: &str) -> usize {
        (1..).find(|_| memmem::find(self.next(), mark.as_bytes()).is_some()).unwrap_or_default()
    }

    /// The response to a command with an id.
    pub fn request(&mut self, frame: &Value) -> Value {
        self.send(frame);
        loop {
            let line = self.next();
            if memmem::find(line, b"\"type\":\"response\"").is_none() {
                continue;
            }
            let response: Value = serde_json::from_slice(line).expect("JSON");
            if response["id"] == frame["id"] {
                assert_eq!(response["success"], true, "{response}");
                return response;
            }
        }
    }

    /// Opens a session in memory.
    pub fn open(&mut self) -> String {
        self.open_with(&json!({ "inMemory": true }))
    }

    /// Opens a session with these members of the command.
    pub fn open_with(&mut self, members: &Value) -> String {
        let mut frame = json!({ "type": "open_session", "id": "o" });
        frame
            .as_object_mut()
            .into_iter()
            .for_each(|frame| frame.extend(members.as_object().cloned().unwrap_or_default()));
        let opened = self.request(&frame);
        opened["data"]["sessionId"].as_str().expect("a handle").to_owned()
    }

    /// Opens sessions in memory, some at a time.
    pub fn open_many(&mut self, count: usize) {
        let mut left = count;
        while left > 0 {
            let batch = left.min(BATCH);
            (0..batch)
                .for_each(|_| self.send(&json!({ "type": "open_session", "id": "o", "inMemory": true })));
            let mut opened = 0;
            while opened < batch {
                let line = self.next();
                if memmem::find(line, b"\"command\":\"open_session\"").is_some() {
                    let response: Value = serde_json::from_slice(line).expect("JSON");
                    let handle = response["data"]["sessionId"].as_str();
                    let handle = handle.unwrap_or_else(|| panic!("{response}")).to_owned();
                    self.sessions.push(handle);
                    opened += 1;
                }
            }
            left -= batch;
        }
    }

    /// Asks all sessions for their states. Returns the time of the last response.
    pub fn ask_all(&mut self) -> Instant {
        let mut text = String::new();
        for session in &self.sessions {
            text.push_str(&format!("{{\"type\":\"get_state\",\"id\":\"s\",\"sessionId\":\"{session}\"}}\n"));
        }
        let mut writer = self.writer.try_clone().expect("a socket");
        std::thread::scope(|scope| {
            scope.spawn(move || writer.write_all(text.as_bytes()).expect("the host reads"));
            for _ in 0..self.sessions.len() {
                self.until("\"command\":\"get_state\"");
            }
        });
        Instant::now()
    }

    /// Prompts all sessions, and times each delta until all have settled.
    pub fn stream_all(&mut self, vendor: &Vendor) -> Latencies {
        for at in 0..self.sessions.len() {
            let frame =
                json!({ "type": "prompt", "id": "p", "message": "Hi", "sessionId": self.sessions[at] });
            self.send(&frame);
        }
        let (mut latencies, mut settled) = (Latencies::default(), 0);
        let delta = memmem::Finder::new(b"\"delta\":\"");
        while settled < self.sessions.len() {
            let line = self.next();
            if let Some(at) = delta.find(line) {
                let stamps = &line[at + b"\"delta\":\"".len()..];
                let end = memchr::memchr(b'"', stamps).unwrap_or(stamps.len());
                // Coalesced deltas are several stamps.
                for stamp in stamps[..end].split(|byte| *byte == b';').filter(|stamp| !stamp.is_empty()) {
                    latencies.push(vendor.since(stamp));
                }
            } else if memmem::find(line, b"\"agent_settled\"").is_some() {
                settled += 1;
            }
        }
        latencies
    }
}
