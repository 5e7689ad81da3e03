//! `--backend rpc:DIALECT`: another's server behind each session of a host, and the options that reach it.

use super::{
    USAGE,
    options::{HostOptions, Refusal},
};
use pi_rpc_host::OtherServer;
use pi_rpc_protocol::Dialect;
use std::{ffi::OsString, path::Path};

/// Options that a host with another's server heeds. All others are refused: what they narrow would not be narrowed.
const HEEDED: [&str; 18] = [
    "--allow-origin",
    "--auth-command",
    "--backend",
    "--dialect",
    "--help",
    "--kept-output",
    "--listen",
    "--log-format",
    "--max-frame",
    "--max-unread",
    "--mode",
    "--multi-session",
    "--state",
    "--tls-cert",
    "--tls-key",
    "--token-file",
    "--upgrade-wait",
    "--version",
];

/// The server behind the sessions of a host; `None`: they are of this program.
///
/// # Errors
///
/// An option does not reach the server.
pub fn other_server(
    options: &HostOptions,
    arguments: &[OsString],
    dialect: Dialect,
    directory: &Path,
) -> Result<Option<OtherServer>, Refusal> {
    if options.agent.is_some() {
        let text = "--backend acp: an agent serves one session; pi-rpc serve starts it";
        return Err(Refusal(text.to_owned(), USAGE));
    }
    let Some((speaks, words)) = &options.other_server else { return Ok(None) };
    let given = arguments.iter().take_while(|word| *word != "--").map(|word| word.to_string_lossy());
    // A value may be a key: names alone are told.
    let name = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
    let mut names = given.filter(|word| word.starts_with('-')).map(|word| name(&word));
    if let Some(name) = names.find(|name| !HEEDED.contains(&&**name)) {
        let text = format!("{name} cannot be combined with --backend rpc: the server does not heed it");
        return Err(Refusal(text, USAGE));
    }
    let mut words = words.iter().cloned();
    Ok(Some(OtherServer {
        program: words.next().unwrap_or_default(),
        arguments: words.collect(),
        speaks: *speaks,
        dialect,
        directory: directory.to_owned(),
    }))
}

/// Refuses another's server where one session is served.
///
/// # Errors
///
/// There is one.
pub fn refuse_single(options: &HostOptions) -> Result<(), Refusal> {
    match options.other_server {
        Some(_) => {
            let text =
                "--backend rpc: for sessions of pi-rpc host; pi-rpc front stands before a single server";
            Err(Refusal(text.to_owned(), USAGE))
        }
        None => Ok(()),
    }
}
