//! Enumerates all transitions of the flow, and draws the state chart.

use crate::{
    flow::{Flow, State, Verdict},
    kind::Kind,
    region_steps::{RegionStep, region_steps},
};
use pi_rpc_protocol::{Base, Fires, FlowState};
use statig::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fmt::{self, Write as _},
    sync::LazyLock,
};

/// The result of one kind of frame in one state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The state before.
    pub from: FlowState,
    /// The kind of frame.
    pub kind: Kind,
    /// Whether the frame is a violation there.
    pub illegal: bool,
    /// Whether the frame ends a run without closing events.
    pub cut: bool,
    /// The state after; for a violation, the state in which the machine goes on.
    pub to: FlowState,
}

/// Combines every state that legal frames reach, in dialects built on `base`, with every kind; breadth first.
pub fn walk(base: Base) -> Vec<Cell> {
    let mut paths: BTreeMap<FlowState, Vec<Kind>> = BTreeMap::new();
    let mut queue = VecDeque::from([Vec::new()]);
    let mut cells = Vec::new();
    while let Some(path) = queue.pop_front() {
        let from = run(base, &path).0;
        if paths.contains_key(&from) {
            continue;
        }
        for kind in Kind::all() {
            let longer: Vec<Kind> = path.iter().copied().chain([kind]).collect();
            let (to, verdict) = run(base, &longer);
            cells.push(Cell { from, kind, illegal: verdict.illegal, cut: verdict.cut, to });
            if to != from && !verdict.illegal && kind.is_in(base) {
                queue.push_back(longer);
            }
        }
        paths.insert(from, path);
    }
    cells.sort_by_key(|cell| cell.from);
    cells
}

/// All legal transitions between two states of `flow`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The state before.
    pub from: FlowState,
    /// The state after.
    pub to: FlowState,
    /// Whether the frame ends a run without closing events.
    pub cut: bool,
    /// The kinds of frames that cause the transition.
    pub kinds: Vec<Kind>,
    /// The kinds as text.
    pub label: String,
}

/// The transitions between states of `flow`, in dialects built on `base`, in the order of the states.
pub fn arrows(base: Base) -> Vec<Arrow> {
    let mut arrows: Vec<Arrow> = Vec::new();
    for Cell { from, kind, cut, to, .. } in legal(base).into_iter().filter(|cell| cell.from != cell.to) {
        match arrows.iter_mut().find(|arrow| (arrow.from, arrow.to, arrow.cut) == (from, to, cut)) {
            Some(arrow) => arrow.kinds.push(kind),
            None => arrows.push(Arrow { from, to, cut, kinds: vec![kind], label: String::new() }),
        }
    }
    for arrow in &mut arrows {
        arrow.label = label(&arrow.kinds);
    }
    arrows
}

/// The types of events that must precede an event with the row `fires`: without them none of its states is reached, in
/// dialects built on `base`.
pub fn required_events(base: Base, fires: &Fires) -> Vec<&'static str> {
    let never = |(_, reached): &&(&str, BTreeSet<FlowState>)| {
        !fires.states.iter().any(|state| reached.contains(state))
    };
    reached_without(base).iter().filter(never).map(|(name, _)| *name).collect()
}

/// The names of legal frames in dialects built on `base`, each with the states that are reached without it.
fn reached_without(base: Base) -> &'static [(&'static str, BTreeSet<FlowState>)] {
    type Row = (Base, Vec<(&'static str, BTreeSet<FlowState>)>);
    static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
        let row = |base| {
            let cells = legal(base);
            let mut names: Vec<&str> = Vec::new();
            for name in cells.iter().filter_map(|cell| cell.kind.name()) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            let without = |name| reached(cells.iter().filter(|cell| cell.kind.name() != Some(name)));
            (base, names.into_iter().map(|name| (name, without(name))).collect())
        };
        Base::ALL.into_iter().map(row).collect()
    });
    ROWS.iter().find(|(of, _)| *of == base).map_or(&[], |(_, row)| row)
}

/// The legal transitions in dialects built on `base`.
fn legal(base: Base) -> Vec<Cell> {
    static WALKED: LazyLock<Vec<(Base, Cell)>> = LazyLock::new(|| {
        Base::ALL.into_iter().flat_map(|base| walk(base).into_iter().map(move |cell| (base, cell))).collect()
    });
    let is_legal = |(of, cell): &&(Base, Cell)| *of == base && !cell.illegal && cell.kind.is_in(base);
    WALKED.iter().filter(is_legal).map(|(_, cell)| cell.clone()).collect()
}

/// The states that are reached from the first by these transitions.
fn reached<'a>(cells: impl Iterator<Item = &'a Cell> + Clone) -> BTreeSet<FlowState> {
    let mut reached = BTreeSet::from([FlowState::Idle]);
    loop {
        let known = reached.len();
        let further: Vec<FlowState> =
            cells.clone().filter(|cell| reached.contains(&cell.from)).map(|cell| cell.to).collect();
        reached.extend(further);
        if reached.len() == known {
            return reached;
        }
    }
}

/// The superstates of `state`, innermost first.
pub fn superstates(state: FlowState) -> Vec<&'static str> {
    State::of(state).superstates()
}

/// The state after `path`, and the verdict on its last frame.
fn run(base: Base, path: &[Kind]) -> (FlowState, Verdict) {
    let mut flow = Flow::new(base).state_machine();
    let mut verdict = Verdict::default();
    for kind in path {
        verdict = Verdict::default();
        flow.handle_with_context(kind, &mut verdict);
    }
    (flow.state().name(), verdict)
}

/// The initial state of a superstate, and the name of the superstate.
const OPENS_WITH: (FlowState, &str) = (FlowState::StreamingBetween, "streaming");

/// Draws the chart of dialects built on `base` as a Mermaid state diagram: the four regions, and the flow with the frames
/// of each state. Frames that are legal in every state, or in none, are left out.
pub fn chart(base: Base) -> String {
    let mut out = String::from("stateDiagram-v2\n  state session {\n    %% flow\n");
    flow(base, &mut out);
    for steps in region_steps(base).chunk_by(|one, other| one.region == other.region) {
        let (name, initial) = (steps[0].region, steps[0].from);
        let _ = writeln!(out, "    --\n    %% {name}\n    [*] --> {name}_{initial}");
        for RegionStep { region, from, to, on } in steps {
            let _ = writeln!(out, "    {region}_{from} --> {region}_{to}: {on}");
        }
    }
    out.push_str("  }\n");
    out
}

fn flow(base: Base, out: &mut String) {
    let (inside, outside): (Vec<Edge>, Vec<Edge>) = edges(base).into_iter().partition(|edge| edge.inside);
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

/// One arrow of the chart. `[*]` is the exit of a superstate; an arrow from a state to itself has the frames that do not
/// change the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Whether the arrow is within the superstate.
    pub inside: bool,
    /// The state before, without the superstate's name.
    pub from: &'static str,
    /// The state after, without the superstate's name.
    pub to: &'static str,
    /// Whether the frame ends a run without closing events.
    pub cut: bool,
    /// The kinds of frames on the arrow.
    pub kinds: Vec<Kind>,
}

impl Edge {
    /// The kinds of frames as text.
    pub fn label(&self) -> String {
        label(&self.kinds)
    }
}

/// The arrows of the chart of dialects built on `base`, in the order of the states. Transitions into or out of a superstate
/// end at its border.
pub fn edges(base: Base) -> Vec<Edge> {
    let mut edges: Vec<Edge> = Vec::new();
    let mut add = |inside, from, to, cut, kind| {
        let same = |edge: &&mut Edge| (edge.inside, edge.from, edge.to, edge.cut) == (inside, from, to, cut);
        match edges.iter_mut().find(same) {
            Some(edge) if edge.kinds.contains(&kind) => {}
            Some(edge) => edge.kinds.push(kind),
            None => edges.push(Edge { inside, from, to, cut, kinds: vec![kind] }),
        }
    };
    let cells = legal(base);
    let states = FlowState::ALL.into_iter().filter(|state| state.is_in(base)).count();
    let stays = |kind: Kind| cells.iter().filter(|cell| cell.kind == kind && cell.from == cell.to).count();
    let is_quiet = |kind: Kind| matches!(kind, Kind::Response(..)) || stays(kind) == states;
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
        write!(f, "{} --> {}: {cut}{}", self.from, self.to, self.label())
    }
}

fn is_inner(state: FlowState) -> bool {
    superstates(state).contains(&OPENS_WITH.1)
}

fn leaf(state: FlowState) -> &'static str {
    let name = state.as_str();
    name.split_once('.').map_or(name, |(_, leaf)| leaf)
}

/// The text of some kinds, grouped by type: `message_start(custom)`, `message_start(not assistant)` if most of a type are
/// among them, the bare type if all are.
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

/// Groups kinds by type, with their refinements. Stop reasons of assistant messages are ignored.
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
