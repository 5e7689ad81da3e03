//! The page of the protocol in a real browser: nothing is loaded, everything can be read and found.

use crate::{
    axe::serious_findings,
    chromium_support::{Chromium, PALE, STICKS_OUT, chromium},
};
use pi_rpc::{export::reference_page, protocol::Dialect};
use serde_json::json;
use std::sync::LazyLock;

/// The widths of a phone and of a desk.
const PHONE: u64 = 375;
const DESK: u64 = 1440;

static PAGE: LazyLock<String> = LazyLock::new(|| reference_page(Dialect::Pi));

/// Presses a key where the focus is.
fn press(chromium: &mut Chromium, key: &str) {
    chromium.ask(
        "Input.dispatchKeyEvent",
        json!({ "type": "keyDown", "key": key, "text": if key.len() == 1 { key } else { "" } }),
    );
    chromium.ask("Input.dispatchKeyEvent", json!({ "type": "keyUp", "key": key }));
}

fn find(chromium: &mut Chromium, words: &str) {
    chromium.ask("Input.insertText", json!({ "text": words }));
}

/// The entries of the contents that are shown.
const SHOWN: &str = "[...document.querySelectorAll('nav li')].filter(item => item.checkVisibility()).map(item => item.querySelector('a').textContent)";

#[test]
fn page_loads_nothing_and_logs_nothing() {
    let Some(mut chromium) = chromium() else { return };
    for width in [PHONE, DESK] {
        chromium.open(&PAGE, width, "light");
        let seen = (chromium.refused(), chromium.requests(), chromium.complaints());
        assert_eq!(seen, (json!([]), Vec::new(), Vec::new()), "{width}");
    }
}

#[test]
fn page_fits_its_window() {
    let Some(mut chromium) = chromium() else { return };
    for width in [PHONE, 768, DESK] {
        chromium.open(&PAGE, width, "light");
        chromium.value("document.querySelectorAll('details').forEach(details => details.open = true)");
        assert_eq!(chromium.value(STICKS_OUT), json!([0, []]), "{width}");
    }
}

#[test]
fn every_text_has_enough_contrast() {
    let Some(mut chromium) = chromium() else { return };
    for scheme in ["light", "dark"] {
        chromium.open(&PAGE, DESK, scheme);
        assert_eq!(chromium.value(PALE), json!([true, {}]), "{scheme}");
    }
}

#[test]
fn axe_finds_nothing_serious() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&PAGE, DESK, "light");
    assert_eq!(serious_findings(&mut chromium), json!([]));
}

#[test]
fn slash_starts_search_enter_follows_name() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&PAGE, DESK, "light");
    press(&mut chromium, "/");
    find(&mut chromium, "queue mode");
    let shown = chromium.value(SHOWN);
    assert!(shown.as_array().unwrap().contains(&json!("set_steering_mode")), "{shown}");
    assert!(!shown.as_array().unwrap().contains(&json!("prompt")), "{shown}");
    let told = chromium.value("document.querySelector('[role=status]').textContent");
    assert_eq!(told, json!(format!("{} found", shown.as_array().unwrap().len())));
    press(&mut chromium, "Enter");
    assert_eq!(chromium.value("location.hash"), json!("#type-QueueMode"));
    press(&mut chromium, "/");
    press(&mut chromium, "Escape");
    assert_eq!(chromium.value("document.querySelectorAll('nav li[hidden]').length"), json!(0));
}

#[test]
fn search_on_phone_folds_after_choice() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&PAGE, PHONE, "light");
    assert_eq!(chromium.value(SHOWN), json!([]));
    chromium.value("document.getElementById('find').focus()");
    find(&mut chromium, "message_update");
    assert!(chromium.value(SHOWN).as_array().unwrap().contains(&json!("message_update")));
    press(&mut chromium, "Enter");
    assert_eq!(chromium.value(SHOWN), json!([]));
    assert_eq!(chromium.value(&in_view("event-message_update")), json!(true));
}

#[test]
fn deep_link_opens_and_clears_header() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&PAGE, PHONE, "light");
    for place in [
        "command-prompt",
        "response-get_state",
        "type-Model",
        "rule-resp-once",
        "error-busy",
        "state-flow-idle",
    ] {
        chromium.value(&format!(
            "new Promise(done => {{ onhashchange = () => done(); location.hash = '{place}' }})"
        ));
        assert_eq!(chromium.value(&in_view(place)), json!(true), "{place}");
    }
}

/// Whether a place is to be seen, and not under the contents.
fn in_view(place: &str) -> String {
    format!(
        "(() => {{
            const at = document.getElementById('{place}').getBoundingClientRect().top;
            return at >= document.querySelector('nav').getBoundingClientRect().bottom - 1 && at < innerHeight;
        }})()"
    )
}

#[test]
fn page_is_readable_without_script() {
    let Some(mut chromium) = chromium() else { return };
    let (before, script) = PAGE.rsplit_once("<script>").unwrap();
    let (_, after) = script.split_once("</script>").unwrap();
    chromium.open(&format!("{before}{after}"), PHONE, "dark");
    let search = chromium.value("document.getElementById('find').checkVisibility()");
    let contents = chromium.value("document.querySelector('nav > details').open");
    assert_eq!((search, contents), (json!(false), json!(true)));
    assert_eq!(chromium.value(STICKS_OUT), json!([0, []]));
}
