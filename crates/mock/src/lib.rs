//! The scripted model behind the HTTP APIs of real vendors, to test their clients without a key.
//!
//! For tests of anything that calls a model over HTTP: a [`Mock`] answers in its own process, at a port of this machine, and its
//! [`Journal`] has every request.
//!
//! The mock sends no requests and has no model: its answers come from a script of [`pi_rpc_model::scripted`], and the same script
//! gives the same answers. It knows nothing of this project's own protocol. A request that the vendor would refuse is refused,
//! with the vendor's status and text.
//!
//! - [`Mock`]: the server: [`Mock::bind`], then [`Mock::serve`].
//! - [`Journal`], [`ReceivedRequest`]: the requests so far, without keys and tokens.
//! - [`mcp`]: the scripted server of the Model Context Protocol, to test its clients.
//!
//! One server speaks Anthropic Messages, OpenAI Chat Completions, OpenAI Responses (also as Azure and ChatGPT speak it),
//! Google's Gemini API, Mistral's chat completions, Amazon Bedrock's Converse API and the messages of pi's gateway, distinguished
//! by the path. It also plays the vendors' endpoints for logins.
//!
//! A request passes `handle` (vendor, credentials) → `fault` and the vendor's `rules` (shape and further rules) →
//! `prompt_context` (the part that scripts see) → the player's turn → `answer` (delays, cuts, silence) with the
//! vendor's writer. The script's answer is expanded to the engine's stream events and rendered for the vendor.
//!
//! ```
//! use pi_rpc_mock::Mock;
//! use pi_rpc_model::scripted::Script;
//! use tokio::{io::{AsyncReadExt as _, AsyncWriteExt as _}, net::TcpStream};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = Script::from_json(r#"{"turns": [{"say": [{"text": "Hello."}]}]}"#)?;
//! let mock = Mock::bind("127.0.0.1:0".parse()?, script).await?;
//! let (address, journal) = (mock.address(), mock.journal());
//! tokio::spawn(mock.serve());
//! let body = r#"{"model":"any","messages":[{"role":"user","content":"hi"}]}"#;
//! let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: mock\r\nauthorization: Bearer key\r\nconnection: close";
//! let head = format!("{head}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
//! let mut stream = TcpStream::connect(address).await?;
//! stream.write_all(format!("{head}{body}").as_bytes()).await?;
//! let mut answer = String::new();
//! stream.read_to_string(&mut answer).await?;
//! assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Hello."), "{answer}");
//! assert_eq!(journal.received()[0].body["model"], "any");
//! # Ok(())
//! # }
//! ```

mod answer;
mod anthropic;
mod bedrock;
mod completions;
mod connection;
mod fault;
mod google;
mod handle;
mod journal;
mod logins;
pub mod mcp;
mod mistral;
mod pi_messages;
mod prompt_context;
mod refusal;
mod responses;
mod vendor;
mod wording;

pub use bedrock::signature::{KEY_ID as AWS_KEY_ID, SECRET as AWS_SECRET};
pub use journal::{Journal, ReceivedRequest};

use connection::{Connection, CuttableListener};
use handle::MockState;
use logins::LoginDesk;
use pi_rpc_model::scripted::{Player, Script};
use std::{
    fs::File,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::net::TcpListener;

/// A mock server that is bound to an address.
pub struct Mock {
    listener: TcpListener,
    address: SocketAddr,
    script: Script,
    journal: Arc<Journal>,
    lenient: bool,
    logins: LoginDesk,
}

impl Mock {
    /// Binds `address`; port 0 takes any free one. Connections wait until [`Mock::serve`] runs.
    ///
    /// # Errors
    ///
    /// The address cannot be bound.
    pub async fn bind(address: SocketAddr, script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self {
            listener,
            address,
            script,
            journal: Arc::new(Journal::new(None)),
            lenient: false,
            logins: LoginDesk::default(),
        })
    }

    /// Also answers requests that the vendor would refuse; the journal has the refusal.
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// Lets the next polls of device logins and refreshes of tokens fail with these errors, such as
    /// `authorization_pending`, `slow_down`, `expired_token`, `invalid_grant`; a number is a status.
    pub fn with_login_errors(mut self, errors: Vec<String>) -> Self {
        self.logins = LoginDesk::with_errors(errors);
        self
    }

    /// Appends every request to `file`, one JSON line each, without keys and tokens.
    pub fn log_to(mut self, file: File) -> Self {
        self.journal = Arc::new(Journal::new(Some(file)));
        self
    }

    /// The bound address, with the real port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The journal of requests, before, during and after [`Mock::serve`].
    pub fn journal(&self) -> Arc<Journal> {
        Arc::clone(&self.journal)
    }

    /// Serves until the future is dropped; open connections then end with their runtime. All clients and vendors
    /// share the turns of the script.
    ///
    /// # Errors
    ///
    /// None are known: failures to accept a connection are waited out.
    pub async fn serve(self) -> io::Result<()> {
        let shared = MockState {
            model: self.script.model.clone(),
            player: Mutex::new(Player::new(self.script)),
            requests: 0.into(),
            calls: 0.into(),
            journal: self.journal,
            lenient: self.lenient,
            logins: self.logins,
        };
        let router = axum::Router::new().fallback(handle::handle).with_state(Arc::new(shared));
        let service = router.into_make_service_with_connect_info::<Connection>();
        axum::serve(CuttableListener::new(self.listener), service).await
    }
}
