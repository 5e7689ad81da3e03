//! The owner of a session: feeds it from the input stream, and publishes what it emits.

use super::{
    connection::{Connection, ENTRIES, INPUT, OUTPUT, subject},
    entries::{EntryFiles, EntryLog, LogContent},
    fenced::{AppendError, FencedSubject, last_message},
    input::{ALL_CLIENTS, InputContent, InputMessage},
    lease::Lease,
    output::{self, OutputContent, OutputItem},
    records::{OutstandingCommand, OwnedRecord, SessionRecord},
    tail::{Stored, Tail, read_all},
};
use crate::{
    protocol::{
        Dialect, Inbound, MultiSessionErrorCode, RequestId, RpcErrorResponse, SessionStatus, read_line,
    },
    session_host::{
        Attach, ClientId, ClientLine, OpenSession, Outlet, OutletItem, Resumption, SessionEnd, SessionHandle,
        SessionLimits, SessionRequest, WatcherMessage, WatcherQueue, start_session,
    },
};
use futures_util::FutureExt as _;
use serde::Deserialize;
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot, watch},
};

/// Messages that are taken at once.
const MAX_TAKEN: usize = 64;

/// Bytes of frames that are published at once.
const MAX_BATCH: usize = 256 * 1024;

/// Clients whose lines are counted.
const MAX_CLIENTS: usize = 64;

/// How long to wait before output that NATS has refused is published again.
const REFUSED_DELAY: Duration = Duration::from_secs(1);

/// What all owners of a node share.
#[derive(Clone)]
pub struct OwnerContext {
    /// The connection to NATS.
    pub connection: Connection,
    /// The lease of the node.
    pub lease: Lease,
    /// Makes the options of a session.
    pub open_session: Arc<OpenSession>,
    /// Limits of a session's memory.
    pub limits: SessionLimits,
}

/// A session that this node owns.
pub struct OwnedSession {
    /// The session.
    pub handle: SessionHandle,
    /// Ends once nothing more is written.
    pub finished: watch::Receiver<bool>,
    shared: Arc<OwnerState>,
}

/// What the tasks of one owner share.
struct OwnerState {
    session: String,
    epoch: u64,
    /// Clients by their names.
    clients: Mutex<HashMap<String, (ClientId, u64)>>,
    /// Commands without a response in the output.
    outstanding: Mutex<Vec<OutstandingCommand>>,
    /// The number of the last frame in the output.
    published: AtomicU64,
    /// Why the session is no longer written: it was replaced, or is left to others.
    is_given_up: AtomicBool,
}

impl OwnerState {
    fn clients(&self) -> MutexGuard<'_, HashMap<String, (ClientId, u64)>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn outstanding(&self) -> MutexGuard<'_, Vec<OutstandingCommand>> {
        self.outstanding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a session was not taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// Another node has it, or NATS does not answer.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// NATS cannot be read.
    #[error("NATS: {0}")]
    Read(String),
    /// The session cannot be opened on this node.
    #[error("{0}")]
    Open(String),
}

impl OwnedSession {
    /// Takes a session and runs it until it ends, or another node takes it. `revision` is that of the record; 0: it is new.
    ///
    /// # Errors
    ///
    /// Another node has it, NATS does not answer, or it cannot be opened here.
    pub async fn take(
        context: &OwnerContext,
        session: &str,
        record: SessionRecord,
        revision: u64,
    ) -> Result<Self, TakeError> {
        let OwnerContext { connection, lease, .. } = context;
        // In this order: from each step on, the owner before can do less.
        let mut record = OwnedRecord::take(connection, session, record, revision, lease).await?;
        let epoch = record.record.epoch;
        let (log, content) = EntryLog::take(connection, session, epoch, lease).await?;
        let (output, published) = take_output(context, session, epoch).await?;
        // Old output may be gone; numbers grow all the same.
        let published = published.max(record.record.taken.frame);
        let mut publisher = Publisher { output, epoch, published };
        let is_cut = record.record.is_running;
        let answered = match record.record.taken.outstanding.is_empty() {
            true => Vec::new(),
            false => {
                responses(connection, session, record.record.taken.frame).await.map_err(TakeError::Read)?
            }
        };
        let lost = without(std::mem::take(&mut record.record.taken.outstanding), &answered);
        publisher.publish(&lost.iter().map(lost_response).collect::<Vec<_>>()).await?;
        record.record.taken.frame = publisher.published;
        let (items, emitted) = mpsc::unbounded_channel();
        let (gate, opened) = watch::channel(true);
        let handle = match start(
            context,
            session,
            &record.record,
            (log, content),
            (publisher.published, items, opened),
        )
        .await
        {
            Ok(handle) => handle,
            Err(error) => {
                record.record.owner = None;
                record.record.is_closed |= epoch == 1;
                // Another node finds the record in any case once the lease ends.
                let _ = record.save().await;
                return Err(TakeError::Open(error));
            }
        };
        let shared = Arc::new(OwnerState {
            session: session.to_owned(),
            epoch,
            clients: Mutex::default(),
            outstanding: Mutex::default(),
            published: AtomicU64::new(publisher.published),
            is_given_up: AtomicBool::new(false),
        });
        let (finish, finished) = watch::channel(false);
        let input = InputTask {
            shared: shared.clone(),
            handle: handle.clone(),
            record,
            lease: lease.clone(),
            is_cut,
        };
        let tail = Tail::start(
            connection,
            &connection.input,
            subject(INPUT, session),
            input.record.record.taken.position,
        );
        let tail = tail.await.map_err(TakeError::Read)?;
        let output = OutputTask { shared: shared.clone(), handle: handle.clone(), publisher, gate };
        tokio::spawn(async move {
            let (record, ()) = tokio::join!(input.run(tail), output.run(emitted));
            finish_record(record).await;
            finish.send_replace(true);
        });
        tracing::info!("session {session}: owned by this node, epoch {epoch}");
        Ok(Self { handle, finished, shared })
    }

    /// Leaves the session to another node: what is active is aborted, clients stay.
    pub async fn leave(&self) {
        self.shared.is_given_up.store(true, Ordering::Relaxed);
        // A session that has ended is left.
        let _ = self.handle.requests.send(SessionRequest::Close).await;
        let _ = self.finished.clone().wait_for(|finished| *finished).await;
    }
}

/// The record of a session that has ended here: `None` if another node has it.
async fn finish_record(record: Option<OwnedRecord>) {
    if let Some(mut record) = record {
        record.record.owner = None;
        record.record.is_running = false;
        if let Err(error) = record.save().await {
            tracing::warn!("a session's record was not written: {error}");
        }
    }
}

/// Takes the output over. Returns its writer and the number of the last frame.
async fn take_output(
    context: &OwnerContext,
    session: &str,
    epoch: u64,
) -> Result<(FencedSubject, u64), TakeError> {
    let OwnerContext { connection, lease, .. } = context;
    let name = subject(OUTPUT, session);
    loop {
        let last = last_message(&connection.output, &name).await.map_err(TakeError::Read)?;
        let (frame, before) = last.as_ref().map_or((0, 0), |last| output::position(&last.headers));
        if before >= epoch {
            return Err(AppendError::Fenced.into());
        }
        let sequence = last.map_or(0, |last| last.sequence);
        let mut writer = FencedSubject::new(
            &connection.context,
            &connection.output,
            name.clone(),
            sequence,
            lease.clone(),
        );
        match writer.append(&output::headers(frame, frame, epoch), bytes::Bytes::new()).await {
            Ok(_) => return Ok((writer, frame)),
            // The owner before has published meanwhile.
            Err(AppendError::Fenced) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The responses in the output behind a frame.
async fn responses(
    connection: &Connection,
    session: &str,
    after: u64,
) -> Result<Vec<OutstandingCommand>, String> {
    let mut found = Vec::new();
    let name = subject(OUTPUT, session);
    let read = read_all(&connection.output, &name, |stored| {
        let batch = output::decode(&stored.headers, &stored.payload);
        let items = batch.items.into_iter().filter(|_| batch.last > after);
        found.extend(items.filter_map(|item| match item {
            OutputItem { to: Some(to), content: OutputContent::Frame(line) } => response(&to, &line),
            _ => None,
        }));
    });
    read.await?;
    Ok(found)
}

/// The command that a line responds to.
fn response(client: &str, line: &[u8]) -> Option<OutstandingCommand> {
    #[derive(Deserialize)]
    struct Response {
        id: Option<RequestId>,
        #[serde(rename = "type")]
        kind: String,
        command: Option<String>,
    }
    let Response { id, kind, command } = serde_json::from_slice(line).ok()?;
    let command = command.filter(|_| kind == "response")?;
    Some(OutstandingCommand { client: client.to_owned(), id, command })
}

/// The commands without those that were responded to.
fn without(
    mut commands: Vec<OutstandingCommand>,
    answered: &[OutstandingCommand],
) -> Vec<OutstandingCommand> {
    for answer in answered {
        if let Some(at) = commands.iter().position(|command| command == answer) {
            commands.remove(at);
        }
    }
    commands
}

/// The response to a command whose owner was lost.
fn lost_response(command: &OutstandingCommand) -> OutputItem {
    let code = MultiSessionErrorCode::NodeLost.as_str();
    let error = format!(
        "{code}: the node that had taken this command is gone; whether it had an effect is not known"
    );
    let response = RpcErrorResponse { id: command.id.clone(), command: command.command.clone(), error };
    // Generated types always serialize.
    let mut line = serde_json::to_vec(&response).unwrap_or_default();
    line.push(b'\n');
    OutputItem { to: Some(command.client.clone()), content: OutputContent::Frame(line) }
}

async fn start(
    context: &OwnerContext,
    session: &str,
    record: &SessionRecord,
    (mut log, content): (EntryLog, LogContent),
    (last, items, gate): (u64, mpsc::UnboundedSender<OutletItem>, watch::Receiver<bool>),
) -> Result<SessionHandle, String> {
    let (open_session, request) = (context.open_session.clone(), record.spec.request());
    let options = tokio::task::spawn_blocking(move || open_session(request)).await;
    let mut options = options.map_err(|error| error.to_string())?.map_err(|error| error.text())?;
    let mut opened = content.session()?;
    let closed = super::cut_run::close(&mut log, opened.as_mut(), options.dialect).await;
    closed.map_err(|error| error.to_string())?;
    options.place.folder = Some(PathBuf::from(format!("nats:{}", subject(ENTRIES, session))));
    options.place.id = opened.is_none().then(|| session.to_owned());
    options.session = opened;
    options.files = Some(Box::new(EntryFiles { log, runtime: Handle::current() }));
    let outlet = Outlet::new(options.dialect, last, items, gate);
    let (owner, resumption) = (record.spec.principal(), Resumption::default());
    Ok(start_session(session.to_owned(), options, context.limits, owner, resumption, Some(outlet)))
}

/// Writes the output.
struct Publisher {
    output: FencedSubject,
    epoch: u64,
    /// The number of the last frame.
    published: u64,
}

impl Publisher {
    async fn publish(&mut self, items: &[OutputItem]) -> Result<(), AppendError> {
        if items.is_empty() {
            return Ok(());
        }
        let mut batch = Vec::new();
        items.iter().for_each(|item| output::encode(item, &mut batch));
        let frames =
            items.iter().filter(|item| matches!(item.content, OutputContent::Frame(_))).count() as u64;
        let headers = output::headers(self.published, self.published + frames, self.epoch);
        self.output.append(&headers, batch.into()).await?;
        self.published += frames;
        Ok(())
    }
}

struct OutputTask {
    shared: Arc<OwnerState>,
    handle: SessionHandle,
    publisher: Publisher,
    gate: watch::Sender<bool>,
}

impl OutputTask {
    /// Publishes until the session has ended or was replaced.
    async fn run(mut self, mut emitted: mpsc::UnboundedReceiver<OutletItem>) {
        while let Some(first) = emitted.recv().await {
            let mut bytes = weight(&first);
            let mut items = vec![self.item(first)];
            while bytes < MAX_BATCH
                && let Ok(next) = emitted.try_recv()
            {
                bytes += weight(&next);
                items.push(self.item(next));
            }
            self.gate.send_if_modified(|open| {
                let is_open = emitted.len() < MAX_WAITING;
                std::mem::replace(open, is_open) != is_open
            });
            if !self.publish(&items).await {
                return give_up(&self.shared, &self.handle).await;
            }
        }
        let is_given_up = self.shared.is_given_up.load(Ordering::Relaxed);
        let mut ended = self.handle.ended.clone();
        ends(&mut ended).await;
        let ended = ended.borrow().clone();
        if let Some(SessionEnd::Over(ended)) = ended.filter(|_| !is_given_up) {
            let content = OutputContent::Message(WatcherMessage::Ended(ended));
            self.publish(&[OutputItem { to: None, content }]).await;
        }
    }

    /// Publishes items. `false`: the session is no longer this node's.
    async fn publish(&mut self, items: &[OutputItem]) -> bool {
        loop {
            match self.publisher.publish(items).await {
                Ok(()) => break,
                Err(AppendError::Refused(reason)) => {
                    tracing::error!("session {}: output waits: {reason}", self.shared.session);
                    tokio::time::sleep(REFUSED_DELAY).await;
                }
                Err(error) => {
                    tracing::warn!("session {}: {error}", self.shared.session);
                    return false;
                }
            }
        }
        self.shared.published.store(self.publisher.published, Ordering::Relaxed);
        let answered: Vec<OutstandingCommand> = items
            .iter()
            .filter_map(|item| match (&item.to, &item.content) {
                (Some(to), OutputContent::Frame(line)) => response(to, line),
                _ => None,
            })
            .collect();
        if !answered.is_empty() {
            let mut outstanding = self.shared.outstanding();
            *outstanding = without(std::mem::take(&mut outstanding), &answered);
        }
        true
    }

    fn item(&self, item: OutletItem) -> OutputItem {
        let (to, content) = match item {
            OutletItem::Frame { line, to, .. } => (to, OutputContent::Frame(line)),
            OutletItem::Message(to, message) => (to, OutputContent::Message(message)),
        };
        let clients = self.shared.clients();
        let name = |to: ClientId| clients.iter().find(|(_, (id, _))| *id == to).map(|(name, _)| name.clone());
        // A client that is forgotten gets nothing, and no other gets it.
        OutputItem { to: to.map(|to| name(to).unwrap_or_default()), content }
    }
}

/// Frames that wait to be published at which the session pauses.
const MAX_WAITING: usize = 4096;

fn weight(item: &OutletItem) -> usize {
    match item {
        OutletItem::Frame { line, .. } => line.len(),
        OutletItem::Message(..) => MAX_BATCH / 8,
    }
}

/// Ends a session that another node has, or will have.
async fn give_up(shared: &OwnerState, handle: &SessionHandle) {
    shared.is_given_up.store(true, Ordering::Relaxed);
    // A session that has ended is given up.
    let _ = handle.requests.send(SessionRequest::Close).await;
    tracing::warn!("session {}: given up, epoch {}", shared.session, shared.epoch);
}

struct InputTask {
    shared: Arc<OwnerState>,
    handle: SessionHandle,
    record: OwnedRecord,
    lease: Lease,
    /// Whether the owner before did not live to end a run.
    is_cut: bool,
}

impl InputTask {
    /// Takes input until the session ends. Returns the record if it is still this node's.
    async fn run(mut self, mut tail: Tail) -> Option<OwnedRecord> {
        let mut ended = self.handle.ended.clone();
        let mut info = self.handle.info.clone();
        let mut lease = self.lease.clone();
        if self.is_cut {
            // Clients have frames of a run that has no end.
            self.deliver(InputMessage { client: ALL_CLIENTS.to_owned(), content: InputContent::Snapshot })
                .await;
        }
        loop {
            let first = tokio::select! {
                () = ends(&mut ended) => break,
                () = lease.lost() => {
                    self.give_up().await;
                    return None;
                }
                Ok(()) = info.changed() => None,
                first = tail.next() => Some(first),
            };
            let mut taken = Vec::from_iter(first);
            while !taken.is_empty()
                && taken.len() < MAX_TAKEN
                && let Some(next) = tail.next().now_or_never()
            {
                taken.push(next);
            }
            let is_same = self.note_info();
            if taken.is_empty() && is_same {
                continue;
            }
            let messages = self.take(taken);
            if let Err(error) = self.record.save().await {
                tracing::warn!("session {}: {error}", self.shared.session);
                self.give_up().await;
                return None;
            }
            for message in messages {
                self.deliver(message).await;
            }
        }
        if !self.shared.is_given_up.load(Ordering::Relaxed) {
            self.record.record.is_closed = true;
        }
        Some(self.record)
    }

    async fn give_up(&self) {
        give_up(&self.shared, &self.handle).await;
        ends(&mut self.handle.ended.clone()).await;
    }

    /// Notes what the session is doing in the record. `true`: nothing has changed.
    fn note_info(&mut self) -> bool {
        let info = self.handle.info.borrow();
        let is_running = info.status == SessionStatus::Running;
        let record = &mut self.record.record;
        let is_same = record.is_running == is_running && record.title == info.name;
        (record.is_running, record.title) = (is_running, info.name.clone());
        is_same
    }

    /// Notes messages as taken in the record. Returns those that are to be delivered.
    fn take(&mut self, stored: Vec<Stored>) -> Vec<InputMessage> {
        let taken = &mut self.record.record.taken;
        let mut messages = Vec::new();
        let mut outstanding = self.shared.outstanding();
        for Stored { sequence, headers, payload } in stored {
            taken.position = sequence;
            let Some(message) = InputMessage::decode(&headers, payload) else { continue };
            if let InputContent::Line(line, _) | InputContent::End(line) = message.content {
                if taken.lines.get(&message.client).is_some_and(|known| *known >= line) {
                    continue;
                }
                taken.lines.shift_remove(&message.client);
                taken.lines.insert(message.client.clone(), line);
                if taken.lines.len() > MAX_CLIENTS {
                    taken.lines.shift_remove_index(0);
                }
            }
            outstanding.extend(command(&message, self.handle.dialect));
            messages.push(message);
        }
        taken.outstanding.clone_from(&outstanding);
        taken.frame = self.shared.published.load(Ordering::Relaxed);
        messages
    }

    async fn deliver(&self, message: InputMessage) {
        let Some((client, connection)) = self.client(&message.client).await else { return };
        let line = match message.content {
            InputContent::Line(_, line) => Some(line.to_vec()),
            InputContent::End(_) => None,
            InputContent::Snapshot => {
                let _ = self.handle.requests.send(SessionRequest::Snapshot(client)).await;
                return;
            }
            InputContent::Close => {
                let _ = self.handle.requests.send(SessionRequest::Close).await;
                return;
            }
        };
        // A session that has ended takes no lines.
        let _ = self.handle.lines.send(ClientLine { client, connection, line }).await;
    }

    /// The client with this name, which is attached when it comes first.
    async fn client(&self, name: &str) -> Option<(ClientId, u64)> {
        if let Some(known) = self.shared.clients().get(name) {
            return Some(*known);
        }
        let queue = Arc::new(WatcherQueue::new(self.handle.dialect, usize::MAX, Arc::default()));
        let principal = self.handle.owner.clone();
        let attach = Attach { key: name.to_owned(), after: None, queue, has_messages: false, principal };
        let (reply, attached) = oneshot::channel();
        self.handle.requests.send(SessionRequest::Attach(attach, reply)).await.ok()?;
        let attached = attached.await.ok()?;
        let known = (attached.client, attached.connection);
        self.shared.clients().insert(name.to_owned(), known);
        Some(known)
    }
}

/// Waits until a session has ended.
async fn ends(ended: &mut watch::Receiver<Option<SessionEnd>>) {
    // A task that is gone has ended, too.
    let _ = ended.wait_for(Option::is_some).await;
}

/// The command in a message, if it will be responded to.
fn command(message: &InputMessage, dialect: Dialect) -> Option<OutstandingCommand> {
    #[derive(Deserialize)]
    struct Command {
        id: Option<RequestId>,
        #[serde(rename = "type")]
        command: String,
    }
    let InputContent::Line(_, line) = &message.content else { return None };
    let Ok(Some(Inbound::Command(_))) = read_line(line, dialect) else { return None };
    let Command { id, command } = serde_json::from_slice(line).ok()?;
    Some(OutstandingCommand { client: message.client.clone(), id, command })
}
