//! The oracle: judges servers, hosts and recordings by the state machine and the schema that this server itself runs on.
//!
//! It does not define the rules: those are in `schema/rules.json` and [`machine`](pi_rpc_machine).
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

mod examination;
mod expectations;
mod judge;
mod preview;
mod process_event;
mod recent_records;
mod recording;
pub mod report;
pub mod rules;
mod server_version;
mod session_file;
mod shared_wire;
mod tolerance;
mod wire_judge;

pub use examination::Examination;
pub use expectations::{Expectations, ExpectationsError, ExpectedFailure, expectations_schema};
pub use judge::{Finding, Judge, STALLED, View};
pub use recording::JudgeOptions;
pub use wire_judge::WireJudge;
