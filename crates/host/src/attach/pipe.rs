//! Passes lines between stdin, stdout and a session, over as many connections as it takes.

use super::{
    address::{HostAddress, SessionAddress},
    connection::{ConnectError, Connection, Received},
    tls::Authorities,
};
use pi_rpc_protocol::{ClientControl, ConnectionControl, EndOfInputControl, LineSplitter, SplitLine};
use pi_rpc_server::{Sink, Stdin, seed};
use std::{
    collections::VecDeque,
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
    /// Frames were missed that the host no longer keeps.
    #[error(
        "the host no longer keeps the frames from number {0} on; start again to go on from its newest one"
    )]
    Missed(u64),
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
    /// Where the host listens.
    pub host: HostAddress,
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
    /// Lines without confirmation, the first of which has the number `confirmed` + 1.
    unconfirmed: VecDeque<String>,
    unconfirmed_bytes: usize,
    confirmed: u64,
    is_input_over: bool,
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
    let splitter = LineSplitter::new(options.max_frame);
    let mut pipe = Pipe {
        client: format!("{:016x}{:016x}", seed(), seed()),
        stdin: Stdin::new()?,
        splitter,
        sink: Sink::stdout()?,
        sequence: None,
        unconfirmed: VecDeque::new(),
        unconfirmed_bytes: 0,
        confirmed: 0,
        is_input_over: false,
        options,
    };
    let mut connection = pipe.connect(false).await?;
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
                tracing::warn!("{}: the connection broke; trying again", pipe.options.host);
                connection = pipe.connect(true).await?;
            }
        }
    }
}

impl Pipe {
    /// Connects, and tries again for a while if the host was there `before`.
    async fn connect(&mut self, before: bool) -> Result<Connection, AttachError> {
        let until = Instant::now() + self.options.patience;
        let mut wait = FIRST_WAIT;
        loop {
            let Options { host, session, token, authorities, .. } = &self.options;
            let path = session.path(&self.client, self.sequence);
            let max_message = MESSAGE_FRAMES * self.options.max_frame;
            match Connection::open(host, &path, token.as_deref(), authorities, max_message).await {
                Ok(connection) => return Ok(connection),
                Err(ConnectError::Refused(text)) => return Err(AttachError::Refused(host.clone(), text)),
                Err(ConnectError::Unreachable(text)) if !before || Instant::now() >= until => {
                    return Err(AttachError::Unreachable(host.clone(), text));
                }
                Err(ConnectError::Unreachable(_)) => {
                    tokio::time::sleep(wait).await;
                    wait = (2 * wait).min(LONGEST_WAIT);
                }
            }
        }
    }

    async fn run(&mut self, connection: &mut Connection) -> Result<End, AttachError> {
        let mut ping = tokio::time::interval(PING_INTERVAL);
        let mut is_attached = false;
        loop {
            let reads = is_attached && !self.is_input_over && self.unconfirmed_bytes < MAX_UNCONFIRMED;
            tokio::select! {
                received = connection.next() => {
                    let Some(received) = received else { return Ok(End::Lost) };
                    match received? {
                        Received::Frame(frame) => {
                            self.sequence = self.sequence.map(|last| last + 1);
                            self.write(frame).await?;
                        }
                        Received::Control(control) => match *control {
                            ConnectionControl::Attached(attached) => {
                                is_attached = true;
                                if self.sequence.is_some_and(|last| last != attached.sequence) {
                                    return Err(AttachError::Missed(self.sequence.unwrap_or_default() + 1));
                                }
                                self.sequence = Some(attached.sequence);
                                // From now on it is this session, also if it was a new one.
                                self.options.session = SessionAddress::Open(attached.session_id);
                                self.confirm(attached.received_lines);
                                if !self.send_unconfirmed(connection).await {
                                    return Ok(End::Lost);
                                }
                            }
                            ConnectionControl::Position(position) => {
                                self.sequence = position.sequence.checked_sub(1);
                            }
                            ConnectionControl::Received(received) => self.confirm(received.lines),
                            ConnectionControl::SessionSnapshot(_) => {
                                return Err(AttachError::Missed(self.sequence.unwrap_or_default() + 1));
                            }
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
        let first = self.unconfirmed.len();
        loop {
            let line = match self.is_input_over {
                true => self.splitter.finish(),
                false => self.splitter.next_line(),
            };
            match line {
                Some(SplitLine::Line(line)) => {
                    let line = String::from_utf8_lossy(line).into_owned();
                    self.unconfirmed_bytes += line.len();
                    self.unconfirmed.push_back(line);
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
        for line in self.unconfirmed.iter().skip(first) {
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
        for line in &self.unconfirmed {
            if !connection.send_line(line).await {
                return false;
            }
        }
        !self.is_input_over || send_end(connection).await
    }

    /// Forgets lines that the host has received: so many since the first one.
    fn confirm(&mut self, received: u64) {
        while self.confirmed < received
            && let Some(line) = self.unconfirmed.pop_front()
        {
            self.unconfirmed_bytes -= line.len();
            self.confirmed += 1;
        }
    }

    async fn write(&mut self, frame: String) -> io::Result<()> {
        let mut line = frame.into_bytes();
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

async fn send_end(connection: &mut Connection) -> bool {
    let end = ClientControl::from(EndOfInputControl {});
    // A constant always serializes.
    connection.send_control(serde_json::to_vec(&end).unwrap_or_default()).await
}
