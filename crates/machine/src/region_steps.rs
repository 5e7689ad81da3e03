//! Enumerates the transitions of the regions beside the flow, from the machines that run.

use crate::{
    asks::{AskEvent, Asks},
    lifecycle::{Lifecycle, LifecycleEvent},
    session_switch::{SessionSwitch, SwitchEvent},
    shell::{OpenCommands, Shell},
};
use pi_rpc_protocol::Base;

/// A transition between two states of a region beside the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RegionStep {
    /// The region.
    pub region: &'static str,
    /// The state before.
    pub from: &'static str,
    /// The state after.
    pub to: &'static str,
    /// What causes the transition.
    pub on: &'static str,
}

/// The transitions of the regions beside the flow in dialects built on `base`, by region.
pub fn region_steps(base: Base) -> Vec<RegionStep> {
    let opened = (AskEvent::Opened("1"), "extension_ui_request of a dialog");
    let closed = (AskEvent::Closed("1"), "answer, deadline or abort");
    let asks = walk("asks", Asks::default(), Asks::name, Asks::handle, &[opened, closed]);
    let running = [(OpenCommands(1), "command(bash)"), (OpenCommands(0), "response(bash)")];
    let shell = walk("shell", Shell::default(), Shell::name, Shell::handle, &running);
    let switches =
        [(SwitchEvent::Begins, "a change of the session begins"), (SwitchEvent::Ends, "the change ends")];
    let start = SessionSwitch::default();
    let switch = walk("switch", start, SessionSwitch::name, SessionSwitch::handle, &switches);
    let events = LifecycleEvent::ALL.map(|event| (event, event.as_str()));
    let lifecycle = Lifecycle::new(base.record().end_of_input);
    let input = walk("input", lifecycle, Lifecycle::name, Lifecycle::handle, &events);
    [asks, shell, switch, input].concat()
}

/// The transitions of the region that `first` begins, breadth first.
fn walk<M: Clone, E: Copy>(
    region: &'static str,
    first: M,
    name: fn(&M) -> &'static str,
    handle: fn(&mut M, E),
    events: &[(E, &'static str)],
) -> Vec<RegionStep> {
    let mut reached = vec![first];
    let mut steps = Vec::new();
    let mut at = 0;
    while let Some(before) = reached.get(at).cloned() {
        let from = name(&before);
        for (event, on) in events {
            let mut after = before.clone();
            handle(&mut after, *event);
            let to = name(&after);
            if from != to {
                steps.push(RegionStep { region, from, to, on });
            }
            if reached.iter().all(|known| name(known) != to) {
                reached.push(after);
            }
        }
        at += 1;
    }
    steps
}

#[cfg(test)]
mod tests {
    //! The schema describes the regions as they run.

    use super::*;
    use pi_rpc_protocol::BUNDLE;
    use serde_json::Value;
    use std::collections::BTreeSet;

    #[test]
    fn regions_run_as_described() {
        let bundle: Value = serde_json::from_str(BUNDLE).unwrap();
        for base in Base::ALL {
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            let mut described = BTreeSet::new();
            for region in bundle["states"]["regions"].as_array().unwrap().iter().skip(1) {
                for step in region["transitions"].as_array().unwrap() {
                    let ids = step["dialects"].as_array();
                    if ids.is_none_or(|ids| ids.iter().any(|id| id == base.as_str())) {
                        let [from, to, on] = ["from", "to", "on"].map(|key| text(&step[key]));
                        described.insert((text(&region["name"]), from, to, on));
                    }
                }
            }
            let own = |it: RegionStep| (it.region.into(), it.from.into(), it.to.into(), it.on.into());
            let run: BTreeSet<(String, String, String, String)> =
                region_steps(base).into_iter().map(own).collect();
            assert_eq!(run, described, "{base:?}");
        }
    }
}
