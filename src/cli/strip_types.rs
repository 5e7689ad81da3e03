//! `pi-rpc strip-types`: removes types from TypeScript for the Node host, as older Node cannot. Not for users.

use crate::extension::{Stripped, SyntaxError, strip_types};
use clap::Args;
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

/// Reads TypeScript from stdin and writes JavaScript, or the first syntax error, as JSON.
pub fn run(options: &Options) -> ExitCode {
    let mut source = String::new();
    if let Err(error) = io::stdin().read_to_string(&mut source) {
        return super::refuse(&format!("stdin: {error}"), super::HARNESS);
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
