//! The `RpcClient` of omp's own package, of 18.2.3, drives our binary.
//!
//! It negotiates version 2 of the protocol, puts chunks together, reads messages in pages, and serves host tools. What it cannot
//! do: answer a dialog (but for a login), name a session, set todos. It has methods for `handoff`, `set_fast_mode` and
//! `get_subagent_messages`, which this server refuses, and takes `agent_end` for the end whatever `isTerminal` is.
//!
//! The Python client `omp-rpc` is tested nowhere: PyPI has no such package.
//!
//! Without npm nothing is tested, with a note on stderr; `PI_RPC_REQUIRE_PEERS=1` makes that a failure.

use crate::{
    peer_support,
    toolchain_support::{python, run},
};
use std::{env, path::Path, process::Command};

/// What our module for extensions runs on.
const PYTHON: (u32, u32) = (3, 8);

#[test]
fn client_of_omp_drives_omp() {
    let client = peer_support::omp_file("src/modes/rpc/rpc-client.ts");
    let (Some([bun, client]), Some(_)) = (client, python(PYTHON)) else { return };
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(bun);
    command.arg(project.join("tests/as_pi/omp_client/drive.mjs")).arg(client);
    command.arg(env!("CARGO_BIN_EXE_pi-rpc")).arg(project.join("examples/extensions/ui_check.py"));
    command.env_clear().env("PATH", env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home.path()).env("TMPDIR", home.path()).current_dir(home.path());
    run(&mut command).unwrap_or_else(|error| panic!("{error}"));
}
