//! `_session/steering`: messages for a run that is open.

use crate::acp_support::{PROGRAM, Setup, drive, new_session};
use agent_client_protocol::{
    Agent, Error, UntypedMessage,
    v1::{
        ConnectionTo,
        schema::{ContentBlock, PromptRequest, SessionId, StopReason, TextContent},
    },
};
use serde_json::{Value, json};
use std::{fs, process::Command};

/// Sends the request and returns its response.
async fn steer(
    connection: &ConnectionTo<Agent>,
    session: &SessionId,
    text: &str,
    options: Value,
) -> Result<Value, Error> {
    let params = json!({
        "sessionId": session,
        "prompt": [{ "type": "text", "text": text }],
        "_meta": { "steering": options }
    });
    let request = UntypedMessage::new("_session/steering", params)?;
    connection.send_request(request).block_task().await
}

#[tokio::test]
async fn messages_reach_the_open_run() {
    for setup in [Setup::own, |turns| Setup::foreign(turns, "pi"), |turns| Setup::foreign(turns, "omp")] {
        let setup = setup(json!([
            { "match": "go", "say": [{ "tool": "bash", "arguments": { "command": "cat gate" } }] },
            { "match": "other way", "say": [{ "text": "Turned. " }] },
            { "match": "at last", "say": [{ "text": "Finished." }] },
            { "onResult": "", "say": [{ "text": "Went on. " }] }
        ]));
        let project = setup.project();
        let gate = project.join("gate");
        assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
        let (stop, wire) = drive(&setup, async |connection, _| {
            let session = new_session(&connection, &project).await?;
            let content = vec![ContentBlock::Text(TextContent::new("go"))];
            let open = connection.send_request(PromptRequest::new(session.clone(), content));
            let injected = json!({ "outcome": "injected" });
            let late = json!({ "streamingBehavior": "followUp" });
            assert_eq!(steer(&connection, &session, "at last", late).await?, injected);
            assert_eq!(steer(&connection, &session, "the other way", json!({})).await?, injected);
            tokio::task::spawn_blocking(move || fs::write(gate, "open")).await.unwrap().unwrap();
            Ok(open.block_task().await?.stop_reason)
        })
        .await;
        assert_eq!(stop, StopReason::EndTurn);
        assert_eq!(wire.text("agent_message_chunk"), "Turned. Finished.");
    }
}

#[tokio::test]
async fn without_run_the_client_decides() {
    let setup = Setup::own(json!([{ "match": "again", "repeat": true, "say": [{ "text": "Here." }] }]));
    let project = setup.project();
    let (_, wire) = drive(&setup, async |connection, wire| {
        let session = new_session(&connection, &project).await?;
        let required = json!({ "idleBehavior": "promptRequired" });
        let outcome = steer(&connection, &session, "again", required).await?;
        assert_eq!(outcome, json!({ "outcome": "promptRequired", "reason": "noRunningTurn" }));
        let outcome = steer(&connection, &session, "again", json!({})).await?;
        assert_eq!(outcome, json!({ "outcome": "startedNewTurn" }));
        wire.wait_for(|message| message.to_string().contains("usage_update")).await;
        let wrong = steer(&connection, &session, "again", json!({ "idleBehavior": "wait" })).await;
        assert!(wrong.unwrap_err().to_string().contains("promptRequired"));
        Ok(())
    })
    .await;
    assert_eq!(wire.text("agent_message_chunk"), "Here.");
}

/// The message is on its way while the run ends: the server reads it behind the `get_state` that finds the run over.
#[tokio::test]
async fn late_message_keeps_the_prompt_open() {
    let mut setup = Setup::own(json!([
        { "match": "go", "say": [{ "tool": "bash", "arguments": { "command": "cat gate" } }] },
        { "match": "other way", "say": [{ "text": "Turned. " }] },
        { "onResult": "", "say": [{ "text": "Went on. " }] }
    ]));
    let project = setup.project();
    assert!(
        Command::new("mkfifo").args([project.join("gate"), project.join("pipe")]).status().unwrap().success()
    );
    let model = setup.options[1].clone();
    let mark = "case $line in *agent_settled*) : > over;; esac; printf '%s\\n' \"$line\"";
    let hold = "case $line in *streamingBehavior*) held=$line; echo > gate;; *) printf '%s\\n' \"$line\" >&3;; esac; \
                case $line in *get_state*) [ -e over ] && [ \"$held\" ] && printf '%s\\n' \"$held\" >&3 && held=;; esac";
    let whole = format!(
        "cd {} && {{ {PROGRAM} serve --dialect pi-1 --no-session --model {model} < pipe | while read -r line; do {mark}; done & }} && \
         exec 3> pipe; held=; while read -r line; do {hold}; done",
        project.display()
    );
    setup.options = ["--dialect", "pi-1", "--agent", "--", "sh", "-c", &whole].map(str::to_owned).to_vec();
    let (stop, _) = drive(&setup, async |connection, wire| {
        let session = new_session(&connection, &project).await?;
        let content = vec![ContentBlock::Text(TextContent::new("go"))];
        let open = connection.send_request(PromptRequest::new(session.clone(), content));
        assert_eq!(
            steer(&connection, &session, "the other way", json!({})).await?,
            json!({ "outcome": "injected" })
        );
        let stop = open.block_task().await?.stop_reason;
        assert_eq!(wire.text("agent_message_chunk"), "Went on. Turned. ");
        Ok(stop)
    })
    .await;
    assert_eq!(stop, StopReason::EndTurn);
}
