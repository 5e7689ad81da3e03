//! `pi-rpc check`, the real binary, on recordings of our own server, whole and spoilt.

use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

const PLAIN: &str = include_str!("plain.jsonl");
const XCSH: &str = include_str!("xcsh.jsonl");

#[test]
fn conversation_by_the_rules_passes() {
    let at = Directory::with(&[("plain.jsonl", PLAIN)]);
    let checked = at.check(&["plain.jsonl"], "");
    assert_eq!((checked.status, &*checked.errors), (0, ""));
    assert!(checked.output.starts_with("passed plain.jsonl pi, 2 in, 13 out\n"), "{}", checked.output);
    assert!(!checked.output.contains('\x1b'), "no colour where there is no terminal");
}

#[test]
fn violation_fails_with_excerpt() {
    let at = Directory::with(&[("spoilt.jsonl", &twice(PLAIN, 4))]);
    let report = at.report(&["spoilt.jsonl"], 1);
    let found = &report["subjects"][0]["findings"][0];
    assert_eq!(
        [&found["rule"], &found["record"], &found["kind"], &found["state"]],
        [&json!("run-nesting"), &json!(5), &json!("agent_start"), &json!("streaming.between")]
    );
    let quoted = |quote: &Value| (quote["record"].clone(), quote["marked"].clone());
    let quoted: Vec<_> = found["excerpt"].as_array().unwrap().iter().map(quoted).collect();
    let wanted = [(2, false), (3, false), (4, false), (5, true), (6, false), (7, false)];
    assert_eq!(quoted, wanted.map(|(record, marked)| (json!(record), json!(marked))));
}

#[test]
fn finding_shows_causing_request() {
    let lines: Vec<&str> = PLAIN.lines().collect();
    let late = lines.iter().position(|line| line.contains(r#""agent_end""#)).unwrap();
    let request = r#"{"t":1,"dir":"in","frame":{"id":"far","type":"get_last_assistant_text"}}"#;
    let response = r#"{"t":9,"dir":"out","frame":{"id":"far","type":"response","command":"get_last_assistant_text","success":true}}"#;
    let mut spoilt = lines.clone();
    spoilt.insert(late + 1, response);
    spoilt.insert(2, request);
    let at = Directory::with(&[("spoilt.jsonl", &spoilt.join("\n"))]);
    let report = at.report(&["spoilt.jsonl"], 1);
    let found = &report["subjects"][0]["findings"][0];
    assert_eq!((&found["rule"], &found["record"]), (&json!("schema"), &json!(late + 3)));
    let first = &found["excerpt"][0];
    assert_eq!((&first["record"], &first["cause"]), (&json!(3), &json!(true)));
    assert!(first["text"].as_str().unwrap().contains(r#""id":"far""#), "{first}");
    let told = at.check(&["spoilt.jsonl"], "").output;
    assert!(told.contains("    *  3 in   {\"id\":\"far\""), "{told}");
}

#[test]
fn same_cause_is_reported_once() {
    let lines: Vec<&str> = PLAIN.lines().collect();
    let again = [lines.join("\n"), [lines[15]; 500].join("\n")].join("\n");
    let at = Directory::with(&[("again.jsonl", &again)]);
    let report = at.report(&["again.jsonl"], 1);
    let findings = report["subjects"][0]["findings"].as_array().unwrap();
    assert_eq!(findings.iter().map(|found| found["count"].as_u64().unwrap()).collect::<Vec<_>>(), [500]);
}

#[test]
fn dialect_is_option_or_recorded_or_found() {
    let named = |line: &str| line.replace(r#","dialect":"xcsh""#, "");
    let at = Directory::with(&[("named.jsonl", XCSH), ("unnamed.jsonl", &named(XCSH))]);
    let dialect = |args: &[&str], status| at.report(args, status)["subjects"][0]["dialect"].clone();
    assert_eq!(dialect(&["named.jsonl"], 0), "xcsh");
    // It says `ready`, which pi does not.
    assert_eq!(dialect(&["--dialect", "pi", "named.jsonl"], 3), "pi");
    assert_eq!(dialect(&["unnamed.jsonl"], 0), "xcsh");
    let told = at.report(&["--dialect", "pi", "unnamed.jsonl"], 3)["subjects"][0].clone();
    assert_eq!(told["findings"], json!([]));
    let reason = told["reason"].as_str().unwrap();
    assert!(reason.starts_with("not a recording of pi: line 3, a `ready`, is invalid in pi"), "{reason}");
    assert!(reason.ends_with("; use `--dialect xcsh`"), "{reason}");
}

#[test]
fn stdout_log_is_judged_by_server_rules() {
    let at = Directory::with(&[("stdout.log", &log(PLAIN))]);
    let report = at.report(&["stdout.log"], 0);
    let subject = &report["subjects"][0];
    assert_eq!((&subject["sees"], &subject["framesOut"]), (&json!([]), &json!(13)));
    let host = report["coverage"]["notExercised"].as_array().unwrap();
    assert!(
        host.iter().any(|not| not["rule"] == "resp-once" && not["reason"] == "needs what the host wrote")
    );
    assert!(at.check(&["stdout.log"], "").output.contains("Only what the server wrote was judged"));
}

#[test]
fn stdin_and_directories_are_read() {
    let at = Directory::with(&[("all/b.jsonl", PLAIN), ("all/a.jsonl", PLAIN), ("all/notes.txt", "x")]);
    let checked = at.check(&["--format", "json", "all", "-"], XCSH);
    let report: Value = serde_json::from_str(&checked.output).unwrap();
    let names: Vec<&str> = report["subjects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|subject| subject["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["all/a.jsonl", "all/b.jsonl", "stdin"]);
}

#[test]
fn unreadable_lines_are_reported_and_skipped() {
    let mut lines: Vec<&str> = PLAIN.lines().collect();
    lines.splice(3..3, ["", "{\"t\":1", "{\"t\":1,\"dir\":\"out\"}", "{\"dir\":\"up\",\"frame\":{}}"]);
    let at = Directory::with(&[("broken.jsonl", &lines.join("\n"))]);
    let report = at.report(&["broken.jsonl"], 3);
    let subject = &report["subjects"][0];
    assert_eq!((&subject["outcome"], &subject["framesOut"]), (&json!("error"), &json!(13)));
    let unread: Vec<&Value> =
        subject["unread"].as_array().unwrap().iter().map(|unread| &unread["line"]).collect();
    assert_eq!(unread, [5, 6, 7]);
}

#[test]
fn file_without_records_does_not_pass() {
    let at = Directory::with(&[("empty.jsonl", ""), ("prose.txt", "one\ntwo\n")]);
    let report = at.report(&["empty.jsonl", "prose.txt"], 3);
    let told = |at: usize| report["subjects"][at]["reason"].as_str().unwrap().to_owned();
    assert_eq!([told(0), told(1)], ["the file has no records", "2 lines are not records"]);
}

#[test]
fn lone_surrogates_are_read() {
    let halved = PLAIN.replace("Two words.", r"Two \ud83d");
    let at = Directory::with(&[("half.jsonl", &halved)]);
    assert_eq!(at.report(&["half.jsonl"], 0)["subjects"][0]["framesOut"], 13);
}

#[test]
fn known_failures_pass_and_stale_ones_fail() {
    let known = r#"{"expected":[{"rule":"run-nesting","trace":"spoilt*","why":"we spoilt it"}]}"#;
    let at =
        Directory::with(&[("spoilt.jsonl", &twice(PLAIN, 4)), ("plain.jsonl", PLAIN), ("known.json", known)]);
    let args = |trace| ["--expect", "known.json", trace];
    let report = at.report(&args("spoilt.jsonl"), 0);
    assert_eq!(report["subjects"][0]["findings"][0]["known"], "we spoilt it");
    assert_eq!(at.report(&args("plain.jsonl"), 1)["stale"][0]["why"], "we spoilt it");
}

#[test]
fn report_file_leaves_text_on_stdout() {
    let at = Directory::with(&[("plain.jsonl", PLAIN)]);
    let checked = at.check(&["--format", "junit", "--report", "out.xml", "plain.jsonl"], "");
    assert_eq!(checked.status, 0);
    assert!(checked.output.starts_with("passed plain.jsonl"), "{}", checked.output);
    let written = fs::read_to_string(at.0.path().join("out.xml")).unwrap();
    assert!(written.contains(r#"<testsuite name="plain.jsonl""#), "{written}");
}

#[test]
fn every_rule_is_listed() {
    let at = Directory::with(&[]);
    let table = at.check(&["--list"], "");
    let listed: Value = serde_json::from_str(&at.check(&["--list", "--format", "json"], "").output).unwrap();
    let rules = pi_rpc::machine::Rule::ALL.map(|rule| rule.as_str());
    assert_eq!(table.status, 0);
    for rule in rules {
        assert!(table.output.lines().any(|line| line.split(' ').next() == Some(rule)), "{rule}");
    }
    let names = listed["rules"].as_array().unwrap().iter().map(|rule| rule["rule"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), rules);
}

#[test]
fn invalid_command_line_is_refused() {
    let at = Directory::with(&[("plain.jsonl", PLAIN), ("empty/notes.txt", ""), ("known.json", "{}")]);
    let refused = |args: &[&str]| {
        let checked = at.check(args, "");
        assert_eq!((checked.status, &*checked.output), (2, ""), "{args:?}");
        checked.errors
    };
    assert_eq!(
        refused(&["--dialect", "py", "plain.jsonl"]),
        format!("Error: unknown dialect \"py\"; known: {}\n", Dialect::ALL.map(|it| it.as_str()).join(", "))
    );
    assert_eq!(
        refused(&["plain.jsonl", "nowhere.jsonl"]),
        "Error: nowhere.jsonl: there is no such file or directory\n"
    );
    assert_eq!(refused(&["empty"]), "Error: empty: expected recordings (*.jsonl) in it\n");
    assert_eq!(
        refused(&["--expect", "known.json", "plain.jsonl"]),
        "Error: known.json: expectations, .: missing field `expected` at line 1 column 2\n"
    );
    assert!(refused(&[]).contains("TRACE"));
    assert!(refused(&["--list", "plain.jsonl"]).contains("--list"));
}

/// The recording with the line of this number twice.
fn twice(recording: &str, number: usize) -> String {
    let lines =
        recording.lines().enumerate().flat_map(|(at, line)| vec![line; 1 + usize::from(at + 1 == number)]);
    lines.collect::<Vec<_>>().join("\n")
}

/// What the server wrote, as it wrote it.
fn log(recording: &str) -> String {
    let records = recording.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let written =
        records.filter(|record| record["dir"] == "out").map(|record| format!("{}\n", record["frame"]));
    written.collect()
}

/// A directory with recordings in it.
struct Directory(TempDir);

/// What came of a command.
struct Checked {
    status: i32,
    output: String,
    errors: String,
}

impl Directory {
    fn with(files: &[(&str, &str)]) -> Self {
        let directory = TempDir::new().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(directory)
    }

    fn check(&self, args: &[&str], input: &str) -> Checked {
        let mut child = Command::new(Path::new(env!("CARGO_BIN_EXE_pi-rpc")))
            .arg("check")
            .args(args)
            .env_clear()
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command line that is refused is not read for.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Checked {
            status: output.status.code().unwrap(),
            output: String::from_utf8(output.stdout).unwrap(),
            errors: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The report as JSON, where the command ends like this.
    fn report(&self, args: &[&str], status: i32) -> Value {
        let checked = self.check(&[&["--format", "json"], args].concat(), "");
        assert_eq!((checked.status, &*checked.errors), (status, ""), "{}", checked.output);
        serde_json::from_str(&checked.output).unwrap()
    }
}
