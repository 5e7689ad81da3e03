//! Our own types of Go, built by the compiler that PyPI has.

use crate::{
    corpus::families,
    judging::{Bench, Tool},
    spoiled::{Mistake, Spoiled},
    toolchain_support::{Go, go, run},
};
use pi_rpc::{
    export::{Part, go as go_types},
    protocol::Dialect,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

#[test]
fn go_types_match_schema() {
    let Some(go) = go() else { return };
    let tool = Tool { is_blind, ..Tool::EXACT };
    for dialect in families() {
        let bench = Bench::new("go", dialect);
        let program = build(&go, &bench.folder, dialect);
        let printed = run(Command::new(&program).arg(bench.folder.join("frames.jsonl")));
        let printed = printed.unwrap_or_else(|error| panic!("{dialect}: {error}"));
        bench.judge(&bench.verdicts(&printed), &tool);
        let used = run(&mut Command::new(program)).unwrap_or_else(|error| panic!("{dialect}: {error}"));
        let expected = [
            r#"{"type":"prompt","message":"Hello"}"#,
            "prompt failed: no model",
            "an event",
            r#"of a later version: {"type":"of_tomorrow","at":1}"#,
            "Outbound.type: 7 is none of its variants",
        ];
        assert_eq!(used.lines().collect::<Vec<_>>(), expected, "{dialect}");
    }
}

#[test]
fn go_files_are_formatted_and_vetted() {
    let Some(go) = go() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generators/go-parts");
    for part in [Part::All, Part::Extension, Part::MultiSession] {
        let package = folder.join(part.as_str());
        fs::create_dir_all(&package).expect("a folder below target");
        fs::write(package.join("frames.go"), go_types(Dialect::Pi1, part)).expect("frames.go");
    }
    fs::write(folder.join("go.mod"), MODULE).expect("go.mod");
    run(go.command().args(["vet", "./..."]).current_dir(&folder)).unwrap_or_else(|error| panic!("{error}"));
    let unformatted = run(Command::new(go.gofmt()).arg("-l").arg(&folder));
    assert_eq!(unformatted.as_deref(), Ok(""));
}

const MODULE: &str = "module example.com/generated\n\ngo 1.24\n";

/// A null is no value of an optional member; words are open, so that those of a later version are read; numbers have no bounds.
fn is_blind(spoiled: &Spoiled) -> bool {
    let is_tag = ["type", "role", "method", "command", "success", "cancelled"]
        .iter()
        .any(|tag| spoiled.at.ends_with(&format!(".{tag}")));
    match spoiled.mistake {
        Mistake::Null => spoiled.optional,
        // The kind of a source is a word, not a tag.
        Mistake::Word => !is_tag || spoiled.at == "OutputSource.type",
        Mistake::Range => true,
        _ => false,
    }
}

/// Builds the program of `generators/go` with the types of a dialect.
fn build(go: &Go, folder: &Path, dialect: Dialect) -> PathBuf {
    fs::create_dir_all(folder.join("frames")).expect("a folder below target");
    fs::write(folder.join("go.mod"), MODULE).expect("go.mod");
    fs::write(folder.join("frames/frames.go"), go_types(dialect, Part::All)).expect("frames.go");
    fs::copy("generators/go/use.go", folder.join("use.go")).expect("use.go");
    run(go.command().args(["build", "-o", "use", "."]).current_dir(folder)).expect("it builds");
    folder.join("use")
}
