//! Recordings of conversations: their lines read and written, keys redacted, and the dialect that they show.
//!
//! - [`Record`], [`read_record`]: one line of a recording.
//! - [`TraceWriter`]: writes a recording.
//! - [`DialectSample`]: tells the dialect of a conversation by its frames.
//! - [`line_buffer`]: splits bytes that came in pieces into lines.

mod dialect_sample;
pub mod line_buffer;
mod redact;
mod trace;
mod trace_writer;

pub use dialect_sample::{
    DialectEvidence, DialectMismatch, DialectSample, DialectWitness, FoundDialect, MAX_SAMPLED_FRAMES,
};
pub use line_buffer::LONGEST_LINE;
pub use trace::{Body, Direction, Record, TraceError, read_record};
pub use trace_writer::{Meta, TraceWriter};
