//! The report as text for a terminal: the findings of each subject, the sums, and what to fix first.

use super::{Outcome, Report, ReportedFinding, Subject, Tally};
use anstyle::{AnsiColor, Style};
use pi_rpc_files::harmless::harmless;
use pi_rpc_machine::{Difference, Rule};
use pi_rpc_protocol::{Need, Tier};
use pi_rpc_recording::Direction;
use std::fmt::{self, Display, Write as _};

/// The number of rules named at the end as the first to fix.
const FIRST: usize = 3;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const ODD: Style = AnsiColor::Yellow.on_default();

impl Report {
    /// The report as text with ANSI colours, which the caller strips where they do not belong.
    pub fn to_human(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write(&self, to: &mut String) -> fmt::Result {
        for subject in &self.subjects {
            subject.write(to)?;
        }
        self.write_sums(to)?;
        self.write_stale(to)?;
        self.write_first(to)
    }

    fn write_sums(&self, to: &mut String) -> fmt::Result {
        if !to.ends_with("\n\n") {
            writeln!(to)?;
        }
        writeln!(to, "{BOLD}{}{BOLD:#}", self.counts())?;
        writeln!(to, "  {DIM}rules       exercised  broken  findings  known{DIM:#}")?;
        for tally in self.summary.tiers.iter().chain(&self.summary.areas).filter(|tally| tally.applicable > 0)
        {
            tally.write(to)?;
        }
        let Self { coverage, .. } = self;
        writeln!(to, "rules exercised: {} of {} applicable", coverage.exercised.len(), coverage.applicable)
    }

    /// The number of subjects by outcome, as a sentence.
    pub(super) fn counts(&self) -> String {
        let sums = &self.summary;
        let counts = [
            (sums.passed, "passed"),
            (sums.failed, "failed"),
            (sums.not_supported, "not supported"),
            (sums.not_exercised, "not exercised"),
            (sums.errors, "could not be judged"),
        ];
        let outcomes = counts.into_iter().filter(|(count, _)| *count > 0);
        let outcomes: Vec<String> = outcomes.map(|(count, outcome)| format!("{count} {outcome}")).collect();
        format!("{} judged: {}", self.subjects.len(), outcomes.join(", "))
    }

    fn write_stale(&self, to: &mut String) -> fmt::Result {
        if !self.stale.is_empty() {
            writeln!(to, "\n{BAD}Expected failures that did not occur{BAD:#}")?;
        }
        for stale in &self.stale {
            let kind = stale.kind.as_ref().map(|kind| harmless(&format!(", {kind}"))).unwrap_or_default();
            writeln!(to, "  {} in {}{kind}: {}", stale.rule, harmless(&stale.trace), harmless(&stale.why))?;
        }
        Ok(())
    }

    fn write_first(&self, to: &mut String) -> fmt::Result {
        let first = self.rules_to_fix();
        if !first.is_empty() {
            writeln!(to, "\n{BOLD}Fix first:{BOLD:#}")?;
        }
        for (number, (tier, rule, subjects)) in first.into_iter().take(FIRST).enumerate() {
            let of = self.subjects.len();
            let number = number + 1;
            let about = rule.about();
            writeln!(
                to,
                "  {number}. {} {BOLD}{rule}{BOLD:#}, in {subjects} of {of}: {}",
                ColoredTier(tier),
                about.sentence
            )?;
            writeln!(to, "     {DIM}{}{DIM:#}", about.sources.join("; "))?;
        }
        Ok(())
    }

    /// The broken rules that make subjects fail, with their tier and the number of those subjects; the gravest first.
    pub fn rules_to_fix(&self) -> Vec<(Tier, Rule, usize)> {
        let broken = |subject: &&Subject, rule| subject.findings.iter().any(|f| f.rule == rule && f.fails());
        let mut rules: Vec<(Tier, Rule, usize)> = Rule::ALL
            .into_iter()
            .filter_map(|rule| {
                let subjects = self.subjects.iter().filter(|subject| broken(subject, rule)).count();
                (subjects > 0).then_some((self.tier(rule)?, rule, subjects))
            })
            .collect();
        rules.sort_by_key(|(tier, rule, subjects)| (*tier, usize::MAX - subjects, *rule));
        rules
    }
}

impl Subject {
    fn write(&self, to: &mut String) -> fmt::Result {
        let (style, outcome) = match self.outcome {
            Outcome::Passed => (GOOD, "passed"),
            Outcome::Failed => (BAD, "FAILED"),
            Outcome::NotSupported => (ODD, "not supported"),
            Outcome::NotExercised => (ODD, "not exercised"),
            Outcome::Error => (BAD, "ERROR"),
        };
        let Self { frames_in, frames_out, .. } = self;
        let dialect = self.dialect_version();
        write!(to, "{style}{outcome}{style:#} {BOLD}{}{BOLD:#} ", harmless(&self.name))?;
        writeln!(to, "{DIM}{dialect}, {frames_in} in, {frames_out} out{DIM:#}")?;
        if let Some(reason) = &self.reason {
            writeln!(to, "  {}", harmless(reason))?;
        }
        for unread in &self.unread {
            writeln!(to, "  {}:{}: {}", harmless(&self.name), unread.line, harmless(&unread.reason))?;
        }
        for remark in &self.remarks {
            writeln!(to, "  {}", harmless(remark))?;
        }
        if !self.sees.contains(&Need::Host) {
            writeln!(to, "  Only what the server wrote was judged: what the host wrote is not there.")?;
        }
        for found in &self.findings {
            writeln!(to)?;
            found.write(to)?;
        }
        if self.findings.is_empty() { Ok(()) } else { writeln!(to) }
    }
}

impl ReportedFinding {
    fn write(&self, to: &mut String) -> fmt::Result {
        let Self { rule, tier, record, kind, state, .. } = self;
        let session =
            self.session.as_ref().map(|it| format!(" of session {}", harmless(it))).unwrap_or_default();
        write!(
            to,
            "  {} {BOLD}{rule}{BOLD:#} line {record}, {kind} in {state}{session}",
            ColoredTier(*tier)
        )?;
        match self.count {
            1 => writeln!(to)?,
            count => writeln!(to, ", {count} times")?,
        }
        let about = rule.about();
        writeln!(to, "      rule: {} {DIM}({}){DIM:#}", about.sentence, about.sources.join("; "))?;
        writeln!(to, "      expected: {}", harmless(&self.expected))?;
        let Difference { pointer, expected, got } = &self.difference;
        if !pointer.is_empty() {
            writeln!(to, "      at {}:", harmless(pointer))?;
        }
        if *expected != self.expected {
            writeln!(to, "        expected {}", harmless(expected))?;
        }
        writeln!(to, "        got      {}", harmless(got))?;
        for other in &self.also_expected {
            writeln!(to, "      at another time: {}", harmless(other))?;
        }
        if let Some(why) = &self.known {
            writeln!(to, "      {GOOD}known:{GOOD:#} {}", harmless(why))?;
        }
        let width = self.excerpt.last().map_or(1, |quote| quote.record.to_string().len());
        for quote in &self.excerpt {
            let (mark, style) = match (quote.marked, quote.cause) {
                (true, _) => (">", BOLD),
                (false, true) => ("*", BOLD),
                (false, false) => (" ", DIM),
            };
            let direction = match quote.direction {
                Direction::In => "in  ",
                Direction::Out => "out ",
                Direction::Err => "err ",
                Direction::Meta => "meta",
            };
            writeln!(to, "    {mark} {style}{:width$} {direction} {}{style:#}", quote.record, quote.text)?;
        }
        Ok(())
    }
}

impl Tally {
    fn write(&self, to: &mut String) -> fmt::Result {
        let Self { name, applicable, exercised, broken, findings, known } = self;
        let exercised = format!("{exercised}/{applicable}");
        writeln!(to, "  {name:<10} {exercised:>10} {broken:>7} {findings:>9} {known:>6}")
    }
}

/// A tier in its colour.
struct ColoredTier(Tier);

impl Display for ColoredTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = match self.0 {
            Tier::Must => BAD,
            Tier::Should => ODD,
            Tier::Observed => DIM,
        };
        write!(f, "{style}{}{style:#}", self.0)
    }
}
