//! What tokens use of `commands_per_minute` and `dollars_per_day`, over all nodes: a record for each name in a bucket, which each node
//! adds to, and which all of them follow.
//!
//! A node adds what it has used every [`INTERVAL`], behind the revision that it has read, so that nothing is lost between two nodes. It
//! counts its own use at once and that of others once it has seen the record: so long, a limit may be exceeded by what the others do.
//! While NATS cannot be reached each node counts for itself; what it has used is added later, twice where NATS has taken it and not said so.
//! A node that is killed has not added what it has used in the last interval.

use super::connection::Connection;
use futures_util::StreamExt as _;
use pi_rpc_host::{Moment, Tally, UnsharedUsage, UsageBook};
use std::time::Duration;

/// How often a node adds what it has used.
const INTERVAL: Duration = Duration::from_millis(500);

/// How often adding is tried behind the records of other nodes.
const ATTEMPTS: usize = 8;

/// How long to wait before the bucket is read again that could not be.
const RETRY: Duration = Duration::from_secs(1);

/// Tells the other nodes what names use here, and takes in what they use there, for as long as the process lives.
pub fn share(connection: &Connection, book: &UsageBook) {
    book.share();
    tokio::spawn(follow(connection.clone(), book.clone()));
    tokio::spawn(add(connection.clone(), book.clone()));
}

async fn follow(connection: Connection, book: UsageBook) {
    loop {
        match connection.usage.watch_with_history(">").await {
            Ok(mut records) => {
                while let Some(Ok(record)) = records.next().await {
                    if let (Some(name), Ok(tally)) =
                        (name_of(&record.key), serde_json::from_slice(&record.value))
                    {
                        book.set_shared(&name, tally, record.revision, false, Moment::present());
                    }
                }
            }
            Err(error) => tracing::debug!("the usage of tokens is not read: {error}"),
        }
        tokio::time::sleep(RETRY).await;
    }
}

async fn add(connection: Connection, book: UsageBook) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        tell(&connection, &book).await;
    }
}

/// Tells the other nodes what names have used here since that was done last.
pub async fn tell(connection: &Connection, book: &UsageBook) {
    for (name, unshared) in book.take_unshared(Moment::present()) {
        match add_one(connection, &name, unshared).await {
            Ok((tally, revision)) => book.set_shared(&name, tally, revision, true, Moment::present()),
            Err(error) => {
                tracing::debug!("the usage of {name} is not told: {error}");
                book.put_back(&name, Moment::present());
            }
        }
    }
}

/// Adds to the record of a name. Returns the record and its revision.
async fn add_one(
    connection: &Connection,
    name: &str,
    unshared: UnsharedUsage,
) -> Result<(Tally, u64), String> {
    let key = key_of(name);
    let mut failure = String::new();
    for _ in 0..ATTEMPTS {
        let entry = connection.usage.entry(&key).await.map_err(|error| error.to_string())?;
        let (before, revision) = match &entry {
            Some(entry) => (serde_json::from_slice(&entry.value).unwrap_or_default(), entry.revision),
            None => (Tally::default(), 0),
        };
        let tally = unshared.added_to(before);
        let value = serde_json::to_vec(&tally).map_err(|error| error.to_string())?;
        match connection.usage.update(&key, value.into(), revision).await {
            Ok(revision) => return Ok((tally, revision)),
            // Another node was faster.
            Err(error) => failure = error.to_string(),
        }
    }
    Err(failure)
}

/// The key of a name, which may have letters that keys have not.
fn key_of(name: &str) -> String {
    name.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn name_of(key: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> = (0..key.len())
        .step_by(2)
        .map(|at| key.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok()))
        .collect();
    String::from_utf8(bytes?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_stands_for_its_name() {
        for name in ["local", "org/user", "Zoë *.>"] {
            let key = key_of(name);
            assert!(key.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            assert_eq!(name_of(&key).as_deref(), Some(name));
        }
        assert_eq!(name_of("6"), None);
    }
}
