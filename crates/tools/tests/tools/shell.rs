//! Running commands as the protocol's own `bash` command does: cleaned output, and the working directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tools_support::{Place, within};
use pi_rpc_tools::{CommandEnd, ShellOptions, ShellOutcome, run_shell};

fn place() -> Place {
    Place { shell: ShellOptions::for_command(), ..Place::new() }
}

async fn shell(place: &Place, command: &str) -> ShellOutcome {
    within(run_shell(command, place.dir.path(), &place.shell, place.control())).await.unwrap()
}

#[tokio::test]
async fn output_is_cleaned() {
    let place = place();
    for (command, shown) in [
        ("printf '\\033[1;31mred\\033[0m\\r\\n\\tx'", "red\n\tx"),
        ("printf 'a\\007\\010\\000b\\177'", "ab"),
        ("printf '\\033]0;title\\007text'", "text"),
        ("printf '\\033]8;;http://x\\033\\\\link\\033]8;;\\033\\\\'", "link"),
        ("printf 'caf\\351 \\357\\277\\271\\357\\277\\272\\357\\277\\273.'", "caf\u{FFFD} ."),
        ("printf 'h\\303\\251 \\303'", "hé \u{FFFD}"),
        // A sequence that nobody ends takes its line with it, not everything.
        ("printf 'a\\033]lost\\nb\\033[3\\nc'", "a\nb\nc"),
    ] {
        let outcome = shell(&place, command).await;
        assert_eq!(outcome.truncation.content, shown, "{command}");
        assert_eq!(outcome.ending, CommandEnd::Exited(0));
    }
}

#[tokio::test]
async fn cut_output_is_in_a_file() {
    let mut place = place();
    place.shell.limits.ignores_final_feed = true;
    for count in [5000, 20_000] {
        let outcome = shell(&place, &format!("seq {count}")).await;
        let cut = &outcome.truncation;
        assert!(cut.content.starts_with(&format!("{}\n", count - 1999)), "{count}");
        assert!(cut.content.ends_with(&format!("\n{count}")), "{count}");
        assert_eq!((cut.total_lines, cut.output_lines), (count, 2000));
        let full = std::fs::read_to_string(remove_later(&outcome).0.as_path()).unwrap();
        assert_eq!(full.lines().count() as u64, count);
    }
    // Many escape sequences, little text: not truncated, yet a file, with the cleaned text.
    let outcome = shell(
        &place,
        "for i in $(seq 1500); do printf '\\033[38;2;255;255;255;48;2;1;1;1mx\\033[0m\\n'; done",
    )
    .await;
    assert!(!outcome.truncation.truncated);
    let full = std::fs::read_to_string(remove_later(&outcome).0.as_path()).unwrap();
    assert_eq!(full, outcome.truncation.content);
}

#[tokio::test]
async fn exit_signal_and_abort_are_distinguished() {
    let place = place();
    for (command, ending) in [
        ("exit 3", CommandEnd::Exited(3)),
        ("", CommandEnd::Exited(0)),
        ("kill -9 $$", CommandEnd::Signalled(9)),
    ] {
        assert_eq!(shell(&place, command).await.ending, ending);
    }
    assert_eq!(CommandEnd::Signalled(9).exit_code(), Some(137));
    place.cancel.cancel();
    let outcome = shell(&place, "echo never").await;
    assert_eq!((outcome.ending, outcome.truncation.total_bytes), (CommandEnd::Cancelled, 0));
    assert_eq!(outcome.truncation.total_lines, 1);
}

#[tokio::test]
async fn late_output_of_a_pipeline_is_kept() {
    let place = place();
    // It is waited for only briefly, which on a busy machine may once be too short.
    for _ in 0..1000 {
        if shell(&place, "echo late > >(cat)").await.truncation.content == "late\n" {
            return;
        }
    }
    panic!("late output is lost");
}

#[tokio::test]
async fn programs_of_agent_precede_path() {
    let mut place = place();
    let programs = place.dir.path().join("bin");
    std::fs::create_dir(&programs).unwrap();
    let program = programs.join("ls");
    // Written by a process of its own: what other tests start inherits our descriptors for a moment, and a file that
    // somebody writes cannot be executed.
    let script = r##"printf '#!/bin/sh\necho ours\n' > "$0" && chmod +x "$0""##;
    assert!(Command::new("sh").args(["-c", script]).arg(&program).status().unwrap().success());
    place.shell.programs = Some(programs);
    assert_eq!(shell(&place, "ls; echo there | cat").await.truncation.content, "ours\nthere\n");
}

#[tokio::test]
async fn a_prefix_goes_before_the_command() {
    let mut place = place();
    place.shell.prefix = Some("shopt -s expand_aliases\nalias hi='echo hello'".into());
    assert_eq!(shell(&place, "hi").await.truncation.content, "hello\n");
}

#[tokio::test]
async fn command_finds_agent_and_session() {
    let mut place = place();
    let names = "$AI_AGENT,$PI_CODING_AGENT,$PI_SESSION_ID,$PI_MODEL";
    let outcome = shell(&place, &format!("echo {names}")).await;
    assert_eq!(outcome.truncation.content, "pi,true,,\n");
    place.shell.variables = vec![("PI_SESSION_ID", "s1".to_owned()), ("PI_MODEL", "oak".to_owned())];
    let outcome = shell(&place, &format!("echo {names}")).await;
    assert_eq!(outcome.truncation.content, "pi,true,s1,oak\n");
}

#[tokio::test]
async fn the_directory_is_reported_in_silence() {
    let mut place = place();
    place.shell.keeps_directory = true;
    let odd = "it's a \"dir\"";
    std::fs::create_dir_all(place.path(odd)).unwrap();
    let home = place.dir.path().canonicalize().unwrap();
    for wanted in [None, Some("/bin/sh")] {
        place.shell.shell = wanted.map(PathBuf::from);
        let cases: [(&str, &str, i32, Option<&Path>); 8] = [
            ("true", "", 0, Some(&home)),
            ("cd /usr; echo there", "there\n", 0, Some(Path::new("/usr"))),
            ("cd /usr; exit 3", "", 3, Some(Path::new("/usr"))),
            ("(cd /usr); false", "", 1, Some(&home)),
            ("set -eC; cd /usr; false; echo not", "", 1, Some(Path::new("/usr"))),
            ("cd \"it's a \\\"dir\\\"\"", "", 0, Some(&home.join(odd))),
            ("env | grep -c BASH_ENV", "0\n", 1, Some(&home)),
            ("cd /usr; exec true", "", 0, None),
        ];
        for (command, output, code, directory) in cases {
            let outcome = shell(&place, command).await;
            assert_eq!(outcome.truncation.content, output, "{command}");
            assert_eq!(outcome.ending, CommandEnd::Exited(code), "{command}");
            assert_eq!(outcome.directory.as_deref(), directory, "{command}");
        }
    }
    place.shell.shell = None;
    let outcome = shell(&place, "set -x; cd /usr").await;
    assert_eq!(outcome.truncation.content, "+ cd /usr\n");
    let outcome = shell(&place, "nosuchcommand_xyz").await;
    assert_eq!(outcome.truncation.content, "/bin/bash: line 1: nosuchcommand_xyz: command not found\n");
}

/// Removes the file of the full output in the end.
fn remove_later(outcome: &ShellOutcome) -> RemoveLater {
    RemoveLater(outcome.full_output_path.clone().expect("a file"))
}

struct RemoveLater(PathBuf);

impl Drop for RemoveLater {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
