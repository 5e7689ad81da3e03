//! Recordings are read back as they were written.

use pi_rpc_recording::{Body, Direction, Meta, Record, TraceWriter, read_record};
use proptest::{collection::vec, prelude::*};

/// What stands in the file, and what is read from it: milliseconds, direction, bytes, whether they are JSON.
type Kept = (f64, Direction, Vec<u8>, bool);

fn written(records: &[Record<'_>]) -> (String, Vec<Kept>) {
    let mut writer = TraceWriter::new(Vec::new());
    records.iter().for_each(|record| writer.write(record).unwrap());
    let text = String::from_utf8(writer.into_inner()).unwrap();
    let read = text.lines().map(|line| {
        let record = read_record(line).unwrap();
        let is_json = matches!(record.body, Body::Json(_));
        (record.t, record.direction, record.body.bytes().to_vec(), is_json)
    });
    let read = read.collect();
    (text, read)
}

#[test]
fn written_records_are_read_back() {
    let argv = ["pi".to_owned(), "--mode".to_owned(), "rpc".to_owned()];
    let records = [
        Record::meta(0.0, &Meta::Spawn { argv: &argv, dialect: Some("pi"), server: "pi" }),
        Record::line(1.25, Direction::In, br#"{"type":"get_state", "id":"1"}"#),
        Record::line(2.0004, Direction::Out, b"stray \xe2\x80\xa8 print"),
        Record::line(3.0, Direction::Out, b"\xff\x00"),
        Record::line(4.0, Direction::In, b"no frame"),
        Record::unended(5.0, Direction::In, b"{}"),
        Record::meta(4.0, &Meta::StdinClosed),
        Record::meta(5.0, &Meta::Exit { code: 143 }),
        Record::meta(6.0, &Meta::Lost { bytes: 7 }),
    ];
    let lines = [
        r#"{"t":0.0,"dir":"meta","frame":{"event":"spawn","argv":["pi","--mode","rpc"],"dialect":"pi","server":"pi"}}"#,
        r#"{"t":1.25,"dir":"in","frame":{"type":"get_state", "id":"1"}}"#,
        "{\"t\":2.0,\"dir\":\"out\",\"raw\":\"stray \u{2028} print\"}",
        r#"{"t":3.0,"dir":"out","raw64":"/wA="}"#,
        r#"{"t":4.0,"dir":"in","raw":"no frame\n"}"#,
        r#"{"t":5.0,"dir":"in","raw":"{}"}"#,
        r#"{"t":4.0,"dir":"meta","frame":{"event":"stdin closed"}}"#,
        r#"{"t":5.0,"dir":"meta","frame":{"event":"exit","code":143}}"#,
        r#"{"t":6.0,"dir":"meta","frame":{"event":"lost","bytes":7}}"#,
    ];
    let (text, _) = written(&records);
    assert_eq!(text.split_terminator('\n').collect::<Vec<_>>(), lines);
}

#[test]
fn shortened_record_is_marked() {
    let record = Record { cut: true, ..Record::line(0.0, Direction::Out, b"{}") };
    assert_eq!(written(&[record]).0, "{\"t\":0.0,\"dir\":\"out\",\"frame\":{},\"cut\":true}\n");
}

/// A line without its line feed: anything, or JSON with blanks around it.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let json = "[ \t]{0,2}(\\{\"a\": ?[1-9]\\}|[1-9]|\"[a-zé\u{2028}]*\"|null)[ \r]{0,2}";
    prop_oneof![
        vec(any::<u8>().prop_filter("a line", |byte| *byte != b'\n'), 0..40),
        json.prop_map(String::into_bytes)
    ]
}

proptest! {
    #[test]
    fn bytes_of_any_kind_come_back(lines in vec(line(), 0..8)) {
        let records: Vec<_> = lines.iter().map(|line| Record::line(0.0, Direction::Out, line)).collect();
        let (_, read) = written(&records);
        let is_json = |line: &[u8]| serde_json::from_slice::<serde_json::Value>(line).is_ok();
        let expected: Vec<_> = lines.iter().map(|line| {
            let kept = if is_json(line) { line.trim_ascii() } else { line };
            (0.0, Direction::Out, kept.to_vec(), is_json(line))
        }).collect();
        prop_assert_eq!(read, expected);
    }
}
