//! The packages for npm, made and installed by npm itself; `npm_package.test.mjs` says what they do.

use crate::toolchain_support::{had, node, run};
use std::process::Command;

#[test]
fn npm_package_is_the_binary() {
    if had(node(), "PI_RPC_REQUIRE_NODE").is_none() {
        return;
    }
    let mut tests = Command::new("node");
    tests.args(["--test", "--test-timeout=120000", "tests/sdk/npm_package.test.mjs"]);
    tests.current_dir(env!("CARGO_MANIFEST_DIR")).env("PI_RPC_PROGRAM", env!("CARGO_BIN_EXE_pi-rpc"));
    run(&mut tests).unwrap_or_else(|error| panic!("{error}"));
}
