//! The SDK for Python: generated from the schema as it is, well typed, and good in the shared conversations.

use crate::{
    toolchain_support::{environment, run, slowness},
    via_host_support::{TRANSPORTS, via_host},
};
use std::{path::Path, process::Command};

const SDK: &str = "sdk/python";

/// Python with what the SDK needs, in its folder; what it keeps goes below `target`.
pub fn python() -> Option<Command> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join(SDK);
    let mut python = Command::new(environment("sdk/python/requirements.txt")?);
    python.current_dir(home.join("tests"));
    python.env("PYTHONPATH", &home).env("PYTHONDONTWRITEBYTECODE", "1");
    python.env("MYPY_CACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("mypy-sdk"));
    python.env("PI_RPC_BIN", env!("CARGO_BIN_EXE_pi-rpc")).env("PI_RPC_SLOWNESS", slowness().to_string());
    Some(python)
}

#[track_caller]
pub fn passes(python: &mut Command) {
    if let Err(complaint) = run(python) {
        panic!("{complaint}");
    }
}

#[test]
fn python_sdk_is_current() {
    let Some(mut python) = python() else { return };
    passes(python.args(["../generate.py", env!("CARGO_BIN_EXE_pi-rpc"), "--check"]));
}

#[test]
fn the_python_sdk_is_well_typed() {
    let Some(mut python) = python() else { return };
    passes(python.args(["-m", "mypy"]).current_dir(SDK));
}

#[test]
fn the_python_sdk_passes_its_own_tests() {
    let Some(mut python) = python() else { return };
    passes(python.args(["-X", "dev", "-W", "error::ResourceWarning", "-m", "unittest", "discover"]));
}

#[test]
fn python_conversations_pass_over_attach() {
    let dir = tempfile::tempdir().unwrap();
    // One client for each transport takes half the time; `python_sdk_passes_conversations` plays both without a host.
    let clients: [&str; TRANSPORTS.len()] = ["*_async", "*_sync"];
    for (transport, client) in TRANSPORTS.into_iter().zip(clients) {
        let Some(mut python) = python() else { return };
        python.env("PI_RPC_BIN", via_host(dir.path(), transport));
        passes(python.args(["-m", "unittest", "-k", client, "play_conversations"]));
    }
}

#[test]
fn python_sdk_passes_conversations() {
    let Some(mut python) = python() else { return };
    passes(python.args(["-W", "error::ResourceWarning", "-m", "unittest", "play_conversations"]));
}
