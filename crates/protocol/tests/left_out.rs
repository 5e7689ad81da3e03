//! Says at the end of `cargo test` what it left out, and which command runs it.

use std::{collections::BTreeSet, process::ExitCode};

const MANIFEST: &str = include_str!("../../../Cargo.toml");
const CONFIG: &str = include_str!("../../../.cargo/config.toml");

fn main() -> ExitCode {
    // The line is not needed if certain tests were selected.
    if std::env::args().len() > 1 {
        return ExitCode::SUCCESS;
    }
    let left_out = left_out();
    let commands: Vec<(&str, BTreeSet<&str>)> = CONFIG.lines().filter_map(alias).collect();
    let run: BTreeSet<&str> = commands.iter().flat_map(|(_, targets)| targets.iter().copied()).collect();
    if run != left_out {
        eprintln!("Cargo.toml leaves out {left_out:?}, and the aliases of .cargo/config.toml run {run:?}");
        return ExitCode::FAILURE;
    }
    let list = |(name, targets): &(&str, BTreeSet<&str>)| {
        let targets: Vec<&str> = targets.iter().copied().collect();
        format!("`cargo {name}` runs {}", targets.join(", "))
    };
    let commands: Vec<String> = commands.iter().map(list).collect();
    println!("Left out: {}.", commands.join("; "));
    ExitCode::SUCCESS
}

/// Test targets with `test = false`.
fn left_out() -> BTreeSet<&'static str> {
    let tables =
        MANIFEST.split("[[test]]\n").skip(1).map(|table| table.split("\n\n").next().unwrap_or_default());
    let left_out = tables.filter(|table| table.lines().any(|line| line == "test = false"));
    left_out.filter_map(|table| table.split('"').nth(1)).collect()
}

/// An alias of `cargo test`, with the test targets that it runs.
fn alias(line: &str) -> Option<(&str, BTreeSet<&str>)> {
    let (name, command) = line.split_once(" = \"test ")?;
    let words: Vec<&str> = command.trim_end_matches(['"', '-', ' ']).split(' ').collect();
    let targets = words.windows(2).filter(|pair| pair[0] == "--test").map(|pair| pair[1]);
    Some((name, targets.collect()))
}
