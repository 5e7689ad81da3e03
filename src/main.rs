//! The binary `pi-rpc`: runs the command line.

mod book;

use std::process::ExitCode;

fn main() -> ExitCode {
    pi_rpc::cli::run(std::env::args_os().collect(), book::FILES)
}
