//! Prompts: streamed texts and thoughts, tool calls, cancellation, failures.

use crate::acp_support::{Setup, drive, new_session, prompt};
use agent_client_protocol::v1::schema::{
    CancelNotification, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent,
    PromptRequest, ResourceLink, StopReason, TextContent, TextResourceContents,
};
use serde_json::json;

#[tokio::test]
async fn texts_and_thoughts_are_streamed() {
    let setup = Setup::own(json!([
        { "say": [{ "thinking": "Hm,\u{2028}well." }, { "text": "One\u{2028}two \u{1F980}." }] }
    ]));
    let project = setup.project();
    let (stop, wire) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, "Hello\u{2028}there").await
    })
    .await;
    assert_eq!(stop, StopReason::EndTurn);
    assert_eq!(wire.text("agent_thought_chunk"), "Hm,\u{2028}well.");
    assert_eq!(wire.text("agent_message_chunk"), "One\u{2028}two \u{1F980}.");
    assert_eq!(wire.updates().last().unwrap()["sessionUpdate"], "usage_update");
}

#[tokio::test]
async fn write_and_command_are_tool_calls() {
    let setup = Setup::own(json!([
        { "match": "go", "say": [{ "tool": "write", "arguments": { "path": "a.txt", "content": "one\n" } }] },
        { "onResult": "wrote", "say": [{ "tool": "edit", "arguments": { "path": "a.txt", "edits": [{ "oldText": "one", "newText": "two" }] } }] },
        { "onResult": "replaced", "say": [{ "tool": "bash", "arguments": { "command": "cat a.txt" } }] },
        { "onResult": "two", "say": [{ "text": "Done." }] },
        { "onResult": "", "repeat": true, "say": [{ "text": "Odd." }] }
    ]));
    let project = setup.project();
    let (_, wire) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, "go").await
    })
    .await;
    let path = project.join("a.txt");
    let calls = wire.updates_of("tool_call");
    let shown: Vec<_> = calls.iter().map(|it| (it["kind"].clone(), it["title"].clone())).collect();
    let expected = [("edit", "Write a.txt"), ("edit", "Edit a.txt"), ("execute", "cat a.txt")];
    assert_eq!(shown, expected.map(|(kind, title)| (json!(kind), json!(title))));
    assert_eq!(calls[0]["locations"], json!([{ "path": path }]));
    assert_eq!(calls[0]["content"], json!([{ "type": "diff", "path": path, "newText": "one\n" }]));
    assert_eq!(
        calls[1]["content"],
        json!([{ "type": "diff", "path": path, "oldText": "one", "newText": "two" }])
    );
    let updates = wire.updates_of("tool_call_update");
    let mut of_command = updates.iter().filter(|it| it["toolCallId"] == calls[2]["toolCallId"]);
    let last = of_command.next_back().unwrap();
    assert_eq!(last["status"], "completed");
    assert_eq!(last["content"][0]["content"]["text"], "two\n");
    assert_eq!(wire.text("agent_message_chunk"), "Done.");
}

#[tokio::test]
async fn cancel_ends_prompt_in_each_state() {
    let setup = Setup::own(json!([
        { "match": "silence", "repeat": true, "hang": true },
        { "match": "slowly", "repeat": true, "say": [{ "text": "tick " }], "hang": true },
        { "match": "tool", "repeat": true, "say": [{ "tool": "bash", "arguments": { "command": "sleep 600" } }] },
        { "match": "retry", "repeat": true, "fail": { "status": 529 } },
        { "repeat": true, "say": [{ "text": "Fine." }] }
    ]));
    let project = setup.project();
    let (_, wire) = drive(&setup, async |connection, wire| {
        let session = new_session(&connection, &project).await?;
        for (text, sign) in [
            ("silence", ""),
            ("slowly", "tick "),
            ("tool", "in_progress"),
            ("retry", "Retry 1"),
            ("silence", ""),
        ] {
            let content = vec![ContentBlock::Text(TextContent::new(text))];
            let open = connection.send_request(PromptRequest::new(session.clone(), content));
            if !sign.is_empty() {
                wire.wait_for(|message| message.to_string().contains(sign)).await;
            }
            connection.send_notification(CancelNotification::new(session.clone()))?;
            assert_eq!(open.block_task().await?.stop_reason, StopReason::Cancelled, "{text}");
        }
        let stop = prompt(&connection, &session, "go on").await?;
        assert_eq!(stop, StopReason::EndTurn);
        Ok(())
    })
    .await;
    assert!(wire.text("agent_message_chunk").ends_with("Fine."));
}

#[tokio::test]
async fn images_and_resources_reach_the_model() {
    let setup = Setup::own(json!([{ "say": [{ "text": "Seen." }] }]));
    let project = setup.project();
    let (_, _) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        let text = TextResourceContents::new("fn main() {}", "file:///src/main.rs");
        let content = vec![
            ContentBlock::Text(TextContent::new("Look at ")),
            ContentBlock::ResourceLink(ResourceLink::new("lib.rs", "file:///src/lib.rs")),
            ContentBlock::Resource(EmbeddedResource::new(EmbeddedResourceResource::TextResourceContents(
                text,
            ))),
            ContentBlock::Image(ImageContent::new("iVBORw0KGgo=", "image/png")),
        ];
        let request = PromptRequest::new(session, content);
        connection.send_request(request).block_task().await.map(drop)
    })
    .await;
    let talk = std::fs::read_to_string(setup.recording()).unwrap();
    let sent = talk.lines().find(|line| line.contains("\"prompt\"")).unwrap();
    let sent: serde_json::Value = serde_json::from_str(sent).unwrap();
    let text = "Look at /src/lib.rs<resource uri=\"file:///src/main.rs\">\nfn main() {}\n</resource>";
    assert_eq!(sent["frame"]["message"], text);
    assert_eq!(
        sent["frame"]["images"],
        json!([{ "type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png" }])
    );
}

#[tokio::test]
async fn failed_model_fails_prompt() {
    let setup = Setup::own(json!([
        { "match": "first", "fail": { "status": 400, "message": "no such model here" } },
        { "say": [{ "text": "Better." }] }
    ]));
    let project = setup.project();
    let (error, wire) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        let error = prompt(&connection, &session, "first").await.unwrap_err();
        prompt(&connection, &session, "second").await?;
        Ok(error)
    })
    .await;
    assert!(error.message.contains("no such model here"), "{error:?}");
    assert_eq!(wire.text("agent_message_chunk"), "Better.");
}

#[tokio::test]
async fn stop_at_budget_ends_prompt() {
    let turns = json!([
        { "match": "go", "say": [{ "tool": "bash", "arguments": { "command": "echo one" } }] },
        { "say": [{ "text": "Done." }], "repeat": true }
    ]);
    for setup in [Setup::own(turns.clone()), Setup::foreign(turns, "pi-1")] {
        let mut setup = setup;
        setup.options.extend(["--max-turns", "1"].map(str::to_owned));
        for (choice, reason, text) in
            [(0, StopReason::EndTurn, "Done."), (1, StopReason::MaxTurnRequests, "")]
        {
            setup.choice = Some(choice);
            let project = setup.project();
            let (stop, wire) = drive(&setup, async |connection, _| {
                let session = new_session(&connection, &project).await?;
                prompt(&connection, &session, "go").await
            })
            .await;
            assert_eq!((stop, wire.text("agent_message_chunk").as_str()), (reason, text));
        }
    }
}

#[tokio::test]
async fn second_prompt_is_refused() {
    let setup = Setup::own(json!([{ "match": "silence", "hang": true }]));
    let project = setup.project();
    drive(&setup, async |connection, wire| {
        let session = new_session(&connection, &project).await?;
        let content = vec![ContentBlock::Text(TextContent::new("silence"))];
        let open = connection.send_request(PromptRequest::new(session.clone(), content));
        wire.wait_for(|message| message["method"] == "session/prompt").await;
        let error = prompt(&connection, &session, "more").await.unwrap_err();
        assert!(error.data.unwrap().to_string().contains("a prompt is open"));
        connection.send_notification(CancelNotification::new(session))?;
        open.block_task().await.map(drop)
    })
    .await;
}
