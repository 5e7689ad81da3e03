//! What a host of many processes offers to one that shares its sessions with them.

use super::{
    host_error::HostError,
    host_status::{HostRow, SessionRow},
    open_request::OpenRequest,
    permission::Permitted,
    principal::Principal,
    session_handle::SessionHandle,
};
use futures_util::future::BoxFuture;
use pi_rpc_protocol::SessionStatus;
use std::sync::Arc;

/// How many sessions the processes share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordCounts {
    /// Those that are open.
    pub open: usize,
    /// Those that are closed, and can be opened again.
    pub closed: usize,
}

/// Sessions that several processes share: they outlive each of them.
pub trait SharedSessions: Send + Sync {
    /// Opens a session, which gets the name `id` if it is new; one that exists, if its opener may touch it.
    fn open(
        &self,
        id: String,
        request: OpenRequest,
    ) -> BoxFuture<'_, Result<Permitted<SessionHandle>, HostError>>;
    /// The session with this name, whichever process has it, if the client may touch it.
    fn find(
        &self,
        name: String,
        client: Arc<Principal>,
    ) -> BoxFuture<'_, Result<Permitted<SessionHandle>, HostError>>;
    /// All open sessions.
    fn list(&self) -> BoxFuture<'_, Vec<SessionRow>>;
    /// The processes that share them and are there, as this one knows.
    fn hosts(&self) -> Vec<HostRow>;
    /// What the sessions that this process runs are doing.
    fn run_here(&self) -> Vec<SessionStatus>;
    /// How many sessions are recorded, as they were read last.
    fn records(&self) -> RecordCounts;
    /// Leaves the sessions of this process to the others.
    fn leave(&self) -> BoxFuture<'_, ()>;
}
