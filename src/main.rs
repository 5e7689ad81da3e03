//! The binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    pi_rpc::cli::run(std::env::args_os().collect())
}
