//! The log of a session: order, long records, and the fence that an owner which was replaced does not pass.

use crate::servers::Servers;
use bytes::Bytes;
use pi_rpc::{
    cluster::{
        AppendError, Connection, EntryLog, Lease, LogContent, NatsOptions, NodeInfo, OwnedRecord,
        SessionRecord, find,
    },
    session::Write,
};
use std::path::Path;

async fn connect(servers: &Servers) -> Connection {
    let options = NatsOptions { urls: servers.urls(), ..NatsOptions::default() };
    Connection::open(&options, "test").await.unwrap()
}

/// A lease that a slow machine does not end.
async fn lease(connection: &Connection, name: &str) -> Lease {
    lease_of(connection, name, 300).await
}

async fn lease_of(connection: &Connection, name: &str, lease_seconds: u64) -> Lease {
    let info = NodeInfo { name: name.to_owned(), lease_seconds, ..NodeInfo::default() };
    Lease::take(connection, &info, Default::default).await.unwrap()
}

const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;

fn create(path: &str, lines: &[&str]) -> Write {
    let lines = lines.iter().map(|line| Bytes::from(format!("{line}\n"))).collect();
    Write::Create { path: Path::new(path).into(), lines }
}

fn append(line: &str) -> Write {
    Write::Append(format!("{line}\n").into())
}

#[tokio::test]
async fn entries_are_read_in_order() {
    let Some(servers) = Servers::start(1) else { return };
    let connection = connect(&servers).await;
    let lease = lease(&connection, "a").await;
    let (mut log, content) = EntryLog::take(&connection, "s", 1, &lease).await.unwrap();
    assert_eq!((content.last, content.current()), (0, None));
    let long = "x".repeat(2_000_000);
    log.write(&create("first", &[HEADER])).await.unwrap();
    log.write(&append(&long)).await.unwrap();
    log.write(&append("short")).await.unwrap();
    log.write(&create("second", &[HEADER, "old"])).await.unwrap();
    log.write(&Write::Rewrite(vec![format!("{HEADER}\n").into(), "new\n".into()])).await.unwrap();
    let content = LogContent::read(&connection, "s").await.unwrap();
    let lines = |path: &str| String::from_utf8(content.lines(Path::new(path)).unwrap().to_vec()).unwrap();
    assert!(lines("first") == format!("{HEADER}\n{long}\nshort\n"));
    assert_eq!(lines("second"), format!("{HEADER}\nnew\n"));
    assert_eq!(content.current(), Some(Path::new("second")));
    assert!(log.open(Path::new("first")).await.unwrap().tree.is_some());
    assert_eq!(log.open(Path::new("third")).await.unwrap_err(), "third: no such session in the cluster");
    let content = LogContent::read(&connection, "s").await.unwrap();
    assert_eq!(content.current(), Some(Path::new("first")));
}

#[tokio::test]
async fn replaced_owner_appends_nothing() {
    let Some(servers) = Servers::start(1) else { return };
    let connection = connect(&servers).await;
    let (first, second) = (lease(&connection, "a").await, lease(&connection, "b").await);
    let (mut old, _) = EntryLog::take(&connection, "s", 1, &first).await.unwrap();
    old.write(&create("f", &[HEADER])).await.unwrap();
    let (mut new, content) = EntryLog::take(&connection, "s", 2, &second).await.unwrap();
    assert_eq!(content.lines(Path::new("f")).unwrap(), format!("{HEADER}\n"));
    assert_eq!(old.write(&append("late")).await, Err(AppendError::Fenced));
    new.write(&append("new")).await.unwrap();
    assert_eq!(old.write(&append("later")).await, Err(AppendError::Fenced));
    let again = EntryLog::take(&connection, "s", 2, &first).await.map(drop);
    assert_eq!(again, Err(AppendError::Fenced), "an epoch has one owner");
    let content = LogContent::read(&connection, "s").await.unwrap();
    assert_eq!(content.lines(Path::new("f")).unwrap(), format!("{HEADER}\nnew\n"));
}

#[tokio::test]
async fn record_has_one_owner() {
    let Some(servers) = Servers::start(1) else { return };
    let connection = connect(&servers).await;
    let (first, second) = (lease(&connection, "a").await, lease(&connection, "b").await);
    let mut old = OwnedRecord::take(&connection, "s", SessionRecord::default(), 0, &first).await.unwrap();
    let (found, revision) = find(&connection, "s").await.unwrap().unwrap();
    assert_eq!((found.owner.as_deref(), found.epoch), (Some(first.id()), 1));
    let mut new = OwnedRecord::take(&connection, "s", found.clone(), revision, &second).await.unwrap();
    assert_eq!(old.save().await, Err(AppendError::Fenced));
    let late = OwnedRecord::take(&connection, "s", found, revision, &first).await.map(drop);
    assert_eq!(late, Err(AppendError::Fenced));
    new.record.is_running = true;
    new.save().await.unwrap();
    let (found, _) = find(&connection, "s").await.unwrap().unwrap();
    assert_eq!((found.owner.as_deref(), found.epoch, found.is_running), (Some(second.id()), 2, true));
}

#[tokio::test]
async fn lease_ends_without_servers() {
    let Some(mut servers) = Servers::start(1) else { return };
    let connection = connect(&servers).await;
    let mut kept = lease_of(&connection, "a", NodeInfo::default().lease_seconds).await;
    let known = kept.nodes();
    assert_eq!(known, [(kept.id().to_owned(), NodeInfo { name: "a".to_owned(), ..NodeInfo::default() })]);
    let (mut log, _) = EntryLog::take(&connection, "s", 1, &kept).await.unwrap();
    servers.kill(0);
    let written = log.write(&create("f", &[HEADER])).await;
    assert_eq!(written, Err(AppendError::LeaseLost));
    kept.lost().await;
    assert!(!kept.is_held());
}

#[tokio::test]
async fn writes_outlive_a_server() {
    let Some(mut servers) = Servers::start(3) else { return };
    let options = NatsOptions { urls: servers.urls(), replicas: 3, ..NatsOptions::default() };
    let connection = Connection::open(&options, "test").await.unwrap();
    let lease = lease(&connection, "a").await;
    let (mut log, _) = EntryLog::take(&connection, "s", 1, &lease).await.unwrap();
    log.write(&create("f", &[HEADER])).await.unwrap();
    let mut expected = format!("{HEADER}\n");
    for killed in 0..3 {
        servers.kill(killed);
        for line in 0..20 {
            log.write(&append(&format!("{killed} {line}"))).await.unwrap();
            expected += &format!("{killed} {line}\n");
        }
        servers.run(killed);
        // The server has to have what it missed before the next one may go.
        while !is_whole(&connection).await {}
    }
    let content = LogContent::read(&connection, "s").await.unwrap();
    assert_eq!(content.lines(Path::new("f")).unwrap(), expected);
    assert!(lease.is_held());
}

/// Whether all copies of the entries are up to date.
pub async fn is_whole(connection: &Connection) -> bool {
    match connection.entries.get_info().await.map(|info| info.cluster) {
        Ok(Some(cluster)) => {
            cluster.leader.is_some() && cluster.replicas.iter().all(|it| it.current && !it.offline)
        }
        _ => false,
    }
}
