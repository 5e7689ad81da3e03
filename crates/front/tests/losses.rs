//! What is lost between two dialects is no member that a frame needs.

use pi_rpc_front::{BRIDGES, Fate, Front, Output, counts, losses};
use pi_rpc_protocol::{BUNDLE, Base, Dialect};
use serde_json::Value;

fn bases() -> impl Iterator<Item = Dialect> {
    Base::ALL.into_iter().filter_map(|base| Dialect::parse(base.as_str()))
}

#[test]
fn required_members_are_never_lost() {
    let mut missing = Vec::new();
    for server in bases() {
        for client in bases() {
            for frame in losses(server, client) {
                let lost = frame.members.into_iter().filter(|it| it.is_required && it.fate == Fate::Lost);
                missing.extend(lost.map(|it| format!("{server} to {client}: {}.{}", frame.title, it.name)));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

/// Of all members of all frames, over all pairs.
#[test]
fn two_percent_are_lost_at_most() {
    let mut sums = [0; Fate::ALL.len()];
    for server in bases() {
        for client in bases().filter(|client| client.base() != server.base()) {
            sums.iter_mut().zip(counts(&losses(server, client))).for_each(|(sum, count)| *sum += count);
        }
    }
    let (lost, all) = (sums[Fate::Lost as usize], sums.iter().sum::<usize>());
    assert!(lost * 50 <= all, "{lost} of {all}");
}

#[test]
fn bridges_name_members_of_the_schema() {
    let (bridges, bundle): (Value, Value) =
        (serde_json::from_str(BRIDGES).expect("JSON"), serde_json::from_str(BUNDLE).expect("JSON"));
    for name in bridges["members"].as_object().expect("members").keys() {
        let (title, member) = name.split_once('.').expect("a def and a member");
        assert!(bundle["$defs"][title]["properties"][member].is_object(), "{name}");
    }
    for (title, values) in bridges["values"].as_object().expect("values") {
        let known = bundle["$defs"][title]["enum"].as_array().unwrap_or_else(|| panic!("{title}"));
        assert!(values.as_object().expect("values").values().all(|value| known.contains(value)), "{title}");
    }
}

#[test]
fn command_without_equivalent_is_refused() {
    let (mut front, mut out) = (Front::new(Dialect::Pi.into(), Dialect::Pi1), Output::default());
    front.client_line(br#"{"id":"1","type":"get_tree"}"#, &mut out);
    assert_eq!(out.to_server, b"");
    let expected = r#"{"id":"1","type":"response","command":"get_tree","success":false,"error":"Unknown command: get_tree"}"#;
    assert_eq!(String::from_utf8_lossy(&out.to_client).trim_end(), expected);
}

#[test]
fn renamed_command_is_answered_by_its_name() {
    let (mut front, mut out) = (Front::new(Dialect::Xcsh.into(), Dialect::Pi1), Output::default());
    front.client_line(br#"{"id":"1","type":"fork","entryId":"a"}"#, &mut out);
    assert_eq!(out.to_server, b"{\"id\":\"1\",\"type\":\"branch\",\"entryId\":\"a\"}\n");
    let response = br#"{"id":"1","type":"response","command":"branch","success":true,"data":{"text":"Hi","cancelled":false}}"#;
    front.server_line(response, &mut out);
    let expected = r#"{"id":"1","type":"response","command":"fork","success":true,"data":{"text":"Hi","cancelled":false}}"#;
    assert_eq!(String::from_utf8_lossy(&out.to_client).trim_end(), expected);
}
