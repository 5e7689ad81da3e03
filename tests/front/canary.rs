//! `pi-rpc canary` with this server alone; `cargo peers --all` plays releases of npm.

use std::{fs, path::Path, process::Command};

const BINARY: &str = env!("CARGO_BIN_EXE_pi-rpc");

/// Starts the agent by the variable PI, and prompts; `read` handles each line of it.
const CLIENT: &str = r#"
rm -f in out && mkfifo in out
"$PI" --mode rpc --no-session < in > out &
exec 3> in 4< out
echo '{"id":"1","type":"prompt","message":"Hello"}' >&3
while read -r line <&4; do
"#;

struct Canary {
    status: Option<i32>,
    text: String,
    junit: String,
}

/// Plays a client that does `body` with each line, in the variable `line`.
fn canary(body: &str, options: &[&str]) -> Canary {
    let folder = tempfile::tempdir().unwrap();
    played(folder.path(), &format!("{CLIENT}{body}\ndone\nexit 1"), options)
}

fn played(folder: &Path, script: &str, options: &[&str]) -> Canary {
    let junit = folder.join("canary.xml");
    let mut command = Command::new(BINARY);
    command
        .current_dir(folder)
        .env_remove("PI_RPC_DIALECT")
        .args(["canary", "--last", "0", "--junit"])
        .arg(&junit);
    command.arg("--cache").arg(folder.join("cache")).args(options).args(["--", "sh", "-c", script]);
    let output = command.output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Canary { status: output.status.code(), text, junit: fs::read_to_string(junit).unwrap_or_default() }
}

/// Ends at the end of the run.
const ENDS: &str = r#"case $line in *'"type":"agent_end"'*) exit 0 ;; esac"#;

#[test]
fn tolerant_client_passes_with_all_hazards() {
    let canary = canary(ENDS, &[]);
    assert_eq!(canary.status, Some(0), "{}", canary.text);
    assert!(canary.text.contains("2 of 2 passed"), "{}", canary.text);
    assert!(canary.junit.contains(r#"tests="2" skipped="0" failures="0""#), "{}", canary.junit);
}

#[test]
fn snapshot_reader_has_frame_and_cure() {
    let body = r#"case $line in
    *'"type":"message_update"'*'"message":{'*) shown=yes ;;
    *'"type":"agent_end"'*) [ "$shown" = yes ]; exit ;;
    esac"#;
    let canary = canary(body, &["--hazard", "none", "--speak", "pi"]);
    assert_eq!(canary.status, Some(1), "{}", canary.text);
    assert!(canary.text.contains("frames that pi does not have, the first of each type:"), "{}", canary.text);
    assert!(
        canary.text.contains("it passes behind the front: pi-rpc front --speak pi --server-dialect pi-1"),
        "{}",
        canary.text
    );
    assert!(canary.junit.contains(r#"failures="1""#), "{}", canary.junit);
}

#[test]
fn hazard_that_breaks_client_is_named() {
    let body = format!("case $line in *'\"type\":\"hazard_'*) exit 1 ;; esac\n{ENDS}");
    let canary = canary(&body, &["--hazard", "chunks,unknown-events"]);
    assert_eq!(canary.status, Some(1), "{}", canary.text);
    let has = |start: &str, end: &str| {
        canary.text.lines().any(|line| line.starts_with(start) && line.contains(end))
    };
    assert!(has("passed", "with chunks "), "{}", canary.text);
    assert!(has("FAILED", "with unknown-events "), "{}", canary.text);
}

#[test]
fn client_that_starts_no_agent_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let canary = played(folder.path(), "exit 0", &[]);
    assert_eq!(canary.status, Some(3), "{}", canary.text);
    assert!(canary.text.contains("the client never started pi"), "{}", canary.text);
}
