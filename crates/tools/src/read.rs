//! The `read` tool: returns lines of a text file, or an image.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use imagesize::ImageType;
use serde_json::{Value, json};

use super::{
    image::image_output,
    path::{resolve_existing, system_error},
    run::{Block, ToolContext, ToolOutput},
    truncate::{Limits, MAX_BYTES, line_feeds, size_text, truncate_head},
};
use pi_rpc_protocol::{ReadToolDetails, TruncationUnit};
use pi_rpc_tool_specs::ReadArguments;

/// Largest file that is read, in bytes: about the limit of pi's runtime.
const LARGEST_FILE: u64 = 512 * 1024 * 1024;

/// Runs `read`. Blocks on the disk.
pub(super) fn read(arguments: &ReadArguments, context: &ToolContext) -> Result<ToolOutput, String> {
    let path = resolve_existing(&arguments.path, &context.cwd);
    let mut read = read_file(&path);
    let is_image = read.as_ref().is_ok_and(|bytes| image_kind(bytes).is_some());
    let delegate = context.delegate.as_ref().filter(|_| !is_image);
    // A file that the delegate does not have may still be on the disk.
    if let Some(Ok(text)) = delegate.and_then(|delegate| delegate.read_file(&path)) {
        read = Ok(text.into_bytes());
    }
    let bytes = read?;
    let output = match image_kind(&bytes) {
        Some(mime_type) => image_output(&bytes, mime_type, context.scales_images),
        None => read_lines(&String::from_utf8_lossy(&bytes), arguments, context)?,
    };
    let structured = context.rules.structured_content.then(|| structured(&output.content));
    Ok(ToolOutput { structured, ..output })
}

/// The structured result: the text, or the image with the text as a note.
fn structured(content: &[Block]) -> Value {
    let text = content.iter().find_map(|block| match block {
        Block::Text(text) => Some(text.as_str()),
        Block::Image { .. } => None,
    });
    let text = text.unwrap_or_default();
    let image = content.iter().find_map(|block| match block {
        Block::Image { data, mime_type } => {
            Some(json!({ "type": "image", "data": data, "mimeType": mime_type, "note": text }))
        }
        Block::Text(_) => None,
    });
    image.unwrap_or_else(|| json!(text))
}

/// Reads a whole regular file; a pipe or device might never end.
pub(super) fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let metadata = std::fs::metadata(path).map_err(|error| system_error(&error, "access", Some(path)))?;
    if metadata.is_dir() {
        return Err("EISDIR: illegal operation on a directory, read".into());
    }
    if !metadata.is_file() {
        return Err(format!("Not a regular file: {}", path.display()));
    }
    let too_large = || format!("File is larger than {}: {}", size_text(LARGEST_FILE), path.display());
    if metadata.len() > LARGEST_FILE {
        return Err(too_large());
    }
    let file = File::open(path).map_err(|error| system_error(&error, "access", Some(path)))?;
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| system_error(&error, "read", None))?;
    // The file may have grown meanwhile.
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(too_large());
    }
    Ok(bytes)
}

/// The requested lines, truncated, with a hint how to continue.
fn read_lines(text: &str, arguments: &ReadArguments, context: &ToolContext) -> Result<ToolOutput, String> {
    let total = line_feeds(text) + 1;
    let ignores_final_feed = context.shell.limits.ignores_final_feed;
    let limits = Limits { ignores_final_feed, ..Limits::default() };
    let first = match arguments.offset {
        Some(offset) if offset > 1.0 => offset as u64,
        _ => 1,
    };
    let Some(start) = line_start(text, first) else {
        let offset = arguments.offset.unwrap_or_default();
        return Err(format!("Offset {offset} is beyond end of file ({total} lines total)"));
    };
    // The line after the last one that the caller wants; `as` rounds down and stops at the ends of the range.
    let after = match arguments.limit {
        None => total as i64 + 1,
        Some(limit) => (first as i64).saturating_add(limit as i64).min(total as i64 + 1),
    };
    // A negative limit may count from the end of the file, as a negative index does in pi.
    let counted = if after < 1 { after + total as i64 } else { after };
    let end = match u64::try_from(counted) {
        Ok(after) if after > first => line_start(text, after).map_or(text.len(), |next| next - 1),
        _ => start,
    };
    let cut = truncate_head(&text[start..end], limits);
    let limit = size_text(MAX_BYTES);
    let last = (first + cut.output_lines).saturating_sub(1);
    let shown = match cut.truncated_by {
        Some(_) if cut.first_line_exceeds_limit => {
            let size = size_text(text[start..end].find('\n').unwrap_or(end - start) as u64);
            let path = &arguments.path;
            format!(
                "[Line {first} is {size}, exceeds {limit} limit. \
                 Use bash: sed -n '{first}p' {path} | head -c {MAX_BYTES}]"
            )
        }
        Some(TruncationUnit::Lines) => format!(
            "{}\n\n[Showing lines {first}-{last} of {total}. Use offset={} to continue.]",
            cut.content,
            last + 1
        ),
        Some(TruncationUnit::Bytes | TruncationUnit::Middle) => format!(
            "{}\n\n[Showing lines {first}-{last} of {total} ({limit} limit). Use offset={} to continue.]",
            cut.content,
            last + 1
        ),
        None if after <= total as i64 => format!(
            "{}\n\n[{} more lines in file. Use offset={after} to continue.]",
            cut.content,
            (total as i64 + 1).saturating_sub(after)
        ),
        None => cut.content.clone(),
    };
    let details =
        cut.truncated.then(|| json!(ReadToolDetails { truncation: Some(cut), ..ReadToolDetails::default() }));
    Ok(ToolOutput { details, ..ToolOutput::text(shown) })
}

/// The offset of line `number`; the first is 1.
fn line_start(text: &str, number: u64) -> Option<usize> {
    let before = usize::try_from(number).ok()?.checked_sub(1)?;
    if before == 0 {
        return Some(0);
    }
    text.match_indices('\n').nth(before - 1).map(|(at, _)| at + 1)
}

/// The MIME type of an image, detected by content.
pub(super) fn image_kind(bytes: &[u8]) -> Option<&'static str> {
    match imagesize::image_type(bytes).ok()? {
        ImageType::Png => Some("image/png"),
        ImageType::Jpeg => Some("image/jpeg"),
        ImageType::Gif => Some("image/gif"),
        ImageType::Webp => Some("image/webp"),
        _ => None,
    }
}
