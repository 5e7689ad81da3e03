//! What becomes of frames between a server and a client of different dialects.

use super::{code, table};
use pi_rpc_front::{Fate, FrameLosses, Way, counts, losses};
use pi_rpc_protocol::{Base, Dialect};

/// The pairs that have a table of their own; `pi-rpc front --losses` prints the others.
const SHOWN: [(Dialect, Dialect); 6] = [
    (Dialect::Pi1, Dialect::Pi),
    (Dialect::Pi1, Dialect::Pi073),
    (Dialect::Pi, Dialect::Pi1),
    (Dialect::Pi073, Dialect::Pi1),
    (Dialect::Pi1, Dialect::Omp),
    (Dialect::Omp, Dialect::Pi1),
];

/// The numbers of every pair, and the tables of some.
pub(super) fn all() -> String {
    let mut text = String::from("## Every pair\n\n");
    let dialects = || Base::ALL.into_iter().filter_map(|base| Dialect::parse(base.as_str()));
    let pairs = dialects().flat_map(|server| dialects().map(move |client| (server, client)));
    let mut sums = [0; Fate::ALL.len()];
    let mut rows: Vec<_> = pairs
        .filter(|(server, client)| server != client)
        .map(|(server, client)| {
            let counts = counts(&losses(server, client));
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
            row(code(server.as_str()), code(client.as_str()), counts)
        })
        .collect();
    rows.push(row("all".to_owned(), "all".to_owned(), sums));
    text += &table(
        ["Server", "Client", "Same", "Computed", "Default", "Lost", "Refused", "Absent", "Share lost"],
        rows,
    );
    for (server, client) in SHOWN {
        text += &format!("\n## {server} server, {client} client\n\n");
        text += &table(
            ["Way", "Frames and types", "Members", "Fate", "Note"],
            rows_of_frames(&losses(server, client)),
        );
    }
    text
}

/// The numbers of a pair, with the share of what is lost.
fn row(server: String, client: String, counts: [usize; Fate::ALL.len()]) -> [String; 9] {
    let all: usize = counts.iter().sum();
    let lost = counts[Fate::Lost as usize] * 1000 / all.max(1);
    let [same, computed, default, lost_members, refused, absent] = counts.map(|count| count.to_string());
    let share = format!("{}.{} %", lost / 10, lost % 10);
    [server, client, same, computed, default, lost_members, refused, absent, share]
}

/// What does not arrive as it is; frames of which the same becomes share a row.
fn rows_of_frames(frames: &[FrameLosses]) -> Vec<[String; 5]> {
    let mut rows: Vec<[String; 5]> = Vec::new();
    for [way, name, rest @ ..] in rows_of(frames) {
        match rows.iter_mut().find(|row| row[0] == way && row[2..] == rest) {
            Some(row) => row[1] += &format!(", {name}"),
            None => {
                let [members, fate, note] = rest;
                rows.push([way, name, members, fate, note]);
            }
        }
    }
    rows
}

/// One row for the members of a frame that share a fate and a note.
fn rows_of(frames: &[FrameLosses]) -> Vec<[String; 5]> {
    let mut rows: Vec<[String; 5]> = Vec::new();
    for frame in frames {
        let way = match frame.way {
            Way::ToClient => "to client",
            Way::ToServer => "to server",
        };
        let name = frame.kind.map_or_else(|| frame.title.to_owned(), code);
        for member in frame.members.iter().filter(|member| member.fate != Fate::Same) {
            let shown = if member.name == "*" { "all of it".to_owned() } else { code(&member.name) };
            let fate = member.fate.as_str().to_owned();
            match rows.last_mut() {
                Some([_, last, members, last_fate, note])
                    if *last == name && *last_fate == fate && *note == member.note =>
                {
                    *members += &format!(", {shown}");
                }
                _ => rows.push([way.to_owned(), name.clone(), shown, fate, member.note.clone()]),
            }
        }
    }
    rows
}
