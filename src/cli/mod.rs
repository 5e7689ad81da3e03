//! The command line: one file per subcommand.
//!
//! `pi-rpc --mode rpc …` is how hosts start an agent, so it is served before clap sees anything: pi's own options are
//! pi's grammar (unknown ones are ignored), not ours.

mod commands;
mod extending;
mod log;
mod mock_llm;
mod models;
mod options;
mod schema;
mod serve;
mod session;

use crate::protocol::Dialect;
use clap::{Parser, Subcommand};
use options::Refusal;
use std::{
    ffi::OsString,
    io::{ErrorKind, Write as _},
    process::ExitCode,
};

/// Exit status of a command line that cannot be understood.
const USAGE: u8 = 2;

#[derive(Parser)]
#[command(name = "pi-rpc", about, after_help = AFTER_HELP, version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Speak the protocol on stdin and stdout
    #[command(after_help = options::HELP, disable_help_flag = true)]
    Serve {
        /// --dialect D, and pi's own options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// List the models to choose from
    Models(models::Options),
    /// Print the protocol's JSON Schema, or that of the script files
    Schema(schema::Options),
    /// Play a script behind the HTTP APIs of Anthropic (Messages) and OpenAI (Chat Completions, Responses)
    MockLlm(mock_llm::Options),
}

const AFTER_HELP: &str = "pi-rpc --mode rpc [OPTIONS] is the same as pi-rpc serve [OPTIONS]: point a host at this \
                          binary instead of pi or xcsh. The dialect is that of --dialect, else of PI_RPC_DIALECT, \
                          else, when serving, of the name that the binary is started by, else pi.";

/// What hosts ask for before they start an agent: the bare number.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs the command line.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let own = arguments.get(1).and_then(|first| first.to_str());
    let as_host = arguments.iter().skip(1).any(|argument| argument.to_str().is_some_and(is_mode));
    if matches!(own, Some("--version" | "-v")) {
        return print(VERSION);
    }
    if let Some(at) = arguments.iter().position(|argument| argument == "--list-models") {
        let pattern = arguments.get(at + 1).and_then(|next| next.to_str());
        let pattern = pattern.filter(|next| !next.starts_with('-'));
        return match dialect(&arguments) {
            Ok(dialect) => models::run(&models::Options::of_host(pattern, dialect)),
            Err(Refusal(text, status)) => refuse(&text, status),
        };
    }
    if as_host && own != Some("serve") {
        return serve::run(arguments.first(), &arguments[1..]);
    }
    match Cli::parse_from(&arguments).command {
        Command::Serve { options } => serve::run(arguments.first(), &options),
        Command::Models(options) => models::run(&options),
        Command::Schema(options) => schema::run(&options),
        Command::MockLlm(options) => mock_llm::run(&options),
    }
}

/// The dialect that a host asks for by option, environment or name.
fn dialect(arguments: &[OsString]) -> Result<Dialect, Refusal> {
    let asked = options::parse(arguments.get(1..).unwrap_or_default()).ok().and_then(|host| host.dialect);
    asked.map_or_else(|| options::default_dialect(arguments.first()), Ok)
}

fn is_mode(argument: &str) -> bool {
    argument == "--mode" || argument.starts_with("--mode=")
}

/// Prints `text` to stdout. Whoever closes the pipe early has seen enough.
fn print(text: &str) -> ExitCode {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => refuse(&format!("stdout: {error}"), 1),
        _ => ExitCode::SUCCESS,
    }
}

/// Prints why to stderr and fails with `status`.
fn refuse(text: &str, status: u8) -> ExitCode {
    // Nobody may be there to hear it.
    let _ = writeln!(std::io::stderr(), "Error: {text}");
    ExitCode::from(status)
}
