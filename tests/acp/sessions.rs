//! Sessions: listed, loaded with their history, resumed, forked, closed, deleted, several at once.

use crate::acp_support::{Setup, Wire, drive, new_session, prompt};
use agent_client_protocol::v1::schema::{
    CloseSessionRequest, DeleteSessionRequest, ForkSessionRequest, ListSessionsRequest, LoadSessionRequest,
    NewSessionRequest, ResumeSessionRequest, SessionId, StopReason,
};
use serde_json::{Value, json};

fn talkative() -> Value {
    json!([
        { "match": "file", "say": [{ "tool": "write", "arguments": { "path": "a.txt", "content": "one\n" } }] },
        { "onResult": "wrote", "say": [{ "text": "Written." }] },
        { "repeat": true, "say": [{ "thinking": "Hm." }, { "text": "Yes." }] }
    ])
}

/// The updates of a session from the `from`th message on, as kinds with their texts.
fn shown(wire: &Wire, session: &SessionId) -> Vec<(String, Value)> {
    let updates = wire.messages().into_iter().filter(|(_, it)| it["params"]["sessionId"] == *session.0);
    let updates = updates.filter(|(_, it)| it["method"] == "session/update");
    let shown = updates.map(|(_, it)| {
        let update = &it["params"]["update"];
        (update["sessionUpdate"].as_str().unwrap().to_owned(), update["content"]["text"].clone())
    });
    shown.collect()
}

#[tokio::test]
async fn loaded_session_is_replayed() {
    let setup = Setup::own(talkative());
    let project = setup.project();
    let (session, _) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, "a file").await?;
        prompt(&connection, &session, "really").await?;
        Ok(session)
    })
    .await;
    let id = session.clone();
    let (loaded, wire) = drive(&setup, async |connection, wire| {
        connection.send_request(LoadSessionRequest::new(id.clone(), &project)).block_task().await?;
        let replayed = shown(&wire, &id);
        prompt(&connection, &id, "more").await?;
        Ok(replayed)
    })
    .await;
    let texts: Vec<_> = loaded[..loaded.len().min(7)]
        .iter()
        .map(|(kind, text)| (kind.as_str(), text.as_str().unwrap_or("")))
        .collect();
    assert_eq!(
        texts,
        [
            ("user_message_chunk", "a file"),
            ("tool_call", ""),
            ("tool_call_update", ""),
            ("agent_message_chunk", "Written."),
            ("user_message_chunk", "really"),
            ("agent_thought_chunk", "Hm."),
            ("agent_message_chunk", "Yes."),
        ]
    );
    assert_eq!(wire.updates_of("tool_call")[0]["title"], "Write a.txt");
    assert_eq!(wire.updates_of("tool_call_update")[0]["status"], "completed");
}

#[tokio::test]
async fn sessions_are_listed_and_deleted() {
    let setup = Setup::own(talkative());
    let project = setup.project();
    let (_, _) = drive(&setup, async |connection, _| {
        let first = new_session(&connection, &project).await?;
        prompt(&connection, &first, "first question").await?;
        let second = new_session(&connection, &project).await?;
        prompt(&connection, &second, "second question").await?;
        let list = async || {
            connection.send_request(ListSessionsRequest::new().cwd(project.clone())).block_task().await
        };
        let titles = |listed: agent_client_protocol::v1::schema::ListSessionsResponse| {
            let mut titles: Vec<_> = listed.sessions.into_iter().filter_map(|it| it.title).collect();
            titles.sort();
            titles
        };
        assert_eq!(titles(list().await?), ["first question", "second question"]);
        connection.send_request(DeleteSessionRequest::new(first)).block_task().await?;
        assert_eq!(titles(list().await?), ["second question"]);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn fork_leaves_the_original_alone() {
    let setup = Setup::own(talkative());
    let project = setup.project();
    drive(&setup, async |connection, wire| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, "one").await?;
        let fork = ForkSessionRequest::new(session.clone(), &project);
        let fork = connection.send_request(fork).block_task().await?.session_id;
        assert_ne!(fork, session);
        prompt(&connection, &fork, "two").await?;
        connection.send_request(CloseSessionRequest::new(session.clone())).block_task().await?;
        connection.send_request(LoadSessionRequest::new(fork.clone(), &project)).block_task().await?;
        let asked = |id| shown(&wire, id).into_iter().filter(|(kind, _)| kind == "user_message_chunk");
        assert_eq!(asked(&fork).map(|(_, text)| text).collect::<Vec<_>>(), [json!("one"), json!("two")]);
        connection.send_request(LoadSessionRequest::new(session.clone(), &project)).block_task().await?;
        assert_eq!(asked(&session).map(|(_, text)| text).collect::<Vec<_>>(), [json!("one")]);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn resumed_session_is_not_replayed() {
    let setup = Setup::own(talkative());
    let project = setup.project();
    drive(&setup, async |connection, wire| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, "one").await?;
        connection.send_request(CloseSessionRequest::new(session.clone())).block_task().await?;
        assert!(prompt(&connection, &session, "closed").await.is_err());
        connection.send_request(ResumeSessionRequest::new(session.clone(), &project)).block_task().await?;
        assert_eq!(prompt(&connection, &session, "two").await?, StopReason::EndTurn);
        assert!(shown(&wire, &session).iter().all(|(kind, _)| kind != "user_message_chunk"));
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn sessions_run_side_by_side() {
    let setup = Setup::own(json!([
        { "match": "silence", "repeat": true, "hang": true },
        { "repeat": true, "say": [{ "text": "Yes." }] }
    ]));
    let project = setup.project();
    drive(&setup, async |connection, wire| {
        let silent = new_session(&connection, &project).await?;
        let other = new_session(&connection, &project).await?;
        let text = agent_client_protocol::v1::schema::TextContent::new("silence");
        let content = vec![agent_client_protocol::v1::schema::ContentBlock::Text(text)];
        let request = agent_client_protocol::v1::schema::PromptRequest::new(silent.clone(), content);
        let open = connection.send_request(request);
        wire.wait_for(|message| message["method"] == "session/prompt").await;
        assert_eq!(prompt(&connection, &other, "hello").await?, StopReason::EndTurn);
        connection.send_notification(agent_client_protocol::v1::schema::CancelNotification::new(silent))?;
        assert_eq!(open.block_task().await?.stop_reason, StopReason::Cancelled);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn wrong_directory_is_named() {
    let setup = Setup::own(json!([]));
    let project = setup.project();
    drive(&setup, async |connection, _| {
        new_session(&connection, &project).await?;
        let relative =
            connection.send_request(NewSessionRequest::new("project")).block_task().await.unwrap_err();
        assert_eq!(relative.data, Some(json!("cwd: expected an absolute path, got project")));
        let missing = project.join("missing");
        let missing =
            connection.send_request(NewSessionRequest::new(missing)).block_task().await.unwrap_err();
        assert!(missing.data.unwrap().to_string().contains("No such file"), "{}", missing.message);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn session_ids_are_no_paths() {
    for setup in [Setup::own(talkative()), Setup::foreign(talkative(), "pi-1")] {
        let project = setup.project();
        let is_own = setup.options[0] != "--agent";
        drive(&setup, async |connection, _| {
            let session = new_session(&connection, &project).await?;
            assert!(!session.0.contains('/'), "{session}");
            prompt(&connection, &session, "one").await?;
            connection.send_request(CloseSessionRequest::new(session.clone())).block_task().await?;
            // Neither is the beginning of an id one.
            let beginning = session.0[..8].to_owned();
            let file = project.join("x.jsonl").to_string_lossy().into_owned();
            for id in ["", "../x", "/etc/passwd", "a\nb", "~", "x.jsonl", &file, &beginning] {
                let named = SessionId::new(id);
                let load = connection
                    .send_request(LoadSessionRequest::new(named.clone(), &project))
                    .block_task()
                    .await;
                let resume = connection
                    .send_request(ResumeSessionRequest::new(named.clone(), &project))
                    .block_task()
                    .await;
                let fork = connection
                    .send_request(ForkSessionRequest::new(named.clone(), &project))
                    .block_task()
                    .await;
                let close =
                    connection.send_request(CloseSessionRequest::new(named.clone())).block_task().await;
                let prompted = prompt(&connection, &named, "two").await;
                let errors = [load.err(), resume.err(), fork.err(), close.err(), prompted.err()];
                for error in errors {
                    let text = error.unwrap().data.unwrap().to_string();
                    assert!(text.contains("sessionId: "), "{id:?}: {text}");
                }
                if is_own && id != beginning {
                    let deleted =
                        connection.send_request(DeleteSessionRequest::new(named.clone())).block_task().await;
                    let text = deleted.unwrap_err().data.unwrap().to_string();
                    assert!(text.contains("sessionId: "), "{id:?}: {text}");
                }
            }
            assert!(!project.join("x.jsonl").exists());
            connection.send_request(LoadSessionRequest::new(session.clone(), &project)).block_task().await?;
            prompt(&connection, &session, "three").await
        })
        .await;
    }
}

#[tokio::test]
async fn new_session_fails_without_its_extension() {
    let setup = Setup::own(talkative()).with(&["-e", "/gone/extension"]);
    let project = setup.project();
    let (error, _) = drive(&setup, async |connection, _| {
        let opened = new_session(&connection, &project).await;
        Ok(opened.map_or_else(|error| format!("{error:?}"), |_| "a session".to_owned()))
    })
    .await;
    assert!(error.contains("Failed to load extension"), "{error}");
}
