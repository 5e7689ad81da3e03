//! `pi-rpc check` and `--redact`, the real binary.

mod check_command;
mod redacted;
