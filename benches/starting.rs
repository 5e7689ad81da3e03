//! Cost of starting a server, from its start to its first response: `cargo bench --bench starting`. Before the
//! times, prints the memory that an idle server holds.
//!
//! With one of pi's own extensions it should take as long as Node itself, and at most 20 ms more; Node is that of
//! `PI_RPC_NODE`, else of `PATH`.

use divan::Bencher;
use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
};

fn main() {
    let dir = tempfile::tempdir().unwrap();
    configure(dir.path());
    for (name, options) in [("demo", DEMO), ("configured", CONFIGURED)] {
        let (mut child, answer) = started(dir.path(), options);
        assert!(answer.contains("success"), "{answer}");
        println!("{name}: {}", memory(&child));
        let _ = child.kill();
        let _ = child.wait();
    }
    divan::main();
}

/// Options for the scripted model.
const DEMO: &[&str] = &["--model", "scripted/demo"];

/// Options for a model of [`MODELS`].
const CONFIGURED: &[&str] = &["--provider", "fake", "--model", "fake-1"];

const MODELS: &str = r#"{"providers": {"fake": {
  "baseUrl": "http://127.0.0.1:9", "apiKey": "key", "api": "anthropic-messages", "models": [{"id": "fake-1"}, {"id": "fake-2"}]
}}}"#;

const EXTENSION: &str = "export default (pi) => {
  pi.registerCommand('hi', { handler: async (_, ctx) => ctx.ui.notify('hi') });
};
";

#[divan::bench(sample_count = 40, sample_size = 1)]
fn node_alone() {
    let node = env::var_os("PI_RPC_NODE").unwrap_or("node".into());
    let status = Command::new(node).args(["-e", "0"]).status();
    assert!(status.is_ok_and(|status| status.success()), "there is no Node");
}

#[divan::bench(sample_count = 40, sample_size = 1)]
fn server_without_extensions(bencher: Bencher<'_, '_>) {
    let dir = tempfile::tempdir().unwrap();
    bencher.bench_local(|| first_response(dir.path(), DEMO));
}

#[divan::bench(sample_count = 40, sample_size = 1)]
fn server_with_a_configured_provider(bencher: Bencher<'_, '_>) {
    let dir = tempfile::tempdir().unwrap();
    configure(dir.path());
    bencher.bench_local(|| first_response(dir.path(), CONFIGURED));
}

#[divan::bench(sample_count = 40, sample_size = 1)]
fn server_with_an_extension(bencher: Bencher<'_, '_>) {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("hi.mjs"), EXTENSION).unwrap();
    // The program is unpacked only once.
    let answer = first_response(dir.path(), &[DEMO, &["-e", "hi.mjs"]].concat());
    assert!(answer.contains("\"hi\""), "{answer}");
    bencher.bench_local(|| first_response(dir.path(), &[DEMO, &["-e", "hi.mjs"]].concat()));
}

/// Configures a provider.
fn configure(home: &Path) {
    fs::create_dir_all(home.join(".pi/agent")).unwrap();
    fs::write(home.join(".pi/agent/models.json"), MODELS).unwrap();
}

/// Time from the start of the binary to its first response, which comes when every extension has registered.
fn first_response(directory: &Path, options: &[&str]) -> String {
    let (mut child, answer) = started(directory, options);
    // The exit is not measured.
    let _ = child.kill();
    let _ = child.wait();
    answer
}

fn started(directory: &Path, options: &[&str]) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pi-rpc"))
        .args(["serve", "--no-session"])
        .args(options)
        .current_dir(directory)
        .env("HOME", directory)
        .env("XDG_CACHE_HOME", directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(b"{\"type\":\"get_commands\"}\n").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
    (child, answer)
}

/// Resident memory, and its private part; the rest is the binary, which processes share.
fn memory(child: &Child) -> String {
    let told = fs::read_to_string(format!("/proc/{}/smaps_rollup", child.id())).unwrap_or_default();
    let lines = told.lines().filter(|line| line.starts_with("Rss:") || line.starts_with("Private_Dirty:"));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(", ")
}
