//! The file with the records: its lines one by one, and any of them again.

use super::index::Span;
use pi_rpc_protocol::mend_surrogates;
use pi_rpc_recording::{Body, Direction, LONGEST_LINE, Record, read_record};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    fs::File,
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

/// A file with one record in each line.
#[derive(Debug)]
pub struct RecordingFile {
    file: File,
    path: PathBuf,
}

/// What the lines of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileForm {
    /// Records.
    Trace,
    /// The output of a server.
    Log,
}

/// The most bytes of one read.
const CHUNK: usize = 256 * 1024;

impl RecordingFile {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// Those of the system; and it must be a file, since lines are read again.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "expected a regular file"));
        }
        Ok(Self { file, path: path.to_owned() })
    }

    /// A file that is open, at this path.
    pub fn new(file: File, path: &Path) -> Self {
        Self { file, path: path.to_owned() }
    }

    /// Its path as text.
    pub fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// Its length in bytes.
    pub fn length(&self) -> u64 {
        self.file.metadata().map(|about| about.len()).unwrap_or_default()
    }

    /// Whether another file has taken its place, or it was cut short.
    pub fn is_replaced(&self, read: u64) -> bool {
        let own = self.file.metadata();
        let Ok(own) = own else { return false };
        let there = std::fs::metadata(&self.path);
        own.len() < read || there.is_ok_and(|there| (there.dev(), there.ino()) != (own.dev(), own.ino()))
    }

    /// The same file, opened anew by its path.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn reopen(&self) -> io::Result<Self> {
        Self::open(&self.path)
    }

    /// A handle of its own for reading from the start.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn reader(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    /// The bytes of a span, or as many as the file has.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn read(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut done = 0;
        while done < length {
            match self.file.read_at(&mut bytes[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(done);
        Ok(bytes)
    }
}

/// Reads the lines of a file that may grow.
#[derive(Debug, Default)]
pub struct LineReader {
    /// The offset of the first buffered byte.
    offset: u64,
    buffer: Vec<u8>,
    /// Buffered bytes that were taken.
    taken: usize,
    /// Buffered bytes that were searched for a line feed.
    searched: usize,
    /// Whether the rest of a line that is too long is skipped.
    is_skipping: bool,
}

/// A line of a file.
#[derive(Debug, PartialEq, Eq)]
pub enum FileLine<'a> {
    /// A line without its line feed, and its offset.
    Line(&'a [u8], u64),
    /// A line was too long and was skipped.
    TooLong,
    /// The file has no further whole line yet.
    End,
}

impl LineReader {
    /// The offset of the next byte that was not taken.
    pub const fn offset(&self) -> u64 {
        self.offset + self.taken as u64
    }

    /// The next line.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn next(&mut self, file: &RecordingFile) -> io::Result<FileLine<'_>> {
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) {
                let (start, end) = (self.taken, self.searched + at);
                let offset = self.offset();
                (self.taken, self.searched) = (end + 1, end + 1);
                if std::mem::take(&mut self.is_skipping) {
                    return Ok(FileLine::TooLong);
                }
                return Ok(FileLine::Line(&self.buffer[start..end], offset));
            }
            self.compact();
            if self.buffer.len() > LONGEST_LINE {
                self.is_skipping = true;
                self.taken = self.buffer.len();
                self.compact();
            }
            let chunk = file.read(self.offset + self.buffer.len() as u64, CHUNK)?;
            if chunk.is_empty() {
                return Ok(FileLine::End);
            }
            self.buffer.extend_from_slice(&chunk);
        }
    }

    /// Takes the unfinished last line, if it is a whole JSON value: recorders need not end their files with a line feed.
    pub fn take_last(&mut self) -> Option<(Vec<u8>, u64)> {
        let rest = &self.buffer[self.taken..];
        if self.is_skipping || serde_json::from_slice::<&RawValue>(rest).is_err() {
            return None;
        }
        let (line, offset) = (rest.to_vec(), self.offset());
        self.taken = self.buffer.len();
        self.compact();
        Some((line, offset))
    }

    /// Drops what was taken; after a long line its memory is given back.
    fn compact(&mut self) {
        self.buffer.drain(..self.taken);
        self.offset += self.taken as u64;
        (self.taken, self.searched) = (0, self.buffer.len());
        if self.buffer.capacity() > 16 * CHUNK && self.buffer.len() < CHUNK {
            self.buffer.shrink_to(CHUNK);
        }
    }
}

/// The form of a file, by its first line that is JSON. `None`: the line does not tell.
pub fn form_of(line: &[u8]) -> Option<FileForm> {
    #[derive(Deserialize)]
    struct Head<'a> {
        #[serde(borrow)]
        dir: Option<&'a RawValue>,
    }
    let head: Head<'_> = serde_json::from_slice(line).ok()?;
    Some(if head.dir.is_some() { FileForm::Trace } else { FileForm::Log })
}

/// The dialect that the first record names.
pub fn named_dialect(line: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Spawn {
        dialect: Option<String>,
    }
    let text = str::from_utf8(line).ok()?;
    let record = read_record(text).ok()?;
    serde_json::from_slice::<Spawn>(record.body.bytes()).ok()?.dialect
}

/// Passes the record of a line to `see`.
///
/// # Errors
///
/// The line is not a record; the text says why.
pub fn with_record<T>(form: FileForm, line: &[u8], see: impl FnOnce(&Record<'_>) -> T) -> Result<T, String> {
    if form == FileForm::Log {
        let body = match serde_json::from_slice::<&RawValue>(line) {
            Ok(_) => Body::Json(Cow::Borrowed(line)),
            Err(_) => Body::Raw(Cow::Borrowed(line)),
        };
        return Ok(see(&Record { t: 0.0, direction: Direction::Out, body, cut: false }));
    }
    let text =
        str::from_utf8(line).map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to()))?;
    // Recorders cut long strings anywhere.
    let has = |escape: &[u8]| memchr::memmem::find(line, escape).is_some();
    let text = if has(br"\ud") || has(br"\uD") { mend_surrogates(text) } else { Cow::Borrowed(text) };
    let record = read_record(&text).map_err(|error| error.to_string())?;
    Ok(see(&record))
}

impl Span {
    /// The span of a line.
    pub const fn of(line: &[u8], offset: u64) -> Self {
        Self { offset, length: line.len() as u32 }
    }
}
