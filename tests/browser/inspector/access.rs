//! Light, dark and phone: no serious finding of axe-core, nothing sticks out. The types of all modules hold.

use super::{
    sample::sample,
    support::{DESK, Inspector, PHONE, inspect_lines},
};
use crate::{
    axe::serious_findings,
    toolchain_support::{packages, run},
};
use serde_json::json;
use std::{path::Path, process::Command};

const PARTS: [&str; 7] = ["conversation", "frames", "send", "chart", "findings", "timing", "report"];

/// A page with findings, a dialog and a selected frame.
fn rich_page() -> Option<Inspector> {
    let mut lines = sample();
    lines.push(super::support::record(99.0, "out", &json!({ "type": "extension_ui_request", "id": "d", "method": "select", "title": "Pick one", "options": ["alpha", "beta"] })));
    lines.push(super::support::record(99.5, "out", &json!({ "type": "turn_end" })));
    inspect_lines(&lines)
}

#[test]
fn parts_have_no_serious_accessibility_findings() {
    let Some(mut page) = rich_page() else { return };
    for (size, scheme) in [(DESK, "light"), (DESK, "dark"), (PHONE, "light"), (PHONE, "dark")] {
        page.open(size, scheme);
        page.until("document.querySelector('#dialog').open");
        assert_eq!(serious_findings(&mut page.browser), json!([]), "dialog, {scheme}");
        page.value("document.querySelector('#dialog button:last-of-type').focus()");
        page.press(&["Escape"]);
        page.press(&["2", "Home", "ArrowDown"]);
        page.until("document.querySelector('#frame-detail .json')");
        for part in PARTS {
            page.click(&format!("#tab-{part}"));
            page.value("document.querySelectorAll('#panel-send > details').forEach(it => it.open = true)");
            assert_eq!(serious_findings(&mut page.browser), json!([]), "{part}, {size:?}, {scheme}");
        }
    }
}

#[test]
fn parts_fit_a_phone() {
    let Some(mut page) = rich_page() else { return };
    page.open(PHONE, "light");
    for part in PARTS {
        page.click(&format!("#tab-{part}"));
        let width = page.value("[document.documentElement.scrollWidth, [...document.querySelectorAll('.panel.shown, .panel.shown .scroll, .panel.shown .detail')].map(it => it.scrollWidth - it.clientWidth)]");
        assert_eq!(width[0], json!(PHONE.0), "{part}");
        assert!(width[1].as_array().unwrap().iter().all(|it| *it == json!(0)), "{part}: {width}");
    }
}

#[test]
fn every_control_has_a_name() {
    let Some(mut page) = rich_page() else { return };
    let tree = page.browser.ask("Accessibility.getFullAXTree", json!({}));
    let unnamed: Vec<_> = tree["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|node| node["ignored"] == json!(false))
        .filter(|node| {
            [
                "button",
                "textbox",
                "searchbox",
                "combobox",
                "checkbox",
                "radio",
                "slider",
                "tab",
                "listbox",
                "dialog",
            ]
            .iter()
            .any(|role| node["role"]["value"] == *role)
        })
        .filter(|node| node["name"]["value"].as_str().unwrap_or_default().is_empty())
        .map(|node| node["role"]["value"].clone())
        .collect();
    assert_eq!(unnamed, Vec::<serde_json::Value>::new());
}

#[test]
fn modules_keep_strict_types() {
    let Some(folder) = packages("tests/chromium_support/node") else { return };
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/inspect/src/page");
    let checked = run(Command::new("node")
        .arg(folder.join("node_modules/typescript/bin/tsc"))
        .arg("--project")
        .arg(project));
    assert_eq!(checked, Ok(String::new()));
}
