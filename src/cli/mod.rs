//! The command line: one file per subcommand.
//!
//! `pi-rpc --mode rpc …` is how hosts start an agent, so it is served before clap sees anything: pi's own options are
//! pi's grammar (unknown ones are ignored), not ours. A command line is pi's if it begins with none of our subcommands and
//! has an option that only pi's has; what stands behind `--` is never looked at.

mod check;
mod conform;
mod extensions;
mod log;
mod mock_llm;
mod models;
mod options;
mod printed_prompts;
mod process_privacy;
mod prompt_commands;
mod replay;
mod report_options;
mod schema;
mod serve;
mod session;
mod strip_types;
mod suggestions;
mod tap;

use crate::{
    harmless::harmless_lines,
    machine::Tier,
    protocol::{Dialect, DialectVersion},
};
use clap::{CommandFactory as _, Parser, Subcommand};
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
    #[command(after_help = check::HELP)]
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
    /// Read TypeScript from stdin, write JavaScript as JSON (for the Node host)
    #[command(hide = true)]
    StripTypes(strip_types::Options),
}

const AFTER_HELP: &str = "pi-rpc --mode rpc [OPTIONS] is the same as pi-rpc serve [OPTIONS]: point a host at this \
                          binary instead of pi or xcsh. pi-rpc -p [OPTIONS] PROMPT runs a prompt, prints the \
                          answer and ends; `pi-rpc serve --help` lists the options. The dialect is that of --dialect, else of PI_RPC_DIALECT, \
                          else, when serving, of the name that the binary is started by, else pi.";

/// What hosts ask for before they start an agent: the bare number.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Runs the command line.
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    match is_host_command_line(arguments.get(1..).unwrap_or_default()) {
        true => serve::run(arguments.first(), &arguments[1..]),
        false => dispatch(&arguments),
    }
}

/// Whether a command line without the program is spelled as hosts spell pi's. Behind `--` stands what belongs to another
/// program.
fn is_host_command_line(words: &[OsString]) -> bool {
    let Some(first) = words.first().and_then(|first| first.to_str()) else { return false };
    let is_subcommand = first == "help" || Cli::command().find_subcommand(first).is_some();
    let own = words.iter().take_while(|word| *word != "--");
    !is_subcommand && own.filter_map(|word| word.to_str()).any(options::is_host_option)
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
        Command::StripTypes(options) => strip_types::run(&options),
    }
}

/// The value of `--dialect`.
fn named_dialect(name: &str) -> Result<Dialect, String> {
    let known = || format!("known: {}", Dialect::ALL.map(Dialect::as_str).join(", "));
    Dialect::parse(name).ok_or_else(known)
}

/// The value of a `--dialect` that may name the version of a server.
fn named_version(name: &str) -> Result<DialectVersion, String> {
    DialectVersion::parse(name).ok_or_else(|| unknown_version(name))
}

/// The value of `--tier`, in any case.
fn named_tier(name: &str) -> Result<Tier, String> {
    let found = Tier::ALL.into_iter().find(|tier| tier.as_str().eq_ignore_ascii_case(name));
    found.ok_or_else(|| "expected must, should or observed".to_owned())
}

/// Why a dialect cannot be had.
fn unknown_dialect(name: &str) -> String {
    format!("unknown dialect {name:?}; known: {}", Dialect::ALL.map(Dialect::as_str).join(", "))
}

/// Why a dialect with a version cannot be had.
fn unknown_version(name: &str) -> String {
    let own = name.split_once('@').and_then(|(dialect, version)| Some((Dialect::parse(dialect)?, version)));
    let from = own.and_then(|(dialect, version)| Some((dialect, version, dialect.record().versions_from?)));
    match from {
        Some((dialect, version, from)) => {
            format!("unknown version {version:?} of {dialect}: expected {from} or later, as {dialect}@0.84")
        }
        None => unknown_dialect(name),
    }
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
