//! A host that listens at a TCP port, and WebSocket clients of it.

use crate::serve_support::{TOO_LONG, binary, command};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read as _, Write as _},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread::{self, JoinHandle},
};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::{
    self, Message, WebSocket,
    client::{IntoClientRequest as _, client},
};

/// Tokens and their SHA-256.
pub const TOKENS: [(&str, &str); 3] = [
    ("secret", "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"),
    ("other", "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"),
    ("third", "b1e99324505bd32da0e1f85dcf5e19a09db0481e8a15f62c41eb320304a8e927"),
];

/// Writes the file `tokens` with these limits.
pub fn write_tokens(dir: &Path, limits: Vec<Value>) {
    let names = ["a", "b", "c"];
    let tokens: Vec<Value> = limits
        .into_iter()
        .zip(TOKENS.iter().zip(names))
        .map(|(limits, ((_, hash), name))| json!({ "sha256": hash, "name": name, "limits": limits }))
        .collect();
    fs::write(dir.join("tokens"), json!({ "tokens": tokens }).to_string()).unwrap();
}

/// A host with a scripted model, whose log is kept.
pub struct TcpHost {
    pub dir: TempDir,
    pub address: String,
    log: Arc<Mutex<String>>,
    logger: Option<JoinHandle<()>>,
    child: Child,
}

impl TcpHost {
    /// Starts a host that lets `secret` in with the first limits, `other` with the second.
    pub fn start(turns: &Value, limits: impl FnOnce(&str) -> Vec<Value>, arguments: &[&str]) -> Self {
        Self::start_prepared(turns, limits, arguments, |_| ())
    }

    /// As [`start`](Self::start), with files that are there before.
    pub fn start_prepared(
        turns: &Value,
        limits: impl FnOnce(&str) -> Vec<Value>,
        arguments: &[&str],
        prepare: impl FnOnce(&Path),
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let here = dir.path().to_str().unwrap().to_owned();
        write_tokens(dir.path(), limits(&here));
        prepare(dir.path());
        Self::start_in(dir, turns, &[&["--token-file", "tokens"], arguments].concat())
    }

    /// Starts a host in this directory with these arguments; `turns` may be a whole script.
    pub fn start_in(dir: TempDir, turns: &Value, arguments: &[&str]) -> Self {
        Self::start_with(dir, turns, arguments, &[])
    }

    /// Starts a host in this directory with these arguments and variables.
    pub fn start_with(dir: TempDir, turns: &Value, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut line = command(binary(), dir.path());
        line.envs(variables.iter().copied());
        Self::start_by(line, dir, turns, arguments)
    }

    /// As [`start_in`](Self::start_in), by a command that starts the program with further arguments.
    pub fn start_by(mut line: Command, dir: TempDir, turns: &Value, arguments: &[&str]) -> Self {
        let script = if turns.is_array() { json!({ "turns": turns }) } else { turns.clone() };
        fs::write(dir.path().join("script.json"), script.to_string()).unwrap();
        line.args(["host", "--model", "scripted/script.json", "--dialect", "pi-1"]);
        Self::start_line(line, dir, arguments)
    }

    /// Starts a host by the beginning of its command line, with these arguments.
    pub fn start_line(mut line: Command, dir: TempDir, arguments: &[&str]) -> Self {
        if !arguments.contains(&"--listen") {
            line.args(["--listen", "ws://127.0.0.1:0"]);
        }
        line.args(arguments).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = line.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut text = String::new();
        let address = loop {
            let mut line = String::new();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "the host has ended: {text}");
            text += &line;
            if let Some((_, address)) = line.trim_end().rsplit_once("listening at ") {
                break address.split('"').next().unwrap().to_owned();
            }
        };
        let log = Arc::new(Mutex::new(text));
        let kept = log.clone();
        let logger = thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                *kept.lock().unwrap() += &format!("{line}\n");
            }
        });
        Self { dir, address, log, logger: Some(logger), child }
    }

    /// Host and port.
    pub fn authority(&self) -> &str {
        self.address.split_once("://").unwrap().1
    }

    /// Host and port of the first address by TCP.
    pub fn tcp_authority(&self) -> String {
        let log = self.log();
        let (_, address) = log.split_once("listening at ws://").unwrap();
        address.lines().next().unwrap().to_owned()
    }

    /// A WebSocket at this path; the error is the HTTP status and what the body has as `error`.
    pub fn connect(&self, path: &str, token: &str) -> Result<WsClient, (u16, String)> {
        self.connect_with(path, token, &[])
    }

    /// As [`connect`](Self::connect), with further headers.
    pub fn connect_with(
        &self,
        path: &str,
        token: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<WsClient, (u16, String)> {
        let stream = TcpStream::connect(self.authority()).unwrap();
        stream.set_read_timeout(Some(TOO_LONG)).unwrap();
        let mut request = format!("ws://{}{path}", self.authority()).into_client_request().unwrap();
        if !token.is_empty() {
            let value = format!("Bearer {token}").parse().unwrap();
            request.headers_mut().insert("authorization", value);
        }
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        match client(request, stream) {
            Ok((socket, _)) => Ok(WsClient { socket }),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(response))) => {
                let body = response.body().as_deref().unwrap_or_default();
                let body: Value = serde_json::from_slice(body).unwrap();
                Err((response.status().as_u16(), body["error"].as_str().unwrap().to_owned()))
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Sends a request with this head and returns all that comes back until the host hangs up.
    pub fn exchange(&self, head: &str) -> String {
        let mut stream = TcpStream::connect(self.authority()).unwrap();
        stream.set_read_timeout(Some(TOO_LONG)).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// A shared connection.
    pub fn client(&self, token: &str) -> WsClient {
        self.connect("/", token).unwrap_or_else(|refused| panic!("{refused:?}"))
    }

    /// What `pi-rpc host --status` comes to, for this token.
    pub fn status_output(&self, token: &str, arguments: &[&str]) -> Output {
        let mut line = command(binary(), self.dir.path());
        line.args(["host", "--status", &self.address]).args(arguments).env("PI_RPC_TOKEN", token);
        line.output().unwrap()
    }

    /// The status that this token sees.
    pub fn status(&self, token: &str) -> Value {
        let Output { stdout, stderr, .. } = self.status_output(token, &["--json"]);
        serde_json::from_slice(&stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&stderr)))
    }

    /// Sends the host a signal.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// What the host has logged until its end.
    pub fn whole_log(mut self) -> String {
        self.child.wait().unwrap();
        self.logger.take().unwrap().join().unwrap();
        self.log()
    }

    /// What the host has logged so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }
}

impl Drop for TcpHost {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A WebSocket of frames.
pub struct WsClient {
    socket: WebSocket<TcpStream>,
}

impl WsClient {
    pub fn send(&mut self, frame: &Value) {
        self.send_line(&frame.to_string());
    }

    pub fn send_line(&mut self, line: &str) {
        self.socket.send(Message::text(line)).unwrap();
    }

    pub fn next(&mut self) -> Value {
        loop {
            match self.socket.read().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Close(frame) => panic!("the host has hung up: {frame:?}"),
                _ => {}
            }
        }
    }

    /// Reads until the host has hung up.
    pub fn until_closed(mut self) {
        loop {
            match self.socket.read() {
                Ok(Message::Close(_)) => return,
                Ok(_) => {}
                Err(tungstenite::Error::Io(error)) => {
                    assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "the host does not hang up");
                    return;
                }
                Err(_) => return,
            }
        }
    }

    /// Says that the client has no more to say.
    pub fn close(&mut self) {
        self.socket.close(None).unwrap();
    }

    /// Reads until the host has closed the connection. Returns the code of its Close frame; `None`: it had none.
    pub fn close_code(mut self) -> Option<u16> {
        loop {
            match self.socket.read() {
                Ok(Message::Close(frame)) => return frame.map(|frame| frame.code.into()),
                Ok(_) => {}
                Err(error) => panic!("the host has hung up without a Close frame: {error}"),
            }
        }
    }

    /// The first frame that `is_it` recognises. Other frames in front of it are dropped.
    pub fn find(&mut self, mut is_it: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let frame = self.next();
            if is_it(&frame) {
                return frame;
            }
        }
    }

    /// Sends a command and returns its response.
    pub fn request(&mut self, frame: &Value) -> Value {
        self.send(frame);
        self.find(|other| other["type"] == "response" && other["id"] == frame["id"])
    }

    /// The error of a refused command.
    pub fn refused(&mut self, frame: &Value) -> String {
        let response = self.request(frame);
        response["error"].as_str().unwrap_or_else(|| panic!("{response}")).to_owned()
    }

    /// Opens a session with these members besides. Returns its handle.
    pub fn open(&mut self, members: &Value) -> String {
        let mut frame = json!({ "type": "open_session", "id": "open", "inMemory": true });
        frame.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let opened = self.request(&frame);
        opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned()
    }
}
