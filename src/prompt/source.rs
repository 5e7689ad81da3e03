//! Where skills and templates come from, as hosts are told.

use crate::protocol::{CommandLocation, SourceInfo, SourceOrigin, SourceScope};
use std::path::Path;

/// A file by which the user, or whoever started the server, meant that very place.
pub const SOURCE_NAMED: &str = "local";

/// A file that was found where everybody looks.
pub const SOURCE_DISCOVERED: &str = "auto";

/// How the file at `path` was found; paths in it are relative to `base`, if that is known.
pub fn source_info(path: &Path, source: &str, scope: SourceScope, base: Option<&Path>) -> SourceInfo {
    SourceInfo {
        path: path.display().to_string(),
        source: source.to_owned(),
        scope,
        origin: SourceOrigin::TopLevel,
        base_dir: base.map(|base| base.display().to_string()),
        changelog_path: None,
    }
}

/// For whom a file in that place is.
pub const fn scope(location: CommandLocation) -> SourceScope {
    match location {
        CommandLocation::User => SourceScope::User,
        CommandLocation::Project => SourceScope::Project,
        CommandLocation::Path => SourceScope::Temporary,
    }
}
