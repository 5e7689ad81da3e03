//! What was found out, for people and for machines.
//!
//! - [`model`](Report): the report as data; `pi-rpc schema --format report` prints its schema.
//! - [`judgement`](Report::new): from subjects and known failures to outcomes, coverage and sums.
//! - the formats: [for people](Report::to_human), [JUnit](Report::to_junit), [a page](Report::to_page); JSON is the
//!   model itself.

mod human;
mod judgement;
mod junit;
mod model;
mod page;

pub use model::{
    Coverage, NotExercised, Outcome, Quote, Report, ReportedFinding, StaleExpectation, Subject, Summary,
    Tally, TimelineEntry, Tool, UnreadableLine, report_schema,
};
