//! SVG shapes of the chart.

use maud::{Markup, html};

/// A place in the drawing.
#[derive(Clone, Copy)]
pub(super) struct Point(pub i32, pub i32);

/// Side of a line on which a label stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Above,
    Below,
}

/// Height of a label's line.
const LINE: i32 = 13;

/// A state: its full name, its shown name, and the frames without a transition.
pub(super) fn state_box(
    Point(x, y): Point,
    (width, height): (i32, i32),
    state: &str,
    name: &str,
    frame_lines: &[String],
) -> Markup {
    html! {
        g.state data-state=(state) {
            rect x=(x) y=(y) width=(width) height=(height) rx="8" {}
            text.name x=(x + 10) y=(y + 20) { (name) }
            @for (at, line) in (0..).zip(frame_lines) { text.said x=(x + 10) y=(y + 37 + at * 14) { (line) } }
        }
    }
}

/// An arrow through these points. `broken`: with a broken line.
pub(super) fn arrow(chart: &str, points: &[Point], broken: bool) -> Markup {
    let places: Vec<String> = points.iter().map(|Point(x, y)| format!("{x},{y}")).collect();
    html! { path.arrow.broken[broken] d={ "M" (places.join(" L")) } marker-end={ "url(#head-" (chart) ")" } {} }
}

/// The start or end of a region.
pub(super) fn dot(Point(x, y): Point) -> Markup {
    html! { circle.dot cx=(x) cy=(y) r="4" {} }
}

/// A label at the middle of a horizontal line.
pub(super) fn label_lines(lines: &[String], Point(x, y): Point, side: Side) -> Markup {
    let count = i32::try_from(lines.len()).unwrap_or(1);
    let first = if side == Side::Above { y - 6 - (count - 1) * LINE } else { y + LINE + 2 };
    html! {
        @for (at, line) in (0..).zip(lines) { text.on x=(x) y=(first + at * LINE) text-anchor="middle" { (line) } }
    }
}

/// A label beside a vertical line.
pub(super) fn side_label(label: &str, Point(x, y): Point, anchor: &str) -> Markup {
    html! { text.on x=(x) y=(y) text-anchor=(anchor) { (label) } }
}

/// A label along a vertical line.
pub(super) fn rotated_label(label: &str, Point(x, y): Point) -> Markup {
    html! {
        text.on x=(x) y=(y) text-anchor="middle" transform={ "rotate(-90 " (x) " " (y) ")" } { (label) }
    }
}

/// Breaks a label at spaces into lines of about `width` characters.
pub(super) fn lines(label: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in label.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
