//! Lasting conversations, generated from the input: retries, compactions, several sessions, a disk that fills up,
//! extensions and hosts that answer late, never, twice or wrongly, or act by themselves.

use crate::conversations::one_of;
use pi_rpc_test_kit::Kind;

/// The input is the choices: of the kind, of the dialect, and of the conversation.
pub fn check(data: &[u8]) {
    one_of(&[Kind::Lasting, Kind::Asking, Kind::Acting, Kind::Asking], data);
}
