//! `pi-rpc permissions`: what the user has allowed for good, listed and revoked.

use super::{named_dialect, print, refuse};
use clap::{Args, Subcommand};
use pi_rpc_config::{self as config, Environment, Sources};
use pi_rpc_engine::permissions::{Coverage, Permission, PermissionScope};
use pi_rpc_files::harmless::harmless_lines;
use pi_rpc_protocol::Dialect;
use pi_rpc_server::{PermissionFile, StoredPermission};
use pi_rpc_session::iso;
use std::process::ExitCode;

pub const HELP: &str = "\
A permission is given in the dialog of --confirm-tools: for a tool, for a command or all that begin with its words and have no options, for the files \
below a folder, or for a host of addresses; for the session or for the working directory. It is kept in permissions.json of the agent \
directory. One that is revoked counts no more at once, also in sessions that run.

Examples:
  pi-rpc permissions list
  pi-rpc permissions revoke 5c1b8f0a93e2d476
  pi-rpc permissions revoke --all";

/// Options of `pi-rpc permissions`.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List what is allowed: id, calls, scope, when
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        place: Place,
    },
    /// Ask again about the calls of these permissions
    Revoke {
        /// Ids, as list prints them
        #[arg(value_name = "ID", required_unless_present = "all")]
        ids: Vec<String>,
        /// Revoke all
        #[arg(long, conflicts_with = "ids")]
        all: bool,
        #[command(flatten)]
        place: Place,
    },
}

#[derive(Args)]
struct Place {
    /// Use the agent directory of this dialect
    #[arg(long, default_value = super::options::DEFAULT_DIALECT.as_str(), env = "PI_RPC_DIALECT", value_parser = named_dialect)]
    dialect: Dialect,
}

/// Lists or revokes permissions.
pub fn run(options: &Options) -> ExitCode {
    let done = match &options.action {
        Action::List { json, place } => list(*json, place),
        Action::Revoke { ids, all, place } => revoke(ids, *all, place),
    };
    match done {
        Ok(text) if text.is_empty() => ExitCode::SUCCESS,
        Ok(text) => print(&harmless_lines(&text)),
        Err(text) => refuse(&text, 1),
    }
}

fn list(json: bool, place: &Place) -> Result<String, String> {
    let stored = file(place)?.list().map_err(|error| format!("permissions.json: {error}"))?;
    match json {
        true => serde_json::to_string_pretty(&stored).map_err(|error| error.to_string()),
        false => Ok(stored.iter().map(line).collect::<Vec<_>>().join("\n")),
    }
}

fn revoke(ids: &[String], all: bool, place: &Place) -> Result<String, String> {
    let revoked = file(place)?.revoke(|stored| all || ids.contains(&stored.id));
    let revoked = revoked.map_err(|error| format!("permissions.json: {error}"))?;
    if let Some(unknown) = ids.iter().find(|id| revoked.iter().all(|stored| stored.id != **id)) {
        return Err(format!("{unknown}: no permission has this id; pi-rpc permissions list has all"));
    }
    Ok(revoked.iter().map(|stored| format!("revoked {}", line(stored))).collect::<Vec<_>>().join("\n"))
}

fn file(place: &Place) -> Result<PermissionFile, String> {
    let working_directory =
        std::env::current_dir().map_err(|error| format!("the working directory: {error}"))?;
    let environment = Environment::of_process();
    let config =
        config::load(Sources { dialect: place.dialect, working_directory, environment, approve: None });
    Ok(PermissionFile::new(&config.directories.agent, None))
}

/// A permission on one line.
fn line(stored: &StoredPermission) -> String {
    let Permission { tool, covers, scope } = &stored.permission;
    let calls = match covers {
        Coverage::All => tool.clone(),
        Coverage::Command(words) => format!("{tool}: the command {words:?}"),
        Coverage::CommandPrefix(words) => {
            format!("{tool}: commands that begin with {words:?} and have no options")
        }
        Coverage::Path(folder) => format!("{tool} below {}", folder.display()),
        Coverage::Host(host) => format!("{tool} at {host}"),
    };
    let scope = match scope {
        PermissionScope::Session(id) => format!("session {id}"),
        PermissionScope::Project(directory) => format!("project {}", directory.display()),
    };
    let owner = stored.owner.as_ref().map(|owner| format!(", for {owner}")).unwrap_or_default();
    format!("{}  {calls}  ({scope}{owner}; {})", stored.id, iso(stored.given))
}
