//! The oracle: judges any server, any host, any recording, by the machine and the schema that the server runs on.
//!
//! - [`trace`](Record): what a recording is made of, read and written line by line; [`TraceWriter`] writes it.
//! - [`Judge`]: feeds records to the machine and tells what is wrong, each with its rule.
//! - [`Examination`]: a whole conversation: each cause once, with the records around it.
//! - [`JudgeOptions`]: the same for a recording, read line by line.
//! - [`Expectations`]: failures that are known, each with a reason.
//! - [`report`]: what was found out, for people and for machines.
//! - [`rules`]: the rules as people and programs read them.
//! - [`replay`]: a recording as a server.
//! - [`tap`]: between a live host and a live server.
//! - [`random`]: conversations that a seed makes.
//! - [`scenario`]: what a host says to a server to find out how it behaves.
//! - [`live`]: scenarios played with a live server.

mod dialect_sample;
mod embedded;
mod examination;
mod expectations;
mod judge;
mod line_buffer;
pub mod live;
mod preview;
mod process_event;
pub mod random;
mod recent_records;
mod recording;
mod redact;
pub mod replay;
pub mod report;
pub mod rules;
pub mod scenario;
mod server_version;
mod session_file;
pub mod tap;
mod tolerance;
mod trace;
mod trace_writer;

pub use examination::Examination;
pub use expectations::{Expectations, ExpectationsError, ExpectedFailure, expectations_schema};
pub use judge::{Finding, Judge, STALLED, View};
pub use recording::{JudgeOptions, LONGEST_LINE};
pub use trace::{Body, Direction, Record, TraceError, read_record};
pub use trace_writer::{Meta, TraceWriter};
