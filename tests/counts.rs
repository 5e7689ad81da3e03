//! Numbers of instructions of the hot paths, compared with `benches/counts.json`; they do not depend on other work of
//! the machine. Without callgrind nothing is counted; with `PI_RPC_REQUIRE_VALGRIND=1` that is a failure. With another
//! compiler, valgrind or libc than in the file, counts are printed but not compared, unless `PI_RPC_REQUIRE_COUNTS=1`.

#[path = "toolchain_support/mod.rs"]
mod toolchain_support;

use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, env, fs, path::Path, process::Command};
use toolchain_support::{had, run};

/// Tolerated difference in percent. Smaller ones come from inlining after changes elsewhere in the crate.
const TOLERANCE: u64 = 3;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/counts.json");

/// Contents of the file.
#[derive(Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Counts {
    /// Versions of tools that the counts depend on; with others they are not compared.
    made_with: Vec<String>,
    /// Instructions for one line, frame, delta or file, by path of `benches/counts`.
    instructions: BTreeMap<String, u64>,
}

#[test]
fn hot_paths_match_stored_counts() {
    let Some(made_with) = had(made_with(), "PI_RPC_REQUIRE_VALGRIND") else { return };
    let instructions = counted(&built());
    let counted = Counts { made_with, instructions };
    if env::var("UPDATE").is_ok_and(|value| value == "1") {
        let text = serde_json::to_string_pretty(&counted).expect("JSON") + "\n";
        return fs::write(FILE, text).expect("benches/counts.json can be written");
    }
    let kept: Counts = serde_json::from_slice(&fs::read(FILE).expect("benches/counts.json")).expect(FILE);
    let table = table(&kept.instructions, &counted.instructions);
    if kept.made_with != counted.made_with {
        let Counts { made_with, .. } = counted;
        let reason = format!("counted with {made_with:?}, kept with {:?}\n{table}", kept.made_with);
        had::<()>(Err(reason), "PI_RPC_REQUIRE_COUNTS");
        return;
    }
    assert!(
        differing(&kept.instructions, &counted.instructions).is_empty(),
        "more than {TOLERANCE} % off:\n{table}\
         If that is meant, better or worth its price: cargo bless counts, and say why in the commit."
    );
}

#[test]
fn count_beyond_tolerance_is_named() {
    let counts = |of: &[(&str, u64)]| of.iter().map(|(path, count)| ((*path).to_owned(), *count)).collect();
    let kept = counts(&[("less", 1000), ("more", 1000), ("near", 1000), ("old", 1000)]);
    let now = counts(&[("less", 969), ("more", 1031), ("near", 1030), ("new", 1000)]);
    assert_eq!(differing(&kept, &now), ["less", "more", "new", "old"]);
}

/// Paths with different counts, and those that only one side has.
fn differing<'a>(kept: &'a BTreeMap<String, u64>, now: &'a BTreeMap<String, u64>) -> Vec<&'a str> {
    let is_near = |path: &String| match (kept.get(path), now.get(path)) {
        (Some(kept), Some(now)) => kept.abs_diff(*now) * 100 <= TOLERANCE * kept,
        _ => false,
    };
    let mut paths: Vec<&String> = kept.keys().chain(now.keys()).collect();
    paths.sort();
    paths.dedup();
    paths.into_iter().filter(|path| !is_near(path)).map(String::as_str).collect()
}

fn per_cent(kept: u64, now: u64) -> f64 {
    (now as f64 / kept as f64 - 1.0) * 100.0
}

fn table(kept: &BTreeMap<String, u64>, now: &BTreeMap<String, u64>) -> String {
    let line = |(path, now): (&String, &u64)| match kept.get(path) {
        Some(kept) => format!("{path:20} {kept:>10} -> {now:>10} {:+6.1} %\n", per_cent(*kept, *now)),
        None => format!("{path:20} {:>10} -> {now:>10}\n", "nothing"),
    };
    now.iter().map(line).collect()
}

/// Versions of the tools that affect a count.
fn made_with() -> Result<Vec<String>, String> {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    Ok(vec![
        env::consts::ARCH.to_owned(),
        run(Command::new(rustc).arg("--version"))?,
        run(Command::new("valgrind").arg("--version"))?,
        run(Command::new("getconf").arg("GNU_LIBC_VERSION"))?,
    ])
}

/// Builds the program with the paths. It uses the library without features, and a profile of its own: that of releases,
/// without the options that take long to compile.
fn built() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A directory of its own, as the lock of target/ is held while tests run.
    let target = root.join("target/counts");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "build",
        "--locked",
        "--quiet",
        "--package",
        "counts",
        "--profile",
        "counts",
        "--target-dir",
    ]);
    cargo.arg(&target).current_dir(root);
    run(&mut cargo).expect("benches/counts builds");
    target.join("counts/counts").to_str().expect("UTF-8").to_owned()
}

/// Instructions per unit of each path.
fn counted(program: &str) -> BTreeMap<String, u64> {
    let paths = run(&mut Command::new(program)).expect("the paths");
    paths.lines().map(|path| (path.to_owned(), instructions(program, path))).collect()
}

fn instructions(program: &str, path: &str) -> u64 {
    let log = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("counts-{path}"));
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--toggle-collect=*watched_*", "--callgrind-out-file=/dev/null"]);
    valgrind.arg(format!("--log-file={}", log.display())).args([program, path]);
    let units: u64 = run(&mut valgrind).expect(path).parse().expect("how many units that was");
    let log = fs::read_to_string(&log).expect("what callgrind tells");
    let collected = log.lines().find_map(|line| line.split_once("Collected :")).expect(&log).1;
    collected.trim().parse::<u64>().expect("a number") / units
}
