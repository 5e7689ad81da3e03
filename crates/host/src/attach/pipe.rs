//! Passes lines between stdin, stdout and a session, over as many connections as it takes.

use super::{
    address::{HostAddress, SessionAddress},
    connection::{ConnectError, Connection, Received},
    open_run::OpenRun,
    sent_lines::SentLines,
    tls::Authorities,
};
use pi_rpc_protocol::{
    ClientControl, ConnectionControl, ConnectionErrorCode, Dialect, EndOfInputControl, LineSplitter,
    MultiSessionErrorCode, SessionSnapshotEvent, SplitLine,
};
use pi_rpc_server::{Sink, Stdin, seed};
use std::{
    io::{self, IoSlice},
    time::{Duration, Instant},
};

/// Why a pipe ends without the session.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The host refuses the session.
    #[error("{0}: {1}")]
    Refused(HostAddress, String),
    /// The host cannot be reached.
    #[error("{0}: {1}")]
    Unreachable(HostAddress, String),
    /// The host has sent a longer message than is read.
    #[error("the host has sent a message of {length} bytes or more, the limit is {limit}")]
    TooLong {
        /// Bytes that it has at least.
        length: usize,
        /// The most bytes.
        limit: usize,
    },
    /// The other end is no host of this version.
    #[error("not a host of sessions: {0}")]
    NotAHost(String),
    /// stdin or stdout is broken.
    #[error("{0}")]
    Pipe(#[from] io::Error),
}

/// The first wait before a broken connection is made again, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// How often a silent connection is tried.
const PING_INTERVAL: Duration = Duration::from_secs(15);

/// Bytes of lines without confirmation from which on stdin is not read.
const MAX_UNCONFIRMED: usize = 16 * 1024 * 1024;

/// Longest lines of which a message of the host may have the length: it may hold what many lines have said.
const MESSAGE_FRAMES: usize = 4;

/// How the pipe treats its session.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where hosts listen that have the session: the first one is tried first, the others where it cannot be reached.
    pub hosts: Vec<HostAddress>,
    /// The session.
    pub session: SessionAddress,
    /// The token for hosts that ask for one.
    pub token: Option<String>,
    /// Who vouches for hosts by TLS.
    pub authorities: Authorities,
    /// Whether the end of input ends the session; else it goes on without this client.
    pub ends_session: bool,
    /// How long to try to reach a host that was lost.
    pub patience: Duration,
    /// The longest line that is read from stdin, in bytes. Messages of the host may be `MESSAGE_FRAMES` times as long.
    pub max_frame: usize,
}

struct Pipe {
    options: Options,
    /// Names this client at the host.
    client: String,
    stdin: Stdin,
    splitter: LineSplitter,
    sink: Sink,
    /// The number of the last frame that was received.
    sequence: Option<u64>,
    /// The dialect of the session, once it is known.
    dialect: Option<Dialect>,
    /// What has begun in the output.
    open: OpenRun,
    sent: SentLines<String>,
    unconfirmed_bytes: usize,
    is_input_over: bool,
    /// Which of the hosts is tried next.
    next_host: usize,
    /// When the session was lost; `None`: it is there, or was never.
    lost_at: Option<Instant>,
    /// How long to wait before the next attempt.
    wait: Duration,
}

/// Why a connection is over.
enum End {
    /// It broke.
    Lost,
    /// The session is over, with this exit status and error.
    Ended(u64, Option<String>),
    /// The client has no more input, and the session goes on without it.
    Left,
}

/// Connects stdin and stdout to a session until one of them ends. Returns the exit status.
///
/// # Errors
///
/// The session cannot be had, or is lost for longer than `patience`.
pub async fn attach(options: Options) -> Result<u8, AttachError> {
    if options.hosts.is_empty() {
        return Err(AttachError::NotAHost("no address was given".to_owned()));
    }
    let splitter = LineSplitter::new(options.max_frame);
    let mut pipe = Pipe {
        client: format!("{:016x}{:016x}", seed(), seed()),
        stdin: Stdin::new()?,
        splitter,
        sink: Sink::stdout()?,
        sequence: None,
        dialect: None,
        open: OpenRun::default(),
        sent: SentLines::default(),
        unconfirmed_bytes: 0,
        is_input_over: false,
        next_host: 0,
        lost_at: None,
        wait: FIRST_WAIT,
        options,
    };
    let mut connection = pipe.connect().await?;
    loop {
        match pipe.run(&mut connection).await? {
            End::Ended(status, error) => {
                if let Some(error) = error {
                    tracing::error!("{error}");
                }
                return Ok(u8::try_from(status).unwrap_or(1));
            }
            End::Left => return Ok(0),
            End::Lost => {
                tracing::warn!("{}: the connection broke; trying again", pipe.host());
                pipe.lost_at.get_or_insert_with(Instant::now);
                connection = pipe.connect().await?;
            }
        }
    }
}

impl Pipe {
    /// The host that is tried next, or was tried last.
    fn host(&self) -> &HostAddress {
        &self.options.hosts[self.next_host % self.options.hosts.len()]
    }

    /// Connects to one of the hosts. If the session was there before, tries again for a while.
    async fn connect(&mut self) -> Result<Connection, AttachError> {
        let mut tried = 0;
        loop {
            let host = self.host().clone();
            let error = match self.open(&host).await {
                Ok(connection) => return Ok(connection),
                Err(error) => error,
            };
            tried += 1;
            let is_lasting = match (&error, self.lost_at) {
                (ConnectError::Refused(text), Some(_)) => !is_passing(text),
                (ConnectError::Refused(_), None) => true,
                (ConnectError::Unreachable(_), Some(lost)) => lost.elapsed() >= self.options.patience,
                (ConnectError::Unreachable(_), None) => tried >= self.options.hosts.len(),
            };
            let is_late = self.lost_at.is_some_and(|lost| lost.elapsed() >= self.options.patience);
            match error {
                ConnectError::Refused(text) if is_lasting || is_late => {
                    return Err(AttachError::Refused(host, text));
                }
                ConnectError::Unreachable(text) if is_lasting => {
                    return Err(AttachError::Unreachable(host, text));
                }
                _ => self.next_host += 1,
            }
            if tried % self.options.hosts.len() == 0 {
                self.pause().await;
            }
        }
    }

    async fn open(&self, host: &HostAddress) -> Result<Connection, ConnectError> {
        let Options { session, token, authorities, max_frame, .. } = &self.options;
        let path = session.path(&self.client, self.sequence);
        Connection::open(host, &path, token.as_deref(), authorities, MESSAGE_FRAMES * max_frame).await
    }

    /// Waits before the next attempt, ever longer.
    async fn pause(&mut self) {
        tokio::time::sleep(self.wait).await;
        self.wait = (2 * self.wait).min(LONGEST_WAIT);
    }

    async fn run(&mut self, connection: &mut Connection) -> Result<End, AttachError> {
        let mut ping = tokio::time::interval(PING_INTERVAL);
        let mut is_attached = false;
        loop {
            let reads = is_attached && !self.is_input_over && self.unconfirmed_bytes < MAX_UNCONFIRMED;
            tokio::select! {
                received = connection.next() => {
                    let Some(received) = received else {
                        if !is_attached {
                            self.pause().await;
                        }
                        return Ok(End::Lost);
                    };
                    match received? {
                        Received::Frame(frame) => {
                            self.sequence = self.sequence.map(|last| last + 1);
                            self.open.follow(&frame);
                            if !self.open.repeats_dialog(&frame) {
                                self.write(frame.into_bytes()).await?;
                            }
                        }
                        Received::Control(control) => match *control {
                            ConnectionControl::Attached(attached) => {
                                is_attached = true;
                                (self.lost_at, self.wait) = (None, FIRST_WAIT);
                                self.sequence = Some(attached.sequence);
                                self.dialect = Dialect::parse(&attached.dialect);
                                // From now on it is this session, also if it was a new one.
                                self.options.session = SessionAddress::Open(attached.session_id);
                                let received = self.sent.resume(attached.received_lines);
                                self.unconfirmed_bytes -= received.map(|line| line.len()).sum::<usize>();
                                if !self.send_unconfirmed(connection).await {
                                    return Ok(End::Lost);
                                }
                            }
                            ConnectionControl::Position(position) => {
                                self.sequence = position.sequence.checked_sub(1);
                            }
                            ConnectionControl::Received(received) => {
                                let received = self.sent.confirm(received.lines);
                                self.unconfirmed_bytes -= received.map(|line| line.len()).sum::<usize>();
                            }
                            ConnectionControl::SessionSnapshot(snapshot) => self.go_on_from(&snapshot).await?,
                            ConnectionControl::SessionEnded(ended) => {
                                return Ok(End::Ended(ended.exit_status, ended.error));
                            }
                            // A client of a pipe is alone with its dialogs.
                            ConnectionControl::DialogResolved(_) => {}
                        },
                    }
                }
                read = self.stdin.read(&mut self.splitter), if reads => {
                    self.is_input_over = read? == 0;
                    if let Some(end) = self.pass_lines(connection).await {
                        return Ok(end);
                    }
                }
                _ = ping.tick() => {
                    if !connection.ping().await {
                        return Ok(End::Lost);
                    }
                }
            }
        }
    }

    /// Sends the lines that were read. Returns the end if there is one.
    async fn pass_lines(&mut self, connection: &mut Connection) -> Option<End> {
        let first = self.sent.unconfirmed().len();
        loop {
            let line = match self.is_input_over {
                true => self.splitter.finish(),
                false => self.splitter.next_line(),
            };
            match line {
                Some(SplitLine::Line(line)) => {
                    let line = String::from_utf8_lossy(line).into_owned();
                    self.unconfirmed_bytes += line.len();
                    self.sent.push(line);
                }
                Some(SplitLine::TooLong(length)) => {
                    tracing::error!(
                        "a line of {length} bytes was left out: the limit is {}",
                        self.options.max_frame
                    );
                }
                None => break,
            }
            self.splitter.release();
        }
        for line in self.sent.unconfirmed().skip(first) {
            if !connection.send_line(line).await {
                return Some(End::Lost);
            }
        }
        match self.is_input_over {
            true if !self.options.ends_session => Some(End::Left),
            true => (!send_end(connection).await).then_some(End::Lost),
            false => None,
        }
    }

    /// Sends the lines again that the host has not confirmed. `false`: the connection is over.
    async fn send_unconfirmed(&self, connection: &mut Connection) -> bool {
        for line in self.sent.unconfirmed() {
            if !connection.send_line(line).await {
                return false;
            }
        }
        !self.is_input_over || send_end(connection).await
    }

    /// Goes on where frames are missing: what they would have ended is closed.
    async fn go_on_from(&mut self, snapshot: &SessionSnapshotEvent) -> io::Result<()> {
        self.sequence = Some(snapshot.sequence);
        let Some(dialect) = self.dialect else { return Ok(()) };
        for frame in self.open.close(snapshot, dialect) {
            self.write(frame).await?;
        }
        for frame in self.open.missed_dialogs(snapshot, dialect) {
            self.write(frame).await?;
        }
        tracing::warn!("{}: frames are missing; the session goes on", self.host());
        Ok(())
    }

    async fn write(&mut self, frame: Vec<u8>) -> io::Result<()> {
        let mut line = frame;
        line.push(b'\n');
        let mut written = 0;
        while written < line.len() {
            match self.sink.write(&[IoSlice::new(&line[written..])]) {
                Ok(count) => written += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.sink.writable().await,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether a refusal passes: the host looks for the session, or cannot ask others for it.
fn is_passing(text: &str) -> bool {
    use MultiSessionErrorCode as Code;
    let codes = [Code::ClusterUnavailable, Code::NodeLost, Code::SessionOpening].map(|code| code.as_str());
    let code = text.split(':').next().unwrap_or_default();
    codes.contains(&code) || code == ConnectionErrorCode::AuthUnavailable.as_str()
}

async fn send_end(connection: &mut Connection) -> bool {
    let end = ClientControl::from(EndOfInputControl {});
    // A constant always serializes.
    connection.send_control(serde_json::to_vec(&end).unwrap_or_default()).await
}
