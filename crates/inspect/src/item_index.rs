//! Which records make which item of the conversation.

use super::{frame_head::FrameHead, wire::ItemKind};
use pi_rpc_protocol::{
    AgentMessageKind as Role, AgentSessionEventKind as Event, RpcCommandKind as Command,
    RpcExtensionUIRequestKind as UiRequest, StopReason,
};
use pi_rpc_recording::Direction;
use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hasher as _},
};

/// What is kept of an item in memory. Its content stays in the file.
#[derive(Clone, Copy, Debug)]
pub struct ItemFacts {
    /// What it is.
    pub kind: ItemKind,
    /// Its first record.
    pub first: u32,
    /// Its last record so far.
    pub last: u32,
    /// The record that has its whole content; 0: none so far.
    pub content: u32,
    /// How it ended.
    pub end: ItemEnd,
    /// The session, as a number of a name.
    pub session: u16,
    /// A part of the hash by which it is recognized.
    key: u32,
}

/// How an item ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemEnd {
    /// It is under way.
    Open,
    /// As it should.
    Done,
    /// With an error.
    Failed,
    /// It was cancelled or aborted.
    Cancelled,
}

/// The items, and those that are under way.
#[derive(Debug, Default)]
pub struct ItemIndex {
    items: Vec<ItemFacts>,
    /// Items under way, by a hash of what identifies them.
    open: VecDeque<(u64, u32)>,
    /// Items that are dialogs.
    dialogs: Vec<u32>,
}

/// The most items under way, in case a server begins many and ends none.
const MAX_OPEN: usize = 1024;

/// The role of answers.
const ASSISTANT: &str = Role::Assistant.as_str();

/// What an open item is recognized by.
#[derive(Hash)]
enum Key<'a> {
    Message(u16, &'a str),
    Call(u16, &'a str),
    Dialog(u16, &'a str),
    Command(u16, &'a str),
    /// A command without an id, by its type.
    Unnamed(u16, &'a str),
    Compaction(u16),
    Retry(u16),
    Process,
}

impl Key<'_> {
    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        std::hash::Hash::hash(self, &mut hasher);
        hasher.finish()
    }
}

/// A record, as far as items depend on it.
pub struct ItemRecord<'a> {
    /// The number.
    pub record: u32,
    /// The source.
    pub direction: Direction,
    /// The members.
    pub head: Option<&'a FrameHead<'a>>,
    /// The session, as a number of a name.
    pub session: u16,
}

/// The item of a record, and the record that it follows from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordLinks {
    /// The item.
    pub item: Option<u32>,
    /// The record that this one answers or ends.
    pub cause: Option<u32>,
}

impl ItemIndex {
    /// All items.
    pub fn items(&self) -> &[ItemFacts] {
        &self.items
    }

    /// Dialogs that no later record than `at` has closed, the latest 100.
    pub fn dialogs_at(&self, at: u32) -> Vec<u32> {
        let mut open: Vec<u32> = Vec::new();
        for item in self.dialogs.iter().rev().take(4 * MAX_OPEN) {
            let Some(facts) = self.items.get(*item as usize) else { continue };
            if facts.first <= at && (facts.end == ItemEnd::Open || facts.last > at) && open.len() < 100 {
                open.push(*item);
            }
        }
        open.reverse();
        open
    }

    /// The item of the tool call with this id that begins after the item `after`.
    pub fn tool(&self, session: u16, call: &str, after: u32) -> Option<u32> {
        let key = Key::Call(session, call).hash() as u32;
        let items = self.items.iter().enumerate().skip(after as usize + 1).take(MAX_OPEN);
        let mut tools = items.filter(|(_, facts)| facts.kind == ItemKind::Tool && facts.key == key);
        tools.next().map(|(number, _)| number as u32)
    }

    /// Adds a record.
    pub fn add(&mut self, record: &ItemRecord<'_>) -> RecordLinks {
        match (record.direction, record.head) {
            (Direction::Err, _) => self.single(ItemKind::Stderr, ItemEnd::Done, record),
            (Direction::Meta, Some(head)) => self.process_event(head, record),
            (Direction::In, Some(head)) => self.inbound(head, record),
            (Direction::Out, Some(head)) => self.outbound(head, record),
            (_, None) => self.single(ItemKind::Error, ItemEnd::Failed, record),
        }
    }

    fn process_event(&mut self, head: &FrameHead<'_>, record: &ItemRecord<'_>) -> RecordLinks {
        match head.event().as_deref() {
            Some("spawn") => self.begin(ItemKind::Process, &Key::Process, record),
            Some("exit") => {
                let links = self.end_or_add(ItemKind::Process, &Key::Process, ItemEnd::Done, record);
                self.close_all();
                links
            }
            _ => self.single(ItemKind::Process, ItemEnd::Done, record),
        }
    }

    fn inbound(&mut self, head: &FrameHead<'_>, record: &ItemRecord<'_>) -> RecordLinks {
        let (session, id) = (record.session, head.id());
        let Some(kind) = head.kind() else { return self.single(ItemKind::Error, ItemEnd::Failed, record) };
        match (kind.as_str(), id.as_deref()) {
            ("extension_ui_response", Some(id)) => {
                let end = if head.is_cancelled() { ItemEnd::Cancelled } else { ItemEnd::Done };
                self.end_or_add(ItemKind::Dialog, &Key::Dialog(session, id), end, record)
            }
            ("host_tool_result" | "host_tool_update", _) => {
                self.touch(&Key::Call(session, id.as_deref().unwrap_or_default()), record)
            }
            (kind, id) => {
                let is_shell = Command::parse(kind) == Some(Command::Bash);
                let item = if is_shell { ItemKind::Shell } else { ItemKind::Command };
                match id {
                    Some(id) => self.begin(item, &Key::Command(session, id), record),
                    None => self.begin(item, &Key::Unnamed(session, kind), record),
                }
            }
        }
    }

    fn outbound(&mut self, head: &FrameHead<'_>, record: &ItemRecord<'_>) -> RecordLinks {
        let Some(kind) = head.kind() else { return self.single(ItemKind::Error, ItemEnd::Failed, record) };
        match (kind.as_str(), Event::parse(&kind)) {
            ("response", _) => self.response(head, record),
            ("extension_ui_request", _) => self.ui_request(head, record),
            ("extension_error", _) => self.single(ItemKind::Error, ItemEnd::Failed, record),
            (_, Some(event)) => self.event(event, head, record),
            (_, None) => RecordLinks::default(),
        }
    }

    fn event(&mut self, event: Event, head: &FrameHead<'_>, record: &ItemRecord<'_>) -> RecordLinks {
        let session = record.session;
        match event {
            Event::MessageStart => self.message(false, head, record),
            Event::MessageEnd => self.message(true, head, record),
            Event::MessageUpdate => self.touch(&Key::Message(session, ASSISTANT), record),
            Event::ToolExecutionStart => {
                let call = head.call().unwrap_or_default();
                self.begin(ItemKind::Tool, &Key::Call(session, &call), record)
            }
            Event::ToolExecutionUpdate => {
                self.touch(&Key::Call(session, &head.call().unwrap_or_default()), record)
            }
            Event::ToolExecutionEnd => {
                let end = if head.is_error() { ItemEnd::Failed } else { ItemEnd::Done };
                let call = head.call().unwrap_or_default();
                self.end_or_add(ItemKind::Tool, &Key::Call(session, &call), end, record)
            }
            Event::BashExecutionUpdate => match head.id() {
                Some(id) => self.touch(&Key::Command(session, &id), record),
                None => self.touch(&Key::Unnamed(session, Command::Bash.as_str()), record),
            },
            Event::CompactionStart | Event::AutoCompactionStart => {
                self.begin(ItemKind::Compaction, &Key::Compaction(session), record)
            }
            Event::CompactionEnd | Event::AutoCompactionEnd => {
                let end = if head.is_cancelled() { ItemEnd::Cancelled } else { ItemEnd::Done };
                self.end_or_add(ItemKind::Compaction, &Key::Compaction(session), end, record)
            }
            Event::AutoRetryStart => self.begin(ItemKind::Retry, &Key::Retry(session), record),
            Event::AutoRetryEnd => {
                let end = if head.success() == Some(true) { ItemEnd::Done } else { ItemEnd::Failed };
                self.end_or_add(ItemKind::Retry, &Key::Retry(session), end, record)
            }
            _ => RecordLinks::default(),
        }
    }

    fn response(&mut self, head: &FrameHead<'_>, record: &ItemRecord<'_>) -> RecordLinks {
        let end = match head.success() {
            Some(true) if head.is_cancelled() => ItemEnd::Cancelled,
            Some(true) => ItemEnd::Done,
            _ => ItemEnd::Failed,
        };
        let (id, command) = (head.id(), head.command().unwrap_or_default());
        let key = match id.as_deref() {
            Some(id) => Key::Command(record.session, id),
            None => Key::Unnamed(record.session, &command),
        };
        self.end_or_add(ItemKind::Command, &key, end, record)
    }

    fn message(&mut self, is_end: bool, head: &FrameHead<'_>, record: &ItemRecord<'_>) -> RecordLinks {
        let message = head.message().unwrap_or_default();
        let session = record.session;
        let role = message.role.as_str();
        // A result belongs to its call, whose item has ended already.
        if Role::parse(role) == Some(Role::ToolResult) {
            let call = message.tool_call_id.as_deref().unwrap_or_default();
            let key = Key::Message(session, call).hash();
            return match self.take(key) {
                Some(item) => self.extend(item, record),
                None => RecordLinks::default(),
            };
        }
        let kind = match Role::parse(role) {
            Some(Role::User) => ItemKind::User,
            Some(Role::Assistant) => ItemKind::Assistant,
            Some(Role::Custom) => ItemKind::Custom,
            Some(Role::BashExecution) => ItemKind::Shell,
            _ => ItemKind::System,
        };
        let key = Key::Message(session, role);
        if !is_end {
            return self.begin(kind, &key, record);
        }
        let end = match message.stop_reason.as_deref().and_then(StopReason::parse) {
            Some(StopReason::Error) => ItemEnd::Failed,
            Some(StopReason::Aborted) => ItemEnd::Cancelled,
            _ => ItemEnd::Done,
        };
        self.end_or_add(kind, &key, end, record)
    }

    fn ui_request(&mut self, head: &FrameHead<'_>, record: &ItemRecord<'_>) -> RecordLinks {
        let (method, id) = (head.method().unwrap_or_default(), head.id().unwrap_or_default());
        if !UiRequest::parse(&method).is_some_and(UiRequest::is_dialog) {
            return self.single(ItemKind::Notice, ItemEnd::Done, record);
        }
        let links = self.begin(ItemKind::Dialog, &Key::Dialog(record.session, &id), record);
        self.dialogs.extend(links.item);
        links
    }

    /// An item of one record.
    fn single(&mut self, kind: ItemKind, end: ItemEnd, record: &ItemRecord<'_>) -> RecordLinks {
        let item = self.items.len() as u32;
        let ItemRecord { record, session, .. } = *record;
        let (first, last, content) = (record, record, record);
        self.items.push(ItemFacts { kind, first, last, content, end, session, key: 0 });
        RecordLinks { item: Some(item), cause: None }
    }

    fn begin(&mut self, kind: ItemKind, key: &Key<'_>, record: &ItemRecord<'_>) -> RecordLinks {
        let hash = key.hash();
        // One that never ended gives way.
        self.take(hash);
        let links = self.single(kind, ItemEnd::Open, record);
        if let Some(item) = links.item {
            let facts = &mut self.items[item as usize];
            (facts.content, facts.key) = (0, hash as u32);
            self.open.push_back((hash, item));
            if self.open.len() > MAX_OPEN {
                self.open.pop_front();
            }
        }
        links
    }

    /// Continues an item.
    fn touch(&mut self, key: &Key<'_>, record: &ItemRecord<'_>) -> RecordLinks {
        let hash = key.hash();
        match self.open.iter().rev().find(|(known, _)| *known == hash) {
            Some((_, item)) => self.extend(*item, record),
            None => RecordLinks::default(),
        }
    }

    fn extend(&mut self, item: u32, record: &ItemRecord<'_>) -> RecordLinks {
        let Some(facts) = self.items.get_mut(item as usize) else { return RecordLinks::default() };
        facts.last = record.record;
        RecordLinks { item: Some(item), cause: None }
    }

    /// Ends an item; `None` if none is under way.
    fn end(&mut self, key: &Key<'_>, end: ItemEnd, record: &ItemRecord<'_>) -> Option<RecordLinks> {
        let item = self.take(key.hash())?;
        let links = self.extend(item, record);
        let facts = self.items.get_mut(item as usize)?;
        (facts.content, facts.end) = (record.record, end);
        if let Key::Call(session, call) = key {
            // Its message is still to come.
            self.open.push_back((Key::Message(*session, call).hash(), item));
        }
        Some(RecordLinks { cause: Some(facts.first), ..links })
    }

    /// Ends an item, or adds one that consists of its end.
    fn end_or_add(
        &mut self,
        kind: ItemKind,
        key: &Key<'_>,
        end: ItemEnd,
        record: &ItemRecord<'_>,
    ) -> RecordLinks {
        self.end(key, end, record).unwrap_or_else(|| self.single(kind, end, record))
    }

    fn take(&mut self, hash: u64) -> Option<u32> {
        let at = self.open.iter().rposition(|(known, _)| *known == hash)?;
        self.open.remove(at).map(|(_, item)| item)
    }

    /// Ends everything, because the process has.
    fn close_all(&mut self) {
        for (_, item) in self.open.drain(..) {
            if let Some(facts) = self.items.get_mut(item as usize)
                && facts.end == ItemEnd::Open
            {
                facts.end = ItemEnd::Cancelled;
            }
        }
    }
}
