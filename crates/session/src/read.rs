//! Reads a session file in one pass over its bytes, without parsing a message.

use super::{
    entry::{Entry, EntryHead},
    head::LineHead,
    header::{self, VERSION},
    ids::entry_id,
    message,
    migrate::{self, LegacyIds},
    notice::Notice,
    time::millis,
    tree::Tree,
};
use bytes::Bytes;
use pi_rpc_protocol::{Dialect, JsonObject, SessionEntryKind};
use std::{borrow::Cow, collections::HashMap, sync::Arc};

/// The result of reading a session file.
#[derive(Debug)]
pub struct ParsedFile {
    /// The session.
    pub tree: Tree,
    /// Damage that was found.
    pub notices: Vec<Notice>,
    /// The file was of version 1 or 2: the tree is migrated, and the file has to be rewritten before anything is
    /// appended.
    pub migrated: bool,
    /// How the file ends.
    pub ending: FileEnd,
}

/// The end of a file, which decides how the next line is appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileEnd {
    /// Behind a line feed.
    Whole,
    /// Behind a line that lacks only its line feed.
    NoLineFeed,
    /// Inside of a line that was not written to its end.
    Torn {
        /// Offset of the torn line in bytes.
        at: usize,
    },
}

/// Why a file is no session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The file is empty.
    Empty,
    /// The file holds only the beginning of a header: its writer was stopped.
    TornHeader,
    /// The first line is no session header.
    NoHeader,
}

impl Tree {
    /// Reads a session file of any version and dialect. Entries keep slices of `bytes`.
    ///
    /// Unreadable lines are passed over with a notice (source: pi source, which gives none). New ids for the entries
    /// of a version 1 file are drawn from `random`.
    pub fn read(bytes: Bytes, random: &mut fastrand::Rng) -> Result<ParsedFile, ReadError> {
        let mut reader = FileReader::new(bytes, random);
        let bytes = reader.bytes.clone();
        let mut start = if bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        for feed in memchr::memchr_iter(b'\n', &bytes) {
            reader.line(start, feed + 1)?;
            start = feed + 1;
        }
        if start < bytes.len() {
            reader.line(start, bytes.len())?;
        }
        reader.finish()
    }
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// How every header begins.
const HEADER_START: &[u8] = br#"{"type":"session""#;

struct FileReader<'r> {
    bytes: Bytes,
    random: &'r mut fastrand::Rng,
    tree: Option<Tree>,
    /// Name of the session, from a line before the header.
    title: Option<String>,
    /// Version of the file, from its header.
    version: u64,
    old: LegacyIds,
    /// Number of the present line, from 1.
    line: usize,
    ending: FileEnd,
    has_second_header: bool,
    skipped: Vec<usize>,
    nameless: Vec<usize>,
    /// Lines that are no entries: the number of entries before each, and its line number.
    damaged: Vec<(usize, usize)>,
    not_utf8: Vec<usize>,
    duplicates: Vec<usize>,
    notices: Vec<Notice>,
}

/// The name in the line before the header; `None`: it has none.
fn title_of(line: &[u8]) -> Option<String> {
    let title = message::read::<JsonObject>(line).ok()?.shift_remove("title")?;
    title.as_str().map(str::trim).filter(|title| !title.is_empty()).map(str::to_owned)
}

impl<'r> FileReader<'r> {
    fn new(bytes: Bytes, random: &'r mut fastrand::Rng) -> Self {
        Self {
            bytes,
            random,
            tree: None,
            title: None,
            version: VERSION,
            old: LegacyIds::default(),
            line: 0,
            ending: FileEnd::Whole,
            has_second_header: false,
            skipped: Vec::new(),
            nameless: Vec::new(),
            damaged: Vec::new(),
            not_utf8: Vec::new(),
            duplicates: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Reads the line from `start` to `end`, its line feed included.
    fn line(&mut self, start: usize, end: usize) -> Result<(), ReadError> {
        self.line += 1;
        let raw = self.bytes.slice(start..end);
        let is_last = !raw.ends_with(b"\n");
        if is_last {
            self.ending = FileEnd::NoLineFeed;
        }
        if raw.trim_ascii().is_empty() {
            return Ok(());
        }
        // The strict check is several times as fast, and nearly always enough.
        let text = str::from_utf8(&raw).map_or_else(|_| String::from_utf8_lossy(&raw), Cow::Borrowed);
        let head = match LineHead::of(&text) {
            Ok(head) => head,
            Err(_) if is_last && is_torn(&raw) => return self.torn(&raw, start),
            Err(_) => {
                self.skipped.push(self.line);
                // Lines before the header belong to no session.
                if let Some(tree) = &mut self.tree {
                    self.damaged.push((tree.entries().len(), self.line));
                    tree.keep_stray_line(feed(&raw));
                }
                return Ok(());
            }
        };
        let line = match &text {
            Cow::Borrowed(_) if raw.ends_with(b"}\n") => raw.clone(),
            Cow::Borrowed(_) => feed(&raw),
            Cow::Owned(text) => {
                self.not_utf8.push(self.line);
                feed(text.as_bytes())
            }
        };
        match (self.tree.is_some(), head.kind.as_deref() == Some("session")) {
            (false, true) => self.header(&line),
            // Files of omp begin with a line for the name.
            (false, false) if head.kind.as_deref() == Some("title") => {
                self.title = title_of(&line);
                Ok(())
            }
            (false, false) => Err(ReadError::NoHeader),
            (true, true) => {
                self.has_second_header = true;
                self.notices.push(Notice::SecondHeader { line: self.line });
                self.old.count(None);
                Ok(())
            }
            (true, false) => {
                self.entry(&head, line);
                Ok(())
            }
        }
    }

    fn torn(&mut self, raw: &[u8], at: usize) -> Result<(), ReadError> {
        self.ending = FileEnd::Torn { at };
        self.notices.push(Notice::Torn { line: self.line, bytes: raw.len() });
        let is_header = raw.starts_with(HEADER_START) || HEADER_START.starts_with(raw);
        match (&self.tree, is_header && self.skipped.is_empty()) {
            (Some(_), _) => Ok(()),
            (None, true) => Err(ReadError::TornHeader),
            (None, false) => Err(ReadError::NoHeader),
        }
    }

    fn header(&mut self, line: &[u8]) -> Result<(), ReadError> {
        let map = message::read(line).map_err(|_| ReadError::NoHeader)?;
        let mut header = header::read(map).ok_or(ReadError::NoHeader)?;
        self.version = header.version;
        if header.version > VERSION {
            self.notices.push(Notice::Version(header.version));
        }
        header.version = header.version.max(VERSION);
        header.title = header.title.or_else(|| self.title.take());
        self.tree = Some(Tree::new(header));
        self.old.count(None);
        Ok(())
    }

    fn entry(&mut self, head: &LineHead, line: Bytes) {
        let Some(tree) = &mut self.tree else { return };
        let is_first_version = self.version < 2;
        let id = match &head.id {
            Some(id) => Arc::from(id.as_ref()),
            // The dialect matters only after a hundred collisions.
            None if is_first_version => entry_id(Dialect::Pi, self.random, |id| tree.get(id).is_some()),
            None => {
                self.nameless.push(self.line);
                self.damaged.push((tree.entries().len(), self.line));
                tree.keep_stray_line(line);
                return;
            }
        };
        let parent = match &head.parent {
            None if is_first_version && head.id.is_none() => self.old.last().cloned(),
            // Most entries follow the one before them: they share its id's text.
            Some(parent) => Some(match self.old.last().filter(|last| last.as_ref() == parent.as_ref()) {
                Some(last) => last.clone(),
                None => {
                    tree.get(parent).map_or_else(|| Arc::from(parent.as_ref()), |entry| entry.id().clone())
                }
            }),
            None => None,
        };
        let line = match self.version < VERSION {
            true => migrate::line(&line, head, &id, parent.as_ref(), &self.old).map_or(line, Bytes::from),
            false => line,
        };
        self.old.count(Some(id.clone()));
        let head = EntryHead {
            id,
            parent,
            kind: head.kind.as_deref().and_then(SessionEntryKind::parse),
            role: head.role,
            at: head.timestamp.as_deref().map_or(0, millis),
            plain: head.plain.filter(|_| self.version == VERSION),
        };
        let was_there = tree.insert(Entry::new(head, line));
        if was_there && !self.has_second_header {
            self.duplicates.push(self.line);
        }
    }

    fn finish(self) -> Result<ParsedFile, ReadError> {
        let Some(mut tree) = self.tree else {
            return Err(if self.skipped.is_empty() { ReadError::Empty } else { ReadError::NoHeader });
        };
        let mut notices = self.notices;
        let bridged = bridge(&mut tree, &self.damaged);
        let mut tell = |lines: Vec<usize>, notice: fn(Vec<usize>) -> Notice| {
            if !lines.is_empty() {
                notices.push(notice(lines));
            }
        };
        tell(self.skipped, |lines| Notice::Skipped { lines });
        tell(self.nameless, |lines| Notice::Nameless { lines });
        tell(self.not_utf8, |lines| Notice::NotUtf8 { lines });
        tell(self.duplicates, |lines| Notice::Duplicates { lines });
        notices.extend(bridged);
        if let Some(first) = tree.path().first()
            && let Some(parent) = first.parent()
        {
            let id = first.id().clone();
            notices.push(match tree.get(parent) {
                Some(_) => Notice::Circle { id },
                None => Notice::Orphan { id, parent: parent.clone() },
            });
        }
        Ok(ParsedFile { tree, notices, migrated: self.version < VERSION, ending: self.ending })
    }
}

/// Attaches entries whose parent was in a damaged line to the entry before that line, of several lines the nearest:
/// all earlier entries would be hidden else.
fn bridge(tree: &mut Tree, damaged: &[(usize, usize)]) -> Vec<Notice> {
    let mut notices = Vec::new();
    if damaged.is_empty() {
        return notices;
    }
    let mut known: HashMap<Arc<str>, (usize, Arc<str>)> = HashMap::new();
    for place in 0..tree.entries().len() {
        let entry = &tree.entries()[place];
        let Some(parent) = entry.parent().filter(|parent| tree.get(parent).is_none()) else { continue };
        let (id, parent) = (entry.id().clone(), parent.clone());
        let found = known.get(&parent).cloned().or_else(|| {
            let (behind, line) = damaged.iter().rfind(|(behind, _)| (1..=place).contains(behind))?;
            Some((*line, tree.entries()[behind - 1].id().clone()))
        });
        let Some((line, before)) = found else { continue };
        // With repeated ids, the entry before may be a later one.
        if tree.path_to(tree.index_of(&before)).iter().any(|entry| *entry.id() == id) {
            continue;
        }
        known.insert(parent.clone(), (line, before.clone()));
        if tree.reparent(place, &before) {
            notices.push(Notice::Bridged { id, parent, line, before });
        }
    }
    notices
}

/// Whether a line without line feed, which is no JSON object, is the beginning of one. Some file systems leave zeros
/// for bytes that had not reached the disk.
fn is_torn(raw: &[u8]) -> bool {
    let zeros = raw.iter().rev().take_while(|byte| **byte == 0).count();
    let mut kept = String::from_utf8_lossy(&raw[..raw.len() - zeros]).into_owned();
    let is_cut = |text: &str| serde_json::from_str::<LineHead>(text).is_err_and(|error| error.is_eof());
    if kept.is_empty() {
        return true;
    }
    // Anything else was not written by a server, and is not cut off.
    if !kept.trim_ascii_start().starts_with('{') {
        return false;
    }
    if is_cut(&kept) {
        return true;
    }
    // serde_json reports a number that may go on as complete: one more digit settles it.
    kept.push('0');
    is_cut(&kept)
}

/// Trims a line and ends it with one line feed.
fn feed(line: &[u8]) -> Bytes {
    let line = line.trim_ascii();
    let mut fed = Vec::with_capacity(line.len() + 1);
    fed.extend_from_slice(line);
    fed.push(b'\n');
    fed.into()
}
