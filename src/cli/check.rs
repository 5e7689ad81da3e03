//! `pi-rpc check`.

use super::{
    print, refuse,
    report_options::{Format, ReportOptions},
};
use clap::Args;
use pi_rpc_oracle::{
    JudgeOptions,
    report::{Report, Subject},
    rules,
};
use pi_rpc_protocol::DialectVersion;
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, BufReader},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Options of `pi-rpc check`.
#[derive(Args)]
pub struct Options {
    /// Judge by this dialect (default: that of the recording, else the one that its frames show, else pi); pi-1@0.84: as
    /// version 0.84 of the server speaks it
    #[arg(long)]
    dialect: Option<String>,
    #[command(flatten)]
    report_options: ReportOptions,
    /// List all rules (as text or JSON) and exit
    #[arg(long, conflicts_with = "traces")]
    list: bool,
    /// Recordings or plain logs of a server's stdout; directories with *.jsonl; - for stdin
    #[arg(value_name = "TRACE", required_unless_present = "list")]
    traces: Vec<PathBuf>,
}

/// Text behind the options in `--help`.
pub const HELP: &str = "\
In the report, > marks the frame that breaks a rule and * the earlier frame that it refers to.

Exits with 1 if a MUST or SHOULD is broken; with 2 if the command line is wrong or a recording does not exist; with 3 if a \
recording cannot be judged: it has lines that are no records, another dialect, or no output of a server.

Examples:
  pi-rpc check --dialect pi-1@0.84 talk.jsonl
  pi-rpc check --format html --report page.html recordings/";

/// Size of the read buffer, in bytes.
const BUFFER: usize = 256 * 1024;

/// Judges the recordings and writes the report.
pub fn run(options: &Options) -> ExitCode {
    let dialect = match options.dialect.as_deref().map(|name| DialectVersion::parse(name).ok_or(name)) {
        Some(Err(name)) => return refuse(&super::unknown_version(name), super::USAGE),
        named => named.and_then(Result::ok),
    };
    if options.list {
        return match options.report_options.format() {
            Format::Json => print(&format!("{:#}", rules::json())),
            _ => print(rules::table().trim_end()),
        };
    }
    let expectations = match options.report_options.expectations() {
        Ok(expectations) => expectations,
        Err(status) => return status,
    };
    let traces = match recordings(&options.traces) {
        Ok(traces) => traces,
        Err(text) => return refuse(&text, super::USAGE),
    };
    let reading = JudgeOptions { dialect, timeline: options.report_options.format() == Format::Html };
    let mut subjects = Vec::with_capacity(traces.len());
    for trace in &traces {
        match judge(trace, reading) {
            Ok(subject) => subjects.push(subject),
            Err(error) => return refuse(&format!("{}: {error}", trace.display()), super::USAGE),
        }
    }
    options.report_options.write(Report::new(subjects, expectations, options.report_options.least_tier()))
}

fn judge(trace: &Path, reading: JudgeOptions) -> io::Result<Subject> {
    let name = trace.to_string_lossy();
    match is_stdin(trace) {
        true => Ok(reading.judge("stdin", BufReader::with_capacity(BUFFER, io::stdin().lock()))),
        false => Ok(reading.judge(&name, BufReader::with_capacity(BUFFER, File::open(trace)?))),
    }
}

/// The named recordings; for a directory, the recordings in it, sorted by name.
fn recordings(named: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for named in named {
        if !is_stdin(named) && !named.exists() {
            return Err(format!("{}: there is no such file or directory", named.display()));
        }
        if is_stdin(named) || !named.is_dir() {
            files.push(named.clone());
            continue;
        }
        let mut within = recordings_in(named).map_err(|error| format!("{}: {error}", named.display()))?;
        if within.is_empty() {
            return Err(format!("{}: expected recordings (*.jsonl) in it", named.display()));
        }
        within.sort();
        files.append(&mut within);
    }
    Ok(files)
}

fn recordings_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path()));
    let is_recording = |path: &PathBuf| path.extension() == Some(OsStr::new("jsonl"));
    paths.filter(|path| path.as_ref().map_or(true, is_recording)).collect()
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}
