//! Builds a report from subjects and known failures: outcomes, coverage, sums.

use super::{
    Coverage, NotExercised, Outcome, Provenance, Report, ReportedFinding, StaleExpectation, Subject, Summary,
    Tally, Tool,
};
use crate::{Expectations, rules::describe_need};
use pi_rpc_machine::{Difference, Rule};
use pi_rpc_protocol::{Area, Need, Tier};

impl Report {
    /// Builds the report. Findings of tiers below `least` are left out and known ones are marked; a subject that passed so
    /// far fails if it has an unknown finding of tier MUST or SHOULD.
    pub fn new(mut subjects: Vec<Subject>, mut expectations: Expectations, least: Tier) -> Self {
        expectations.retain_tiers(least, &subjects);
        let failures = expectations.failures();
        let mut used = vec![false; failures.len()];
        for subject in &mut subjects {
            subject.findings.retain(|found| found.tier <= least);
            for found in &mut subject.findings {
                let mut explaining = failures.iter().zip(&mut used);
                if let Some((failure, used)) =
                    explaining.find(|(failure, _)| failure.explains(&subject.name, found))
                {
                    found.known = Some(failure.why.clone());
                    *used = true;
                }
            }
            let went_well = matches!(subject.outcome, Outcome::Passed | Outcome::NotExercised);
            if went_well && subject.findings.iter().any(ReportedFinding::fails) {
                subject.outcome = Outcome::Failed;
            }
        }
        let unused = failures.iter().zip(used).filter(|(_, used)| !used);
        let stale = unused.map(|(failure, _)| StaleExpectation {
            rule: failure.rule,
            trace: failure.trace().to_owned(),
            kind: failure.kind.clone(),
            why: failure.why.clone(),
        });
        let stale = stale.collect();
        let coverage = Coverage::of(&subjects);
        let summary = Summary::of(&subjects, &coverage);
        let tool = Tool { name: "pi-rpc", version: env!("CARGO_PKG_VERSION") };
        let provenance = Provenance::of(&subjects, least);
        Self { tool, provenance, subjects, coverage, stale, summary }
    }

    /// The exit status: 3 if a subject could not be judged, 1 if one failed or a known failure is stale, else 0.
    pub fn status(&self) -> u8 {
        match () {
            () if self.summary.errors > 0 => 3,
            () if self.summary.failed > 0 || !self.stale.is_empty() => 1,
            () => 0,
        }
    }

    /// The strictest tier of a rule in the dialects of the subjects.
    pub fn tier(&self, rule: Rule) -> Option<Tier> {
        tier(&self.subjects, rule)
    }
}

impl ReportedFinding {
    /// Whether the finding makes its subject fail.
    pub fn fails(&self) -> bool {
        self.known.is_none() && self.tier != Tier::Observed
    }

    /// What the rule expected, with the differing member if there is one.
    pub fn expectation(&self) -> String {
        Difference::append_to(&self.expected, Some(&self.difference))
    }
}

impl Subject {
    /// The dialect, with the version if one is known.
    pub fn dialect_version(&self) -> String {
        let version = self.version.as_ref().map(|version| format!(" ({version})")).unwrap_or_default();
        format!("{}{version}", self.dialect)
    }

    /// Whether `rule` applies to the dialect, and the recording shows what the rule needs.
    pub fn can_test(&self, rule: Rule) -> bool {
        rule.tier(self.dialect.base()).is_some() && self.unseen(rule).next().is_none()
    }

    /// The needs of `rule` that the recording does not show.
    fn unseen(&self, rule: Rule) -> impl Iterator<Item = Need> {
        rule.about().needs.iter().copied().filter(|need| !self.sees.contains(need))
    }
}

impl Coverage {
    fn of(subjects: &[Subject]) -> Self {
        let mut coverage = Self::default();
        for rule in Rule::ALL.into_iter().filter(|rule| tier(subjects, *rule).is_some()) {
            let exercised = subjects.iter().any(|subject| subject.exercised.contains(&rule));
            let applicable = exercised || subjects.iter().any(|subject| subject.can_test(rule));
            coverage.applicable += usize::from(applicable);
            let unseen = subjects.iter().flat_map(|subject| subject.unseen(rule)).min();
            let reason = match applicable {
                true => "not exercised by any conversation".to_owned(),
                false => format!("needs {}", unseen.map_or("what cannot be seen here", describe_need)),
            };
            match exercised {
                true => coverage.exercised.push(rule),
                false => coverage.not_exercised.push(NotExercised { rule, applicable, reason }),
            }
        }
        coverage
    }

    /// Whether `rule` could have been exercised.
    fn is_applicable(&self, rule: Rule) -> bool {
        self.exercised.contains(&rule)
            || self.not_exercised.iter().any(|not| not.rule == rule && not.applicable)
    }
}

impl Summary {
    fn of(subjects: &[Subject], coverage: &Coverage) -> Self {
        let with = |outcome| subjects.iter().filter(|subject| subject.outcome == outcome).count();
        let tally = |name, is_in: &dyn Fn(Rule) -> bool| tally(name, is_in, subjects, coverage);
        Self {
            passed: with(Outcome::Passed),
            failed: with(Outcome::Failed),
            not_supported: with(Outcome::NotSupported),
            not_exercised: with(Outcome::NotExercised),
            errors: with(Outcome::Error),
            tiers: Tier::ALL.map(|of| tally(of.as_str(), &|rule| tier(subjects, rule) == Some(of))).to_vec(),
            areas: Area::ALL.map(|of| tally(of.as_str(), &|rule| rule.about().area == of)).to_vec(),
        }
    }
}

fn tally(
    name: &'static str,
    is_in: &dyn Fn(Rule) -> bool,
    subjects: &[Subject],
    coverage: &Coverage,
) -> Tally {
    let rules: Vec<Rule> = Rule::ALL.into_iter().filter(|rule| is_in(*rule)).collect();
    let found = || subjects.iter().flat_map(|s| &s.findings).filter(|found| rules.contains(&found.rule));
    let count = |holds: &dyn Fn(Rule) -> bool| rules.iter().filter(|rule| holds(**rule)).count();
    Tally {
        name,
        applicable: count(&|rule| coverage.is_applicable(rule)),
        exercised: count(&|rule| coverage.exercised.contains(&rule)),
        broken: count(&|rule| found().any(|found| found.rule == rule)),
        findings: found().filter(|found| found.known.is_none()).count(),
        known: found().filter(|found| found.known.is_some()).count(),
    }
}

fn tier(subjects: &[Subject], rule: Rule) -> Option<Tier> {
    subjects.iter().filter_map(|subject| rule.tier(subject.dialect.base())).min()
}
