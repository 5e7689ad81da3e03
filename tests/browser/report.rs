//! The report's page in a real browser: nothing overflows, the filter and the frames open by keyboard alone.

use crate::{
    axe::serious_findings,
    chromium_support::{PALE, STICKS_OUT, chromium},
    report_support::{found, report, subject},
};
use pi_rpc::{
    machine::{Rule, Tier},
    oracle::{
        Direction, Expectations,
        report::{Outcome, Report, Subject, TimelineEntry},
    },
};
use serde_json::json;

/// The widths of a phone and of a desk.
const PHONE: u64 = 390;
const DESK: u64 = 1280;

const UNFOLD: &str = "document.querySelectorAll('details').forEach(details => details.open = true)";

/// Elements that scroll sideways in themselves.
const SCROLLS: &str = "[...document.querySelectorAll('main *')]
    .filter(element => element.clientWidth > 0 && element.scrollWidth > element.clientWidth
        && ['auto', 'scroll'].includes(getComputedStyle(element).overflowX))
    .map(element => element.outerHTML.slice(0, 80))";

/// The conversations that are shown, in the list and below it.
const SHOWN: &str = "[...document.querySelectorAll('.subject h3, ul.subjects li')]
    .filter(item => item.checkVisibility()).map(item => item.textContent)";

/// The report of every outcome, with a long frame in one conversation.
fn page() -> String {
    let mut report = report(Tier::Observed);
    let long = json!({ "type": "agent_end", "messages": [{ "role": "user", "content": "x".repeat(3000) }] });
    report.subjects[1].timeline.push(TimelineEntry {
        record: 2,
        t: 3.5,
        direction: Direction::Out,
        text: format!("{} … ", &long.to_string()[..112]),
        whole: Some(long.to_string()),
        state: "streaming, 1 dialog".to_owned(),
        findings: Vec::new(),
    });
    report.to_page()
}

#[test]
fn report_fits_a_phone() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&page(), PHONE, "light");
    chromium.value(UNFOLD);
    assert_eq!(chromium.value(STICKS_OUT), json!([0, []]));
    assert_eq!(chromium.value(SCROLLS), json!([]));
}

#[test]
fn report_can_be_read_by_all() {
    let Some(mut chromium) = chromium() else { return };
    for (width, scheme) in [(PHONE, "light"), (DESK, "dark")] {
        chromium.open(&page(), width, scheme);
        chromium.value(UNFOLD);
        assert_eq!(chromium.value(PALE), json!([true, {}]), "{scheme}");
        assert_eq!(serious_findings(&mut chromium), json!([]), "{scheme}");
        let seen = (chromium.refused(), chromium.requests(), chromium.complaints());
        assert_eq!(seen, (json!([]), Vec::new(), Vec::new()), "{scheme}");
    }
}

#[test]
fn keys_choose_failed_and_known() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&page(), DESK, "light");
    assert_eq!(chromium.value(SHOWN).as_array().unwrap().len(), 14);
    chromium.tab_to("#show-all");
    chromium.press("ArrowRight", 0);
    let failed = ["failed spoilt.jsonl", "failed step", "could not be judged broken\\u{1b}[2J.jsonl"];
    assert_eq!(chromium.value(SHOWN), json!([failed, failed].concat()));
    chromium.press("ArrowRight", 0);
    let known = chromium.value(SHOWN);
    chromium.press("ArrowRight", 0);
    let unjudged = chromium.value(SHOWN).as_array().unwrap().len();
    assert_eq!((known, unjudged), (json!(["failed spoilt.jsonl", "failed spoilt.jsonl"]), 6));
}

#[test]
fn keys_unfold_whole_frame() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&page(), PHONE, "light");
    chromium.tab_to(".text summary");
    chromium.press("Enter", 0);
    let whole = chromium.value(
        "(() => {
        const whole = document.querySelector('.text pre');
        return whole.checkVisibility() && JSON.parse(whole.textContent).messages[0].content.length;
    })()",
    );
    assert_eq!(whole, json!(3000));
}

#[test]
fn findings_filter_hides_other_records() {
    let Some(mut chromium) = chromium() else { return };
    let moment = |record| TimelineEntry {
        record,
        t: 0.0,
        direction: Direction::Out,
        text: format!("frame {record}"),
        whole: None,
        state: "idle".to_owned(),
        findings: if record == 7 { vec![0] } else { Vec::new() },
    };
    let spoilt = Subject {
        outcome: Outcome::Failed,
        findings: vec![found(Rule::RespOnce, Tier::Must)],
        timeline: (1..=9).map(moment).collect(),
        ..subject("spoilt")
    };
    let report = Report::new(vec![spoilt], Expectations::default(), Tier::Observed);
    chromium.open(&report.to_page(), PHONE, "light");
    chromium.tab_to("#show-findings");
    chromium.press(" ", 0);
    let shown = "[...document.querySelectorAll('.records .text')].filter(cell => cell.checkVisibility()).map(cell => cell.textContent)";
    assert_eq!(chromium.value(shown), json!(["frame 7"]));
}
