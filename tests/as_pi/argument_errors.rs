//! What pi-ai 1.6.0 answers to calls whose arguments do not fit. The tests of the engine's `argument_problems` compare ours
//! with what is recorded here.

use crate::{peer_support::peer, toolchain_support::locked};
use std::{env, fs, path::Path, process::Command};

#[test]
fn argument_errors_are_as_recorded() {
    let Some([node, ..]) = peer("1.6.0") else { return };
    let packages = locked("tests/peer_support/pi-ai-1.6.0", &["--omit=optional"]).expect("pi-ai of npm");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/as_pi/argument_errors");
    let mut program = Command::new(node);
    program.arg(folder.join("errors.mjs"));
    program.arg(packages.join("node_modules/@earendil-works/pi-ai")).arg(folder.join("cases.json"));
    let output = program.output().expect("Node.js");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = folder.join("recorded.json");
    if env::var_os("UPDATE").is_some() {
        return fs::write(path, output.stdout).expect("a file");
    }
    assert!(fs::read(path).unwrap_or_default() == output.stdout, "cargo bless as_pi");
}
