//! Sockets that another process has bound and passes on, as systemd does (`LISTEN_FDS`).

use listenfd::ListenFd;
use std::{io, net, os::unix};

/// A socket that listens.
#[derive(Debug)]
pub enum PassedSocket {
    /// A Unix socket, whose file is not ours.
    Unix(unix::net::UnixListener),
    /// A TCP port.
    Tcp(net::TcpListener),
}

/// Takes the sockets that were passed to this process, once. Call it while there is one thread.
///
/// # Errors
///
/// There is none, or one is neither a Unix nor a TCP socket that listens.
pub fn passed_sockets() -> io::Result<Vec<PassedSocket>> {
    let mut passed = ListenFd::from_env();
    let wrong = |error: io::Error| io::Error::other(format!("expected sockets of streams: {error}"));
    let mut sockets = Vec::new();
    for at in 0..passed.len() {
        let socket = match passed.take_unix_listener(at) {
            Ok(listener) => listener.map(PassedSocket::Unix),
            Err(_) => passed.take_tcp_listener(at).map_err(wrong)?.map(PassedSocket::Tcp),
        };
        sockets.extend(socket);
    }
    match sockets.is_empty() {
        true => Err(io::Error::other("expected LISTEN_FDS, and LISTEN_PID of this process, with sockets")),
        false => Ok(sockets),
    }
}
