//! The project's own chores, called by the aliases of `.cargo/config.toml`: `cargo bless`, `cargo peers`,
//! `cargo upstream`, `cargo weight`.

mod alone;
mod bless;
mod peers;
mod recipes;
mod rule_pages;
mod targets;
mod upstream;
mod weight;

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

const USAGE: &str = "\
usage: cargo bless [--all]        write everything anew that is generated and committed; --all: what needs Node.js, Python
                                  and the network, too
       cargo bless TARGET...      write what the tests of these targets write, such as counts
       cargo peers [--all] [...]  test with other people's programs; --all: those of the weekly run, too
       cargo upstream [pi|omp] [--from VERSION] [--to VERSION]
                                  what the newest releases of the agents have that the measured ones, or ours, have not
       cargo weight [--table]     count crates, megabytes and generated lines, and compare them with the limits
       cargo run -p xtask -- recipes [NAME...]
                                  follow the recipes of docs/contributing in a copy of the repository
       cargo run -p xtask -- alone [CRATE...]
                                  build, test and document each crate by itself, with the features that it asks for
       cargo run -p xtask -- rule-pages
                                  a step of mdbook: make a page of each rule";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (chore, rest) = match arguments.split_first() {
        Some((chore, rest)) => (chore.as_str(), rest),
        None => ("", &[][..]),
    };
    let done = match chore {
        "alone" => alone::run(rest),
        "bless" => bless::run(rest),
        "peers" => peers::run(rest),
        "recipes" => recipes::run(rest),
        "rule-pages" => rule_pages::run(rest),
        "upstream" => upstream::run(rest),
        "weight" => weight::run(rest),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The repository's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A call of cargo in the repository's folder.
fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

/// Runs a command and waits for it.
///
/// # Errors
///
/// It cannot be started, or fails.
fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}").replace('"', "");
    eprintln!("== {shown}");
    // Build scripts that ask for what cargo has set for this program would run again, and all that is built on them.
    for (name, _) in env::vars_os() {
        let is_ours = name
            .to_str()
            .is_some_and(|name| name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_"));
        if is_ours {
            command.env_remove(name);
        }
    }
    let status = command.status().map_err(|error| format!("{shown}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{shown}: {status}")) }
}
