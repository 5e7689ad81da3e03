//! `cargo peers`: the tests that need other people's programs (Node.js, Python, Chromium, releases of pi, NATS, valgrind).

use super::{
    cargo, run as call,
    targets::{DECIDING, WEEKLY},
};

/// Runs them; `--list` prints the options that name all of them to cargo. What follows `--all` goes to `cargo test`, such as `--no-run`, or `-- NAME`.
///
/// # Errors
///
/// A test fails.
pub fn run(arguments: &[String]) -> Result<(), String> {
    if arguments == ["--list"] {
        let targets = DECIDING.iter().chain(&WEEKLY).map(|target| format!("--test {target}"));
        println!("{}", targets.collect::<Vec<_>>().join(" "));
        return Ok(());
    }
    let (targets, rest): (Vec<&str>, &[String]) = match arguments.split_first() {
        Some((all, rest)) if all == "--all" => ([&DECIDING[..], &WEEKLY].concat(), rest),
        _ => (DECIDING.to_vec(), arguments),
    };
    let mut command = cargo(&["test"]);
    for target in targets {
        command.args(["--test", target]);
    }
    call(command.args(rest))
}
