//! Session files with any contents: a file is read or refused, what was read and is written again reads the same, and
//! the stored bytes of a plain message equal its encoding.

use bytes::Bytes;
use pi_rpc::{
    protocol::{Base, Check as _},
    session::{ReadError, Session, Tree},
};
use serde_json::Value;
use std::path::Path;

const HEADER: &[u8] =
    b"{\"type\":\"session\",\"version\":3,\"id\":\"s-1\",\"timestamp\":\"2026-01-05T10:00:00.000Z\",\"cwd\":\"/w\"}\n";
const ENTRY: &[u8] =
    b"{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"timestamp\":\"2026-01-05T10:00:00.000Z\",\"message\":";

/// The input is a file; after `m` it is the only message of a file, after `e` its entries.
pub fn check(data: &[u8]) {
    let file = match data.split_first() {
        Some((b'm', message)) => [HEADER, ENTRY, message, b"}\n"].concat(),
        Some((b'e', entries)) => [HEADER, entries].concat(),
        _ => data.to_vec(),
    };
    let Ok(once) = read(file) else { return };
    // Unreadable lines stay unchanged, and need not be UTF-8.
    let written = once.lines().concat();
    let mut again = read(written.clone()).expect("what was written is a session");
    assert!(again.move_to(once.leaf_id().map(AsRef::as_ref)), "the leaf is there again");
    assert_eq!(String::from_utf8_lossy(&again.lines().concat()), String::from_utf8_lossy(&written));
    assert_eq!(all_of(&again), all_of(&once));
    told(&once);
}

/// Reads a file. Version 1 has no ids, which are then generated from a fixed seed.
fn read(file: Vec<u8>) -> Result<Tree, ReadError> {
    Tree::read(Bytes::from(file), &mut fastrand::Rng::with_seed(7)).map(|read| read.tree)
}

/// Results of all queries of a tree.
fn all_of(tree: &Tree) -> String {
    let path: Vec<_> = tree.path().iter().map(|entry| (entry.id().clone(), entry.at())).collect();
    let (context, on_path) = (tree.context(), tree.path_entries());
    format!("{:?}", (path, context, on_path, tree.name(), tree.labels(), tree.fork_messages()))
}

fn told(tree: &Tree) {
    for base in Base::ALL {
        let said = tree.context().messages.into_iter().filter(|message| message.kind().is_in(base));
        let typed: Vec<Value> = said
            .map(|message| {
                let mut message = message.as_ref().clone();
                message.fit(base);
                serde_json::to_value(message).expect("JSON")
            })
            .collect();
        let session = Session::from_file(tree.clone(), Path::new("/w/s.jsonl").into());
        let told: Vec<Value> = session
            .encoded_messages(base)
            .map(|bytes| serde_json::from_slice(&bytes).expect("a message is JSON"))
            .collect();
        assert_eq!(told, typed, "{base:?}");
        // Hosts get them as entries, too.
        drop((tree.list_entries(None, base), tree.entry_tree(base)));
    }
}
