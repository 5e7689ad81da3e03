//! Is every scenario worth options? For each there is a server that fails it: ours, with one thing spoilt on its way
//! out, and the rules that tell.

use crate::serve_support::sample;
use globset::{Glob, GlobSetBuilder};
use pi_rpc::{
    oracle::{
        live::{Adapter, PlayOptions, Server, play_all},
        report::Subject,
        scenario::Scenario,
    },
    protocol::{Dialect, Side, Tier},
};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

/// One way in which a server is broken.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Broken {
    /// What is wrong with it.
    what: String,
    /// The scenarios that it fails, as globs.
    scenarios: Vec<String>,
    #[serde(default = "every")]
    dialects: Vec<String>,
    /// What is done to its output, as the example `spoil` reads it.
    #[serde(rename = "do")]
    ops: Value,
    /// The server's rules that tell, those that are only observed aside.
    #[serde(default)]
    breaks: BTreeSet<String>,
    /// What stops the scenario on its way, or part of it.
    stops: Option<String>,
}

fn every() -> Vec<String> {
    ["pi", "pi-1", "xcsh"].map(str::to_owned).to_vec()
}

impl Broken {
    /// Each scenario that it fails, with a dialect of it: one is enough.
    fn plays<'s>(&self, scenarios: &'s [Scenario]) -> Vec<(Dialect, &'s Scenario)> {
        let mut globs = GlobSetBuilder::new();
        for glob in &self.scenarios {
            globs.add(Glob::new(glob).expect("a glob"));
        }
        let globs = globs.build().expect("globs");
        let known: Vec<Dialect> = self.dialects.iter().filter_map(|name| Dialect::parse(name)).collect();
        let named = scenarios.iter().filter(|scenario| globs.is_match(&scenario.name));
        let dialect = |scenario: &Scenario| known.iter().copied().find(|dialect| scenario.is_for(*dialect));
        named.filter_map(|scenario| Some((dialect(scenario)?, scenario))).collect()
    }

    fn server(&self, dialect: Dialect) -> Server {
        let args = vec![self.ops.to_string().into(), env!("CARGO_BIN_EXE_pi-rpc").into()];
        Server { program: spoil(), args, adapter: Adapter::find("pi-rpc").unwrap(), dialect, version: None }
    }
}

/// The example, where cargo puts it.
fn spoil() -> PathBuf {
    let spoil = Path::new(env!("CARGO_BIN_EXE_pi-rpc")).with_file_name("examples").join("spoil");
    assert!(
        spoil.exists(),
        "cargo test builds the example `spoil`; for this test alone: cargo build --example spoil"
    );
    spoil
}

fn all_broken() -> Vec<Broken> {
    serde_json::from_str(include_str!("../oracle/broken.json")).expect("broken.json")
}

#[test]
fn every_scenario_fails_some_broken_server() {
    let rows = all_broken();
    assert!(rows.iter().all(|row| row.stops.is_some() || !row.breaks.is_empty()), "nothing tells");
    let scenarios = Scenario::built_in().unwrap();
    let broken: BTreeSet<&str> = rows
        .iter()
        .flat_map(|row| row.plays(&scenarios))
        .map(|(_, scenario)| scenario.name.as_str())
        .collect();
    let unbroken: Vec<&str> =
        scenarios.iter().map(|it| it.name.as_str()).filter(|name| !broken.contains(name)).collect();
    assert_eq!(unbroken, Vec::<&str>::new());
}

#[test]
fn broken_server_breaks_its_rules_alone() {
    let scenarios = Scenario::built_in().unwrap();
    let options = PlayOptions { jobs: NonZeroUsize::new(4).expect("four"), ..PlayOptions::default() };
    let mut wrong = Vec::new();
    for row in all_broken() {
        let mut plays: BTreeMap<Dialect, Vec<Scenario>> = BTreeMap::new();
        for (dialect, scenario) in sample(row.plays(&scenarios), 8) {
            plays.entry(dialect).or_default().push(scenario.clone());
        }
        for (dialect, mine) in plays {
            let played = play_all(&row.server(dialect), &mine, options, |_| {}).unwrap();
            wrong.extend(played.iter().filter_map(|subject| row.told(subject)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

impl Broken {
    /// What is wrong with what was told of it.
    fn told(&self, subject: &Subject) -> Option<String> {
        let of_server = subject
            .findings
            .iter()
            .filter(|found| found.rule.about().side == Side::Server && found.tier != Tier::Observed);
        let told: BTreeSet<String> = of_server.map(|found| found.rule.to_string()).collect();
        let stopped = match (&subject.reason, &self.stops) {
            (Some(reason), Some(stops)) => reason.contains(stops),
            (reason, stops) => reason.is_none() && stops.is_none(),
        };
        (told != self.breaks || !stopped).then(|| {
            let Subject { name, dialect, reason, .. } = subject;
            format!("{} ({dialect} {name}): {told:?}, {reason:?}", self.what)
        })
    }
}
