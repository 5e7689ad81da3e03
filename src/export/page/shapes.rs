//! What charts are drawn with.

use maud::{Markup, html};

/// A place in the drawing.
#[derive(Clone, Copy)]
pub(super) struct Point(pub i32, pub i32);

/// Where a label stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Above,
    Below,
}

/// Between two lines of a label.
const LINE: i32 = 13;

/// A state: its whole name, what is written of it, and what is said in it.
pub(super) fn state_box(
    Point(x, y): Point,
    (width, height): (i32, i32),
    state: &str,
    name: &str,
    said: &[String],
) -> Markup {
    html! {
        g.state data-state=(state) {
            rect x=(x) y=(y) width=(width) height=(height) rx="8" {}
            text.name x=(x + 10) y=(y + 20) { (name) }
            @for (at, line) in (0..).zip(said) { text.said x=(x + 10) y=(y + 37 + at * 14) { (line) } }
        }
    }
}

/// An arrow over these points. `broken`: as a broken line.
pub(super) fn arrow(chart: &str, points: &[Point], broken: bool) -> Markup {
    let places: Vec<String> = points.iter().map(|Point(x, y)| format!("{x},{y}")).collect();
    html! { path.arrow.broken[broken] d={ "M" (places.join(" L")) } marker-end={ "url(#head-" (chart) ")" } {} }
}

/// Where a region begins or ends.
pub(super) fn dot(Point(x, y): Point) -> Markup {
    html! { circle.dot cx=(x) cy=(y) r="4" {} }
}

/// A label around the middle of a level line.
pub(super) fn label_lines(lines: &[String], Point(x, y): Point, side: Side) -> Markup {
    let count = i32::try_from(lines.len()).unwrap_or(1);
    let first = if side == Side::Above { y - 6 - (count - 1) * LINE } else { y + LINE + 2 };
    html! {
        @for (at, line) in (0..).zip(lines) { text.on x=(x) y=(first + at * LINE) text-anchor="middle" { (line) } }
    }
}

/// A label beside an upright line, which it starts or ends at.
pub(super) fn side_label(label: &str, Point(x, y): Point, anchor: &str) -> Markup {
    html! { text.on x=(x) y=(y) text-anchor=(anchor) { (label) } }
}

/// A label along an upright line.
pub(super) fn rotated_label(label: &str, Point(x, y): Point) -> Markup {
    html! {
        text.on x=(x) y=(y) text-anchor="middle" transform={ "rotate(-90 " (x) " " (y) ")" } { (label) }
    }
}

/// A label in lines of about so many characters, broken at spaces.
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
