//! A line with scalar members only is read once, any other twice, with the same result.

use pi_rpc_protocol::{Dialect, LineError, RpcCommandKind, read_line};
use proptest::{prelude::*, sample::select, test_runner::RngSeed};

/// Fields of commands, and one that no command has.
const FIELDS: [&str; 14] = [
    "id",
    "message",
    "images",
    "streamingBehavior",
    "locale",
    "provider",
    "modelId",
    "level",
    "mode",
    "enabled",
    "command",
    "sessionPath",
    "name",
    "unknown",
];

/// Values that fit some of the fields, as they stand in a line.
const VALUES: [&str; 18] = [
    r#""text""#,
    r#""steer""#,
    r#""high""#,
    r#""all""#,
    r#""""#,
    r#""caf\u00e9 \"\\ \n""#,
    r#""\ud83d\ude00""#,
    r#""half \ud83d""#,
    r#""é 😀""#,
    "true",
    "false",
    "null",
    "0",
    "-1",
    "1.0",
    "1e300",
    "[]",
    r#"{"a":1}"#,
];

fn kinds() -> Vec<&'static str> {
    RpcCommandKind::ALL
        .map(RpcCommandKind::as_str)
        .into_iter()
        .chain(["nothing", "host_tool_result"])
        .collect()
}

fn member() -> impl Strategy<Value = String> {
    (select(&FIELDS[..]), select(&VALUES[..]), any::<bool>()).prop_map(|(name, value, escaped)| {
        let name = if escaped {
            format!("\\u{:04x}{}", u32::from(name.as_bytes()[0]), &name[1..])
        } else {
            name.to_owned()
        };
        format!(r#""{name}":{value}"#)
    })
}

fn members() -> impl Strategy<Value = Vec<String>> {
    let tag = select(kinds()).prop_map(|kind| format!(r#""type":"{kind}""#));
    (tag, prop::collection::vec(member(), 0..6), any::<prop::sample::Index>()).prop_map(
        |(tag, mut members, at)| {
            members.insert(at.index(members.len() + 1), tag);
            members
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(20_260_101),
        ..ProptestConfig::with_cases(4000)
    })]

    #[test]
    fn unknown_object_does_not_change_reading(
        members in members(),
        dialect in select(vec![Dialect::Pi, Dialect::Xcsh]),
    ) {
        let all = members.join(",");
        let (flat, nested) = (format!("{{{all}}}"), format!(r#"{{{all},"x-unknown":{{}}}}"#));
        prop_assert_eq!(read_line(flat.as_bytes(), dialect), read_line(nested.as_bytes(), dialect), "{}", flat);
    }
}

#[test]
fn duplicate_key_is_found_in_any_spelling() {
    let many: String = (0..40).map(|number| format!(r#""k{number}":0,"#)).collect();
    for (line, key) in [
        (r#"{"type":"abort","id":"1","id":"2"}"#.to_owned(), "id"),
        (r#"{"type":"abort","id":"1","\u0069d":"2"}"#.to_owned(), "id"),
        (r#"{"type":"abort","\u0069d":"1","id":"2"}"#.to_owned(), "id"),
        (format!(r#"{{{many}"type":"abort","k0":1}}"#), "k0"),
        (format!(r#"{{{many}"type":"abort","k39":1}}"#), "k39"),
        (format!(r#"{{{many}"\u0074ype":"abort","type":1}}"#), "type"),
    ] {
        let read = read_line(line.as_bytes(), Dialect::Pi);
        let Err(LineError::Parse { reason, .. }) = read else { panic!("{line}: {read:?}") };
        assert!(reason.starts_with(&format!("duplicate key `{key}`")), "{line}: {reason}");
    }
}
