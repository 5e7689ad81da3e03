//! Draws the state chart: the flow above, the other regions below.

use super::{
    inline::text,
    schema_index::SchemaIndex,
    shapes::{Point, Side, arrow, dot, label_lines, lines, rotated_label, side_label, state_box},
};
use maud::{Markup, html};
use pi_rpc_machine::{Edge, edges};
use pi_rpc_protocol::Dialect;
use serde_json::Value;

/// The outer states: left one, superstate on the right, and the states between from top to bottom, as far as the dialect has
/// them. A test compares the drawn states with the machine's.
const OUTER: (&str, &str, [&str; 6]) = (
    "idle",
    "streaming",
    ["retrying", "settling", "starting", "compacting", "compacting_before_prompt", "compacting_manual"],
);

/// The inner states of the superstate, from top to bottom.
const INNER: [&str; 5] = ["between", "turn", "message", "tools", "compacting"];

/// Left edge and width of the first column.
const LEFT: (i32, i32) = (20, 160);
/// Left edge and width of the second column.
const MIDDLE: (i32, i32) = (400, 208);
/// Width of the third column.
const RIGHT: i32 = 254;
/// Width of the inner states.
const INSIDE: i32 = 228;
/// Distance from the second column to the arrows beside it.
const ASIDE: i32 = 120;
/// Distance from the arrows beside the second column to the third column.
const LABELS: i32 = 220;
/// Width that each arrow past inner states adds to the third column.
const PAST: i32 = 36;
/// Height of an arrow with its label.
const LANE: i32 = 50;
/// Vertical distance of two boxes.
const GAP: i32 = 44;
/// Top edge of the flow.
const TOP: i32 = 44;

/// The colours of a drawing that stands alone.
const COLOURS: &str = "
svg { --card: #f1f2ee; --text: #1d2024; --faint: #5b6169; --line: #d9dbd5; --strong: #8a9099; --box: #ffffff; --mono: monospace; }
@media (prefers-color-scheme: dark) {
  svg { --card: #1e2125; --text: #e4e6e9; --faint: #a0a7b0; --line: #343940; --strong: #7d858f; --box: #23272c; }
}
";

/// It is as wide as whatever shows it.
const SIZE: &str = "svg.chart { min-width: 0; max-width: none; }\n";

/// The chart of the base of `dialect` as an SVG file.
pub fn chart_drawing(dialect: Dialect) -> String {
    let index = SchemaIndex::new(dialect);
    let base = index.bases.iter().copied().find(|base| base.base() == dialect.base()).unwrap_or(dialect);
    let drawn = chart(&index, base).into_string();
    let style = format!("<style>{COLOURS}{}{SIZE}</style><defs>", include_str!("chart.css"));
    let drawn = drawn.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1);
    drawn.replacen("<defs>", &style, 1).replace("; the same as a list is below", "")
}

/// The chart of a base dialect.
pub(super) fn chart(index: &SchemaIndex, base: Dialect) -> Markup {
    let flow = Flow::of(base);
    let width = flow.third_column() + flow.right() + 20;
    let (flow, height) = flow.drawn(base.as_str());
    let regions = index.part("states")["regions"].as_array().map_or(&[][..], Vec::as_slice);
    let (first, beside) =
        regions.split_first().map_or((&Value::Null, regions), |(first, rest)| (first, rest));
    let beside: Vec<Beside> = beside.iter().map(|region| Beside::of(index, region, base)).collect();
    // Small regions are side by side, each of the others has a row of its own.
    let (small, large): (Vec<&Beside>, Vec<&Beside>) = beside.iter().partition(|region| region.is_small());
    let spare = (width - small.iter().map(|region| region.width()).sum::<i32>()) / count(&small).max(1);
    let (mut left, mut total) = (0, height);
    let mut below = Vec::new();
    for region in &small {
        let divide = if left > 0 { format!("M{left},{height} V{}", height + ROW) } else { String::new() };
        below.push((divide, region.drawn(left, region.width() + spare, height, base.as_str())));
        left += region.width() + spare;
    }
    total += if small.is_empty() { 0 } else { ROW };
    for region in large {
        below.push((format!("M1,{total} H{}", width - 1), region.drawn(0, width, total, base.as_str())));
        total += ROW + count(&region.lanes()) * LINE_BELOW;
    }
    html! {
        svg.chart viewBox={ "0 0 " (width) " " (total) } role="img" aria-label={ "The states of " (base.as_str()) ", drawn; the same as a list is below." } {
            defs {
                marker id={ "head-" (base.as_str()) } viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto" {
                    path.head d="M0,0 L8,4 L0,8 z" {}
                }
            }
            rect.whole x="1" y="1" width=(width - 2) height=(total - 2) rx="10" {}
            g data-region=(text(&first["name"])) {
                text.region x="14" y="24" { (text(&first["name"])) }
                (flow)
            }
            path.divide d={ "M1," (height) " H" (width - 1) } {}
            @for (divide, region) in &below {
                @if !divide.is_empty() { path.divide d=(divide) {} }
                (region)
            }
        }
    }
}

/// The width of a state in a region beside the flow, and the longest line of a label there, in characters.
const STATE: i32 = 104;
const LABEL: usize = 20;

/// The height of a row of regions besides the flow.
const ROW: i32 = 156;

/// The height of the line of transitions that lead past other states.
const LINE_BELOW: i32 = 24;

fn count<T>(list: &[T]) -> i32 {
    i32::try_from(list.len()).unwrap_or(1)
}

/// A region besides the flow, its states side by side.
struct Beside<'a> {
    region: &'a Value,
    states: &'a [Value],
    steps: Vec<&'a Value>,
}

impl<'a> Beside<'a> {
    fn of(index: &SchemaIndex, region: &'a Value, base: Dialect) -> Self {
        let steps = region["transitions"].as_array().into_iter().flatten();
        let steps = steps.filter(|step| index.bases_in(step, "dialects").contains(&base));
        let states = region["states"].as_array().map_or(&[][..], Vec::as_slice);
        Self { region, states, steps: steps.collect() }
    }

    fn place(&self, name: &Value) -> usize {
        self.states.iter().position(|state| state["name"] == *name).unwrap_or(0)
    }

    /// Whether all transitions are drawn between neighbours, with their labels there.
    fn is_small(&self) -> bool {
        self.states.len() <= 2
    }

    /// The lines of a larger region below its states: each has the transitions with one cause to one state.
    fn lanes(&self) -> Vec<(&'a str, &'a str)> {
        let mut lanes = Vec::new();
        for step in self.steps.iter().filter(|_| !self.is_small()) {
            let lane = (text(&step["on"]), text(&step["to"]));
            if !lanes.contains(&lane) {
                lanes.push(lane);
            }
        }
        lanes
    }

    fn width(&self) -> i32 {
        let longest =
            self.steps.iter().flat_map(|step| lines(text(&step["on"]), LABEL)).map(|line| line.len());
        let longest = longest.max().filter(|_| self.is_small()).unwrap_or(4);
        44 + count(self.states) * STATE
            + (count(self.states) - 1) * (i32::try_from(longest).unwrap_or(0) * 13 / 2 + 8)
    }

    fn drawn(&self, left: i32, width: i32, top: i32, chart: &str) -> Markup {
        let step = (width - 44 - STATE) / (count(self.states) - 1).max(1);
        let place = |name: &Value| left + 30 + i32::try_from(self.place(name)).unwrap_or(0) * step;
        let (above, below) = (top + 76, top + 106);
        let lanes = self.lanes();
        html! {
            g data-region=(text(&self.region["name"])) {
                text.region x=(left + 14) y=(top + 22) { (text(&self.region["name"])) }
                (dot(Point(left + 10, above)))
                (arrow(chart, &[Point(left + 14, above), Point(left + 30, above)], false))
                @for state in self.states { (state_box(Point(place(&state["name"]), top + 60), (STATE, 62), text(&state["name"]), text(&state["name"]), &[])) }
                @for (at, step) in self.steps.iter().enumerate() {
                    @let (from, to) = (place(&step["from"]), place(&step["to"]));
                    g.edge data-from=(text(&step["from"])) data-to=(text(&step["to"])) {
                        @if !self.is_small() {
                            @let lane = (text(&step["on"]), text(&step["to"]));
                            @let row = lanes.iter().position(|it| *it == lane).unwrap_or(0);
                            @let shift = i32::try_from(row).unwrap_or(0);
                            @let (line, end) = (top + 122 + (shift + 1) * LINE_BELOW, to + 14 + shift * 14);
                            @let start = from + STATE - 8 - shift * 8;
                            (arrow(chart, &[Point(start, top + 122), Point(start, line), Point(end, line), Point(end, top + 122)], false))
                            @let is_first = !self.steps[..at].iter().any(|other| (text(&other["on"]), text(&other["to"])) == lane);
                            g visibility=[(!is_first).then_some("hidden")] {
                                (label_lines(&[lane.0.to_owned()], Point((start + end) / 2, line), Side::Above))
                            }
                        } @else if from < to {
                            (arrow(chart, &[Point(from + STATE, above), Point(to, above)], false))
                            (label_lines(&lines(text(&step["on"]), LABEL), Point((from + STATE + to) / 2, above), Side::Above))
                        } @else {
                            (arrow(chart, &[Point(from, below), Point(to + STATE, below)], false))
                            (label_lines(&lines(text(&step["on"]), LABEL), Point((from + to + STATE) / 2, below), Side::Below))
                        }
                    }
                }
            }
        }
    }
}

/// The region of the flow: transitions, middle states and inner states.
struct Flow {
    edges: Vec<Edge>,
    between: Vec<&'static str>,
    inner: Vec<&'static str>,
}

impl Flow {
    fn of(base: Dialect) -> Self {
        let edges = edges(base.base());
        let is_there =
            |name: &&str, inside| edges.iter().any(|edge| edge.inside == inside && edge.from == *name);
        let between = OUTER.2.into_iter().filter(|name| is_there(name, false)).collect();
        let inner = INNER.into_iter().filter(|name| is_there(name, true)).collect();
        Self { edges, between, inner }
    }

    /// The arrows between the outermost states that lead past others of the second column.
    fn passing(&self) -> Vec<&Edge> {
        let place = |name: &str| self.between.iter().position(|state| *state == name);
        let is_passing = |edge: &&Edge| match (place(edge.from), place(edge.to)) {
            (Some(from), Some(to)) => from.abs_diff(to) > 1,
            _ => false,
        };
        self.edges.iter().filter(|edge| !edge.inside).filter(is_passing).collect()
    }

    /// Right edge of the arrows past states of the second column, where labels of arrows to the third begin.
    fn beside_middle(&self) -> i32 {
        MIDDLE.0 + MIDDLE.1 + ASIDE + PAST * count(&self.passing())
    }

    /// The left edge of the third column.
    fn third_column(&self) -> i32 {
        self.beside_middle() + LABELS
    }

    /// The width of the third column.
    fn right(&self) -> i32 {
        RIGHT + PAST * count(&self.past())
    }

    /// The inner arrows that lead past other states.
    fn past(&self) -> Vec<&Edge> {
        let place = |name: &str| self.inner.iter().position(|state| *state == name);
        let is_past = |edge: &&Edge| match (place(edge.from), place(edge.to)) {
            (Some(from), Some(to)) => from != to && to != from + 1,
            _ => false,
        };
        self.edges.iter().filter(|edge| edge.inside).filter(is_past).collect()
    }

    /// Draws the flow; returns the drawing and its bottom edge.
    fn drawn(&self, chart: &str) -> (Markup, i32) {
        let ((first, last, _), between) = (OUTER, &self.between);
        let is_apart = |at: &usize| match (between.get(*at), between.get(at + 1)) {
            (Some(one), Some(other)) => self.lanes(one, other).is_empty(),
            _ => false,
        };
        // Arrows past these states go between two that no arrow connects, or below all.
        let apart = (0..between.len()).rev().find(is_apart).unwrap_or(between.len().saturating_sub(1));
        let third = self.third_column();
        let mut drawn = Vec::new();
        let mut places = Vec::new();
        let mut y = TOP;
        for (at, state) in between.iter().enumerate() {
            let (left, right) = (self.lanes(first, state), self.lanes(state, last));
            let frame_lines = self.frame_lines(state, 25, false);
            let lanes = i32::try_from(left.len().max(right.len())).unwrap_or(1);
            let height = (lanes * LANE).max(34 + 14 * i32::try_from(frame_lines.len()).unwrap_or(0));
            places.push((*state, y, y + height));
            drawn.push(state_box(Point(MIDDLE.0, y), (MIDDLE.1, height), state, state, &frame_lines));
            drawn.push(across(chart, &left, first, (LEFT.0 + LEFT.1, MIDDLE.0), LEFT.0 + LEFT.1, y));
            drawn.push(across(chart, &right, state, (MIDDLE.0 + MIDDLE.1, third), self.beside_middle(), y));
            if let Some(next) = between.get(at + 1) {
                let beside = self.lanes(state, next);
                let is_alone = beside.len() == 1;
                drawn.extend(beside.into_iter().map(|edge| {
                    let (above, below) = (y + height, y + height + GAP);
                    let is_down = edge.from == *state;
                    let ends = if is_down { (above, below) } else { (below, above) };
                    // Two arrows: the one that leads up has its label on the other side.
                    match (is_alone, is_down) {
                        (true, _) => down(chart, edge, MIDDLE.0 + MIDDLE.1 / 2, ends),
                        (false, true) => down(chart, edge, MIDDLE.0 + MIDDLE.1 / 2 + 12, ends),
                        (false, false) => up(chart, edge, MIDDLE.0 + MIDDLE.1 / 2 - 12, ends),
                    }
                }));
            }
            y += height + GAP;
            if at == apart {
                let through = self.lanes(first, last);
                let ends = (LEFT.0 + LEFT.1, third);
                drawn.push(across(chart, &through, first, ends, LEFT.0 + LEFT.1, y - GAP / 2));
                y += LANE * i32::try_from(through.len()).unwrap_or(0);
            }
        }
        for (edge, lane) in self.passing().into_iter().zip(0..) {
            drawn.push(passing(chart, edge, &places, lane));
        }
        let (inner, bottom) = self.inner(chart, last);
        let bottom = bottom.max(if apart + 1 < between.len() { y - GAP } else { y - GAP / 2 });
        let flow = html! {
            (state_box(Point(LEFT.0, TOP), (LEFT.1, bottom - TOP), first, first, &self.frame_lines(first, 23, false)))
            (dot(Point(LEFT.0 + 80, TOP - 16)))
            (arrow(chart, &[Point(LEFT.0 + 80, TOP - 12), Point(LEFT.0 + 80, TOP)], false))
            (state_box(Point(third, TOP), (self.right(), bottom - TOP), last, last, &[]))
            (inner)
            @for part in &drawn { (part) }
        };
        (flow, bottom + 20)
    }

    /// Draws the inner states; returns the drawing and its bottom edge.
    fn inner(&self, chart: &str, around: &str) -> (Markup, i32) {
        let (x, wide) = (self.third_column() + 16, INSIDE);
        let mut drawn = Vec::new();
        let mut places = Vec::new();
        let mut y = TOP + 78;
        for state in &self.inner {
            let frame_lines = self.frame_lines(state, 36, true);
            let height = 30 + 14 * i32::try_from(frame_lines.len()).unwrap_or(0);
            drawn.push(state_box(
                Point(x, y),
                (wide, height),
                &format!("{around}.{state}"),
                state,
                &frame_lines,
            ));
            places.push((*state, y, y + height));
            y += height + GAP - 6;
        }
        let past = self.past();
        let place = |name: &str| places.iter().position(|(state, ..)| *state == name);
        for edge in self.edges.iter().filter(|edge| edge.inside && edge.from != edge.to) {
            let Some((from, (_, top, bottom))) = place(edge.from).and_then(|at| Some((at, places.get(at)?)))
            else {
                continue;
            };
            match place(edge.to).and_then(|at| Some((at, places.get(at)?))) {
                None => drawn.push(html! {
                    (down(chart, edge, x + wide - 90, (*top, TOP + 46)))
                    circle.end cx=(x + wide - 90) cy=(TOP + 38) r="7" {}
                    (dot(Point(x + wide - 90, TOP + 38)))
                }),
                Some((to, (_, below, _))) if to == from + 1 => {
                    drawn.push(down(chart, edge, x + 40, (*bottom, *below)));
                }
                Some((_, (_, other, under))) => {
                    let at = past.iter().position(|known| *known == edge);
                    let lane = at.and_then(|at| i32::try_from(at).ok()).unwrap_or(0);
                    // An arrow further out begins above those further in, and ends below them: none crosses another.
                    let apart = 10 * if top < other { -lane } else { lane };
                    let (one, two) = ((top + bottom) / 2 + apart, (other + under) / 2 - apart);
                    let (right, out) = (x + wide, x + wide + 24 + PAST * lane);
                    drawn.push(html! {
                        g.edge data-from=(edge.from) data-to=(edge.to) {
                            (arrow(chart, &[Point(right, one), Point(out, one), Point(out, two), Point(right, two)], edge.cut))
                            (rotated_label(&edge.label(), Point(out + 14, (one + two) / 2)))
                        }
                    });
                }
            }
        }
        let opening = html! {
            (dot(Point(x + 40, TOP + 46)))
            (arrow(chart, &[Point(x + 40, TOP + 50), Point(x + 40, TOP + 78)], false))
            @for part in &drawn { (part) }
        };
        let bottom = y - GAP + 24;
        (html! { g data-state=(around) { (opening) } }, bottom)
    }

    /// The arrows between two outer states, in either direction.
    fn lanes(&self, one: &str, other: &str) -> Vec<&Edge> {
        let ends =
            |edge: &&Edge| (edge.from == one && edge.to == other) || (edge.from == other && edge.to == one);
        self.edges.iter().filter(|edge| !edge.inside).filter(ends).collect()
    }

    /// The frames in a state that do not leave it, as lines.
    fn frame_lines(&self, state: &str, width: usize, inside: bool) -> Vec<String> {
        let own =
            self.edges.iter().filter(|edge| edge.from == state && edge.to == state && edge.inside == inside);
        own.flat_map(|edge| edge.label().split(", ").map(str::to_owned).collect::<Vec<_>>())
            .flat_map(|frame_lines| lines(&frame_lines, width))
            .collect()
    }
}

/// An arrow on the right of the second column, past other states of it. `places`: each state's top and bottom.
fn passing(chart: &str, edge: &Edge, places: &[(&str, i32, i32)], lane: i32) -> Markup {
    let place = |name: &str| places.iter().find(|(state, ..)| *state == name);
    let (Some((_, from, under)), Some((_, to, below))) = (place(edge.from), place(edge.to)) else {
        return html! {};
    };
    // The arrow joins the two states at the edges that face each other, apart from the arrows to the third column.
    let inset = 6 + 6 * lane;
    let (one, two) = if from < to { (under - inset, to + inset) } else { (from + inset, below - inset) };
    let (right, out) = (MIDDLE.0 + MIDDLE.1, MIDDLE.0 + MIDDLE.1 + ASIDE + 16 + PAST * lane);
    html! {
        g.edge data-from=(edge.from) data-to=(edge.to) {
            (arrow(chart, &[Point(right, one), Point(out, one), Point(out, two), Point(right, two)], edge.cut))
            (rotated_label(&edge.label(), Point(out + 14, (one + two) / 2)))
        }
    }
}

/// Arrows one below the other between two columns. `left`: the state on their left; `label_from`: left edge of the labels.
fn across(
    chart: &str,
    edges: &[&Edge],
    left: &str,
    (from, to): (i32, i32),
    label_from: i32,
    top: i32,
) -> Markup {
    html! {
        @for (at, edge) in (0..).zip(edges) {
            @let y = top + at * LANE + LANE - 12;
            @let ends = if edge.from == left { (from, to) } else { (to, from) };
            @let label = if edge.cut { format!("cut by {}", edge.label()) } else { edge.label() };
            g.edge data-from=(edge.from) data-to=(edge.to) {
                (arrow(chart, &[Point(ends.0, y), Point(ends.1, y)], edge.cut))
                (label_lines(&lines(&label, usize::try_from((to - label_from) / 7).unwrap_or(30)), Point((label_from + to) / 2, y), Side::Above))
            }
        }
    }
}

/// An arrow up or down, its label on the right.
fn down(chart: &str, edge: &Edge, x: i32, (from, to): (i32, i32)) -> Markup {
    html! {
        g.edge data-from=(edge.from) data-to=(edge.to) {
            (arrow(chart, &[Point(x, from), Point(x, to)], edge.cut))
            (side_label(&edge.label(), Point(x + 8, (from + to) / 2 + 4), "start"))
        }
    }
}

/// An arrow up or down, its label on the left.
fn up(chart: &str, edge: &Edge, x: i32, (from, to): (i32, i32)) -> Markup {
    html! {
        g.edge data-from=(edge.from) data-to=(edge.to) {
            (arrow(chart, &[Point(x, from), Point(x, to)], edge.cut))
            (side_label(&edge.label(), Point(x - 8, (from + to) / 2 + 4), "end"))
        }
    }
}
