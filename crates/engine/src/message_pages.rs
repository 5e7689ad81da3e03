//! Lists the messages of the conversation in pages.
//!
//! A cursor names the place of the next message, and the conversation that the page was made of: its session, its newest
//! entry and its number of messages. Source: oh-my-pi source.

use crate::core::Engine;
use pi_rpc_protocol::{
    AgentMessage, Check as _, ErrorCode, GetMessagesPageCommand, GetMessagesPageResponse, MessagePage,
    Outbound, RpcCommandKind, RpcErrorResponse, errors,
};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Place at which a page begins, in a conversation.
#[derive(Debug, PartialEq)]
struct Cursor {
    place: usize,
    /// Hash of the session and its newest entry, and the number of messages.
    conversation: (u64, usize),
}

/// Reason for which a page is refused.
enum Refusal {
    Busy,
    Limit,
    Cursor,
    Stale,
}

impl Engine {
    /// Serves `get_messages_page`.
    pub(crate) fn list_message_page(&mut self, command: GetMessagesPageCommand) {
        match self.message_page(command.cursor.as_deref(), command.limit) {
            Ok(data) => self.succeed(GetMessagesPageResponse { id: command.id, data }),
            Err(refusal) => {
                let base = self.dialect.base();
                let (error, code) = match refusal {
                    Refusal::Busy => (errors::page_busy(base), Some(ErrorCode::SessionBusy)),
                    Refusal::Limit => (errors::page_limit(base), None),
                    Refusal::Cursor => (errors::page_cursor(base), None),
                    Refusal::Stale => (errors::page_cursor_stale(base), Some(ErrorCode::StaleCursor)),
                };
                let command_name = RpcCommandKind::GetMessagesPage.as_str().to_owned();
                let response = RpcErrorResponse { id: command.id, command: command_name, error, code };
                self.emit(Outbound::Response(response.into()));
            }
        }
    }

    fn message_page(&self, cursor: Option<&str>, limit: Option<u64>) -> Result<MessagePage, Refusal> {
        let limits = &self.dialect.record().page_limits;
        let limit = limit.or(limits.messages).unwrap_or(u64::MAX);
        if !(1..=limits.most.unwrap_or(u64::MAX)).contains(&limit) {
            return Err(Refusal::Limit);
        }
        let cursor = cursor.map(|text| Cursor::parse(text).ok_or(Refusal::Cursor)).transpose()?;
        if self.is_working() {
            return Err(Refusal::Busy);
        }
        let base = self.dialect.base();
        let all = self.store.session.messages().iter().filter(|message| message.kind().is_in(base));
        let total = all.clone().count();
        let conversation = (self.conversation_hash(), total);
        let first = match cursor {
            Some(cursor) if cursor.conversation != conversation || cursor.place > total => {
                return Err(Refusal::Stale);
            }
            Some(cursor) => cursor.place,
            None => 0,
        };
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let page = all.skip(first).take(limit).map(|message| {
            let mut message = message.as_ref().clone();
            message.fit(base);
            message
        });
        let messages = fitting(page, limits.bytes.unwrap_or(u64::MAX));
        let next = first + messages.len();
        let next_cursor = (next < total).then(|| Cursor { place: next, conversation }.to_string());
        Ok(MessagePage { messages, next_cursor, total_messages: total as u64 })
    }

    fn conversation_hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.store.session.id().hash(&mut hasher);
        self.store.session.tree().leaf_id().hash(&mut hasher);
        hasher.finish()
    }
}

/// The first messages whose JSON has at most so many bytes; at least one.
fn fitting(messages: impl Iterator<Item = AgentMessage>, most: u64) -> Vec<AgentMessage> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    for message in messages {
        bytes += serde_json::to_vec(&message).map_or(0, |json| json.len() as u64);
        if bytes > most && !page.is_empty() {
            break;
        }
        page.push(message);
    }
    page
}

impl Cursor {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
        let (place, hash, count) = (number()?, number()?, number()?);
        let whole = parts.next().is_none();
        let conversation = (hash, usize::try_from(count).ok()?);
        whole.then_some(Self { place: usize::try_from(place).ok()?, conversation })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (hash, count) = self.conversation;
        write!(f, "{:x}-{hash:x}-{count:x}", self.place)
    }
}
