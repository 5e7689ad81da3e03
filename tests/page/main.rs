//! Pages for people: of a session, of a report, of the protocol; as an HTML parser sees them, and in a real browser.
#![cfg(feature = "serve")]

mod page_support;
#[path = "../report_support/mod.rs"]
mod report_support;

mod hostile;
mod reference;
mod report;
mod session;
