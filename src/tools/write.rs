//! The `write` tool: writes a file.

use std::fs;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::file_change::{replace_file, with_file_lock};
use super::path::{resolve, system_error};
use super::run::{ToolContext, ToolOutput, aborted_message};
use super::spec::WriteArguments;

/// Runs `write`; creates missing directories.
pub(super) async fn write(arguments: WriteArguments, context: ToolContext) -> Result<ToolOutput, String> {
    let path = resolve(&arguments.path, &context.cwd);
    let counts = context.rules.counts_written;
    with_file_lock(path, context.cancel, move |path, cancel| write_result(&arguments, path, counts, cancel))
        .await
}

fn write_result(
    arguments: &WriteArguments,
    path: &Path,
    counts: bool,
    cancel: &CancellationToken,
) -> Result<ToolOutput, String> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(|error| system_error(&error, "mkdir", Some(directory)))?;
    }
    if cancel.is_cancelled() {
        return Err(aborted_message());
    }
    replace_file(path, arguments.content.as_bytes())?;
    if !counts {
        return Ok(ToolOutput::text(format!("Successfully wrote to {}", arguments.path)));
    }
    // pi says bytes and counts UTF-16 code units.
    let size = arguments.content.encode_utf16().count();
    Ok(ToolOutput::text(format!("Successfully wrote {size} bytes to {}", arguments.path)))
}
