//! A pipe to a session of a host: stdin and stdout here, the session there.
//!
//! Lines pass unchanged in both directions. When the connection breaks, it is made again: the host sends what was missed,
//! and lines that it has not confirmed are sent once more; it counts them, so that none is handled twice. What the client
//! of the pipe sees is a server whose output paused.

mod address;
mod connection;
mod open_run;
mod pipe;
mod sent_lines;
mod status;
mod tls;

pub use address::{HostAddress, SessionAddress};
pub use connection::{ConnectError, Connection, MAX_MESSAGE, Received};
pub use pipe::{AttachError, Options, attach};
pub use sent_lines::SentLines;
pub use status::read_status;
pub use tls::Authorities;
