//! Dialogs of extensions: permission requests, forms, and what becomes of them without an answer.

use crate::acp_support::{Setup, Wire, drive, new_session, prompt};
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, PromptRequest, StopReason, TextContent,
};
use serde_json::{Value, json};

/// An extension: `/dlg METHOD` opens a dialog and notifies of the response; so does the tool `asker`.
const EXTENSION: &str = r#"#!/bin/sh
say() { printf '%s\n' "$1"; }
while read -r line; do
  case $line in
    *'"type":"hello"'*) say '{"type":"register","commands":[{"name":"dlg"}],"tools":[{"name":"asker","description":"Asks.","parameters":{"type":"object"}}]}';;
    *'"type":"command"'* | *'"type":"tool_call"'*)
      call=$(printf '%s' "$line" | sed -n 's/.*"type":"[a-z_]*","id":"\([^"]*\)".*/\1/p')
      case $line in
        *confirm*) dialog='"method":"confirm","title":"Sure?","message":"Really do it?"';;
        *select*) dialog='"method":"select","title":"Pick one","options":["alpha","beta"]';;
        *input*) dialog='"method":"input","title":"Name?","placeholder":"type here"';;
        *editor*) dialog='"method":"editor","title":"Edit","prefill":"one\ntwo"';;
      esac
      say '{"type":"ui","origin":"'"$call"'","request":{"type":"extension_ui_request","id":"a",'"$dialog"'}}';;
    *'"type":"ui_answer"'*)
      response=${line#*'"id":"a",'}
      response=$(printf '%s' "${response%'}}'}" | sed 's/"//g')
      say '{"type":"ui","origin":"'"$call"'","request":{"type":"extension_ui_request","id":"b","method":"notify","message":"'"$response"'"}}'
      say '{"type":"done","id":"'"$call"'"}';;
  esac
done
"#;

/// The same engine in this process, and as a process.
fn setups() -> [Setup; 2] {
    let turns = ["confirm", "input"].map(|method| {
        json!({ "match": format!("ask {method}"), "say": [{ "tool": "asker", "arguments": { "method": method } }] })
    });
    let turns = json!(turns);
    [Setup::own(turns.clone()), Setup::foreign(turns, "pi-1")].map(|mut setup| {
        let extension = setup.script("dialogs", EXTENSION);
        setup.options.extend(["-e".to_owned(), extension]);
        setup
    })
}

/// The requests of this method.
fn requests(wire: &Wire, method: &str) -> Vec<Value> {
    let messages = wire.messages().into_iter().map(|(_, it)| it);
    messages.filter(|it| it["method"] == method).map(|it| it["params"].clone()).collect()
}

/// Opens a dialog; returns what the client was notified of.
async fn open(setup: &Setup, method: &str) -> (Value, Wire) {
    let project = setup.project();
    let (stop, wire) = drive(setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, &format!("/dlg {method}")).await
    })
    .await;
    assert_eq!(stop, StopReason::EndTurn);
    let notice = wire.updates_of("notice").pop().unwrap_or_default();
    (notice["title"].clone(), wire)
}

#[tokio::test]
async fn confirm_is_permission_request() {
    for (choice, response) in
        [(Some(0), "confirmed:true"), (Some(1), "confirmed:false"), (None, "cancelled:true")]
    {
        for mut setup in setups() {
            setup.choice = choice;
            let (notice, wire) = open(&setup, "confirm").await;
            assert_eq!(notice, response);
            let asked = &requests(&wire, "session/request_permission")[0];
            assert_eq!(asked["toolCall"]["title"], "Sure?");
            let message =
                json!([{ "type": "content", "content": { "type": "text", "text": "Really do it?" } }]);
            assert_eq!(asked["toolCall"]["content"], message);
            let options = json!([
                { "optionId": "0", "name": "Yes", "kind": "allow_once" },
                { "optionId": "1", "name": "No", "kind": "reject_once" }
            ]);
            assert_eq!(asked["options"], options);
        }
    }
}

#[tokio::test]
async fn select_is_permission_request() {
    for (choice, response) in [(Some(1), "value:beta"), (None, "cancelled:true")] {
        for mut setup in setups() {
            setup.choice = choice;
            let (notice, wire) = open(&setup, "select").await;
            assert_eq!(notice, response);
            let asked = &requests(&wire, "session/request_permission")[0];
            let names: Vec<&Value> =
                asked["options"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
            assert_eq!(names, ["alpha", "beta"]);
        }
    }
}

#[tokio::test]
async fn input_is_form() {
    for (entered, response) in [(Some("Ada"), "value:Ada"), (None, "cancelled:true")] {
        for setup in setups() {
            let (notice, wire) = open(&setup.entering(entered), "input").await;
            assert_eq!(notice, response);
            let asked = &requests(&wire, "elicitation/create")[0];
            assert_eq!(asked["message"], "Name?");
            let field = &asked["requestedSchema"]["properties"]["value"];
            assert_eq!(*field, json!({ "type": "string", "description": "type here" }));
        }
    }
}

#[tokio::test]
async fn editor_is_form() {
    for setup in setups() {
        let (notice, wire) = open(&setup.entering(Some("three")), "editor").await;
        assert_eq!(notice, "value:three");
        let asked = &requests(&wire, "elicitation/create")[0];
        assert_eq!(asked["message"], "Edit");
        assert_eq!(asked["requestedSchema"]["properties"]["value"]["default"], "one\ntwo");
    }
}

#[tokio::test]
async fn text_is_refused_without_forms() {
    for setup in setups() {
        let (notice, wire) = open(&setup, "input").await;
        assert_eq!(notice, "cancelled:true");
        let reason = "Name?: this editor cannot ask for a text, so the dialog was cancelled";
        assert_eq!(wire.updates_of("notice")[0]["title"], reason);
    }
}

#[tokio::test]
async fn cancel_takes_dialog_back() {
    for (prefix, method, request) in [
        ("/dlg", "confirm", "session/request_permission"),
        ("ask", "confirm", "session/request_permission"),
        ("ask", "input", "elicitation/create"),
    ] {
        for setup in setups() {
            let mut setup = setup.entering(None);
            setup.holds_dialogs = true;
            let project = setup.project();
            let (_, wire) = drive(&setup, async |connection, wire| {
                let session = new_session(&connection, &project).await?;
                let content = vec![ContentBlock::Text(TextContent::new(format!("{prefix} {method}")))];
                let open = connection.send_request(PromptRequest::new(session.clone(), content));
                wire.wait_for(|message| message["method"] == request).await;
                connection.send_notification(CancelNotification::new(session.clone()))?;
                assert_eq!(open.block_task().await?.stop_reason, StopReason::Cancelled);
                Ok(())
            })
            .await;
            assert_eq!(requests(&wire, "$/cancel_request").len(), 1, "{method}");
        }
    }
}
