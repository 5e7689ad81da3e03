//! A session as the tree that its file is: a header, then entries, each naming the one before it on its branch.

use super::{
    entry::{Entry, Head, Plain},
    ids::entry_id,
    new_entry::{EncodedEntry, NewEntry},
};
use crate::protocol::{
    AgentMessageKind, Bases, Dialect, DialectSessionFilesName, LabelEntry, SessionEntryKind, SessionHeader,
    SessionInfoEntry, TitleSource,
};
use bytes::Bytes;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Who writes, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Whose entries are written.
    pub dialect: Dialect,
    /// Milliseconds since the Unix epoch.
    pub wall_ms: u64,
}

/// One session. The leaf is where it goes on: the next entry's parent. Of a session that was read it is the last entry of
/// the file.
#[derive(Clone, Debug)]
pub struct Tree {
    header: SessionHeader,
    entries: Vec<Entry>,
    places: HashMap<Arc<str>, usize>,
    /// Bytes of all lines but the header's.
    bytes: usize,
    /// Places of the entries that may name the session, ascending: its name is asked for often, and of long sessions.
    infos: Vec<usize>,
    leaf: Option<usize>,
    previous_title: Option<PreviousTitle>,
    /// Lines that could not be read, or that a later one stands for, each with the number of entries before it: a file
    /// that is written anew keeps them.
    strays: Vec<(usize, Bytes)>,
}

/// A title that [`Tree::undo`] brings back.
#[derive(Clone, Debug)]
struct PreviousTitle {
    title: Option<String>,
    source: Option<TitleSource>,
    /// An entry was added for the new one.
    entry: bool,
}

/// How a new name gets into the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenameEffect {
    /// By this line more.
    Line(Bytes),
    /// The header has changed: the whole file is written anew.
    Header,
}

impl Tree {
    /// A session without entries.
    pub fn new(header: SessionHeader) -> Self {
        Self {
            header,
            entries: Vec::new(),
            places: HashMap::new(),
            bytes: 0,
            infos: Vec::new(),
            leaf: None,
            previous_title: None,
            strays: Vec::new(),
        }
    }

    /// The first line of the file.
    pub fn header(&self) -> &SessionHeader {
        &self.header
    }

    /// Every entry of the file, in its order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How much it takes: the lines of its file in bytes, without the header's.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The entry with this id.
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.places.get(id).map(|&place| &self.entries[place])
    }

    /// Where the session goes on; `None`: at its beginning.
    pub fn leaf(&self) -> Option<&Entry> {
        self.leaf.map(|place| &self.entries[place])
    }

    /// The id of the [`leaf`](Self::leaf).
    pub fn leaf_id(&self) -> Option<&Arc<str>> {
        self.leaf().map(Entry::id)
    }

    /// Goes on after `id`, or from the beginning; `false`, and nothing moved, if there is no such entry. The file shows
    /// it only by the parent of the next entry.
    pub fn move_to(&mut self, id: Option<&str>) -> bool {
        let place = id.map(|id| self.places.get(id).copied());
        match place {
            Some(None) => return false,
            place => self.leaf = place.flatten(),
        }
        self.previous_title = None;
        true
    }

    /// Has the entry at a place follow another one; `false`, and nothing changed, if its line cannot be written anew.
    pub(super) fn reparent(&mut self, place: usize, parent: &Arc<str>) -> bool {
        let entry = &mut self.entries[place];
        let length = entry.line().len();
        let done = entry.reparent(parent).is_ok();
        self.bytes = self.bytes - length + entry.line().len();
        done
    }

    /// The entries from the first of the branch to the leaf. A parent that is not in the file ends the branch, and so
    /// does one that was passed already.
    pub fn path(&self) -> Vec<&Entry> {
        self.path_to(self.leaf)
    }

    /// The [`path`](Self::path) to any entry.
    pub(super) fn path_to(&self, place: Option<usize>) -> Vec<&Entry> {
        self.path_indices(place).into_iter().map(|place| &self.entries[place]).collect()
    }

    /// The places of the entries on the [`path`](Self::path) to any of them.
    pub(super) fn path_indices(&self, place: Option<usize>) -> Vec<usize> {
        let mut passed = vec![false; self.entries.len()];
        let mut path = Vec::new();
        let mut next = place;
        while let Some(place) = next.filter(|&place| !std::mem::replace(&mut passed[place], true)) {
            path.push(place);
            next = self.entries[place].parent().and_then(|parent| self.index_near(parent, place));
        }
        path.reverse();
        path
    }

    /// The place of an entry that is likely to be the one before `place`, and then shares its id.
    fn index_near(&self, id: &Arc<str>, place: usize) -> Option<usize> {
        let before = place.checked_sub(1).filter(|&before| Arc::ptr_eq(self.entries[before].id(), id));
        before.or_else(|| self.places.get(id).copied())
    }

    /// The place of the [`leaf`](Self::leaf).
    pub(super) fn leaf_index(&self) -> Option<usize> {
        self.leaf
    }

    /// The newest answer on the branch, and the results of its calls.
    pub(super) fn last_answer(&self) -> Vec<&Entry> {
        let path = self.path();
        let is = |entry: &&Entry, role| entry.role() == Some(role);
        let Some(at) = path.iter().rposition(|entry| is(entry, AgentMessageKind::Assistant)) else {
            return Vec::new();
        };
        let after = path[at + 1..].iter().filter(|entry| is(entry, AgentMessageKind::ToolResult));
        [path[at]].into_iter().chain(after.copied()).collect()
    }

    /// The place of an entry in [`entries`](Self::entries).
    pub(super) fn index_of(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// Adds an entry after the leaf, which it becomes. Returns its line, line feed included, as the file gets it. What the
    /// dialect does not have is left out of it.
    pub fn append(&mut self, new: NewEntry, stamp: Stamp, random: &mut fastrand::Rng) -> Bytes {
        let line = self.append_entry(new, stamp, random);
        self.previous_title = None;
        line
    }

    fn append_entry(&mut self, new: NewEntry, stamp: Stamp, random: &mut fastrand::Rng) -> Bytes {
        let id = entry_id(stamp.dialect, random, |id| self.places.contains_key(id));
        let parent = self.leaf_id().cloned();
        let EncodedEntry { line, kind, role, message } = new.encode(&id, parent.as_deref(), stamp);
        let plain = message.is_some().then(|| plain(&line, stamp.dialect)).flatten();
        let head = Head { id, parent, kind: Some(kind), role, at: stamp.wall_ms, plain };
        self.insert(match message {
            Some(message) => Entry::with_message(head, line.clone(), message),
            None => Entry::new(head, line.clone()),
        });
        line
    }

    /// Takes the last change back, [`append`](Self::append) or [`rename`](Self::rename), of which nothing is in the file.
    /// Behind a new title nothing more can be taken back.
    pub fn undo(&mut self) {
        let entry = self.previous_title.take().is_none_or(|PreviousTitle { title, source, entry }| {
            self.header.title = title;
            self.header.title_source = source;
            entry
        });
        if let Some(gone) = entry.then(|| self.entries.pop()).flatten() {
            self.bytes -= gone.line().len();
            self.places.remove(gone.id());
            self.infos.pop_if(|place| *place == self.entries.len());
            self.leaf = gone.parent().and_then(|parent| self.index_of(parent));
        }
    }

    /// Puts an entry at the end, or in the place of the one with the same id; it becomes the leaf. `true`: there was one.
    pub(super) fn insert(&mut self, entry: Entry) -> bool {
        let place = self.places.get(entry.id()).copied();
        self.bytes += entry.line().len();
        let at = place.unwrap_or(self.entries.len());
        self.leaf = Some(at);
        let before = self.infos.partition_point(|place| *place < at);
        match (self.infos.get(before) == Some(&at), entry.kind() == Some(SessionEntryKind::SessionInfo)) {
            (false, true) => self.infos.insert(before, at),
            (true, false) => drop(self.infos.remove(before)),
            _ => {}
        }
        match place {
            Some(place) => {
                let earlier = std::mem::replace(&mut self.entries[place], entry);
                if earlier.line() == self.entries[place].line() {
                    self.bytes -= earlier.line().len();
                } else {
                    self.strays.push((place, earlier.line().clone()));
                }
            }
            None => {
                self.places.insert(entry.id().clone(), self.entries.len());
                self.entries.push(entry);
            }
        }
        place.is_some()
    }

    /// Names the session, as the dialect does.
    pub fn rename(&mut self, name: &str, stamp: Stamp, random: &mut fastrand::Rng) -> RenameEffect {
        match stamp.dialect.record().session_files.name {
            DialectSessionFilesName::Entry => {
                RenameEffect::Line(self.append(NewEntry::Name(name.to_owned()), stamp, random))
            }
            DialectSessionFilesName::Header => {
                // A name in an entry would win over the title when the file is read.
                let entry = self.name_in_entry().is_some();
                if entry {
                    self.append_entry(NewEntry::Name(name.to_owned()), stamp, random);
                }
                let title = self.header.title.replace(name.to_owned());
                let source = self.header.title_source.replace(TitleSource::User);
                self.previous_title = Some(PreviousTitle { title, source, entry });
                RenameEffect::Header
            }
        }
    }

    /// The session's name: that of the last entry in the file that names it, on whatever branch; else the header's title.
    pub fn name(&self) -> Option<String> {
        let title = || self.header.title.clone().filter(|title| !title.is_empty());
        self.name_in_entry().or_else(title)
    }

    fn name_in_entry(&self) -> Option<String> {
        let names = self.infos.iter().rev().map(|place| &self.entries[*place]);
        names.filter_map(|entry| entry.read::<SessionInfoEntry>()?.name).find_map(|name| {
            let name = name.trim();
            (!name.is_empty()).then(|| name.to_owned())
        })
    }

    /// The label of each entry that has one.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let marks = self.label_entries().into_iter();
        marks.filter_map(|(target, mark)| Some((target, mark.label?))).collect()
    }

    /// The entry that labels each entry that has a label.
    pub(super) fn label_entries(&self) -> BTreeMap<String, LabelEntry> {
        let mut marks = BTreeMap::new();
        for mark in self.of_kind(SessionEntryKind::Label).filter_map(Entry::read::<LabelEntry>) {
            match mark.label.as_ref().is_some_and(|text| !text.is_empty()) {
                true => marks.insert(mark.target_id.clone(), mark),
                false => marks.remove(&mark.target_id),
            };
        }
        marks
    }

    fn of_kind(&self, kind: SessionEntryKind) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.kind() == Some(kind))
    }

    /// The header's line, then those of the entries, each with its line feed: what a new file gets.
    pub fn lines(&self) -> Vec<Bytes> {
        let mut header = serde_json::to_vec(&self.header).unwrap_or_default();
        header.push(b'\n');
        let mut lines = vec![Bytes::from(header)];
        let mut strays: Vec<_> = self.strays.iter().collect();
        strays.sort_by_key(|(before, _)| *before);
        let mut strays = strays.into_iter().peekable();
        for (place, entry) in self.entries.iter().enumerate() {
            while let Some((_, stray)) = strays.next_if(|(before, _)| *before <= place) {
                lines.push(stray.clone());
            }
            lines.push(entry.line().clone());
        }
        lines.extend(strays.map(|(_, stray)| stray.clone()));
        lines
    }

    /// Keeps a line that could not be read, line feed included, after the entries that there are.
    pub(super) fn keep_stray_line(&mut self, line: Bytes) {
        self.bytes += line.len();
        self.strays.push((self.entries.len(), line));
    }
}

/// Where the message stands in a line that was written for a dialect just now: as that says it.
fn plain(line: &[u8], dialect: Dialect) -> Option<Plain> {
    const KEY: &[u8] = br#","message":"#;
    let start = u32::try_from(memchr::memmem::find(line, KEY)? + KEY.len()).ok()?;
    Some(Plain { bases: Bases::of(&[dialect.base()]), start })
}
