//! typify, as a library: types of Rust, in a crate of their own.

use crate::{
    corpus::families,
    judging::{Bench, Tool},
    spoiled::{Mistake, Spoiled},
    toolchain_support::run,
};
use pi_rpc::export::json_schema;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

#[test]
fn typify_types_match_schema() {
    let target =
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target directory").join("generators");
    build(&target);
    // Its fields are `Option`, whole numbers are `i64`, and lists are empty where they are absent.
    let tool = Tool { drops_empty: true, is_blind, ..Tool::EXACT };
    for dialect in families() {
        let bench = Bench::new("typify", dialect);
        let mut program = Command::new(target.join("debug/generated-by-typify"));
        program.arg(dialect.as_str()).arg(bench.folder.join("frames.jsonl"));
        let printed = run(&mut program).unwrap_or_else(|error| panic!("{dialect}: {error}"));
        bench.judge(&bench.verdicts(&printed), &tool);
    }
}

fn is_blind(spoiled: &Spoiled) -> bool {
    match spoiled.mistake {
        Mistake::Null => spoiled.optional && !spoiled.types.contains("array"),
        // But for exit codes, which are `i32`.
        Mistake::Range => !spoiled.at.ends_with(".exitCode"),
        _ => false,
    }
}

/// Builds `generators/typify` from the exported schemas of all bases.
fn build(target: &Path) {
    let schemas = target.join("schemas");
    fs::create_dir_all(&schemas).expect("a folder below target");
    for dialect in families() {
        let (file, text) = (schemas.join(format!("{dialect}.json")), format!("{:#}\n", json_schema(dialect)));
        // What is as it was is not built again.
        if fs::read_to_string(&file).is_ok_and(|old| old == text) {
            continue;
        }
        fs::write(file, text).expect("a schema");
    }
    let manifest: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("generators/typify/Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--quiet", "--manifest-path"]).arg(manifest);
    cargo.arg("--target-dir").arg(target).env("SCHEMAS", schemas);
    run(&mut cargo).expect("generators/typify builds");
}
