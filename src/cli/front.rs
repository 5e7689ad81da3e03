//! `pi-rpc front`: a server behind a translator, on our stdin and stdout.

mod link;
mod passthrough;
mod pipes;
mod server;

pub use link::run as run_by_link;

use super::{HARNESS, USAGE, print, refuse};
use clap::Args;
use pi_rpc_front::{Fate, counts, losses};
use pi_rpc_protocol::{Dialect, DialectVersion};
use std::{ffi::OsString, fmt::Write as _, process::ExitCode};

/// Options of `pi-rpc front`.
#[derive(Args)]
pub struct Options {
    /// The dialect that the client speaks (default: that of the server, until a command of the client shows another)
    #[arg(long, value_name = "D", value_parser = super::named_dialect)]
    speak: Option<Dialect>,
    /// The dialect that the server speaks (default: found out by commands that change nothing); pi-1@0.84: as version 0.84 of it
    #[arg(long, value_name = "D", value_parser = super::named_version)]
    server_dialect: Option<DialectVersion>,
    /// Start the server with an extension that offers the tools of the client (`set_host_tools`) to the model, where its dialect has
    /// none: adds -e FILE to its arguments
    #[arg(long, requires_all = ["speak", "server_dialect"])]
    host_tools: bool,
    /// Print what becomes of each member of each frame between a server and a client, and exit
    #[arg(long, num_args = 2, value_names = ["SERVER", "CLIENT"], value_parser = super::named_dialect, conflicts_with_all = ["speak", "server_dialect", "host_tools", "command"])]
    losses: Option<Vec<Dialect>>,
    /// The server and its arguments
    #[arg(last = true, required_unless_present = "losses", value_name = "SERVER CMD")]
    command: Vec<OsString>,
}

/// Text behind the options in `--help`.
pub const HELP: &str = "\
The client on stdin and stdout talks its dialect, the server its own. Where both are the same, bytes pass as they are. What cannot be \
carried is said on stderr. Exits with the status of the server, or 128 plus the number of the signal that has ended it; with 3 if \
front itself fails. Passes TERM, INT and HUP on.

A link called pi to this program is the front before the next pi in PATH where PI_RPC_FRONT is set: to the dialect of the client, or to \
auto. PI_RPC_FRONT_SERVER names another program, PI_RPC_FRONT_SERVER_DIALECT what it speaks.

Examples:
  pi-rpc front --speak pi -- pi --mode rpc
  pi-rpc front --speak pi@0.73 --server-dialect pi-1 -- pi --mode rpc
  pi-rpc front --speak omp --server-dialect pi-1 --host-tools -- pi --mode rpc
  pi-rpc front --losses pi-1 pi";

/// Runs the server behind the translator until it exits; returns its status.
pub fn run(options: Options) -> ExitCode {
    if let Some([server, client]) = options.losses.as_deref() {
        return print(&losses_text(*server, *client));
    }
    let Some(program) = options.command.first().cloned() else {
        return refuse("SERVER CMD: expected the server and its arguments behind --", USAGE);
    };
    let arguments = options.command.get(1..).unwrap_or_default();
    let Options { speak: client, server_dialect: server, host_tools, .. } = options;
    match server::run(server::Options {
        program: &program,
        arguments,
        server,
        client,
        host_tools,
        depth: None,
    }) {
        Ok(status) => ExitCode::from(status),
        Err(text) => refuse(&text, HARNESS),
    }
}

/// Runs a program of this project behind a translator for `client`.
pub fn run_before(client: Dialect, command: Vec<OsString>) -> ExitCode {
    run(Options { speak: Some(client), server_dialect: None, host_tools: false, losses: None, command })
}

/// The members that do not arrive as they are, as text.
fn losses_text(server: Dialect, client: Dialect) -> String {
    let mut text = format!("From a {server} server to a {client} client: what does not arrive as it is.\n");
    let frames = losses(server, client);
    for frame in &frames {
        for member in frame.members.iter().filter(|member| member.fate != Fate::Same) {
            let note = if member.note.is_empty() { String::new() } else { format!(" ({})", member.note) };
            let _ = write!(text, "\n{:<8} {}.{}{note}", member.fate.as_str(), frame.title, member.name);
        }
    }
    let counted = Fate::ALL.into_iter().zip(counts(&frames));
    let counted: Vec<String> = counted.map(|(fate, count)| format!("{count} {}", fate.as_str())).collect();
    let _ = write!(text, "\n\n{}\n", counted.join(", "));
    text
}
