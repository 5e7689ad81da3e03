//! A program that stands for `pi-rpc serve`, and has its session on a host.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The ways to a host.
pub const TRANSPORTS: [&str; 2] = ["unix", "ws"];

/// Writes the program for this transport into a folder.
pub fn via_host(folder: &Path, transport: &str) -> PathBuf {
    let program = folder.join(format!("via-{transport}"));
    let text = include_str!("via-host.sh").replace("PROGRAM", env!("CARGO_BIN_EXE_pi-rpc"));
    fs::write(&program, text.replace("TRANSPORT", transport)).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    program
}
