//! The command line: one file per subcommand.
//!
//! `pi-rpc --mode rpc …` is how hosts start an agent, so it is served before clap sees anything: pi's own options are
//! pi's grammar (unknown ones are ignored), not ours.

mod check;
mod commands;
mod conform;
mod extending;
mod log;
mod mock_llm;
mod models;
mod options;
mod private;
mod replay;
mod reporting;
mod schema;
mod serve;
mod session;
mod tap;

use crate::{harmless::harmless_lines, machine::Tier, protocol::Dialect};
use clap::{Parser, Subcommand};
use options::Refusal;
use std::{
    ffi::OsString,
    io::{ErrorKind, Write as _},
    process::ExitCode,
};

/// Exit status of a command line that cannot be understood.
const USAGE: u8 = 2;

/// Exit status when what is to be judged cannot even be started or read.
const HARNESS: u8 = 3;

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
    /// Judge recordings of conversations: traces, or plain logs of what a server wrote
    Check(check::Options),
    /// Play scenarios with a live server, and judge what it does
    Conform(conform::Options),
    /// List the models to choose from
    Models(models::Options),
    /// Print the protocol for other tools and people (JSON Schema, types, a reference page), or compare two dialects
    Schema(schema::Options),
    /// Play a script behind the HTTP APIs of Anthropic (Messages) and OpenAI (Chat Completions, Responses)
    MockLlm(mock_llm::Options),
    /// Play a recording as a server
    #[command(after_help = replay::HELP)]
    Replay(replay::Options),
    /// Sit between a host and a server, pass every byte through, record and judge both sides
    #[command(after_help = tap::HELP)]
    Tap(tap::Options),
}

const AFTER_HELP: &str = "pi-rpc --mode rpc [OPTIONS] is the same as pi-rpc serve [OPTIONS]: point a host at this \
                          binary instead of pi or xcsh. The dialect is that of --dialect, else of PI_RPC_DIALECT, \
                          else, when serving, of the name that the binary is started by, else pi.";

/// What hosts ask for before they start an agent: the bare number.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs the command line.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let own = arguments.get(1).and_then(|first| first.to_str());
    if own == Some("conform") {
        // What stands behind it is said to another server.
        return dispatch(&arguments);
    }
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
    dispatch(&arguments)
}

fn dispatch(arguments: &[OsString]) -> ExitCode {
    match Cli::parse_from(arguments).command {
        Command::Serve { options } => serve::run(arguments.first(), &options),
        Command::Check(options) => check::run(&options),
        Command::Conform(options) => conform::run(&options),
        Command::Models(options) => models::run(&options),
        Command::Schema(options) => schema::run(&options),
        Command::MockLlm(options) => mock_llm::run(&options),
        Command::Replay(options) => replay::run(&options),
        Command::Tap(options) => tap::run(options),
    }
}

/// The dialect that a host asks for by option, environment or name.
fn dialect(arguments: &[OsString]) -> Result<Dialect, Refusal> {
    let asked = options::parse(arguments.get(1..).unwrap_or_default()).ok().and_then(|host| host.dialect);
    asked.map_or_else(|| options::default_dialect(arguments.first()), Ok)
}

/// The value of `--dialect`.
fn named_dialect(name: &str) -> Result<Dialect, String> {
    let known = || format!("known: {}", Dialect::ALL.map(Dialect::as_str).join(", "));
    Dialect::parse(name).ok_or_else(known)
}

/// The value of `--tier`, in any case.
fn named_tier(name: &str) -> Result<Tier, String> {
    let found = Tier::ALL.into_iter().find(|tier| tier.as_str().eq_ignore_ascii_case(name));
    found.ok_or_else(|| "expected must, should or observed".to_owned())
}

fn is_mode(argument: &str) -> bool {
    argument == "--mode" || argument.starts_with("--mode=")
}

/// Why a dialect cannot be had.
fn unknown_dialect(name: &str) -> String {
    format!("unknown dialect {name:?}; known: {}", Dialect::ALL.map(Dialect::as_str).join(", "))
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
    let _ = writeln!(std::io::stderr(), "Error: {}", harmless_lines(text));
    ExitCode::from(status)
}
