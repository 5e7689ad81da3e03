//! The report as JUnit XML: a suite for each subject with a case for each exercised rule, and one suite for the rules that
//! were not exercised.

use super::{Coverage, NotExercised, Outcome, Quote, Report, ReportedFinding, StaleExpectation, Subject};
use pi_rpc_files::harmless::harmless;
use pi_rpc_machine::Rule;
use quick_junit::{NonSuccessKind, SerializeError, TestCase, TestCaseStatus, TestSuite};
use std::time::Duration;

impl Report {
    /// The report as JUnit XML. Known failures pass; rules that were not exercised are skipped.
    ///
    /// # Errors
    ///
    /// When the XML writer fails, which cannot happen in memory.
    pub fn to_junit(&self) -> Result<String, SerializeError> {
        let mut junit = quick_junit::Report::new(self.tool.name);
        junit.add_test_suites(self.subjects.iter().map(Subject::suite));
        junit.add_test_suite(self.coverage.suite());
        if !self.stale.is_empty() {
            let mut suite = TestSuite::new("expectations");
            suite.add_test_cases(self.stale.iter().map(StaleExpectation::case));
            junit.add_test_suite(suite);
        }
        junit.to_string()
    }
}

impl Subject {
    fn suite(&self) -> TestSuite {
        let mut suite = TestSuite::new(harmless(&self.name));
        // A recording may have any times.
        suite.set_time(Duration::try_from_secs_f64(self.duration_ms / 1000.0).unwrap_or_default());
        suite.add_test_case(self.case());
        suite.add_test_cases(self.exercised.iter().map(|rule| self.case_of(*rule)));
        suite
    }

    /// The case for the subject as a whole: its outcome and reason.
    fn case(&self) -> TestCase {
        let reason = harmless(self.reason.as_deref().unwrap_or_default());
        let mut status = match self.outcome {
            Outcome::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
            Outcome::Failed if self.reason.is_some() => TestCaseStatus::non_success(NonSuccessKind::Failure),
            Outcome::NotSupported | Outcome::NotExercised => TestCaseStatus::skipped(),
            Outcome::Passed | Outcome::Failed => TestCaseStatus::success(),
        };
        if !reason.is_empty() {
            status.set_message(reason);
        }
        let lines =
            self.unread.iter().map(|unread| format!("{}:{}: {}", self.name, unread.line, unread.reason));
        let lines = lines.map(|line| harmless(&line) + "\n");
        let mut case = TestCase::new("conversation", status);
        case.set_classname(harmless(&self.name));
        if !self.unread.is_empty() {
            case.set_system_err(lines.collect::<String>());
        }
        case
    }

    fn case_of(&self, rule: Rule) -> TestCase {
        let found: Vec<&ReportedFinding> = self.findings.iter().filter(|found| found.rule == rule).collect();
        let failing = found.iter().find(|found| found.fails());
        let mut status = match failing {
            Some(_) => TestCaseStatus::non_success(NonSuccessKind::Failure),
            None => TestCaseStatus::success(),
        };
        if let Some(failing) = failing {
            status.set_type(failing.tier.as_str());
            status.set_message(harmless(&format!(
                "line {}: expected {}",
                failing.record,
                failing.expectation()
            )));
            status.set_description(findings_text(&found));
        }
        let mut case = TestCase::new(rule.as_str(), status);
        case.set_classname(harmless(&self.name));
        if failing.is_none() && !found.is_empty() {
            case.set_system_out(findings_text(&found));
        }
        case
    }
}

impl Coverage {
    fn suite(&self) -> TestSuite {
        let mut suite = TestSuite::new("not exercised");
        let share = format!("{} of {} applicable", self.exercised.len(), self.applicable);
        suite.add_property(("rules exercised", &*share));
        suite.add_test_cases(self.not_exercised.iter().filter(|not| not.applicable).map(NotExercised::case));
        suite
    }
}

impl NotExercised {
    fn case(&self) -> TestCase {
        let mut status = TestCaseStatus::skipped();
        status.set_message(&*self.reason);
        TestCase::new(self.rule.as_str(), status)
    }
}

impl StaleExpectation {
    fn case(&self) -> TestCase {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(harmless(&format!("an expected failure did not occur: {}", self.why)));
        TestCase::new(harmless(&format!("{} in {}", self.rule, self.trace)), status)
    }
}

/// The findings of one rule as text.
fn findings_text(found: &[&ReportedFinding]) -> String {
    let mut text = String::new();
    for found in found {
        let ReportedFinding { tier, rule, record, kind, state, count, .. } = found;
        let session = found.session.as_ref().map(|it| format!(" of session {it}")).unwrap_or_default();
        let expected = found.expectation();
        text += &harmless(&format!(
            "{tier} {rule}, line {record}, {kind} in {state}{session}, {count} times: expected {expected}"
        ));
        text.push('\n');
        let sources: Vec<String> = found.sources.iter().map(ToString::to_string).collect();
        text += &format!("rule: {} ({})\n", found.sentence, sources.join("; "));
        if let Some(why) = &found.known {
            text += &format!("known: {}\n", harmless(why));
        }
        for quote in &found.excerpt {
            let mark = mark(quote);
            text += &format!("{mark} {} {}\n", quote.record, quote.text);
        }
    }
    text
}

/// The mark of an excerpt line: `>` for the record of the finding, `*` for its cause.
const fn mark(quote: &Quote) -> char {
    match (quote.marked, quote.cause) {
        (true, _) => '>',
        (false, true) => '*',
        (false, false) => ' ',
    }
}
