//! An inspection in this process, and its page as a client.

use pi_rpc::{
    inspect::{App, PageServer, ServerCommand, Subject},
    protocol::DialectVersion,
};
use serde_json::{Value, json};
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    sync::Arc,
};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::{Message, WebSocket, client};

/// An inspection that is served. Ends when it is dropped.
pub struct Page {
    app: Arc<App>,
    address: String,
    /// The address for a browser's command line.
    pub ticket: String,
    runtime: Option<tokio::runtime::Runtime>,
    folder: TempDir,
}

/// An answer of the server.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: String,
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|_| panic!("no JSON: {}", String::from_utf8_lossy(&self.body)))
    }
}

impl Page {
    /// Inspects a subject.
    pub fn of(subject: impl FnOnce(&Path) -> Subject, dialect: Option<&str>) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let told = dialect.map(|name| DialectVersion::parse(name).unwrap());
        let subject = subject(folder.path());
        let scripts = folder.path().join("scripts");
        let (app, address, ticket) = runtime.block_on(async {
            let server = PageServer::bind(0).await.unwrap();
            let address = server.address();
            let ticket = server.address_for_browser().unwrap();
            let app = App::start(subject, told, &scripts).unwrap();
            tokio::spawn(server.serve(app.clone(), std::future::pending()));
            (app, address, ticket)
        });
        Self { app, address, ticket, runtime: Some(runtime), folder }
    }

    /// Inspects a recording, which is read to its end.
    pub fn of_file(path: &Path) -> Self {
        let page = Self::of(|_| Subject::File(path.to_owned()), None);
        page.until(|session| session["reading"]["done"] == session["reading"]["total"]);
        page
    }

    /// Inspects a server that is started by this command line.
    pub fn of_command(words: &[&str], dialect: Option<&str>) -> Self {
        let owned: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Self::of(
            |_| {
                Subject::Command(ServerCommand {
                    program: owned[0].clone().into(),
                    arguments: owned[1..].iter().map(Into::into).collect(),
                    shown: owned.clone(),
                    dialect: dialect.map(str::to_owned),
                })
            },
            dialect,
        )
    }

    /// The folder of this inspection.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The path with the token, which every path begins with.
    pub fn base(&self) -> String {
        let (_, path) = self.address.trim_start_matches("http://").split_once('/').unwrap();
        format!("/{path}")
    }

    /// The name and port of the server.
    pub fn authority(&self) -> &str {
        self.address.trim_start_matches("http://").split('/').next().unwrap()
    }

    /// Sends a request with these lines of the head, and reads the answer.
    pub fn raw(&self, head: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(self.authority()).unwrap();
        let length = body.len();
        write!(stream, "{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|part| part == b"\r\n\r\n").unwrap();
        let headers = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
        let status = headers.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, headers, body: bytes[end + 4..].to_vec() }
    }

    /// Sends a request of the page itself.
    pub fn request(&self, method: &str, path: &str, body: &str) -> Answer {
        let head = format!(
            "{method} {}{path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json",
            self.base(),
            self.authority()
        );
        self.raw(&head, body)
    }

    /// Reads an answer that must be JSON.
    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        let answer = self.request("GET", path, "");
        assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
        answer.json()
    }

    /// Posts JSON.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.request("POST", path, &body.to_string())
    }

    /// Sends a line that is accepted.
    #[track_caller]
    pub fn send(&self, line: &Value) {
        let answer = self.post("api/send", &json!({ "line": line.to_string() }));
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
    }

    /// The socket of the page.
    pub fn follow(&self) -> Live {
        let stream = TcpStream::connect(self.authority()).unwrap();
        let address = format!("ws://{}{}api/live", self.authority(), self.base());
        Live(client(address, stream).unwrap().0)
    }

    /// Follows the recording until the answer of `api/session` is as expected.
    pub fn until(&self, holds: impl Fn(&Value) -> bool) -> Value {
        let mut live = self.follow();
        loop {
            let session = self.get("api/session");
            if holds(&session) {
                return session;
            }
            live.next();
            live.acknowledge();
        }
    }

    /// Follows the recording until it has so many records.
    pub fn until_records(&self, count: u64) -> Value {
        self.until(|session| session["totals"]["records"].as_u64().unwrap() >= count)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(self.app.close());
            runtime.shutdown_background();
        }
    }
}

/// The socket of the page.
pub struct Live(WebSocket<TcpStream>);

impl Live {
    /// The next message.
    pub fn next(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.0.read().unwrap() {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    /// The next message of this type; others are skipped.
    pub fn next_of(&mut self, kind: &str) -> Value {
        loop {
            let message = self.next();
            if message["type"] == kind {
                return message;
            }
        }
    }

    /// Acknowledges the last update.
    pub fn acknowledge(&mut self) {
        self.0.send(Message::Text(json!({ "type": "ack" }).to_string().into())).unwrap();
    }
}

/// The binary.
pub const BINARY: &str = env!("CARGO_BIN_EXE_pi-rpc");

/// A recording of the judge's tests.
pub fn recording(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/valid").join(name)
}

/// An answer with its times rounded, which differ from run to run.
pub fn without_times(mut value: Value) -> Value {
    erase(&mut value);
    value
}

fn erase(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match ["t", "until", "ms", "duration", "firstDelta", "pid"].contains(&name.as_str()) {
                    true if member.is_number() => *member = json!(0),
                    _ => erase(member),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(erase),
        _ => {}
    }
}
