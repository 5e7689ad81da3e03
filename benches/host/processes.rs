//! A process for each session, for comparison: ours, and pi's if its tests have installed it.

use crate::{
    Table,
    host::{binary, status},
    megabytes,
};
use serde_json::json;
use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
};

/// Measures the memory of several processes of each server; memory that they share is divided among them.
pub fn measure(table: &mut Table) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut ours = Command::new(binary());
    ours.args(["serve", "--dialect", "pi-1", "--no-session", "--model", "scripted/demo"]);
    row(table, "A process for each session", &mut ours, 50, folder.path());
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target/toolchains/node-tests-peer_support-pi-1.5.2");
    let Some(program) = pi(&root) else {
        println!("pi 1.5.2: not installed; `cargo peers --all` does that");
        return;
    };
    let mut pi = Command::new("node");
    pi.arg(program).args(["--mode", "rpc", "--no-session"]);
    pi.env("PI_OFFLINE", "1").env("PI_SKIP_VERSION_CHECK", "1");
    row(table, "pi 1.5.2, a process for each session", &mut pi, 4, folder.path());
}

/// The program that the package names.
fn pi(root: &Path) -> Option<std::path::PathBuf> {
    let modules = root.join("node_modules");
    let scopes = fs::read_dir(modules).ok()?.flatten();
    let packages = scopes.filter(|it| it.file_name().to_string_lossy().starts_with('@'));
    let packages = packages.flat_map(|scope| fs::read_dir(scope.path()).into_iter().flatten().flatten());
    packages.map(|package| package.path()).find_map(|package| {
        let text = fs::read_to_string(package.join("package.json")).ok()?;
        let about: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(package.join(about["bin"]["pi"].as_str()?))
    })
}

fn row(table: &mut Table, what: &str, command: &mut Command, count: usize, folder: &Path) {
    command.current_dir(folder).env("HOME", folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut processes = Vec::new();
    for _ in 0..count {
        match started(command) {
            Some(process) => processes.push(process),
            None => return println!("{what}: it does not answer"),
        }
    }
    let sum: f64 = processes.iter().map(|it| status(it.id(), "smaps_rollup", "Pss") * 1024.0).sum();
    table.row(&format!("{what}: memory of each, of {count}"), &megabytes(sum / count as f64), "");
    for mut process in processes {
        let _ = process.kill();
        let _ = process.wait();
    }
}

/// Starts a process that has answered once.
fn started(command: &mut Command) -> Option<Child> {
    let mut child = command.spawn().ok()?;
    writeln!(child.stdin.as_mut()?, "{}", json!({ "type": "get_state", "id": "s" })).ok()?;
    let mut lines = BufReader::new(child.stdout.take()?);
    let mut line = String::new();
    while lines.read_line(&mut line).ok()? > 0 {
        if line.contains("\"get_state\"") {
            child.stdout = Some(lines.into_inner());
            return Some(child);
        }
        line.clear();
    }
    None
}
