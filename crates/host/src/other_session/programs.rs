//! Programs that are slow, silent or greedy: what a session does about them.

use super::*;
use crate::{
    file_owners::FileOwners,
    session_handle::{Attach, Unattended},
    watcher::WatcherQueue,
};
use pi_rpc_files::regular_files;
use serde_json::json;
use std::fs;
use tempfile::TempDir;

/// A session whose server is this command line of a shell, in a directory of its own.
struct World {
    handle: SessionHandle,
    directory: TempDir,
    client: Option<(ClientId, u64)>,
}

/// Answers the first line, which asks for the state.
fn told_state() -> String {
    let state = json!({
        "thinkingLevel": "off", "isStreaming": false, "isCompacting": false, "steeringMode": "all", "followUpMode": "all",
        "sessionId": "s", "autoCompactionEnabled": true, "messageCount": 0, "pendingMessageCount": 0,
    });
    let response = json!({
        "id": "pi-rpc-host:1", "type": "response", "command": "get_state", "success": true, "data": state,
    });
    format!("read -r line; echo '{response}'; ")
}

impl World {
    fn start(line: &str, start_timeout: Duration) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = OtherServer {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), line.into()],
            speaks: Dialect::Pi1.into(),
            dialect: Dialect::Pi1,
            directory: directory.path().to_owned(),
        };
        let options = OtherSessionOptions {
            dialect: Dialect::Pi1,
            directory: directory.path().to_owned(),
            arguments: Vec::new(),
        };
        let limits = SessionLimits {
            max_frame: FRAME_LIMIT,
            kept_output: 1 << 20,
            kept_idle: Duration::from_secs(60),
            unattended: Unattended::default(),
        };
        let owner = Principal::local();
        let owners = FileOwners::open(None, &[], Box::new(|| None), Box::new(Vec::new)).unwrap();
        let owner = (owner.clone(), owners.of(owner));
        let resumption = Resumption::default();
        let handle =
            start(start_timeout, "s".to_owned(), &server, options, limits, owner, resumption).unwrap();
        Self { handle, directory, client: None }
    }

    /// A session that serves a client.
    async fn served(line: &str) -> Self {
        let mut world = Self::start(&format!("{}{line}", told_state()), START_TIMEOUT);
        world.handle.served().await.unwrap();
        let queue = Arc::new(WatcherQueue::new(Dialect::Pi1, usize::MAX, Arc::default(), None));
        let principal = Principal::local();
        let attach = Attach {
            key: "c".to_owned(),
            after: None,
            queue,
            has_messages: false,
            principal,
            trace_context: None,
        };
        let (reply, attached) = oneshot::channel();
        world.handle.requests.send(SessionRequest::Attach(attach, reply)).await.ok().unwrap();
        let attached = attached.await.unwrap();
        world.client = Some((attached.client, attached.connection));
        world
    }

    /// A client sends a command.
    async fn send(&self, command: Value) {
        let (client, connection) = self.client.unwrap();
        let line = Some(command.to_string().into_bytes());
        // A session that has ended takes no lines.
        let _ = self.handle.lines.send(ClientLine { client, connection, line }).await;
    }

    /// Why the session has ended.
    async fn ended(&self) -> Option<String> {
        let mut ended = self.handle.ended.clone();
        match ended.wait_for(Option::is_some).await.unwrap().clone() {
            Some(SessionEnd::Over(ended)) => ended.error,
            end => panic!("{end:?}"),
        }
    }
}

#[tokio::test]
async fn silent_program_gets_no_session() {
    let world = World::start("trap '' TERM; cat > /dev/null; sleep 9999", Duration::from_millis(50));
    let error = "the server has not told its state within 0.05 seconds";
    assert_eq!(world.handle.served().await, Err(HostError::OpenFailed(error.to_owned())));
}

#[tokio::test]
async fn lines_are_read_before_the_end() {
    // The first one fits into the pipe, most of the second one waits in the host.
    for length in [1, 300_000] {
        let world = World::served("until [ -e go ]; do sleep 0.01; done; cat > got").await;
        world.send(json!({ "id": "p", "type": "prompt", "message": "a".repeat(length) })).await;
        while world.handle.lines.capacity() < world.handle.lines.max_capacity() {
            tokio::task::yield_now().await;
        }
        let mut info = world.handle.info.clone();
        world.handle.requests.send(SessionRequest::WriteOut).await.ok().unwrap();
        info.wait_for(|info| info.status == SessionStatus::Closing).await.unwrap();
        fs::write(world.directory.path().join("go"), "").unwrap();
        assert_eq!(world.ended().await, None);
        let got = world.directory.path().join("got");
        let got = regular_files::read_to_string(&got, regular_files::SERVER_FILE).unwrap();
        let line: Value = serde_json::from_str(got.lines().last().unwrap()).unwrap();
        assert_eq!((&line["type"], line["message"].as_str().unwrap().len()), (&json!("prompt"), length));
    }
}

#[tokio::test]
async fn unanswered_commands_are_bounded() {
    let world = World::served("cat > /dev/null").await;
    for _ in 0..=MAX_OUTSTANDING {
        world.send(json!({ "type": "get_commands" })).await;
    }
    assert_eq!(world.ended().await.as_deref(), Some("it has not answered 4096 commands"));
}

#[tokio::test]
async fn endless_message_ends_the_session() {
    let usage = json!({
        "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
    });
    let message = json!({
        "role": "assistant", "content": [{ "type": "text", "text": "" }], "api": "a", "provider": "p", "model": "m",
        "usage": usage, "stopReason": "stop", "timestamp": 1,
    });
    let start = json!({ "type": "message_start", "message": message });
    let delta = json!({ "type": "text_delta", "contentIndex": 0, "delta": "%" });
    let update = json!({ "type": "message_update", "assistantMessageEvent": delta }).to_string();
    let (before, after) = update.split_once('%').unwrap();
    let megabyte = "head -c 1048576 /dev/zero | tr '\\0' x > part";
    let one = format!("printf '%s' '{before}'; cat part; echo '{after}'");
    let line = format!("echo '{start}'; {megabyte}; for i in $(seq 70); do {one}; done; cat > /dev/null");
    let world = World::served(&line).await;
    let error = "the server streams a message of more than 67108864 bytes";
    assert_eq!(world.ended().await.as_deref(), Some(error));
}
