//! Judgement of recordings by `pi-rpc check`, as the message of a test.

use serde::Deserialize;
use std::{
    ffi::OsStr,
    fmt::{self, Write as _},
    path::PathBuf,
    process::{Command, Stdio},
};

/// The hazard that breaks a SHOULD, and its rule: that of the server is no failure then.
pub const EARLY_EVENTS: &str = "early-events";
const BENT: &str = "ack-before-start";

/// A recording to judge.
#[derive(Debug)]
pub struct JudgedRecording {
    pub recording: PathBuf,
    /// Whether its server has the hazard that breaks a SHOULD.
    pub has_early_events: bool,
}

/// A client or its server has broken rules of the protocol, or nothing shows that they have kept them.
#[derive(Debug)]
pub struct JudgementError(String);

impl fmt::Display for JudgementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for JudgementError {}

/// The part of a report (`pi-rpc schema --format report`) that is shown.
#[derive(Deserialize)]
struct Report {
    subjects: Vec<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    name: String,
    outcome: String,
    reason: Option<String>,
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    rule: String,
    tier: String,
    sentence: String,
    count: u64,
    kind: String,
    state: String,
    expected: String,
    difference: Option<Difference>,
    excerpt: Vec<Quote>,
}

#[derive(Deserialize)]
struct Difference {
    pointer: String,
    expected: String,
    got: String,
}

#[derive(Deserialize)]
struct Quote {
    record: u64,
    direction: String,
    text: String,
    marked: bool,
    #[serde(default)]
    cause: bool,
}

/// Judges both sides of recordings: a MUST or a SHOULD that is broken is an error.
pub fn judge(program: &OsStr, judged: &[JudgedRecording]) -> Result<(), JudgementError> {
    if let Some(missing) = judged.iter().map(|it| &it.recording).find(|recording| !recording.exists()) {
        let text = format!(
            "no conversation to judge: the server of {} was not started (`leave_out` leaves it out)",
            missing.display()
        );
        return Err(JudgementError(text));
    }
    if judged.is_empty() {
        return Ok(());
    }
    let mut check = Command::new(program);
    check
        .args(["check", "--format", "json"])
        .args(judged.iter().map(|it| &it.recording))
        .stdin(Stdio::null());
    let name = program.to_string_lossy();
    let done = check.output().map_err(|error| JudgementError(format!("{name} check: {error}")))?;
    if done.status.success() {
        return Ok(());
    }
    let report = serde_json::from_slice::<Report>(&done.stdout).map_err(|_| {
        let stderr = String::from_utf8_lossy(&done.stderr);
        JudgementError(format!("{name} check ends with {}: {}", done.status, stderr.trim()))
    })?;
    let mut text = String::new();
    for (subject, judged) in report.subjects.iter().zip(judged) {
        // Nothing fails in a text.
        let _ = write_subject(&mut text, subject, judged.has_early_events);
    }
    if text.is_empty() { Ok(()) } else { Err(JudgementError(text)) }
}

/// What is wrong in one recording.
fn write_subject(text: &mut String, subject: &Subject, has_early_events: bool) -> fmt::Result {
    let broken: Vec<_> = subject.findings.iter().filter(|finding| finding.tier != "OBSERVED").collect();
    let is_excused = |finding: &Finding| has_early_events && finding.rule == BENT;
    let is_fine = match subject.outcome.as_str() {
        "passed" => true,
        "failed" => !broken.is_empty() && broken.iter().all(|finding| is_excused(finding)),
        _ => false,
    };
    if is_fine {
        return Ok(());
    }
    for finding in broken.into_iter().filter(|finding| !is_excused(finding)) {
        let times = if finding.count > 1 { format!(" ({} times)", finding.count) } else { String::new() };
        writeln!(text, "{} {}{times}: {}", finding.tier, finding.rule, finding.sentence)?;
        writeln!(text, "  {} while {}: {}", finding.kind, finding.state, finding.expected)?;
        // Without a pointer it says what the line above has said.
        if let Some(Difference { pointer, expected, got }) = &finding.difference
            && !pointer.is_empty()
        {
            writeln!(text, "  {pointer}: expected {expected}, got {got}")?;
        }
        for Quote { record, direction, text: quoted, marked, cause } in &finding.excerpt {
            let mark = if *marked {
                '>'
            } else if *cause {
                '*'
            } else {
                ' '
            };
            let side = match direction.as_str() {
                "in" => "client",
                "out" => "server",
                other => other,
            };
            writeln!(text, "  {mark} {record} {side}: {quoted}")?;
        }
    }
    if let Some(reason) = &subject.reason {
        writeln!(text, "the conversation is not judged: {reason}")?;
    }
    writeln!(text, "recording: {}", subject.name)
}
