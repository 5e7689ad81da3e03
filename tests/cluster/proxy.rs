//! A TCP proxy in front of a NATS server, which holds everything back while it is cut.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// How often a proxy that is cut looks whether it still is.
const LOOK: Duration = Duration::from_millis(20);

/// The way of one node to all servers.
#[derive(Clone, Default)]
pub struct Link {
    is_cut: Arc<AtomicBool>,
}

impl Link {
    /// Opens a proxy to a server. Returns its port.
    pub fn to(&self, server: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let link = self.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { continue };
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                for (from, to) in [(client, server), back] {
                    let link = link.clone();
                    thread::spawn(move || link.copy(from, to));
                }
            }
        });
        port
    }

    /// Holds back what is sent, until it is mended.
    pub fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }

    fn copy(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = [0; 64 * 1024];
        while let Ok(count) = from.read(&mut buffer)
            && count > 0
        {
            while self.is_cut.load(Ordering::Relaxed) {
                thread::sleep(LOOK);
            }
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    }
}
