//! The sessions of a host, as one principal may see and use them.

use super::{
    file_owners::FileAccess,
    host_error::HostError,
    open_request::OpenRequest,
    permission::Permitted,
    principal::Principal,
    registry::{ReservedSession, SessionHost},
    session_handle::{Attach, Attached, SessionHandle},
};
use pi_rpc_protocol::{Dialect, ListedSession};
use pi_rpc_server::wall_ms;
use std::{sync::Arc, time::Instant};
use tokio::sync::watch;

/// A host behind the limits of a principal.
#[derive(Clone)]
pub struct ScopedHost {
    host: Arc<SessionHost>,
    /// Who the connection acts for.
    pub principal: Arc<Principal>,
}

impl ScopedHost {
    /// The sessions of `host` that `principal` may use.
    pub const fn new(host: Arc<SessionHost>, principal: Arc<Principal>) -> Self {
        Self { host, principal }
    }

    /// The host behind the limits.
    pub const fn host(&self) -> &Arc<SessionHost> {
        &self.host
    }

    /// The dialect of the host, in which files are changed.
    pub fn dialect(&self) -> Dialect {
        self.host.dialect()
    }

    /// Counts a command to the host itself. `spends`: whether it is refused where no money is left.
    ///
    /// # Errors
    ///
    /// `rate_limited`, or `cluster_unavailable`: it cannot be counted.
    pub async fn count_command(&self, spends: bool) -> Result<(), HostError> {
        match self.principal.admission(true, spends) {
            Some(admission) => admission.await,
            None => self.principal.count_command(Instant::now()),
        }
    }

    /// Opens a session, owned by the principal.
    ///
    /// # Errors
    ///
    /// Those of [`reserve`](Self::reserve) and [`start`](Self::start).
    pub async fn open(&self, request: OpenRequest) -> Result<Permitted<SessionHandle>, HostError> {
        let reserved = self.reserve(request)?;
        self.start(reserved).await
    }

    /// Lists a session as being opened; [`start`](Self::start) opens it.
    ///
    /// # Errors
    ///
    /// There are too many, there is no money left, or [`SessionHost::reserve`] refuses it.
    pub fn reserve(&self, mut request: OpenRequest) -> Result<ReservedSession, HostError> {
        self.principal.check_spend(wall_ms())?;
        request.owner = Some(self.principal.clone());
        self.host.reserve(request)
    }

    /// Opens a session that is listed.
    ///
    /// # Errors
    ///
    /// The limits forbid it, or [`SessionHost::start`] cannot open it.
    pub async fn start(&self, reserved: ReservedSession) -> Result<Permitted<SessionHandle>, HostError> {
        self.host.start(reserved).await
    }

    /// The open session with this name: its handle, or the id in its file.
    ///
    /// # Errors
    ///
    /// There is none, it is another principal's, it is being opened or closed, or it speaks a dialect beyond the limits.
    pub async fn find(&self, name: &str) -> Result<Permitted<SessionHandle>, HostError> {
        let found = self.host.find_anywhere(name, &self.principal).await?;
        self.principal.limits.check_dialect(found.dialect)?;
        Ok(found)
    }

    /// Attaches a client to the session with this name.
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find), or the session ends meanwhile.
    pub async fn attach(
        &self,
        name: &str,
        attach: Attach,
    ) -> Result<(Permitted<SessionHandle>, Attached), HostError> {
        let found = self.find(name).await?;
        self.host.attach(&found.id, attach).await
    }

    /// Closes a session: aborts what is active, and waits until it has ended.
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find).
    pub async fn close(&self, name: &str) -> Result<(), HostError> {
        let found = self.host.find_anywhere(name, &self.principal).await?;
        self.host.close(&found.id, &self.principal).await
    }

    /// The sessions of the principal, with those that are being opened or closed.
    pub async fn list(&self) -> Vec<ListedSession> {
        self.host.list(&self.principal).await.into_iter().map(Permitted::into_inner).collect()
    }

    /// The session files that the principal may use.
    pub fn files(&self) -> FileAccess {
        self.host.source.owners.of(self.principal.clone())
    }

    /// Resolves when the process is to end; holds the process up until it is dropped.
    pub fn stop(&self) -> watch::Receiver<bool> {
        self.host.stop()
    }
}
