//! The chart as states that list the events which they accept, without a word of any language.

use super::events::{command_events, dialog_events, event_name, kinds};
use pi_rpc_machine::{Kind, walk};
use pi_rpc_protocol::{BUNDLE, Base, Case, Disposition, FlowState, RpcCommandKind};
use serde_json::Value;

/// A region, of which one state is active at any time.
pub struct Region {
    /// Name, and prefix of the ids of its states.
    pub name: String,
    pub description: String,
    /// Full id of the initial state.
    pub initial: String,
    pub states: Vec<ChartState>,
}

/// A state of a region, with its states inside if it has any.
pub struct ChartState {
    /// Full id, such as `flow.streaming.turn`.
    pub id: String,
    pub description: String,
    /// Full id of the initial state inside; empty for a leaf.
    pub initial: String,
    /// The events that it accepts, each with the full id of the state that follows.
    pub accepts: Vec<(String, String)>,
    pub inner: Vec<Self>,
}

impl ChartState {
    /// Last part of the id.
    pub fn name(&self) -> &str {
        self.id.rsplit('.').next().unwrap_or_default()
    }
}

/// The region of the agent's activity.
const FLOW: &str = "flow";

/// The regions of dialects built on `base`.
pub fn regions(base: Base) -> Vec<Region> {
    let bundle: Value = serde_json::from_str(BUNDLE).unwrap_or_default();
    let regions = bundle["states"]["regions"].as_array().into_iter().flatten();
    regions.map(|about| region(about, base)).collect()
}

fn region(about: &Value, base: Base) -> Region {
    let name = text(&about["name"]);
    let is_flow = name == FLOW;
    let states: Vec<&Value> = about["states"].as_array().into_iter().flatten().collect();
    let accepts = |state: &str| match is_flow {
        true => flow_events(state, base),
        false => region_events(about, state, base),
    };
    let chart_state = |about: &Value| {
        let state = text(&about["name"]);
        let initial = about["initial"].as_str().map_or_else(String::new, |it| format!("{name}.{state}.{it}"));
        let is_leaf = initial.is_empty();
        ChartState {
            id: format!("{name}.{state}"),
            description: text(&about["description"]),
            initial,
            accepts: if is_leaf { accepts(&state) } else { Vec::new() },
            inner: Vec::new(),
        }
    };
    let exists = |state: &&&Value| {
        let flow = FlowState::ALL.into_iter().find(|flow| state["name"] == flow.as_str());
        !is_flow || flow.is_none_or(|flow| flow.is_in(base))
    };
    let (inner, outer): (Vec<&Value>, Vec<&Value>) =
        states.iter().filter(exists).copied().partition(|state| state["parent"].is_string());
    let mut outer: Vec<ChartState> = outer.into_iter().map(&chart_state).collect();
    for about in inner {
        let parent = format!("{name}.{}", text(&about["parent"]));
        if let Some(parent) = outer.iter_mut().find(|state| state.id == parent) {
            parent.inner.push(chart_state(about));
        }
    }
    let initial = format!("{name}.{}", text(&about["initial"]));
    Region { description: text(&about["description"]), initial, states: outer, name }
}

/// What a state of the flow accepts: the legal frames of the walk, and the commands that it does not reject.
fn flow_events(state: &str, base: Base) -> Vec<(String, String)> {
    let id = |flow: FlowState| format!("{FLOW}.{}", flow.as_str());
    let Some(flow) = FlowState::ALL.into_iter().find(|flow| flow.as_str() == state) else {
        return Vec::new();
    };
    let commands = RpcCommandKind::ALL.into_iter().filter(|command| command.is_in(base));
    let accepted = commands.flat_map(|command| command_events(command, base)).filter(|event| {
        let choice =
            |field: &str| event.member.filter(|(member, _)| *member == field).map(|(_, value)| value);
        let case = Case::first(event.command.cases(flow), base, choice);
        case.is_some_and(|case| case.disposition != Disposition::Reject)
    });
    let mut accepts: Vec<(String, String)> = accepted.map(|event| (event.name(), id(flow))).collect();
    let kinds = kinds(base);
    let cells = walk(base).into_iter().filter(|cell| cell.from == flow && !cell.illegal);
    let legal = cells.filter(|cell| kinds.contains(&cell.kind));
    accepts.extend(legal.map(|cell| (event_name(cell.kind), id(cell.to))));
    accepts
}

/// What a state of another region accepts. A state that stands for one or more (dialogs, shell commands) stays in what leads to it,
/// and is left by an event that stands for the last of them.
fn region_events(region: &Value, state: &str, base: Base) -> Vec<(String, String)> {
    let name = text(&region["name"]);
    let applies = |step: &&Value| {
        step["dialects"].as_array().is_none_or(|ids| ids.iter().any(|id| id == base.as_str()))
    };
    let steps: Vec<&Value> = region["transitions"].as_array().into_iter().flatten().filter(applies).collect();
    let is_counted = steps.iter().any(|it| it["last"].is_string());
    let mut accepts = Vec::new();
    for step in steps {
        let stays = is_counted && step["last"].is_null() && step["to"] == state;
        if step["from"] == state || stays {
            let to = format!("{name}.{}", text(&step["to"]));
            accepts.extend(step_events(step, base).into_iter().map(|event| (event, to.clone())));
        }
    }
    accepts
}

/// The events of a transition in `states.json`.
fn step_events(step: &Value, base: Base) -> Vec<String> {
    if let Some(last) = step["last"].as_str() {
        return vec![last.to_owned()];
    }
    if let Some(unannounced) = step["step"].as_str() {
        return vec![format!("step.{unannounced}")];
    }
    let frames = step["frames"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let events = |frame: &str| match (frame, RpcCommandKind::parse(frame)) {
        (_, Some(command)) => command_events(command, base).into_iter().map(|event| event.name()).collect(),
        ("extension_ui_request", None) => dialog_events(base),
        (frame, None) => {
            kinds(base).into_iter().filter(|kind| is_named(*kind, frame)).map(event_name).collect()
        }
    };
    frames.flat_map(events).collect()
}

fn is_named(kind: Kind, frame: &str) -> bool {
    kind.to_string() == frame || kind.name() == Some(frame)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
