//! What a client sees of compactions and retries, and that a cancel ends them.

use crate::acp_support::{Setup, drive, new_session, prompt};
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, PromptRequest, StopReason, TextContent,
};
use serde_json::{Value, json};

/// The own engine in this process, and as a process of each dialect.
fn setups(turns: &Value) -> Vec<Setup> {
    let dialects = ["pi", "pi-1", "xcsh", "omp"].map(|dialect| Setup::foreign(turns.clone(), dialect));
    let mut setups = vec![Setup::own(turns.clone())];
    setups.extend(dialects);
    for setup in &setups {
        let retry = json!({ "baseDelayMs": 1 });
        setup.settings(&json!({ "compaction": { "keepRecentTokens": 1 }, "retry": retry }));
    }
    setups
}

#[tokio::test]
async fn compaction_shows_its_summary() {
    let turns = json!([
        { "summary": true, "repeat": true, "say": [{ "text": "All of it." }] },
        { "repeat": true, "say": [{ "text": "Yes." }] }
    ]);
    for setup in setups(&turns) {
        let project = setup.project();
        let (stop, wire) = drive(&setup, async |connection, _| {
            let session = new_session(&connection, &project).await?;
            prompt(&connection, &session, "one").await?;
            prompt(&connection, &session, "two").await?;
            prompt(&connection, &session, "/compact").await
        })
        .await;
        assert_eq!(stop, StopReason::EndTurn);
        let shown = wire.updates_of("compaction_update");
        let statuses: Vec<&Value> = shown.iter().map(|it| &it["status"]).collect();
        if statuses.is_empty() {
            // These dialects have no events of a compaction that was asked for.
            assert!(setup.options.iter().any(|it| ["pi", "xcsh", "omp"].contains(&it.as_str())));
            continue;
        }
        assert_eq!(statuses, ["in_progress", "completed"], "{:?}", setup.options);
        let summary = shown[1]["summary"][0]["text"].as_str().unwrap();
        assert!(summary.contains("All of it."), "{summary}");
        assert_eq!(shown[0]["compactionId"], shown[1]["compactionId"]);
    }
}

#[tokio::test]
async fn retry_is_notice() {
    let turns = json!([
        { "fail": { "status": 529, "message": "overloaded" } },
        { "say": [{ "text": "Yes." }] }
    ]);
    for setup in setups(&turns) {
        let project = setup.project();
        let (stop, wire) = drive(&setup, async |connection, _| {
            let session = new_session(&connection, &project).await?;
            prompt(&connection, &session, "go").await
        })
        .await;
        assert_eq!(stop, StopReason::EndTurn);
        let notices = wire.updates_of("notice");
        let text = notices[0]["title"].as_str().unwrap();
        assert!(text.starts_with("Retry 1 of ") && text.contains("overloaded"), "{text}");
        assert_eq!((&notices[0]["severity"], notices.len()), (&json!("warning"), 1));
        assert_eq!(wire.text("agent_message_chunk"), "Yes.");
    }
}

#[tokio::test]
async fn failed_retries_fail_prompt() {
    let turns = json!([{ "repeat": true, "fail": { "status": 529, "message": "overloaded" } }]);
    for setup in setups(&turns).into_iter().take(2) {
        let project = setup.project();
        let (error, wire) = drive(&setup, async |connection, _| {
            let session = new_session(&connection, &project).await?;
            Ok(prompt(&connection, &session, "go").await.unwrap_err())
        })
        .await;
        assert!(error.message.contains("overloaded"), "{error:?}");
        let last = wire.updates_of("notice").pop().unwrap();
        assert_eq!(last["severity"], "error");
        assert!(last["title"].as_str().unwrap().starts_with("The retries have failed: "), "{last}");
    }
}

#[tokio::test]
async fn cancel_ends_compaction() {
    let turns = json!([
        { "summary": true, "repeat": true, "hang": true },
        { "repeat": true, "say": [{ "text": "Yes." }] }
    ]);
    for setup in setups(&turns) {
        let project = setup.project();
        drive(&setup, async |connection, wire| {
            let session = new_session(&connection, &project).await?;
            prompt(&connection, &session, "one").await?;
            prompt(&connection, &session, "two").await?;
            let content = vec![ContentBlock::Text(TextContent::new("/compact"))];
            let open = connection.send_request(PromptRequest::new(session.clone(), content));
            wire.wait_for(|message| message["params"]["prompt"][0]["text"] == "/compact").await;
            connection.send_notification(CancelNotification::new(session.clone()))?;
            assert_eq!(open.block_task().await?.stop_reason, StopReason::Cancelled);
            assert_eq!(prompt(&connection, &session, "three").await?, StopReason::EndTurn);
            Ok(())
        })
        .await;
    }
}
