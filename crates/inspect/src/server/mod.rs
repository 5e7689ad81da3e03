//! The HTTP server of the page, for one user of this machine.
//!
//! - `guard`: access: the token in the address, the origins of requests.
//! - `requests`: the answers to the page's requests.
//! - `live`: the socket by which the page follows the recording.

mod guard;
mod live;
mod requests;

pub use guard::Guard;

use super::app::App;
use axum::{Router, middleware};
use pi_rpc_guarded_listener::{GuardedListener, Place, Strangers};
use std::{io, sync::Arc};
use tokio::net::TcpListener;

/// A server that listens.
pub struct PageServer {
    listener: TcpListener,
    guard: Arc<Guard>,
}

impl PageServer {
    /// Listens at a port of 127.0.0.1; 0: any.
    ///
    /// # Errors
    ///
    /// The port is taken, or there is no randomness for a token.
    pub async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let guard = Guard::new(listener.local_addr()?.port())?;
        Ok(Self { listener, guard: Arc::new(guard) })
    }

    /// The address of the page.
    pub fn address(&self) -> String {
        self.guard.address()
    }

    /// An address that leads to the page once, for the command line of a browser.
    ///
    /// # Errors
    ///
    /// The system has no randomness.
    pub fn address_for_browser(&self) -> io::Result<String> {
        self.guard.address_for_browser()
    }

    /// Serves the page until `end` resolves.
    ///
    /// # Errors
    ///
    /// Those of the listener.
    pub async fn serve(
        self,
        app: Arc<App>,
        end: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        // Paths are matched without the token, which the guard takes off.
        let router = Router::new().fallback_service(requests::router(app));
        let router = router.layer(middleware::from_fn_with_state(self.guard, guard::check));
        let listener = GuardedListener::new(self.listener, Strangers::of_process(|_| {}));
        let service = router.into_make_service_with_connect_info::<Place>();
        axum::serve(listener, service).with_graceful_shutdown(end).await
    }
}
