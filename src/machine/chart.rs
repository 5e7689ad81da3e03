//! The walk over every state and kind, and the chart that is made from it.

use super::{
    Kind,
    flow::{Flow, State, Verdict},
};
use crate::protocol::FlowState;
use statig::prelude::*;
use std::{
    collections::{BTreeMap, VecDeque},
    fmt::{self, Write as _},
};

/// What one kind does in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The state that it meets.
    pub from: FlowState,
    /// The frame.
    pub kind: Kind,
    /// It may not be said there.
    pub illegal: bool,
    /// It ends a run without closing events.
    pub cut: bool,
    /// The state after it. Of a frame that may not be said: where the machine goes on.
    pub to: FlowState,
}

/// Every state that legal frames reach, with every kind: breadth first from the start.
pub fn walk() -> Vec<Cell> {
    let mut paths: BTreeMap<FlowState, Vec<Kind>> = BTreeMap::new();
    let mut queue = VecDeque::from([Vec::new()]);
    let mut cells = Vec::new();
    while let Some(path) = queue.pop_front() {
        let from = run(&path).0;
        if paths.contains_key(&from) {
            continue;
        }
        for kind in Kind::all() {
            let longer: Vec<Kind> = path.iter().copied().chain([kind]).collect();
            let (to, verdict) = run(&longer);
            cells.push(Cell { from, kind, illegal: verdict.illegal, cut: verdict.cut, to });
            if to != from && !verdict.illegal {
                queue.push_back(longer);
            }
        }
        paths.insert(from, path);
    }
    cells.sort_by_key(|cell| cell.from);
    cells
}

/// The states around `state`, innermost first.
pub fn around(state: FlowState) -> Vec<&'static str> {
    State::of(state).around()
}

/// The state after `path`, and the verdict on its last frame.
fn run(path: &[Kind]) -> (FlowState, Verdict) {
    let mut flow = Flow.state_machine();
    let mut verdict = Verdict::default();
    for kind in path {
        verdict = Verdict::default();
        flow.handle_with_context(kind, &mut verdict);
    }
    (flow.state().name(), verdict)
}

/// The states that a superstate opens with, and the superstate.
const OPENS_WITH: (FlowState, &str) = (FlowState::StreamingBetween, "streaming");

/// The chart as a Mermaid state diagram: the four regions side by side, the flow with what is said in each state.
/// Left out are the frames that every state allows, and those that none does.
pub fn chart() -> String {
    let mut out = String::from("stateDiagram-v2\n  state session {\n    %% flow\n");
    flow(&mut out);
    for (region, first, second, there, back) in [
        ("asks", "no_dialog", "awaiting_ui", "extension_ui_request of a dialog", "answer, deadline or abort"),
        ("shell", "no_bash", "bash", "command(bash)", "response(bash)"),
        ("input", "open", "closing", "end of input or shutdown", ""),
    ] {
        let _ =
            write!(out, "    --\n    %% {region}\n    [*] --> {first}\n    {first} --> {second}: {there}\n");
        if !back.is_empty() {
            let _ = writeln!(out, "    {second} --> {first}: {back}");
        }
    }
    out.push_str("  }\n");
    out
}

fn flow(out: &mut String) {
    let (inside, outside): (Vec<Edge>, Vec<Edge>) = edges().into_iter().partition(|edge| edge.inside);
    let (opening, superstate) = (leaf(OPENS_WITH.0), OPENS_WITH.1);
    out.push_str("    [*] --> idle\n");
    let _ = writeln!(out, "    state {superstate} {{\n      [*] --> {opening}");
    for edge in inside {
        let _ = writeln!(out, "      {edge}");
    }
    out.push_str("    }\n");
    for edge in outside {
        let _ = writeln!(out, "    {edge}");
    }
}

/// One arrow of the chart.
#[derive(Debug, PartialEq)]
struct Edge {
    /// Within the superstate.
    inside: bool,
    from: &'static str,
    to: &'static str,
    /// It ends a run without closing events.
    cut: bool,
    kinds: Vec<Kind>,
}

/// The arrows, in the order of the states. What goes into or out of a superstate is drawn at its border.
fn edges() -> Vec<Edge> {
    let mut edges: Vec<Edge> = Vec::new();
    let mut add = |inside, from, to, cut, kind| {
        let same = |edge: &&mut Edge| (edge.inside, edge.from, edge.to, edge.cut) == (inside, from, to, cut);
        match edges.iter_mut().find(same) {
            Some(edge) if edge.kinds.contains(&kind) => {}
            Some(edge) => edge.kinds.push(kind),
            None => edges.push(Edge { inside, from, to, cut, kinds: vec![kind] }),
        }
    };
    let cells: Vec<Cell> = walk().into_iter().filter(|cell| !cell.illegal).collect();
    let stays = |kind: Kind| cells.iter().filter(|cell| cell.kind == kind && cell.from == cell.to).count();
    let is_quiet = |kind: Kind| matches!(kind, Kind::Response(..)) || stays(kind) == FlowState::ALL.len();
    for Cell { from, kind, cut, to, .. } in cells.iter().cloned() {
        match (is_inner(from), is_inner(to)) {
            _ if from == to && is_quiet(kind) => {}
            (false, true) => add(false, leaf(from), OPENS_WITH.1, cut, kind),
            (true, false) => {
                add(false, OPENS_WITH.1, leaf(to), cut, kind);
                if !cut {
                    add(true, leaf(from), "[*]", cut, kind);
                }
            }
            (inside, _) => add(inside, leaf(from), leaf(to), cut, kind),
        }
    }
    edges
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = if self.cut { "cut by " } else { "" };
        write!(f, "{} --> {}: {cut}{}", self.from, self.to, label(&self.kinds))
    }
}

fn is_inner(state: FlowState) -> bool {
    around(state).contains(&OPENS_WITH.1)
}

fn leaf(state: FlowState) -> &'static str {
    let name = state.as_str();
    name.split_once('.').map_or(name, |(_, leaf)| leaf)
}

/// The kinds, those of one type together: `message_start(custom)`, `message_start(not assistant)` where most fit, the
/// bare type where all do.
fn label(kinds: &[Kind]) -> String {
    let all = types(&Kind::all());
    let label = |(of, details): (String, Vec<String>)| {
        let known = all.iter().find(|(known, _)| *known == of).map_or(&[][..], |(_, details)| details);
        let missing: Vec<&str> = known.iter().filter(|d| !details.contains(d)).map(String::as_str).collect();
        match (missing.len(), missing.len() < details.len()) {
            (0, _) => of,
            (_, true) => format!("{of}(not {})", missing.join(" or ")),
            (_, false) => format!("{of}({})", details.join(" or ")),
        }
    };
    types(kinds).into_iter().map(label).collect::<Vec<_>>().join(", ")
}

/// The kinds by type, with what each adds in parentheses; why an assistant message ended counts for nothing here.
fn types(kinds: &[Kind]) -> Vec<(String, Vec<String>)> {
    let mut types: Vec<(String, Vec<String>)> = Vec::new();
    for kind in kinds {
        let name = match kind {
            Kind::AssistantEnd(_) => "message_end(assistant)".to_owned(),
            kind => kind.to_string(),
        };
        let (of, detail) = name.strip_suffix(')').and_then(|n| n.split_once('(')).unwrap_or((&name, ""));
        let at = types.iter().position(|(known, _)| known == of).unwrap_or_else(|| {
            types.push((of.to_owned(), Vec::new()));
            types.len() - 1
        });
        if !types[at].1.iter().any(|known| known == detail) {
            types[at].1.push(detail.to_owned());
        }
    }
    types
}
