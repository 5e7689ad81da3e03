//! The checker finds faults that are planted into a log.

use crate::checker::{Verdict, check};
use serde_json::{Value, json};

/// A log in which every promise is kept: a takeover between two prompts.
fn log() -> Vec<Value> {
    let record = |sequence, epoch, node| json!({ "event": "record", "session": "s", "sequence": sequence, "epoch": epoch, "node": node });
    let batch =
        |sequence, epoch| json!({ "event": "batch", "session": "s", "sequence": sequence, "epoch": epoch });
    let entry =
        |at, text| json!({ "event": "entry", "session": "s", "role": "user", "timestamp": at, "text": text });
    let told = |number, at, text| json!({ "event": "told", "session": "s", "client": "c", "number": number, "role": "user", "timestamp": at, "text": text });
    let sent = |id, text| json!({ "event": "sent", "session": "s", "client": "c", "id": id, "text": text });
    let answered =
        |id| json!({ "event": "answered", "session": "s", "client": "c", "id": id, "success": true });
    vec![
        record(1, 1, "a"),
        sent(1, "one"),
        record(2, 1, "a"),
        entry(10, "one"),
        batch(1, 1),
        told(3, 10, "one"),
        answered(1),
        record(5, 2, "b"),
        sent(2, "two"),
        record(6, 2, "b"),
        entry(20, "two"),
        batch(4, 2),
        told(9, 20, "two"),
        answered(2),
    ]
}

fn verdict(plant: impl FnOnce(&mut Vec<Value>)) -> Verdict {
    let mut log = log();
    plant(&mut log);
    check(log)
}

#[test]
fn sound_log_has_no_violation() {
    let Verdict { violations, takeovers, counts } = verdict(|_| {});
    assert_eq!((violations, takeovers), (Vec::new(), 1));
    assert_eq!((counts["record"], counts["told"]), (4, 2));
}

#[test]
fn planted_faults_are_found() {
    let found = |plant: fn(&mut Vec<Value>)| verdict(plant).violations;
    let late = found(|log| {
        log.push(json!({ "event": "record", "session": "s", "sequence": 7, "epoch": 1, "node": "a" }))
    });
    assert_eq!(late, ["s: entries of epoch 1 behind those of epoch 2"]);
    let two = found(|log| {
        log.push(json!({ "event": "record", "session": "s", "sequence": 7, "epoch": 2, "node": "a" }))
    });
    assert_eq!(two, ["s: b and a have both written in epoch 2"]);
    let output =
        found(|log| log.push(json!({ "event": "batch", "session": "s", "sequence": 5, "epoch": 1 })));
    assert_eq!(output, ["s: output of epoch 1 behind those of epoch 2"]);
    let lost = found(|log| log.retain(|event| event["event"] != "entry" || event["text"] != "one"));
    assert!(lost.len() == 2 && lost[0].starts_with("s: lost although c was told: "), "{lost:?}");
    assert_eq!(lost[1], "c: 1 was answered and is not stored");
    let again = found(|log| log.push(log[6].clone()));
    assert_eq!(again, ["c: 1 was answered 2 times"]);
    let twice = found(|log| log.push(log[3].clone()));
    assert_eq!(twice, ["one: was executed 2 times"]);
    let foreign = found(|log| log.retain(|event| event["event"] != "sent" || event["text"] != "two"));
    assert_eq!(foreign, ["two: was never sent"]);
    let number = found(|log| log[12]["number"] = json!(3));
    assert_eq!(number, ["c: number 3 came twice"]);
}
