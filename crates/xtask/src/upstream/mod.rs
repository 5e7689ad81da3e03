//! `cargo upstream`: what the newest releases of pi and oh-my-pi have that the measured ones, or this project, have not.
//!
//! The measured releases stand in `data/upstream.json`. Nothing of a release is run or installed: its package is
//! unpacked below `target/upstream`, and its texts are compared.

mod draft;
mod facts;
mod models;
mod omp;
mod ours;
mod page;
mod pi;
mod registry;

use super::root;
use facts::{Facts, compare};
use page::Page;
use registry::Registry;
use serde::Deserialize;
use std::{collections::BTreeMap, fs, path::PathBuf};

/// Contents of `data/upstream.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Measured {
    /// The agents, by the dialect that they speak.
    agents: BTreeMap<String, Agent>,
    /// Packages whose contents are not compared, with the newest version that was looked at; a newer one is reported.
    packages: BTreeMap<String, String>,
    /// Repositories likewise: the address, with the newest tag that was looked at.
    repositories: BTreeMap<String, String>,
    /// Texts of files that name a measured release; `cargo test --test documents` holds them to it.
    #[serde(rename = "stated")]
    _stated: BTreeMap<String, Vec<String>>,
}

/// An agent whose releases are packages of npm.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Agent {
    package: String,
    /// The release that our dialect is measured by.
    measured: String,
    /// A later one that cannot be run, and that a dialect of ours was written from.
    read: Option<ReadRelease>,
    /// Packages of the same versions that hold a part of the agent.
    #[serde(default)]
    parts: Vec<String>,
}

/// A release whose texts were read, as it does not install or start.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadRelease {
    version: String,
    dialect: String,
}

/// One release, unpacked.
struct Release {
    version: String,
    /// The folder of the agent's package.
    folder: PathBuf,
    /// The folders of its parts, in the order of [`Agent::parts`].
    parts: Vec<PathBuf>,
}

pub const USAGE: &str = "cargo upstream [pi|omp] [--from VERSION] [--to VERSION]";

/// Prints the page.
///
/// # Errors
///
/// Something is new, the arguments are wrong, or the registry cannot be asked.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let options = Options::parse(arguments)?;
    let path = root().join("data/upstream.json");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let measured: Measured =
        serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let registry = Registry { folder: root().join("target/upstream") };
    let mut page = Page::default();
    for (dialect, agent) in &measured.agents {
        if options.agent.as_ref().is_none_or(|agent| agent == dialect) {
            compare_agent(dialect, agent, &options, &registry, &mut page)?;
        }
    }
    if options.agent.is_none() {
        compare_versions(&measured, &registry, &mut page);
    }
    print!("{}", page.text());
    match page.news() {
        0 => Ok(()),
        news => Err(format!("{news} things are new; docs/how-to/follow-a-release.md says what to do")),
    }
}

#[derive(Default)]
struct Options {
    agent: Option<String>,
    from: Option<String>,
    to: Option<String>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let slot = match argument.as_str() {
                "--from" => &mut options.from,
                "--to" => &mut options.to,
                "pi" | "omp" if options.agent.is_none() => {
                    options.agent = Some(argument.clone());
                    continue;
                }
                other => return Err(format!("unexpected argument {other:?}; usage: {USAGE}")),
            };
            let version = arguments.next().ok_or_else(|| format!("{argument} needs a version"))?;
            *slot = Some(version.clone());
        }
        match (&options.agent, &options.from, &options.to) {
            (None, Some(_), _) | (None, _, Some(_)) => {
                Err(format!("--from and --to need an agent before them; usage: {USAGE}"))
            }
            _ => Ok(options),
        }
    }
}

fn compare_agent(
    dialect: &str,
    agent: &Agent,
    options: &Options,
    registry: &Registry,
    page: &mut Page,
) -> Result<(), String> {
    let (seen, ours_of) = match (&agent.read, dialect) {
        (Some(read), _) => (&read.version, read.dialect.as_str()),
        (None, "pi") => (&agent.measured, "pi-1"),
        (None, dialect) => (&agent.measured, dialect),
    };
    let from = options.from.as_ref().unwrap_or(seen).clone();
    let to = match &options.to {
        Some(version) => version.clone(),
        None => registry.newest(&agent.package)?,
    };
    let old = registry.release(&agent.package, &from, &agent.parts)?;
    let new = registry.release(&agent.package, &to, &agent.parts)?;
    page.heading(1, &format!("{dialect}: {} {from} to {to}", agent.package));
    if from != agent.measured {
        page.line(&format!("Measured is {}; compared with our dialect {ours_of}.", agent.measured));
    }
    let read: fn(&Release) -> Result<Facts, String> = if dialect == "omp" { omp::facts } else { pi::facts };
    let (was, is) = (read(&old)?, read(&new)?);
    let ours = ours::facts(ours_of)?;
    compare(&was, &is, &ours, page);
    draft::print(&was, &is, &draft::Step { dialect: ours_of, from: &from, to: &to }, page);
    if let ([was, ..], [is, ..], Some(ours)) = (&old.parts[..], &new.parts[..], ours.get("models")) {
        models::compare(&was.join(pi::MODELS), &is.join(pi::MODELS), ours, page)?;
    }
    facts::compare_files(&old, &new, page)?;
    facts::list_changes(&new, &from, page)
}

/// Reports newer versions of the packages and repositories whose contents are not compared.
fn compare_versions(measured: &Measured, registry: &Registry, page: &mut Page) {
    page.heading(1, "Other packages and repositories");
    for (name, seen) in &measured.packages {
        page.version(name, seen, registry.newest(name));
    }
    for (address, seen) in &measured.repositories {
        page.version(address, seen, registry.newest_tag(address));
    }
}
