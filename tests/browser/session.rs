//! The session's page in use: search, filter, branches, copies and the file, by keyboard alone.

use crate::{
    axe::serious_findings,
    chromium_support::{Chromium, PALE, STICKS_OUT, chromium},
    page_support::{Talk, answer, call_block, result, sample::sample, text_block},
};
use pi_rpc::session::{
    Tree,
    page::{PageOptions, html},
};
use serde_json::{Value, json};

/// The widths of a phone and of a desk.
const PHONE: u64 = 390;
const DESK: u64 = 1280;

/// What the page tells screen readers.
const TOLD: &str = "document.querySelector('.found').textContent";

/// The entry that was gone to, if it is in view.
const CURRENT: &str = "(() => {
    const entry = document.querySelector('.current');
    const at = entry?.getBoundingClientRect();
    return entry?.checkVisibility() && at.bottom > 0 && at.top < innerHeight ? entry.id : null;
})()";

/// The headings of segments that are shown.
const SEGMENTS: &str =
    "[...document.querySelectorAll('main h2')].filter(it => it.checkVisibility()).map(it => it.id)";

/// Two drawn frames.
const FRAMES: &str = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))";

#[test]
fn keys_search_and_step_through_matches() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&sample().html(), DESK, "light");
    chromium.press("/", 0);
    chromium.write("Discount");
    chromium.press("Enter", 0);
    wait(&mut chromium, TOLD, &json!("1 of 5"));
    let first = chromium.value(CURRENT);
    chromium.press("Enter", 0);
    let second = (chromium.value(TOLD), chromium.value(CURRENT));
    chromium.press("Enter", 8);
    assert_eq!((chromium.value(TOLD), chromium.value(CURRENT)), (json!("1 of 5"), first.clone()));
    assert_eq!((first, second), (json!("e4"), (json!("2 of 5"), json!("e7"))));
    chromium.value(FRAMES);
    let marks = chromium.value("CSS.highlights.get('found').size");
    assert!(marks.as_u64() > Some(4), "{marks}");
    chromium.press("Escape", 0);
    wait(&mut chromium, TOLD, &json!(""));
}

#[test]
fn match_in_other_branch_shows_it() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&sample().html(), PHONE, "light");
    assert_eq!(chromium.value(SEGMENTS), json!(["b0"]));
    chromium.press("/", 0);
    chromium.write("decimal crate");
    chromium.press("Enter", 0);
    wait(&mut chromium, TOLD, &json!("1 of 1"));
    assert_eq!(chromium.value(SEGMENTS), json!(["b0", "b1"]));
    assert_ne!(chromium.value(CURRENT), Value::Null);
    // What follows the fork on the other way is not shown.
    let after = "document.getElementById('e8').checkVisibility()";
    assert_eq!(chromium.value(after), json!(false));
}

#[test]
fn branch_links_switch_there_and_back() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&sample().html(), DESK, "light");
    chromium.tab_to(".fork a[href=\"#b1\"]");
    chromium.press("Enter", 0);
    wait(&mut chromium, SEGMENTS, &json!(["b0", "b1"]));
    assert_eq!(chromium.value("document.activeElement.id"), json!("b1"));
    let shown = "[...document.querySelectorAll('[aria-current]')].filter(it => it.checkVisibility()).map(it => it.hash)";
    assert_eq!(chromium.value(shown), json!(["#b1", "#b1", "#e15"]));
    chromium.tab_to(".fork a[href=\"#b3\"]");
    chromium.press("Enter", 0);
    wait(&mut chromium, SEGMENTS, &json!(["b0", "b1", "b3"]));
    chromium.value("location.hash = '#e8'");
    wait(&mut chromium, SEGMENTS, &json!(["b0"]));
    assert_eq!(chromium.value(CURRENT), json!("e8"));
}

#[test]
fn address_of_entry_in_branch_shows_it() {
    let Some(mut chromium) = chromium() else { return };
    let page =
        sample().html().replacen("if (location.hash)", "location.hash = 'e14';\nif (location.hash)", 1);
    // The script is another one now, so the policy has to go.
    chromium.open(&page.replacen("Content-Security-Policy", "x", 1), PHONE, "light");
    wait(&mut chromium, SEGMENTS, &json!(["b0", "b1", "b3"]));
    assert_eq!(chromium.value(CURRENT), json!("e14"));
}

#[test]
fn filter_shows_chosen_kinds_alone() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&sample().html(), DESK, "light");
    let shown = "['article.user', '.assistant > .answer', '.thinking', '.tool', '.change']
        .map(kind => [...document.querySelectorAll('section:not([hidden]) ' + kind)].filter(it => it.checkVisibility()).length > 0)";
    assert_eq!(chromium.value(shown), json!([true, true, true, true, true]));
    let leave = |chromium: &mut Chromium, kind: &str| {
        chromium.tab_to(&format!(".kinds [value={kind}]"));
        chromium.press(" ", 0);
    };
    leave(&mut chromium, "answer");
    leave(&mut chromium, "thinking");
    leave(&mut chromium, "other");
    assert_eq!(chromium.value(shown), json!([true, false, false, true, false]));
    leave(&mut chromium, "tool");
    assert_eq!(chromium.value(shown), json!([true, false, false, false, false]));
    let answers =
        "[...document.querySelectorAll('article.assistant')].filter(it => it.checkVisibility()).length";
    assert_eq!(chromium.value(answers), json!(0));
}

#[test]
fn contents_open_with_room_and_unfold() {
    let Some(mut chromium) = chromium() else { return };
    let is_open = |chromium: &mut Chromium, width| {
        chromium.open(&sample().html(), width, "dark");
        chromium.value("document.querySelector('nav details').open")
    };
    assert_eq!([is_open(&mut chromium, PHONE), is_open(&mut chromium, DESK)], [json!(false), json!(true)]);
    chromium.tab_to("#unfold");
    chromium.press("Enter", 0);
    let folded = chromium.value("document.querySelectorAll('main details:not([open])').length");
    chromium.press("Tab", 0);
    chromium.press("Enter", 0);
    let open = chromium.value("document.querySelectorAll('main details[open]').length");
    assert_eq!((folded, open, chromium.refused()), (json!(0), json!(0), json!([])));
}

/// The lines of a session file with a prompt, and its page.
fn stored() -> (String, String) {
    let entry = |id: &str, parent: Option<&str>, message: Value| {
        json!({
            "type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-05T10:00:01.000Z", "message": message,
        })
    };
    let prompt = json!({ "role": "user", "content": "Fix **this**\n\n<b>é", "timestamp": 0 });
    let lines = [
        json!({ "type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-05T10:00:00.000Z", "cwd": "/w" }),
        entry("a", None, prompt),
        entry("b", Some("a"), answer(json!([text_block("# Done\n\n```sh\nls -l\n```")]))),
    ];
    let file: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let read = Tree::read(file.clone().into(), &mut fastrand::Rng::with_seed(1)).unwrap();
    (file, html(&read.tree, &PageOptions::default()))
}

#[test]
fn download_has_the_bytes_of_the_file() {
    let Some(mut chromium) = chromium() else { return };
    let (file, page) = stored();
    chromium.open(&page, PHONE, "light");
    chromium.value("window.saved = new Promise(done => {
        URL.createObjectURL = (blob) => { blob.text().then(done); return '#'; };
        addEventListener('click', (event) => { if (event.target.download) { window.named = event.target.download; } }, true);
    }); 0");
    // What is clicked is not in the page.
    chromium.value("HTMLAnchorElement.prototype.click = function () { window.named = this.download; }; 0");
    chromium.tab_to(".actions summary");
    chromium.press("Enter", 0);
    chromium.tab_to("#download");
    chromium.press("Enter", 0);
    assert_eq!(chromium.value("saved"), json!(file));
    assert_eq!((chromium.value("named"), chromium.refused()), (json!("s1.jsonl"), json!([])));
}

#[test]
fn copies_are_as_they_were_written() {
    let Some(mut chromium) = chromium() else { return };
    let (file, page) = stored();
    chromium.open(&page, PHONE, "light");
    chromium.value(
        "Object.defineProperty(navigator, 'clipboard', { value: {
        writeText: async (text) => { (window.copied ??= []).push(text); },
    } }); 0",
    );
    for (place, count) in [("#e1 .copy", 1), ("#e1 .copy + .copy", 2), ("#e2 pre .copy", 3)] {
        chromium.tab_to(place);
        chromium.press("Enter", 0);
        wait(&mut chromium, "window.copied?.length", &json!(count));
    }
    let line = file.lines().nth(1).unwrap();
    assert_eq!(chromium.value("copied"), json!(["Fix **this**\n\n<b>é", line, "ls -l\n"]));
    wait(&mut chromium, TOLD, &json!("Copied"));
}

/// A session of so many turns of four entries, the last with words of its own.
fn long(turns: usize) -> String {
    let mut talk = Talk::new();
    for turn in 0..turns {
        talk.user(&format!("Prompt {turn}: what is in `file{turn}.txt`?"));
        talk.answer(json!([
            text_block("I look."),
            call_block("c", "read", json!({ "path": format!("file{turn}.txt") }))
        ]));
        talk.message(result("c", "read", "one\ntwo\n"));
        talk.answer(json!([text_block(&format!("It has **two** lines, {turn} times."))]));
    }
    talk.answer(json!([text_block("The very last words.")]));
    talk.page.html()
}

#[test]
fn long_session_builds_what_is_near() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&long(1000), DESK, "light");
    chromium.value(FRAMES);
    let built = chromium.value("document.querySelectorAll('article').length").as_u64().unwrap();
    assert!((10..400).contains(&built), "{built}");
    let listed = chromium.value("document.querySelectorAll('nav li').length").as_u64().unwrap();
    assert!((100..700).contains(&listed), "{listed}");
    chromium.press("/", 0);
    chromium.write("very last");
    chromium.press("Enter", 0);
    wait(&mut chromium, TOLD, &json!("1 of 1"));
    assert_eq!(chromium.value(CURRENT), json!("e4001"));
    chromium.value("location.hash = '#e2001'");
    wait(&mut chromium, CURRENT, &json!("e2001"));
    let built = chromium.value("document.querySelectorAll('article').length").as_u64().unwrap();
    assert!(built < 1200, "{built}");
    assert_eq!(chromium.value("document.querySelectorAll('noscript, .part').length > 60"), json!(true));
    assert_eq!((chromium.refused(), chromium.complaints()), (json!([]), Vec::new()));
}

#[test]
fn page_can_be_read_by_all() {
    let Some(mut chromium) = chromium() else { return };
    for (page, width, scheme) in
        [(sample().html(), PHONE, "dark"), (long(100), DESK, "light"), (stored().1, PHONE, "light")]
    {
        chromium.open(&page, width, scheme);
        chromium.value(FRAMES);
        assert_eq!(chromium.value(STICKS_OUT), json!([0, []]), "{width} {scheme}");
        assert_eq!(chromium.value(PALE).get(1), Some(&json!({})), "{width} {scheme}");
        assert_eq!(serious_findings(&mut chromium), json!([]), "{width} {scheme}");
    }
}

/// Waits until an expression has a value.
fn wait(chromium: &mut Chromium, expression: &str, expected: &Value) {
    for _ in 0..500 {
        if chromium.value(expression) == *expected {
            return;
        }
        chromium.value(FRAMES);
    }
    assert_eq!(chromium.value(expression), *expected);
}
