//! The generated parts of the book are what the binary makes. `cargo bless` writes them anew.

use crate::{
    conformance,
    documents_support::{ROOT, book, page, pages},
    front_pairs, llms, surroundings, tried,
};
use pi_rpc::{
    cli::reference_blocks,
    export::{chart_drawing, node_host_lists},
    protocol::Dialect,
};
use std::{collections::BTreeMap, env, fs, path::Path, process::Command};

const BEGIN: &str = "<!-- generated: ";
const END: &str = "<!-- end -->\n";

#[test]
fn generated_parts_of_book_are_current() {
    let mut blocks: BTreeMap<&str, String> = reference_blocks().into_iter().collect();
    blocks.insert("apis tried", tried::apis());
    blocks.insert("front-pairs", front_pairs::table("tests/peers/front.json"));
    blocks.insert("front-pairs-all", front_pairs::table("tests/peers/front_all.json"));
    blocks.insert("surroundings", surroundings::table());
    blocks.insert("surroundings by case", surroundings::cases());
    if let Some(table) = blocks.get_mut("providers") {
        *table = tried::with_compared_models(table);
    }
    let mut used = Vec::new();
    let mut current: Vec<(String, String)> = Vec::new();
    for path in pages() {
        let text = page(&path);
        let mut parts = text.split(BEGIN);
        let mut made = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once(" -->\n").unwrap_or_else(|| panic!("{path}: {part:.40}"));
            let (_, rest) = rest.split_once(END).unwrap_or_else(|| panic!("{path}: {name} has no end"));
            let block = blocks.get(name).unwrap_or_else(|| panic!("{path}: nothing is called {name}"));
            used.push(name.to_owned());
            made += &format!("{BEGIN}{name} -->\n{}\n{END}{rest}", block.trim_end());
        }
        current.push((path, made));
    }
    for dialect in [Dialect::Pi, Dialect::Pi1, Dialect::Xcsh, Dialect::Omp] {
        current.push((format!("docs/plots/chart-{dialect}.svg"), format!("{}\n", chart_drawing(dialect))));
    }
    current.extend(conformance::pages());
    current.push(("docs/llms.txt".to_owned(), llms::text()));
    current.push(("crates/extension/src/node/host/schema.mjs".to_owned(), node_host_lists()));
    let file = |path: &str| Path::new(ROOT).join(path);
    let is_stale =
        |(path, made): &&(String, String)| fs::read_to_string(file(path)).ok().as_ref() != Some(made);
    let stale: Vec<_> = current.iter().filter(is_stale).collect();
    if env::var_os("UPDATE").is_some() {
        stale.iter().for_each(|(path, made)| fs::write(file(path), made).unwrap());
    } else {
        let stale: Vec<&String> = stale.into_iter().map(|(path, _)| path).collect();
        assert!(stale.is_empty(), "{stale:?}: run cargo bless");
    }
    used.sort();
    assert_eq!(used, blocks.keys().copied().collect::<Vec<_>>(), "each is on one page");
}

#[test]
fn short_table_repeats_long_one() {
    let long = page("docs/explanation/performance.md");
    let readme = page("README.md");
    let short =
        readme.split("<!-- short table -->\n").nth(1).and_then(|rest| rest.split("<!--").next()).unwrap();
    let rows: Vec<&str> = short.lines().filter(|line| !line.contains("---")).collect();
    assert!(rows.len() > 2);
    let strange: Vec<_> =
        rows.iter().filter(|row| !long.lines().any(|line| line.starts_with(**row))).collect();
    assert!(strange.is_empty(), "{strange:?}");
}

#[test]
fn binary_carries_the_book() {
    let folder = tempfile::tempdir().unwrap();
    let docs = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pi-rpc")).arg("docs").args(arguments).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let place = folder.path().to_str().unwrap();
    assert_eq!(docs(&["-o", place]), (Some(0), String::new()));
    for path in book() {
        let carried = fs::read(folder.path().join(&path)).ok();
        let written = fs::read(Path::new(ROOT).join("docs").join(&path)).unwrap();
        assert!(carried == Some(written), "{path}: src/book.rs lists the files");
    }
    assert_eq!(docs(&[]), (Some(0), page("docs/SUMMARY.md")));
    assert_eq!(docs(&["hooks"]), (Some(0), page("docs/reference/hooks.md")));
    assert_eq!(docs(&["nothing"]).0, Some(2));
}
