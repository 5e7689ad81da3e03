//! The servers of `mcp.json`: each is connected, and ended again.

use super::{Check, State};
use crate::cli::mcp::{Tried, try_all};
use pi_rpc_config::{Config, mcp::McpServers};

const SUBJECT: &str = "mcp";

/// Checks the files, and that every enabled server answers.
pub fn check(config: &Config) -> Vec<Check> {
    if !config.dialect.record().connects_mcp_servers {
        return Vec::new();
    }
    let found = McpServers::load(config);
    let tried = try_all(config, &found.servers, None);
    let servers = found.servers.iter().zip(&tried).flat_map(|(entry, tried)| {
        let name = &entry.name;
        let check = |state, text: &str| Check::new(state, SUBJECT, format!("{name}: {text}"));
        match tried {
            Tried::Disabled => vec![check(State::Ok, "disabled")],
            Tried::NeedsLogin => {
                vec![check(State::Broken, "needs sign-in").with_help(format!("pi-rpc mcp login {name}"))]
            }
            Tried::Failed(error) => {
                let help = format!("in {}; pi-rpc mcp list tries it again", entry.source.display());
                vec![check(State::Broken, error).with_help(help)]
            }
            Tried::Connected(server) => {
                let count = server.tool_names().count();
                let s = if count == 1 { "" } else { "s" };
                let notes = server.notes().iter().map(|note| check(State::Note, note));
                std::iter::once(check(State::Ok, &format!("connected, {count} tool{s}")))
                    .chain(notes)
                    .collect()
            }
        }
    });
    let errors = found.errors.iter().map(|error| Check::new(State::Broken, SUBJECT, error));
    servers.chain(errors).collect()
}
