//! A session of a session host: the inspector is one of its watchers.

use super::{
    live_recording::LiveRecording,
    sender::{Line, SourceEvent, SourceRequest},
    wire::HostSession,
};
use pi_rpc_host::attach::{Authorities, Connection, HostAddress, MAX_MESSAGE, Received, SessionAddress};
use pi_rpc_protocol::ConnectionControl;
use pi_rpc_recording::Direction;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender};

/// A host, and what proves who we are.
#[derive(Clone)]
pub struct HostAccess {
    /// The address.
    pub address: HostAddress,
    /// The token.
    pub token: Option<String>,
    /// Who vouches for the host.
    pub authorities: Authorities,
}

/// How long a host may take to list its sessions.
const PATIENCE: Duration = Duration::from_secs(30);

/// The open sessions of a session host.
///
/// # Errors
///
/// The host cannot be reached, or refuses.
pub async fn sessions(access: &HostAccess) -> Result<Vec<HostSession>, String> {
    let HostAccess { address, token, authorities } = access;
    let opened = Connection::open_shared(address, token.as_deref(), authorities).await;
    let mut connection = opened.map_err(|error| format!("{address}: {error}"))?;
    if !connection.send_line(r#"{"id":"1","type":"list_sessions"}"#).await {
        return Err("the connection is over".to_owned());
    }
    let listed = tokio::time::timeout(PATIENCE, async {
        while let Some(Ok(received)) = connection.next().await {
            let Received::Frame(frame) = received else { continue };
            let frame: Value = serde_json::from_str(&frame).unwrap_or_default();
            if frame["type"] == "response" && frame["id"] == "1" {
                return Some(frame);
            }
        }
        None
    });
    let response = listed.await.ok().flatten().ok_or("the host does not list its sessions")?;
    if let Some(error) = response["error"].as_str() {
        return Err(error.to_owned());
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let session = |listed: &Value| {
        let handle = text(&listed["sessionId"])?;
        Some(HostSession {
            id: text(&listed["durableSessionId"]).unwrap_or_else(|| handle.clone()),
            handle,
            name: text(&listed["name"]),
            cwd: text(&listed["cwd"]),
            state: text(&listed["status"]),
        })
    };
    Ok(response["data"]["sessions"].as_array().into_iter().flatten().filter_map(session).collect())
}

async fn connect(access: &HostAccess, path: &str) -> Result<Connection, String> {
    let HostAccess { address, token, authorities } = access;
    let opened = Connection::open(address, path, token.as_deref(), authorities, MAX_MESSAGE).await;
    opened.map_err(|error| format!("{}: {error}", access.address))
}

/// Watches a session until it, the host or `requests` is gone.
pub async fn run(
    access: HostAccess,
    session: String,
    recording: LiveRecording,
    mut requests: Receiver<SourceRequest>,
    events: Sender<SourceEvent>,
) {
    let path = SessionAddress::Open(session.clone()).path(&client_key(), None);
    let mut connection = match connect(&access, &path).await {
        Ok(connection) => connection,
        Err(text) => {
            let _ = events.send(SourceEvent::Ended(text, None)).await;
            return;
        }
    };
    let _ = events.send(SourceEvent::Attached(session)).await;
    let mut is_ahead = false;
    let reason = loop {
        tokio::select! {
            () = recording.wait_for_index(), if is_ahead => is_ahead = false,
            received = connection.next(), if !is_ahead => match received {
                Some(Ok(Received::Frame(frame))) => {
                    recording.line(Direction::Out, frame.as_bytes());
                    is_ahead = true;
                }
                Some(Ok(Received::Control(control))) => match *control {
                    ConnectionControl::Attached(attached) => {
                        let _ = events.send(SourceEvent::Dialect(attached.dialect)).await;
                    }
                    ConnectionControl::SessionEnded(_) => break "the session has ended".to_owned(),
                    _ => {}
                },
                Some(Err(error)) => break error.to_string(),
                None => break "the host is gone".to_owned(),
            },
            request = requests.recv() => match request {
                None => return,
                Some(SourceRequest::Line(Line { text, sent })) => {
                    recording.line(Direction::In, text.as_bytes());
                    let is_sent = connection.send_line(&text).await;
                    let _ = sent.send(if is_sent { Ok(()) } else { Err("the host is gone".to_owned()) });
                }
                Some(SourceRequest::Process(_)) => {}
            },
        }
    };
    let _ = events.send(SourceEvent::Ended(reason, None)).await;
}

/// A name for this client that no other has.
fn client_key() -> String {
    let mut bytes = [0; 16];
    // Without randomness the host refuses a second client of the same name.
    let _ = getrandom::fill(&mut bytes);
    format!("{:032x}", u128::from_le_bytes(bytes))
}
