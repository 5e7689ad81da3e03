//! Recordings of conversations: their lines read and written, texts redacted, and the dialect that they show.
//!
//! For programs that record what a host and a server write, or read such recordings: JSON Lines, one line of either side each,
//! with its time.
//!
//! This crate opens no file and reads no clock: it writes to any [`std::io::Write`], and times come with the records. It judges
//! nothing: that is done by the crate `pi-rpc-oracle`.
//!
//! - [`Record`], [`read_record`]: one line of a recording. [`Direction`], [`Body`]: who wrote the line, and its content.
//! - [`TraceWriter`]: writes a recording; redacted for one to be shared. [`Meta`]: events of the process.
//! - [`DialectSample`]: tells the dialect of a conversation by its frames.
//! - [`line_buffer`]: splits bytes that came in pieces into lines.
//!
//! ```
//! use pi_rpc_recording::{DialectSample, Direction, Record, TraceWriter, read_record};
//!
//! let mut writer = TraceWriter::new(Vec::new()).redacting(true);
//! let prompt = br#"{"id":"1","type":"prompt","message":"My secret plan"}"#;
//! writer.write(&Record::line(12.5, Direction::In, prompt))?;
//! let text = String::from_utf8(writer.into_inner())?;
//! assert_eq!(text, "{\"t\":12.5,\"dir\":\"in\",\"frame\":{\"id\":\"1\",\"type\":\"prompt\",\"message\":\"xx xxxxxx xxxx\"}}\n");
//!
//! let record = read_record(text.trim_end())?;
//! let mut sample = DialectSample::new();
//! sample.add(1, &record);
//! assert_eq!((record.direction, sample.found().dialect.as_str()), (Direction::In, "pi"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
