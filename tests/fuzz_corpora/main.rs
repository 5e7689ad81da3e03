//! What is kept in `fuzz/corpus` holds what its target holds: the same functions, without libFuzzer. `fuzz/README.md`
//! says what each of them is for.
#![cfg(feature = "serve")]

#[path = "../../fuzz/src/answers.rs"]
mod answers;
#[path = "../../fuzz/src/arguments.rs"]
mod arguments;
#[path = "../../fuzz/src/configs.rs"]
mod configs;
#[path = "../../fuzz/src/conversations.rs"]
mod conversations;
#[path = "../../fuzz/src/cuts.rs"]
mod cuts;
#[path = "../disk_support/mod.rs"]
mod disk_support;
#[path = "../../fuzz/src/edits.rs"]
mod edits;
#[path = "../engine/engine_support/mod.rs"]
#[allow(dead_code, unused_imports)] // Other tests draw conversations by lot.
mod engine_support;
#[path = "../../fuzz/src/frames.rs"]
mod frames;
#[path = "../frames_common/mod.rs"]
mod frames_common;
#[path = "../../fuzz/src/framing.rs"]
mod framing;
#[path = "../../fuzz/src/lasting.rs"]
mod lasting;
#[path = "../engine/lasting_support/mod.rs"]
#[allow(dead_code, unused_imports)] // Other tests draw conversations by lot.
mod lasting_support;
#[path = "../../fuzz/src/legal.rs"]
mod legal;
#[path = "../../fuzz/src/lots.rs"]
mod lots;
#[path = "../../fuzz/src/recordings.rs"]
mod recordings;
#[path = "../../fuzz/src/scripts.rs"]
mod scripts;
#[path = "../../fuzz/src/sessions.rs"]
mod sessions;

use std::{
    collections::BTreeSet,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

/// Panics where something does not hold.
type Hold = fn(&[u8]);

const TARGETS: [(&str, Hold); 11] = [
    ("answers", answers::hold),
    ("arguments", arguments::hold),
    ("configs", configs::hold),
    ("conversations", conversations::hold),
    ("edits", edits::hold),
    ("frames", frames::hold),
    ("framing", framing::hold),
    ("lasting", lasting::hold),
    ("recordings", recordings::hold),
    ("scripts", scripts::hold),
    ("sessions", sessions::hold),
];

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(name)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(folder).expect("a folder");
    files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect()
}

/// Gives the target all that is kept for it, and tells which inputs it does not hold for.
fn replay(target: &str) {
    let (_, hold) = TARGETS.iter().find(|(name, _)| *name == target).expect("a target");
    let corpus = folder("corpus").join(target);
    let broken: Vec<String> = names(&corpus)
        .into_iter()
        .filter(|name| {
            let data = fs::read(corpus.join(name)).expect("an input");
            catch_unwind(AssertUnwindSafe(|| hold(&data))).is_err()
        })
        .collect();
    assert_eq!(broken, Vec::<String>::new(), "in {}", corpus.display());
}

#[test]
fn every_target_has_its_program_and_its_corpus() {
    let known: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&folder("corpus")), known);
    let programs = known.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(names(&folder("targets")), programs);
    for name in &known {
        assert!(names(&folder("corpus").join(name)).len() >= 5, "{name} has next to nothing to begin with");
    }
}

#[test]
fn answers_of_providers_are_legal_however_they_are_cut() {
    replay("answers");
}

#[test]
fn arguments_and_results_of_tools_are_shown_as_they_are() {
    replay("arguments");
}

#[test]
fn files_of_users_are_read_or_left_out() {
    replay("configs");
}

#[test]
fn conversations_keep_the_rules() {
    replay("conversations");
}

#[test]
fn edits_change_what_they_say() {
    replay("edits");
}

#[test]
fn frames_are_read_as_the_schema_has_them() {
    replay("frames");
}

#[test]
fn lines_are_found_however_they_are_cut() {
    replay("framing");
}

#[test]
fn conversations_last_and_end_whatever_fails() {
    replay("lasting");
}

#[test]
fn recordings_are_judged_whatever_they_hold() {
    replay("recordings");
}

#[test]
fn scripts_are_played_to_their_end() {
    replay("scripts");
}

#[test]
fn session_files_read_back_the_same() {
    replay("sessions");
}
