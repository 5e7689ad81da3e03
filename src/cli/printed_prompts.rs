//! Collects the prompts of print mode, and images for the first, from stdin, files and the command line.

use super::options::{HostOptions, Refusal};
use pi_rpc_files::regular_files;
use pi_rpc_protocol::ImageContent;
use pi_rpc_server::PrintMode;
use pi_rpc_tools::{ImageAttachment, image_attachment};
use std::{
    collections::VecDeque,
    io::{self, IsTerminal as _, Read},
    path::absolute,
};

/// The run of print mode; `None` if the protocol is served. Reads stdin to its end, unless it is a terminal. stdin and each
/// file may have at most `limit` bytes.
///
/// Source: pi 0.73.1 and 1.6.0, observed; their `README.md`.
pub fn read(options: &HostOptions, limit: usize) -> Result<Option<PrintMode>, Refusal> {
    let Some(printed) = options.print_format() else { return Ok(None) };
    let mut messages: VecDeque<String> = options.messages.iter().cloned().collect();
    let mut images = Vec::new();
    let mut first = read_stdin(limit)?;
    for name in &options.files {
        first += &tagged_file(name, limit, &mut images)?;
    }
    first += &messages.pop_front().unwrap_or_default();
    if !first.is_empty() {
        messages.push_front(first);
    }
    Ok(Some(PrintMode::new(printed, messages, images)))
}

/// The content of stdin, trimmed.
fn read_stdin(limit: usize) -> Result<String, Refusal> {
    if io::stdin().is_terminal() {
        return Ok(String::new());
    }
    let text = read_text(io::stdin().lock(), limit).map_err(|error| Refusal(format!("stdin: {error}"), 1))?;
    Ok(text.trim().to_owned())
}

/// The content of a text file between tags with its path, or tags for an image that is added to `images`; nothing for an
/// empty file.
fn tagged_file(name: &str, limit: usize, images: &mut Vec<ImageContent>) -> Result<String, Refusal> {
    let path = absolute(name).unwrap_or_else(|_| name.into());
    let refused = |error: io::Error| Refusal(format!("@{name}: {error}"), 1);
    let bytes = regular_files::open(&path).and_then(|file| read_bytes(file, limit)).map_err(refused)?;
    let shown = path.display();
    if let Some(ImageAttachment { notes, picture }) = image_attachment(&bytes) {
        images.extend(picture.map(|(data, mime_type)| ImageContent { data, mime_type }));
        return Ok(format!("<file name=\"{shown}\">{notes}</file>\n"));
    }
    let text = utf8(bytes).map_err(refused)?;
    Ok(match text.is_empty() {
        true => text,
        false => format!("<file name=\"{shown}\">\n{text}\n</file>\n"),
    })
}

fn read_text(from: impl Read, limit: usize) -> io::Result<String> {
    utf8(read_bytes(from, limit)?)
}

fn read_bytes(from: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    match bytes.len() > limit {
        true => Err(io::Error::other(format!("more than {limit} bytes (--max-frame)"))),
        false => Ok(bytes),
    }
}

fn utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::other("expected an image, or text in UTF-8"))
}
