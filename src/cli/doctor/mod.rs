//! `pi-rpc doctor`: what a user's machine has and what it lacks. Writes nothing, and prints no credential.
//!
//! Each [`Check`] is about one subject. `models` and `machine` make them from what the rest of the program knows: the
//! configuration, the search for extensions and Node, the folders of sessions.

mod machine;
#[cfg(feature = "mcp")]
mod mcp;
mod models;
mod nats;
mod permissions;

use super::{
    USAGE, named_dialect,
    options::{self, Refusal},
    print, refuse, version,
};
use clap::Args;
use pi_rpc_config::{self as config, Config, Directories, Effect, Environment, Sources};
use pi_rpc_files::harmless::harmless_lines;
use pi_rpc_protocol::Dialect;
use serde::Serialize;
use serde_json::{Value, json};
use std::{fmt::Write as _, path::PathBuf, process::ExitCode};

/// Options of `pi-rpc doctor`.
#[derive(Args)]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Look at the configuration of this dialect
    #[arg(long, value_name = "D", value_parser = named_dialect)]
    dialect: Option<Dialect>,
    #[command(flatten)]
    nats: nats::Options,
}

/// What `--help` adds.
pub const HELP: &str = "\
The exit status is 1 if something is broken. Nothing is written, no model is called, and no key is printed.";

/// Whether a subject is as it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    /// It works.
    Ok,
    /// It works; something is worth knowing.
    Note,
    /// It does not work.
    Broken,
}

/// A subject, its state, and what would help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Check {
    subject: &'static str,
    state: State,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
}

impl Check {
    fn new(state: State, subject: &'static str, text: impl Into<String>) -> Self {
        Self { subject, state, text: text.into(), help: None }
    }

    fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

/// Where the program was started, and with what.
struct Surroundings {
    config: Config,
    working: PathBuf,
    environment: Environment,
}

/// Examines the machine and prints the report.
pub fn run(options: &Options) -> ExitCode {
    let dialect = match options.dialect.map_or_else(|| options::default_dialect(None), Ok) {
        Ok(dialect) => dialect,
        Err(Refusal(text, _)) => return refuse(&text, USAGE),
    };
    let working = match std::env::current_dir() {
        Ok(directory) => directory,
        Err(error) => return refuse(&format!("the working directory: {error}"), 1),
    };
    let environment = Environment::of_process();
    let sources = Sources {
        dialect,
        working_directory: working.clone(),
        environment: environment.clone(),
        approve: None,
    };
    let surroundings = Surroundings { config: config::load(sources), working, environment };
    let mut checks = checks(&surroundings);
    checks.extend(nats::check(&options.nats));
    let is_healthy = checks.iter().all(|check| check.state != State::Broken);
    let printed = print(&match options.json {
        true => format!("{:#}", as_json(&surroundings.config, &checks, is_healthy)),
        false => harmless_lines(as_text(&checks).trim_end()),
    });
    if is_healthy { printed } else { ExitCode::FAILURE }
}

fn checks(surroundings: &Surroundings) -> Vec<Check> {
    let parts = [
        vec![program(), dialect(surroundings.config.dialect)],
        configuration(surroundings),
        permissions::check(&surroundings.config),
        models::check(&surroundings.config),
        machine::check(surroundings),
        #[cfg(feature = "mcp")]
        mcp::check(&surroundings.config),
    ];
    parts.concat()
}

fn program() -> Check {
    let commit = version::COMMIT.map(|commit| format!(", commit {commit}")).unwrap_or_default();
    Check::new(State::Ok, "program", format!("{}{commit}, for {}", super::VERSION, version::TARGET))
}

fn dialect(dialect: Dialect) -> Check {
    Check::new(
        State::Ok,
        "dialect",
        format!("{dialect}; this program has {}", version::dialects().join(", ")),
    )
}

/// The agent directory and how it was found, and each file that was read or is left out.
fn configuration(surroundings: &Surroundings) -> Vec<Check> {
    let config = &surroundings.config;
    let Directories { agent, data, variable, .. } = &config.directories;
    let named = variable.map(|variable| format!(" (from {variable})")).unwrap_or_default();
    let directory = match agent.is_dir() {
        true => Check::new(State::Ok, "configuration", format!("directory {}{named}", agent.display())),
        false => {
            let text = format!("there is no directory {}{named}: everything is as built in", agent.display());
            Check::new(State::Note, "configuration", text)
        }
    };
    let data = (data != agent).then(|| {
        let text = format!("sessions and the database of keys in {}", data.display());
        Check::new(State::Ok, "configuration", text)
    });
    let files = config.files.iter();
    let read = files.map(|file| Check::new(State::Ok, "configuration", format!("read {}", file.display())));
    let broken = config.warnings.iter().chain(&config.settings.faults);
    let broken = broken.map(|warning| Check::new(State::Broken, "configuration", warning));
    let withheld = config.withheld_texts.iter().cloned().chain(unhonoured(config));
    let withheld = withheld.map(|text| Check::new(State::Note, "configuration", text));
    std::iter::once(directory).chain(data).chain(read).chain(withheld).chain(broken).collect()
}

/// Lines about settings of pi that change nothing here.
fn unhonoured(config: &Config) -> Vec<String> {
    let found = config::unhonoured_in(&config.written_settings);
    let idle: Vec<&str> =
        found.iter().filter(|(_, it)| it.effect != Effect::Missing).map(|(path, _)| *path).collect();
    let idle = (!idle.is_empty())
        .then(|| format!("settings of pi's screen and other parts that are not here: {}", idle.join(", ")));
    config::missing_text(&config.written_settings).into_iter().chain(idle).collect()
}

fn as_text(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.subject.len()).max().unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let state = match check.state {
            State::Ok => "ok",
            State::Note => "note",
            State::Broken => "BROKEN",
        };
        let mut lines = check.text.lines().filter(|line| !line.trim().is_empty());
        let _ = writeln!(text, "{state:6}  {:width$}  {}", check.subject, lines.next().unwrap_or_default());
        for line in lines.chain(check.help.iter().flat_map(|help| help.lines())) {
            let _ = writeln!(text, "{:6}  {:width$}  {line}", "", "");
        }
    }
    text
}

fn as_json(config: &Config, checks: &[Check], is_healthy: bool) -> Value {
    json!({
        "version": super::VERSION,
        "commit": version::COMMIT,
        "target": version::TARGET,
        "dialect": config.dialect.as_str(),
        "agentDirectory": config.directories.agent,
        "dataDirectory": config.directories.data,
        "projectDirectory": config.directories.project,
        "files": config.files,
        "healthy": is_healthy,
        "checks": checks,
        "credentials": super::models::auth::as_json(config),
        "withoutKey": models::without_key(config),
    })
}
