//! Dependencies have licences that `deny.toml` allows, and come from crates.io with the checksums of the lock file.

use serde_json::Value;
use std::{collections::BTreeSet, fs, process::Command};

const DENY: &str = include_str!("../deny.toml");
const LOCK: &str = include_str!("../Cargo.lock");

/// The licences that `deny.toml` allows.
fn allowed() -> BTreeSet<&'static str> {
    let list = DENY.split_once("\nallow = [").and_then(|(_, rest)| rest.split_once(']')).expect("a list").0;
    list.split(',').map(|item| item.trim().trim_matches('"')).filter(|item| !item.is_empty()).collect()
}

/// All packages of the lock file, as cargo knows them.
fn packages() -> Vec<Value> {
    let mut metadata = Command::new(env!("CARGO"));
    metadata.current_dir(env!("CARGO_MANIFEST_DIR"));
    metadata.args(["metadata", "--format-version", "1", "--locked", "--all-features"]);
    // Only the packages for this system are checked; cargo downloads those that no feature has needed yet.
    let host = Command::new("rustc").arg("-vV").output().expect("rustc");
    let host = String::from_utf8(host.stdout).expect("UTF-8");
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    let output = metadata.args(["--filter-platform", host]).output().expect("cargo");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

/// Whether allowed licences satisfy the expression; `/` is an old form of OR.
fn is_met(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let met = any(&mut words, allowed);
    assert_eq!(words.next(), None, "{expression}");
    met
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words<'_>, allowed: &BTreeSet<&str>) -> bool {
    let mut met = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= all(words, allowed);
    }
    met
}

fn all(words: &mut Words<'_>, allowed: &BTreeSet<&str>) -> bool {
    let mut met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Words<'_>, allowed: &BTreeSet<&str>) -> bool {
    match words.next().expect("a licence") {
        "(" => {
            let met = any(words, allowed);
            assert_eq!(words.next(), Some(")"));
            met
        }
        licence => {
            let exception = words.next_if_eq(&"WITH").and_then(|_| words.next());
            exception.is_none() && allowed.contains(licence)
        }
    }
}

#[test]
fn every_licence_is_allowed() {
    let allowed = allowed();
    let packages = packages();
    assert!(packages.len() > 100, "{}", packages.len());
    let others = || packages.iter().filter(|package| !package["source"].is_null());
    let wrong =
        others().filter(|package| !package["license"].as_str().is_some_and(|text| is_met(text, &allowed)));
    let wrong: Vec<String> = wrong.map(|it| format!("{}: {}", it["name"], it["license"])).collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn packages_come_from_crates_io_with_checksums() {
    const REGISTRY: &str = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let folders = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/crates")).expect("crates");
    let folders = folders.map(|entry| entry.expect("a folder").file_name().to_string_lossy().into_owned());
    let mut ours: Vec<String> = folders.map(|folder| format!("pi-rpc-{folder}")).collect();
    ours.extend(["pi-rpc", "xtask", "counts"].map(str::to_owned));
    let wrong = LOCK.split("[[package]]").skip(1).filter(|package| {
        let is_ours = !package.contains("\nsource = ");
        let named = ours.iter().any(|ours| package.contains(&format!("name = \"{ours}\"")));
        !(package.contains(REGISTRY) && package.contains("\nchecksum = \"") || is_ours && named)
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn forbidden_licence_is_found() {
    let allowed = BTreeSet::from(["MIT", "ISC"]);
    for (expression, met) in [
        ("MIT", true),
        ("GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT", true),
        ("GPL-3.0-only/MIT", true),
        ("MIT AND GPL-3.0-only", false),
        ("(MIT OR GPL-3.0-only) AND ISC", true),
        ("MIT WITH Some-exception", false),
    ] {
        assert_eq!(is_met(expression, &allowed), met, "{expression}");
    }
}
