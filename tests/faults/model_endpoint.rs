//! An endpoint that misbehaves as a test says, and a host of the real binary whose conversation the oracle judges.

use crate::serve_support::{
    FakeVendor, Server, base_url, binary, command, eventually, key_of, of_type, write_agent_file,
    write_models_file,
};
use pi_rpc::{
    oracle::{Direction, Judge, Record, View},
    protocol::Dialect,
};
use rustix::net::sockopt::set_socket_linger;
use ruzstd::decoding::StreamingDecoder;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// The key that every request carries, and nothing else may.
pub const KEY: &str = "sk-planted-0123456789abcdef";

/// A dialect in which an answer is told without repetitions.
pub const DIALECT: Dialect = Dialect::Pi1;

type Behaviour = Arc<dyn Fn(&mut Caller) + Send + Sync>;

/// Listens on this machine, and treats one caller after another as it was told last.
#[derive(Clone)]
pub struct Endpoint {
    pub address: SocketAddr,
    behaviour: Arc<Mutex<Behaviour>>,
    asked: Arc<AtomicUsize>,
}

/// Who asks, and what.
pub struct Caller {
    stream: TcpStream,
    /// The whole request: its head and its body, which may be packed.
    pub request: Vec<u8>,
    /// How often was asked before.
    pub number: usize,
}

impl Endpoint {
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let behaviour: Behaviour = Arc::new(|_: &mut Caller| {});
        let endpoint = Self {
            address: listener.local_addr().unwrap(),
            behaviour: Arc::new(Mutex::new(behaviour)),
            asked: Arc::default(),
        };
        let own = endpoint.clone();
        // It ends with the test's process.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Some(mut caller) = Caller::hear(stream.unwrap()) else { continue };
                caller.number = own.asked.fetch_add(1, Ordering::SeqCst);
                let behaviour = own.behaviour.lock().unwrap().clone();
                behaviour(&mut caller);
            }
        });
        endpoint
    }

    /// From now on callers are treated so.
    pub fn does(&self, behaviour: impl Fn(&mut Caller) + Send + Sync + 'static) {
        *self.behaviour.lock().unwrap() = Arc::new(behaviour);
    }

    /// From now on callers get these bytes, and are hung up on.
    pub fn says(&self, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        self.does(move |caller| {
            caller.say(&bytes);
        });
    }

    /// How often it was asked.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// What a vendor that plays `say` answers to a prompt of `talk`, byte by byte.
    pub fn record(&self, talk: &mut Talk, say: Value) -> Vec<u8> {
        let vendor = FakeVendor::plays(&json!({ "turns": [{ "say": say, "size": 5 }] })).address;
        let recorded = Arc::new(Mutex::new(Vec::new()));
        let keeps = recorded.clone();
        self.does(move |caller| {
            let mut asking = TcpStream::connect(vendor).unwrap();
            asking.write_all(&caller.request).unwrap();
            let mut answer = Vec::new();
            let mut piece = [0; 4096];
            while !answer.ends_with(b"\r\n0\r\n\r\n") {
                let read = asking.read(&mut piece).unwrap();
                assert_ne!(read, 0, "{}", String::from_utf8_lossy(&answer));
                answer.extend_from_slice(&piece[..read]);
            }
            caller.say(&answer);
            *keeps.lock().unwrap() = answer;
        });
        assert_ne!(talk.run("record")["stopReason"], "error");
        let recorded = std::mem::take(&mut *recorded.lock().unwrap());
        assert!(recorded.starts_with(b"HTTP/1.1 200 OK\r\n"));
        recorded
    }
}

impl Caller {
    fn hear(stream: TcpStream) -> Option<Self> {
        stream.set_nodelay(true).unwrap();
        let mut reader = BufReader::new(&stream);
        let mut head = String::new();
        let mut length = 0;
        // One that leaves while it speaks is not heard.
        while reader.read_line(&mut head).ok()? > 2 {
            let line = head.lines().next_back()?.to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            }
        }
        let mut request = head.into_bytes();
        reader.take(length).read_to_end(&mut request).ok()?;
        (!request.is_empty()).then_some(Self { stream, request, number: 0 })
    }

    /// The body of the request, unpacked.
    pub fn body(&self) -> String {
        let head = self.request.windows(4).position(|end| end == b"\r\n\r\n").unwrap();
        let body = &self.request[head + 4..];
        let mut text = String::new();
        match StreamingDecoder::new(body) {
            Ok(mut unpacked) => unpacked.read_to_string(&mut text).unwrap(),
            Err(_) => return String::from_utf8_lossy(body).into_owned(),
        };
        text
    }

    /// Whether the bytes could be said.
    pub fn say(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    /// Waits until the caller has left.
    pub fn stall(&mut self) {
        while matches!(self.stream.read(&mut [0; 64]), Ok(1..)) {}
    }

    /// Hangs up in the rude way.
    pub fn reset(&mut self) {
        set_socket_linger(&self.stream, Some(Duration::ZERO)).unwrap();
    }
}

/// The head of an answer that streams until it hangs up.
pub const OPEN: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// An answer with a status, more headers (each ended by CR LF) and a body, which says its length.
pub fn answer(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Scripted\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// The events that say `deltas` in the words of `api`, up to the end of the answer.
pub fn stream(api: &str, deltas: &[&str]) -> String {
    format!("{}{}", begun(api, deltas), end(api))
}

/// The events that begin an answer and say `deltas`.
pub fn begun(api: &str, deltas: &[&str]) -> String {
    start(api) + &deltas.iter().map(|text| delta(api, text)).collect::<String>()
}

fn event(value: &Value) -> String {
    match value["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {value}\n\n"),
        None => format!("data: {value}\n\n"),
    }
}

/// The events that begin an answer with a text.
pub fn start(api: &str) -> String {
    let events = match api {
        "anthropic-messages" => vec![
            json!({ "type": "message_start", "message": { "id": "msg_1", "usage": { "input_tokens": 3 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        ],
        "openai-completions" | "mistral-conversations" => {
            vec![json!({ "id": "c1", "choices": [{ "delta": { "role": "assistant" } }] })]
        }
        "pi-messages" => {
            vec![json!({ "type": "start", "id": "p1" }), json!({ "type": "text_start", "contentIndex": 0 })]
        }
        "google-generative-ai" | "google-vertex" => {
            vec![
                json!({ "responseId": "g1", "candidates": [{ "content": { "role": "model", "parts": [{ "text": "" }] } }] }),
            ]
        }
        _ => vec![
            json!({ "type": "response.created", "response": { "id": "resp_1" } }),
            json!({ "type": "response.output_item.added", "output_index": 0,
                "item": { "type": "message", "id": "m1", "content": [] } }),
            json!({ "type": "response.content_part.added", "output_index": 0,
                "part": { "type": "output_text", "text": "" } }),
        ],
    };
    events.iter().map(event).collect()
}

/// The event that says more of the text.
pub fn delta(api: &str, text: &str) -> String {
    event(&match api {
        "anthropic-messages" => json!({ "type": "content_block_delta", "index": 0,
            "delta": { "type": "text_delta", "text": text } }),
        "openai-completions" | "mistral-conversations" => {
            json!({ "id": "c1", "choices": [{ "delta": { "content": text } }] })
        }
        "pi-messages" => json!({ "type": "text_delta", "contentIndex": 0, "delta": text }),
        "google-generative-ai" | "google-vertex" => {
            json!({ "candidates": [{ "content": { "parts": [{ "text": text }] } }] })
        }
        _ => json!({ "type": "response.output_text.delta", "output_index": 0, "delta": text }),
    })
}

/// The events that end an answer.
pub fn end(api: &str) -> String {
    match api {
        "anthropic-messages" => {
            let stop = json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" } });
            event(&stop) + &event(&json!({ "type": "message_stop" }))
        }
        "openai-completions" | "mistral-conversations" => {
            let stop = json!({ "id": "c1", "choices": [{ "delta": {}, "finish_reason": "stop" }] });
            event(&stop) + "data: [DONE]\n\n"
        }
        "pi-messages" => event(&json!({ "type": "done", "reason": "stop" })),
        "google-generative-ai" | "google-vertex" => {
            event(&json!({ "candidates": [{ "finishReason": "STOP" }] }))
        }
        _ => event(&json!({ "type": "response.completed",
            "response": { "id": "resp_1", "status": "completed" } })),
    }
}

/// A host that talks to the real binary, whose only model is at an endpoint. Every frame of both is judged.
pub struct Talk {
    pub server: Server,
    judge: Judge,
    /// The file of the session.
    file: PathBuf,
    prompts: usize,
    descriptors: usize,
}

impl Talk {
    /// With a model of `api` at `endpoint`; nothing is tried again.
    pub fn new(endpoint: &Endpoint, api: &str, options: &[&str]) -> Self {
        Self::at(&format!("http://{}", endpoint.address), api, options, &[])
    }

    /// With a model of `api` at `base`, under more of an environment.
    pub fn at(base: &str, api: &str, options: &[&str], environment: &[(&str, &str)]) -> Self {
        let retry = json!({ "enabled": false, "provider": { "maxRetries": 0 } });
        Self::under(&json!({ "retry": retry }), base, api, options, environment)
    }

    /// With these settings. Answers come as server-sent events: WebSockets have tests of their own.
    pub fn under(
        settings: &Value,
        base: &str,
        api: &str,
        options: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = base_url(api, base);
        // ChatGPT takes only tokens that name an account; the key is in another header then.
        let is_chatgpt = api == "openai-codex-responses";
        let key = if is_chatgpt { key_of(api) } else { KEY.to_owned() };
        let headers = if is_chatgpt { json!({ "x-own-key": KEY }) } else { json!({}) };
        let models = json!({ "providers": { "fake": {
            "baseUrl": base, "apiKey": key, "api": api, "headers": headers, "models": [{ "id": "model", "contextWindow": 1_000_000_000 }],
        } } });
        write_models_file(dir.path(), DIALECT, &models);
        let mut settings = settings.clone();
        settings["transport"] = "sse".into();
        write_agent_file(dir.path(), DIALECT, "settings.json", &settings);
        let mut command = command(binary(), dir.path());
        command.args(["serve", "--dialect", DIALECT.as_str(), "--model", "fake/model"]);
        command.args(["--session-dir", "sessions"]).args(options).envs(environment.iter().copied());
        let server = Server::start(DIALECT, dir, command);
        let judge = Judge::new(DIALECT, View::Both);
        let mut talk = Self { server, judge, file: PathBuf::new(), prompts: 0, descriptors: 0 };
        talk.begins();
        talk.descriptors = talk.open_descriptors();
        talk
    }

    pub fn send(&mut self, frame: Value) {
        self.judges(Direction::In, &frame);
        self.server.send(frame);
    }

    #[track_caller]
    fn judges(&mut self, direction: Direction, frame: &Value) {
        let found = self.judge.observe(&Record::line(0.0, direction, frame.to_string().as_bytes()));
        assert!(found.is_empty(), "{frame}: {found:#?}");
    }

    #[track_caller]
    pub fn next(&mut self) -> Value {
        let frame = self.server.next();
        self.judges(Direction::Out, &frame);
        frame
    }

    #[track_caller]
    pub fn until(&mut self, fits: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut frames = Vec::new();
        loop {
            frames.push(self.next());
            if frames.last().is_some_and(&fits) {
                return frames;
            }
        }
    }

    /// The data of the response to a command, which succeeds.
    #[track_caller]
    pub fn data(&mut self, mut command: Value) -> Value {
        command["id"] = "data".into();
        self.send(command);
        let mut response = self.until(|frame| frame["id"] == "data").pop().unwrap();
        assert_eq!(response["success"], true, "{response}");
        response["data"].take()
    }

    /// Begins another session.
    pub fn begins_anew(&mut self) {
        self.data(json!({ "type": "new_session" }));
        self.begins();
    }

    fn begins(&mut self) {
        let file = self.data(json!({ "type": "get_state" }))["sessionFile"].take();
        self.file = self.server.path(file.as_str().unwrap());
    }

    /// A prompt of which nobody has heard before.
    pub fn prompts(&mut self, text: &str) -> String {
        self.prompts += 1;
        let prompt = format!("{text} {}", self.prompts);
        self.send(json!({ "id": "prompt", "type": "prompt", "message": prompt }));
        prompt
    }

    /// Prompts; the answer, when everything that it started is over. The session's file
    /// ends with the answer, and has both.
    #[track_caller]
    pub fn run(&mut self, text: &str) -> Value {
        let prompt = self.prompts(text);
        self.settles(&prompt)
    }

    /// The answer to `prompt`, when everything that it started is over. The session's file
    /// ends with the answer, and has both.
    #[track_caller]
    pub fn settles(&mut self, prompt: &str) -> Value {
        let frames = self.until(|frame| frame["type"] == "agent_settled");
        let mut ends = of_type(&frames, "message_end").into_iter().map(|frame| frame["message"].clone());
        let answer = ends.next_back().expect("an answer");
        assert_eq!(answer["role"], "assistant", "{answer}");
        let kept = self.kept();
        assert_eq!(kept[kept.len() - 1], answer);
        let is_kept = |message: &Value| message["role"] == "user" && message.to_string().contains(prompt);
        assert!(kept.iter().any(is_kept), "{prompt}: {kept:#?}");
        assert!(!answer.to_string().contains(KEY), "{answer}");
        answer
    }

    /// The same for a prompt whose answer fails; the text of the error.
    #[track_caller]
    pub fn fails(&mut self, text: &str) -> String {
        let answer = self.run(text);
        assert_eq!(answer["stopReason"], "error", "{answer}");
        answer["errorMessage"].as_str().unwrap().to_owned()
    }

    /// The messages in the session's file.
    pub fn kept(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.file).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["type"] == "message").map(|mut line| line["message"].take()).collect()
    }

    fn open_descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.server.child.id())).unwrap().count()
    }

    /// A prompt is answered as ever, and nothing is left over: no descriptor, no process, no file, no word on stderr.
    #[track_caller]
    pub fn ends_well(mut self, endpoint: &Endpoint, api: &str) {
        endpoint.says(format!("{OPEN}{}", stream(api, &["All ", "is well."])));
        let answer = self.run("and now?");
        assert_eq!((&answer["stopReason"], text_of(&answer)), (&json!("stop"), "All is well."));
        self.ends(&[]);
    }

    /// Ends the input of a server that is idle: nothing is left over, and stderr has exactly lines with these texts.
    #[track_caller]
    pub fn ends(mut self, stderr: &[&str]) {
        self.begins_anew();
        let (before, pid) = (self.descriptors, self.server.child.id());
        let now = || fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
        // A command that was tried has started the watcher, which has a pipe.
        eventually("no more descriptors are open than before", || (before..=before + 1).contains(&now()));
        self.server.close_stdin();
        let ended = self.server.ends();
        assert_eq!((ended.status.code(), ended.frames), (Some(0), Vec::new()), "{}", ended.stderr);
        let lines: Vec<&str> = ended.stderr.lines().collect();
        assert_eq!(lines.len(), stderr.len(), "{}", ended.stderr);
        for (line, text) in lines.iter().zip(stderr) {
            assert!(line.contains(text), "{line}");
        }
        let mut files: Vec<_> =
            fs::read_dir(ended.dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
        files.sort();
        assert_eq!(files, [".pi", "sessions"]);
    }
}

/// The text of an answer that has one block at most.
pub fn text_of(answer: &Value) -> &str {
    assert!(answer["content"].as_array().unwrap().len() < 2, "{answer}");
    answer["content"][0]["text"].as_str().unwrap_or_default()
}
