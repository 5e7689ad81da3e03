//! The scripted model behind the HTTP APIs of real vendors, to test clients of those APIs without a key.
//!
//! One server speaks Anthropic Messages, OpenAI Chat Completions and OpenAI Responses, told apart by the path. What it
//! answers is a script of [`crate::model::scripted`], spelled out as the same stream events that the engine takes and
//! rendered once per vendor. What it takes is what the vendor documents: a request that the vendor would refuse is
//! refused, with the vendor's status and words.
//!
//! A request's way: `handle` (whose API, may it?) → `fault` and the vendor's `rules` (would the vendor take it?) →
//! `prompt_context` (what is the model asked?) → the player's turn → `answer` (clock, cuts, silence) over the vendor's writer.

mod answer;
mod anthropic;
mod completions;
mod connection;
mod fault;
mod handle;
mod journal;
mod prompt_context;
mod refusal;
mod responses;
mod vendor;
mod wording;

pub use journal::{Journal, ReceivedRequest};

use crate::model::scripted::{Player, Script};
use connection::{Connection, CuttableListener};
use handle::MockState;
use std::{
    fs::File,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::net::TcpListener;

/// A server that is bound and waits to be served.
pub struct Mock {
    listener: TcpListener,
    address: SocketAddr,
    script: Script,
    journal: Arc<Journal>,
    lenient: bool,
}

impl Mock {
    /// Binds `address`; port 0 takes any free one. Connections wait from now on until [`Mock::serve`] runs.
    ///
    /// # Errors
    ///
    /// When the address cannot be had.
    pub async fn bind(address: SocketAddr, script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { listener, address, script, journal: Arc::new(Journal::new(None)), lenient: false })
    }

    /// Answers requests that the vendor would refuse, too; the journal says why it would.
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// Appends every request to `file`, one JSON line each, keys and tokens left out.
    pub fn log_to(mut self, file: File) -> Self {
        self.journal = Arc::new(Journal::new(Some(file)));
        self
    }

    /// Where it listens, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it is asked; the same journal before, during and after [`Mock::serve`].
    pub fn journal(&self) -> Arc<Journal> {
        Arc::clone(&self.journal)
    }

    /// Serves until it is dropped; connections that are open then end with their runtime. The turns of the script are
    /// used up by all clients and vendors together.
    ///
    /// # Errors
    ///
    /// None are known: a connection that cannot be accepted is waited for.
    pub async fn serve(self) -> io::Result<()> {
        let shared = MockState {
            model: self.script.model.clone(),
            player: Mutex::new(Player::new(self.script)),
            requests: 0.into(),
            calls: 0.into(),
            journal: self.journal,
            lenient: self.lenient,
        };
        let router = axum::Router::new().fallback(handle::handle).with_state(Arc::new(shared));
        let service = router.into_make_service_with_connect_info::<Connection>();
        axum::serve(CuttableListener::new(self.listener), service).await
    }
}
