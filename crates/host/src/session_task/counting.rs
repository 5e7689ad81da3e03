//! Commands that wait until they are counted elsewhere hold up their own client, and nothing else of the session.

use super::{
    violations::{limits, options},
    *,
};
use crate::{
    session_handle::{Attach, Attached},
    usage::{SharedUsage, UsageBook},
    watcher::{Popped, ReadySessions, WatcherQueue},
};
use futures_util::future::BoxFuture;
use std::time::Duration;
use tempfile::TempDir;
use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::CancellationToken;

/// A count over several processes that answers no request before [`LateUsage::count`] is called.
#[derive(Debug, Default)]
pub(crate) struct LateUsage(watch::Sender<bool>);

impl LateUsage {
    /// Counts the commands that wait, and those that come.
    pub(crate) fn count(&self) {
        self.0.send_replace(true);
    }

    /// Waits until so many commands wait.
    pub(crate) async fn awaited(&self, commands: usize) {
        bounded(async {
            while self.0.receiver_count() != commands {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

impl SharedUsage for LateUsage {
    fn take_command(&self, _: &str, _: u32) -> BoxFuture<'static, Result<bool, String>> {
        let mut counts = self.0.subscribe();
        Box::pin(
            async move { counts.wait_for(|counts| *counts).await.map_err(|_| String::new()).map(|_| true) },
        )
    }

    fn refresh(&self, _: &str) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(async { Ok(()) })
    }

    fn spend(&self, _: &str, _: f64, _: u64) {}

    fn is_adding(&self, _: &str) -> bool {
        false
    }

    fn commands(&self, _: &str, _: u32) -> Option<u32> {
        None
    }

    fn dollars(&self, _: &str, _: u64) -> Option<f64> {
        Some(0.0)
    }
}

/// The output of a future that is ready soon.
pub(crate) async fn bounded<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), future).await.expect("it waits for what is not counted")
}

/// A session, whose clients with a limit wait until `usage` counts.
struct World {
    handle: SessionHandle,
    book: UsageBook,
    usage: Arc<LateUsage>,
    _directory: TempDir,
}

struct TestClient {
    attached: Attached,
    ready: Arc<ReadySessions>,
    queue: Arc<WatcherQueue>,
    lines: mpsc::Sender<ClientLine>,
}

const LIMITED: &str = r#"{"commands_per_minute":9}"#;

fn principal(book: &UsageBook, limits: &str) -> Arc<Principal> {
    book.principal("a".to_owned(), serde_json::from_str(limits).unwrap(), CancellationToken::new())
}

impl World {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (book, usage) = (UsageBook::default(), Arc::new(LateUsage::default()));
        book.share(usage.clone());
        let options = options(Dialect::Pi, directory.path().to_owned());
        let (resumption, sinks) = (Resumption::default(), SessionSinks::default());
        let handle = start("s1".to_owned(), options, limits(), principal(&book, "{}"), resumption, sinks);
        handle.served().await.unwrap();
        Self { handle, book, usage, _directory: directory }
    }

    async fn attach(&self, key: &str, limits: &str) -> TestClient {
        let ready = Arc::new(ReadySessions::default());
        let queue = Arc::new(WatcherQueue::new(Dialect::Pi, usize::MAX, ready.clone(), None));
        let attach = Attach {
            key: key.to_owned(),
            after: None,
            queue: queue.clone(),
            principal: principal(&self.book, limits),
            has_messages: false,
            trace_context: None,
        };
        let (reply, attached) = oneshot::channel();
        self.handle.requests.send(SessionRequest::Attach(attach, reply)).await.ok().unwrap();
        let attached = bounded(attached).await.unwrap();
        TestClient { attached, ready, queue, lines: self.handle.lines.clone() }
    }
}

impl TestClient {
    async fn send(&self, lines: &[&str]) {
        let Attached { client, connection, .. } = self.attached;
        for line in lines {
            let line = Some(line.as_bytes().to_owned());
            bounded(self.lines.send(ClientLine { client, connection, line })).await.ok().unwrap();
        }
    }

    /// The ids of the next responses.
    async fn answered(&self, count: usize) -> Vec<String> {
        let mut ids = Vec::new();
        while ids.len() < count {
            match self.queue.try_pop() {
                Some(Popped::Frame(_, line)) => {
                    let frame: serde_json::Value = serde_json::from_slice(&line).unwrap();
                    ids.extend(frame["id"].as_str().map(str::to_owned));
                }
                Some(other) => panic!("{other:?}"),
                None => bounded(self.ready.changed()).await,
            }
        }
        ids
    }
}

const STATE: &str = r#"{"type":"get_state","id":"state"}"#;
const ABORT: &str = r#"{"type":"abort","id":"abort"}"#;

#[tokio::test]
async fn attach_waits_for_no_counting() {
    let world = World::start().await;
    let client = world.attach("one", LIMITED).await;
    client.send(&[STATE, ABORT]).await;
    world.usage.awaited(1).await;
    let again = world.attach("one", LIMITED).await;
    assert_eq!(again.attached.received_lines, 2);
    world.usage.count();
    assert_eq!(again.answered(2).await, ["state", "abort"]);
}

#[tokio::test]
async fn counted_line_holds_up_its_client_alone() {
    let world = World::start().await;
    let (limited, other) = (world.attach("one", LIMITED).await, world.attach("two", "{}").await);
    limited.send(&[STATE, ABORT, STATE]).await;
    world.usage.awaited(1).await;
    other.send(&[STATE, ABORT]).await;
    assert_eq!(other.answered(2).await, ["state", "abort"]);
    // Each client has one command counted at a time.
    let third = world.attach("three", LIMITED).await;
    third.send(&[STATE]).await;
    world.usage.awaited(2).await;
    assert!(limited.queue.try_pop().is_none(), "its abort is behind what it aborts");
    world.usage.count();
    assert_eq!(limited.answered(3).await, ["state", "abort", "state"]);
    assert_eq!(third.answered(1).await, ["state"]);
}

#[tokio::test]
async fn close_waits_for_no_counting() {
    let world = World::start().await;
    let client = world.attach("one", LIMITED).await;
    client.send(&[STATE, STATE]).await;
    world.usage.awaited(1).await;
    world.attach("one", LIMITED).await;
    world.handle.requests.send(SessionRequest::Close).await.ok().unwrap();
    bounded(world.handle.ended.clone().wait_for(Option::is_some)).await.unwrap();
}
