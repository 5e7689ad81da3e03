//! Reads stdout of an extension: splits lines, parses frames, and queues them as fast as the loop handles them.

use super::pipe::Pipe;
use pi_rpc_engine::{CallId, Input};
use pi_rpc_protocol::{
    Dialect, ExtensionFailed, FromExtension, FromExtensionKind, LineSplitter, SplitLine, mend_surrogates,
    read,
};
use std::sync::Arc;
use tokio::{
    process::ChildStdout,
    sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch},
};

/// How much is read at once, in bytes.
const CHUNK: usize = 64 * 1024;

/// The length from which a line is parsed on another thread, in bytes.
const LONG_LINE: usize = 256 * 1024;

/// Characters of a malformed line that an error shows.
const SHOWN_CHARS: usize = 80;

/// An input for the engine, with the permit for its bytes.
pub(super) struct QueuedInput {
    pub(super) input: Input,
    /// The permit for the bytes of the line, released when the loop has taken the input.
    pub(super) share: Option<OwnedSemaphorePermit>,
}

/// Reader of one extension's stdout.
pub(super) struct StdoutReader {
    from: CallId,
    dialect: Dialect,
    max_frame: usize,
    /// While `false`, nothing is read, because the host does not read.
    gate: watch::Receiver<bool>,
    /// While `false`, nothing is read after `register`: other extensions have not registered yet.
    greeted: watch::Receiver<bool>,
    /// Permits for bytes that are read and not handled.
    shares: Arc<Semaphore>,
    inputs: mpsc::Sender<Box<QueuedInput>>,
}

impl StdoutReader {
    pub(super) fn new(
        from: CallId,
        dialect: Dialect,
        max_frame: usize,
        gate: watch::Receiver<bool>,
        greeted: watch::Receiver<bool>,
        inputs: mpsc::Sender<Box<QueuedInput>>,
    ) -> Self {
        // There must be permits for the longest line.
        let max_frame = max_frame.clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Self { from, dialect, max_frame, gate, greeted, shares: Arc::new(Semaphore::new(max_frame)), inputs }
    }

    /// Reads stdout to its end.
    ///
    /// # Errors
    ///
    /// The extension has exceeded a limit.
    pub(super) async fn run(mut self, mut stdout: Pipe<ChildStdout>) -> Result<(), String> {
        let mut splitter = LineSplitter::new(self.max_frame);
        let mut chunk = vec![0; CHUNK];
        loop {
            // The sender may be gone; then the gate counts as open.
            let _ = self.gate.wait_for(|open| *open).await;
            let count = stdout.read(&mut chunk).await;
            if count == 0 {
                break;
            }
            splitter.push(&chunk[..count]);
            while let Some(line) = splitter.next_line() {
                self.handle_line(line).await?;
            }
            if splitter.is_skipping() {
                return Err(self.too_long());
            }
        }
        match splitter.finish() {
            Some(line) => self.handle_line(line).await,
            None => Ok(()),
        }
    }

    async fn handle_line(&mut self, line: SplitLine<'_>) -> Result<(), String> {
        let SplitLine::Line(line) = line else { return Err(self.too_long()) };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        let wanted = u32::try_from(line.len()).unwrap_or(u32::MAX);
        let share = self.shares.clone().acquire_many_owned(wanted).await.ok();
        let read = self.parse(line).await;
        let registers = matches!(read, Ok(FromExtension::Register(_)));
        let from = self.from;
        let input = match read {
            Ok(frame) => Input::Extension { from, frame: Box::new(frame) },
            Err(text) => match ended_request(line) {
                Some(id) => {
                    Input::Extension { from, frame: Box::new(ExtensionFailed { id, error: text }.into()) }
                }
                None if is_register(line) => Input::ExtensionBadRegister { from, text },
                None => Input::ExtensionBadLine { from, text },
            },
        };
        // The receiver may be gone; the process still has to end.
        let _ = self.inputs.send(Box::new(QueuedInput { input, share })).await;
        if registers {
            // The sender may be gone.
            let _ = self.greeted.wait_for(|greeted| *greeted).await;
        }
        Ok(())
    }

    async fn parse(&self, line: &[u8]) -> Result<FromExtension, String> {
        if line.len() < LONG_LINE {
            return read_frame(line, self.dialect);
        }
        let (line, dialect) = (line.to_vec(), self.dialect);
        let read = tokio::task::spawn_blocking(move || read_frame(&line, dialect)).await;
        read.unwrap_or_else(|panic| Err(format!("the line cannot be read: {panic}")))
    }

    fn too_long(&self) -> String {
        format!("it wrote a line of more than {} bytes", self.max_frame)
    }
}

/// Parses a line; the error says what is wrong. Half a character in an escape becomes U+FFFD, as in lines of the host.
fn read_frame(line: &[u8], dialect: Dialect) -> Result<FromExtension, String> {
    let text = str::from_utf8(line).map_err(|error| describe_bad_line(line, &error.to_string()))?;
    read(mend_surrogates(text).as_bytes(), dialect)
        .map_err(|error| describe_bad_line(line, &error.to_string()))
}

/// The id of the request that a malformed line was to complete; that request fails.
fn ended_request(line: &[u8]) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct End {
        #[serde(rename = "type")]
        kind: String,
        id: String,
    }
    let End { kind, id } = serde_json::from_slice(line).ok()?;
    let ends = [FromExtensionKind::Done, FromExtensionKind::Failed, FromExtensionKind::ToolResult];
    ends.iter().any(|end| end.as_str() == kind).then_some(id)
}

/// Whether a malformed line looks like a `register`, even if it is no JSON.
fn is_register(line: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Kind {
        #[serde(rename = "type")]
        kind: String,
    }
    let start = || line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).take(REGISTER_START.len());
    let kind = serde_json::from_slice(line).map(|Kind { kind }| kind == FromExtensionKind::Register.as_str());
    kind.unwrap_or_else(|_| start().eq(REGISTER_START.iter().copied()))
}

/// The usual beginning of a `register`, without blanks.
const REGISTER_START: &[u8] = br#"{"type":"register""#;

fn describe_bad_line(line: &[u8], error: &str) -> String {
    let error = error.replace(" at line 1 column", " at column");
    // Cut in bytes, to decode little of a long line; the last character may be incomplete.
    let beginning = String::from_utf8_lossy(&line[..line.len().min(4 * SHOWN_CHARS)]).trim().to_owned();
    let shown: String = beginning.chars().take(SHOWN_CHARS).collect();
    let more = if shown.len() < line.trim_ascii().len() { "…" } else { "" };
    format!("{error}: {shown}{more}")
}
