//! Compares what two `pi-rpc` binaries put out for the same input.
//!
//! - Scenarios: `NEW conform` plays its scenarios with each binary as the server, and keeps the conversations.
//! - Recordings (`--recordings DIR`): each binary is sent the host's lines of every recording below the directory,
//!   twice: with a model that answers, and with one that never ends its first answer. The next line is sent when
//!   nothing has come for a while, so that it does not meet a run half done in one binary and done in the other.
//!
//! What chance or the clock decides (ids, times, durations, paths of temporary files, ports) is replaced before the
//! lines are compared, and how far a command's output has come is left out: that is the system's. Some conversations
//! are decided by timing all the same (two shell commands at once): OLD plays each twice, and where it differs from
//! itself, NEW has to equal one of the two; only then is the conversation not reported as a difference.

mod server;
mod unlike;

use clap::Parser;
use pi_rpc_protocol::Dialect;
use serde_json::Value;
use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};
use unlike::{Tally, normalized};

/// Compares what two pi-rpc binaries put out for the same input. Exits with 1 if there is a difference.
#[derive(Parser)]
struct Options {
    /// The binary that is known to be right.
    old: PathBuf,
    /// The binary that is compared with it.
    new: PathBuf,
    /// Send the host's lines of all recordings (*.jsonl) below this directory, too.
    #[arg(long)]
    recordings: Option<PathBuf>,
    /// Play these scenarios only, by name (* and ? allowed). May be repeated.
    #[arg(long)]
    scenario: Vec<String>,
    /// Leave the scenarios out.
    #[arg(long)]
    no_scenarios: bool,
    /// Number of conversations that are played at a time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let options = Options::parse();
    let mut tally = Tally::default();
    if !options.no_scenarios {
        for dialect in Dialect::ALL {
            compare_scenarios(&options, dialect.as_str(), &mut tally)?;
        }
    }
    if let Some(directory) = &options.recordings {
        compare_recordings(&options, directory, &mut tally)?;
    }
    println!("{tally}");
    Ok(if tally.differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Plays the scenarios of a dialect with both binaries.
fn compare_scenarios(options: &Options, dialect: &str, tally: &mut Tally) -> Result<(), Box<dyn Error>> {
    let kept = [tempfile::tempdir()?, tempfile::tempdir()?, tempfile::tempdir()?];
    for (binary, kept) in [&options.old, &options.old, &options.new].into_iter().zip(&kept) {
        let mut conform = Command::new(&options.new);
        conform.args(["conform", "--dialect", dialect, "--patience", "2"]);
        conform.args(options.scenario.iter().flat_map(|name| ["--scenario", name]));
        conform.arg("--jobs").arg(options.jobs.to_string()).arg("--keep").arg(kept.path());
        // A failure shows as a difference, or is none of this program's.
        conform
            .arg("--")
            .arg(fs::canonicalize(binary)?)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
    }
    let mut paths = recordings(kept[2].path())?;
    paths.sort();
    for path in paths {
        let name = path.strip_prefix(kept[2].path())?;
        let sides = kept.each_ref().map(|kept| outputs(&kept.path().join(name)));
        tally.compare(&format!("{dialect} scenario {}", name.display()), &sides);
    }
    Ok(())
}

/// Lines of the server in a kept conversation.
fn outputs(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let written = records.filter(|record| record["dir"] == "out");
    written.filter_map(|record| normalized(&record["frame"].to_string())).collect()
}

/// Sends the host's lines of each recording to both binaries.
fn compare_recordings(options: &Options, directory: &Path, tally: &mut Tally) -> Result<(), Box<dyn Error>> {
    let mut paths = recordings(directory)?;
    paths.sort();
    let played = std::thread::scope(|scope| {
        let share = paths.len().div_ceil(options.jobs.max(1)).max(1);
        let play = |share: &[PathBuf]| {
            let mut played = Vec::new();
            for path in share {
                for script in server::SCRIPTS {
                    let binaries = [&options.old, &options.old, &options.new];
                    let sides = binaries.map(|binary| server::played(binary, path, script));
                    played.push((format!("{} {}", path.display(), script.name), sides));
                }
            }
            played
        };
        let threads: Vec<_> = paths.chunks(share).map(|share| scope.spawn(move || play(share))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    for (name, [old, again, new]) in played {
        tally.compare(&name, &[old?, again?, new?]);
    }
    Ok(())
}

/// The recordings below a directory.
fn recordings(directory: &Path) -> Result<Vec<PathBuf>, std::io::Error> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(recordings(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(path);
        }
    }
    Ok(found)
}
