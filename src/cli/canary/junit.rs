//! The outcomes as JUnit XML: a case for each server.

use super::{Outcome, details};
use pi_rpc_files::harmless::{harmless, harmless_lines};
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

/// The report.
///
/// # Errors
///
/// When the XML writer fails, which cannot happen in memory.
pub fn text(outcomes: &[Outcome]) -> Result<String, SerializeError> {
    let mut suite = TestSuite::new("canary");
    suite.add_test_cases(outcomes.iter().map(case));
    let mut report = Report::new("pi-rpc canary");
    report.add_test_suite(suite);
    report.to_string()
}

fn case(outcome: &Outcome) -> TestCase {
    let mut status = TestCaseStatus::success();
    if !outcome.has_passed() {
        status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(harmless(&outcome.reason()));
        status.set_description(harmless_lines(&details(outcome)));
    }
    let mut case = TestCase::new(harmless(&outcome.subject.name), status);
    case.set_classname("canary").set_time(outcome.took);
    case
}
