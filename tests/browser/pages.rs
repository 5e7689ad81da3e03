//! The page in a real browser: nothing of the content runs, nothing is loaded, everything can be read.

use crate::{
    chromium_support::{PALE, STICKS_OUT, chromium},
    page_support::{Talk, hostile, sample::sample, text_block},
};
use serde_json::json;

/// The width of a small phone.
const PHONE: u64 = 360;

const UNFOLD: &str = "document.querySelectorAll('details').forEach(details => details.open = true)";

#[test]
fn hostile_content_runs_nothing_and_loads_nothing() {
    let Some(mut chromium) = chromium() else { return };
    let pages = hostile::ATTACKS
        .into_iter()
        .flat_map(|attack| [(attack, hostile::everywhere(attack)), (attack, hostile::long(attack))]);
    for (attack, mut page) in pages {
        page.name = Some("untouched".to_owned());
        chromium.open(&page.html(), PHONE, "light");
        // Long sessions become elements part by part: here all at once.
        chromium.value("dispatchEvent(new Event('beforeprint'))");
        chromium.value(UNFOLD);
        // Everything that was waiting to run has run after two frames.
        chromium
            .value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))");
        let seen = (chromium.value("document.title"), chromium.refused(), chromium.requests());
        assert_eq!(seen, (json!("untouched"), json!([]), Vec::new()), "{attack:?}");
    }
}

#[test]
fn injected_content_is_refused_by_policy() {
    let Some(mut chromium) = chromium() else { return };
    // The address belongs to nobody but this machine, and nothing listens there.
    let spoilt = "<script>document.title = 'ran'</script><img src=\"http://127.0.0.1:9/p.png\" onerror=\"1\">\
                  <iframe src=\"http://127.0.0.1:9/\"></iframe><p style=\"color: red\">x</p><main";
    let page = sample().html().replacen("<main", spoilt, 1);
    chromium.open(&page, PHONE, "light");
    let mut refused: Vec<String> = serde_json::from_value(chromium.refused()).unwrap();
    refused.sort();
    let expected = [
        "frame-src http://127.0.0.1:9",
        "img-src http://127.0.0.1:9/p.png",
        "script-src-attr inline",
        "script-src-elem inline",
        "style-src-attr inline",
    ];
    assert_eq!(refused, expected);
    assert_eq!(chromium.value("document.title"), "Totals that are a cent off");
    // Without the policy it runs, and what it asks for is seen here.
    chromium.open(&page.replacen("Content-Security-Policy", "x", 1), PHONE, "light");
    assert_eq!((chromium.value("document.title"), chromium.refused()), (json!("ran"), json!([])));
    let mut requests = chromium.requests();
    requests.sort();
    assert_eq!(requests, ["http://127.0.0.1:9/", "http://127.0.0.1:9/p.png"]);
}

#[test]
fn page_fits_a_phone() {
    let Some(mut chromium) = chromium() else { return };
    let mut talk = Talk::new();
    let long = "x".repeat(5000);
    talk.page.name = Some(long.clone());
    talk.user(&long);
    talk.answer(json!([text_block(&format!(
        "# {long}\n\n`{long}`\n\n- [{long}](https://{long})\n\n```\n{long}\n```\n\n|{long}|b|\n|-|-|\n|1|2|"
    ))]));
    let pages = [sample(), talk.page].into_iter().chain(hostile::ATTACKS.map(hostile::everywhere));
    for page in pages {
        chromium.open(&page.html(), PHONE, "light");
        chromium.value(UNFOLD);
        assert_eq!(chromium.value(STICKS_OUT), json!([0, []]));
    }
}

#[test]
fn every_text_has_enough_contrast() {
    let Some(mut chromium) = chromium() else { return };
    for scheme in ["light", "dark"] {
        for page in [sample(), hostile::everywhere("a\u{202E}b")] {
            chromium.open(&page.html(), 1280, scheme);
            chromium.value(UNFOLD);
            assert_eq!(chromium.value(PALE), json!([true, {}]), "{scheme}");
        }
    }
}
