//! Serves the commands that read the session's entries.

use crate::core::Engine;
use pi_rpc_protocol::{
    DialectForksFrom, EntryList, EntryTree, ErrorCode, ForkMessage, ForkMessages, GetEntriesCommand,
    GetEntriesResponse, GetTreeResponse, MAX_FOREST_DEPTH, Outbound, RequestId, RpcCommandKind,
    RpcErrorResponse, errors,
};
use pi_rpc_session as session;

impl Engine {
    /// The messages at which the session can be forked.
    pub(crate) fn fork_messages(&self) -> ForkMessages {
        let tree = self.store.session.tree();
        let messages = match self.dialect.record().forks_from {
            DialectForksFrom::AllBranches => tree.fork_messages(),
            DialectForksFrom::ActiveBranch => tree.fork_messages_of_branch(),
        };
        let to_frame = |at: session::ForkMessage| ForkMessage { entry_id: at.id.to_string(), text: at.text };
        ForkMessages { messages: messages.into_iter().map(to_frame).collect() }
    }

    /// Serves `get_entries`: all entries, or those after one.
    pub(crate) fn list_entries(&mut self, command: GetEntriesCommand) {
        let base = self.dialect.base();
        let tree = self.store.session.tree();
        match tree.list_entries(command.since.as_deref(), base) {
            Some(entries) => {
                let data = EntryList { entries, leaf_id: tree.leaf_id().map(ToString::to_string) };
                self.succeed(GetEntriesResponse { id: command.id, data });
            }
            None => {
                let since = command.since.unwrap_or_default();
                let text = match ErrorCode::UnknownSince.is_in(base) {
                    true => errors::entries_cursor(base, &since),
                    false => errors::entry_not_found(base, &since),
                };
                if !ErrorCode::UnknownSince.is_in(base) {
                    return self.handler_failed(command.id, RpcCommandKind::GetEntries, text);
                }
                let name = RpcCommandKind::GetEntries.as_str().to_owned();
                let code = Some(ErrorCode::UnknownSince);
                let response = RpcErrorResponse { id: command.id, command: name, error: text, code };
                self.emit(Outbound::Response(response.into()));
            }
        }
    }

    /// Serves `get_tree`: the entries as a tree.
    pub(crate) fn list_tree(&mut self, id: Option<RequestId>) {
        let base = self.dialect.base();
        let tree = self.store.session.tree();
        let leaf_id = tree.leaf_id().map(ToString::to_string);
        match tree.entry_tree(base) {
            Some(tree) => self.succeed(GetTreeResponse { id, data: EntryTree { tree, leaf_id } }),
            None => {
                let text = errors::tree_too_deep(base, &MAX_FOREST_DEPTH.to_string());
                self.handler_failed(id, RpcCommandKind::GetTree, text);
            }
        }
    }
}
