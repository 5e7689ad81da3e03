//! Origins of skills and templates, as hosts see them.

use pi_rpc_protocol::{CommandLocation, SourceInfo, SourceOrigin, SourceScope};
use std::path::Path;

/// Source of a file that was named explicitly.
pub const SOURCE_NAMED: &str = "local";

/// Source of a file in a usual directory.
pub const SOURCE_DISCOVERED: &str = "auto";

/// Describes the origin of the file at `path`; `base`, if known, is the base of paths in it.
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

/// The scope of a location.
pub const fn scope(location: CommandLocation) -> SourceScope {
    match location {
        CommandLocation::User => SourceScope::User,
        CommandLocation::Project => SourceScope::Project,
        CommandLocation::Path => SourceScope::Temporary,
    }
}
