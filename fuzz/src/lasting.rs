//! A conversation that lasts, and in which everything may ask back, chosen by the input: retries, compactions, sessions one
//! after another, a disk that fills up, extensions and hosts that answer, late, never, twice or wrongly, or act themselves.

use crate::conversations::one_of;
use pi_rpc_test_kit::Kind;

/// Choices: of the kind and the dialect, then of the conversation.
pub fn hold(data: &[u8]) {
    one_of(&[Kind::Lasting, Kind::Asking, Kind::Acting, Kind::Asking], data);
}
