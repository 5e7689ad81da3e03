//! What the program says of its own command line: completions, manual, version.

use std::{fs, path::Path, process::Command};

const PROGRAM: &str = env!("CARGO_BIN_EXE_pi-rpc");

/// What bash would offer for the last word of a command line.
fn bash_offers(words: &[&str]) -> Vec<String> {
    let script = "source <(\"$PROGRAM\" completions bash)
        COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
        handler=$(complete -p pi-rpc | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        \"$handler\" pi-rpc \"${!#}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"
        printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    let output = bash.args(["-c", script, "bash"]).args(words).env("PROGRAM", PROGRAM).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut offers: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    offers.sort();
    offers
}

#[test]
fn bash_completes_commands_options_and_values() {
    assert_eq!(bash_offers(&["pi-rpc", "doc"]), ["docs", "doctor"]);
    assert_eq!(bash_offers(&["pi-rpc", "serve", "--no-se"]), ["--no-session"]);
    assert_eq!(bash_offers(&["pi-rpc", "host", "--dialect", "xc"]), ["xcsh"]);
    assert_eq!(bash_offers(&["pi-rpc", "conform", "--form"]), ["--format"]);
}

#[test]
fn every_shell_has_completions() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = Command::new(PROGRAM).args(["completions", shell]).output().unwrap();
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && script.contains("no-session"), "{shell}");
    }
}

#[test]
fn manual_has_page_per_subcommand() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man/man1");
    let status = Command::new(PROGRAM).arg("man").arg(&pages).output().unwrap().status;
    assert!(status.success());
    let page = |name: &str| fs::read_to_string(pages.join(name)).unwrap();
    assert!(page("pi-rpc.1").contains("pi\\-rpc\\-doctor(1)"));
    let serve = page("pi-rpc-serve.1");
    for part in ["\\-\\-session\\-dir", ".SH LIMITS", "Refuse longer lines of the host"] {
        assert!(serve.contains(part), "{part}");
    }
    assert!(!Path::new(&pages).join("pi-rpc-strip-types.1").exists());
}

#[test]
fn version_names_commit_target_and_dialects() {
    let output = Command::new(PROGRAM).arg("--version").output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = printed.lines().collect();
    let subjects: Vec<&str> = lines.iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(subjects, [env!("CARGO_PKG_VERSION"), "commit", "target", "dialects"]);
    assert!(lines[3].contains("pi-1 "), "{printed}");
}

#[test]
fn original_prints_bare_version() {
    let folder = tempfile::tempdir().unwrap();
    let pi = folder.path().join("pi");
    std::os::unix::fs::symlink(PROGRAM, &pi).unwrap();
    let output = Command::new(pi).arg("--version").output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{}\n", env!("CARGO_PKG_VERSION")));
}
