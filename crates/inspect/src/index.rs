//! Everything that is known of a recording without its texts: facts of records, items, findings, figures.
//!
//! It grows by some 60 bytes a record, and not with the length of lines. It does no IO: the text of each record is
//! passed in once, in order.

use super::{
    facts::RecordFacts,
    figures::{FigureIndex, FigureRecord},
    frame_head::{FrameHead, NO_FRAME},
    item_index::{ItemIndex, ItemRecord},
    names::Names,
    server_index::ServerIndex,
    wire::{RuleCount, Totals},
};
use pi_rpc_machine::{Rule, State};
use pi_rpc_oracle::{Finding, View, WireJudge};
use pi_rpc_protocol::{AgentSessionEventKind as Event, DialectVersion};
use pi_rpc_recording::{Direction, Record};
use std::collections::BTreeMap;

/// The index of one recording, judged by one dialect.
pub struct Index {
    judge: WireJudge,
    records: Vec<RecordFacts>,
    names: Names,
    items: ItemIndex,
    figures: FigureIndex,
    servers: ServerIndex,
    findings: Vec<Finding>,
    counts: BTreeMap<Rule, u32>,
    /// The first finding that holds only if the recording ends here.
    settled_from: Option<usize>,
    /// Records that changed the state of the flow.
    transitions: Vec<u32>,
    totals: Totals,
    /// The name of a kind, reused.
    label: String,
}

/// The most findings that are kept.
const MAX_FINDINGS: usize = 10_000;

/// The most records: a server that never stops would fill the memory.
pub const MAX_RECORDS: u32 = 8_000_000;

/// The events of which many follow one another while a message or a call grows.
const UPDATES: [&str; 2] = [Event::MessageUpdate.as_str(), Event::ToolExecutionUpdate.as_str()];

/// Where the line of a record is.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The offset in the file.
    pub offset: u64,
    /// The length without the line feed.
    pub length: u32,
}

impl Index {
    /// An empty index.
    pub fn new(spoken: DialectVersion, view: View) -> Self {
        Self {
            judge: WireJudge::new(spoken, view),
            records: Vec::new(),
            names: Names::default(),
            items: ItemIndex::default(),
            figures: FigureIndex::default(),
            servers: ServerIndex::default(),
            findings: Vec::new(),
            settled_from: None,
            counts: BTreeMap::new(),
            transitions: Vec::new(),
            totals: Totals::default(),
            label: String::new(),
        }
    }

    /// Adds the next record.
    pub fn add(&mut self, record: &Record<'_>, span: Span) {
        self.unsettle();
        let number = self.records.len() as u32 + 1;
        let before = self.judge.state();
        let findings = self.judge.observe(record);
        let state = self.judge.state();
        let session = self.judge.session().map(|session| self.names.number(session)).unwrap_or_default();
        let head = FrameHead::of(record);
        let mut facts = RecordFacts::new(record.t, record.direction, span.offset, span.length, record.cut);
        facts.set_state(state);
        facts.session = session;
        self.name(&mut facts, record.direction, head.as_ref());
        let item = ItemRecord { record: number, direction: record.direction, head: head.as_ref(), session };
        let links = self.items.add(&item);
        if let Some(item) = links.item {
            facts.set_item(item);
        }
        facts.cause = links.cause.unwrap_or_default();
        if let Some(head) = &head
            && let Some(kind) = head.kind()
        {
            self.servers.add(number, &kind, record);
            self.figures.add(&FigureRecord {
                record: number,
                t: record.t,
                direction: record.direction,
                kind: &kind,
                name: facts.name,
                head,
                links,
            });
        }
        if state.flow != before.flow && self.is_same_session(session) {
            self.transitions.push(number);
        }
        self.records.push(facts);
        self.count(record, span);
        self.keep(findings);
    }

    /// Whether a record is an update of the same kind and item as the one before it, and nothing was found in it.
    pub fn continues(&self, number: u32) -> bool {
        let (Some(facts), Some(before)) = (self.record(number), self.record(number.saturating_sub(1))) else {
            return false;
        };
        UPDATES.contains(&self.names.name(facts.name))
            && facts.item().is_some()
            && (facts.item(), facts.kind, facts.session) == (before.item(), before.kind, before.session)
            && self.findings_about(number, number).next().is_none()
    }

    /// The last of the updates that a record begins: itself, if none continues it.
    pub fn last_of_updates(&self, number: u32) -> u32 {
        (number..).find(|at| !self.continues(at + 1)).unwrap_or(number)
    }

    /// Adds what is still owed, if the recording ends here. The next record takes it back.
    pub fn settle(&mut self) {
        if self.settled_from.is_some() || self.is_empty() {
            return;
        }
        let mut judge = self.judge.clone();
        let findings = judge.finish();
        self.settled_from = Some(self.findings.len());
        // Nothing that the server wrote is a frame: another program is in its place.
        if !judge.is_server_silent() {
            self.keep(findings);
        }
    }

    /// Takes back what was only owed if the recording had ended.
    fn unsettle(&mut self) {
        let Some(from) = self.settled_from.take() else { return };
        for finding in self.findings.drain(from..) {
            if let Some(count) = self.counts.get_mut(&finding.violation.rule) {
                *count -= 1;
            }
        }
        self.counts.retain(|_, count| *count > 0);
    }

    /// Counts a line that is no record.
    pub const fn count_unread(&mut self) {
        self.totals.unread += 1;
    }

    /// Declares that nothing more is read.
    pub const fn set_full(&mut self) {
        self.totals.full = true;
    }

    fn name(&mut self, facts: &mut RecordFacts, direction: Direction, head: Option<&FrameHead<'_>>) {
        match head {
            Some(head) => {
                head.write_label(direction, &mut self.label);
                facts.kind = self.names.number(&self.label);
                facts.name = head.kind().map(|kind| self.names.number(&kind)).unwrap_or_default();
            }
            None if direction == Direction::Err => facts.kind = self.names.number("stderr"),
            None => facts.kind = self.names.number(NO_FRAME),
        }
    }

    /// Whether the record before was of this session, too: only then its state is the state before.
    fn is_same_session(&self, session: u16) -> bool {
        self.records.last().is_none_or(|last| last.session == session)
    }

    fn count(&mut self, record: &Record<'_>, span: Span) {
        let first = self.records.first().map_or(record.t, |first| first.t);
        let totals = &mut self.totals;
        totals.records += 1;
        totals.bytes += u64::from(span.length);
        totals.duration = (record.t - first).max(totals.duration);
        totals.items = self.items.items().len() as u32;
        match record.direction {
            Direction::In => totals.r#in += 1,
            Direction::Out => totals.out += 1,
            Direction::Err => totals.err += 1,
            Direction::Meta => totals.meta += 1,
        }
    }

    fn keep(&mut self, findings: Vec<Finding>) {
        for mut finding in findings {
            *self.counts.entry(finding.violation.rule).or_default() += 1;
            match self.findings.len() < MAX_FINDINGS {
                true => {
                    finding.record = (self.records.len() as u64).max(1);
                    self.findings.push(finding);
                }
                false => self.totals.findings_left_out += 1,
            }
        }
        self.totals.findings = self.findings.len() as u32;
    }

    /// The number of records.
    pub fn len(&self) -> u32 {
        self.records.len() as u32
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The facts of the record with this number.
    pub fn record(&self, number: u32) -> Option<&RecordFacts> {
        self.records.get(number.checked_sub(1)? as usize)
    }

    /// The facts of all records.
    pub fn records(&self) -> &[RecordFacts] {
        &self.records
    }

    /// The names of kinds, types and sessions.
    pub const fn names(&self) -> &Names {
        &self.names
    }

    /// The items.
    pub const fn items(&self) -> &ItemIndex {
        &self.items
    }

    /// Times and sums.
    pub const fn figures(&self) -> &FigureIndex {
        &self.figures
    }

    /// Servers of the Model Context Protocol.
    pub const fn servers(&self) -> &ServerIndex {
        &self.servers
    }

    /// The findings that are kept.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The numbers of the findings about records from `first` to `last`.
    pub fn findings_about(&self, first: u32, last: u32) -> impl Iterator<Item = u32> {
        let from = self.findings.partition_point(|finding| finding.record < u64::from(first));
        let found = self.findings[from..].iter().take_while(move |it| it.record <= u64::from(last));
        (from as u32..).zip(found).map(|(number, _)| number)
    }

    /// The number of findings of each rule.
    pub fn finding_counts(&self, spoken: DialectVersion) -> Vec<RuleCount> {
        let count = |(rule, count): (&Rule, &u32)| RuleCount {
            rule: rule.as_str().to_owned(),
            tier: rule.tier(spoken.base()).map(|tier| tier.as_str().to_owned()).unwrap_or_default(),
            count: *count,
        };
        self.counts.iter().map(count).collect()
    }

    /// Totals.
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// The state after the record with this number; 0: before the first.
    pub fn state_at(&self, number: u32) -> State {
        self.record(number).map_or_else(initial_state, RecordFacts::state)
    }

    /// The latest record at or before this one that changed the state of the flow, with the state before it.
    pub fn transition_at(&self, number: u32) -> Option<(u32, State)> {
        let at = self.transitions.partition_point(|record| *record <= number);
        let record = self.transitions[at.checked_sub(1)?];
        Some((record, self.state_at(record - 1)))
    }

    /// Whether the record changed the state of the flow.
    pub fn is_transition(&self, number: u32) -> bool {
        self.transitions.binary_search(&number).is_ok()
    }
}

const fn initial_state() -> State {
    State { flow: pi_rpc_protocol::FlowState::Idle, dialogs: 0, shell: 0, closing: false }
}
