//! Connections of peers that are not known yet, limited in number and in time.
//!
//! For servers whose clients have to prove who they are: a connection is a *stranger's* until then, and strangers that say
//! nothing do not take the descriptors of those who have something to say. [`GuardedListener`] goes where a listener of `axum`
//! goes; [`Strangers::guard`] takes any other stream.
//!
//! This crate does not know how peers prove who they are: it knows no tokens, no users and no protocol, and it never refuses a
//! request. Its user calls [`Place::admit`]. Of the bytes it looks for nothing but the first line feed, and only where that
//! admits.
//!
//! - [`Strangers`]: the strangers that come by the same way, with their limits.
//! - [`GuardedListener`]: makes every connection of another listener a stranger's.
//! - [`GuardedStream`]: a connection. Its reads and writes fail once it has been a stranger's for too long, or its place is
//!   taken.
//! - [`Place`]: the connection among the strangers, as its requests know it.
//!
//! When one more comes than there may be, the one that has waited longest is closed: whoever has something to say needs less time
//! than those who fill the places can wait.
//!
//! ```
//! use pi_rpc_guarded_listener::{STRANGER_TIME, Strangers};
//! use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let strangers = Strangers::new(1, STRANGER_TIME, |event| println!("{event:?}"));
//! let ((near, mut far), (other, _far)) = (duplex(64), duplex(64));
//! let mut known = strangers.guard(near);
//! known.place().admit();
//! let mut silent = strangers.guard(other);
//! // There is room for one stranger, so the silent one has to go.
//! let _newcomer = strangers.guard(duplex(64).0);
//! assert!(silent.read_u8().await.is_err());
//! far.write_u8(7).await?;
//! assert_eq!(known.read_u8().await?, 7);
//! # Ok(())
//! # }
//! ```

use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use rustix::process::{Resource, getrlimit};
use std::{
    collections::BTreeMap,
    io::{self, ErrorKind, IoSlice},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::UnixStream,
    sync::oneshot,
    time::{Sleep, sleep},
};

/// How long a stranger may take until its request, or its first line, is there.
pub const STRANGER_TIME: Duration = Duration::from_secs(10);

/// The part of this process's descriptors that strangers may have.
pub const STRANGERS_SHARE: u64 = 4;

/// What happens to strangers, for counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrangerEvent {
    /// One has come.
    Came,
    /// One is a stranger no more, or has gone.
    Left,
    /// One was closed, as it took too long.
    Late,
    /// One was closed, as another has come.
    Displaced,
}

/// The strangers of a process that come by the same way.
#[derive(Debug)]
pub struct Strangers {
    limit: usize,
    time: Duration,
    observe: fn(StrangerEvent),
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The number of the next stranger.
    next: u64,
    /// By number. A value is sent to whom is admitted; a sender that is dropped closes the connection.
    strangers: BTreeMap<u64, oneshot::Sender<()>>,
}

impl Strangers {
    /// At most `limit` of them, each for `time`.
    pub fn new(limit: usize, time: Duration, observe: fn(StrangerEvent)) -> Arc<Self> {
        Arc::new(Self { limit: limit.max(1), time, observe, waiting: Mutex::default() })
    }

    /// A quarter of the descriptors that this process may have, each for ten seconds.
    pub fn of_process(observe: fn(StrangerEvent)) -> Arc<Self> {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let limit = usize::try_from(descriptors / STRANGERS_SHARE).unwrap_or(usize::MAX);
        Self::new(limit, STRANGER_TIME, observe)
    }

    /// Takes a connection for a stranger's. Needs a runtime.
    pub fn guard<S>(self: &Arc<Self>, stream: S) -> GuardedStream<S> {
        let (sender, admitted) = oneshot::channel();
        let mut waiting = self.waiting();
        let number = waiting.next;
        waiting.next += 1;
        let displaced = match waiting.strangers.len() >= self.limit {
            true => waiting.strangers.pop_first(),
            false => None,
        };
        waiting.strangers.insert(number, sender);
        drop(waiting);
        (self.observe)(StrangerEvent::Came);
        if displaced.is_some() {
            (self.observe)(StrangerEvent::Displaced);
            (self.observe)(StrangerEvent::Left);
        }
        let place = Place { strangers: self.clone(), number, is_heard: Arc::default() };
        let watch = StrangerWatch { admitted, deadline: Box::pin(sleep(self.time)) };
        GuardedStream { inner: stream, place, watch: Some(watch), admits_lines: false }
    }

    /// Takes a stranger off the list; `is_admitted`: its connection goes on.
    fn remove(&self, number: u64, is_admitted: bool) {
        let Some(sender) = self.waiting().strangers.remove(&number) else { return };
        if is_admitted {
            // The connection may be gone.
            let _ = sender.send(());
        }
        (self.observe)(StrangerEvent::Left);
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection among the strangers, as its requests know it.
#[derive(Clone, Debug)]
pub struct Place {
    strangers: Arc<Strangers>,
    number: u64,
    /// Whether its request is there, and examined.
    is_heard: Arc<AtomicBool>,
}

impl Place {
    /// It is known who the connection acts for: neither number nor time are limited any more.
    pub fn admit(&self) {
        self.strangers.remove(self.number, true);
    }

    /// The request is there: how long it is examined is not the stranger's fault. If it is refused, the connection must end.
    pub fn hear(&self) {
        self.is_heard.store(true, Ordering::Relaxed);
    }
}

/// A stream that fails once it has been a stranger's for too long, or its place is taken.
#[derive(Debug)]
pub struct GuardedStream<S> {
    inner: S,
    place: Place,
    /// `None`: it is no stranger's.
    watch: Option<StrangerWatch>,
    /// Whether the first line feed shows that it is no stranger's.
    admits_lines: bool,
}

#[derive(Debug)]
struct StrangerWatch {
    admitted: oneshot::Receiver<()>,
    deadline: Pin<Box<Sleep>>,
}

impl<S> GuardedStream<S> {
    /// The place among the strangers.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// The stream itself.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    /// With a first line, it is a stranger's no more.
    #[must_use]
    pub fn admitting_lines(mut self) -> Self {
        self.admits_lines = true;
        self
    }

    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let Some(StrangerWatch { admitted, deadline }) = &mut self.watch else { return Ok(()) };
        match Pin::new(admitted).poll(context) {
            Poll::Ready(Ok(())) => self.watch = None,
            Poll::Ready(Err(_)) => {
                return Err(io::Error::new(ErrorKind::ConnectionAborted, "others have taken its place"));
            }
            Poll::Pending => {
                let is_due = deadline.as_mut().poll(context).is_ready();
                if is_due && !self.place.is_heard.load(Ordering::Relaxed) {
                    let strangers = &self.place.strangers;
                    (strangers.observe)(StrangerEvent::Late);
                    strangers.remove(self.place.number, false);
                    let text = format!("it has said nothing whole within {:?}", strangers.time);
                    return Err(io::Error::new(ErrorKind::TimedOut, text));
                }
            }
        }
        Ok(())
    }
}

impl GuardedStream<UnixStream> {
    /// Waits until there is something to read.
    ///
    /// # Errors
    ///
    /// The stream has failed.
    pub async fn readable(&mut self) -> io::Result<()> {
        std::future::poll_fn(|context| {
            self.check(context)?;
            self.inner.poll_read_ready(context)
        })
        .await
    }
}

impl<S> Drop for GuardedStream<S> {
    fn drop(&mut self) {
        self.place.strangers.remove(self.place.number, false);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for GuardedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(context)?;
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(context, buffer);
        if self.admits_lines && buffer.filled()[before..].contains(&b'\n') {
            self.admits_lines = false;
            self.place.admit();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for GuardedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.inner).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(context)?;
        Pin::new(&mut self.inner).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }
}

/// A listener whose connections are strangers'.
pub struct GuardedListener<L> {
    inner: L,
    strangers: Arc<Strangers>,
}

impl<L> GuardedListener<L> {
    /// Guards the connections of `inner`.
    pub const fn new(inner: L, strangers: Arc<Strangers>) -> Self {
        Self { inner, strangers }
    }
}

impl<L: Listener> Listener for GuardedListener<L> {
    type Io = GuardedStream<L::Io>;
    type Addr = L::Addr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, from) = self.inner.accept().await;
        (self.strangers.guard(stream), from)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.inner.local_addr()
    }
}

impl<L: Listener> Connected<IncomingStream<'_, GuardedListener<L>>> for Place {
    fn connect_info(stream: IncomingStream<'_, GuardedListener<L>>) -> Self {
        stream.io().place().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};

    /// A connection, and its other end.
    fn connection(strangers: &Arc<Strangers>) -> (GuardedStream<DuplexStream>, DuplexStream) {
        let (near, far) = duplex(64);
        (strangers.guard(near), far)
    }

    fn waiting(strangers: &Strangers) -> usize {
        strangers.waiting().strangers.len()
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[tokio::test]
    async fn newcomer_displaces_the_longest_waiting() {
        let strangers = Strangers::new(2, LONG, |_| {});
        let (mut first, _far) = connection(&strangers);
        let (mut second, mut far) = connection(&strangers);
        let (third, _far) = connection(&strangers);
        assert_eq!(first.read_u8().await.unwrap_err().kind(), ErrorKind::ConnectionAborted);
        far.write_u8(7).await.unwrap();
        assert_eq!(second.read_u8().await.unwrap(), 7);
        assert_eq!(waiting(&strangers), 2);
        drop((second, third));
        assert_eq!(waiting(&strangers), 0);
    }

    #[tokio::test]
    async fn admitted_connection_is_left_alone() {
        let strangers = Strangers::new(1, LONG, |_| {});
        let (mut known, mut far) = connection(&strangers);
        known.place().admit();
        let (_second, _far) = connection(&strangers);
        let (_third, _far) = connection(&strangers);
        far.write_u8(7).await.unwrap();
        assert_eq!(known.read_u8().await.unwrap(), 7);
    }

    #[tokio::test]
    async fn silent_stranger_is_closed_in_time() {
        let strangers = Strangers::new(9, Duration::ZERO, |_| {});
        let (mut silent, _far) = connection(&strangers);
        let error = silent.read_u8().await.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::TimedOut, "it has said nothing whole within 0ns")
        );
        assert_eq!(waiting(&strangers), 0);
    }

    #[tokio::test]
    async fn examined_request_has_no_deadline() {
        let strangers = Strangers::new(9, Duration::ZERO, |_| {});
        let (mut heard, mut far) = connection(&strangers);
        heard.place().hear();
        far.write_u8(7).await.unwrap();
        assert_eq!(heard.read_u8().await.unwrap(), 7);
    }

    #[tokio::test]
    async fn first_line_admits_where_lines_do() {
        let strangers = Strangers::new(9, LONG, |_| {});
        let (near, mut far) = duplex(64);
        let mut stream = strangers.guard(near).admitting_lines();
        for (byte, left) in [(b'{', 1), (b'\n', 0)] {
            far.write_u8(byte).await.unwrap();
            stream.read_u8().await.unwrap();
            assert_eq!(waiting(&strangers), left);
        }
    }
}
