//! Counts what names use over all nodes, in the bucket [`USAGE`]. [`Account`] decides; this reads and writes for it.
//!
//! A command waits for its write. Dollars that were spent are added by a task, one for each name at a time.

use super::{
    connection::{Connection, USAGE},
    decisions::{
        account::{Account, AccountInput, AccountOutput, UsageRequest},
        usage::{DOLLAR, Moment, UsageRecord, nanodollars},
    },
    fenced::{Attempt, header, is_wrong_sequence, last_message},
};
use async_nats::jetstream::message::PublishMessage;
use futures_util::future::{BoxFuture, join_all};
use pi_rpc_host::{SharedUsage, UsageOutage};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

/// How long a use may take to be counted: the leader of a stream that was lost is replaced within 10 seconds.
const WAIT: Duration = Duration::from_secs(12);

/// How long to wait before a read or a write is tried again.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// How long to wait before dollars are added again that could not be.
const ADD_AGAIN: Duration = Duration::from_secs(1);

/// How long dollars that are not added yet may hold up the end of a node.
const LEAVE_WAIT: Duration = Duration::from_secs(2);

/// Accounts beyond which those are forgotten that have nothing to tell.
const MAX_ACCOUNTS: usize = 1024;

/// What names use on this node, and on all of them.
#[derive(Debug)]
pub struct NodeUsage {
    this: Weak<Self>,
    bucket: Bucket,
    since: Instant,
    accounts: Mutex<HashMap<String, Arc<NamedAccount>>>,
}

#[derive(Debug)]
struct NamedAccount {
    name: String,
    account: Mutex<Account>,
    /// Held by the request that reads and writes.
    turn: tokio::sync::Mutex<()>,
    /// Whether a task adds dollars.
    is_adding: AtomicBool,
    outage: UsageOutage,
}

impl NamedAccount {
    fn lock(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The bucket of records.
struct Bucket(Connection);

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(USAGE)
    }
}

impl NodeUsage {
    /// Counts nothing yet.
    pub fn new(connection: Connection) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            bucket: Bucket(connection),
            since: Instant::now(),
            accounts: Mutex::default(),
        })
    }

    fn now(&self) -> Moment {
        let elapsed = u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX);
        Moment { elapsed, wall: pi_rpc_server::wall_ms() }
    }

    fn account(&self, name: &str) -> Arc<NamedAccount> {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = accounts.get(name) {
            return account.clone();
        }
        if accounts.len() >= MAX_ACCOUNTS {
            let now = self.now();
            let is_used =
                |it: &Arc<NamedAccount>| Arc::strong_count(it) > 1 || !it.lock().is_forgettable(now);
            accounts.retain(|_, account| is_used(account));
        }
        let new = Arc::new(NamedAccount {
            name: name.to_owned(),
            account: Mutex::new(Account::new(pi_rpc_server::seed())),
            turn: tokio::sync::Mutex::default(),
            is_adding: AtomicBool::new(false),
            outage: UsageOutage::default(),
        });
        accounts.insert(name.to_owned(), new.clone());
        new
    }

    /// Serves a request in a task of its own: a write that was begun is not given up. `true`: it is granted.
    fn request(&self, name: &str, request: UsageRequest) -> BoxFuture<'static, Result<bool, String>> {
        let (this, account) = (self.this.upgrade(), self.account(name));
        Box::pin(async move {
            let this = this.ok_or("the node has ended")?;
            let served = tokio::spawn(async move { this.serve(&account, request).await });
            served.await.map_err(|error| error.to_string())?
        })
    }

    async fn serve(&self, account: &NamedAccount, request: UsageRequest) -> Result<bool, String> {
        let due = Instant::now() + WAIT;
        // A write that is given up counts as one that was not answered.
        let exchange = async {
            let _turn = account.turn.lock().await;
            self.exchange(account, request, due).await
        };
        let outcome = tokio::time::timeout_at(due.into(), exchange).await;
        let outcome = outcome.unwrap_or_else(|_| Err("NATS does not answer".to_owned()));
        account.outage.note(&account.name, &outcome);
        outcome
    }

    async fn exchange(
        &self,
        account: &NamedAccount,
        request: UsageRequest,
        due: Instant,
    ) -> Result<bool, String> {
        let mut input = AccountInput::Request(request);
        loop {
            let output = account.lock().handle(input, self.now());
            input = match output {
                AccountOutput::End(is_granted) => return Ok(is_granted),
                AccountOutput::Read if Instant::now() >= due => {
                    return Err("NATS does not answer, or others are always faster".to_owned());
                }
                AccountOutput::Read => self.bucket.read(&account.name, due).await?,
                AccountOutput::Write(record, behind) => {
                    match self.bucket.write(&account.name, &record, behind).await {
                        Ok(answer) => answer,
                        Err(reason) => {
                            // What was refused is not stored. What is there now is for the next request to read.
                            account.lock().handle(AccountInput::Overtaken, self.now());
                            return Err(reason);
                        }
                    }
                }
            };
            if input == AccountInput::Unanswered {
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }

    /// Adds the dollars of a name until all of them are, unless a task does so already.
    fn add(&self, account: Arc<NamedAccount>) {
        if account.is_adding.swap(true, Ordering::AcqRel) {
            return;
        }
        let Some(this) = self.this.upgrade() else { return };
        tokio::spawn(async move {
            loop {
                if this.serve(&account, UsageRequest::Dollars).await.is_err() {
                    tokio::time::sleep(ADD_AGAIN).await;
                }
                if account.lock().has_unadded() {
                    continue;
                }
                account.is_adding.store(false, Ordering::Release);
                // Dollars that came between the two lines before have found a task.
                if !account.lock().has_unadded() || account.is_adding.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
        });
    }

    /// Adds what is not added yet, for a moment.
    pub async fn add_all(&self) {
        let accounts: Vec<Arc<NamedAccount>> = {
            let accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
            accounts.values().filter(|account| account.lock().has_unadded()).cloned().collect()
        };
        let adding = join_all(accounts.iter().map(|account| self.serve(account, UsageRequest::Dollars)));
        if tokio::time::timeout(LEAVE_WAIT, adding).await.is_err() {
            tracing::warn!("dollars that were spent at last are not told to other hosts");
        }
    }
}

impl SharedUsage for NodeUsage {
    fn take_command(&self, name: &str, per_minute: u32) -> BoxFuture<'static, Result<bool, String>> {
        self.request(name, UsageRequest::Command(per_minute))
    }

    fn refresh(&self, name: &str) -> BoxFuture<'static, Result<(), String>> {
        let refreshed = self.request(name, UsageRequest::Dollars);
        Box::pin(async move { refreshed.await.map(drop) })
    }

    fn spend(&self, name: &str, dollars: f64, wall: u64) {
        let account = self.account(name);
        account.lock().spend(Moment { elapsed: 0, wall }.day(), nanodollars(dollars));
        self.add(account);
    }

    fn is_adding(&self, name: &str) -> bool {
        self.account(name).is_adding.load(Ordering::Acquire)
    }

    fn commands(&self, name: &str, per_minute: u32) -> Option<u32> {
        let level = self.account(name).lock().commands(per_minute, self.now())?;
        u32::try_from(level).ok()
    }

    fn dollars(&self, name: &str, wall: u64) -> Option<f64> {
        let spent = self.account(name).lock().spent(Moment { elapsed: 0, wall }.day());
        spent.map(|nanodollars| nanodollars as f64 / DOLLAR)
    }
}

impl Bucket {
    fn subject(name: &str) -> String {
        format!("$KV.{USAGE}.{}", key(name))
    }

    /// Reads the record of a name. Waits while NATS cannot be reached.
    async fn read(&self, name: &str, due: Instant) -> Result<AccountInput, String> {
        let subject = Self::subject(name);
        loop {
            let reason = match last_message(&self.0.usage.stream, &subject).await {
                Ok(None) => return Ok(AccountInput::Found(None, 0)),
                Ok(Some(message)) if is_deletion(header(&message.headers, "KV-Operation")) => {
                    return Ok(AccountInput::Found(None, message.sequence));
                }
                Ok(Some(message)) => {
                    let record = serde_json::from_slice(&message.payload);
                    let unreadable = |error| format!("the record {} of {USAGE}: {error}", key(name));
                    return Ok(AccountInput::Found(Some(record.map_err(unreadable)?), message.sequence));
                }
                Err(reason) => reason,
            };
            if Instant::now() >= due {
                return Err(reason);
            }
            if let Err(error) = self.0.restore_usage().await {
                tracing::debug!("{USAGE}: {error}");
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    /// Writes the record of a name behind a revision, once.
    ///
    /// # Errors
    ///
    /// NATS refuses it.
    async fn write(&self, name: &str, record: &UsageRecord, behind: u64) -> Result<AccountInput, String> {
        let value = serde_json::to_vec(record).map_err(|error| error.to_string())?;
        let message = PublishMessage::build().payload(value.into()).expected_last_subject_sequence(behind);
        let error = match self.0.context.send_publish(Self::subject(name), message).await {
            Ok(acknowledged) => match acknowledged.await {
                Ok(ack) => return Ok(AccountInput::Written(ack.sequence)),
                Err(error) => error,
            },
            Err(error) => error,
        };
        if is_wrong_sequence(&error) {
            return Ok(AccountInput::Overtaken);
        }
        match Attempt::from(error) {
            Attempt::Refused(reason) => Err(reason),
            Attempt::Failed(reason) => {
                tracing::debug!("{USAGE}: {reason}");
                Ok(AccountInput::Unanswered)
            }
        }
    }
}

/// Whether a message stands for a record that was deleted. An empty one that does not say so is a broken record.
fn is_deletion(operation: Option<&str>) -> bool {
    matches!(operation, Some("DEL" | "PURGE"))
}

/// The key of a name, which may have letters that keys have not.
fn key(name: &str) -> String {
    name.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_has_letters_of_keys() {
        assert_eq!(["local", "org/Zoë *.>"].map(key), ["6c6f63616c", "6f72672f5a6fc3ab202a2e3e"]);
    }
}
