//! The `ls` tool: lists a directory.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{
    path::{resolve, system_error},
    run::ToolOutput,
    truncate::{Limits, MAX_BYTES, NO_LINE_LIMIT, size_text, truncate_head},
};
use pi_rpc_protocol::LsToolDetails;
use pi_rpc_tool_specs::LsArguments;

/// Default limit of names, as in pi.
const USUAL_LIMIT: f64 = 500.0;

/// Runs `ls`. Blocks on the disk.
pub(super) fn ls(arguments: &LsArguments, cwd: &Path) -> Result<ToolOutput, String> {
    let directory = resolve(arguments.path.as_deref().unwrap_or("."), cwd);
    let limit = arguments.limit.unwrap_or(USUAL_LIMIT).max(1.0);
    // A dangling link, for example, cannot be read.
    let line = |name: String| {
        let metadata = fs::metadata(directory.join(&name)).ok()?;
        Some(if metadata.is_dir() { name + "/" } else { name })
    };
    let mut listing = names(&directory)?.into_iter().filter_map(line);
    let mut lines = Vec::new();
    // `as` rounds down and stops at the ends of the range.
    lines.extend(listing.by_ref().take(limit.ceil() as usize));
    let limited = listing.next().is_some();
    if lines.is_empty() {
        return Ok(ToolOutput::text("(empty directory)"));
    }
    let cut = truncate_head(&lines.join("\n"), Limits { lines: NO_LINE_LIMIT, ..Limits::default() });
    let mut text = cut.content.clone();
    let mut notices = Vec::new();
    if limited {
        notices.push(format!("{limit} entries limit reached. Use limit={} for more", limit * 2.0));
    }
    if cut.truncated {
        notices.push(format!("{} limit reached", size_text(MAX_BYTES)));
    }
    if !notices.is_empty() {
        text += &format!("\n\n[{}]", notices.join(". "));
    }
    let details = LsToolDetails {
        entry_limit_reached: limited.then_some(limit.ceil() as u64),
        truncation: cut.truncated.then_some(cut),
    };
    let details = (!notices.is_empty()).then(|| json!(details));
    Ok(ToolOutput { details, ..ToolOutput::text(text) })
}

/// The names in a directory, sorted without regard to case.
fn names(directory: &Path) -> Result<Vec<String>, String> {
    let Ok(metadata) = fs::metadata(directory) else {
        return Err(format!("Path not found: {}", directory.display()));
    };
    if !metadata.is_dir() {
        return Err(format!("Not a directory: {}", directory.display()));
    }
    let entries = fs::read_dir(directory).map_err(|error| {
        format!("Cannot read directory: {}", system_error(&error, "scandir", Some(directory)))
    })?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_by_cached_key(|name| (name.to_lowercase(), name.clone()));
    Ok(names)
}
