//! Validators: one in Rust, one in JavaScript, one in Python.

use crate::{
    corpus::families,
    frames_common::Frames,
    judging::{Bench, Tool, Verdict},
    toolchain_support::{environment, packages, run},
};
use std::process::Command;

#[test]
fn rust_validator_agrees_with_schema() {
    for dialect in families() {
        let bench = Bench::new("jsonschema", dialect);
        let frames = Frames::of(dialect);
        let [inbound, outbound] = ["Inbound", "Outbound"].map(|root| frames.validator(root));
        let verdict = |root, frame| {
            let validator = if root == "Inbound" { &inbound } else { &outbound };
            let errors = validator.iter_errors(frame).map(|error| error.to_string()).collect();
            Verdict { errors, written: None }
        };
        let good = bench.made.samples.iter().map(|it| verdict(it.root(), &it.frame));
        let bad = bench.made.spoiled.iter().map(|it| verdict(it.root(), &it.frame));
        bench.judge(&good.chain(bad).collect::<Vec<_>>(), &Tool::EXACT);
    }
}

#[test]
fn ajv_in_strict_mode_agrees_with_schema() {
    let Some(home) = packages("generators") else { return };
    for dialect in families() {
        let bench = Bench::new("ajv", dialect);
        let mut node = Command::new("node");
        node.arg("generators/ajv.cjs").arg(&bench.folder).env("NODE_PATH", home.join("node_modules"));
        let printed = run(&mut node).unwrap_or_else(|error| panic!("{dialect}: {error}"));
        bench.judge(&bench.verdicts(&printed), &Tool { has_one_error: false, ..Tool::EXACT });
    }
}

#[test]
fn python_validator_agrees_with_schema() {
    let Some(python) = environment("generators/requirements.txt") else { return };
    for dialect in families() {
        let bench = Bench::new("python-jsonschema", dialect);
        let printed = run(Command::new(&python).arg("generators/validate.py").arg(&bench.folder));
        let printed = printed.unwrap_or_else(|error| panic!("{dialect}: {error}"));
        bench.judge(&bench.verdicts(&printed), &Tool::EXACT);
    }
}
