//! A session in this process for one client in this process: lines by channels.

use super::{
    principal::Principal,
    session_handle::{Attach, ClientLine, SessionHandle, SessionRequest},
    watcher::{Popped, ReadySessions, WatcherQueue},
};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Lines that wait for the session, and for the client.
const CAPACITY: usize = 64;

/// Connects a client to `session`. Lines to the session may have their line feed, lines of the session have none. The input is
/// over when the sender is dropped; the session ends when the receiver is dropped, which closes once the session is over.
pub fn line_channels(session: SessionHandle) -> (mpsc::Sender<Vec<u8>>, mpsc::Receiver<Vec<u8>>) {
    let (to_session, from_client) = mpsc::channel(CAPACITY);
    let (to_client, from_session) = mpsc::channel(CAPACITY);
    tokio::spawn(relay(session, from_client, to_client));
    (to_session, from_session)
}

async fn relay(session: SessionHandle, lines: mpsc::Receiver<Vec<u8>>, to_client: mpsc::Sender<Vec<u8>>) {
    let ready = Arc::new(ReadySessions::default());
    // The client is sent every frame, so none is replaced by a snapshot.
    let queue = Arc::new(WatcherQueue::new(session.dialect, usize::MAX, ready.clone(), None));
    let attach = Attach {
        key: "local".to_owned(),
        after: Some(0),
        queue: queue.clone(),
        principal: Principal::local(),
        has_messages: false,
        trace_context: None,
    };
    let (reply, attached) = oneshot::channel();
    // A session that has ended answers nothing, and drops the reply.
    let _ = session.requests.send(SessionRequest::Attach(attach, reply)).await;
    let Ok(attached) = attached.await else { return };
    let send = send_lines(&session, lines, attached.client, attached.connection);
    let receive = async {
        loop {
            while let Some(popped) = queue.try_pop() {
                match popped {
                    Popped::Frame(_, mut line) => {
                        line.pop();
                        if to_client.send(line).await.is_err() {
                            return;
                        }
                    }
                    Popped::Closed => return,
                    Popped::Message(_) | Popped::Lagged => {}
                }
            }
            ready.changed().await;
        }
    };
    tokio::select! {
        () = send => {}
        () = receive => {}
        () = to_client.closed() => {}
    }
    // Fails if it has ended already.
    let _ = session.requests.send(SessionRequest::Close).await;
}

/// Passes lines on until the session has ended.
async fn send_lines(
    session: &SessionHandle,
    mut lines: mpsc::Receiver<Vec<u8>>,
    client: u64,
    connection: u64,
) {
    loop {
        let mut line = lines.recv().await;
        let is_last = line.is_none();
        if let Some(line) = line.as_mut().filter(|line| line.last() == Some(&b'\n')) {
            line.pop();
        }
        if session.lines.send(ClientLine { client, connection, line }).await.is_err() || is_last {
            return std::future::pending().await;
        }
    }
}
