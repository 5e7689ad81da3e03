//! `pi-rpc conform`.

mod progress;
mod random;

use super::{
    print, refuse,
    report_options::{Format, ReportOptions},
};
use clap::Args;
use globset::Glob;
use pi_rpc_conform::live::{Adapter, PlayEvent, PlayOptions, Played, Server, ask_version, play_all};
use pi_rpc_files::{harmless::harmless_lines, private_files, secrets::redact_command_line};
use pi_rpc_oracle::report::{Outcome, Report};
use pi_rpc_protocol::{Dialect, DialectVersion};
use pi_rpc_scenario::Scenario;
use progress::Progress;
use std::{
    ffi::{OsStr, OsString},
    fs, io,
    num::{NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf, absolute},
    process::ExitCode,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

/// Options of `pi-rpc conform`.
#[derive(Args)]
pub struct Options {
    /// Judge by this dialect (default: the adapter's); pi-1@0.84: as version 0.84 of the server speaks it
    #[arg(long, env = "PI_RPC_DIALECT")]
    dialect: Option<String>,
    /// Play these scenarios, by name (* and ? allowed) or as a file (*.json), instead of all of the dialect; repeatable
    #[arg(long = "scenario", value_name = "GLOB|FILE")]
    scenarios: Vec<String>,
    /// Start the server as this adapter describes: a name or a file (default: the one named as the program, else pi)
    #[arg(long, value_name = "NAME|FILE")]
    adapter: Option<String>,
    #[command(flatten)]
    report_options: ReportOptions,
    /// Write each conversation to this directory, as a recording for `check` and `replay`
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Record only the lengths of texts, paths, arguments and outputs; `check` then misses violations in the texts
    /// themselves. The report of this run still quotes
    #[arg(long, requires = "keep")]
    redact: bool,
    /// Play so many scenarios at a time
    #[arg(long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,
    /// Multiply every deadline by N, for a slow machine; a scenario that still misses one is not judged instead of failed, and
    /// the exit status is 3
    #[arg(long, value_name = "N")]
    patience: Option<NonZeroU32>,
    /// Let a scenario fail that misses a deadline in spite of --patience
    #[arg(long, requires = "patience")]
    strict: bool,
    /// Start no further scenario once one has failed
    #[arg(long)]
    fail_fast: bool,
    /// Play random conversations instead of scenarios, from this seed on; shrink failing ones and print them to stderr as
    /// scenarios
    #[arg(long, value_name = "N", conflicts_with = "scenarios")]
    seed: Option<u64>,
    /// Play so many seeds
    #[arg(long, value_name = "K", default_value = "1", requires = "seed")]
    count: u64,
    /// List the scenarios and exit
    #[arg(long)]
    list: bool,
    /// The server: program and arguments; the adapter adds mode, model and more
    #[arg(last = true, value_name = "SERVER", required_unless_present = "list")]
    server: Vec<OsString>,
}

/// Exit status after an interrupt.
const INTERRUPTED: u8 = 130;

/// Exit status when the test itself fails.
const HARNESS: u8 = 3;

/// Plays the scenarios and writes the report.
pub fn run(options: &Options) -> ExitCode {
    let chosen = options.server().and_then(|server| Ok((options.select_scenarios(server.dialect)?, server)));
    let (scenarios, server) = match chosen {
        Ok(chosen) => chosen,
        Err(text) => return refuse(&text, super::USAGE),
    };
    if options.list {
        return print(&harmless_lines(scenario_table(&scenarios).trim_end()));
    }
    let mut expectations = match options.report_options.expectations() {
        Ok(expectations) => expectations,
        Err(status) => return status,
    };
    if let Some(Err(error)) = options.keep.as_deref().map(private_files::create_folder) {
        return refuse(&format!("--keep: {error}"), super::USAGE);
    }
    let (run, stop) = (RunWatch::begin(scenarios.len()), AtomicBool::new(false));
    let play_options = PlayOptions {
        jobs: options.jobs,
        keep: options.keep.as_deref(),
        redact: options.redact,
        timeline: options.report_options.format() == Format::Html,
        patience: options.patience,
        strict: options.strict,
        stop: Some(&stop),
    };
    let played = play_all(&server, &scenarios, play_options, |event| match event {
        PlayEvent::Started(scenario) => run.progress.start_scenario(&scenario.name),
        PlayEvent::Ended(played) => {
            // Known failures do not count.
            let judged = Report::new(
                vec![played.subject.clone()],
                expectations.clone(),
                options.report_options.least_tier(),
            );
            let failures = run.end_scenario(played, judged.summary.failed + judged.summary.errors > 0);
            stop.store(
                (options.fail_fast && failures > 0)
                    || run.why_never_started().is_some()
                    || run.foreign_dialect.get().is_some(),
                Ordering::Relaxed,
            );
        }
    });
    run.progress.finish();
    if let Some(foreign) = run.foreign_dialect.get() {
        return refuse(foreign, HARNESS);
    }
    match played {
        Ok(subjects) => {
            // A scenario that was not exercised neither meets nor breaks its expectations.
            let exercised = subjects.iter().filter(|subject| subject.outcome != Outcome::NotExercised);
            let names: Vec<&str> = exercised.map(|subject| subject.name.as_str()).collect();
            expectations.retain_for(&names);
            let left = scenarios.len() - subjects.len();
            let report = Report::new(subjects, expectations, options.report_options.least_tier());
            let command = redact_command_line(options.server.iter().map(OsString::as_os_str)).join(" ");
            // Without a version the report is as good as before.
            let version = ask_version(&server).ok().flatten();
            let report = report.with_command(command).with_version(version);
            if options.seed.is_some() {
                random::shrink_failures(&report, &server, options.keep.as_deref());
            }
            if left > 0 {
                let why = run.why_never_started().unwrap_or_else(|| "--fail-fast".to_owned());
                let text = format!("{why}: {left} of {} scenarios were not played", scenarios.len());
                eprintln!("{}", harmless_lines(&text));
            }
            options.report_options.write(report)
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => ExitCode::from(INTERRUPTED),
        Err(error) => refuse(&error.to_string(), HARNESS),
    }
}

impl Options {
    /// The server to test, with dialect and adapter.
    fn server(&self) -> Result<Server, String> {
        let requested = self.dialect.as_deref();
        let requested = requested
            .map(|name| DialectVersion::parse(name).ok_or_else(|| super::unknown_version(name)))
            .transpose()?;
        let program = self.server.first().and_then(|program| Path::new(program).file_name()?.to_str());
        let program = program.unwrap_or_default();
        let own = Adapter::names().into_iter().find(|name| *name == program);
        let of_dialect = requested.and_then(|dialect| {
            Adapter::names()
                .into_iter()
                .find(|name| Dialect::parse(name).is_some_and(|own| own.base() == dialect.base()))
        });
        let adapter = self.adapter.as_deref().or(own).or(of_dialect).unwrap_or("pi");
        let adapter = Adapter::find(adapter).map_err(|error| error.to_string())?;
        let mut words = self.server.iter().map(|word| with_absolute_path(word));
        let program = words.next().unwrap_or_default().into();
        let DialectVersion { dialect, version, .. } = requested.unwrap_or(adapter.dialect.into());
        Ok(Server { program, args: words.collect(), dialect, version, adapter })
    }

    /// The scenarios that the options select.
    fn select_scenarios(&self, dialect: Dialect) -> Result<Vec<Scenario>, String> {
        if let Some(seed) = self.seed {
            return random::scenarios(seed, self.count, dialect);
        }
        let mut all = Scenario::built_in().map_err(|error| error.to_string())?;
        all.retain(|scenario| scenario.is_for(dialect));
        if self.scenarios.is_empty() {
            return Ok(all);
        }
        let mut wanted = vec![false; all.len()];
        let mut files = Vec::new();
        for name in &self.scenarios {
            if name.ends_with(".json") {
                files.push(read(Path::new(name))?);
                continue;
            }
            let glob = Glob::new(name).map_err(|error| format!("--scenario: {error}"))?.compile_matcher();
            let mut fits = false;
            for (scenario, wanted) in
                all.iter().zip(&mut wanted).filter(|(scenario, _)| glob.is_match(&scenario.name))
            {
                debug_assert!(scenario.is_for(dialect));
                (*wanted, fits) = (true, true);
            }
            if !fits {
                return Err(format!(
                    "--scenario {name}: expected the name of a scenario of {dialect}; see --list"
                ));
            }
        }
        let named = all.into_iter().zip(wanted).filter_map(|(scenario, wanted)| wanted.then_some(scenario));
        Ok(named.chain(files).collect())
    }
}

fn read(path: &Path) -> Result<Scenario, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Scenario::from_json(&text).map_err(|error| format!("{}: {error}", path.display()))
}

/// A word of the server's command line. Relative paths of existing files become absolute, as servers start elsewhere.
fn with_absolute_path(word: &OsStr) -> OsString {
    let path = Path::new(word);
    let leads = path.components().count() > 1 && path.is_relative() && path.exists();
    match absolute(path) {
        Ok(whole) if leads => whole.into(),
        _ => word.to_owned(),
    }
}

fn scenario_table(scenarios: &[Scenario]) -> String {
    let width = scenarios.iter().map(|scenario| scenario.name.len()).max().unwrap_or_default();
    scenarios.iter().map(|scenario| format!("{:width$}  {}\n", scenario.name, scenario.title)).collect()
}

/// What is noticed while the scenarios are played.
struct RunWatch {
    progress: Progress,
    /// Whether the server has written a line in any scenario.
    has_written: AtomicBool,
    /// Why it cannot be judged at all, if that is so.
    why_never_started: Mutex<Option<String>>,
    /// Whether the remark about the version of the dialect was made.
    has_remarked: AtomicBool,
    /// What shows that the server speaks another dialect, which every scenario would fail by.
    foreign_dialect: OnceLock<String>,
}

impl RunWatch {
    fn begin(scenarios: usize) -> Self {
        let progress = Progress::begin(scenarios);
        let [has_written, has_remarked] = [(); 2].map(|()| AtomicBool::new(false));
        let foreign_dialect = OnceLock::new();
        Self { progress, has_written, why_never_started: Mutex::default(), has_remarked, foreign_dialect }
    }

    /// Counts a scenario. Returns the number of failures.
    fn end_scenario(&self, played: &Played, has_failed: bool) -> usize {
        let has_written = self.has_written.fetch_or(played.has_written, Ordering::Relaxed);
        if played.never_started && !has_written {
            let mut why = self.why_never_started.lock().unwrap_or_else(PoisonError::into_inner);
            let reason = played.subject.reason.as_deref().unwrap_or_default();
            why.get_or_insert_with(|| reason.lines().next().unwrap_or_default().to_owned());
        }
        match &played.mismatch {
            Some(mismatch) if mismatch.judged.base() != mismatch.other.base() => {
                let _ = self.foreign_dialect.set(mismatch.of_server());
            }
            Some(mismatch) if !self.has_remarked.swap(true, Ordering::Relaxed) => {
                self.progress.print(&format!("conform: {}", mismatch.of_server()));
            }
            _ => {}
        }
        self.progress.end_scenario(&played.subject.name, has_failed)
    }

    /// Why the server could not be started or never wrote a frame, so that no other scenario will do better.
    fn why_never_started(&self) -> Option<String> {
        self.why_never_started.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
