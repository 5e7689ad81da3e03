//! The plots of the growth of cost.

use crate::{
    DELTAS, MESSAGES, idle,
    install::{OMP, OURS, OURS_NEW, PI_NEW, PI_OLD},
    plot::{Line, Panel, svg, thousands},
    results::{Results, Spread},
    table::{bytes, seconds},
};

/// All plots, by file name.
pub fn all(results: &Results) -> [(&'static str, String); 3] {
    [
        ("deltas.svg", deltas(results)),
        ("messages.svg", messages(results)),
        ("idle.svg", conversations(results)),
    ]
}

fn deltas(results: &Results) -> String {
    let lines = |figure| {
        let snapshots = [OURS, PI_OLD, OMP].map(|server| (server, "snapshots"));
        let new = [OURS_NEW, PI_NEW].map(|server| (server, "deltas"));
        let line = |(server, kind)| line(results, server, kind, &DELTAS, figure);
        snapshots.into_iter().chain(new).map(line).collect()
    };
    let below = "deltas of an answer";
    svg(&[
        Panel { title: "Time for an answer", below, unit: seconds, lines: lines("wall") },
        Panel { title: "Peak memory", below, unit: bytes, lines: lines("peak") },
    ])
}

fn messages(results: &Results) -> String {
    let lines = |servers: &[&'static str], figure| {
        servers.iter().map(|server| line(results, server, "resume", &MESSAGES, figure)).collect()
    };
    let below = "messages of a session";
    svg(&[
        Panel {
            title: "Start with a session, up to all messages",
            below,
            unit: seconds,
            lines: lines(&[OURS, PI_OLD, PI_NEW], "start"),
        },
        Panel {
            title: "Switch to a session",
            below,
            unit: seconds,
            lines: lines(&[OURS, PI_OLD, PI_NEW, OMP], "switch"),
        },
    ])
}

fn conversations(results: &Results) -> String {
    let line = |server: &'static str| {
        let median = |name| Some(Spread::of(results.of("idle", server, name))?.median);
        let point = |(count, name): &(usize, &'static str)| Some((*count as f64, median(name)?));
        let points = idle::points(server == OURS).iter().filter_map(point).collect();
        let further = median(idle::THOUSAND).map(|memory| (1000.0, memory));
        Line { name: title(server), colour: colour(server), points, further }
    };
    let lines = [OURS, PI_OLD, PI_NEW, OMP].map(line).into_iter().collect();
    svg(&[Panel {
        title: "Memory of idle conversations",
        below: "conversations, a process each (dotted: estimated)",
        unit: bytes,
        lines,
    }])
}

/// Line of a figure of the measurements `kind-1000` and so on.
fn line(results: &Results, server: &'static str, kind: &str, counts: &[u32], figure: &'static str) -> Line {
    let mut name = title(server);
    let mut points = Vec::new();
    for count in counts {
        let measurement = format!("{kind}-{count}");
        if let Some(spread) = Spread::of(results.of(&measurement, server, figure)) {
            points.push((f64::from(*count), spread.median));
        } else if results.failed(&measurement, server).is_some() {
            name = format!("{name}, fails at {}", thousands((*count).into()));
            break;
        }
    }
    Line { name, colour: colour(server), points, further: None }
}

fn title(server: &str) -> String {
    server.replace("-0", " 0").replace("-1.", " 1.").replace("-18", " 18")
}

fn colour(server: &str) -> &'static str {
    match server {
        OURS => "#e8590c",
        OURS_NEW => "#d6336c",
        PI_OLD => "#4c8dd6",
        PI_NEW => "#2f9e6e",
        _ => "#a06bd6",
    }
}
