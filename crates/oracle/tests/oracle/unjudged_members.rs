//! The members that no rule judges: another value of the same type in them is found in none of the recordings.
//!
//! A lie can hide in these alone. The list shrinks with each rule; what is free by its nature stays.

use crate::mutation_support::{broken, dialect, finds, names, other_values, read, valid};
use pi_rpc_oracle::{Judge, View};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    thread,
};

/// How often a member is changed before it counts as never judged.
const TRIES: usize = 3;

/// The members of the server's frames in the recordings of a dialect, each with whether another value was found.
fn members(of: &str) -> BTreeMap<String, bool> {
    let mut members: BTreeMap<String, (usize, bool)> = BTreeMap::new();
    for name in names().into_iter().filter(|name| name.starts_with(&format!("{of}/"))) {
        let trace = valid(&name);
        // What the host of a recording breaks on purpose.
        let known: BTreeSet<String> = broken(dialect(&name), &trace);
        let lines: Vec<String> = trace.iter().map(ToString::to_string).collect();
        let mut judge = Judge::new(dialect(&name), View::Both);
        for (at, line) in lines.iter().enumerate() {
            let record = &trace[at];
            let changed = if record["dir"] == "out" { other_values(record) } else { Vec::new() };
            for (member, changed) in changed {
                let (tries, is_judged) = members.entry(member).or_default();
                if *is_judged || *tries == TRIES {
                    continue;
                }
                *tries += 1;
                let changed = changed.to_string();
                let rest = [&changed].into_iter().chain(&lines[at + 1..]);
                *is_judged = finds(judge.clone(), rest, &known);
            }
            judge.observe(&read(line));
        }
    }
    members.into_iter().map(|(member, (_, is_judged))| (member, is_judged)).collect()
}

#[test]
fn unjudged_members_are_listed() {
    let reports = thread::scope(|scope| {
        let parts = ["pi", "pi-1", "xcsh", "omp"].map(|of| scope.spawn(move || (of, members(of))));
        parts.map(|part| part.join().expect("a report"))
    });
    let mut shown = String::new();
    for (of, members) in &reports {
        let never: Vec<&String> =
            members.iter().filter(|(_, is_judged)| !**is_judged).map(|(member, _)| member).collect();
        let _ = writeln!(shown, "{of}: {} of {} members are never judged", never.len(), members.len());
        never.iter().for_each(|member| {
            let _ = writeln!(shown, "  {member}");
        });
    }
    insta::assert_snapshot!("unjudged_members", shown);
}
