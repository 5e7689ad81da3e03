//! Judges one conversation from its first record to its last, and collects the findings: each cause once, with an excerpt.

use super::{
    Finding, View, WireJudge,
    preview::{Preview, WholeBudget},
    recent_records::RecentRecords,
    report::{Outcome, Quote, ReportedFinding, ServerIdentity, Source, Subject, TimelineEntry},
};
use pi_rpc_machine::{Difference, Kind, Rule, State, Violation};
use pi_rpc_protocol::{Dialect, DialectVersion, FlowState, Need, Outbound, Side, read};
use pi_rpc_recording::{Direction, Record};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{HashMap, VecDeque};

/// Judges one conversation and collects what a report shows of it. Memory does not grow with the conversation.
pub struct Examination {
    judge: WireJudge,
    subject: Subject,
    began: Option<f64>,
    /// The latest records, the current one last.
    before: VecDeque<Preview>,
    /// Earlier records that may be the cause of a finding.
    recent_records: RecentRecords,
    /// Findings whose excerpt is not complete: their index, and the number of records still to add.
    waiting: Vec<(usize, usize)>,
    /// The index of the finding of each cause.
    causes: HashMap<(Rule, Kind, FlowState, Option<String>), usize>,
    keeps_timeline: bool,
    /// What the timeline, and excerpts behind its end, may still keep of whole records.
    whole_in_timeline: WholeBudget,
    whole_in_excerpts: WholeBudget,
    /// The exit status of the last process.
    status: Option<i64>,
    /// Whether the last record was judged.
    has_ended: bool,
}

/// Records that an excerpt shows before the record of the finding.
const BEFORE: usize = 3;
/// Records that an excerpt shows after the record of the finding.
const AFTER: usize = 2;
/// The most records in a timeline.
const MAX_TIMELINE: usize = 5000;
/// Bytes of whole records in a timeline.
const MAX_WHOLE_TIMELINE: usize = 16 << 20;
/// Bytes of whole records in the excerpts of findings behind the end of the timeline.
const MAX_WHOLE_EXCERPTS: usize = 4 << 20;
/// The most words of a server's command line that are kept.
const MAX_WORDS: usize = 64;
/// The most further expectations that are kept for one cause.
const MAX_ALSO_EXPECTED: usize = 4;

impl Examination {
    /// Starts the examination of the scenario or recording called `name`.
    pub fn new(name: impl Into<String>, spoken: impl Into<DialectVersion>, view: View) -> Self {
        let spoken = spoken.into();
        let sees = match view {
            View::Both => vec![Need::Host, Need::Clock],
            View::Server => Vec::new(),
        };
        let subject = Subject {
            name: name.into(),
            outcome: Outcome::Passed,
            reason: None,
            dialect: spoken.dialect,
            version: spoken.version.map(|version| version.to_string()),
            sees,
            processes: 0,
            frames_in: 0,
            frames_out: 0,
            duration_ms: 0.0,
            findings: Vec::new(),
            exercised: Vec::new(),
            unread: Vec::new(),
            remarks: Vec::new(),
            server: ServerIdentity::default(),
            timeline: Vec::new(),
            left_out: 0,
            shortened: 0,
        };
        Self {
            judge: WireJudge::new(spoken, view),
            subject,
            began: None,
            before: VecDeque::with_capacity(BEFORE + 1),
            recent_records: RecentRecords::default(),
            waiting: Vec::new(),
            causes: HashMap::new(),
            keeps_timeline: false,
            whole_in_timeline: WholeBudget(MAX_WHOLE_TIMELINE),
            whole_in_excerpts: WholeBudget(MAX_WHOLE_EXCERPTS),
            status: None,
            has_ended: false,
        }
    }

    /// Keeps a timeline: the first 5,000 records, with the state after each; whole up to 16 MiB, then shortened.
    pub const fn with_timeline(mut self) -> Self {
        self.keeps_timeline = true;
        self
    }

    /// Declares that the conversation shows what rules with this need look at. [`Need::End`] is noticed by itself.
    pub fn add_need(&mut self, need: Need) {
        if !self.subject.sees.contains(&need) {
            self.subject.sees.push(need);
        }
    }

    /// The state after the last record.
    pub fn state(&self) -> State {
        self.judge.state()
    }

    /// Judges the record with this number (its line in the recording), and returns all its findings, repeated ones too.
    pub fn observe(&mut self, number: u64, record: &Record<'_>) -> Vec<Finding> {
        self.count_frame(record);
        let mut findings = self.judge.observe(record);
        if self.judge.is_shared() {
            self.add_need(Need::Sessions);
        }
        self.quote_after(number, record);
        self.remember(number, record);
        self.recent_records.add(number, record, self.judge.position(), self.judge.is_last_frame_update());
        let mut places = Vec::new();
        for finding in &mut findings {
            finding.record = number;
            places.push(self.add_finding(finding));
        }
        if self.keeps_timeline {
            self.add_to_timeline(number, record, places);
        }
        findings
    }

    /// Ends the conversation. The outcome is `Passed` or `Error`; whether the findings make it fail, the report decides.
    pub fn finish(mut self) -> Subject {
        let last = self.before.back().map(Preview::record);
        self.has_ended = true;
        for mut finding in self.judge.finish() {
            finding.record = last.unwrap_or(finding.record);
            let place = self.add_finding(&finding);
            if let Some(moment) = self.subject.timeline.last_mut() {
                moment.findings.push(place);
            }
        }
        if let Some(version) = self.judge.older_than() {
            self.subject.version.get_or_insert_with(|| format!("before {version}"));
        }
        if self.judge.is_server_silent() {
            self.discard_server_findings();
        }
        let mut exercised = self.judge.exercised();
        self.subject.findings.iter().for_each(|found| exercised.insert(found.rule));
        self.subject.exercised = exercised.iter().collect();
        self.subject
    }

    /// Turns the subject into an error, without findings about the server: no program that speaks the protocol was there.
    fn discard_server_findings(&mut self) {
        let what = match self.subject.frames_out {
            0 => "the server never wrote anything",
            _ => "nothing that the server wrote is a frame of the protocol",
        };
        let reason = match self.status {
            Some(status) => format!("{what}, and ended with status {status}"),
            None => what.to_owned(),
        };
        (self.subject.outcome, self.subject.reason) = (Outcome::Error, Some(reason));
        self.subject.findings.retain(|found| found.rule.about().side == Side::Host);
        self.subject.timeline.iter_mut().for_each(|moment| moment.findings.clear());
    }

    fn count_frame(&mut self, record: &Record<'_>) {
        let began = *self.began.get_or_insert(record.t);
        self.subject.duration_ms = record.t - began;
        match record.direction {
            Direction::In => self.subject.frames_in += 1,
            Direction::Out => {
                self.subject.frames_out += 1;
                if self.subject.frames_out == 1 {
                    self.subject.server.version = greeted_version(record, self.subject.dialect);
                }
            }
            Direction::Err => {}
            Direction::Meta => match meta(record) {
                Some(MetaFields { event, argv, server, .. }) if event == "spawn" => {
                    self.subject.processes += 1;
                    if self.subject.processes == 1 {
                        self.subject.server = spawned(&argv, &server);
                    }
                }
                Some(MetaFields { event, code, .. }) if event == "exit" => {
                    self.status = code;
                    self.add_need(Need::End);
                }
                _ => {}
            },
        }
    }

    /// Adds the record to the latest ones, reusing the buffers of the oldest.
    fn remember(&mut self, number: u64, record: &Record<'_>) {
        let mut preview = match self.before.len() > BEFORE {
            true => self.before.pop_front().unwrap_or_default(),
            false => Preview::default().keeping_whole(self.keeps_timeline),
        };
        preview.set(number, record);
        self.before.push_back(preview);
    }

    /// Adds the record to the excerpts that are not complete.
    fn quote_after(&mut self, number: u64, record: &Record<'_>) {
        if self.waiting.is_empty() {
            return;
        }
        let mut preview = Preview::default().keeping_whole(self.is_timeline_full());
        preview.set(number, record);
        for (place, wants) in &mut self.waiting {
            if let Some(found) = self.subject.findings.get_mut(*place) {
                let whole = self.whole_in_excerpts.take(&preview);
                found.excerpt.push(Quote { whole, ..preview.quote(false) });
            }
            *wants -= 1;
        }
        self.waiting.retain(|(_, wants)| *wants > 0);
    }

    /// Adds a finding, or counts it if its cause is known. Returns its index in the subject's list.
    fn add_finding(&mut self, finding: &Finding) -> usize {
        let violation = &finding.violation;
        let cause = (violation.rule, violation.kind, violation.state.flow, finding.session.clone());
        let place = *self.causes.entry(cause).or_insert(self.subject.findings.len());
        if let Some(found) = self.subject.findings.get_mut(place) {
            found.count += 1;
            let known =
                found.expected == violation.expected || found.also_expected.contains(&violation.expected);
            if !known && found.also_expected.len() < MAX_ALSO_EXPECTED {
                found.also_expected.push(violation.expected.clone());
            }
            return place;
        }
        let excerpt = self.excerpt(finding);
        self.subject.findings.push(ReportedFinding {
            rule: violation.rule,
            tier: violation.tier,
            sentence: violation.rule.about().sentence,
            sources: Source::of(violation.rule),
            count: 1,
            record: finding.record,
            t: finding.t,
            process: finding.process,
            session: finding.session.clone(),
            kind: violation.kind.to_string(),
            state: violation.state.to_string(),
            expected: violation.expected.clone(),
            difference: violation.difference.clone().unwrap_or_else(|| self.whole_record(violation)),
            also_expected: Vec::new(),
            known: None,
            excerpt,
        });
        self.waiting.push((place, AFTER));
        place
    }

    /// What stands where something else was expected: the record of the finding, or the end of the recording.
    fn whole_record(&self, violation: &Violation) -> Difference {
        let got = match self.has_ended {
            true => "nothing more: the recording ends here".to_owned(),
            false => self.before.back().map(Preview::text).unwrap_or_default(),
        };
        Difference { pointer: String::new(), expected: violation.expected.clone(), got }
    }

    /// The latest records, preceded by the one that caused the finding.
    fn excerpt(&mut self, finding: &Finding) -> Vec<Quote> {
        let last = self.before.len().saturating_sub(1);
        let keeps_whole = self.is_timeline_full();
        let budget = &mut self.whole_in_excerpts;
        let quotes = self.before.iter().enumerate().map(|(at, preview)| Quote {
            whole: if keeps_whole { budget.take(preview) } else { None },
            ..preview.quote(at == last)
        });
        let mut quotes: Vec<Quote> = quotes.collect();
        let frame = finding.violation.cause;
        if let Some(cause) = frame.and_then(|frame| self.recent_records.quote((finding.lane, frame))) {
            match quotes.iter_mut().find(|quote| quote.record == cause.record) {
                Some(quote) => quote.cause = !quote.marked,
                None => quotes.insert(0, cause),
            }
        }
        quotes
    }

    /// Whether further records are shown by excerpts alone.
    const fn is_timeline_full(&self) -> bool {
        self.keeps_timeline && self.subject.timeline.len() == MAX_TIMELINE
    }

    fn add_to_timeline(&mut self, number: u64, record: &Record<'_>, findings: Vec<usize>) {
        if self.is_timeline_full() {
            self.subject.left_out += 1;
            return;
        }
        let whole = self.before.back().and_then(|preview| self.whole_in_timeline.take(preview));
        let is_shortened = self.before.back().is_some_and(Preview::is_shortened);
        self.subject.shortened += u64::from(is_shortened && whole.is_none());
        self.subject.timeline.push(TimelineEntry {
            record: number,
            t: record.t,
            direction: record.direction,
            text: self.before.back().map(Preview::text).unwrap_or_default(),
            whole,
            state: self.judge.state().to_string(),
            findings,
        });
    }
}

/// The members of a `meta` record that count here.
#[derive(Deserialize)]
struct MetaFields {
    event: String,
    code: Option<i64>,
    // Of any type: a recording with others is a recording all the same.
    #[serde(default)]
    argv: Value,
    #[serde(default)]
    server: Value,
}

/// The server as a `spawn` names it.
fn spawned(argv: &Value, server: &Value) -> ServerIdentity {
    let words = argv.as_array().into_iter().flatten().filter_map(Value::as_str);
    ServerIdentity {
        name: server.as_str().map(str::to_owned),
        version: None,
        command: words.take(MAX_WORDS).map(str::to_owned).collect(),
    }
}

/// The version that a server gives itself in the frame that it greets with.
fn greeted_version(record: &Record<'_>, dialect: Dialect) -> Option<String> {
    match read::<Outbound>(record.body.bytes(), dialect) {
        Ok(Outbound::ReadyFrame(ready)) => ready.version,
        _ => None,
    }
}

fn meta(record: &Record<'_>) -> Option<MetaFields> {
    serde_json::from_slice(record.body.bytes()).ok()
}
