//! How command lines are read.

use super::*;

fn parsed(line: &str) -> Result<HostOptions, Refusal> {
    parse(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
}

fn session(line: &str) -> SessionStart {
    parsed(line).unwrap().session
}

#[test]
fn session_options_select_their_session() {
    let open = |named: &str| SessionStart::Open(named.to_owned());
    assert_eq!(session("--mode rpc"), SessionStart::New);
    assert_eq!(session("--no-session"), SessionStart::InMemory);
    assert_eq!(session("--continue"), SessionStart::Newest);
    assert_eq!(session("-c --continue"), SessionStart::Newest);
    assert_eq!(session("--session 0a1b"), open("0a1b"));
    assert_eq!(session("--session=a --session ./b.jsonl"), open("./b.jsonl"));
    assert_eq!(session("--fork 0a1b"), SessionStart::Fork("0a1b".to_owned()));
    for resumed in ["--resume 0a1b", "-r 0a1b", "--resume=0a1b", "--resume 0a1b --mode rpc"] {
        assert_eq!(session(resumed), open("0a1b"), "{resumed}");
    }
    for incomplete in ["--resume", "-r --mode rpc", "--resume="] {
        assert_eq!(parsed(incomplete), Err(Refusal(RESUME_REFUSED.to_owned(), 1)), "{incomplete}");
    }
}

#[test]
fn extensions_are_named_one_by_one() {
    let options = parsed("-e a.py --extension ./b -ne --extension=c --confirm-tools bash,write").unwrap();
    assert_eq!(options.extensions, ["a.py", "./b", "c"]);
    assert_eq!(options.confirm_tools, ["bash", "write"]);
    assert!(options.no_extensions && options.ignored.is_empty());
    let missing = Refusal("--extension: a path is missing".to_owned(), super::super::USAGE);
    assert_eq!(parsed("--extension="), Err(missing));
}

#[test]
fn session_dir_combines_with_session_options() {
    for line in ["", "--no-session ", "-c ", "--session a ", "--fork a "] {
        let options = parsed(&format!("{line}--session-dir talks")).unwrap();
        assert_eq!(options.session_dir.as_deref(), Some("talks"), "{line}");
    }
}

#[test]
fn idle_timeout_rounds_up_to_milliseconds() {
    let patience = |text: &str| parsed(&format!("--idle-timeout {text}")).map(|it| it.idle_timeout_ms);
    for (text, millis) in [("0", 0), ("2", 2000), ("0.25", 250), ("0.0001", 1), ("1e9", 1_000_000_000_000)] {
        assert_eq!(patience(text), Ok(Some(millis)), "{text}");
    }
    for wrong in ["", "-1", "NaN", "inf", "1e30", "soon", "5s"] {
        let text = format!("--idle-timeout {wrong}: expected a number of seconds, 0 or above");
        assert_eq!(patience(wrong), Err(Refusal(text, super::super::USAGE)));
    }
}

#[test]
fn sync_policy_is_one_of_three() {
    assert_eq!(parsed("").map(|it| it.sync), Ok(SyncPolicy::None));
    for policy in SyncPolicy::ALL {
        assert_eq!(parsed(&format!("--sync {}", policy.as_str())).map(|it| it.sync), Ok(policy));
    }
    let text = "--sync always: expected none, run or entry".to_owned();
    assert_eq!(parsed("--sync always"), Err(Refusal(text, super::super::USAGE)));
}

#[test]
fn two_session_options_are_refused() {
    let all = ["--no-session", "--continue", "--session", "--fork"];
    let spelled = |option| match option {
        "--session" | "--fork" => format!("{option} x"),
        _ => option.to_owned(),
    };
    for one in all {
        for other in all.into_iter().filter(|other| *other != one) {
            let refused = parsed(&format!("{} {}", spelled(one), spelled(other)));
            let text = format!("{other} cannot be combined with {one}");
            assert_eq!(refused, Err(Refusal(text, 1)));
        }
    }
}
