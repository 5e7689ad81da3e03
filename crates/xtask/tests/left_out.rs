//! Says at the end of `cargo test` what it left out, and which command runs it.

use std::{collections::BTreeSet, process::ExitCode};

#[path = "../src/targets.rs"]
mod targets;

const MANIFEST: &str = include_str!("../../../Cargo.toml");

/// The target that `cargo explore` runs.
const EXPLORE: &str = "explore";

fn main() -> ExitCode {
    // The line is not needed if certain tests were selected.
    if std::env::args().len() > 1 {
        return ExitCode::SUCCESS;
    }
    let left_out = left_out();
    let run: BTreeSet<&str> = targets::DECIDING.into_iter().chain(targets::WEEKLY).chain([EXPLORE]).collect();
    if run != left_out {
        eprintln!("Cargo.toml leaves out {left_out:?}; `cargo peers --all` and `cargo explore` run {run:?}");
        return ExitCode::FAILURE;
    }
    println!(
        "Left out: `cargo peers` runs {}; `cargo peers --all` also {}; `cargo explore` runs {EXPLORE}.",
        targets::DECIDING.join(", "),
        targets::WEEKLY.join(", ")
    );
    ExitCode::SUCCESS
}

/// Test targets with `test = false`.
fn left_out() -> BTreeSet<&'static str> {
    let tables =
        MANIFEST.split("[[test]]\n").skip(1).map(|table| table.split("\n\n").next().unwrap_or_default());
    let left_out = tables.filter(|table| table.lines().any(|line| line == "test = false"));
    left_out.filter_map(|table| table.split('"').nth(1)).collect()
}
