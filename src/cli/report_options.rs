//! Options of reports, shared by `check` and `conform`: format, file, tier, expectations.

use super::refuse;
use anstream::{AutoStream, adapter::strip_str};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use pi_rpc_files::private_files;
use pi_rpc_oracle::{Expectations, report::Report};
use pi_rpc_protocol::Tier;
use std::{
    fs,
    io::{self, ErrorKind, Write as _},
    path::PathBuf,
    process::ExitCode,
};

/// Options of a report.
#[derive(Args)]
pub struct ReportOptions {
    /// Format of the report
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
    /// Write the report to FILE, and the human-readable one to stdout
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Leave out rules of lower tiers; violations of MUST and SHOULD fail, of OBSERVED never
    #[arg(long, value_enum, default_value_t = TierArgument::Observed)]
    tier: TierArgument,
    /// Accept the known failures in FILE (see `pi-rpc schema --format expect`); one that does not occur fails
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
}

/// The formats of a report.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people
    Human,
    /// JSON (see `pi-rpc schema --format report`)
    Json,
    /// JUnit XML
    Junit,
    /// One HTML page with the conversations
    Html,
}

#[derive(Clone, Copy, ValueEnum)]
enum TierArgument {
    Must,
    Should,
    Observed,
}

/// Exit status when the report cannot be written.
const HARNESS: u8 = 3;

impl ReportOptions {
    /// The requested format.
    pub const fn format(&self) -> Format {
        self.format
    }

    /// The lowest tier that is reported.
    pub const fn least_tier(&self) -> Tier {
        match self.tier {
            TierArgument::Must => Tier::Must,
            TierArgument::Should => Tier::Should,
            TierArgument::Observed => Tier::Observed,
        }
    }

    /// Reads the known failures; none without a file.
    pub fn expectations(&self) -> Result<Expectations, ExitCode> {
        let Some(file) = &self.expect else {
            return Ok(Expectations::default());
        };
        let refused = |text: String| refuse(&format!("{}: {text}", file.display()), super::USAGE);
        let text = fs::read_to_string(file).map_err(|error| refused(error.to_string()))?;
        Expectations::from_json(&text).map_err(|error| refused(error.to_string()))
    }

    /// Writes the report, with the time of now, to its file or stdout, and returns the exit status.
    pub fn write(&self, report: Report) -> ExitCode {
        let report = &report.with_date(format!("{:.0}", Timestamp::now()));
        let written = match &self.report {
            None => render(report, self.format).and_then(|text| print_in_colours(&text)),
            Some(file) => {
                let named =
                    |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", file.display()));
                let text = render(report, self.format).map(|text| strip_str(&text).to_string());
                text.and_then(|text| private_files::write(file, &text).map_err(named))
                    .and_then(|()| print_in_colours(&report.to_human()))
            }
        };
        match written {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                refuse(&format!("the report cannot be written: {error}"), HARNESS)
            }
            _ => ExitCode::from(report.status()),
        }
    }
}

/// Renders the report, with a line feed at its end.
fn render(report: &Report, format: Format) -> io::Result<String> {
    match format {
        Format::Human => Ok(report.to_human()),
        Format::Json => Ok(format!("{}\n", serde_json::to_string_pretty(report)?)),
        Format::Html => Ok(report.to_page()),
        Format::Junit => report.to_junit().map_err(io::Error::other),
    }
}

/// Prints to stdout, with colours if that is a terminal.
fn print_in_colours(text: &str) -> io::Result<()> {
    let mut stdout = AutoStream::auto(io::stdout().lock());
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}
