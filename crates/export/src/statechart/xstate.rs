//! The chart as the configuration of an XState machine (version 5).

use super::{
    events::frames,
    model::{ChartState, regions},
};
use pi_rpc_protocol::Dialect;
use serde_json::{Map, Value, json};

/// The chart of `dialect` as JSON for `createMachine` of XState 5. No guard, action or context is needed: an event has the name of a
/// kind of frame, as [`event_name`](super::event_name) makes it, and `meta.frames` tells which frame is which event. An event that a
/// state does not list is illegal in it, so that `snapshot.can(event)` says whether a frame may be written now.
///
/// `dialogs_closed` and `shells_ended` are no frames: they stand for the last open dialog and the last running shell command.
///
/// ```
/// use pi_rpc_export::xstate;
/// use pi_rpc_protocol::Dialect;
///
/// let machine = xstate(Dialect::Pi);
/// let idle = &machine["states"]["flow"]["states"]["idle"];
/// assert_eq!(idle["on"]["agent_start"], "#flow.streaming.between");
/// ```
pub fn xstate(dialect: Dialect) -> Value {
    let record = dialect.record();
    let mut states = Map::new();
    for region in regions(dialect.base()) {
        let inner: Map<String, Value> =
            region.states.iter().map(|state| (state.name().to_owned(), node(state))).collect();
        let initial = last(&region.initial);
        states.insert(
            region.name.clone(),
            json!({ "id": region.name, "description": region.description, "initial": initial, "states": inner }),
        );
    }
    json!({
        "id": dialect.as_str(),
        "version": record.version,
        "description": format!("The state of a conversation in {}.", record.title),
        "type": "parallel",
        "states": states,
        "meta": { "frames": frames(dialect.base()) },
    })
}

fn node(state: &ChartState) -> Value {
    let mut node = json!({ "description": state.description });
    if !state.inner.is_empty() {
        let inner: Map<String, Value> =
            state.inner.iter().map(|state| (state.name().to_owned(), self::node(state))).collect();
        node["initial"] = json!(last(&state.initial));
        node["states"] = json!(inner);
    }
    if !state.accepts.is_empty() {
        let on: Map<String, Value> =
            state.accepts.iter().map(|(event, to)| (event.clone(), json!(format!("#{to}")))).collect();
        node["on"] = json!(on);
    }
    node
}

fn last(id: &str) -> &str {
    id.rsplit('.').next().unwrap_or_default()
}
