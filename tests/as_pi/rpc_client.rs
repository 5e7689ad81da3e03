//! The `RpcClient` of pi's own package, of 0.73.1, drives our binary, so that programs that are written with it go on to work.
//!
//! It starts `node PROGRAM`; a few lines of JavaScript stand where it expects pi's program, and start ours. What it cannot do:
//!
//! - It has no method to answer a dialog; its process is written to.
//! - `clone` is no command of the dialect `pi`, and what refuses an unknown command there has no id: the client waits for
//!   an answer for 30 seconds.
//! - `prompt`, `steer` and whatever else has no data do not look at whether they succeed, nor at what `pi-1` says became
//!   of a prompt.
//! - It takes `agent_end` for the end, also where a run goes on behind it: before another try, and in `pi-1`, where
//!   `agent_settled` is the end, before a compaction. A prompt that it sends then is refused, and it does not notice.
//! - What `pi-1` tells besides is handed on as it comes, but `clear_queue`, `get_entries`, `get_tree`,
//!   `get_available_thinking_levels` and `excludeFromContext` of `bash` have no method and no parameter.
//!
//! Without Node.js or npm nothing is tested, which is told on stderr; `PI_RPC_REQUIRE_PEERS=1` makes that a failure.

use crate::{
    peer_support,
    toolchain_support::{python, run},
};
use std::{env, fs, path::Path, process::Command};

/// What our module for extensions runs on.
const PYTHON: (u32, u32) = (3, 8);

#[test]
fn client_drives_pi() {
    drives("pi");
}

#[test]
fn client_drives_pi_0_73() {
    drives("pi@0.73");
}

#[test]
fn client_drives_pi_1() {
    drives("pi-1");
}

#[track_caller]
fn drives(dialect: &str) {
    let (Some(words), Some(_)) = (peer_support::peer("0.73.1"), python(PYTHON)) else { return };
    let program = fs::canonicalize(&words[0]).unwrap();
    let client = program.with_file_name("modes").join("rpc/rpc-client.js");
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let home = tempfile::tempdir().unwrap();
    let mut node = Command::new("node");
    node.arg(project.join("tests/as_pi/rpc_client/drive.mjs")).arg(client).arg(dialect);
    node.arg(project.join("examples/extensions/ui_check.py"));
    node.env_clear().env("PATH", env::var_os("PATH").unwrap_or_default());
    node.env("HOME", home.path()).env("TMPDIR", home.path()).current_dir(home.path());
    node.env("PI_RPC_BIN", env!("CARGO_BIN_EXE_pi-rpc"));
    run(&mut node).unwrap_or_else(|error| panic!("{error}"));
}
