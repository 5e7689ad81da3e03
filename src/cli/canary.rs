//! `pi-rpc canary`: somebody's client against the releases of pi that people have, and against this server with its hazards.

mod blame;
mod junit;
mod place;
mod releases;
mod subjects;
mod trial;

use super::{HARNESS, USAGE, refuse};
use clap::Args;
use pi_rpc_files::{harmless::harmless_lines, private_files};
use pi_rpc_model::scripted::Script;
use pi_rpc_protocol::{Dialect, DialectVersion};
use pi_rpc_server::Hazard;
use releases::Registry;
use std::{
    ffi::OsString,
    fmt::Write as _,
    io::Write as _,
    path::PathBuf,
    process::ExitCode,
    time::{Duration, Instant},
};
use subjects::{Kind, Subject, family};
use trial::{ClientExit, Trial, play};

/// Options of `pi-rpc canary`.
#[derive(Args)]
pub struct Options {
    /// Play against the newest N releases of pi that npm has, without those for trial
    #[arg(long, value_name = "N", default_value = "3")]
    last: usize,
    /// Play against this release in place of the newest ones: a version, or PACKAGE@VERSION; repeatable
    #[arg(long = "release", value_name = "VERSION")]
    releases: Vec<String>,
    /// Leave out this server and its hazards
    #[arg(long)]
    no_own: bool,
    /// Hazards of this server, as for serve; a failure with several is played again with each alone; none: leave them out
    #[arg(long, value_name = "LIST", default_value = HAZARDS)]
    hazard: String,
    /// Play this script as the model, in place of the demo
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// The dialect that the client was written for (default: that of the newest release with which it passes)
    #[arg(long, value_name = "D", value_parser = super::named_dialect)]
    speak: Option<Dialect>,
    /// End the client after so many seconds
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    timeout: u64,
    /// Write the outcomes to this file as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Keep the recordings and the output of the client in this folder
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Where releases are installed (default: pi-rpc/releases in the user's folder for caches)
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// The command that tests the client
    #[arg(last = true, required = true, value_name = "TEST CMD")]
    command: Vec<OsString>,
}

/// The hazards without those that take long.
const HAZARDS: &str = "chunks,coalesce,early-events,unknown-fields,unknown-events,u2028,late-answers";

/// Text behind the options in `--help`.
pub const HELP: &str = "\
The command finds its pi as usual: a folder with a program `pi` stands first in its PATH, and the variable PI has the program's path. \
The model is scripted: no key is used, and no request leaves this machine. Releases are installed by npm, without their scripts, and \
kept.

A failure is shown with the frame that most likely caused it. Where the client passes behind `pi-rpc front`, the command line of that \
is shown as the cure.

Exits with 1 if the client fails with any server; with 3 if a release cannot be installed, or the client never starts pi.

Examples:
  pi-rpc canary -- npm test
  pi-rpc canary --release 0.84.0 --release 1.6.0 --speak pi@0.73 --junit canary.xml -- cargo test --test agent
  pi-rpc canary --last 1 --script answers.json -- python3 -m pytest tests/";

/// Plays the client against all servers, and tells how each went.
pub fn run(options: &Options) -> ExitCode {
    match canary(options) {
        Ok(status) => ExitCode::from(status),
        Err(Failed(text, status)) => refuse(&text, status),
    }
}

/// Why nothing can be told, and the exit status.
struct Failed(String, u8);

fn canary(options: &Options) -> Result<u8, Failed> {
    let script = match &options.script {
        Some(path) => {
            let named = |error: &dyn std::fmt::Display| Failed(format!("{}: {error}", path.display()), USAGE);
            let text = std::fs::read_to_string(path).map_err(|error| named(&error))?;
            Script::from_json(&text).map_err(|error| named(&error))?
        }
        None => Script::demo(),
    };
    let hazards = match options.hazard.as_str() {
        "none" => Vec::new(),
        list => Hazard::list(list).map_err(|error| Failed(format!("--hazard: {error}"), USAGE))?,
    };
    let registry = Registry::new(options.cache.clone()).map_err(|error| Failed(error, HARNESS))?;
    let releases = registry.named(&options.releases, options.last).map_err(|error| Failed(error, HARNESS))?;
    let folder = match &options.keep {
        Some(folder) => place::Folder::kept(folder),
        None => place::Folder::temporary(),
    };
    let folder = folder.map_err(|error| Failed(error, HARNESS))?;
    let timeout = Duration::from_secs(options.timeout);
    let canary = Canary { options, script, folder, timeout };
    let mut results = Vec::new();
    for release in releases {
        let release = registry.install(release).map_err(|error| Failed(error, HARNESS))?;
        results.push(canary.play(Subject::of_release(&release))?);
    }
    if !options.no_own {
        let dialect = results.last().map_or_else(newest_dialect, |result| result.subject.spoken);
        results.push(canary.play(Subject::own(dialect, &[]))?);
        if !hazards.is_empty() {
            results.extend(canary.play_hazards(dialect, &hazards)?);
        }
    }
    canary.explain(&mut results)?;
    let text = summary(&results);
    // Nobody may read it.
    let _ = std::io::stdout().write_all(harmless_lines(&text).as_bytes());
    if let Some(path) = &options.junit {
        let failed = |error: String| Failed(format!("--junit {}: {error}", path.display()), HARNESS);
        let text = junit::text(&results).map_err(|error| failed(error.to_string()))?;
        private_files::write(path, &text).map_err(|error| failed(error.to_string()))?;
    }
    if results.iter().all(|result| result.trial.recordings.is_empty()) {
        let text = "the client never started pi: it has to find it by PATH, or by the variable PI";
        return Err(Failed(text.to_owned(), HARNESS));
    }
    Ok(u8::from(results.iter().any(|result| !result.has_passed())))
}

/// The dialect of the newest release that is known.
fn newest_dialect() -> DialectVersion {
    family()
        .max_by_key(|(first, _)| *first)
        .map_or_else(|| Dialect::Pi1.into(), |(_, dialect)| dialect.into())
}

struct Canary<'a> {
    options: &'a Options,
    script: Script,
    folder: place::Folder,
    timeout: Duration,
}

/// How the client did with a server.
pub struct Outcome {
    subject: Subject,
    trial: Trial,
    took: Duration,
    /// The frames that most likely broke it.
    frame: Option<String>,
    /// The command that cures it.
    cure: Option<String>,
}

impl Outcome {
    fn has_passed(&self) -> bool {
        self.trial.exit == ClientExit::Passed && !self.trial.recordings.is_empty()
    }

    /// The reason of a failure, in one line.
    fn reason(&self) -> String {
        match self.trial.exit {
            ClientExit::Passed => "the client passed without pi: it never started it".to_owned(),
            ClientExit::Failed(code) => format!("the client exited with {code}"),
            ClientExit::TimedOut => "the client did not come to an end in time".to_owned(),
        }
    }
}

impl Canary<'_> {
    fn play(&self, subject: Subject) -> Result<Outcome, Failed> {
        eprintln!("canary: {}", subject.name);
        let started = Instant::now();
        let trial = play(&self.folder, &subject, &self.script, &self.options.command, self.timeout);
        let trial = trial.map_err(|error| Failed(error, HARNESS))?;
        Ok(Outcome { subject, trial, took: started.elapsed(), frame: None, cure: None })
    }

    /// With all hazards at once; if that fails, with each alone.
    fn play_hazards(&self, spoken: DialectVersion, hazards: &[Hazard]) -> Result<Vec<Outcome>, Failed> {
        let all = self.play(Subject::own(spoken, hazards))?;
        let mut outcomes = vec![all];
        if !outcomes[0].has_passed() && hazards.len() > 1 {
            for hazard in hazards {
                outcomes.push(self.play(Subject::own(spoken, &[*hazard]))?);
            }
        }
        Ok(outcomes)
    }

    /// Finds the frame that broke the client, and whether the front cures it.
    fn explain(&self, outcomes: &mut [Outcome]) -> Result<(), Failed> {
        let mut passing =
            outcomes.iter().filter(|it| it.has_passed() && matches!(it.subject.kind, Kind::Release(_)));
        let mut known = passing.next_back().map(|it| it.subject.spoken.dialect).or(self.options.speak);
        for outcome in outcomes.iter_mut().filter(|it| !it.has_passed()) {
            let speaks = match self.options.speak.or(known) {
                Some(dialect) => vec![dialect],
                // Each of the family whose frames are others, the newest first.
                None => earlier_dialects(outcome.subject.spoken),
            };
            let others = speaks.into_iter().filter(|it| it.base() != outcome.subject.spoken.base());
            for dialect in others {
                let behind = self.play(outcome.subject.behind_front(dialect))?;
                if behind.has_passed() {
                    outcome.cure = Some(outcome.subject.cure(dialect));
                    known = known.or(Some(dialect));
                    break;
                }
            }
            let judged_by = self.options.speak.or(known).unwrap_or(outcome.subject.spoken.dialect);
            outcome.frame = blame::frames(&outcome.trial.recordings, judged_by);
        }
        Ok(())
    }
}

/// One dialect for each set of frames that came before those of `spoken`, the newest first.
fn earlier_dialects(spoken: DialectVersion) -> Vec<Dialect> {
    let mut known: Vec<_> = family().collect();
    known.sort_by_key(|(first, _)| std::cmp::Reverse(*first));
    let mut chosen: Vec<Dialect> = Vec::new();
    for (_, dialect) in known {
        let is_new = chosen.iter().all(|it| it.base() != dialect.base());
        if is_new && dialect.base() != spoken.base() {
            chosen.push(dialect);
        }
    }
    chosen
}

/// The outcomes as text.
fn summary(outcomes: &[Outcome]) -> String {
    let width = outcomes.iter().map(|it| it.subject.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for outcome in outcomes {
        let (name, took) = (&outcome.subject.name, outcome.took.as_secs_f64());
        if outcome.has_passed() {
            let _ = writeln!(text, "passed  {name:width$}  {took:.1} s");
            continue;
        }
        let _ = writeln!(text, "FAILED  {name:width$}  {took:.1} s  {}", outcome.reason());
        for line in details(outcome).lines() {
            let _ = writeln!(text, "        {line}");
        }
    }
    let failed = outcomes.iter().filter(|it| !it.has_passed()).count();
    let _ = writeln!(text, "\n{} of {} passed", outcomes.len() - failed, outcomes.len());
    text
}

/// What is known of a failure.
fn details(outcome: &Outcome) -> String {
    let mut text = String::new();
    if let Some(frame) = &outcome.frame {
        text += &format!("{frame}\n");
    }
    if let Some(cure) = &outcome.cure {
        text += &format!("it passes behind the front: {cure}\n");
    }
    if !outcome.trial.tail.is_empty() {
        text += &format!("the end of what the client wrote:\n{}\n", outcome.trial.tail.trim_end());
    }
    text
}
