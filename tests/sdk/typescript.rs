//! The TypeScript SDK: what is generated is what the export says, it compiles, and it holds the conversations.

use crate::{
    toolchain_support::{packages, run},
    via_host_support::{TRANSPORTS, via_host},
};
use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

const SDK: &str = "sdk/typescript";

/// The folder of the package as people have it, compiled; `None`: no Node.js.
pub fn built() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let build = || {
        let home = packages(SDK)?;
        let package = home.join("package");
        // Nothing of former sources may be left to be imported.
        let _ = fs::remove_dir_all(&package);
        fs::create_dir_all(&package).unwrap();
        fs::copy(source().join("package.json"), package.join("package.json")).unwrap();
        let mut tsc = Command::new("node");
        tsc.arg(home.join("node_modules/typescript/bin/tsc")).arg("--project").arg(source());
        tsc.arg("--typeRoots")
            .arg(home.join("node_modules/@types"))
            .arg("--outDir")
            .arg(package.join("dist"));
        run(&mut tsc).unwrap_or_else(|error| panic!("{error}"));
        Some(package)
    };
    BUILT.get_or_init(build).as_deref()
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(SDK)
}

/// The path to programs with ours in front.
fn path() -> String {
    let own = Path::new(env!("CARGO_BIN_EXE_pi-rpc")).parent().expect("a folder");
    format!("{}:{}", own.display(), env::var("PATH").unwrap_or_default())
}

#[test]
fn typescript_sdk_is_current() {
    if packages(SDK).is_none() {
        return;
    }
    let made = tempfile::tempdir().unwrap();
    let mut generate = Command::new("node");
    generate.arg(source().join("generate.mjs")).arg(env!("CARGO_BIN_EXE_pi-rpc")).arg(made.path());
    run(&mut generate).unwrap_or_else(|error| panic!("{error}"));
    let (made, kept) = (files(made.path()), files(&source().join("src/generated")));
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&made), names(&kept));
    for (name, text) in made {
        assert!(kept[&name] == text, "{name} is not up to date: node {SDK}/generate.mjs target/debug/pi-rpc");
    }
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let text = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
    };
    entries.map(text).collect()
}

/// Runs one file of the package's tests.
fn passes(file: &str) {
    passes_with(file, Path::new(env!("CARGO_BIN_EXE_pi-rpc")));
}

/// Runs one file of the package's tests with this program as server.
fn passes_with(file: &str, program: &Path) {
    let Some(package) = built() else { return };
    let mut node = Command::new("node");
    node.arg("--test").arg(package.join("dist/test").join(file));
    node.env("PI_RPC_BIN", program);
    node.env("PI_RPC_CONVERSATIONS", source().join("../conversations"));
    run(&mut node).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn typescript_client_passes_every_conversation() {
    passes("conversations.test.js");
}

#[test]
fn typescript_conversations_pass_over_attach() {
    let dir = tempfile::tempdir().unwrap();
    for transport in TRANSPORTS {
        passes_with("conversations.test.js", &via_host(dir.path(), transport));
    }
}

#[test]
fn lines_are_lines() {
    passes("framing.test.js");
}

#[test]
fn typescript_client_speaks_both_versions_of_omp() {
    passes("omp.test.js");
}

#[test]
fn runs_are_over_when_nothing_follows() {
    passes("runs.test.js");
}

#[test]
fn runs_end_when_server_reports_it() {
    passes("settled.test.js");
}

#[test]
fn calls_have_their_answers() {
    passes("calls.test.js");
}

#[test]
fn session_state_follows_frames() {
    passes("session.test.js");
}

#[test]
fn dialogs_and_tools_are_answered() {
    passes("asks.test.js");
}

#[test]
fn nothing_is_lost_and_nothing_is_left() {
    passes("limits.test.js");
}

#[test]
fn readme_program_runs_unchanged() {
    let Some(package) = built() else { return };
    let readme = fs::read_to_string(source().join("README.md")).unwrap();
    let program =
        readme.split("```js\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a program");
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("node_modules")).unwrap();
    symlink(package, folder.path().join("node_modules/pi-rpc-client")).unwrap();
    fs::write(folder.path().join("first.mjs"), program).unwrap();
    let mut node = Command::new("node");
    node.arg("first.mjs").current_dir(folder.path()).env("HOME", folder.path()).env("PATH", path());
    let said = run(&mut node).unwrap_or_else(|error| panic!("{error}"));
    assert!(said.contains("[bash]\nYou wrote") && said.ends_with("4 messages"), "{said}");
}
