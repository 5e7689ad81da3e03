//! Judges logs of `tests/cluster`: `cargo run --example check_cluster_log -- LOG.jsonl`.

#[path = "../tests/cluster/checker.rs"]
mod checker;

use std::{env, fs, process::ExitCode};

fn main() -> ExitCode {
    let mut events = Vec::new();
    for path in env::args_os().skip(1) {
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => {
                eprintln!("{}: {error}", path.display());
                return ExitCode::from(2);
            }
        };
        for (index, line) in text.lines().enumerate() {
            match serde_json::from_str(line) {
                Ok(event) => events.push(event),
                Err(error) => {
                    eprintln!("{}:{}: {error}", path.display(), index + 1);
                    return ExitCode::from(2);
                }
            }
        }
    }
    let verdict = checker::check(events);
    println!("{:?}, {} takeovers", verdict.counts, verdict.takeovers);
    verdict.violations.iter().for_each(|violation| println!("VIOLATION {violation}"));
    ExitCode::from(u8::from(!verdict.violations.is_empty()))
}
