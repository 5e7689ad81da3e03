//! `pi-rpc --version`.

use super::VERSION;
use pi_rpc_protocol::Dialect;

/// The commit that the program was built from; `None`: a build for development, or of sources without a repository.
pub const COMMIT: Option<&str> = option_env!("PI_RPC_COMMIT");

/// The system that the program was built for.
pub const TARGET: &str = env!("PI_RPC_TARGET");

/// The version, and below it the commit, the system and the dialects with their versions. The first line is the bare number,
/// as pi prints it.
pub fn details() -> String {
    let commit = COMMIT.unwrap_or("unknown");
    format!("{VERSION}\ncommit    {commit}\ntarget    {TARGET}\ndialects  {}", dialects().join(", "))
}

/// The dialects, each with its version.
pub fn dialects() -> Vec<String> {
    Dialect::ALL.iter().map(|dialect| format!("{dialect} {}", dialect.record().version)).collect()
}
