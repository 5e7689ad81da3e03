//! Causes and order in the meta files agree with valid conversations.

use pi_rpc_export::{CommandAbout, EventAbout, Meta, When, meta};
use pi_rpc_protocol::Dialect;
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path, sync::OnceLock};

/// The meta file of each dialect.
fn metas() -> &'static [(Dialect, Meta)] {
    static METAS: OnceLock<Vec<(Dialect, Meta)>> = OnceLock::new();
    METAS.get_or_init(|| Dialect::ALL.into_iter().map(|dialect| (dialect, meta(dialect))).collect())
}

/// The recordings of a dialect that keep every rule: name and records.
fn recordings(dialect: Dialect) -> Vec<(String, Vec<Value>)> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/valid").join(dialect.as_str());
    let files = fs::read_dir(&folder).map_or_else(|_| Vec::new(), Iterator::collect::<Vec<_>>);
    let mut out = Vec::new();
    for file in files {
        let path = file.expect("an entry").path();
        let text = fs::read_to_string(&path).expect("a recording");
        let records = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        out.push((path.display().to_string(), records));
    }
    out
}

fn about<'a>(meta: &'a Meta, frame: &Value) -> Option<&'a EventAbout> {
    meta.events.iter().find(|event| frame["type"] == event.r#type.as_str())
}

fn holds(when: Option<&When>, frame: &Value) -> bool {
    when.is_none_or(|when| {
        let value = frame.get(when.field).unwrap_or(&frame["message"][when.field]);
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        when.is.contains(&value.as_str())
    })
}

#[test]
fn required_events_precede_each_event() {
    let mut looked = BTreeSet::new();
    for (dialect, meta) in metas() {
        for (name, records) in recordings(*dialect) {
            let mut seen: BTreeSet<String> = BTreeSet::new();
            for frame in records.iter().filter(|record| record["dir"] == "out").map(|record| &record["frame"])
            {
                if let Some(event) = about(meta, frame) {
                    let mut cases = event.cases.iter().filter(|case| holds(case.when.as_ref(), frame));
                    let kept = cases.any(|case| case.after.iter().all(|before| seen.contains(before)));
                    assert!(kept, "{name}: {} after {seen:?} only", event.r#type);
                    looked.insert(event.r#type.clone());
                }
                seen.insert(frame["type"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    assert!(looked.len() > 12, "{looked:?}");
}

#[test]
fn first_event_after_idle_command_is_caused() {
    let mut looked = BTreeSet::new();
    for (dialect, meta) in metas() {
        for (name, records) in recordings(*dialect) {
            let frames = |dir: &'static str| records.iter().filter(move |record| record["dir"] == dir);
            if frames("in").count() == 0 {
                continue;
            }
            // A command alone: nothing was open before it, and nothing else is sent until something happens.
            let (mut open, mut streams, mut alone): (usize, bool, Option<&CommandAbout>) = (0, false, None);
            let mut greets = false;
            for record in &records {
                let frame = &record["frame"];
                match (record["dir"].as_str(), frame["type"].as_str()) {
                    (Some("in"), Some(command)) => {
                        let known = meta.commands.iter().find(|about| about.r#type == command);
                        alone = known.filter(|_| open == 0 && !streams);
                        open += usize::from(known.is_some());
                    }
                    (Some("out"), Some("ready")) => greets = true,
                    // omp lists the commands before its first response.
                    (Some("out"), Some("available_commands_update")) if greets => greets = false,
                    (Some("out"), Some("response")) => open = open.saturating_sub(1),
                    (Some("out"), Some(event)) => {
                        if let Some(command) = alone.take() {
                            let caused = command.causes.iter().any(|cause| cause == event);
                            assert!(caused, "{name}: {event} after {}", command.r#type);
                            looked.insert((command.r#type.clone(), event.to_owned()));
                        }
                        let cases = about(meta, frame).into_iter().flat_map(|event| &event.cases);
                        let leads: Vec<&str> = cases
                            .filter(|case| holds(case.when.as_ref(), frame))
                            .filter_map(|case| case.to)
                            .collect();
                        streams = !leads.contains(&"idle") && (streams || !leads.is_empty());
                    }
                    _ => {}
                }
            }
        }
    }
    assert!(looked.contains(&("prompt".to_owned(), "agent_start".to_owned())), "{looked:?}");
}
