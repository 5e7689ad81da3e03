//! An endpoint that repeats everything that it was sent.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

/// The ways in which it repeats a request; the first part of the path says which.
pub const WAYS: [&str; 7] = ["refusal", "cut", "redirect", "stream", "page", "broken", "hung-up"];

/// It listens until the test is over.
pub struct Hostile {
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Hostile {
    pub fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, heard) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
        let hears = heard.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let hears = hears.clone();
                thread::spawn(move || serve(stream.unwrap(), &hears));
            }
        });
        Self { address, heard }
    }

    /// The requests so far.
    pub fn heard(&self) -> String {
        self.heard.lock().unwrap().join("\n")
    }
}

/// Answers one request and closes the connection; whoever asks may have gone.
fn serve(mut stream: TcpStream, hears: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
        head += &line;
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let body = String::from_utf8_lossy(&body).into_owned();
    let _ = stream.write_all(answer(&head, &body).as_bytes());
    hears.lock().unwrap().push(head + &body);
}

fn answer(head: &str, body: &str) -> String {
    let path = head.split(' ').nth(1).unwrap_or_default();
    let echo = head.replace("\r\n", " | ") + body;
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        let name = name.to_lowercase();
        (name == "authorization" || name == "x-api-key").then_some(value)
    });
    let key = key.unwrap_or_default();
    let whole = |status: &str, kind: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    };
    match WAYS.into_iter().find(|way| path.contains(way)) {
        Some("refusal") => {
            let body = serde_json::json!({ "error": { "type": "authentication_error", "message": echo } });
            whole("401 Unauthorized", "application/json", &body.to_string())
        }
        // What is shown of it ends within the key.
        Some("cut") => {
            let bare = key.trim_start_matches("Bearer ");
            whole("403 Forbidden", "text/plain", &format!("{}{bare} and more", "x".repeat(980)))
        }
        Some("redirect") => format!(
            "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/?key={}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            key.replace(' ', "%20"),
        ),
        Some("stream") => {
            let error =
                serde_json::json!({ "type": "error", "error": { "type": "server", "message": echo } });
            whole("200 OK", "text/event-stream", &format!("event: error\ndata: {error}\n\n"))
        }
        Some("page") => whole("200 OK", "text/html", &format!("<p>{echo}</p>")),
        Some("broken") => whole("200 OK", "text/event-stream", &format!("data: {echo}\n\n")),
        Some("hung-up") => String::new(),
        // As a proxy.
        _ => whole("407 Proxy Authentication Required", "text/plain", &echo),
    }
}
