//! A command to the host that waits until it is counted elsewhere holds up no more than the lines behind it.

use super::*;
use crate::{
    file_owners::FileOwners,
    registry::{SessionHost, SessionSource},
    session_handle::{SessionLimits, Unattended},
    session_task::counting::{LateUsage, bounded},
    usage::UsageBook,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

struct TestReader(mpsc::UnboundedReceiver<Value>);

impl ReadLines for TestReader {
    async fn next(&mut self) -> Option<Result<Vec<u8>, String>> {
        Some(Ok(self.0.recv().await?.to_string().into_bytes()))
    }
}

struct TestWriter(mpsc::UnboundedSender<Result<Value, ConnectionEnd>>);

impl WriteLines for TestWriter {
    async fn write(&mut self, line: Vec<u8>) -> bool {
        self.0.send(Ok(serde_json::from_slice(&line).unwrap())).is_ok()
    }

    async fn flush(&mut self) -> bool {
        true
    }

    async fn close(&mut self, end: ConnectionEnd) {
        let _ = self.0.send(Err(end));
    }
}

/// A connection of a client that is limited.
struct World {
    usage: Arc<LateUsage>,
    revoked: CancellationToken,
    to_host: mpsc::UnboundedSender<Value>,
    of_host: mpsc::UnboundedReceiver<Result<Value, ConnectionEnd>>,
    _connection: JoinHandle<()>,
}

impl World {
    fn start() -> Self {
        let source = SessionSource {
            open: Arc::new(|_| Err(HostError::UnknownSession)),
            other: None,
            folders: Box::new(Vec::new),
            dialect: Dialect::Pi,
            owners: FileOwners::open(None, &[], Box::new(|| None), Box::new(Vec::new)).unwrap(),
        };
        let limits = SessionLimits {
            max_frame: 1 << 20,
            kept_output: 1 << 20,
            kept_idle: Duration::from_secs(60),
            unattended: Unattended::default(),
        };
        let (book, usage) = (UsageBook::default(), Arc::new(LateUsage::default()));
        book.share(usage.clone());
        let token = serde_json::from_value(json!({ "commands_per_minute": 9 })).unwrap();
        let revoked = CancellationToken::new();
        let principal = book.principal("a".to_owned(), token, revoked.clone());
        let host = ScopedHost::new(SessionHost::new(source, limits, None, None), principal);
        let (to_host, lines) = mpsc::unbounded_channel();
        let (output, of_host) = mpsc::unbounded_channel();
        let serve = SharedConnection::serve(
            host,
            ("a/one".to_owned(), None),
            (Dialect::Pi, usize::MAX),
            InputEnd::Leaves,
            TestReader(lines),
            TestWriter(output),
        );
        Self { usage, revoked, to_host, of_host, _connection: tokio::spawn(serve) }
    }

    async fn next(&mut self) -> Result<Value, ConnectionEnd> {
        bounded(self.of_host.recv()).await.unwrap()
    }
}

fn list(id: &str) -> Value {
    json!({ "type": "list_sessions", "id": id })
}

#[tokio::test]
async fn revocation_waits_for_no_counting() {
    let mut world = World::start();
    world.to_host.send(list("1")).unwrap();
    world.usage.awaited(1).await;
    world.revoked.cancel();
    assert_eq!(world.next().await, Err(ConnectionEnd::Revoked));
}

#[tokio::test]
async fn counted_command_of_revoked_token_is_dropped() {
    // The order in which both are seen is random.
    for _ in 0..32 {
        let mut world = World::start();
        world.to_host.send(list("1")).unwrap();
        world.usage.awaited(1).await;
        world.usage.count();
        world.revoked.cancel();
        assert_eq!(world.next().await, Err(ConnectionEnd::Revoked));
    }
}

#[tokio::test]
async fn lines_behind_counted_command_wait() {
    let mut world = World::start();
    world.to_host.send(list("1")).unwrap();
    world.usage.awaited(1).await;
    world.to_host.send(json!({ "type": "get_state", "id": "2" })).unwrap();
    world.usage.count();
    for id in ["1", "2"] {
        assert_eq!(world.next().await.unwrap()["id"], id);
    }
}
