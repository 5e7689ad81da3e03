//! A vendor whose deltas say when they were written.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::MissedTickBehavior,
};

/// An endpoint that speaks `openai-completions`.
pub struct Vendor {
    address: String,
    began: Instant,
}

impl Vendor {
    /// Starts it: each answer has so many deltas, one at each interval.
    pub fn start(deltas: usize, pace: Duration) -> Self {
        let began = Instant::now();
        let (sender, address) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
                sender.send(listener.local_addr().expect("an address")).expect("the bench waits");
                let head = Arc::new(HEAD.to_owned());
                loop {
                    let (stream, _) = listener.accept().await.expect("a connection");
                    tokio::spawn(answer(stream, head.clone(), began, deltas, pace));
                }
            });
        });
        let address = format!("http://{}/v1", address.recv().expect("an address"));
        Self { address, began }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// The time since a stamp, in microseconds since the start, was written.
    pub fn since(&self, stamp: &[u8]) -> Duration {
        let text = str::from_utf8(stamp).expect("digits");
        let written = Duration::from_micros(text.parse().unwrap_or_else(|_| panic!("a stamp, not {text}")));
        self.began.elapsed().saturating_sub(written)
    }
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

async fn answer(mut stream: TcpStream, head: Arc<String>, began: Instant, deltas: usize, pace: Duration) {
    let _ = stream.set_nodelay(true);
    while read_request(&mut stream).await {
        if stream.write_all(head.as_bytes()).await.is_err() {
            return;
        }
        // Streams begin at different moments of the interval.
        tokio::time::sleep(pace.mul_f64(fastrand::f64())).await;
        let mut ticks = tokio::time::interval(pace);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for _ in 0..deltas {
            ticks.tick().await;
            let data = format!(
                "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{};\"}}}}]}}\n\n",
                began.elapsed().as_micros()
            );
            if !write_chunk(&mut stream, &data).await {
                return;
            }
        }
        let end =
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
        if !write_chunk(&mut stream, end).await || stream.write_all(b"0\r\n\r\n").await.is_err() {
            return;
        }
    }
}

async fn write_chunk(stream: &mut TcpStream, data: &str) -> bool {
    stream.write_all(format!("{:x}\r\n{data}\r\n", data.len()).as_bytes()).await.is_ok()
}

/// Reads a request with its body. `false`: there is none.
async fn read_request(stream: &mut TcpStream) -> bool {
    let mut request = Vec::new();
    loop {
        if let Some(end) = memchr::memmem::find(&request, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&request[..end]).to_lowercase();
            let length = head
                .lines()
                .find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
            if request.len() >= end + 4 + length.unwrap_or(0) {
                return true;
            }
        }
        let mut chunk = [0; 16 * 1024];
        match stream.read(&mut chunk).await {
            Ok(count) if count > 0 => request.extend_from_slice(&chunk[..count]),
            _ => return false,
        }
    }
}
