//! The tree of a session: a header, then entries, each naming its parent.

use super::{
    entry::{Entry, EntryHead, Plain},
    ids::entry_id,
    new_entry::{EncodedEntry, NewEntry},
};
use bytes::Bytes;
use pi_rpc_protocol::{
    AgentMessageKind, Bases, Dialect, DialectSessionFilesName, LabelEntry, SessionEntryKind, SessionHeader,
    SessionInfoEntry, TitleSource,
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Dialect and time of a new entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The dialect whose form the entry gets.
    pub dialect: Dialect,
    /// Milliseconds since the Unix epoch.
    pub wall_ms: u64,
}

/// A session. Its leaf is the parent of the next entry: after reading, the last entry of the file.
#[derive(Clone, Debug)]
pub struct Tree {
    header: SessionHeader,
    entries: Vec<Entry>,
    places: HashMap<Arc<str>, usize>,
    /// Bytes of all lines without the header.
    bytes: usize,
    /// Indices of the entries that may name the session, ascending: the name of long sessions is needed often.
    infos: Vec<usize>,
    leaf: Option<usize>,
    previous_title: Option<PreviousTitle>,
    /// Lines that are unreadable or superseded, each with the number of entries before it: they are kept when the
    /// file is rewritten.
    strays: Vec<(usize, Bytes)>,
}

/// The title before a change, for [`Tree::undo`].
#[derive(Clone, Debug)]
struct PreviousTitle {
    title: Option<String>,
    source: Option<TitleSource>,
    /// An entry was appended with the change.
    entry: bool,
}

/// The change of the file that a new name needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RenameEffect {
    /// Append this line.
    Line(Bytes),
    /// Rewrite the file: the header has changed.
    Header,
}

impl Tree {
    /// Creates a session without entries.
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

    /// All entries, in the order of the file.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Size of the lines of the file in bytes, without the header.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The entry with this id.
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.places.get(id).map(|&place| &self.entries[place])
    }

    /// The parent of the next entry; `None`: the session is at its beginning.
    pub fn leaf(&self) -> Option<&Entry> {
        self.leaf.map(|place| &self.entries[place])
    }

    /// The id of the [`leaf`](Self::leaf).
    pub fn leaf_id(&self) -> Option<&Arc<str>> {
        self.leaf().map(Entry::id)
    }

    /// Moves the leaf to `id`, or to the beginning; `false`, and nothing moved, if there is no such entry. The file
    /// shows the move only by the parent of the next entry.
    pub fn move_to(&mut self, id: Option<&str>) -> bool {
        let place = id.map(|id| self.places.get(id).copied());
        match place {
            Some(None) => return false,
            place => self.leaf = place.flatten(),
        }
        self.previous_title = None;
        true
    }

    /// Gives the entry at an index another parent; `false`, and nothing changed, if its line cannot be rewritten.
    pub(super) fn reparent(&mut self, place: usize, parent: &Arc<str>) -> bool {
        let entry = &mut self.entries[place];
        let length = entry.line().len();
        let done = entry.reparent(parent).is_ok();
        self.bytes = self.bytes - length + entry.line().len();
        done
    }

    /// Entries of the branch from its root to the leaf. A missing parent ends the branch, and so does a cycle.
    pub fn path(&self) -> Vec<&Entry> {
        self.path_to(self.leaf)
    }

    /// The [`path`](Self::path) to the entry at an index.
    pub(super) fn path_to(&self, place: Option<usize>) -> Vec<&Entry> {
        self.path_indices(place).into_iter().map(|place| &self.entries[place]).collect()
    }

    /// Indices of the entries on the [`path`](Self::path) to the entry at an index.
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

    /// The index of a parent, which is usually the entry before and then shares its id.
    fn index_near(&self, id: &Arc<str>, place: usize) -> Option<usize> {
        let before = place.checked_sub(1).filter(|&before| Arc::ptr_eq(self.entries[before].id(), id));
        before.or_else(|| self.places.get(id).copied())
    }

    /// The index of the [`leaf`](Self::leaf).
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

    /// The index of an entry in [`entries`](Self::entries).
    pub(super) fn index_of(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    /// Appends an entry behind the leaf and makes it the leaf. Returns its line, line feed included. Members that the
    /// dialect does not have are left out.
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
        let head = EntryHead { id, parent, kind: Some(kind), role, at: stamp.wall_ms, plain };
        self.insert(match message {
            Some(message) => Entry::with_message(head, line.clone(), message),
            None => Entry::new(head, line.clone()),
        });
        line
    }

    /// Reverts the last change, an [`append`](Self::append) or [`rename`](Self::rename), which must not be in the
    /// file. After a new title nothing more can be reverted.
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

    /// Inserts an entry at the end, or in place of the one with the same id, and makes it the leaf. Returns whether
    /// an entry was replaced.
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

    /// Names the session, in an entry or in the header, as the dialect does.
    pub fn rename(&mut self, name: &str, stamp: Stamp, random: &mut fastrand::Rng) -> RenameEffect {
        match stamp.dialect.record().session_files.name {
            DialectSessionFilesName::Entry => {
                RenameEffect::Line(self.append(NewEntry::Name(name.to_owned()), stamp, random))
            }
            DialectSessionFilesName::Header => {
                // When the file is read, a name in an entry would win over the title.
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

    /// The session's name: from the last entry in the file that names it, on any branch, else the header's title.
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

    /// The label of each labelled entry, by its id.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let marks = self.label_entries().into_iter();
        marks.filter_map(|(target, mark)| Some((target, mark.label?))).collect()
    }

    /// The label entry of each labelled entry, by its id.
    pub(super) fn label_entries(&self) -> BTreeMap<String, LabelEntry> {
        let mut marks = BTreeMap::new();
        let labels = self.entries.iter().filter(|entry| entry.kind() == Some(SessionEntryKind::Label));
        for mark in labels.filter_map(Entry::read::<LabelEntry>) {
            match mark.label.as_ref().is_some_and(|text| !text.is_empty()) {
                true => marks.insert(mark.target_id.clone(), mark),
                false => marks.remove(&mark.target_id),
            };
        }
        marks
    }

    /// All lines of a new file, line feeds included.
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

    /// The index in [`lines`](Self::lines) of each entry's line.
    pub fn line_indices(&self) -> Vec<usize> {
        let mut before: Vec<usize> = self.strays.iter().map(|(before, _)| *before).collect();
        before.sort_unstable();
        let earlier = |place| before.partition_point(|before| *before <= place);
        (0..self.entries.len()).map(|place| 1 + place + earlier(place)).collect()
    }

    /// Keeps an unreadable line, line feed included, behind the present entries.
    pub(super) fn keep_stray_line(&mut self, line: Bytes) {
        self.bytes += line.len();
        self.strays.push((self.entries.len(), line));
    }
}

/// Finds the message in a line that was just encoded for a dialect.
fn plain(line: &[u8], dialect: Dialect) -> Option<Plain> {
    const KEY: &[u8] = br#","message":"#;
    let start = u32::try_from(memchr::memmem::find(line, KEY)? + KEY.len()).ok()?;
    Some(Plain { bases: Bases::of(&[dialect.base()]), start })
}
