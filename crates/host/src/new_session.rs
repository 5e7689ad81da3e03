//! What a client says of a new session in its address (`/sessions/new?…`).

use super::{
    host_error::HostError,
    open_request::{OpenRequest, Start, ToolLimits},
};
use axum::{extract::Query, http::Uri};
use pi_rpc_protocol::ThinkingLevel;
use serde::Deserialize;
use std::path::PathBuf;

/// The items of a list with commas.
fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// What a client says of a new session in its address.
#[derive(Default, Deserialize)]
pub struct NewSession {
    dialect: Option<String>,
    session: Option<String>,
    cwd: Option<PathBuf>,
    provider: Option<String>,
    model: Option<String>,
    thinking: Option<String>,
    name: Option<String>,
    fork: Option<String>,
    #[serde(default)]
    newest: bool,
    #[serde(default)]
    in_memory: bool,
    tools: Option<String>,
    #[serde(default)]
    no_builtin_tools: bool,
    #[serde(default)]
    exclude_tools: String,
    #[serde(default)]
    confirm_tools: String,
    max_cost: Option<String>,
    max_turns: Option<String>,
    max_time: Option<String>,
}

/// The parameters in the address of a new session: of [`NewSession`], and those of the client.
pub const SESSION_PARAMETERS: [&str; 19] = [
    "dialect",
    "session",
    "cwd",
    "provider",
    "model",
    "thinking",
    "name",
    "fork",
    "newest",
    "in_memory",
    "tools",
    "no_builtin_tools",
    "exclude_tools",
    "confirm_tools",
    "max_cost",
    "max_turns",
    "max_time",
    "client",
    "after",
];

/// The first parameter in the address of a new session that is none of [`SESSION_PARAMETERS`].
pub fn unknown_parameter(uri: &Uri) -> Option<String> {
    let Query(given) = Query::<Vec<(String, String)>>::try_from_uri(uri).ok()?;
    given.into_iter().map(|(name, _)| name).find(|name| !SESSION_PARAMETERS.contains(&name.as_str()))
}

/// The request to open the session.
///
/// # Errors
///
/// A value is unknown, or two exclude each other.
pub fn open_request(new: NewSession) -> Result<OpenRequest, HostError> {
    let dialect = OpenRequest::dialect(new.dialect.as_deref())?;
    let level = match new.thinking {
        Some(name) => Some(ThinkingLevel::parse(&name).ok_or_else(|| {
            let known = ThinkingLevel::ALL.map(ThinkingLevel::as_str).join(", ");
            HostError::OpenFailed(format!("thinking: expected one of {known}, got {name:?}"))
        })?),
        None => None,
    };
    Ok(OpenRequest {
        dialect,
        start: match (new.session, new.fork) {
            (Some(session), None) => Start::Named(session),
            (None, Some(session)) => Start::Fork(session),
            (None, None) if new.newest => Start::Newest,
            (None, None) if new.in_memory => Start::InMemory,
            (None, None) => Start::New,
            (Some(_), Some(_)) => {
                return Err(HostError::OpenFailed("fork: not with session".to_owned()));
            }
        },
        directory: new.cwd,
        provider: new.provider,
        model: new.model,
        level,
        name: new.name,
        owner: None,
        tool_limits: ToolLimits {
            only: new.tools.as_deref().map(list),
            no_built_in: new.no_builtin_tools,
            without: list(&new.exclude_tools),
            confirmed: list(&new.confirm_tools),
        },
        budget: OpenRequest::budget([
            ("max_cost", new.max_cost),
            ("max_turns", new.max_turns),
            ("max_time", new.max_time),
        ])?,
    })
}
