//! Lines over streams of bytes and over WebSocket.

use super::shared_connection::{CLOSE_TIMEOUT, ConnectionEnd, ReadLines, WriteLines};
use axum::{
    body::Bytes,
    extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, close_code},
};
use futures_util::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use pi_rpc_processes::line_reader::LineReader;
use pi_rpc_protocol::{LineSplitter, SplitLine};
use pi_rpc_server::{Sink, Stdin};
use std::io::{self, IoSlice};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufWriter};

/// Bytes that are gathered before they are written.
const CHUNK: usize = 64 * 1024;

impl<R: AsyncRead + Unpin + Send> ReadLines for LineReader<R> {
    async fn next(&mut self) -> Option<Result<Vec<u8>, String>> {
        match Self::next(self).await {
            Ok(line) => line.map(|line| line.map_err(|error| error.to_string())),
            Err(error) => {
                tracing::warn!("a connection broke: {error}");
                None
            }
        }
    }
}

/// The next line that is buffered already.
fn buffered(splitter: &mut LineSplitter, max_frame: usize) -> Option<Result<Vec<u8>, String>> {
    let line = match splitter.next_line()? {
        SplitLine::Line(line) => Ok(line.to_vec()),
        SplitLine::TooLong(length) => Err(format!("the line has {length} bytes, the limit is {max_frame}")),
    };
    splitter.release();
    Some(line)
}

/// The last line, if only its line feed is missing.
fn last(splitter: &mut LineSplitter) -> Option<Result<Vec<u8>, String>> {
    match splitter.finish()? {
        SplitLine::Line(line) => Some(Ok(line.to_vec())),
        SplitLine::TooLong(_) => None,
    }
}

/// Lines of stdin.
pub struct StdinReader {
    stdin: Stdin,
    splitter: LineSplitter,
    max_frame: usize,
    has_ended: bool,
}

impl StdinReader {
    /// A reader of lines of at most `max_frame` bytes.
    pub fn new(max_frame: usize) -> io::Result<Self> {
        Ok(Self { stdin: Stdin::new()?, splitter: LineSplitter::new(max_frame), max_frame, has_ended: false })
    }
}

impl ReadLines for StdinReader {
    async fn next(&mut self) -> Option<Result<Vec<u8>, String>> {
        loop {
            if let Some(line) = buffered(&mut self.splitter, self.max_frame) {
                return Some(line);
            }
            if self.has_ended {
                return None;
            }
            match self.stdin.read(&mut self.splitter).await {
                Ok(0) => {
                    self.has_ended = true;
                    return last(&mut self.splitter);
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::error!("stdin: {error}");
                    self.has_ended = true;
                }
            }
        }
    }
}

/// Writer of lines to stdout.
pub struct StdoutWriter {
    sink: Sink,
    buffer: Vec<u8>,
}

impl StdoutWriter {
    /// A writer with a buffer.
    pub fn new() -> io::Result<Self> {
        Ok(Self { sink: Sink::stdout()?, buffer: Vec::new() })
    }
}

impl WriteLines for StdoutWriter {
    async fn write(&mut self, line: Vec<u8>) -> bool {
        self.buffer.extend(line);
        self.buffer.len() < CHUNK || self.flush().await
    }

    async fn flush(&mut self) -> bool {
        let mut written = 0;
        while written < self.buffer.len() {
            match self.sink.write(&[IoSlice::new(&self.buffer[written..])]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.sink.writable().await,
                Err(error) => {
                    tracing::warn!("stdout: {error}");
                    return false;
                }
            }
        }
        self.buffer.clear();
        true
    }
}

/// Writer of lines to a stream of bytes.
pub struct StreamWriter<W>(BufWriter<W>);

impl<W: AsyncWrite + Unpin + Send> StreamWriter<W> {
    /// A writer with a buffer.
    pub fn new(to: W) -> Self {
        Self(BufWriter::with_capacity(CHUNK, to))
    }
}

impl<W: AsyncWrite + Unpin + Send> WriteLines for StreamWriter<W> {
    async fn write(&mut self, line: Vec<u8>) -> bool {
        self.0.write_all(&line).await.is_ok()
    }

    async fn flush(&mut self) -> bool {
        self.0.flush().await.is_ok()
    }
}

/// Both ends of a WebSocket, a text message a line.
pub fn web_socket(socket: WebSocket) -> (SocketReader, SocketWriter) {
    let (to, from) = socket.split();
    (SocketReader(from), SocketWriter(to))
}

/// Lines of a WebSocket.
pub struct SocketReader(SplitStream<WebSocket>);

impl ReadLines for SocketReader {
    async fn next(&mut self) -> Option<Result<Vec<u8>, String>> {
        loop {
            return match self.0.next().await {
                Some(Ok(Message::Text(text))) => Some(Ok(Bytes::from(text).to_vec())),
                Some(Ok(Message::Binary(_))) => {
                    Some(Err("a frame is a text message, not a binary one".to_owned()))
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => continue,
                Some(Ok(Message::Close(_)) | Err(_)) | None => None,
            };
        }
    }

    async fn finish(&mut self) {
        finish(&mut self.0).await;
    }
}

/// Writer of lines to a WebSocket.
pub struct SocketWriter(SplitSink<WebSocket, Message>);

impl WriteLines for SocketWriter {
    async fn write(&mut self, mut lines: Vec<u8>) -> bool {
        lines.pop();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            // Frames are JSON that this process has encoded.
            let text = Utf8Bytes::try_from(line.to_vec()).unwrap_or_default();
            if self.0.feed(Message::Text(text)).await.is_err() {
                return false;
            }
        }
        true
    }

    async fn flush(&mut self) -> bool {
        self.0.flush().await.is_ok()
    }

    async fn close(&mut self, end: ConnectionEnd) {
        let (code, reason) = match end {
            ConnectionEnd::Over => (close_code::NORMAL, "the connection is over"),
            ConnectionEnd::Stopping => (close_code::AWAY, "the host ends"),
            ConnectionEnd::Revoked => (close_code::POLICY, REVOKED),
        };
        send_close(&mut self.0, code, reason).await;
    }
}

/// Why a connection ends whose token was revoked.
pub const REVOKED: &str = "its token was revoked";

/// Sends a Close frame, or the answer to that of the client. Source: RFC 6455, section 5.5.1.
async fn send_close(to: &mut SplitSink<WebSocket, Message>, code: u16, reason: &'static str) {
    let frame = CloseFrame { code, reason: Utf8Bytes::from_static(reason) };
    // A client that is gone needs none.
    let _ = to.send(Message::Close(Some(frame))).await;
}

/// Reads on until the client has sent its Close frame: what is unread would make the system drop what was written.
async fn finish(from: &mut SplitStream<WebSocket>) {
    while let Some(Ok(message)) = from.next().await {
        if let Message::Close(_) = message {
            return;
        }
    }
}

/// Ends a WebSocket with a Close frame, and waits for that of the client for a while.
pub async fn close(
    to: &mut SplitSink<WebSocket, Message>,
    from: &mut SplitStream<WebSocket>,
    code: u16,
    reason: &'static str,
) {
    let closing = async {
        send_close(to, code, reason).await;
        finish(from).await;
    };
    // A client that does not answer is left.
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
}
