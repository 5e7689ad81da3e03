//! Modes, options, slash commands, permissions.

use crate::acp_support::{Setup, drive, new_session, prompt};
use agent_client_protocol::v1::schema::{
    AuthenticateRequest, NewSessionRequest, SessionConfigKind, SetSessionConfigOptionRequest,
    SetSessionModeRequest, StopReason,
};
use serde_json::{Value, json};

#[tokio::test]
async fn modes_are_thinking_levels() {
    let setup = Setup::own(json!([]));
    let project = setup.project();
    let (_, wire) = drive(&setup, async |connection, _| {
        let opened = connection.send_request(NewSessionRequest::new(&project)).block_task().await?;
        let modes = opened.modes.unwrap();
        let ids: Vec<&str> = modes.available_modes.iter().map(|it| &*it.id.0).collect();
        assert_eq!(ids, ["off", "minimal", "low", "medium", "high", "xhigh"]);
        assert_eq!(&*modes.current_mode_id.0, "medium");
        let set = SetSessionModeRequest::new(opened.session_id.clone(), "high");
        connection.send_request(set).block_task().await?;
        let wrong = SetSessionModeRequest::new(opened.session_id, "higher");
        let error = connection.send_request(wrong).block_task().await.unwrap_err();
        assert!(error.data.unwrap().as_str().unwrap().ends_with("got \"higher\""));
        Ok(())
    })
    .await;
    assert_eq!(
        wire.updates_of("current_mode_update"),
        [json!({ "sessionUpdate": "current_mode_update", "currentModeId": "high" })]
    );
}

#[tokio::test]
async fn options_are_model_and_level() {
    let setup = Setup::own(json!([]));
    let project = setup.project();
    drive(&setup, async |connection, _| {
        let opened = connection.send_request(NewSessionRequest::new(&project)).block_task().await?;
        let options = opened.config_options.unwrap();
        let ids: Vec<&str> = options.iter().map(|it| &*it.id.0).collect();
        assert_eq!(ids, ["model", "thought_level"]);
        let SessionConfigKind::Select(model) = &options[0].kind else { panic!("{options:?}") };
        let current = model.current_value.clone();
        let set = |id: &str, value: &str| {
            SetSessionConfigOptionRequest::new(opened.session_id.clone(), id.to_owned(), value)
        };
        connection.send_request(set("model", &current.0)).block_task().await?;
        let after = connection.send_request(set("thought_level", "low")).block_task().await?;
        let SessionConfigKind::Select(level) = &after.config_options[1].kind else { panic!("{after:?}") };
        assert_eq!(&*level.current_value.0, "low");
        let error = connection.send_request(set("model", "nobody/nothing")).block_task().await.unwrap_err();
        assert!(error.data.unwrap().to_string().contains("nothing"));
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn stored_credentials_authenticate() {
    let setup = Setup::own(json!([]));
    let project = setup.project();
    drive(&setup, async |connection, _| {
        new_session(&connection, &project).await?;
        connection.send_request(AuthenticateRequest::new("stored-credentials")).block_task().await?;
        assert!(connection.send_request(AuthenticateRequest::new("magic")).block_task().await.is_err());
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn slash_commands_name_and_compact() {
    let setup = Setup::own(json!([
        { "summary": true, "repeat": true, "say": [{ "text": "All of it." }] },
        { "repeat": true, "say": [{ "text": "Yes." }] }
    ]));
    let project = setup.project();
    std::fs::create_dir_all(setup.home.path().join(".pi/agent/prompts")).unwrap();
    std::fs::write(setup.home.path().join(".pi/agent/prompts/review.md"), "Review $1").unwrap();
    let (_, wire) = drive(&setup, async |connection, wire| {
        let session = new_session(&connection, &project).await?;
        wire.wait_for(|message| message["params"]["update"]["sessionUpdate"] == "available_commands_update")
            .await;
        prompt(&connection, &session, "/review main.rs").await?;
        assert_eq!(prompt(&connection, &session, "/name Reading").await?, StopReason::EndTurn);
        Ok(())
    })
    .await;
    let commands = &wire.updates_of("available_commands_update")[0]["availableCommands"];
    let names: Vec<&Value> = commands.as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["review", "compact", "name"]);
    let named = json!({ "sessionUpdate": "session_info_update", "title": "Reading" });
    assert_eq!(wire.updates_of("session_info_update"), [named]);
    assert!(std::fs::read_to_string(setup.recording()).unwrap().contains("Review main.rs"));
}

fn asks_for_bash() -> Value {
    json!([
        { "onResult": "", "repeat": true, "say": [{ "text": "Well." }] },
        { "match": "go", "repeat": true, "say": [{ "tool": "bash", "arguments": { "command": "echo done > sign" } }] }
    ])
}

#[tokio::test]
async fn permission_lets_tool_run() {
    let setup = Setup::own(asks_for_bash()).with(&["--confirm-tools", "bash"]);
    let project = setup.project();
    let (_, wire) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, "go").await
    })
    .await;
    let asked: Vec<Value> = wire
        .messages()
        .into_iter()
        .map(|(_, it)| it)
        .filter(|it| it["method"] == "session/request_permission")
        .collect();
    assert_eq!(asked.len(), 1);
    let kinds: Vec<&Value> =
        asked[0]["params"]["options"].as_array().unwrap().iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["allow_once", "allow_always", "allow_always", "reject_once"]);
    assert_eq!(asked[0]["params"]["toolCall"]["toolCallId"], wire.updates_of("tool_call")[0]["toolCallId"]);
    assert!(project.join("sign").exists());
}

#[tokio::test]
async fn denied_tool_does_not_run() {
    for choice in [Some(3), None] {
        let mut setup = Setup::own(asks_for_bash()).with(&["--confirm-tools", "bash"]);
        setup.choice = choice;
        let project = setup.project();
        let (_, wire) = drive(&setup, async |connection, _| {
            let session = new_session(&connection, &project).await?;
            prompt(&connection, &session, "go").await
        })
        .await;
        assert!(!project.join("sign").exists());
        assert_eq!(wire.updates_of("tool_call_update").last().unwrap()["status"], "failed");
    }
}
