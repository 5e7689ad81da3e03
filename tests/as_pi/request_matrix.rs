//! What pi-ai 1.6.0 sends for every model, level and conversation, beside ours. `tests/configuration/request_sample.rs` compares
//! a sample, which `cargo bless as_pi` records.

use crate::{
    matrix_support::{Line, Matrix, OurRequests, cases, folder},
    peer_support::peer,
    serve_support::snapshot,
    toolchain_support::locked,
};
use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    process::{Command, Stdio},
};

/// Runs `each` for every line that pi-ai's program prints; `extent`: `sample` or `all`. `false`: there is no pi here.
fn for_lines(extent: &str, mut each: impl FnMut(&str)) -> bool {
    let Some([node, ..]) = peer("1.6.0") else { return false };
    let packages = locked("tests/peer_support/pi-ai-1.6.0", &["--omit=optional"]).expect("pi-ai of npm");
    let mut program = Command::new(node)
        .arg(folder().join("requests.mjs"))
        .arg(packages.join("node_modules/@earendil-works/pi-ai"))
        .arg(folder().join("cases.json"))
        .arg(extent)
        .stdout(Stdio::piped())
        .spawn()
        .expect("Node.js");
    let lines = BufReader::new(program.stdout.take().expect("a pipe")).lines();
    lines.for_each(|line| each(&line.expect("a line")));
    assert!(program.wait().expect("its end").success());
    true
}

#[test]
fn requests_of_all_models_equal_pi() {
    let asked = OurRequests::new(cases());
    let mut matrix = Matrix::default();
    let is_here = for_lines("all", |line| {
        let line: Line = serde_json::from_str(line).expect("a request");
        matrix.add(&asked, &line);
    });
    if is_here {
        matrix.check();
        assert_eq!(matrix.size().0, asked.models());
        snapshot("request_matrix", matrix.summary());
    }
}

#[test]
fn sample_of_requests_is_as_recorded() {
    let mut text = String::new();
    if !for_lines("sample", |line| text += &format!("{line}\n")) {
        return;
    }
    let path = folder().join("sample.jsonl");
    if env::var_os("UPDATE").is_some() {
        return fs::write(path, text).expect("a file");
    }
    assert!(fs::read_to_string(path).unwrap_or_default() == text, "cargo bless as_pi");
}
