//! The ids of ACP sessions: names of sessions that are open or stored, never paths.

use super::session::invalid;
use agent_client_protocol::{Error as AcpError, v1::schema::SessionId};

/// Longest id, in bytes.
const MAX_ID: usize = 256;

/// Checks an id, of a client or of a server.
///
/// # Errors
///
/// It is empty or too long, has control characters, or could be taken for a path; the text names it.
pub fn check_id(id: &str) -> Result<(), String> {
    let shown: String = id.chars().take(MAX_ID).collect();
    let wrong = |expected: &str| Err(format!("sessionId: expected {expected}, got {shown:?}"));
    if id.is_empty() || id.len() > MAX_ID {
        return wrong("an id of 1 to 256 bytes");
    }
    if id.chars().any(|letter| letter.is_control() || letter.is_whitespace()) {
        return wrong("an id without blanks and control characters");
    }
    let is_path = id.contains(['/', '\\']) || id.starts_with(['.', '~']) || id.ends_with(".jsonl");
    match is_path {
        true => wrong("the id of a session, no path"),
        false => Ok(()),
    }
}

/// Checks an id in a request of a client.
///
/// # Errors
///
/// Those of [`check_id`], as invalid parameters.
pub fn checked(id: &SessionId) -> Result<&SessionId, AcpError> {
    check_id(&id.0).map(|()| id).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_no_paths() {
        for id in ["0199a3f0-6d7c-7b1e-b0a5-5f2f3d9a1c11", "a", "nightly.2", "a_b", "x~"] {
            assert_eq!(check_id(id), Ok(()), "{id}");
        }
        let long = "x".repeat(257);
        for id in [
            "",
            "/etc/passwd",
            "a/b",
            "..",
            ".",
            "../a",
            "~",
            "~/a",
            "a\\b",
            "a.jsonl",
            "a\nb",
            "a\0",
            " a",
            "a ",
            "\u{85}",
            &long,
        ] {
            assert!(check_id(id).is_err_and(|text| text.starts_with("sessionId: expected ")), "{id:?}");
        }
    }
}
