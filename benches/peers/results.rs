//! Results of the measurements.

use crate::{Outcome, Samples, quiet::Load};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fs, path::Path};

/// Figures by measurement, server and name, one per run.
#[derive(Default)]
pub struct Results {
    figures: BTreeMap<(String, &'static str, &'static str), Vec<f64>>,
    failures: BTreeMap<(String, &'static str), String>,
    /// What else the machine did, before each run of a measurement.
    loads: Vec<Load>,
}

impl Results {
    /// Adds the outcome of a run, and prints it.
    pub fn add(&mut self, measurement: &str, run: usize, server: &'static str, outcome: Outcome<Samples>) {
        match outcome {
            Ok(samples) => {
                let text: Vec<_> = samples.iter().map(|(name, value)| format!("{name} {value:.6}")).collect();
                println!("{measurement} #{run} {server}: {}", text.join(", "));
                for (name, value) in samples {
                    self.figures.entry((measurement.to_owned(), server, name)).or_default().push(value);
                }
            }
            Err(reason) => {
                println!("{measurement} #{run} {server}: {reason} (not tried again)");
                self.failures.insert((measurement.to_owned(), server), reason);
            }
        }
    }

    /// Adds what else the machine did before a run.
    pub fn watched(&mut self, load: Load) {
        self.loads.push(load);
    }

    /// Sentence about what else the machine did.
    pub fn load(&self) -> String {
        let most = |share: fn(&Load) -> f64| self.loads.iter().map(share).fold(0.0, f64::max);
        format!(
            "In the second before each run other work took {:.1} % of the processors at most, other machines on the same host {:.1} %.",
            most(|load| load.busy),
            most(|load| load.stolen),
        )
    }

    /// Writes all figures, in seconds and bytes, to `benches/peers/results.json`.
    pub fn write(&self, conditions: &str) -> Outcome<()> {
        let mut measurements = Map::new();
        for ((measurement, server, name), figures) in &self.figures {
            let servers = measurements.entry(measurement).or_insert_with(|| json!({}));
            servers[*server][*name] = json!(figures);
        }
        for ((measurement, server), reason) in &self.failures {
            measurements.entry(measurement).or_insert_with(|| json!({}))[*server] = json!(reason);
        }
        let all = json!({ "conditions": conditions, "measurements": Value::Object(measurements) });
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/results.json");
        fs::write(&path, format!("{all}\n")).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Reason why a server has no figures.
    pub fn failed(&self, measurement: &str, server: &'static str) -> Option<&str> {
        self.failures.get(&(measurement.to_owned(), server)).map(String::as_str)
    }

    /// Figures of all runs; none if a run has failed.
    pub fn of(&self, measurement: &str, server: &'static str, name: &'static str) -> &[f64] {
        match self.failed(measurement, server) {
            Some(_) => &[],
            None => self.figures.get(&(measurement.to_owned(), server, name)).map_or(&[], Vec::as_slice),
        }
    }
}

/// Median, minimum and maximum of some figures.
#[derive(Clone, Copy)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub greatest: f64,
}

impl Spread {
    /// Computes the spread; `None` without figures.
    pub fn of(figures: &[f64]) -> Option<Self> {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (least, greatest) = (*sorted.first()?, *sorted.last()?);
        let median = f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some(Self { median, least, greatest })
    }
}
