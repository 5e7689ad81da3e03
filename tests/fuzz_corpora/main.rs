//! The inputs in `fuzz/corpus` satisfy their targets: the same functions, without libFuzzer. `fuzz/README.md`
//! describes the targets.
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
#[path = "../../fuzz/src/edits.rs"]
mod edits;
#[path = "../../fuzz/src/frames.rs"]
mod frames;
#[path = "../frames_common/mod.rs"]
mod frames_common;
#[path = "../../fuzz/src/framing.rs"]
mod framing;
#[path = "../../fuzz/src/lasting.rs"]
mod lasting;
#[path = "../../fuzz/src/legal.rs"]
mod legal;
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

/// Function of a target, which panics on a violation.
type Check = fn(&[u8]);

/// A test for each target, and the list of them.
macro_rules! corpora {
    ($($target:ident),*) => {
        const TARGETS: &[&str] = &[$(stringify!($target)),*];

        mod corpus {
            $(
                #[test]
                fn $target() {
                    super::replay(stringify!($target), super::$target::check);
                }
            )*
        }
    };
}

corpora!(
    answers,
    arguments,
    configs,
    conversations,
    edits,
    frames,
    framing,
    lasting,
    recordings,
    scripts,
    sessions
);

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(name)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let files = fs::read_dir(folder).expect("a folder");
    files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect()
}

/// Runs a target with all its inputs; fails with those that violate it.
fn replay(target: &str, check: Check) {
    let corpus = folder("corpus").join(target);
    let broken: Vec<String> = names(&corpus)
        .into_iter()
        .filter(|name| {
            let data = fs::read(corpus.join(name)).expect("an input");
            catch_unwind(AssertUnwindSafe(|| check(&data))).is_err()
        })
        .collect();
    assert_eq!(broken, Vec::<String>::new(), "in {}", corpus.display());
}

#[test]
fn every_target_has_program_and_corpus() {
    let known: BTreeSet<String> = TARGETS.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(names(&folder("corpus")), known);
    let programs = known.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(names(&folder("targets")), programs);
    for name in &known {
        assert!(names(&folder("corpus").join(name)).len() >= 5, "{name} has next to nothing to begin with");
    }
}
