//! Hostile servers: nothing of theirs runs, loads, hides or freezes the page.

use super::{
    sample::{Frames, user},
    support::{DESK, PHONE, inspect_lines, inspect_server},
};
use crate::page_support::hostile::ATTACKS;
use serde_json::json;

#[test]
fn hostile_texts_run_and_load_nothing() {
    let mut frames = Frames::new();
    frames.outbound(json!({ "type": "agent_start" })).outbound(json!({ "type": "turn_start" }));
    for attack in ATTACKS {
        frames.message(&user(&json!([{ "type": "text", "text": attack }])));
        frames.answer(&json!([{ "type": "text", "text": format!("{attack}\n\n```{attack}\n{attack}\n```\n# {attack}\n- {attack}") }]), "stop");
        frames.outbound(json!({ "type": "tool_execution_start", "toolCallId": attack, "toolName": attack, "args": { attack: attack } }));
        let result =
            json!({ "content": [{ "type": "text", "text": attack }], "details": { "diff": attack } });
        frames.outbound(json!({ "type": "tool_execution_end", "toolCallId": attack, "toolName": attack, "result": result, "isError": true }));
        frames.outbound(json!({ "type": "extension_ui_request", "id": attack, "method": "select", "title": attack, "options": [attack, ""] }));
        frames.outbound(json!({ "type": attack, attack: [attack] }));
        frames.outbound(json!(attack));
    }
    let lines = frames.lines();
    let Some(mut page) = inspect_lines(&lines) else { return };
    page.value("document.querySelector('#items-all').click()");
    for part in ["conversation", "frames", "send", "chart", "findings", "timing", "report"] {
        page.click(&format!("#tab-{part}"));
    }
    page.press(&["2", "Home"]);
    for record in 2..=lines.len() {
        page.press(&["ArrowDown"]);
        page.until(&format!(
            "document.querySelector('#frame-detail h3')?.textContent.startsWith('{record} ')"
        ));
        page.value("document.querySelectorAll('#frame-detail details').forEach(it => it.open = true)");
    }
    let title = page.value("document.title");
    assert!(title.as_str().is_some_and(|title| title.ends_with("pi-rpc inspect")), "{title}");
    assert_eq!(page.value("document.querySelectorAll('main script, main iframe, main object, main a[href]:not([download])').length"), json!(0));
    page.assert_clean();
}

#[test]
fn hidden_characters_are_shown_as_marks() {
    let mut frames = Frames::new();
    let text = "pay \u{202E}kcab\u{202C} \u{1b}[2J\u{1b}]8;;http://x\u{7} now\u{200B}";
    frames.message(&user(&json!([{ "type": "text", "text": text }])));
    let Some(mut page) = inspect_lines(&frames.lines()) else { return };
    page.until("document.querySelector('.item.user .text')");
    page.press(&["2", "Home", "ArrowDown"]);
    page.until("document.querySelector('#frame-detail .json')");
    let shown = page.value("document.body.innerText");
    let shown = shown.as_str().unwrap();
    let hidden: Vec<char> =
        shown.chars().filter(|it| "\u{202E}\u{202C}\u{1b}\u{7}\u{200B}".contains(*it)).collect();
    assert_eq!(hidden, Vec::<char>::new());
    assert!(shown.contains("\\u202ekcab\\u202c"), "{shown}");
}

#[test]
fn image_of_another_kind_is_not_shown() {
    let mut frames = Frames::new();
    // An SVG that calls itself a PNG, and one that does not.
    let svg =
        "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciPjxzY3JpcHQ+YWxlcnQoMSk8L3NjcmlwdD48L3N2Zz4=";
    for mime in ["image/png", "image/svg+xml"] {
        frames.message(&user(&json!([{ "type": "image", "data": svg, "mimeType": mime }])));
    }
    let Some(mut page) = inspect_lines(&frames.lines()) else { return };
    page.until("document.querySelectorAll('.item.user figure .bad').length === 2 || document.querySelectorAll('.item.user').length === 2 && document.querySelectorAll('figure').length < 2");
    assert_eq!(page.value("document.querySelectorAll('img').length"), json!(0));
}

#[test]
fn line_of_five_megabytes_stays_bounded() {
    let mut frames = Frames::new();
    frames.message(&user(&json!([{ "type": "text", "text": "x".repeat(5_000_000) }])));
    let Some(mut page) = inspect_lines(&frames.lines()) else { return };
    page.press(&["2", "Home", "ArrowDown"]);
    page.until("document.querySelector('#frame-detail h3')?.textContent.startsWith('2 ')");
    let shown = page.value("document.body.textContent.length");
    assert!(shown.as_u64().is_some_and(|it| it < 200_000), "{shown}");
    page.open(PHONE, "dark");
    page.assert_clean();
}

#[test]
fn flood_of_frames_leaves_page_usable() {
    let endless = r#"while :; do echo '{"type":"extension_ui_request","id":"n","method":"notify","message":"again"}'; done"#;
    let Some(mut page) = inspect_server(&["sh", "-c", endless]) else { return };
    page.open(DESK, "light");
    page.until("Number(document.querySelector('#frame-count').textContent.replace(/\\D/g, '')) > 5000");
    page.press(&["2", "Home"]);
    page.select_frame(1);
    page.press(&["3"]);
    page.tab_to("#command-form textarea");
    page.write("Still here");
    assert_eq!(page.value("JSON.parse(document.querySelector('#raw').value).message"), json!("Still here"));
    let elements = page.value("document.querySelectorAll('*').length");
    assert!(elements.as_u64().is_some_and(|it| it < 8000), "{elements}");
}
