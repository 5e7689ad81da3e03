//! What may be sent: forms made from the schema, refused commands, raw JSON with completion, history and scripts.

use super::support::{DESK, inspect_own_server, inspect_recording, inspect_server};
use serde_json::json;

/// A server that acknowledges a prompt, begins a run and never ends it.
const BUSY: &str = r#"read line; id=${line#*\"id\":\"}; id=${id%%\"*}; echo '{"id":"'$id'","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}'; echo '{"type":"agent_start"}'; cat > /dev/null"#;

#[test]
fn keyboard_alone_sends_prompt_and_reads_answer() {
    let Some(page) = inspect_own_server() else { return };
    let mut page = page.opened();
    page.press(&["3"]);
    page.tab_to("#command-form textarea");
    page.write("What is in this folder?");
    page.press_control("Enter");
    page.until("document.querySelector('.item.assistant')");
    page.until("document.querySelector('#state').textContent === 'idle' && document.querySelectorAll('.item.assistant').length > 1");
    assert_eq!(page.texts(".item.user .text"), ["What is in this folder?"]);
    page.assert_clean();
}

#[test]
fn enter_sends_what_is_written_below() {
    let Some(page) = inspect_own_server() else { return };
    let mut page = page.opened();
    page.until("document.querySelector('#message-fate').textContent === 'Accepted; a run follows.'");
    page.tab_to("#message");
    page.write("What is in this folder?");
    page.press(&["Enter"]);
    page.until("document.querySelectorAll('.item.assistant').length > 1");
    assert_eq!(page.texts(".item.user .text"), ["What is in this folder?"]);
    assert_eq!(page.value("document.querySelector('#message').value"), json!(""));
    page.assert_clean();
}

#[test]
fn open_run_is_steered_or_stopped_below() {
    let Some(page) = inspect_server(&["sh", "-c", BUSY]) else { return };
    let mut page = page.opened();
    page.tab_to("#message");
    page.write("Never end");
    page.press(&["Enter"]);
    page.until("!document.querySelector('#message-stop').hidden");
    let queues = "[...document.querySelector('#message-as').options].map(it => it.text)";
    assert_eq!(page.value(queues), json!(["Steer", "Follow up"]));
    assert_eq!(page.text("#message-fate"), "Accepted; the message waits for its turn.");
}

#[test]
fn refused_command_is_grey_with_reason() {
    let Some(page) = inspect_server(&["sh", "-c", BUSY]) else { return };
    let mut page = page.opened();
    assert_eq!(page.value("document.querySelectorAll('.command.refused').length"), json!(0));
    page.press(&["3"]);
    page.tab_to("#command-form textarea");
    page.write("Never end");
    page.press_control("Enter");
    page.until("document.querySelector('#state').textContent.startsWith('streaming')");
    page.until("document.querySelector('#send').disabled");
    page.until("document.querySelector('#fate .bad')?.textContent.includes('already processing') || document.querySelector('#fate .bad')?.textContent.includes('streaming')");
    page.click("#send-anyway");
    assert_eq!(page.value("document.querySelector('#send').disabled"), json!(false));
}

#[test]
fn form_and_json_follow_each_other() {
    let Some(page) = inspect_own_server() else { return };
    let mut page = page.opened();
    page.click("input[name=command][value=set_model]");
    page.value("document.querySelectorAll('#command-form textarea')[0].focus()");
    page.write("fake");
    let written = page.value("JSON.parse(document.querySelector('#raw').value).provider");
    assert_eq!(written, json!("fake"));
    page.value("document.querySelector('#raw').focus(); document.querySelector('#raw').select()");
    page.write(r#"{"type":"set_steering_mode","mode":"all"}"#);
    assert_eq!(page.text("#command-about h3"), "set_steering_mode");
    assert_eq!(
        page.value("document.querySelector('#command-form select').selectedOptions[0].text"),
        json!("all")
    );
    page.until("document.querySelector('input[name=command]:checked').value === 'set_steering_mode'");
}

#[test]
fn error_is_shown_at_field_and_place() {
    let Some(page) = inspect_own_server() else { return };
    let mut page = page.opened();
    page.press(&["3"]);
    page.value("document.querySelector('#raw').focus(); document.querySelector('#raw').select()");
    page.write("{\"type\":\"set_model\",\n\"provider\":null,\"modelId\":\"m\"}");
    page.until("document.querySelector('#raw-problems li')");
    let problem = page.text("#raw-problems li");
    assert!(problem.starts_with("2:12 /provider: ") && problem.contains("null"), "{problem}");
    let field = "[...document.querySelectorAll('#command-form [aria-invalid]')].map(it => it.closest('.field').querySelector('label code').textContent)";
    assert_eq!(page.value(field), json!(["provider"]));
    page.click("#raw-problems button");
    assert_eq!(page.value("getSelection().toString() || document.activeElement.value.slice(document.activeElement.selectionStart, document.activeElement.selectionEnd)"), json!("null"));
    assert_eq!(page.value("document.querySelector('#send').disabled"), json!(true));
}

#[test]
fn completion_knows_commands_members_and_values() {
    let Some(page) = inspect_own_server() else { return };
    let mut page = page.opened();
    page.value("document.querySelector('#raw').focus(); document.querySelector('#raw').select()");
    page.write("{\"type\":\"set_th");
    page.until("document.querySelector('#completions [role=option]')");
    assert_eq!(page.texts("#completions code"), [r#""set_thinking_level""#]);
    page.press(&["Enter"]);
    page.write(",\"l");
    assert_eq!(page.texts("#completions code"), [r#""level": "#]);
    page.press(&["Tab"]);
    page.write("\"h");
    assert_eq!(page.texts("#completions code"), [r#""high""#]);
    page.press(&["Enter"]);
    page.write("}");
    assert_eq!(
        page.value("document.querySelector('#raw').value"),
        json!(r#"{"type":"set_thinking_level","level": "high"}"#)
    );
}

#[test]
fn history_brings_command_back() {
    let Some(page) = inspect_own_server() else { return };
    let mut page = page.opened();
    page.click("input[name=command][value=get_commands]");
    page.until("!document.querySelector('#send').disabled");
    page.click("#send");
    page.until("document.querySelector('#announcement').textContent.startsWith('Sent')");
    page.click("input[name=command][value=prompt]");
    page.click("#history summary");
    page.until("document.querySelector('#history-list li')");
    assert_eq!(page.texts("#history-list li > code").len(), 1);
    page.click("#history-list li button:not(.link)");
    page.until("document.querySelector('input[name=command]:checked').value === 'get_commands'");
}

#[test]
fn script_is_saved_and_run_again() {
    let Some(page) = inspect_own_server() else { return };
    let mut page = page.opened();
    for command in ["get_state", "get_messages"] {
        page.click(&format!("input[name=command][value={command}]"));
        page.click("#script-add");
    }
    page.click("#script-box summary");
    assert_eq!(page.texts("#script-lines li").len(), 2);
    page.value("document.querySelector('#script-name').value = 'read'");
    page.value("document.querySelector('#script-form').requestSubmit()");
    page.until("document.querySelector('#scripts li')");
    for times in 1..3 {
        page.click("#scripts [aria-label='Run read']");
        page.value("document.querySelector('[name=dir]').value = 'in'");
        page.value("document.querySelector('#frame-filters').requestSubmit()");
        page.until(&format!(
            "document.querySelector('#frame-count').textContent.startsWith('{} rows of')",
            2 * times
        ));
    }
}

#[test]
fn recording_disables_sending_with_reason() {
    let Some(mut page) = inspect_recording("pi-1/tools.jsonl") else { return };
    page.open(DESK, "light");
    assert_eq!(page.value("document.querySelector('#send').disabled"), json!(true));
    assert_ne!(page.text("#sends-not"), "");
}
