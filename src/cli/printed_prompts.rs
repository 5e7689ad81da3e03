//! Collects the prompts of print mode from stdin, files and the command line.

use super::options::{HostOptions, Refusal};
use pi_rpc_files::regular_files;
use pi_rpc_server::PrintFormat;
use std::{
    collections::VecDeque,
    io::{self, IsTerminal as _, Read},
    path::absolute,
};

/// The output format and the prompts of print mode; `None` if the protocol is served. Reads stdin to its end, unless it is a
/// terminal. stdin and each file may have at most `limit` bytes.
///
/// Source: pi 0.73.1, observed; its `README.md`.
pub fn read(options: &HostOptions, limit: usize) -> Result<Option<(PrintFormat, VecDeque<String>)>, Refusal> {
    let Some(printed) = options.print_format() else { return Ok(None) };
    let mut messages: VecDeque<String> = options.messages.iter().cloned().collect();
    let mut first = read_stdin(limit)?;
    for name in &options.files {
        first += &tagged_file(name, limit)?;
    }
    first += &messages.pop_front().unwrap_or_default();
    if !first.is_empty() {
        messages.push_front(first);
    }
    Ok(Some((printed, messages)))
}

/// The content of stdin, trimmed.
fn read_stdin(limit: usize) -> Result<String, Refusal> {
    if io::stdin().is_terminal() {
        return Ok(String::new());
    }
    let text = read_text(io::stdin().lock(), limit).map_err(|error| Refusal(format!("stdin: {error}"), 1))?;
    Ok(text.trim().to_owned())
}

/// The content of a text file between tags with its path; nothing for an empty one.
fn tagged_file(name: &str, limit: usize) -> Result<String, Refusal> {
    let path = absolute(name).unwrap_or_else(|_| name.into());
    let refused = |error: io::Error| Refusal(format!("@{name}: {error}"), 1);
    let text = regular_files::open(&path).and_then(|file| read_text(file, limit)).map_err(refused)?;
    Ok(match text.is_empty() {
        true => text,
        false => format!("<file name=\"{}\">\n{text}\n</file>\n", path.display()),
    })
}

fn read_text(from: impl Read, limit: usize) -> io::Result<String> {
    let mut bytes = Vec::new();
    from.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(io::Error::other(format!("more than {limit} bytes (--max-frame)")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("expected text in UTF-8"))
}
