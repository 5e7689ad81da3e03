//! HTML pages of a session, of a report and of the protocol, as an HTML parser reads them.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, clippy::disallowed_types)] // tests read files
mod page_support;
#[path = "../../../../tests/report_support/mod.rs"]
mod report_support;

mod hostile;
mod reference;
mod report;
mod session;
