//! The owner of a session: feeds it from the input stream, and publishes what it emits.

mod input_task;
mod output_task;

use self::{
    input_task::InputTask,
    output_task::{OutputTask, Publisher},
};
use super::{
    connection::{Connection, ENTRIES, INPUT, OUTPUT, subject},
    decisions::{
        ownership::{Inheritance, may_follow, unanswered},
        questions::LeftRun,
    },
    entries::{EntryFiles, EntryLog, LogContent},
    fenced::{AppendError, FencedSubject, last_message},
    lease::Lease,
    output::{self, OutputContent, OutputItem},
    records::OwnedRecord,
    session_record::{OutstandingCommand, SessionRecord},
    tail::{ReadAttempts, Tail, read_all},
};
use pi_rpc_host::{
    ClientId, OpenSession, Outlet, OutletItem, Principal, Resumption, SessionEnd, SessionHandle,
    SessionLimits, SessionRequest, SessionSinks, UsageBook, start_session,
};
use pi_rpc_protocol::{MultiSessionErrorCode, RequestId, RpcErrorResponse};
use pi_rpc_session::{Notice, OpenedSession};
use serde::Deserialize;
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
use tokio::{
    runtime::Handle,
    sync::{mpsc, watch},
};

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
    /// What principals have used on this node.
    pub usage: UsageBook,
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
    clients: Mutex<HashMap<String, KnownClient>>,
    /// Commands without a response in the output.
    outstanding: Mutex<Vec<OutstandingCommand>>,
    /// The number of the last frame in the output.
    published: AtomicU64,
    /// Why the session is no longer written: it was replaced, or is left to others.
    is_given_up: AtomicBool,
}

/// A client, as the session knows it.
#[derive(Clone)]
struct KnownClient {
    id: ClientId,
    connection: u64,
    /// Who it acts for.
    principal: Arc<Principal>,
}

impl OwnerState {
    fn clients(&self) -> MutexGuard<'_, HashMap<String, KnownClient>> {
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
        let Inheritance { is_cut, missing_frames } = record.inheritance;
        let epoch = record.record.epoch;
        let (log, content) = EntryLog::take(connection, session, epoch, lease).await?;
        // Old output may be gone; numbers grow all the same.
        let known = record.record.taken.frame;
        let (output, published) = take_output(context, session, epoch, known, missing_frames).await?;
        let mut publisher = Publisher { output, epoch, published };
        let answered = match record.record.taken.outstanding.is_empty() {
            true => Vec::new(),
            false => {
                responses(connection, session, record.record.taken.frame).await.map_err(TakeError::Read)?
            }
        };
        let lost = unanswered(std::mem::take(&mut record.record.taken.outstanding), &answered);
        publisher.publish(&lost.iter().map(lost_response).collect::<Vec<_>>()).await?;
        record.record.taken.frame = publisher.published;
        let (items, emitted) = mpsc::unbounded_channel();
        let (gate, opened) = watch::channel(true);
        let handle = match start(
            context,
            session,
            &record.record,
            (log, content, is_cut),
            (publisher.published, items, opened),
        )
        .await
        {
            Ok((handle, runs_anywhere)) => {
                if runs_anywhere != record.record.runs_anywhere {
                    record.record.runs_anywhere = runs_anywhere;
                    record.save().await?;
                }
                handle
            }
            Err(error) => {
                record.record.owner = None;
                record.record.is_closed |= epoch == 1;
                // Another node finds the record in any case once the lease ends.
                let saved = record.save().await;
                if saved.is_ok() && epoch == 1 {
                    connection.remove(session).await;
                }
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
            connection: connection.clone(),
            handle: handle.clone(),
            record,
            lease: lease.clone(),
            usage: context.usage.clone(),
            delivered: 0,
        };
        let tail = Tail::start(
            connection,
            &connection.input,
            subject(INPUT, session),
            input.record.record.taken.position,
        );
        let tail = tail.await.map_err(TakeError::Read)?;
        let mut output = OutputTask { shared: shared.clone(), handle: handle.clone(), publisher, gate };
        tokio::spawn(async move {
            let (record, ended) = tokio::join!(input.run(tail), output.run(emitted));
            let is_noted = finish_record(record).await;
            // Behind the record: a client that sees the end finds the session listed on no node.
            if let Some(ended) = ended.filter(|_| is_noted) {
                output.publish_end(ended).await;
            }
            finish.send_replace(true);
        });
        tracing::info!("session {session}: owned by this node, epoch {epoch}");
        Ok(Self { handle, finished, shared })
    }

    /// Leaves the session to another node: what is active is aborted, but for a run that only waits for a permission; clients stay.
    pub async fn leave(&self) {
        self.shared.is_given_up.store(true, Ordering::Relaxed);
        // A session that has ended is left.
        let _ = self.handle.requests.send(SessionRequest::WriteOut).await;
        let _ = self.finished.clone().wait_for(|finished| *finished).await;
    }
}

/// Notes in the record that a session has ended here; `None`: another node has it. Returns whether it is noted.
async fn finish_record(record: Option<OwnedRecord>) -> bool {
    let Some(mut record) = record else { return false };
    record.record.owner = None;
    // Where it is left to another node, that one tells the clients of what was cut.
    record.record.is_running &= !record.record.is_closed;
    let saved = record.save().await;
    if let Err(error) = &saved {
        tracing::warn!("a session's record was not written: {error}");
    }
    saved.is_ok()
}

/// Takes the output over behind the frame with the number `known`, or a later one, leaving out `missing` numbers. Returns its
/// writer and the number of the last frame.
async fn take_output(
    context: &OwnerContext,
    session: &str,
    epoch: u64,
    known: u64,
    missing: u64,
) -> Result<(FencedSubject, u64), TakeError> {
    let OwnerContext { connection, lease, .. } = context;
    let name = subject(OUTPUT, session);
    loop {
        let attempts = ReadAttempts::start();
        let last = loop {
            match last_message(&connection.output, &name).await {
                Ok(last) => break last,
                Err(error) => attempts.wait(error).await.map_err(TakeError::Read)?,
            }
        };
        let (frame, before) = last.as_ref().map_or((0, 0), |last| output::position(&last.headers));
        if !may_follow(before, epoch) {
            return Err(AppendError::Fenced.into());
        }
        let frame = frame.max(known) + missing;
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

/// The response to a command whose owner was lost.
fn lost_response(command: &OutstandingCommand) -> OutputItem {
    let code = MultiSessionErrorCode::NodeLost.as_str();
    let error = format!(
        "{code}: the node that had taken this command is gone; whether it had an effect is not known"
    );
    let response =
        RpcErrorResponse { id: command.id.clone(), command: command.command.clone(), error, code: None };
    // Generated types always serialize.
    let mut line = serde_json::to_vec(&response).unwrap_or_default();
    line.push(b'\n');
    OutputItem { to: Some(command.client.clone()), content: OutputContent::Frame(line) }
}

/// Starts the session; `is_cut`: its owner has ended while it worked. Returns also whether it has no tools of its own.
async fn start(
    context: &OwnerContext,
    session: &str,
    record: &SessionRecord,
    (mut log, content, is_cut): (EntryLog, LogContent, bool),
    (last, items, gate): (u64, mpsc::UnboundedSender<OutletItem>, watch::Receiver<bool>),
) -> Result<(SessionHandle, bool), String> {
    let (open_session, mut request) = (context.open_session.clone(), record.spec.request(&context.usage));
    let runs_anywhere = record.runs_anywhere;
    let options = tokio::task::spawn_blocking(move || {
        // The node's own directory takes the place of one that only names where the session began.
        request.directory = request.directory.filter(|directory| !runs_anywhere || directory.is_dir());
        open_session(request)
    })
    .await;
    let mut options = options.map_err(|error| error.to_string())?.map_err(|error| error.text())?;
    let runs_anywhere = options.tools.is_empty()
        && options.spare_tools.is_empty()
        && options.extension_setup.extensions.is_empty();
    let mut opened = content.session()?;
    let tree = opened.as_ref().and_then(|opened| opened.tree.as_ref());
    let messages = tree.map(|tree| tree.context().messages).unwrap_or_default();
    let waiting = record.waiting.clone().filter(|waiting| waiting.fits(&messages));
    let left_run = LeftRun::of(waiting.is_some(), is_cut);
    if left_run != LeftRun::GoesOn {
        let closed = super::cut_run::close(&mut log, opened.as_mut(), options.dialect).await;
        closed.map_err(|error| error.to_string())?;
    }
    let folder = PathBuf::from(format!("nats:{}", subject(ENTRIES, session)));
    options.place.id = opened.is_none().then(|| session.to_owned());
    if left_run == (LeftRun::Closed { is_told: true }) {
        // Clients are told even where nothing was stored.
        let new = || OpenedSession {
            path: folder.join(format!("{session}.jsonl")).into(),
            tree: None,
            notices: Vec::new(),
        };
        opened.get_or_insert_with(new).notices.push(Notice::OwnerLost);
    }
    options.place.folder = Some(folder);
    options.session = opened;
    options.files = Some(Box::new(EntryFiles { log, runtime: Handle::current() }));
    let outlet = Outlet::new(options.dialect, last, items, gate);
    let (owner, resumption) =
        (record.spec.principal(&context.usage), Resumption { waiting, ..Resumption::default() });
    let sinks = SessionSinks { outlet: Some(outlet), ..SessionSinks::default() };
    let handle = start_session(session.to_owned(), options, context.limits, owner, resumption, sinks);
    Ok((handle, runs_anywhere))
}

/// Ends a session that another node has, or will have.
async fn give_up(shared: &OwnerState, handle: &SessionHandle) {
    shared.is_given_up.store(true, Ordering::Relaxed);
    // A session that has ended is given up.
    let _ = handle.requests.send(SessionRequest::Close).await;
    tracing::warn!("session {}: given up, epoch {}", shared.session, shared.epoch);
}

/// Waits until a session has ended.
async fn ends(ended: &mut watch::Receiver<Option<SessionEnd>>) {
    // A task that is gone has ended, too.
    let _ = ended.wait_for(Option::is_some).await;
}
