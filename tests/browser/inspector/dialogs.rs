//! Dialogs pop up as a host would show them, and are answered from the keyboard.

use super::support::{Inspector, inspect_server};

/// A server that opens a dialog, and writes the answer to stderr.
fn dialog_server(request: &str) -> Option<Inspector> {
    let script = format!(r#"echo '{request}'; read answer; echo "$answer" >&2; cat > /dev/null"#);
    inspect_server(&["sh", "-c", &script]).map(Inspector::opened)
}

/// Waits for the answer that the server has read.
fn expect_answer(page: &mut Inspector, answer: &str) {
    page.value("document.querySelector('[name=dir]').value = 'err'");
    page.value("document.querySelector('#frame-filters').requestSubmit()");
    page.until("document.querySelector('.row[data-dir=err] .row-text')");
    let read: serde_json::Value = serde_json::from_str(&page.text(".row[data-dir=err] .row-text")).unwrap();
    assert_eq!(read, serde_json::from_str::<serde_json::Value>(answer).unwrap());
    page.until("!document.querySelector('#dialog').open");
}

#[test]
fn select_is_answered_with_option() {
    let request = r#"{"type":"extension_ui_request","id":"d1","method":"select","title":"Pick one","options":["alpha","beta"]}"#;
    let Some(mut page) = dialog_server(request) else { return };
    page.until("document.querySelector('#dialog').open");
    assert_eq!(page.text("#dialog h2"), "Pick one");
    page.tab_to("#dialog .options button:nth-child(2)");
    page.press(&["Enter"]);
    expect_answer(&mut page, r#"{"type":"extension_ui_response","id":"d1","value":"beta"}"#);
}

#[test]
fn confirm_is_answered_with_no() {
    let request = r#"{"type":"extension_ui_request","id":"d1","method":"confirm","title":"Sure?","message":"Really do it?"}"#;
    let Some(mut page) = dialog_server(request) else { return };
    page.until("document.querySelector('#dialog').open");
    assert_eq!(page.text("#dialog .text"), "Really do it?");
    page.tab_to("#dialog .buttons button:nth-child(2)");
    page.press(&["Enter"]);
    expect_answer(&mut page, r#"{"type":"extension_ui_response","id":"d1","confirmed":false}"#);
}

#[test]
fn input_is_answered_with_text() {
    let request = r#"{"type":"extension_ui_request","id":"d1","method":"input","title":"Name?","placeholder":"type here"}"#;
    let Some(mut page) = dialog_server(request) else { return };
    page.until("document.querySelector('#dialog').open");
    page.tab_to("#dialog input");
    page.write("Ada");
    page.press(&["Enter"]);
    expect_answer(&mut page, r#"{"type":"extension_ui_response","id":"d1","value":"Ada"}"#);
}

#[test]
fn editor_begins_with_text_and_cancels() {
    let request = r#"{"type":"extension_ui_request","id":"d1","method":"editor","title":"Edit","prefill":"line1\nline2"}"#;
    let Some(mut page) = dialog_server(&request.replace('\\', "\\\\")) else { return };
    page.until("document.querySelector('#dialog').open");
    assert_eq!(page.value("document.querySelector('#dialog textarea').value"), "line1\nline2");
    page.tab_to("#dialog p.buttons button");
    page.press(&["Enter"]);
    expect_answer(&mut page, r#"{"type":"extension_ui_response","id":"d1","cancelled":true}"#);
}

#[test]
fn dialog_put_aside_comes_back() {
    let request =
        r#"{"type":"extension_ui_request","id":"d1","method":"confirm","title":"Sure?","message":"Really?"}"#;
    let Some(mut page) = dialog_server(request) else { return };
    page.until("document.querySelector('#dialog').contains(document.activeElement)");
    page.press(&["Escape"]);
    page.until("!document.querySelector('#dialog').open");
    assert_eq!(page.text("#dialogs-waiting"), "1 dialog open");
    page.press(&["d"]);
    page.until("document.querySelector('#dialog').contains(document.activeElement)");
    assert_eq!(page.text("#state"), "idle+awaiting_ui");
    page.click("#tab-chart");
    page.until("[...document.querySelectorAll('#states .lit')].some(it => it.textContent === 'awaiting_ui')");
}
