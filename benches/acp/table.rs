//! The tables of the comparison.

use crate::{Case, Measured, Outcome, median};
use std::fmt::Write as _;

/// Reads a figure.
type Figure = fn(&Measured) -> f64;

/// A name, the figure, and how it is written.
type Line = (&'static str, Figure, fn(f64) -> String);

/// What the tables are between.
const MARKS: [&str; 2] = ["<!-- begin: cargo bench --bench acp -->\n", "<!-- end -->"];

/// The page with other tables.
pub fn replaced(page: &str, tables: &str) -> String {
    let [begin, end] = MARKS;
    let (head, rest) = page.split_once(begin).expect("the page marks where the tables begin");
    let (_, tail) = rest.split_once(end).expect("the page marks where the tables end");
    format!("{head}{begin}\n{tables}\n{end}{tail}")
}

/// All tables.
pub fn tables(measured: &[Measured]) -> String {
    let build = if cfg!(debug_assertions) { "a debug build" } else { "a release build" };
    let mut text = format!(
        "## Speed and memory\n\nMedians as multiples of the smallest, which is given beside them; pi-rpc is {build}.\n\n"
    );
    text += &head(measured, "smallest |");
    let figures: [Line; 3] = [
        ("start to an open session", |it| it.start, milliseconds),
        ("prompt to the first piece of the answer", |it| it.first_chunk, milliseconds),
        (
            "memory with one session, of all processes",
            |it| it.memory,
            |bytes| format!("{:.0} MB", bytes / 1e6),
        ),
    ];
    for (what, figure, unit) in figures {
        text += &line(what, measured.iter().map(figure).collect(), unit);
    }
    let ended: Vec<usize> =
        (0..measured[0].seen.len()).filter(|at| measured.iter().all(|it| it.seen[*at].1.is_ok())).collect();
    let sums = measured
        .iter()
        .map(|it| median(it.rounds.iter().map(|round| ended.iter().map(|at| round[*at]).sum()).collect()));
    text += &line(
        &format!("{} conversations, those that end with all", ended.len()),
        sums.collect(),
        milliseconds,
    );
    text += "\n## The 20 conversations\n\nWhether the editor has what it needs.\n\n";
    text += &answers(measured, |it| &it.seen);
    text += "\n## What is claimed\n\n";
    text += &head(measured, "");
    for (at, (what, _)) in measured[0].claims.iter().enumerate() {
        let cells: String = measured.iter().map(|it| format!(" {} |", word(it.claims[at].1))).collect();
        let _ = writeln!(text, "| {what} |{cells}");
    }
    text += "\n## Hard cases\n\n";
    text += &answers(measured, |it| &it.hard);
    text.trim_end().to_owned() + "\n"
}

/// A line of figures, as multiples of the smallest.
fn line(what: &str, figures: Vec<f64>, unit: fn(f64) -> String) -> String {
    let smallest = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let ratios: String = figures.iter().map(|it| format!(" {:.1} |", it / smallest)).collect();
    format!("| {what} |{ratios} {} |\n", unit(smallest))
}

fn answers(measured: &[Measured], of: fn(&Measured) -> &Vec<Case>) -> String {
    let mut text = head(measured, "");
    for (at, (what, _)) in of(&measured[0]).iter().enumerate() {
        let cells: String = measured.iter().map(|it| format!(" {} |", cell(&of(it)[at].1))).collect();
        let _ = writeln!(text, "| {what} |{cells}");
    }
    text
}

fn head(measured: &[Measured], more: &str) -> String {
    let names: String = measured.iter().map(|it| format!(" {} |", it.name)).collect();
    let columns = measured.len() + 1 + usize::from(!more.is_empty());
    let more = if more.is_empty() { String::new() } else { format!(" {more}") };
    format!("| |{names}{more}\n|{}\n", "---|".repeat(columns))
}

fn cell(outcome: &Outcome<bool>) -> String {
    match outcome {
        Ok(holds) => word(*holds).to_owned(),
        Err(reason) => format!("no: {}", reason.replace('|', "/")),
    }
}

const fn word(holds: bool) -> &'static str {
    match holds {
        true => "yes",
        false => "no",
    }
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.0} ms", seconds * 1e3)
}
