//! Collects the output of a command: decodes and cleans it, keeps the tail in memory and, from some size on, the whole
//! in a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{
    output_files::{OutputFiles, RemovedFiles},
    shell::{ShellOptions, ShellSnapshot},
    truncate::{Limits, Totals, line_feeds, size_text, truncate_tail_of},
};

/// Collector of a command's output, with a snapshot at any time.
pub(super) struct CommandOutput {
    limits: Limits,
    decoder: Decoder,
    cleaner: Option<Box<Cleaner>>,
    /// The end of the text: the whole, or more than `limits.bytes`.
    tail: String,
    raw_bytes: u64,
    bytes: u64,
    /// Number of lines that have ended.
    lines: u64,
    /// Bytes of the last line, which has not ended, and below of the line before it.
    line: u64,
    line_before: u64,
    spool: Spool,
    /// Largest size of the file, in bytes.
    file_limit: u64,
    /// Text since the last [`take_new_text`](Self::take_new_text); `None` without a follower.
    new_text: Option<String>,
}

impl CommandOutput {
    /// A collector without output. `is_followed`: a follower takes every piece.
    pub(super) fn new(options: &ShellOptions, is_followed: bool) -> Self {
        Self {
            limits: options.limits,
            decoder: Decoder::default(),
            cleaner: options.clean.then(Box::default),
            tail: String::new(),
            raw_bytes: 0,
            bytes: 0,
            lines: 0,
            line: 0,
            line_before: 0,
            spool: Spool::Memory(Vec::new()),
            file_limit: options.file_limit.min(options.files.limit()),
            new_text: is_followed.then(String::new),
        }
    }

    /// Whether there is new text for the follower.
    pub(super) fn has_new_text(&self) -> bool {
        self.new_text.as_ref().is_some_and(|new_text| !new_text.is_empty())
    }

    /// Takes the text since the last call, if there is any.
    pub(super) fn take_new_text(&mut self) -> Option<String> {
        self.new_text.as_mut().map(std::mem::take).filter(|new_text| !new_text.is_empty())
    }

    /// Adds bytes. If the disk fails, the file is discarded and the command goes on.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.raw_bytes += bytes.len() as u64;
        if self.cleaner.is_none() {
            self.spool.write(bytes);
        }
        let text = self.decoder.decode(bytes);
        self.append(text);
    }

    /// Ends the output. An incomplete character becomes U+FFFD.
    pub(super) fn finish(&mut self) {
        let rest = self.decoder.finish();
        self.append(rest);
    }

    /// Removes the file, if there is one.
    pub(super) fn discard_file(&mut self) {
        self.spool = Spool::Lost;
    }

    /// Keeps the file, if there is one, for the reader of the result. It is added to `files`, which may remove older ones.
    /// A file that is not kept is removed on drop.
    pub(super) fn keep_file(&mut self, files: &OutputFiles) -> RemovedFiles {
        let Spool::File(log) = &mut self.spool else { return RemovedFiles::default() };
        log.is_kept = true;
        files.keep(&log.path, log.limit - log.room.unwrap_or(0))
    }

    /// The tail of the output so far, and the path of the file if there is one.
    pub(super) fn snapshot(&self) -> ShellSnapshot {
        let full_output_path = match &self.spool {
            Spool::File(log) => Some(log.path.clone()),
            _ => None,
        };
        ShellSnapshot {
            truncation: truncate_tail_of(&self.tail, self.totals(), self.limits),
            full_output_path,
        }
    }

    /// Bytes of the last line; if the output ends with a line feed, of the line before it.
    pub(super) fn last_line_bytes(&self) -> u64 {
        if self.tail.ends_with('\n') { self.line_before } else { self.line }
    }

    fn append(&mut self, mut text: String) {
        if let Some(cleaner) = &mut self.cleaner {
            text = cleaner.clean(&text);
            self.spool.write(text.as_bytes());
        }
        self.count(&text);
        self.tail.push_str(&text);
        if let Some(new_text) = &mut self.new_text {
            new_text.push_str(&text);
        }
        let room = usize::try_from(self.limits.bytes).unwrap_or(usize::MAX);
        if self.tail.len() > room.saturating_mul(2) {
            let start = self.tail.floor_char_boundary(self.tail.len().saturating_sub(room.saturating_add(2)));
            self.tail.drain(..start);
        }
        if self.raw_bytes > self.limits.bytes || !self.totals().fit(self.limits) {
            self.spool.open(self.file_limit);
        }
    }

    fn totals(&self) -> Totals {
        let has_last = !self.limits.ignores_final_feed || self.line > 0;
        Totals { lines: self.lines + u64::from(has_last), bytes: self.bytes }
    }

    fn count(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        self.lines += line_feeds(text);
        let Some((before, line)) = text.rsplit_once('\n') else {
            self.line += text.len() as u64;
            return;
        };
        self.line_before = match before.rsplit_once('\n') {
            Some((_, line)) => line.len() as u64,
            None => self.line + before.len() as u64,
        };
        self.line = line.len() as u64;
    }
}

/// Decoder of UTF-8 in pieces; invalid bytes become U+FFFD, a split character is completed by the next piece.
#[derive(Default)]
struct Decoder {
    incomplete: Vec<u8>,
}

impl Decoder {
    fn decode(&mut self, bytes: &[u8]) -> String {
        let mut waiting = std::mem::take(&mut self.incomplete);
        waiting.extend_from_slice(bytes);
        let mut text = String::with_capacity(waiting.len());
        let mut rest = waiting.as_slice();
        while let Err(error) = str::from_utf8(rest) {
            let (valid, after) = rest.split_at(error.valid_up_to());
            text.push_str(&String::from_utf8_lossy(valid));
            let Some(invalid) = error.error_len() else {
                self.incomplete = after.to_vec();
                return text;
            };
            text.push(char::REPLACEMENT_CHARACTER);
            rest = &after[invalid..];
        }
        text.push_str(&String::from_utf8_lossy(rest));
        text
    }

    fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.incomplete)).into_owned()
    }
}

/// Filter of terminal output that keeps text, tabs and line feeds, as pi's does.
#[derive(Default)]
struct Cleaner {
    parser: vte::Parser,
    clean: CleanText,
}

#[derive(Default)]
struct CleanText(String);

impl Cleaner {
    /// Cleans a piece of whole characters; the parser would lose text around a split one.
    fn clean(&mut self, text: &str) -> String {
        for piece in text.split_inclusive('\n') {
            let line = piece.strip_suffix('\n');
            self.parser.advance(&mut self.clean, line.unwrap_or(piece).as_bytes());
            if line.is_some() {
                // CAN ends an unfinished escape sequence, which would swallow the text behind it.
                self.parser.advance(&mut self.clean, b"\x18\n");
            }
        }
        std::mem::take(&mut self.clean.0)
    }
}

impl vte::Perform for CleanText {
    fn print(&mut self, letter: char) {
        if !letter.is_control() && !matches!(letter, '\u{FFF9}'..='\u{FFFB}') {
            self.0.push(letter);
        }
    }

    fn execute(&mut self, control: u8) {
        if matches!(control, b'\n' | b'\t') {
            self.0.push(char::from(control));
        }
    }
}

/// Storage of the whole output: in memory while it may fit into the result, then in a file.
enum Spool {
    Memory(Vec<u8>),
    File(SpoolFile),
    Lost,
}

impl Spool {
    fn write(&mut self, bytes: &[u8]) {
        match self {
            Spool::Memory(held) => held.extend_from_slice(bytes),
            Spool::File(log) => {
                if log.write(bytes).is_err() {
                    *self = Spool::Lost;
                }
            }
            Spool::Lost => {}
        }
    }

    fn open(&mut self, limit: u64) {
        if let Spool::Memory(held) = self {
            *self = SpoolFile::start(held, limit).map_or(Spool::Lost, Spool::File);
        }
    }
}

/// The file with the whole output. Removed on drop unless it is kept.
struct SpoolFile {
    file: File,
    path: PathBuf,
    limit: u64,
    /// Bytes of room; `None`: the file is full, and ends with a line about it.
    room: Option<u64>,
    is_kept: bool,
}

impl SpoolFile {
    fn start(held: &[u8], limit: u64) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("pi-bash-{:016x}.log", getrandom::u64()?));
        let file = private_file(&path)?;
        let mut log = Self { file, path, limit, room: Some(limit), is_kept: false };
        log.write(held)?;
        Ok(log)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(room) = self.room else { return Ok(()) };
        let fits = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        self.file.write_all(&bytes[..fits])?;
        self.room = Some(room - fits as u64);
        if fits < bytes.len() {
            self.room = None;
            write!(self.file, "\n[The rest was left out: this file takes {}]\n", size_text(self.limit))?;
        }
        Ok(())
    }
}

impl Drop for SpoolFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // A leftover in the temp directory is the worst that can happen.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A new file that only its owner can read: output may hold secrets.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn decoding_in_pieces_equals_decoding_whole(pieces: Vec<Vec<u8>>) {
            let mut decoder = Decoder::default();
            let mut decoded: String = pieces.iter().map(|piece| decoder.decode(piece)).collect();
            decoded += &decoder.finish();
            let bytes = pieces.concat();
            prop_assert_eq!(decoded, String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn cleaning_in_pieces_equals_cleaning_whole(
            pieces in prop::collection::vec("(\\PC|\u{1b}|\u{90}|\u{9b}|[\\[\\]0-9;mP\\\\\u{7}\n\t])*", 0..6),
        ) {
            let mut cleaner = Cleaner::default();
            let cleaned: String = pieces.iter().map(|piece| cleaner.clean(piece)).collect();
            prop_assert_eq!(cleaned, Cleaner::default().clean(&pieces.concat()));
        }

        #[test]
        fn cleaning_keeps_plain_text(text in "([^\\p{Cc}\u{FFF9}-\u{FFFB}]|\n|\t)*") {
            prop_assert_eq!(Cleaner::default().clean(&text), text);
        }

        #[test]
        fn rolling_tail_truncates_like_whole_text(
            pieces in prop::collection::vec("[aé\n]{0,30}", 0..40),
            lines in 1_u64..8,
            bytes in 4_u64..60,
            ignores_final_feed in any::<bool>(),
        ) {
            let limits = Limits { lines, bytes, ignores_final_feed };
            let mut output = CommandOutput::new(&ShellOptions { limits, clean: false, ..ShellOptions::for_command() }, false);
            for piece in &pieces {
                output.append(piece.clone());
            }
            let all = pieces.concat();
            prop_assert_eq!(output.snapshot().truncation, super::super::truncate::truncate_tail(&all, limits));
            let last = all.strip_suffix('\n').unwrap_or(&all).rsplit('\n').next().unwrap_or("");
            prop_assert_eq!(output.last_line_bytes(), last.len() as u64);
            prop_assert!(output.tail.len() as u64 <= 2 * bytes);
        }
    }
}
