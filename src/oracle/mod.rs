//! The oracle: judges servers, hosts and recordings by the state machine and the schema that this server itself runs on.
//!
//! It does not define the rules: those are in `schema/rules.json` and [`machine`](crate::machine).
//!
//! Frames arrive as [`Record`]s, from a file ([`JudgeOptions`]), from a live conversation ([`tap`]) or from a scenario
//! ([`live`]). A [`Judge`] feeds them to the machine and returns [`Finding`]s; an [`Examination`] folds repeated findings
//! and adds the records around them; a [`Report`](report::Report) compares all of it with the [`Expectations`] and prints it.
//!
//! - [`Record`], [`TraceWriter`]: the lines of a recording, read and written.
//! - [`Judge`]: judges records one by one, each finding with its rule.
//! - [`WireJudge`]: the same for a connection of one session or of many.
//! - [`Examination`]: judges one conversation, each cause once, with an excerpt.
//! - [`JudgeOptions`]: judges a recording.
//! - [`DialectSample`]: tells the dialect of a conversation by its frames.
//! - [`Expectations`]: known failures, each with a reason.
//! - [`report`]: results for people and for programs.
//! - [`rules`]: the table of rules.
//! - [`replay`]: plays a recording as a server.
//! - [`tap`]: records and judges between a live host and a live server.
//! - [`random`]: random conversations from a seed, and their shrinking.
//! - [`scenario`]: scenario files.
//! - [`live`]: plays scenarios with a live server.

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
mod shared_wire;
pub mod tap;
mod tolerance;
mod trace;
mod trace_writer;
mod wire_judge;

pub use dialect_sample::{
    DialectEvidence, DialectMismatch, DialectSample, DialectWitness, FoundDialect, MAX_SAMPLED_FRAMES,
};
pub use examination::Examination;
pub use expectations::{Expectations, ExpectationsError, ExpectedFailure, expectations_schema};
pub use judge::{Finding, Judge, STALLED, View};
pub use line_buffer::LONGEST_LINE;
pub use recording::JudgeOptions;
pub use trace::{Body, Direction, Record, TraceError, read_record};
pub use trace_writer::{Meta, TraceWriter};
pub use wire_judge::WireJudge;
