//! Reports of judged scenarios and recordings, for people and for programs.
//!
//! An [`Examination`](crate::Examination) fills one [`Subject`] for each scenario or recording; [`Report::new`]
//! compares their findings with the known failures and adds outcomes, coverage and sums. The formats are
//! [text](Report::to_human), [JUnit](Report::to_junit), [an HTML page](Report::to_page), and JSON, which is the serialized
//! [`Report`]; `pi-rpc schema --format report` prints its schema.

mod human;
mod judgement;
mod junit;
mod model;
mod page;
mod provenance;
mod source;
mod whole_frame;

pub use model::{
    Coverage, MAX_COMMANDS, NotExercised, Outcome, Provenance, Quote, Report, ReportedFinding,
    ServerIdentity, StaleExpectation, Subject, Summary, Tally, TimelineEntry, Tool, UnreadableLine,
    report_schema,
};
pub use source::Source;
