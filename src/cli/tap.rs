//! `pi-rpc tap`.

use super::{HARNESS, log::Log, refuse};
use clap::Args;
use pi_rpc_conform::tap::{Command, Observer, TapEnd, TapOptions, tap};
use pi_rpc_files::{private_files, secrets::redact_command_line};
use pi_rpc_protocol::{DialectVersion, Tier};
use std::{
    ffi::OsString,
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Options of `pi-rpc tap`.
#[derive(Args)]
pub struct Options {
    /// Judge both sides by this dialect (default: the one that the first frames show, else pi); pi-1@0.84: as version 0.84 of
    /// the server speaks it
    #[arg(long, value_name = "D", env = "PI_RPC_DIALECT", value_parser = super::named_version)]
    dialect: Option<DialectVersion>,
    /// Record the conversation in this file, for `check` and `replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Record only the lengths of texts, paths, arguments and outputs; `check` then misses violations in the texts
    /// themselves. Reports may still quote
    #[arg(long, requires = "record")]
    redact: bool,
    /// Report violations to this file instead of stderr
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Report violations of this tier and stricter ones: must, should, observed
    #[arg(long, value_name = "TIER", default_value = "should", value_parser = super::named_tier)]
    tier: Tier,
    /// The server and its arguments
    #[arg(last = true, required = true, value_name = "SERVER CMD")]
    command: Vec<OsString>,
}

/// Text behind the options in `--help`.
pub const HELP: &str = "\
Exits with the status of the server, or 128 plus the number of the signal that has ended it; with 3 if tap itself fails. \
Passes TERM, INT and HUP on. Violations change neither bytes nor status.

Examples:
  pi-rpc tap --record talk.jsonl -- pi --mode rpc
  pi-rpc tap --record talk.jsonl --redact -- pi --mode rpc
  pi-rpc tap --report client.txt -- pi-rpc serve --hazard all --seed 7 --model scripted/demo";

/// Runs the server and passes its conversation through until it exits; returns its status.
pub fn run(options: Options) -> ExitCode {
    match tap_server(options) {
        Ok(TapEnd { status, is_reported }) => {
            if !is_reported {
                // stderr may be closed.
                let _ = writeln!(
                    Log,
                    "tap: the recording and the report are incomplete: writing them took too long"
                );
            }
            ExitCode::from(status)
        }
        Err(text) => refuse(&text, HARNESS),
    }
}

fn tap_server(options: Options) -> Result<TapEnd, String> {
    let Options { dialect, record, redact, report, tier, command } = options;
    let argv = redact_command_line(command.iter().map(OsString::as_os_str));
    let trace = record.as_deref().map(create).transpose()?;
    let report: Box<dyn Write + Send> = match report.as_deref() {
        Some(path) => Box::new(create(path)?),
        None => Box::new(io::stderr()),
    };
    let mut words = command.into_iter();
    let program = words.next().unwrap_or_default();
    let shown = program.to_string_lossy().into_owned();
    let failed = |error: io::Error| format!("cannot start {shown}: {error}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let observer =
        Observer::start(TapOptions { spoken: dialect, argv, trace, redact, report, tier }).map_err(failed)?;
    let ended = runtime.block_on(tap(&Command { program, arguments: words.collect() }, observer));
    // The thread that waits for the host may never end.
    runtime.shutdown_background();
    ended.map_err(failed)
}

fn create(path: &Path) -> Result<File, String> {
    private_files::create(path).map_err(|error| format!("{}: {error}", path.display()))
}
