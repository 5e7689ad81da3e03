//! The place of a client among the strangers, as handlers of requests get it from any listener.

use crate::{tls::TlsListener, unix_clients::UnixClients};
use axum::{
    extract::connect_info::Connected,
    serve::{IncomingStream, Listener},
};
use pi_rpc_guarded_listener::{GuardedListener, Place};

/// The place of the connection that a request came on.
#[derive(Clone)]
pub struct ClientPlace(pub Place);

impl<L: Listener> Connected<IncomingStream<'_, GuardedListener<L>>> for ClientPlace {
    fn connect_info(stream: IncomingStream<'_, GuardedListener<L>>) -> Self {
        Self(stream.io().place().clone())
    }
}

impl Connected<IncomingStream<'_, TlsListener>> for ClientPlace {
    fn connect_info(stream: IncomingStream<'_, TlsListener>) -> Self {
        Self(stream.io().get_ref().0.place().clone())
    }
}

impl Connected<IncomingStream<'_, UnixClients>> for ClientPlace {
    fn connect_info(stream: IncomingStream<'_, UnixClients>) -> Self {
        Self(stream.io().place().clone())
    }
}
