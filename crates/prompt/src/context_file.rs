//! A file of instructions.

use std::path::PathBuf;

/// A context file for the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Its path.
    pub path: PathBuf,
    /// Its text; bytes that are not UTF-8 are U+FFFD.
    pub content: String,
}
