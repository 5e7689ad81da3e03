//! Times of a recording as the page gets them.

use super::{
    inspection::InspectionState,
    wire::{CommandTiming, Timing},
};
use std::collections::BTreeMap;

/// The latest latencies of a command of which the median is taken.
const SAMPLE: usize = 1000;

/// Latencies, runs, deltas, figures, and servers with their calls.
pub fn timing(state: &InspectionState) -> Timing {
    let (index, figures) = (&state.index, state.index.figures());
    let mut latencies: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
    let mut commands: BTreeMap<u16, CommandTiming> = BTreeMap::new();
    for request in figures.requests() {
        let about = commands.entry(request.name).or_insert_with(|| CommandTiming {
            r#type: index.names().name(request.name).to_owned(),
            count: 0,
            outstanding: 0,
            failed: 0,
            least: f64::INFINITY,
            median: 0.0,
            most: 0.0,
        });
        about.count += 1;
        let times = index.record(request.record).zip(index.record(request.response));
        let Some((command, response)) = times else {
            about.outstanding += 1;
            continue;
        };
        about.failed += u32::from(!request.is_success);
        let latency = response.t - command.t;
        about.least = about.least.min(latency);
        about.most = about.most.max(latency);
        latencies.entry(request.name).or_default().push(latency);
    }
    for (name, about) in &mut commands {
        let mut latest: Vec<f64> =
            latencies.remove(name).unwrap_or_default().into_iter().rev().take(SAMPLE).collect();
        latest.sort_by(f64::total_cmp);
        about.median = latest.get(latest.len() / 2).copied().unwrap_or_default();
        if latest.is_empty() {
            about.least = 0.0;
        }
    }
    Timing {
        commands: commands.into_values().collect(),
        runs: figures.runs(),
        deltas: figures.deltas(),
        figures: figures.figures_at(index.len()),
        servers: index.servers().servers(),
    }
}
