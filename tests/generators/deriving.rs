//! Coverage of the recorded frames, and their selection from recordings.

use crate::{
    corpus::{Sample, families, file, read_folders, recorded, samples},
    frames_common::Frames,
};
use pi_rpc::protocol::Dialect;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Maximum number of recorded frames, so that they can be reviewed.
const MOST_BYTES: u64 = 400_000;

#[test]
fn every_def_and_field_occurs() {
    for dialect in families() {
        let frames = Frames::of(dialect);
        let mut missing = all(&frames);
        for sample in samples(dialect) {
            facts(&frames, &sample).iter().for_each(|fact| {
                missing.remove(fact);
            });
        }
        assert_eq!(missing, BTreeSet::new(), "{dialect}: neither recorded nor made up");
    }
}

#[test]
fn each_recorded_frame_adds_something() {
    for dialect in families() {
        let frames = Frames::of(dialect);
        let mut seen = BTreeSet::new();
        for sample in recorded(dialect) {
            let (known, new) = (seen.len(), facts(&frames, &sample));
            seen.extend(new);
            assert!(seen.len() > known, "{dialect}: nothing new in {}", sample.frame);
        }
        assert!(fs::metadata(file(dialect)).expect("a file").len() < MOST_BYTES, "{dialect}");
    }
}

#[test]
#[ignore = "writes generators/frames anew; FRAMES_FROM names a folder with recordings, in a folder for each dialect"]
fn derive() {
    let more = std::env::var_os("FRAMES_FROM").map(PathBuf::from);
    for dialect in families() {
        let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/valid");
        let folders: Vec<PathBuf> = [Some(ours), more.clone()]
            .into_iter()
            .flatten()
            .map(|folder| folder.join(dialect.as_str()))
            .filter(|folder| folder.is_dir())
            .collect();
        let lines: Vec<String> = reduced(dialect, read_folders(&folders))
            .iter()
            .map(|sample| serde_json::to_string(sample).expect("JSON") + "\n")
            .collect();
        fs::write(file(dialect), lines.concat()).expect("generators/frames");
    }
}

/// Smallest frames with the same coverage as `samples`.
fn reduced(dialect: Dialect, mut samples: Vec<Sample>) -> Vec<Sample> {
    let frames = Frames::of(dialect);
    let [inbound, outbound] = ["Inbound", "Outbound"].map(|root| frames.validator(root));
    samples.retain(|sample| match sample.root() {
        "Inbound" => inbound.is_valid(&sample.frame),
        _ => outbound.is_valid(&sample.frame),
    });
    samples.sort_by_cached_key(|sample| sample.frame.to_string().len());
    let mut seen = BTreeSet::new();
    samples.retain(|sample| {
        let known = seen.len();
        seen.extend(facts(&frames, sample));
        seen.len() > known
    });
    samples
}

/// Coverage of a frame: its defs, each with its members, and its enumeration values.
pub fn facts(frames: &Frames, sample: &Sample) -> BTreeSet<String> {
    let mut facts = BTreeSet::new();
    for place in frames.places(sample.root(), &sample.frame) {
        let known = |key: &&String| frames.def(&place.def)["properties"].get(key.as_str()).is_some();
        let fields = place.value.as_object().into_iter().flatten().map(|(key, _)| key).filter(known);
        facts.extend(fields.map(|key| format!("{}.{key}", place.def)));
        if frames.def(&place.def).get("enum").is_some() {
            facts.insert(format!("{}={}", place.def, place.value));
        }
        facts.insert(place.def);
    }
    facts
}

/// Complete coverage of a dialect.
fn all(frames: &Frames) -> BTreeSet<String> {
    let mut facts = BTreeSet::new();
    for def in ["Inbound", "Outbound"].iter().flat_map(|root| frames.reachable(root)) {
        let schema = frames.def(&def);
        facts.extend(
            schema["properties"].as_object().into_iter().flatten().map(|(key, _)| format!("{def}.{key}")),
        );
        facts.extend(schema["enum"].as_array().into_iter().flatten().map(|word| format!("{def}={word}")));
        facts.insert(def);
    }
    facts
}
