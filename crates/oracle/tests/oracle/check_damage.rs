//! Damaged recordings are judged as far as they can be read.

use pi_rpc_oracle::{
    JudgeOptions,
    report::{Outcome, Report, Subject},
};
use proptest::prelude::*;
use std::io::{self, BufReader, Read};

const PLAIN: &str = include_str!("../../../../tests/oracle/plain.jsonl");

fn judged(bytes: &[u8]) -> Subject {
    JudgeOptions { dialect: None, timeline: true }.judge("damaged", bytes)
}

proptest! {
    #[test]
    fn bytes_that_were_changed_stop_nothing(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let mut bytes = PLAIN.as_bytes().to_owned();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let subject = judged(&bytes);
        let is_error = subject.outcome == Outcome::Error;
        prop_assert_eq!(is_error, !subject.unread.is_empty());
        let report = Report::new(vec![subject], Default::default(), pi_rpc_protocol::Tier::Observed);
        prop_assert!(report.to_junit().is_ok());
        prop_assert!(serde_json::to_string(&report).is_ok());
        prop_assert!(report.to_human().len() < report.to_page().len());
    }

    #[test]
    fn arbitrary_bytes_are_no_recording(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let subject = judged(&bytes);
        prop_assert!(subject.reason.is_some() || subject.frames_out > 0);
    }
}

#[test]
fn truncated_recording_is_judged_to_its_end() {
    struct Breaks;
    impl Read for Breaks {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let from = BufReader::new(PLAIN.as_bytes().chain(Breaks));
    let subject = JudgeOptions::default().judge("half", from);
    assert_eq!(
        (subject.outcome, subject.frames_out, subject.reason.as_deref()),
        (Outcome::Error, 13, Some("reading failed: the disk is gone"))
    );
}

#[test]
fn overlong_line_is_reported_and_skipped() {
    let reading = JudgeOptions::default();
    let whole = reading.judge("plain", PLAIN.as_bytes());
    let longest = PLAIN.lines().map(str::len).max().unwrap();
    assert_eq!(reading.judge_within("plain", PLAIN.as_bytes(), longest).frames_out, whole.frames_out);
    let long = "x".repeat(longest + 1);
    for (text, line) in
        [(format!("{long}\n{PLAIN}"), 1), (format!("{PLAIN}{long}"), PLAIN.lines().count() as u64 + 1)]
    {
        let subject = reading.judge_within("long", BufReader::with_capacity(100, text.as_bytes()), longest);
        let told: Vec<_> = subject.unread.iter().map(|it| (it.line, it.reason.as_str())).collect();
        let reason = format!("{} bytes, expected at most {longest}", longest + 1);
        assert_eq!(told, [(line, reason.as_str())]);
        assert_eq!((subject.outcome, subject.frames_out), (Outcome::Error, whole.frames_out));
    }
}

#[test]
fn log_may_begin_with_prose() {
    let log = "Starting…\n{\"type\":\"agent_start\"}\n";
    let subject = judged(log.as_bytes());
    assert_eq!((subject.frames_out, subject.sees.len()), (2, 0));
}

#[test]
fn first_ten_unreadable_lines_are_reported() {
    let log = format!("{}{}", PLAIN, "{\"t\":\n".repeat(30));
    let subject = judged(log.as_bytes());
    assert_eq!(subject.unread.len(), 10);
    assert_eq!(subject.reason.as_deref(), Some("30 lines are not records"));
}

#[test]
fn cut_last_line_is_remarked() {
    let whole = judged(PLAIN.trim_end().as_bytes());
    assert_eq!((whole.outcome, whole.remarks.len()), (Outcome::Passed, 0));
    let last = PLAIN.trim_end().rfind('\n').unwrap() + 1;
    let lines = PLAIN.lines().count();
    for at in [last + 1, last + 9, PLAIN.trim_end().len() - 1] {
        let cut = judged(&PLAIN.as_bytes()[..at]);
        assert_eq!((cut.outcome, cut.unread.len()), (Outcome::Passed, 0), "{at}");
        assert_eq!(cut.remarks, [format!("line {lines}, the last, was cut off, and is left out")]);
    }
    let log = "{\"type\":\"agent_start\"}\n{\"type\":\"turn_st";
    let cut = judged(log.as_bytes());
    assert_eq!((cut.outcome, cut.findings.len()), (Outcome::Passed, 0));
    assert!(
        cut.remarks.contains(&"line 2, the last, was cut off, and is left out".to_owned()),
        "{:?}",
        cut.remarks
    );
    // What is no beginning of a record, and what stands within the recording, is wrong.
    assert_eq!(judged(format!("{PLAIN}nonsense").as_bytes()).outcome, Outcome::Error);
    assert_eq!(judged(format!("{PLAIN}{{\"t\":\n{PLAIN}").as_bytes()).outcome, Outcome::Error);
}
