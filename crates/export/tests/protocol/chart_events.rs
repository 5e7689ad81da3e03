//! Events of the exported chart: names that SCXML allows, and one for each frame.

use pi_rpc_export::{event_name, scxml, xstate};
use pi_rpc_machine::Kind;
use pi_rpc_protocol::{Dialect, Emission, Inbound, Outbound, read};
use serde_json::Value;
use std::{collections::BTreeSet, fs, path::Path};

const BASES: [Dialect; 4] = [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh, Dialect::Omp];

/// The frames of the valid recordings of a dialect, with their directions.
fn frames(dialect: Dialect) -> Vec<(String, Value)> {
    let folder =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/valid").join(dialect.as_str());
    let paths = fs::read_dir(folder).expect("recordings").map(|entry| entry.expect("a file").path());
    let texts: Vec<String> = paths.map(|path| fs::read_to_string(path).expect("text")).collect();
    let records = texts.iter().flat_map(|text| text.lines());
    let records = records.map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    records.map(|it| (it["dir"].as_str().unwrap_or_default().to_owned(), it["frame"].clone())).collect()
}

/// Whether a frame has all members of the pattern.
fn includes(frame: &Value, pattern: &Value) -> bool {
    match pattern.as_object() {
        Some(members) => members.iter().all(|(name, value)| includes(&frame[name], value)),
        None => frame == pattern,
    }
}

/// The event of a frame by the patterns of the export.
fn listed<'a>(machine: &'a Value, frame: &Value) -> Option<&'a str> {
    let patterns = machine["meta"]["frames"].as_array()?;
    patterns.iter().find(|row| includes(frame, &row["frame"]))?["event"].as_str()
}

#[test]
fn recorded_frames_match_their_events() {
    for dialect in BASES {
        let machine = xstate(dialect);
        let mut seen = BTreeSet::new();
        for (dir, frame) in frames(dialect) {
            let bytes = frame.to_string();
            let kind = match dir.as_str() {
                "in" => read::<Inbound>(bytes.as_bytes(), dialect).ok().map(|it| Kind::of_inbound(&it)),
                "out" => read::<Outbound>(bytes.as_bytes(), dialect)
                    .ok()
                    .map(|it| Kind::of_emitted(&Emission::Frame(it))),
                _ => None,
            };
            let kind = match kind {
                // The dialect has no such command.
                Some(Kind::Response(Some(command), false)) if !command.is_in(dialect.base()) => {
                    Kind::Response(None, false)
                }
                Some(kind) => kind,
                None => continue,
            };
            let event = listed(&machine, &frame).unwrap_or_else(|| panic!("{dialect}: no event for {frame}"));
            let name = event_name(kind);
            // A command's member may be part of its event.
            let fits = event == name || matches!(kind, Kind::Command(_)) && event.starts_with(&name);
            assert!(fits, "{dialect}: {event} for {name}: {frame}");
            seen.insert(event);
        }
        assert!(seen.len() > 60, "{dialect}: {} events", seen.len());
    }
}

#[test]
fn event_names_are_tokens_of_scxml() {
    for kind in Kind::all() {
        let name = event_name(kind);
        let is_token = |part: &str| {
            !part.is_empty() && part.chars().all(|it| it.is_ascii_alphanumeric() || it == '_' || it == '-')
        };
        assert!(name.split('.').all(is_token), "{name}");
    }
}

#[test]
fn each_kind_has_its_event() {
    let names: BTreeSet<String> = Kind::all().into_iter().map(event_name).collect();
    assert_eq!(names.len(), Kind::all().len());
}

#[test]
fn both_languages_accept_the_same_events() {
    for dialect in BASES {
        let (document, machine) = (scxml(dialect), xstate(dialect));
        let attributes = document.split(" event=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let written: BTreeSet<&str> = attributes.flat_map(str::split_whitespace).collect();
        let mut listed = BTreeSet::new();
        collect(&machine["states"], &mut listed);
        assert_eq!(written, listed, "{dialect}");
    }
}

fn collect<'a>(states: &'a Value, events: &mut BTreeSet<&'a str>) {
    for state in states.as_object().into_iter().flat_map(|states| states.values()) {
        events.extend(state["on"].as_object().into_iter().flat_map(|on| on.keys()).map(String::as_str));
        collect(&state["states"], events);
    }
}
