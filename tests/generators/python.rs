//! datamodel-code-generator: models of pydantic 2.

use crate::{
    corpus::families,
    judging::{Bench, Tool, Verdict, options},
    spoiled::Mistake,
    toolchain_support::{environment, run},
};
use std::{fs, path::Path, process::Command};

/// What makes a field that may be absent, and may not be null, just that.
const SENTINEL: [&str; 3] = ["--use-missing-sentinel", "--target-pydantic-version", "2.14"];

#[test]
fn pydantic_models_match_schema() {
    let Some(python) = environment("generators/requirements.txt") else { return };
    // Without more options, `None` is how they say absent.
    let tool = Tool { is_blind: |it| it.mistake == Mistake::Null && it.optional, ..Tool::EXACT };
    for dialect in families() {
        let bench = Bench::new("pydantic", dialect);
        generate(&python, &bench.folder, &[]);
        bench.judge(&read(&python, &bench), &tool);
    }
}

#[test]
fn sentinel_models_refuse_null_for_absent() {
    let Some(python) = environment("generators/requirements.txt") else { return };
    for dialect in families() {
        let bench = Bench::new("pydantic-missing", dialect);
        generate(&python, &bench.folder, &SENTINEL);
        bench.judge(&read(&python, &bench), &Tool::EXACT);
    }
}

#[test]
fn mypy_accepts_models_and_refuses_misuse() {
    let Some(python) = environment("generators/requirements.txt") else { return };
    for dialect in families() {
        let bench = Bench::new("mypy", dialect);
        generate(&python, &bench.folder, &[]);
        fs::copy("generators/use.py", bench.folder.join("use.py")).expect("use.py");
        let mut mypy = Command::new(&python);
        // Wrong uses have a `type: ignore` with the code of the error; one that is not needed is an error itself.
        mypy.args(["-m", "mypy", "--strict", "models.py", "use.py"]).current_dir(&bench.folder);
        run(&mut mypy).unwrap_or_else(|error| panic!("{dialect}: {error}"));
    }
}

/// Generates `models.py` in the folder, with the options that `generators/README.md` names, and more.
fn generate(python: &Path, folder: &Path, more: &[&str]) {
    let mut generator = Command::new(python.with_file_name("datamodel-codegen"));
    generator.arg("--input").arg(folder.join("schema.json")).arg("--output").arg(folder.join("models.py"));
    generator.args(options("datamodel-codegen", "models.py")).args(more);
    run(&mut generator).expect("models.py");
}

fn read(python: &Path, bench: &Bench) -> Vec<Verdict> {
    let printed = run(Command::new(python).arg("generators/read.py").arg(&bench.folder));
    bench.verdicts(&printed.unwrap_or_else(|error| panic!("{}: {error}", bench.dialect)))
}
