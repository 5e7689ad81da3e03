//! The chart, findings, time, and the moments of a recording.

use super::{
    sample::sample,
    support::{DESK, SELECTED, inspect_lines, inspect_recording},
};
use serde_json::json;

#[test]
fn chart_lights_state_and_transition() {
    let Some(mut page) = inspect_recording("pi-1/tools.jsonl") else { return };
    page.open(DESK, "light");
    page.click("#tab-chart");
    let lit = "[...document.querySelectorAll('#states .lit > code')].map(it => it.textContent)";
    page.until("document.querySelector('#chart .state.lit')");
    assert_eq!(page.value(lit), json!(["idle", "none", "idle", "steady", "stopping"]));
    page.press(&["2", "Home"]);
    page.select_frame(10);
    page.value("[...document.querySelectorAll('#frame-detail button')].find(it => it.textContent === 'State at this frame').click()");
    page.until("document.querySelector('#state').textContent === 'streaming.message'");
    page.click("#tab-chart");
    page.until("document.querySelector('#chart-transition').textContent.startsWith('streaming.turn → streaming.message by message_start')");
    assert_eq!(page.value(lit), json!(["streaming", "message", "none", "idle", "steady", "open"]));
    let drawn = "[...document.querySelectorAll('#chart .state.lit')].map(it => it.dataset.state)";
    assert_eq!(
        page.value(drawn),
        json!(["streaming", "streaming.message", "none", "idle", "steady", "open"])
    );
    let arrow =
        "[...document.querySelectorAll('#chart .edge.lit')].map(it => [it.dataset.from, it.dataset.to])";
    assert_eq!(page.value(arrow), json!([["turn", "message"]]));
}

#[test]
fn scrubber_steps_through_recording() {
    let Some(mut page) = inspect_recording("pi-1/tools.jsonl") else { return };
    page.open(DESK, "light");
    page.value("document.querySelector('#scrubber').focus()");
    page.press(&["Home"]);
    page.until("document.querySelector('#moment').textContent.startsWith('after frame 0 of 61')");
    page.until("document.querySelectorAll('.item').length === 0");
    let mut states = Vec::new();
    for _ in 0..4 {
        let before = page.text("#moment");
        page.click("#change-on");
        page.until(&format!("document.querySelector('#moment').textContent !== {}", json!(before)));
        states.push(page.text("#state"));
    }
    assert_eq!(states, ["starting", "streaming.between", "streaming.turn", "streaming.message"]);
    page.until(&format!("{SELECTED} === '10'"));
    page.until("document.querySelectorAll('.item.assistant').length === 1 && document.querySelectorAll('.item.tool').length === 0");
    page.value("document.activeElement.blur()");
    page.press(&["0"]);
    page.until("document.querySelectorAll('.item.tool').length === 2");
}

#[test]
fn finding_is_shown_at_its_frame() {
    let mut lines = sample();
    let at = lines.iter().position(|line| line.contains("\"tool_execution_end\"")).unwrap();
    lines.remove(at);
    let Some(mut page) = inspect_lines(&lines) else { return };
    page.until("document.querySelector('#findings-badge').textContent !== ''");
    page.click("#tab-findings");
    page.until("document.querySelector('#findings-list .finding')");
    let names = page.texts("#findings-list .finding:first-child dt");
    assert!(
        ["Expected", "Got", "State", "Source"].iter().all(|name| names.iter().any(|it| it == name)),
        "{names:?}"
    );
    let rule = page.text("#findings-list .finding code");
    page.click("#findings-list .finding button");
    page.until("document.querySelector('#frame-detail .finding code')");
    assert_eq!(page.text("#frame-detail .finding code"), rule);
    assert_eq!(
        page.value("document.querySelector('.row[aria-selected=true]').classList.contains('has-finding')"),
        json!(true)
    );
    page.click("#tab-report");
    page.until("document.querySelector('.verdict')");
    assert!(page.text(".verdict").starts_with("At the end: "), "{}", page.text(".verdict"));
    assert!(page.texts("#report .finding code").contains(&rule));
}

#[test]
fn time_of_commands_and_runs_is_shown() {
    let Some(mut page) = inspect_lines(&sample()) else { return };
    page.click("#tab-timing");
    page.until("document.querySelectorAll('#timing tbody tr').length === 2");
    assert_eq!(page.texts("#timing tbody:first-of-type tr td:first-child")[0], "prompt");
    let figures = page.texts("#timing .figures dt");
    assert_eq!(figures, ["Model", "Frames", "Runs", "Tokens", "Cost", "Deltas"]);
    page.click("#timing tbody button");
    page.until(&format!("{SELECTED} === '4'"));
}
