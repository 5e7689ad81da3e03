//! Filters and search run on the server, over all records.

use crate::inspect_support::{Page, recording};
use serde_json::{Value, json};

fn numbers(page: &Value) -> Vec<u64> {
    page["rows"].as_array().unwrap().iter().map(|row| row["record"].as_u64().unwrap()).collect()
}

/// The numbers of the rows of the whole recording that hold.
fn expected(page: &Page, holds: impl Fn(&Value) -> bool) -> Vec<u64> {
    let all = page.get("api/records?count=1000");
    let rows = all["rows"].as_array().unwrap().iter().filter(|row| holds(row));
    rows.map(|row| row["record"].as_u64().unwrap()).collect()
}

#[test]
fn filters_choose_by_facts() {
    let page = Page::of_file(&recording("pi-1/tools.jsonl"));
    for (query, holds) in [
        ("dir=in", (|row| row["dir"] == "in") as fn(&Value) -> bool),
        ("dir=in,meta", |row| row["dir"] == "in" || row["dir"] == "meta"),
        ("kind=response", |row| row["type"] == "response"),
        ("kind=message_update(text_delta),turn_start", |row| {
            row["kind"] == "message_update(text_delta)" || row["type"] == "turn_start"
        }),
        ("hide=message_update", |row| row["type"] != "message_update"),
        ("changes=1", |row| row["from"].is_string()),
        ("item=1", |row| row["item"] == 1),
        ("dir=in&id=2", |row| row["dir"] == "in" && row["id"] == "2"),
    ] {
        let found = page.get(&format!("api/records?count=1000&{query}"));
        let expected = expected(&page, holds);
        assert_eq!(
            (numbers(&found), found["matches"].clone()),
            (expected.clone(), json!(expected.len())),
            "{query}"
        );
        assert!(!expected.is_empty(), "{query}");
    }
}

#[test]
fn texts_are_searched_in_frames_alone() {
    let page = Page::of_file(&recording("pi-1/tools.jsonl"));
    let found = numbers(&page.get("api/records?count=1000&text=TOOLCALLID"));
    let text = |row: &Value| page.request("GET", &format!("api/records/{}/text", row["record"]), "").body;
    let has = |row: &Value| String::from_utf8(text(row)).unwrap().contains("toolCallId");
    assert_eq!(found, expected(&page, has));
    assert!(!found.is_empty());
    // The members that the recording adds.
    assert_eq!(numbers(&page.get("api/records?text=%22dir%22")), Vec::<u64>::new());
    assert_eq!(numbers(&page.get("api/records?regex=%22type%22:%22agent_(start%7Cend)%22&count=2")).len(), 2);
}

#[test]
fn positions_are_those_of_the_filtered_list() {
    let page = Page::of_file(&recording("pi-1/tools.jsonl"));
    let all = numbers(&page.get("api/records?count=1000&dir=out&hide=message_update"));
    let third = page.get("api/records?dir=out&hide=message_update&pos=2&count=2");
    assert_eq!((numbers(&third), third["position"].clone()), (all[2..4].to_vec(), json!(2)));
    let near = page.get(&format!("api/records?dir=out&hide=message_update&near={}&count=1", all[4]));
    assert_eq!((numbers(&near), near["position"].clone()), (vec![all[4]], json!(4)));
    let back = page.get("api/records?dir=out&hide=message_update&back=1&count=2");
    assert_eq!(numbers(&back), all[all.len() - 2..]);
    let count = page.get("api/count?dir=out&hide=message_update");
    assert_eq!(count, json!({ "matches": all.len(), "numbers": all }));
}

#[test]
fn updates_fold_into_their_text() {
    let page = Page::of_file(&recording("pi-1/tools.jsonl"));
    let found = page.get("api/records?count=1000&fold=1");
    let folded = found["rows"].as_array().unwrap().iter().filter(|row| row["last"].is_u64());
    let folded: Vec<Value> =
        folded.map(|row| json!([row["record"], row["last"], row["kind"], row["text"]])).collect();
    insta::assert_json_snapshot!("folded_updates", folded);
    // A record within a row is found with it, and a search finds each by itself.
    let near = page.get("api/records?fold=1&near=15&count=1");
    assert_eq!(numbers(&near), [12]);
    let searched = ["text=echo&fold=1", "text=echo"]
        .map(|query| numbers(&page.get(&format!("api/records?count=1000&{query}"))));
    assert_eq!(searched[0], searched[1]);
}

#[test]
fn wrong_filters_are_explained() {
    let page = Page::of_file(&recording("pi-1/plain.jsonl"));
    let direction = page.request("GET", "api/records?dir=up", "");
    assert_eq!(
        (direction.status, direction.json()),
        (400, json!({ "error": "dir=up: expected in, out, err or meta" }))
    );
    let regex = page.request("GET", "api/records?regex=(", "");
    assert_eq!(regex.status, 400);
    let huge = page.request("GET", "api/records?regex=(%3F:(%3F:a%7B1000%7D)%7B1000%7D)%7B1000%7D", "");
    assert_eq!(huge.status, 400);
}
