//! Servers that are held to the folders of a token, wherever they are named: in `mcp.json`, or by an extension.

use super::FileCheck;
use pi_rpc_config::mcp::{McpEntry, McpValues};
use std::path::Path;

/// Leaves out the servers of a session in `directory` whose process would work in a folder that is not admitted. Returns a line for each
/// that was to be connected.
pub fn confine(
    servers: &mut Vec<McpEntry>,
    values: &McpValues,
    directory: &Path,
    admits_file: &FileCheck,
) -> Vec<String> {
    let mut errors = Vec::new();
    servers.retain(|entry| {
        let works_below =
            values.working_directory(entry, directory).is_none_or(|folder| admits_file(&folder));
        if !works_below && entry.is_enabled {
            let text = "cwd: expected a folder below the roots of the token; it is left out";
            errors.push(format!("{}: server \"{}\": {text}", entry.source.display(), entry.name));
        }
        works_below
    });
    errors
}
