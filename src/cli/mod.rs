//! The command line: one file per subcommand.
//!
//! Hosts start an agent as `pi-rpc --mode rpc …`. Such a command line has pi's grammar, in which unknown options are ignored,
//! so it is parsed by `options` and not by clap. It is recognized by an option that only pi has, unless it begins with one
//! of our subcommands; words after `--` do not count.

#[cfg(feature = "acp")]
mod acp;
mod agent_backend;
mod attach;
mod canary;
mod check;
mod completions;
mod conform;
mod discover;
mod docs;
mod doctor;
mod documented;
mod extensions;
mod front;
mod host;
mod host_sockets;
mod host_status;
mod inspect;
mod log;
mod login;
mod login_key;
mod manual;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "mcp")]
mod mcp_servers;
mod mock_llm;
mod mock_mcp;
mod models;
mod options;
mod other_backend;
mod permissions;
mod pi_commands;
mod printed_prompts;
mod process_privacy;
mod project_trust;
mod prompt_commands;
mod reference;
mod repl;
mod replay;
mod report_options;
mod schema;
mod serve;
mod session;
mod session_options;
mod session_template;
#[cfg(feature = "strip-types")]
mod strip_types;
mod suggestions;
mod tap;
mod tool_selection;
mod traces;
mod upgrade;
mod version;
mod webhook;

pub use reference::reference_blocks;

use clap::{Parser, Subcommand};
use pi_rpc_files::harmless::harmless_lines;
use pi_rpc_processes::process_watcher;
use pi_rpc_protocol::{Dialect, DialectVersion, Tier};
use std::{
    ffi::OsString,
    io::{ErrorKind, Write as _},
    process::ExitCode,
};

/// Exit status of an invalid command line.
const USAGE: u8 = 2;

/// Exit status of a command line in pi's grammar whose option of pi has a wrong value or none: pi's.
const USAGE_OF_PI: u8 = 1;

/// Exit status when a server or recording cannot be started or read.
const HARNESS: u8 = 3;

#[derive(Parser)]
#[command(name = "pi-rpc", about, after_help = AFTER_HELP, version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the protocol on stdin and stdout
    #[command(after_help = options::HELP, disable_help_flag = true)]
    Serve {
        /// pi's options, and some of our own
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// Run many sessions in one process, for clients that come and go
    #[command(after_help = options::HELP, disable_help_flag = true)]
    Host {
        /// --listen, and the options of serve for every session
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// Connect stdin and stdout to a session of a host
    #[command(disable_help_flag = true)]
    Attach {
        /// The address of the host, and options of the session
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "URL [OPTIONS]")]
        options: Vec<OsString>,
    },
    /// Serve the Agent Client Protocol (ACP), for editors
    #[cfg(feature = "acp")]
    #[command(disable_help_flag = true)]
    Acp {
        /// --agent -- SERVER CMD, or options of serve
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// Judge recordings, or plain logs of a server's stdout, by the rules of the protocol
    #[command(after_help = check::HELP)]
    Check(check::Options),
    /// Test a server: play scenarios with it and judge its frames
    Conform(conform::Options),
    /// Show a conversation in the browser: of a server that is started, of a host, or of a recording
    #[command(after_help = inspect::HELP)]
    Inspect(inspect::Options),
    /// List the available models
    Models(models::Options),
    /// Log in at a provider with a subscription
    #[command(after_help = login::HELP)]
    Login(login::LoginArguments),
    /// Forget a login
    Logout(login::LogoutArguments),
    /// Add, remove and try servers of the Model Context Protocol (MCP)
    #[cfg(feature = "mcp")]
    #[command(after_help = mcp::HELP)]
    Mcp(mcp::Options),
    /// List and revoke what was allowed for good in dialogs of --confirm-tools
    #[command(after_help = permissions::HELP)]
    Permissions(permissions::Options),
    /// Export the protocol (JSON Schema, types, a reference page, ...), or compare two dialects
    Schema(schema::Options),
    /// Serve a scripted model by the HTTP APIs of Anthropic (Messages), OpenAI (Chat Completions, Responses), Google (Gemini), Mistral,
    /// Amazon Bedrock (Converse) and Radius (pi's messages)
    MockLlm(mock_llm::Options),
    /// Serve a scripted server of the Model Context Protocol (MCP), on stdin and stdout or by HTTP
    #[command(after_help = mock_mcp::HELP)]
    MockMcp(mock_mcp::Options),
    /// Type commands to a server, and see its frames, its state and what the judge finds
    #[command(disable_help_flag = true)]
    Repl {
        /// --dialect D -- SERVER CMD, or the address of a host and options of attach, or options of serve
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTIONS")]
        options: Vec<OsString>,
    },
    /// Play the server of a recording
    #[command(after_help = replay::HELP)]
    Replay(replay::Options),
    /// Record and judge the conversation of a host and a server, passing every byte through
    #[command(after_help = tap::HELP)]
    Tap(tap::Options),
    /// Stand between a client and a server of different dialects, and translate
    #[command(after_help = front::HELP)]
    Front(front::Options),
    /// Test a client against releases of pi and this server, with a scripted model
    #[command(after_help = canary::HELP)]
    Canary(canary::Options),
    /// Print a page of the book about pi-rpc, or write all of it to a folder
    #[command(after_help = docs::HELP)]
    Docs(docs::Options),
    /// Say what is configured, what is missing, and what would help
    #[command(after_help = doctor::HELP)]
    Doctor(doctor::Options),
    /// Print what completes this command line in a shell
    #[command(after_help = completions::HELP)]
    Completions(completions::Options),
    /// Write the manual to a folder, a page for each subcommand
    #[command(after_help = manual::HELP)]
    Man(manual::Options),
    /// Read TypeScript from stdin, write JavaScript as JSON (for the Node host)
    #[cfg(feature = "strip-types")]
    #[command(hide = true)]
    StripTypes(strip_types::Options),
}

const AFTER_HELP: &str = "\
pi-rpc --mode rpc [OPTIONS] is the same as pi-rpc serve [OPTIONS]: point a host at this binary instead of pi or xcsh. \
The dialect is that of --dialect, else PI_RPC_DIALECT, else, when serving, the name that the binary is started by, else pi-1.

Examples:
  pi-rpc -p --model scripted/demo \"Hello\"
  pi-rpc serve --dialect pi-1 --no-session --model scripted/demo
  pi-rpc conform --scenario 'prompt-*' -- pi-rpc";

/// The version of the program: what `-v` prints, and the first line of `--version`, for hosts that parse it.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The files of `docs/`, by their paths in it.
#[derive(Clone, Copy, Debug)]
pub struct Book<'a> {
    /// Pages, and what else is text.
    pub files: &'a [(&'a str, &'a str)],
    /// Screenshots.
    pub pictures: &'a [(&'a str, &'a [u8])],
}

/// Runs a command line, program name included.
pub fn run(arguments: Vec<OsString>, book: Book<'_>) -> ExitCode {
    if process_watcher::is_watcher(&arguments) {
        process_watcher::watch(&arguments, std::io::stdin().lock());
        return ExitCode::SUCCESS;
    }
    #[cfg(feature = "codemode")]
    if pi_rpc_codemode::is_worker(&arguments) {
        return pi_rpc_codemode::work();
    }
    process_watcher::enable();
    let words = arguments.get(1..).unwrap_or_default();
    if let Some(status) = front::run_by_link(arguments.first(), words) {
        return status;
    }
    if words == ["--version"] && options::program_dialect(arguments.first()).is_none() {
        return print(&version::details());
    }
    if let Some(status) = pi_commands::run(arguments.first(), words) {
        return status;
    }
    match is_host_command_line(words) {
        true => serve::run(arguments.first(), words),
        false if pi_commands::is_prompt(arguments.first(), words) => {
            let print = OsString::from("--print");
            serve::run(arguments.first(), &[&[print], words].concat())
        }
        false => dispatch(&arguments, book),
    }
}

/// Whether a command line, without the program name, has pi's grammar. Words after `--` belong to another program.
fn is_host_command_line(words: &[OsString]) -> bool {
    let own = words.iter().take_while(|word| *word != "--");
    !is_subcommand(words) && own.filter_map(|word| word.to_str()).any(options::is_host_option)
}

/// Whether a command line, without the program name, begins with one of our subcommands.
fn is_subcommand(words: &[OsString]) -> bool {
    let first = words.first().and_then(|first| first.to_str());
    first.is_some_and(|first| first == "help" || Command::has_subcommand(first))
}

fn dispatch(arguments: &[OsString], book: Book<'_>) -> ExitCode {
    match Cli::parse_from(arguments).command {
        Command::Serve { options } => serve::run(arguments.first(), &options),
        Command::Host { options } => host::run(arguments.first(), &options),
        Command::Attach { options } => attach::run(arguments.first(), &options),
        // clap takes the first `--` away.
        #[cfg(feature = "acp")]
        Command::Acp { .. } => acp::run(arguments.first(), arguments.get(2..).unwrap_or_default()),
        Command::Check(options) => check::run(&options),
        Command::Conform(options) => conform::run(&options),
        Command::Inspect(options) => inspect::run(options),
        Command::Models(options) => models::run(&options),
        Command::Login(options) => login::run(&options),
        Command::Logout(options) => login::run_logout(&options),
        #[cfg(feature = "mcp")]
        Command::Mcp(options) => mcp::run(&options),
        Command::Permissions(options) => permissions::run(&options),
        Command::Schema(options) => schema::run(&options),
        Command::MockLlm(options) => mock_llm::run(&options),
        Command::MockMcp(options) => mock_mcp::run(&options),
        // clap takes the first `--` away.
        Command::Repl { .. } => repl::run(arguments.get(2..).unwrap_or_default()),
        Command::Replay(options) => replay::run(&options),
        Command::Tap(options) => tap::run(options),
        Command::Front(options) => front::run(options),
        Command::Canary(options) => canary::run(&options),
        Command::Docs(options) => docs::run(&options, book),
        Command::Doctor(options) => doctor::run(&options),
        Command::Completions(options) => completions::run(&options),
        Command::Man(options) => manual::run(&options),
        #[cfg(feature = "strip-types")]
        Command::StripTypes(options) => strip_types::run(&options),
    }
}

/// Parses the value of `--dialect`.
fn named_dialect(name: &str) -> Result<Dialect, String> {
    Dialect::parse(name).ok_or_else(|| known_dialects(name))
}

/// Parses the value of a `--dialect` that may include the version of a server.
fn named_version(name: &str) -> Result<DialectVersion, String> {
    DialectVersion::parse(name).ok_or_else(|| unknown_version(name))
}

/// Parses the value of `--tier`, ignoring case.
fn named_tier(name: &str) -> Result<Tier, String> {
    let found = Tier::ALL.into_iter().find(|tier| tier.as_str().eq_ignore_ascii_case(name));
    found.ok_or_else(|| "expected must, should or observed".to_owned())
}

/// The error text for an unknown dialect.
fn unknown_dialect(name: &str) -> String {
    format!("unknown dialect {name:?}; {}", known_dialects(name))
}

/// All dialects, and the one that is most similar to `name`.
fn known_dialects(name: &str) -> String {
    let known = Dialect::ALL.map(Dialect::as_str);
    let nearest =
        suggestions::nearest(name, known).map(|it| format!("did you mean {it}? ")).unwrap_or_default();
    format!("{nearest}known: {}", known.join(", "))
}

/// The error text for an unknown dialect or version.
fn unknown_version(name: &str) -> String {
    let own = name.split_once('@').and_then(|(dialect, version)| Some((Dialect::parse(dialect)?, version)));
    let from = own.and_then(|(dialect, version)| Some((dialect, version, dialect.earliest_version()?)));
    match from {
        Some((dialect, version, from)) => {
            format!("unknown version {version:?} of {dialect}: expected {from} or later, as {dialect}@0.84")
        }
        None => unknown_dialect(name),
    }
}

/// Prints `text` to stdout. A closed pipe is no error.
fn print(text: &str) -> ExitCode {
    match writeln!(std::io::stdout(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => refuse(&format!("stdout: {error}"), 1),
        _ => ExitCode::SUCCESS,
    }
}

/// Prints an error to stderr and returns `status`.
fn refuse(text: &str, status: u8) -> ExitCode {
    // stderr may be closed.
    let _ = writeln!(std::io::stderr(), "Error: {}", harmless_lines(text));
    ExitCode::from(status)
}
