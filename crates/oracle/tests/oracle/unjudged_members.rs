//! The members that no rule judges: another value of the same type in them is found in none of the recordings.
//!
//! A lie can hide in these alone. Each is free by the mark `x-free` of the schema, which says why.

use crate::{
    free_members::{Mark, mark_of, marks},
    lies,
    mutation_support::{broken, dialect, finds, names, other_values, read, recorded},
};
use pi_rpc_oracle::{Judge, View};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    thread,
};

/// How often a member is changed in each recording.
const TRIES: usize = 3;

/// What is known of a member.
#[derive(Default)]
struct Member {
    is_judged: bool,
    /// The mark of the schema, if it has one.
    mark: Option<Mark>,
}

/// The members of the server's frames in the recordings of a dialect.
fn members(of: &str) -> BTreeMap<String, Member> {
    let mut members: BTreeMap<String, Member> = BTreeMap::new();
    let all: BTreeSet<String> = names().into_iter().chain(lies::recordings()).collect();
    for name in all.into_iter().filter(|name| name.starts_with(&format!("{of}/"))) {
        let trace = recorded(&name);
        // What the host of a recording breaks on purpose.
        let known: BTreeSet<String> = broken(dialect(&name), &trace);
        let lines: Vec<String> = trace.iter().map(ToString::to_string).collect();
        let mut judge = Judge::new(dialect(&name), View::Both);
        let mut tries: BTreeMap<String, usize> = BTreeMap::new();
        for (at, line) in lines.iter().enumerate() {
            let record = &trace[at];
            let changed = if record["dir"] == "out" { other_values(record) } else { Vec::new() };
            for change in changed {
                let member = members.entry(change.what.clone()).or_default();
                let tries = tries.entry(change.what).or_default();
                if member.is_judged || *tries == TRIES {
                    continue;
                }
                *tries += 1;
                let changed = change.record.to_string();
                let rest = [&changed].into_iter().chain(&lines[at + 1..]);
                member.is_judged = finds(judge.clone(), rest, &known);
                member.mark = member.mark.take().or_else(|| mark_of(&record["frame"], &change.place));
            }
            judge.observe(&read(line));
        }
    }
    members
}

#[test]
fn unjudged_members_are_marked_free() {
    let reports = thread::scope(|scope| {
        let parts = ["pi", "pi-1", "xcsh", "omp"].map(|of| scope.spawn(move || (of, members(of))));
        parts.map(|part| part.join().expect("a report"))
    });
    let (mut shown, mut unmarked, mut used) = (String::new(), Vec::new(), BTreeSet::new());
    for (of, members) in &reports {
        let never = || members.iter().filter(|(_, member)| !member.is_judged);
        let _ = writeln!(shown, "{of}: {} of {} members are never judged", never().count(), members.len());
        for (name, member) in never() {
            let _ = writeln!(shown, "  {name}");
            match &member.mark {
                Some(mark) => drop(used.insert(mark.clone())),
                None => unmarked.push(format!("{of}: {name}")),
            }
        }
    }
    let idle: Vec<String> =
        marks().into_iter().filter(|mark| !used.contains(mark)).map(|mark| mark.place).collect();
    assert!(
        unmarked.is_empty() && idle.is_empty(),
        "judged by no rule, and not marked `x-free` in the schema:\n{}\nmarked `x-free`, and judged or in no recording:\n{}",
        unmarked.join("\n"),
        idle.join("\n")
    );
    let _ = writeln!(shown, "marks:");
    used.iter().for_each(|mark| {
        let _ = writeln!(shown, "  {}: {}", mark.place, mark.reason);
    });
    insta::assert_snapshot!("unjudged_members", shown);
}

/// A change that is reported as free has to be one of a value.
#[test]
fn mark_holds_for_its_member_alone() {
    let title: Vec<String> = vec!["title".to_owned()];
    let frame = |text| serde_json::from_str::<Value>(text).expect("a frame");
    let dialog =
        frame(r#"{"type":"extension_ui_request","id":"1","method":"confirm","title":"T","message":"M"}"#);
    assert!(mark_of(&dialog, &title).is_some());
    assert!(mark_of(&dialog, &["method".to_owned()]).is_none());
    let start = frame(r#"{"type":"turn_start"}"#);
    assert!(mark_of(&start, &["type".to_owned()]).is_none());
}
