//! Frames in chunks: large frames are split, and put together again.
//!
//! The chunks of a frame follow each other without another frame between them. Source: oh-my-pi source.

use super::{Dialect, RpcChunk};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::fmt;

/// What stands in a text or a list that was cut down to the limit of a frame. Source: observed.
pub const CUT_MARK: &str = " elided for RPC frame]";

/// Member of an object that was cut down to the limit of a frame: the number of members that are missing. Source: observed.
pub const CUT_MEMBERS: &str = "rpcFrameElidedKeys";

/// Bytes at the beginning of a line that are searched for the type of a chunk.
const TYPE_WITHIN: usize = 64;

/// Splits a frame, without its line feed, into the lines of its chunks, each with at most `size` bytes of the frame.
pub fn split_frame(frame: &[u8], id: &str, size: usize) -> Vec<u8> {
    let pieces = frame.chunks(size.max(1));
    let count = pieces.len() as u64;
    let mut lines = Vec::new();
    for (index, piece) in pieces.enumerate() {
        let chunk = RpcChunk {
            chunk_id: id.to_owned(),
            index: index as u64,
            count,
            byte_length: frame.len() as u64,
            data: STANDARD.encode(piece),
        };
        // A struct of strings and numbers is always JSON.
        if let Ok(line) = serde_json::to_vec(&chunk) {
            lines.extend(line);
            lines.push(b'\n');
        }
    }
    lines
}

/// Puts frames in chunks together, line by line.
#[derive(Clone, Debug, Default)]
pub struct ChunkReassembler {
    /// `None`: the dialect has no chunks.
    limits: Option<Limits>,
    open: Option<Series>,
}

/// Limits of a frame in chunks.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Bytes over which a frame may be sent in chunks, and bytes of the largest frame.
    bytes: (u64, u64),
    /// Most chunks.
    chunks: u64,
    /// Longest id.
    id: u64,
}

/// Chunks of a frame that is not complete yet.
#[derive(Clone, Debug)]
struct Series {
    id: String,
    next: u64,
    count: u64,
    byte_length: u64,
    bytes: Vec<u8>,
}

/// What a line is, for the reader of frames.
#[derive(Debug, PartialEq, Eq)]
pub enum ReassembledLine {
    /// A line with a frame of its own.
    Whole,
    /// A chunk of a frame that is not complete yet.
    Piece,
    /// The last chunk of this frame.
    Frame(Vec<u8>),
}

/// Fault of a series of chunks.
#[derive(Debug, PartialEq, Eq)]
pub struct ChunkError {
    /// What was expected instead.
    pub expected: String,
}

impl fmt::Display for ChunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", self.expected)
    }
}

impl std::error::Error for ChunkError {}

impl ChunkReassembler {
    /// Creates a reassembler for the output of a server of `dialect`.
    pub fn new(dialect: Dialect) -> Self {
        let limits = &dialect.record().frame_limits;
        let bytes = limits.frame.zip(limits.reassembled);
        let limits = bytes.zip(limits.chunks.zip(limits.chunk_id)).map(|(bytes, (chunks, id))| Limits {
            bytes,
            chunks,
            id,
        });
        Self { limits, open: None }
    }

    /// Takes a line of the server, without its line feed.
    ///
    /// # Errors
    ///
    /// The line breaks a series of chunks, which is dropped. A line that is no chunk is still a frame of its own.
    pub fn take(&mut self, line: &[u8]) -> Result<ReassembledLine, ChunkError> {
        let Some(limits) = self.limits else { return Ok(ReassembledLine::Whole) };
        let Some(chunk) = chunk_of(line) else {
            return match self.open.take() {
                Some(series) => Err(expected(format!("chunk {} of {}", series.next, series.id))),
                None => Ok(ReassembledLine::Whole),
            };
        };
        let mut series = match self.open.take() {
            Some(series) => series,
            None => Series::begin(&chunk, limits)?,
        };
        series.add(&chunk)?;
        if series.next < series.count {
            self.open = Some(series);
            return Ok(ReassembledLine::Piece);
        }
        match series.bytes.len() as u64 == series.byte_length {
            true => Ok(ReassembledLine::Frame(series.bytes)),
            false => {
                Err(expected(format!("{} bytes in all, not {}", series.byte_length, series.bytes.len())))
            }
        }
    }

    /// The id of the series that the last line has begun.
    pub fn begun_series(&self) -> Option<&str> {
        self.open.as_ref().filter(|series| series.next == 1).map(|series| series.id.as_str())
    }

    /// Drops the open series: its content is not known.
    pub fn drop_series(&mut self) {
        self.open = None;
    }
}

impl Series {
    fn begin(chunk: &RpcChunk, limits: Limits) -> Result<Self, ChunkError> {
        let Limits { bytes: (least, most), chunks: max_chunks, id: max_id } = limits;
        let is_sized = (least..=most).contains(&chunk.byte_length);
        let is_counted = (2..=max_chunks).contains(&chunk.count);
        match chunk {
            _ if chunk.chunk_id.len() as u64 > max_id => {
                Err(expected(format!("an id of at most {max_id} characters")))
            }
            _ if !is_counted => Err(expected(format!("2 to {max_chunks} chunks, not {}", chunk.count))),
            _ if !is_sized => {
                Err(expected(format!("{least} to {most} bytes in all, not {}", chunk.byte_length)))
            }
            _ => Ok(Self {
                id: chunk.chunk_id.clone(),
                next: 0,
                count: chunk.count,
                byte_length: chunk.byte_length,
                bytes: Vec::new(),
            }),
        }
    }

    fn add(&mut self, chunk: &RpcChunk) -> Result<(), ChunkError> {
        let same =
            (&chunk.chunk_id, chunk.count, chunk.byte_length) == (&self.id, self.count, self.byte_length);
        if !same || chunk.index != self.next {
            return Err(expected(format!("chunk {} of {}", self.next, self.id)));
        }
        let Ok(piece) = STANDARD.decode(&chunk.data) else {
            return Err(expected("canonical base64 as `data`".to_owned()));
        };
        if (self.bytes.len() + piece.len()) as u64 > self.byte_length {
            return Err(expected(format!("{} bytes in all, not more", self.byte_length)));
        }
        self.bytes.extend(piece);
        self.next += 1;
        Ok(())
    }
}

fn expected(expected: String) -> ChunkError {
    ChunkError { expected }
}

fn chunk_of(line: &[u8]) -> Option<RpcChunk> {
    const MARK: &[u8] = b"\"rpc_chunk\"";
    let head = &line[..line.len().min(TYPE_WITHIN)];
    let is_chunk = head.windows(MARK.len()).any(|window| window == MARK);
    if is_chunk { crate::from_slice(line).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn large() -> Vec<u8> {
        let text = "é".repeat(700_000);
        serde_json::to_vec(&serde_json::json!({ "type": "notice", "message": text })).expect("JSON")
    }

    fn lines(frame: &[u8]) -> Vec<Vec<u8>> {
        let lines = split_frame(frame, "rpc-1", 262_144);
        lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
    }

    #[test]
    fn split_frame_is_put_together() {
        let (frame, mut reader) = (large(), ChunkReassembler::new(Dialect::Omp));
        let lines = lines(&frame);
        let taken: Vec<_> = lines.iter().map(|line| reader.take(line).expect("a chunk")).collect();
        let (last, others) = taken.split_last().expect("chunks");
        assert!(others.iter().all(|taken| *taken == ReassembledLine::Piece));
        assert_eq!(*last, ReassembledLine::Frame(frame));
    }

    #[test]
    fn frame_within_series_is_refused() {
        let mut reader = ChunkReassembler::new(Dialect::Omp);
        assert_eq!(reader.take(&lines(&large())[0]), Ok(ReassembledLine::Piece));
        let error = reader.take(br#"{"type":"agent_start"}"#).expect_err("a frame between chunks");
        assert_eq!(error.to_string(), "expected chunk 1 of rpc-1");
        assert_eq!(reader.take(br#"{"type":"agent_start"}"#), Ok(ReassembledLine::Whole));
    }

    #[test]
    fn skipped_chunk_is_refused() {
        let mut reader = ChunkReassembler::new(Dialect::Omp);
        let error = reader.take(&lines(&large())[1]).expect_err("the second chunk first");
        assert_eq!(error.to_string(), "expected chunk 0 of rpc-1");
    }

    #[test]
    fn small_frame_in_chunks_is_refused() {
        let mut reader = ChunkReassembler::new(Dialect::Omp);
        let small = split_frame(br#"{"type":"agent_start"}"#, "rpc-1", 10);
        let first = small.split(|byte| *byte == b'\n').next().expect("a line");
        let error = reader.take(first).expect_err("a small frame");
        assert_eq!(error.to_string(), "expected 1048576 to 67108864 bytes in all, not 22");
    }

    #[test]
    fn other_dialects_have_no_chunks() {
        let mut reader = ChunkReassembler::new(Dialect::Xcsh);
        assert_eq!(reader.take(&lines(&large())[0]), Ok(ReassembledLine::Whole));
    }
}
