//! What both ends of the sandbox know.

/// What the process is called, and its only argument.
pub(crate) const NAME: &str = "pi-rpc-script";
pub(crate) const ROLE: &str = "run-script";

/// How long a script may compute, in seconds; waiting does not count. Decided here: the original has no limit.
pub(crate) const MAX_COMPUTING: u64 = 60;

/// Characters and items of output. Source: pi 1.6 documentation.
pub(crate) const MAX_OUTPUT: usize = 16 * 1024 * 1024;
pub(crate) const MAX_OUTPUT_ITEMS: usize = 100_000;
