//! The table of results: compared figures, goals, and whether they are reached.

use crate::{
    Outcome,
    install::{OMP, OURS, OURS_NEW, PEERS, PI_NEW, PI_OLD},
    results::{Results, Spread},
};
use std::{fmt::Write as _, fs, path::Path};

/// Row of the table.
struct Row {
    title: &'static str,
    value: Value,
    unit: Unit,
    /// Name of the server of this project.
    ours: &'static str,
    goal: Goal,
}

/// Measurement and name of one of its figures.
type Figure = (&'static str, &'static str);

/// Value of a row.
enum Value {
    Of(Figure),
    /// Ratio of two figures.
    Over(Figure, Figure),
}

/// Unit and format of a value.
#[derive(Clone, Copy)]
enum Unit {
    Seconds,
    Bytes,
    SecondsPerByte,
    Times,
}

/// Goal of a row.
enum Goal {
    Nothing,
    /// No goal.
    Finishes,
    /// Minimum factor between the best peer and this server.
    Fewer(f64),
    /// Maximum, in the unit of the row.
    Most(f64),
}

use Goal::{Fewer, Finishes, Most, Nothing};
use Unit::{Bytes, Seconds, SecondsPerByte, Times};
use Value::{Of, Over};

const MB: f64 = 1e6;

#[rustfmt::skip]
const ROWS: &[Row] = &[
    row("Start of the process to the first answer", Of(("start", "wall")), Seconds, Fewer(100.0)),
    row("… resident memory after it", Of(("start", "memory")), Bytes, Fewer(10.0)),
    row("… of it written, and shared with none", Of(("start", "dirty")), Bytes, Most(MB)),
    row("`get_state`, round trip: median of 2,000", Of(("asks", "median")), Seconds, Fewer(7.0)),
    row("… 99th percentile", Of(("asks", "p99")), Seconds, Fewer(20.0)),
    row("10,000 `get_state` at once", Of(("asks", "at once")), Seconds, Fewer(10.0)),
    row("… processor time", Of(("asks", "at once cpu")), Seconds, Nothing),
    row("An answer of 2,000 deltas, with snapshots", Of(("snapshots-2000", "wall")), Seconds, Fewer(10.0)),
    row("… processor time", Of(("snapshots-2000", "cpu")), Seconds, Fewer(10.0)),
    row("… written to stdout", Of(("snapshots-2000", "bytes")), Bytes, Nothing),
    row("… peak memory", Of(("snapshots-2000", "peak")), Bytes, Most(12.0 * MB)),
    row("… peak memory, the host reads 1 MB/s", Of(("slow-2000", "peak")), Bytes, Most(12.0 * MB)),
    row("4,000 deltas, with snapshots", Of(("snapshots-4000", "wall")), Seconds, Fewer(15.0)),
    row("… written to stdout", Of(("snapshots-4000", "bytes")), Bytes, Nothing),
    row("… peak memory", Of(("snapshots-4000", "peak")), Bytes, Most(12.0 * MB)),
    row("8,000 deltas, with snapshots", Of(("snapshots-8000", "wall")), Seconds, Finishes),
    row("… written to stdout", Of(("snapshots-8000", "bytes")), Bytes, Nothing),
    row("… processor time", Of(("snapshots-8000", "cpu")), Seconds, Nothing),
    row("… of that of `cat` with these bytes", Over(("snapshots-8000", "cpu"), ("snapshots-8000", "cat")), Times, Most(1.5)),
    row("4,000 deltas a millisecond apart, snapshots: written to stdout", Of(("paced-4000", "bytes")), Bytes, Nothing),
    row("… processor time for a GB", Over(("paced-4000", "cpu"), ("paced-4000", "bytes")), SecondsPerByte, Nothing),
    row("… of that of `cat` with these bytes", Over(("paced-4000", "cpu"), ("paced-4000", "cat")), Times, Most(3.0)),
    row("8,000 deltas a millisecond apart, snapshots: written to stdout", Of(("paced-8000", "bytes")), Bytes, Nothing),
    row("… processor time for a GB", Over(("paced-8000", "cpu"), ("paced-8000", "bytes")), SecondsPerByte, Nothing),
    row("… of that of `cat` with these bytes", Over(("paced-8000", "cpu"), ("paced-8000", "cat")), Times, Nothing),
    row("2,000 deltas, without snapshots", Of(("deltas-2000", "wall")), Seconds, Fewer(5.0)).news(),
    row("… peak memory", Of(("deltas-2000", "peak")), Bytes, Most(12.0 * MB)).news(),
    row("8,000 deltas, without snapshots", Of(("deltas-8000", "wall")), Seconds, Fewer(5.0)).news(),
    row("… of the time for 2,000", Over(("deltas-8000", "wall"), ("deltas-2000", "wall")), Times, Most(5.0)).news(),
    row("50 calls of bash (`true`), each, with the model that asks for it", Of(("tools", "each")), Seconds, Nothing),
    row("… from its start to its end", Of(("tools", "running")), Seconds, Nothing),
    row("… of the time of `bash -c true` alone, as the host sees the call begin and end", Over(("tools", "running"), ("tools", "alone")), Times, Most(1.2)),
    row("… of it, with the model that asks for the call", Over(("tools", "each"), ("tools", "alone")), Times, Nothing),
    row("Start with an extension of TypeScript, up to a prompt that its hook handles", Of(("extension", "start")), Seconds, Fewer(3.0)).news(),
    row("… a further prompt that it handles: median of 500", Of(("extension", "handled")), Seconds, Most(100e-6)).news(),
    row("Start with ten MCP servers, up to the end of the first answer", Of(("mcp", "start")), Seconds, Fewer(2.0)).news(),
    row("… 50 calls of a tool of one, each, with the model that asks for it", Of(("mcp", "each")), Seconds, Fewer(2.0)).news(),
    row("Switch to a session of 10,000 messages (5 MB)", Of(("resume-10000", "switch")), Seconds, Fewer(8.0)),
    row("… then `get_messages`", Of(("resume-10000", "messages")), Seconds, Fewer(8.0)),
    row("Start with that session, up to its `get_messages`", Of(("resume-10000", "start")), Seconds, Fewer(30.0)),
    row("1,000 idle conversations, a process each", Of(("idle", "thousand")), Bytes, Most(6000.0 * MB)),
];

const fn row(title: &'static str, value: Value, unit: Unit, goal: Goal) -> Row {
    Row { title, value, unit, ours: OURS, goal }
}

impl Row {
    /// The row for this server in dialect `pi-1`.
    const fn news(mut self) -> Self {
        self.ours = OURS_NEW;
        self
    }

    fn figures(&self, results: &Results, server: &'static str) -> Vec<f64> {
        let of = |(measurement, name): Figure| results.of(measurement, server, name);
        match self.value {
            Of(figure) => of(figure).to_vec(),
            Over(above, below) => {
                of(above).iter().zip(of(below)).map(|(above, below)| above / below).collect()
            }
        }
    }

    fn failed<'a>(&self, results: &'a Results, server: &'static str) -> Option<&'a str> {
        let (Of((measurement, _)) | Over((measurement, _), _)) = self.value;
        let reason = results.failed(measurement, server)?;
        Some(reason.split_once(':').map_or(reason, |(reason, _)| reason))
    }

    /// Text of the goal, and whether it is reached.
    fn goal(&self, ours: Option<Spread>, ratio: Option<Spread>) -> String {
        let (aim, reached) = match self.goal {
            Nothing => return String::new(),
            Finishes => ("it finishes".to_owned(), Some(ours.is_some())),
            Fewer(times) => (format!("≥ {times} x"), ratio.map(|ratio| ratio.median >= times)),
            Most(limit) => {
                let aim = format!("≤ {}", number(limit, self.unit));
                (aim, Some(ours.is_some_and(|ours| ours.median <= limit)))
            }
        };
        match reached {
            None => aim,
            Some(true) => format!("{aim}: reached"),
            Some(false) => format!("{aim}: **not reached**"),
        }
    }
}

/// Rows with figures, as Markdown.
pub fn table(results: &Results) -> String {
    let mut text =
        "| | pi-rpc | pi 0.73.1 | pi 1.6.0 | omp 18.2.3 | best of them to pi-rpc | to reach |\n".to_owned();
    text.push_str("|---|---:|---:|---:|---:|---:|---|\n");
    for row in ROWS {
        let ours = row.figures(results, row.ours);
        if ours.is_empty() && row.failed(results, row.ours).is_none() {
            continue;
        }
        let cell = |server| match Spread::of(&row.figures(results, server)) {
            Some(spread) => written(spread, row.unit),
            None => row.failed(results, server).unwrap_or("–").to_owned(),
        };
        let ratio = Spread::of(&ratios(row, results, &ours));
        let told = ratio.map_or("–".to_owned(), |ratio| written(ratio, Times));
        let goal = row.goal(Spread::of(&ours), ratio);
        let cells = [cell(row.ours), cell(PI_OLD), cell(PI_NEW), cell(OMP), told, goal];
        let _ = writeln!(text, "| {} | {} |", row.title, cells.join(" | "));
    }
    text
}

/// Figure of the best peer divided by that of this server, for each run.
fn ratios(row: &Row, results: &Results, ours: &[f64]) -> Vec<f64> {
    let peers = PEERS.map(|peer| row.figures(results, peer));
    let best = |run: usize| peers.iter().filter_map(|peer| peer.get(run)).copied().reduce(f64::min);
    ours.iter().enumerate().filter_map(|(run, ours)| Some(best(run)? / ours)).collect()
}

fn written(spread: Spread, unit: Unit) -> String {
    let [median, least, greatest] =
        [spread.median, spread.least, spread.greatest].map(|figure| number(figure, unit));
    if least == greatest {
        return median;
    }
    // A common unit is written once.
    match (least.split_once(' '), greatest.split_once(' ')) {
        (Some((number, one)), Some((_, other))) if one == other => format!("{median} ({number}–{greatest})"),
        _ => format!("{median} ({least}–{greatest})"),
    }
}

fn number(figure: f64, unit: Unit) -> String {
    match unit {
        Seconds => seconds(figure),
        Bytes => bytes(figure),
        SecondsPerByte => seconds(figure * 1e9),
        Times => format!("{} x", digits(figure)),
    }
}

/// Formats seconds for people.
pub fn seconds(figure: f64) -> String {
    match figure {
        ..1e-3 => format!("{} µs", digits(figure * 1e6)),
        ..1.0 => format!("{} ms", digits(figure * 1e3)),
        _ => format!("{} s", digits(figure)),
    }
}

/// Formats bytes for people.
pub fn bytes(figure: f64) -> String {
    match figure {
        ..1e6 => format!("{} kB", digits(figure / 1e3)),
        ..1e9 => format!("{} MB", digits(figure / 1e6)),
        _ => format!("{} GB", digits(figure / 1e9)),
    }
}

/// Formats a figure with two or three significant digits.
fn digits(figure: f64) -> String {
    match figure {
        ..10.0 => {
            let text = format!("{figure:.1}");
            text.strip_suffix(".0").unwrap_or(&text).to_owned()
        }
        _ => format!("{figure:.0}"),
    }
}

/// The lines of the short table.
const SHORT: [&str; 8] = [
    "Start of the process to the first answer",
    "… resident memory after it",
    "`get_state`, round trip: median of 2,000",
    "An answer of 2,000 deltas, with snapshots",
    "2,000 deltas, without snapshots",
    "50 calls of bash (`true`), each, with the model that asks for it",
    "Switch to a session of 10,000 messages (5 MB)",
    "1,000 idle conversations, a process each",
];

/// The lines of `table` that the README has, without the goals.
fn short(table: &str) -> String {
    let is_short = |line: &str| SHORT.iter().any(|title| line.starts_with(&format!("| {title} |")));
    let rows = table.lines().enumerate().filter(|(at, line)| *at < 2 || is_short(line));
    let cells = rows.filter_map(|(_, line)| line.trim_end_matches('|').rsplit_once('|'));
    cells.map(|(kept, _)| format!("{kept}|\n")).collect()
}

/// Puts the table into the book, and the short one into the README, each between its marks.
pub fn write(conditions: &str, table: &str) -> Outcome<()> {
    let whole = format!("{conditions}\n\n{table}");
    let begin = "<!-- cargo bench --bench peers -- --write -->\n";
    put("docs/explanation/performance.md", begin, "<!-- end of the table -->\n", &whole)?;
    put("README.md", "<!-- short table -->\n", "<!-- end of the short table -->\n", &short(table))
}

fn put(path: &str, begin: &str, end: &str, table: &str) -> Outcome<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let text = fs::read_to_string(&file).map_err(|error| error.to_string())?;
    let parts = text.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("{path} has no place for the table"))?;
    fs::write(file, format!("{before}{begin}{table}{end}{after}")).map_err(|error| error.to_string())
}
