//! The shared conversations of the SDKs, and their runner over `pi_rpc::client`.

mod compare;
pub mod conversation;
mod host;
mod left;
mod play;
mod typed;

pub use compare::Compared;
pub use conversation::Conversation;
pub use host::Host;
pub use left::nothing_is_left;
pub use play::{dialects, play};

use pi_rpc::protocol::Dialect;
use std::path::PathBuf;

/// The folder of the conversations.
pub fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/sdk/conversations"))
}

/// Names and texts of all conversations, sorted by name.
pub fn texts() -> Vec<(String, String)> {
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    let mut texts: Vec<(String, String)> = files
        .map(|path| {
            (path.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect();
    texts.sort();
    texts
}

/// The dialects that are no version of another: those of a program, and those that no other extends.
pub fn program_dialects() -> impl Iterator<Item = Dialect> {
    Dialect::ALL.into_iter().filter(|dialect| {
        let record = dialect.record();
        record.extends.is_none() || !record.started_as.is_empty()
    })
}
