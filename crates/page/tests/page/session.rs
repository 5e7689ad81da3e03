//! The page of a session: what people find on it.

use crate::page_support::{
    Talk, answer, call_block,
    parsed::Element,
    result,
    sample::{PICTURE, sample},
    text_block, with,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use flate2::read::GzDecoder;
use pi_rpc_page::{Page, PageOptions, html};
use pi_rpc_session::Tree;
use serde_json::json;
use std::io::Read as _;

#[test]
fn session_with_everything_is_shown_whole() {
    let page = Element::of(&sample().html());
    // The head has what is not for people; the script is the page's last element.
    let parts = ["a", "header", "nav", "main", "footer"].map(|name| {
        let body = page.find("body").unwrap();
        body.inside_elements().into_iter().find(|element| element.name == name).unwrap().outline()
    });
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("page", parts.concat()));
}

#[test]
fn page_policy_allows_own_style_and_script() {
    let page = Element::of(&Page::default().html());
    let policies: Vec<&str> = page
        .all()
        .into_iter()
        .filter(|element| element.attribute("http-equiv") == Some("Content-Security-Policy"))
        .filter_map(|element| element.attribute("content"))
        .collect();
    let [policy] = policies[..] else { panic!("{policies:?}") };
    let without_hashes: Vec<&str> = policy.split('\'').filter(|part| !part.starts_with("sha256-")).collect();
    assert_eq!(
        without_hashes.join("'"),
        "default-src 'none'; style-src '; script-src '; img-src data:; base-uri 'none'; form-action 'none'"
    );
}

#[test]
fn result_is_shown_with_its_call() {
    let mut talk = Talk::new();
    talk.answer(json!([call_block("1", "read", json!({})), call_block("2", "read", json!({}))]));
    talk.result("2", "read", "second");
    talk.result("1", "read", "first");
    talk.result("1", "read", "again");
    assert_eq!(tools(&talk), ["read done first", "read done second", "Result of read done again"]);
}

#[test]
fn call_without_result_is_marked() {
    let mut talk = Talk::new();
    talk.answer(json!([call_block("1", "bash", json!({ "command": "sleep 9" }))]));
    talk.user("never mind");
    talk.message(with(result("1", "bash", ""), json!({ "content": [], "isError": true })));
    assert_eq!(tools(&talk), ["bash sleep 9 no result", "Result of bash failed It returned nothing."]);
}

#[test]
fn long_content_is_folded() {
    let mut talk = Talk::new();
    talk.answer(json!([
        call_block("1", "read", json!({ "path": "a" })),
        call_block("2", "read", json!({ "path": "b" })),
    ]));
    talk.result("1", "read", "one\ntwo");
    talk.result("2", "read", &"line\n".repeat(200));
    let page = Element::of(&talk.page.html());
    let tools = page.all().into_iter().filter(|element| element.attribute("class") == Some("tool"));
    let is_open: Vec<bool> = tools.map(|tool| tool.attribute("open").is_some()).collect();
    assert_eq!(is_open, [true, false]);
}

#[test]
fn only_pictures_are_shown_as_pictures() {
    let picture = |kind: &str, data: &str| json!({ "type": "image", "data": data, "mimeType": kind });
    let mut talk = Talk::new();
    talk.message(json!({ "role": "user", "timestamp": 0, "content": [
        picture("image/png", PICTURE), picture("image/svg+xml", "PHN2Zz4="), picture("image/png", "not base64"),
    ] }));
    let page = Element::of(&talk.page.html());
    let shown: Vec<_> = page.all().into_iter().filter_map(|element| element.attribute("src")).collect();
    assert_eq!(shown, [format!("data:image/png;base64,{PICTURE}")]);
    let article = page.find("article").unwrap().text();
    assert!(article.ends_with(
        "Image in the message: image/svg+xml, not shownImage in the message: image/png, not shown"
    ));
}

#[test]
fn page_links_have_targets() {
    let page = Element::of(&sample().html());
    let links = page.all().into_iter().filter_map(|element| element.attribute("href")?.strip_prefix('#'));
    let ids: Vec<&str> = page.all().into_iter().filter_map(|element| element.attribute("id")).collect();
    let lost: Vec<&str> = links.filter(|link| !ids.contains(link)).collect();
    assert_eq!(lost, Vec::<&str>::new());
}

#[test]
fn page_title_is_session_name_or_prompt() {
    let title = |page: &Page| Element::of(&page.html()).find("title").unwrap().text();
    let mut talk = Talk::new();
    assert_eq!(title(&talk.page), "Session");
    talk.user("\n  Fix the <b>totals</b>\nplease");
    assert_eq!(title(&talk.page), "Fix the <b>totals</b>");
    talk.page.name = Some("Totals".to_owned());
    assert_eq!(title(&talk.page), "Totals");
}

#[test]
fn a_page_grows_as_its_session_does() {
    let long = |turns: usize| {
        let mut talk = Talk::new();
        for turn in 0..turns {
            let prompt = talk.user("Next?");
            talk.answer(json!([text_block("Yes.")]));
            // Every prompt is answered twice.
            if turn % 2 == 0 {
                talk.back_to(&prompt);
                talk.answer(json!([text_block("No.")]));
            }
        }
        talk.page.html().len() as f64
    };
    let ratio = (long(2000) - long(1000)) / (long(1000) - long(500));
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
}

#[test]
fn prompt_is_shown_as_markdown() {
    let mut talk = Talk::new();
    talk.user("Fix `total`:\n- **once**\n\n<b>not</b> [this](javascript:x)");
    let page = Element::of(&talk.page.html());
    let prompt = page.find("article").unwrap();
    let names: Vec<&str> = prompt.all().into_iter().skip(5).map(|element| element.name.as_str()).collect();
    assert_eq!(names, ["div", "p", "code", "ul", "li", "strong", "p", "span"]);
    assert!(prompt.text().ends_with("Fix total:once<b>not</b> this"), "{}", prompt.text());
}

#[test]
fn long_session_is_read_without_script() {
    let mut talk = Talk::new();
    for turn in 0..400 {
        talk.user(&format!("Prompt {turn}"));
    }
    let html = talk.page.html();
    let count = |page: &Element| page.all().iter().filter(|element| element.name == "article").count();
    assert_eq!([count(&Element::of(&html)), count(&Element::with_scripting(&html))], [400, 0]);
}

#[test]
fn session_file_becomes_whole_page() {
    let entry = |id: &str, parent: Option<&str>, own: serde_json::Value| {
        with(own, json!({ "id": id, "parentId": parent, "timestamp": "2026-01-05T10:00:01.000Z" }))
    };
    let user = |text: &str| json!({ "type": "message", "message": { "role": "user", "content": text, "timestamp": 0 } });
    let lines = [
        json!({ "type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-05T10:00:00.000Z", "cwd": "/w" }),
        entry("a", None, json!({ "type": "model_change", "provider": "p", "modelId": "m" })),
        entry("b", Some("a"), json!({ "type": "thinking_level_change", "thinkingLevel": "high" })),
        entry("c", Some("b"), user("first")),
        entry(
            "d",
            Some("c"),
            json!({ "type": "message", "message": answer(json!([text_block("**answer**")])) }),
        ),
        entry("e", Some("c"), user("second, on its own branch")),
        entry("f", Some("e"), json!({ "type": "session_info", "name": "A name" })),
        entry("g", Some("f"), json!({ "type": "label", "targetId": "c", "label": "start" })),
        entry(
            "h",
            Some("g"),
            json!({
                "type": "compaction", "summary": "what was", "firstKeptEntryId": "c", "tokensBefore": 1200,
            }),
        ),
        entry("i", Some("h"), json!({ "type": "new_kind", "some": "data" })),
        entry("j", Some("i"), json!({ "type": "message", "message": { "role": "unknown", "content": 1 } })),
    ];
    let file: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let read = Tree::read(file.clone().into(), &mut fastrand::Rng::with_seed(1)).unwrap();
    let options =
        PageOptions { written_by: "pi-rpc 1".to_owned(), instructions: Some("Be brief.".to_owned()) };
    let page = Element::of(&html(&read.tree, &options));
    assert_eq!(page.find("title").unwrap().text(), "A name");
    // The file is in the page, byte by byte, and each entry names its line.
    let packed = page.all().into_iter().find(|it| it.attribute("id") == Some("session-file")).unwrap();
    assert_eq!(packed.attribute("data-name"), Some("s1.jsonl"));
    let packed = BASE64_STANDARD.decode(packed.text()).unwrap();
    let mut unpacked = String::new();
    GzDecoder::new(&packed[..]).read_to_string(&mut unpacked).unwrap();
    assert_eq!(unpacked, file);
    let second = page.all().into_iter().find(|it| it.attribute("id") == Some("e5")).unwrap();
    assert_eq!(second.attribute("data-line"), Some("5"));
    let text = page.find("main").unwrap().text();
    let told = [
        "Model: p/m",
        "Thinking: high",
        "User start 10:00:01 UTCfirst",
        "1 other branch leaves here:On from hereBranch 1: answer 1 entry",
        "second, on its own branch",
        "Session named A name",
        "Bookmark start on an entry",
        "Compaction 1,200 tokens before it",
        "what was",
        "Entry new_kind{\n  \"some\": \"data\"\n}",
        "Entry message",
        "\"role\": \"unknown\"",
        "The conversation stands here.",
        "Assistant anthropic/claude-sonnet-4-5",
    ];
    let lost: Vec<&str> = told.into_iter().filter(|part| !text.contains(part)).collect();
    assert_eq!(lost, Vec::<&str>::new(), "{text}");
}

/// The tool calls and results in their order, in words.
fn tools(talk: &Talk) -> Vec<String> {
    let page = Element::of(&talk.page.html());
    let tools = page.all().into_iter().filter(|element| element.attribute("class") == Some("tool"));
    tools.map(|tool| tool.text().replacen("done", "done ", 1).replacen("failed", "failed ", 1)).collect()
}

#[test]
fn day_is_named_once() {
    let mut talk = Talk::new();
    talk.user("Before midnight");
    talk.answer(json!([text_block("Yes.")]));
    talk.user("After midnight");
    talk.page.entries[2].at += 24 * 60 * 60 * 1000;
    let page = Element::of(&talk.page.html());
    let times: Vec<String> = page
        .find("section")
        .unwrap()
        .all()
        .iter()
        .filter(|it| it.name == "time")
        .map(|it| it.text())
        .collect();
    let expected =
        ["Monday, 5 January 2026", "10:00:01 UTC", "10:00:02 UTC", "Tuesday, 6 January 2026", "10:00:03 UTC"];
    assert_eq!(times, expected);
}

#[test]
fn instructions_are_shown_once() {
    let heading = "Instructions of the model";
    let mut talk = Talk::new();
    talk.page.instructions = Some("Be brief.".to_owned());
    assert!(Element::of(&talk.page.html()).text().contains(heading));
    talk.message(json!({ "role": "system", "content": "Be brief.", "timestamp": 0 }));
    let text = Element::of(&talk.page.html()).text();
    assert!(!text.contains(heading), "{text}");
    assert_eq!(text.matches("Be brief.").count(), 1, "{text}");
}
