//! `pi-rpc strip-types`: removes types from TypeScript for the Node host, as older Node cannot. Not for users.

use clap::Args;
use pi_rpc_extension::{Stripped, SyntaxError, strip_types};
use serde::Serialize;
use std::{
    io::{self, Read as _},
    process::ExitCode,
};

/// The options of `pi-rpc strip-types`.
#[derive(Args)]
pub struct Options {
    /// Name of the file whose text is on stdin
    file: String,
}

/// The output, as JSON.
#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    Stripped(Stripped),
    Failed { error: SyntaxError },
}

/// The longest file, in bytes.
const MAX_SOURCE: u64 = 64 * 1024 * 1024;

/// Reads TypeScript from stdin and writes JavaScript, or the first syntax error, as JSON.
pub fn run(options: &Options) -> ExitCode {
    let mut source = String::new();
    if let Err(error) = io::stdin().lock().take(MAX_SOURCE + 1).read_to_string(&mut source) {
        return super::refuse(&format!("stdin: {error}"), super::HARNESS);
    }
    if source.len() as u64 > MAX_SOURCE {
        let text = format!("stdin: expected at most {MAX_SOURCE} bytes of TypeScript, got more");
        return super::refuse(&text, super::HARNESS);
    }
    let outcome = match strip_types(&source, &options.file) {
        Ok(stripped) => Outcome::Stripped(stripped),
        Err(error) => Outcome::Failed { error },
    };
    match serde_json::to_string(&outcome) {
        Ok(text) => super::print(&text),
        Err(error) => super::refuse(&format!("stdout: {error}"), super::HARNESS),
    }
}
