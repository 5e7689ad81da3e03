//! Splits observed bytes into lines, records and judges them, and reports violations.

use pi_rpc_files::harmless::harmless;
use pi_rpc_machine::{Kind, Rule, Violation};
use pi_rpc_oracle::{Finding, View, WireJudge};
use pi_rpc_protocol::{Dialect, DialectVersion, FlowState, LineSplitter, Need, Side, SplitLine, Tier};
use pi_rpc_recording::{DialectSample, Direction, Meta, Record, TraceWriter};
use std::{collections::HashSet, fs::File, io::Write};

/// Options for recording, judging and reporting.
pub struct TapOptions {
    /// The dialect to judge by; `None`: the one that the first frames show.
    pub spoken: Option<DialectVersion>,
    /// The server and its arguments, for the recording.
    pub argv: Vec<String>,
    /// The file of the recording.
    pub trace: Option<File>,
    /// Whether the recording is redacted.
    pub redact: bool,
    /// The output for violations, a line each, and for the summary.
    pub report: Box<dyn Write + Send>,
    /// The least tier that is reported.
    pub tier: Tier,
}

/// The longest line that is recorded and judged, in bytes.
const LONGEST: usize = 256 * 1024 * 1024;

/// The most records that are held until one shows the dialect.
const MAX_HELD_RECORDS: usize = 512;
/// The most bytes of those.
const MAX_HELD_BYTES: usize = 8 * 1024 * 1024;

/// The most characters of an expectation in the report.
const LONGEST_TEXT: usize = 400;

/// Records and judges one process of a server.
pub struct Recorder {
    /// Records that are not judged yet, as none of them shows the dialect.
    held: Option<HeldRecords>,
    host_lines: LineSplitter,
    server_lines: LineSplitter,
    trace: Option<TraceWriter<File>>,
    judge: WireJudge,
    report: Box<dyn Write + Send>,
    tier: Tier,
    counts: Counts,
    /// Causes that were reported: each is reported once, and counted every time.
    reported: HashSet<(Rule, Kind, FlowState, Option<String>)>,
    /// Bytes of lines that were too long; nothing after them is judged.
    overlong: u64,
}

/// The first records of a conversation whose dialect is not known.
#[derive(Default)]
struct HeldRecords {
    records: Vec<Record<'static>>,
    bytes: usize,
    sample: DialectSample,
}

/// Violations by side and tier.
type Counts = [[u64; Tier::ALL.len()]; Side::ALL.len()];

impl Recorder {
    /// Creates a recorder and records the start of the process.
    pub fn start(options: TapOptions) -> Self {
        let TapOptions { spoken, argv, trace, redact, report, tier } = options;
        let mut recorder = Self {
            held: spoken.is_none().then(HeldRecords::default),
            host_lines: LineSplitter::new(LONGEST),
            server_lines: LineSplitter::new(LONGEST),
            trace: trace.map(|file| TraceWriter::new(file).redacting(redact)),
            judge: WireJudge::new(spoken.unwrap_or(Dialect::Pi.into()), View::Both),
            report,
            tier,
            counts: Counts::default(),
            reported: HashSet::new(),
            overlong: 0,
        };
        let program = argv.first().map(String::as_str).unwrap_or_default();
        let server = program.rsplit('/').next().unwrap_or_default();
        let dialect = spoken.map(|spoken| spoken.to_string());
        recorder
            .record(&Record::meta(0.0, &Meta::Spawn { argv: &argv, dialect: dialect.as_deref(), server }));
        recorder
    }

    /// Takes in bytes of one side, which may end anywhere.
    pub fn bytes(&mut self, t: f64, direction: Direction, bytes: &[u8]) {
        self.splitter(direction).push(bytes);
        // Taken out, because its lines borrow from it.
        let mut splitter = std::mem::replace(self.splitter(direction), LineSplitter::new(LONGEST));
        while let Some(line) = splitter.next_line() {
            self.line(t, direction, &line);
        }
        *self.splitter(direction) = splitter;
    }

    /// Takes in an action of the host on the process.
    pub fn event(&mut self, t: f64, what: &Meta<'_>) {
        if matches!(what, Meta::StdinClosed) {
            self.finish_line(t, Direction::In);
        }
        self.record(&Record::meta(t, what));
    }

    /// Ends the recording: the process has exited, and `lost` bytes were not observed.
    pub fn exit(mut self, t: f64, code: u8, lost: u64) {
        self.finish_line(t, Direction::In);
        self.finish_line(t, Direction::Out);
        let lost = lost + self.overlong;
        self.judge_held();
        match lost {
            0 => {
                self.record(&Record::meta(t, &Meta::Exit { code: code.into() }));
                let findings = self.judge.finish();
                match self.judge.is_server_silent() {
                    true => self.report_text("the server never wrote a frame"),
                    false => self.report_findings(&findings),
                }
            }
            bytes => {
                self.write_trace(&Record::meta(t, &Meta::Lost { bytes }));
                self.write_trace(&Record::meta(t, &Meta::Exit { code: code.into() }));
            }
        }
        let summary = self.summary(lost);
        self.report_text(&summary);
    }

    const fn splitter(&mut self, direction: Direction) -> &mut LineSplitter {
        match direction {
            Direction::In => &mut self.host_lines,
            _ => &mut self.server_lines,
        }
    }

    /// Records the unterminated last line, if there is one.
    fn finish_line(&mut self, t: f64, direction: Direction) {
        let mut splitter = std::mem::replace(self.splitter(direction), LineSplitter::new(LONGEST));
        match splitter.finish() {
            Some(SplitLine::Line(rest)) => self.record(&Record::unended(t, direction, rest)),
            Some(line) => self.line(t, direction, &line),
            None => {}
        }
    }

    fn line(&mut self, t: f64, direction: Direction, line: &SplitLine<'_>) {
        match line {
            SplitLine::Line(line) => self.record(&Record::line(t, direction, line)),
            SplitLine::TooLong(length) => {
                let bytes = *length as u64;
                self.overlong += bytes;
                self.write_trace(&Record::meta(t, &Meta::Lost { bytes }));
            }
        }
    }

    /// Writes a record to the recording, and judges it.
    fn record(&mut self, record: &Record<'_>) {
        self.write_trace(record);
        if self.overlong == 0 && !self.hold(record) {
            let findings = self.judge.observe(record);
            self.report_findings(&findings);
        }
    }

    /// Holds a record while the dialect is not known. Returns false if it is to be judged now.
    fn hold(&mut self, record: &Record<'_>) -> bool {
        let Some(HeldRecords { records, bytes, sample }) = &mut self.held else { return false };
        records.push(record.to_static());
        *bytes += record.body.bytes().len();
        sample.add(records.len() as u64, record);
        if sample.is_decided() || records.len() >= MAX_HELD_RECORDS || *bytes >= MAX_HELD_BYTES {
            self.judge_held();
        }
        true
    }

    /// Judges the records that were held, by the dialect that they show.
    fn judge_held(&mut self) {
        let Some(HeldRecords { records, sample, .. }) = self.held.take() else { return };
        let found = sample.found();
        self.judge = WireJudge::new(found.spoken(), View::Both);
        self.report_text(&harmless(&found.remark("record")));
        for record in &records {
            let findings = self.judge.observe(record);
            self.report_findings(&findings);
        }
    }

    fn write_trace(&mut self, record: &Record<'_>) {
        let Some(trace) = &mut self.trace else { return };
        if let Err(error) = trace.write(record) {
            self.trace = None;
            self.report_text(&format!("the recording ends here: {error}"));
        }
    }

    fn report_findings(&mut self, findings: &[Finding]) {
        for Finding { violation, record, session, .. } in findings {
            let Violation { rule, tier, kind, state, .. } = violation;
            let row = self.counts.get_mut(rule.about().side as usize);
            if let Some(count) = row.and_then(|row| row.get_mut(*tier as usize)) {
                *count += 1;
            }
            if *tier <= self.tier && self.reported.insert((*rule, *kind, state.flow, session.clone())) {
                let expected: String = violation.expectation().chars().take(LONGEST_TEXT).collect();
                let session = session.as_ref().map(|it| format!(" of session {it}")).unwrap_or_default();
                let text = format!(
                    "{tier} {rule}: record {record}, {kind} in {state}{session}: expected {expected}"
                );
                self.report_text(&harmless(&text));
            }
        }
    }

    /// The number of violations by side and tier, and the number of rules exercised.
    fn summary(&self, lost: u64) -> String {
        let side = |side: Side| {
            let counts = self.counts.get(side as usize).into_iter().flatten();
            let tiers = counts.zip(Tier::ALL).filter(|(count, _)| **count > 0);
            let tiers: Vec<String> = tiers.map(|(count, tier)| format!("{count} {tier}")).collect();
            match tiers.is_empty() {
                true => format!("{side}: nothing"),
                false => format!("{side}: {}", tiers.join(", ")),
            }
        };
        let exercised = self.judge.exercised();
        let base = self.judge.dialect().base();
        // A tap shows the clock only when a host stalls, and has no hazards.
        let shown = |need: &Need| match need {
            Need::Clock | Need::Hazard => false,
            Need::Sessions => self.judge.is_shared(),
            Need::Host | Need::End => true,
        };
        let of_tap = |rule: &Rule| exercised.contains(*rule) || rule.about().needs.iter().all(shown);
        let applicable =
            Rule::ALL.into_iter().filter(|rule| rule.tier(base).is_some()).filter(of_tap).count();
        let coverage = format!("{} of {applicable} rules exercised", exercised.iter().count());
        let unseen = match lost {
            0 => String::new(),
            lost => format!(
                "; {lost} bytes were not recorded (too fast, or a line too long): nothing after them was judged"
            ),
        };
        format!("violations of the {}; of the {}; {coverage}{unseen}", side(Side::Server), side(Side::Host))
    }

    /// Writes a line of the report. Errors are ignored, as the tap must go on.
    fn report_text(&mut self, text: &str) {
        let _ = self.report.write_all(format!("tap: {text}\n").as_bytes());
    }
}
