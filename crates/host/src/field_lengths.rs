//! Bounds of what a host keeps about a session besides its content: names, paths, ids. They are in records of sessions, in
//! heartbeats and in headers, which have to stay short.

use super::{host_error::HostError, open_request::OpenRequest};
use pi_rpc_protocol::RpcCommand;
use std::path::Path;

/// The longest display name of a session, in bytes.
pub const MAX_NAME: usize = 4096;

/// The longest path, in bytes: that of Linux.
const MAX_PATH: usize = 4096;

/// The longest name of a provider, a model or a tool, in bytes.
const MAX_WORD: usize = 1024;

/// Names of tools in one list.
const MAX_TOOLS: usize = 256;

/// Bytes of all names of tools in one list.
const MAX_TOOL_BYTES: usize = 8 * 1024;

/// The longest `id` of a command, in bytes of JSON.
const MAX_ID: usize = 1024;

/// The longest name of a client, in bytes.
pub const MAX_CLIENT_NAME: usize = 256;

/// The longest display name in a record, in bytes. The name itself is in the session.
const MAX_RECORDED_NAME: usize = 1024;

/// A display name as records have it.
pub fn recorded_name(name: &str) -> String {
    name[..name.floor_char_boundary(MAX_RECORDED_NAME)].to_owned()
}

/// Checks the length of a text.
///
/// # Errors
///
/// It is longer than `limit` bytes; the text names the field, and both lengths.
pub fn check_length(field: &str, length: usize, limit: usize) -> Result<(), String> {
    match length > limit {
        true => Err(format!("{field}: expected at most {limit} bytes, got {length}")),
        false => Ok(()),
    }
}

/// Checks what a command makes a host keep about its session.
///
/// # Errors
///
/// A field is too long.
pub fn check_command(command: &RpcCommand) -> Result<(), String> {
    let id = command.id().and_then(|id| serde_json::to_vec(id).ok());
    check_length("id", id.map_or(0, |id| id.len()), MAX_ID)?;
    match command {
        RpcCommand::SetSessionName(command) => check_length("name", command.name.len(), MAX_NAME),
        _ => Ok(()),
    }
}

/// Checks what a request makes a host keep about a new session.
///
/// # Errors
///
/// A field is too long.
pub fn check_request(request: &OpenRequest) -> Result<(), HostError> {
    check_fields(request).map_err(HostError::OpenFailed)
}

fn check_fields(request: &OpenRequest) -> Result<(), String> {
    let text = |field: &str, text: &Option<String>, limit| {
        check_length(field, text.as_ref().map_or(0, String::len), limit)
    };
    text("name", &request.name, MAX_NAME)?;
    text("provider", &request.provider, MAX_WORD)?;
    text("model", &request.model, MAX_WORD)?;
    let directory = request.directory.as_deref().unwrap_or(Path::new(""));
    check_length("cwd", directory.as_os_str().len(), MAX_PATH)?;
    check_length("session", request.start.source().map_or(0, str::len), MAX_PATH)?;
    let tools = &request.tool_limits;
    let lists = [
        ("tools", tools.only.as_deref().unwrap_or_default()),
        ("exclude_tools", &tools.without),
        ("confirm_tools", &tools.confirmed),
    ];
    for (field, names) in lists {
        check_length(field, names.iter().map(String::len).sum(), MAX_TOOL_BYTES)?;
        if names.len() > MAX_TOOLS {
            return Err(format!("{field}: expected at most {MAX_TOOLS} names, got {}", names.len()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Start, ToolLimits};

    #[test]
    fn long_fields_of_new_session_are_refused() {
        let long = || "x".repeat(530_000);
        let none = OpenRequest::default;
        let tools = |tool_limits| OpenRequest { tool_limits, ..none() };
        for (request, error) in [
            (none(), None),
            (OpenRequest { name: Some("x".repeat(MAX_NAME)), ..none() }, None),
            (
                OpenRequest { name: Some(long()), ..none() },
                Some("name: expected at most 4096 bytes, got 530000"),
            ),
            (
                OpenRequest { provider: Some(long()), ..none() },
                Some("provider: expected at most 1024 bytes, got 530000"),
            ),
            (
                OpenRequest { model: Some(long()), ..none() },
                Some("model: expected at most 1024 bytes, got 530000"),
            ),
            (
                OpenRequest { directory: Some(long().into()), ..none() },
                Some("cwd: expected at most 4096 bytes, got 530000"),
            ),
            (
                OpenRequest { start: Start::Named(long()), ..none() },
                Some("session: expected at most 4096 bytes, got 530000"),
            ),
            (
                OpenRequest { start: Start::Fork(long()), ..none() },
                Some("session: expected at most 4096 bytes, got 530000"),
            ),
            (
                tools(ToolLimits { only: Some(vec![long()]), ..ToolLimits::default() }),
                Some("tools: expected at most 8192 bytes, got 530000"),
            ),
            (
                tools(ToolLimits { without: vec!["x".to_owned(); 300], ..ToolLimits::default() }),
                Some("exclude_tools: expected at most 256 names, got 300"),
            ),
            (
                tools(ToolLimits { confirmed: vec![long()], ..ToolLimits::default() }),
                Some("confirm_tools: expected at most 8192 bytes, got 530000"),
            ),
        ] {
            let found = check_request(&request).err().map(|error| error.text());
            assert_eq!(found, error.map(|error| format!("open_failed: {error}")));
        }
    }

    #[test]
    fn recorded_name_ends_with_whole_character() {
        assert_eq!(recorded_name("name"), "name");
        assert_eq!(recorded_name(&format!("x{}", "é".repeat(1000))), format!("x{}", "é".repeat(511)));
    }
}
