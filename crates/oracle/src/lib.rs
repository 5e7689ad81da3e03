//! The oracle: judges recordings of servers and hosts by the state machine and the schema that this project's own server runs on.
//!
//! For authors of servers and hosts, and for their CI: [`JudgeOptions::judge`] judges a whole recording, [`Judge`] one record
//! after the other while a conversation goes on.
//!
//! The oracle never starts a process, opens no file and reads no clock: recordings come as readers or records. It does not define
//! the rules: those are in `schema/rules.json` and [`pi_rpc_machine`]. It never corrects a frame. The crate `pi-rpc-conform`
//! plays scenarios and records live conversations for it.
//!
//! - [`JudgeOptions`]: judges a recording.
//! - [`Judge`]: judges records one by one, each [`Finding`] with its rule. [`View`]: the sides that are recorded.
//! - [`WireJudge`]: the same for a connection of one session or of many.
//! - [`Examination`]: judges one conversation, each cause once, with an excerpt.
//! - [`Expectations`]: known failures, each with a reason.
//! - [`report`]: results for people and for programs.
//! - [`rules`]: the table of rules.
//!
//! [Records](pi_rpc_recording::Record) come from a file or from a live conversation. A [`Judge`] feeds them to the machine and
//! returns [`Finding`]s; an [`Examination`] folds repeated findings and adds the records around them; a
//! [`Report`](report::Report) compares all of it with the [`Expectations`] and prints it.
//!
//! ```
//! use pi_rpc_oracle::{Expectations, JudgeOptions, report::{Outcome, Report}};
//! use pi_rpc_protocol::Tier;
//!
//! let recording = r#"{"t":0,"dir":"meta","frame":{"event":"spawn","argv":["pi"],"server":"pi"}}
//! {"t":0,"dir":"in","frame":{"id":"1","type":"abort"}}
//! {"t":2,"dir":"out","frame":{"id":"1","type":"response","command":"abort","success":true}}
//! {"t":3,"dir":"out","frame":{"id":"1","type":"response","command":"abort","success":true}}
//! "#;
//! let judged = JudgeOptions::default().judge("twice.jsonl", recording.as_bytes());
//! let finding = &judged.findings[0];
//! assert_eq!((finding.rule.as_str(), finding.record), ("resp-once", 4));
//! let report = Report::new(vec![judged], Expectations::default(), Tier::Must);
//! assert_eq!(report.subjects[0].outcome, Outcome::Failed);
//! ```

mod examination;
mod expectations;
mod judge;
mod named_member;
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
