//! Frames and conversation side by side: each leads to the other; filters, search, copies.

use super::{
    sample::{DIFF, sample},
    support::{DESK, PHONE, SELECTED, inspect_lines, inspect_recording, record, spawn},
};
use serde_json::json;

#[test]
fn conversation_is_shown_as_people_read_it() {
    let Some(mut page) = inspect_lines(&sample()) else { return };
    page.until("document.querySelector('.item.tool .diff')");
    assert_eq!(page.texts(".item.user .text"), ["Edit main.rs"]);
    assert_eq!(page.texts(".item.assistant .heading"), ["Plan"]);
    assert_eq!(page.texts(".item.assistant strong, .item.assistant li"), ["change", "read it", "edit it"]);
    assert_eq!(page.texts(".item.assistant pre code"), ["fn main() {}"]);
    assert_eq!(page.texts(".item.tool .output"), ["Edited main.rs"]);
    assert_eq!(page.texts(".item.tool .diff"), [DIFF]);
    assert_eq!(page.texts(".diff ins, .diff del"), ["-1 fn main() {}\n", "+1 fn main() { run() }\n"]);
    let thinking = "document.querySelector('details.thinking')";
    assert_eq!(page.value(&format!("{thinking}.open")), json!(false));
    page.value(&format!("{thinking}.open = true"));
    assert_eq!(page.texts("details.thinking pre"), ["What is in the file?"]);
    page.until("document.querySelector('.item.user img')?.naturalWidth === 1");
    page.assert_clean();
}

#[test]
fn frame_leads_to_item_and_back() {
    let Some(mut page) = inspect_lines(&sample()) else { return };
    let end = sample().iter().position(|line| line.contains("\"tool_execution_end\"")).unwrap() as u64 + 1;
    page.select_frame(end);
    page.until("document.querySelector('.item.marked')");
    assert_eq!(page.texts(".item.marked h3"), ["Tool"]);
    page.press(&["c"]);
    page.until("document.activeElement.matches('.item.tool')");
    page.click(".item.tool header button");
    page.until(&format!("{SELECTED} === '{}'", end - 1));
}

#[test]
fn keyboard_alone_reads_frame_and_message() {
    let Some(mut page) = inspect_lines(&sample()) else { return };
    page.press(&["2", "Home", "ArrowDown", "ArrowDown", "Enter"]);
    page.until("document.activeElement.id === 'frame-detail'");
    page.until("document.querySelector('#frame-detail h3')?.textContent.startsWith('3 ')");
    page.press(&["/"]);
    page.write("tool_execution_start");
    page.press(&["Enter"]);
    page.until("document.querySelector('#frame-count').textContent.startsWith('1 of')");
    page.press(&["ArrowDown", "c"]);
    page.until(
        "document.querySelector('#frame-detail h3 .kind').textContent.startsWith('tool_execution_start')",
    );
    page.press(&["c"]);
    page.until("document.activeElement.matches('.item.tool')");
    page.press(&["?"]);
    assert_eq!(page.value("document.querySelector('#help').open"), json!(true));
}

#[test]
fn filters_narrow_list_and_clear() {
    let Some(mut page) = inspect_recording("pi-1/tools.jsonl") else { return };
    page.open(DESK, "light");
    let count = |text: &str| format!("document.querySelector('#frame-count').textContent === '{text}'");
    page.until(&count("46 rows of 61 frames"));
    page.value("document.querySelector('[name=dir]').value = 'in'");
    page.value("document.querySelector('#frame-filters').requestSubmit()");
    page.until(&count("4 rows of 61 frames"));
    page.until("document.querySelectorAll('.row').length === 4 && document.querySelector('.row-kind')");
    page.click("#frame-filters [type=reset]");
    page.until(&count("46 rows of 61 frames"));
    page.press(&["/"]);
    page.write("ECHO TWO");
    page.until("/^\\d+ of 61 frames$/.test(document.querySelector('#frame-count').textContent)");
    page.click("[name=regex]");
    page.value("document.querySelector('#filter-text').select()");
    page.write("(");
    page.until("document.querySelector('#frame-count').textContent.includes('regex')");
}

#[test]
fn hundred_thousand_frames_keep_few_rows() {
    let mut lines = vec![spawn("pi-1")];
    lines.extend((1..100_000).map(|at| record(f64::from(at), "err", &json!(format!("line {at} of many")))));
    let Some(mut page) = inspect_lines(&lines) else { return };
    page.until("document.querySelector('#frame-count').textContent === '100,000 frames'");
    page.press(&["2", "End"]);
    page.until(
        "document.querySelector('.row[aria-selected=true] .row-text')?.textContent.includes('line 99999 ')",
    );
    // Jumps over the whole list: wherever it stands, few rows are in the document.
    let most = page.value(
        "new Promise(done => {
            const list = document.getElementById('frame-list');
            let [most, step] = [0, 0];
            const jump = () => {
                list.scrollTop = (step * 7919 * 24) % list.scrollHeight;
                most = Math.max(most, document.querySelectorAll('.row').length);
                if (step++ < 60) requestAnimationFrame(jump); else done(most);
            };
            jump();
        })",
    );
    assert!(most.as_u64().is_some_and(|most| most > 0 && most < 120), "{most}");
    page.press(&["/"]);
    page.write("line 4242 ");
    page.until("document.querySelector('#frame-count').textContent === '1 of 100,000 frames'");
    page.press(&["Enter", "ArrowDown"]);
    page.until(&format!("{SELECTED} === '4,243'"));
    page.assert_clean();
}

#[test]
fn frame_is_copied_in_every_form() {
    let Some(mut page) = inspect_recording("pi-1/tools.jsonl") else { return };
    page.open(DESK, "light");
    page.press(&["2", "Home"]);
    page.select_frame(2);
    let name = |at: usize| format!("document.querySelectorAll('[aria-label=\"Copy as\"] button')[{at}]");
    let mut copied = Vec::new();
    for at in 0..5 {
        page.value(&format!("{}.click()", name(at)));
        page.until(&format!(
            "document.querySelector('.copied summary')?.textContent === 'Copied as ' + {}.textContent",
            name(at)
        ));
        copied.push(page.text(".copied pre"));
    }
    assert_eq!(copied[0], r#"{"id":"1","type":"prompt","message":"Call two"}"#);
    for (text, part) in
        copied[1..].iter().zip([r#"{"send":{"type":"prompt""#, "def test", "test(", "#[tokio::test]"])
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn phone_shows_one_part_at_a_time() {
    let Some(mut page) = inspect_lines(&sample()) else { return };
    page.open(PHONE, "light");
    let shown =
        "[...document.querySelectorAll('.panel')].filter(it => it.checkVisibility()).map(it => it.id)";
    assert_eq!(page.value(shown), json!(["panel-conversation"]));
    page.press(&["2", "Home"]);
    assert_eq!(page.value(shown), json!(["panel-frames"]));
    page.press(&["c"]);
    page.click("#tab-chart");
    assert_eq!(page.value(shown), json!(["panel-chart"]));
}
