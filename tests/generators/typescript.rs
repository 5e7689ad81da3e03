//! json-schema-to-typescript: types of TypeScript, judged by tsc. Types read nothing, so that the frames are literals.

use crate::{
    corpus::families,
    judging::{Bench, options},
    spoiled::Mistake,
    toolchain_support::{packages, run},
};
use regex_lite::Regex;
use serde_json::Value;
use std::{fs, path::Path, process::Command};

#[test]
fn typescript_types_match_schema() {
    let Some(home) = packages("generators") else { return };
    for dialect in families() {
        let bench = Bench::new("json2ts", dialect);
        generate(&home, &bench.folder);
        let good =
            bench.made.samples.iter().map(|it| format!("take<{}>({});\n", it.root(), literal(&it.frame)));
        // Numbers are numbers there.
        let seen =
            bench.made.spoiled.iter().filter(|it| !matches!(it.mistake, Mistake::Fraction | Mistake::Range));
        let bad = seen.map(|it| {
            let (at, mistake) = (&it.at, it.mistake);
            format!("// @ts-expect-error {at}: {mistake:?}\ntake<{}>({});\n", it.root(), literal(&it.frame))
        });
        let head = "import type { Inbound, Outbound } from \"./frames.js\";\ndeclare function take<T>(frame: T): void;\n";
        let lines: Vec<String> = [head.to_owned()].into_iter().chain(good).chain(bad).collect();
        fs::write(bench.folder.join("literals.ts"), lines.concat()).expect("literals.ts");
        check(&home, &bench, "literals.ts");
    }
}

#[test]
fn unions_narrow_by_tag_in_use() {
    let Some(home) = packages("generators") else { return };
    for dialect in families() {
        let bench = Bench::new("tsc", dialect);
        generate(&home, &bench.folder);
        fs::copy("generators/use.ts", bench.folder.join("use.ts")).expect("use.ts");
        check(&home, &bench, "use.ts");
    }
}

#[test]
fn types_are_unique_with_schema_names() {
    let Some(home) = packages("generators") else { return };
    for dialect in families() {
        let bench = Bench::new("json2ts-names", dialect);
        generate(&home, &bench.folder);
        let types = fs::read_to_string(bench.folder.join("frames.ts")).expect("frames.ts");
        let exported = Regex::new(r"(?m)^export (?:type|interface) (\w+)").expect("a pattern");
        let names = exported.captures_iter(&types).map(|found| found[1].to_owned());
        let strange: Vec<String> = names.filter(|name| !bench.has_def(name)).collect();
        // The file as a whole has a name of its own.
        assert_eq!(strange.len(), 1, "{dialect}: {strange:?}");
    }
}

/// A frame as a literal of one line: U+2028 and U+2029 end a line of TypeScript, within a text, too.
fn literal(frame: &Value) -> String {
    frame.to_string().replace('\u{2028}', r"\u2028").replace('\u{2029}', r"\u2029")
}

/// Generates `frames.ts` in the folder, with the options that `generators/README.md` names.
fn generate(home: &Path, folder: &Path) {
    let mut generator = Command::new(home.join("node_modules/.bin/json2ts"));
    generator.arg("--input").arg(folder.join("schema.json")).arg("--output").arg(folder.join("frames.ts"));
    run(generator.args(options("json2ts", "frames.ts"))).expect("frames.ts");
}

fn check(home: &Path, bench: &Bench, file: &str) {
    let mut tsc = Command::new(home.join("node_modules/.bin/tsc"));
    tsc.args(["--strict", "--noEmit", file]).current_dir(&bench.folder);
    let outcome = run(&mut tsc).map_err(|error| error.lines().take(30).collect::<Vec<_>>().join("\n"));
    outcome.unwrap_or_else(|error| panic!("{}: {error}", bench.dialect));
}
