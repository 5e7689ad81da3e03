//! The walk over every state and kind, and the chart that is made from it.

use super::{
    Kind,
    flow::{Flow, Verdict},
};
use crate::protocol::FlowState;
use statig::prelude::*;
use std::{collections::BTreeMap, fmt::Write as _};

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
    /// The state after it.
    pub to: FlowState,
}

/// Every state that can be reached, with every kind: breadth first from the start.
pub fn walk() -> Vec<Cell> {
    let mut paths: BTreeMap<FlowState, Vec<Kind>> = BTreeMap::new();
    let mut queue = vec![Vec::new()];
    let mut cells = Vec::new();
    while let Some(path) = queue.pop() {
        let from = run(&path).0;
        if paths.contains_key(&from) {
            continue;
        }
        paths.insert(from, path.clone());
        for kind in Kind::all() {
            let longer: Vec<Kind> = path.iter().copied().chain([kind]).collect();
            let (to, verdict) = run(&longer);
            cells.push(Cell { from, kind, illegal: verdict.illegal, cut: verdict.cut, to });
            if to != from {
                queue.push(longer);
            }
        }
    }
    cells.sort_by_key(|cell| cell.from);
    cells
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

/// The chart as a Mermaid state diagram: the flow with its transitions, the other regions beside it.
pub fn chart() -> String {
    let mut edges: BTreeMap<(FlowState, FlowState), Vec<Kind>> = BTreeMap::new();
    for cell in walk().into_iter().filter(|cell| cell.from != cell.to) {
        edges.entry((cell.from, cell.to)).or_default().push(cell.kind);
    }
    let mut out = String::from(
        "stateDiagram-v2\n  state flow {\n    [*] --> idle\n    state streaming {\n      [*] --> between\n",
    );
    let inside = |state: FlowState| !state.parent().is_empty();
    for nested in [true, false] {
        for ((from, to), kinds) in
            edges.iter().filter(|((from, to), _)| (inside(*from) && inside(*to)) == nested)
        {
            let indent = if nested { "      " } else { "    " };
            let _ = writeln!(out, "{indent}{} --> {}: {}", leaf(*from), leaf(*to), label(kinds));
        }
        if nested {
            out.push_str("    }\n");
        }
    }
    out.push_str("  }\n");
    for (region, first, second, there, back) in [
        ("asks", "none", "awaiting_ui", "dialog", "answer, deadline or abort"),
        ("shell", "no_bash", "bash", "command(bash)", "response(bash)"),
        ("input", "open", "closing", "end of input", ""),
    ] {
        let _ = write!(out, "  state {region} {{\n    [*] --> {first}\n    {first} --> {second}: {there}\n");
        if !back.is_empty() {
            let _ = writeln!(out, "    {second} --> {first}: {back}");
        }
        out.push_str("  }\n");
    }
    out
}

fn leaf(state: FlowState) -> &'static str {
    let name = state.as_str();
    name.split_once('.').map_or(name, |(_, leaf)| leaf)
}

fn label(kinds: &[Kind]) -> String {
    let mut names: Vec<String> = kinds.iter().map(Kind::to_string).collect();
    let ends = names.iter().filter(|n| n.starts_with("message_end(assistant")).count();
    if ends > 1 {
        names.retain(|n| !n.starts_with("message_end(assistant"));
        names.push("message_end(assistant)".to_owned());
    }
    names.join(" | ")
}
