//! Line plots as SVG with logarithmic axes, in colours that are legible on white and on black.

use maud::html;
use std::fmt::Write as _;

/// Plot beside others.
pub struct Panel {
    pub title: &'static str,
    /// Label of the horizontal axis.
    pub below: &'static str,
    /// Format of values.
    pub unit: fn(f64) -> String,
    pub lines: Vec<Line>,
}

/// Line of a plot.
pub struct Line {
    pub name: String,
    pub colour: &'static str,
    /// Measured points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// Extrapolated point.
    pub further: Option<(f64, f64)>,
}

const WIDTH: f64 = 430.0;
const HEIGHT: f64 = 250.0;
const LEFT: f64 = 60.0;
/// Margin for the names of the lines.
const RIGHT: f64 = 150.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 40.0;
/// Line height of names.
const NAME: f64 = 14.0;
const GREY: &str = "#808890";

/// Draws the panels side by side; those without points are left out.
pub fn svg(panels: &[Panel]) -> String {
    let panels: Vec<_> = panels.iter().filter_map(|panel| Some((panel, Scale::of(panel)?))).collect();
    let width = WIDTH * panels.len() as f64;
    let markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" width=(width) height=(HEIGHT)
            viewBox={ "0 0 " (width) " " (HEIGHT) } font-family="sans-serif" font-size="11" fill=(GREY) {
            @for (place, (panel, scale)) in panels.iter().enumerate() {
                g transform={ "translate(" (place as f64 * WIDTH) ",0)" } { (panel.draw(scale)) }
            }
        }
    };
    markup.into_string() + "\n"
}

impl Panel {
    fn draw(&self, scale: &Scale) -> maud::Markup {
        let (right, foot) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        html! {
            text x=(LEFT) y="16" font-size="13" { (self.title) }
            text x=(f64::midpoint(LEFT, right)) y=(HEIGHT - 6.0) text-anchor="middle" { (self.below) }
            @for y in scale.decades() {
                @let at = scale.y(y);
                path stroke=(GREY) stroke-opacity="0.3" d={ "M" (LEFT) " " (round(at)) "H" (right) } {}
                text x=(LEFT - 6.0) y=(round(at + 4.0)) text-anchor="end" { ((self.unit)(y)) }
            }
            @for x in scale.marks(self) {
                text x=(round(scale.x(x))) y=(foot + 16.0) text-anchor="middle" { (thousands(x)) }
            }
            @for line in &self.lines {
                path fill="none" stroke=(line.colour) stroke-width="2" d=(scale.path(&line.points)) {}
                @if let (Some(last), Some(further)) = (line.points.last(), line.further) {
                    path fill="none" stroke=(line.colour) stroke-width="2" stroke-dasharray="2 4"
                        d=(scale.path(&[*last, further])) {}
                }
                @for (x, y) in &line.points {
                    circle cx=(round(scale.x(*x))) cy=(round(scale.y(*y))) r="2.5" fill=(line.colour) {}
                }
            }
            @for (line, y) in self.names(scale) {
                text x=(right + 8.0) y=(round(y)) fill=(line.colour) { (line.name) }
            }
        }
    }

    /// Positions of the names at the ends of their lines, without overlaps.
    fn names(&self, scale: &Scale) -> Vec<(&Line, f64)> {
        let end = |line: &Line| line.further.or(line.points.last().copied());
        let mut names: Vec<_> =
            self.lines.iter().filter_map(|line| Some((line, scale.y(end(line)?.1) + 4.0))).collect();
        names.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        for at in 1..names.len() {
            names[at].1 = names[at].1.max(names[at - 1].1 + NAME);
        }
        // Names below the plot are moved up again.
        let mut lowest = HEIGHT - BOTTOM + 4.0;
        for (_, y) in names.iter_mut().rev() {
            *y = y.min(lowest);
            lowest = *y - NAME;
        }
        names
    }
}

/// Logarithmic scales of a panel.
struct Scale {
    x: (f64, f64),
    y: (f64, f64),
}

impl Scale {
    fn of(panel: &Panel) -> Option<Self> {
        let points = || panel.lines.iter().flat_map(|line| line.points.iter().copied().chain(line.further));
        let span = |values: &mut dyn Iterator<Item = f64>| {
            let first = values.next()?.log10();
            Some(values.fold((first, first), |(least, most), value| {
                (least.min(value.log10()), most.max(value.log10()))
            }))
        };
        let x = span(&mut points().map(|(x, _)| x))?;
        let (least, most) = span(&mut points().map(|(_, y)| y))?;
        Some(Self { x, y: (least.floor(), most.ceil().max(least.floor() + 1.0)) })
    }

    fn x(&self, value: f64) -> f64 {
        let room = (self.x.1 - self.x.0).max(f64::EPSILON);
        // At a distance from the axis, where labels are.
        let (left, right) = (LEFT + 14.0, WIDTH - RIGHT - 4.0);
        left + (value.log10() - self.x.0) / room * (right - left)
    }

    fn y(&self, value: f64) -> f64 {
        let foot = HEIGHT - BOTTOM;
        foot - (value.log10() - self.y.0) / (self.y.1 - self.y.0) * (foot - TOP)
    }

    fn decades(&self) -> impl Iterator<Item = f64> {
        let (first, last) = (self.y.0 as i32, self.y.1 as i32);
        (first..=last).map(|power| 10f64.powi(power))
    }

    /// Labels of the horizontal axis: the counts of the longest line, as far as there is room.
    fn marks(&self, panel: &Panel) -> Vec<f64> {
        let longest = panel.lines.iter().max_by_key(|line| line.points.len());
        let all =
            longest.into_iter().flat_map(|line| line.points.iter().chain(&line.further).map(|(x, _)| *x));
        let mut marks: Vec<f64> = Vec::new();
        for x in all {
            if marks.last().is_none_or(|last| self.x(x) - self.x(*last) > 24.0) {
                marks.push(x);
            }
        }
        marks
    }

    fn path(&self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        for (at, (x, y)) in points.iter().enumerate() {
            let word = if at == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{word}{} {}", round(self.x(*x)), round(self.y(*y)));
        }
        path
    }
}

/// Rounds to tenths of a point.
fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// Formats a count with a comma before its last three digits.
pub fn thousands(count: f64) -> String {
    match count {
        ..1000.0 => format!("{count:.0}"),
        _ => format!("{:.0},{:03.0}", (count / 1000.0).floor(), count % 1000.0),
    }
}
