//! The `write` tool: writes a file.

use std::fs;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::{
    delegate::ToolDelegate,
    file_change::{replace_text, with_file_lock},
    path::{resolve, system_error},
    run::{ToolContext, ToolOutput, aborted_message},
};
use pi_rpc_tool_specs::WriteArguments;

/// Runs `write`; creates missing directories.
pub(super) async fn write(arguments: WriteArguments, context: ToolContext) -> Result<ToolOutput, String> {
    let path = resolve(&arguments.path, &context.cwd);
    let counts = context.rules.counts_written;
    let delegate = context.delegate;
    with_file_lock(path, context.cancel, move |path, cancel| {
        write_result(&arguments, path, counts, delegate.as_deref(), cancel)
    })
    .await
}

fn write_result(
    arguments: &WriteArguments,
    path: &Path,
    counts: bool,
    delegate: Option<&dyn ToolDelegate>,
    cancel: &CancellationToken,
) -> Result<ToolOutput, String> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(|error| system_error(&error, "mkdir", Some(directory)))?;
    }
    if cancel.is_cancelled() {
        return Err(aborted_message());
    }
    replace_text(path, &arguments.content, delegate)?;
    if !counts {
        return Ok(ToolOutput::text(format!("Successfully wrote to {}", arguments.path)));
    }
    // pi says bytes and counts UTF-16 code units.
    let size = arguments.content.encode_utf16().count();
    Ok(ToolOutput::text(format!("Successfully wrote {size} bytes to {}", arguments.path)))
}
