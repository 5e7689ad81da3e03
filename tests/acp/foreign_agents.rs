//! `--agent`: servers in processes of their own, in every dialect.

use crate::acp_support::{PROGRAM, Setup, drive, new_session, prompt};
use agent_client_protocol::v1::schema::{
    CloseSessionRequest, ForkSessionRequest, ListSessionsRequest, LoadSessionRequest, StopReason,
};
use serde_json::json;

#[tokio::test]
async fn every_dialect_answers() {
    for dialect in ["pi", "pi-1", "xcsh", "omp"] {
        let setup = Setup::foreign(json!([{ "repeat": true, "say": [{ "text": "Yes." }] }]), dialect);
        let project = setup.project();
        let (_, wire) = drive(&setup, async |connection, _| {
            let session = new_session(&connection, &project).await?;
            prompt(&connection, &session, "one").await?;
            connection.send_request(LoadSessionRequest::new(session.clone(), &project)).block_task().await?;
            prompt(&connection, &session, "two").await?;
            assert!(connection.send_request(ListSessionsRequest::new()).block_task().await.is_err());
            Ok(())
        })
        .await;
        assert_eq!(wire.text("user_message_chunk"), "one", "{dialect}");
        assert_eq!(wire.text("agent_message_chunk"), "Yes.Yes.Yes.", "{dialect}");
        let spawned = std::fs::read_to_string(setup.recording()).unwrap();
        let found = spawned.lines().next().unwrap().contains(&format!("\"dialect\":\"{dialect}\""));
        assert!(found, "{dialect}: {:.200}", spawned);
    }
}

#[tokio::test]
async fn fork_clones_where_the_dialect_can() {
    let setup = Setup::foreign(json!([{ "repeat": true, "say": [{ "text": "Yes." }] }]), "pi-1");
    let project = setup.project();
    drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, "one").await?;
        // The file of a session has one server.
        connection.send_request(CloseSessionRequest::new(session.clone())).block_task().await?;
        let fork = ForkSessionRequest::new(session.clone(), &project);
        let fork = connection.send_request(fork).block_task().await?.session_id;
        assert_ne!(fork, session);
        assert_eq!(prompt(&connection, &fork, "two").await?, StopReason::EndTurn);
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn todos_are_the_plan() {
    let phases = json!([{ "name": "All", "tasks": [
        { "content": "Read", "status": "completed" }, { "content": "Write", "status": "in_progress" }
    ] }]);
    let turns = json!([
        { "match": "go", "say": [{ "tool": "todo_write", "arguments": { "ops": [{ "op": "replace", "phases": phases }] } }] },
        { "onResult": "", "say": [{ "text": "Planned." }] },
        { "repeat": true, "say": [{ "text": "Well." }] }
    ]);
    let setup = Setup::foreign(turns, "xcsh");
    let project = setup.project();
    let (_, wire) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        prompt(&connection, &session, "go").await
    })
    .await;
    let entry = |content, status| json!({ "content": content, "priority": "medium", "status": status });
    let plan = wire.updates_of("plan");
    assert_eq!(plan[0]["entries"], json!([entry("Read", "completed"), entry("Write", "in_progress")]));
}

#[tokio::test]
async fn dead_agent_fails_prompt_with_its_status() {
    let mut setup = Setup::own(json!([]));
    let dying = "while read -r line; do case $line in *'\"prompt\"'*) exit 7;; *) printf '%s\\n' \"$line\" >&3;; esac; done";
    let whole = format!(
        "exec 4>&1; mkfifo pipe.$$; ({PROGRAM} serve --dialect pi-1 --no-session --model scripted/demo < pipe.$$ >&4) & exec 3> pipe.$$; {dying}"
    );
    setup.options = ["--dialect", "pi-1", "--agent", "--", "sh", "-c", &whole].map(str::to_owned).to_vec();
    let project = setup.project();
    let (error, _) = drive(&setup, async |connection, _| {
        let session = new_session(&connection, &project).await?;
        Ok(prompt(&connection, &session, "die").await.unwrap_err())
    })
    .await;
    assert!(error.message.contains("status 7"), "{error:?}");
}
