//! Recordings for the oracle: any recording has a verdict, always the same one, and a record that was read
//! and is written again reads the same.

use pi_rpc::oracle::{Body, JudgeOptions, Record, TraceWriter, read_record};
use serde_json::value::RawValue;

/// The input is a recording.
pub fn check(data: &[u8]) {
    let judge = |data: &[u8], timeline| JudgeOptions { dialect: None, timeline }.judge("fuzzed", data);
    let (once, again) = (judge(data, true), judge(data, false));
    assert_eq!(
        format!("{:?}", once.findings),
        format!("{:?}", again.findings),
        "with and without a timeline"
    );
    serde_json::to_vec(&once).expect("a judgement is JSON");
    // If every line is a record, judging the same records again has the same findings.
    let lines: Option<Vec<Record<'_>>> = data
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.trim_ascii().is_empty())
        .map(|line| read_record(str::from_utf8(line).ok()?).ok())
        .collect();
    for record in lines.unwrap_or_default() {
        written(&record);
    }
}

fn written(record: &Record<'_>) {
    let mut writer = TraceWriter::new(Vec::new());
    writer.write(record).expect("memory takes everything");
    let line = writer.into_inner();
    let text = str::from_utf8(&line).expect("a record is UTF-8");
    let again = read_record(text).expect("what was written is a record");
    assert_eq!((again.direction, again.cut), (record.direction, record.cut));
    match (&again.body, &record.body) {
        (Body::Json(again), Body::Json(first)) => {
            let tidy = |bytes: &[u8]| {
                serde_json::from_slice::<Box<RawValue>>(bytes).map(|it| it.get().to_owned()).expect("JSON")
            };
            assert_eq!(tidy(again), tidy(first));
        }
        (Body::Raw(again), Body::Raw(first)) => assert_eq!(again, first),
        (again, first) => panic!("{first:?} was written as {again:?}"),
    }
}
