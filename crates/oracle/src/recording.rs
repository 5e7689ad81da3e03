//! Judges recordings, line by line: traces of both sides, and plain logs of a server's output.

use super::{
    Examination, View,
    report::{Outcome, Subject, UnreadableLine},
};
use pi_rpc_protocol::{Dialect, DialectVersion, LineSplitter, Need, SplitLine, mend_surrogates};
use pi_rpc_recording::{
    Body, DialectSample, Direction, LONGEST_LINE, MAX_SAMPLED_FRAMES, Record, read_record,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{
    borrow::Cow,
    io::{self, BufRead},
    mem,
};

/// Options for judging a recording.
#[derive(Clone, Copy, Debug, Default)]
pub struct JudgeOptions {
    /// The dialect; `None` for the one that the recording names, else the one that fits its first frames best.
    pub dialect: Option<DialectVersion>,
    /// Whether to keep a timeline of the records, shortened, for the report.
    pub timeline: bool,
}

impl JudgeOptions {
    /// Judges the recording called `name`. Lines that are not records, or longer than [`LONGEST_LINE`], are reported and
    /// skipped. Memory does not grow with the recording.
    pub fn judge(self, name: &str, from: impl BufRead) -> Subject {
        self.judge_within(name, from, LONGEST_LINE)
    }

    /// [`JudgeOptions::judge`] with another limit for a line, in bytes.
    pub fn judge_within(self, name: &str, mut from: impl BufRead, longest: usize) -> Subject {
        let mut recording = Recording::new(name, self, longest);
        let mut lines = LineSplitter::new(longest);
        let broken = loop {
            let count = match from.fill_buf() {
                Ok([]) => break None,
                Ok(chunk) => {
                    lines.push(chunk);
                    chunk.len()
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(error) => break Some(error),
            };
            from.consume(count);
            while let Some(line) = lines.next_line() {
                recording.line(line);
            }
        };
        if let Some(rest) = lines.finish() {
            recording.is_last_unterminated = true;
            recording.line(rest);
        }
        recording.finish(broken)
    }
}

/// A recording that is being judged.
struct Recording<'a> {
    name: &'a str,
    options: JudgeOptions,
    form: Form,
    /// Lines before form and dialect are known; together no longer than `longest`.
    undecided: Vec<Vec<u8>>,
    undecided_bytes: usize,
    /// The first line that is JSON, once it was seen.
    head: Option<RecordingHead>,
    longest: usize,
    lines: u64,
    unread: Vec<UnreadableLine>,
    unread_lines: u64,
    /// The dialect that the recording names, if it is unknown.
    unknown: Option<String>,
    /// Frames that show the dialect.
    sample: DialectSample,
    /// Whether the current line is the last one and has no line feed.
    is_last_unterminated: bool,
    remarks: Vec<String>,
}

/// The form of the file.
enum Form {
    /// Unknown: no line was JSON so far, or no frame shows the dialect.
    Undecided,
    /// Each line is a record.
    Trace(Box<Examination>),
    /// Each line is a line of the server.
    Log(Box<Examination>),
}

/// What the first line that is JSON shows.
#[derive(Clone, Copy)]
struct RecordingHead {
    /// Whether the lines are those of a server, without records around them.
    is_log: bool,
    /// The dialect that was given or that the recording names.
    dialect: Option<DialectVersion>,
}
/// The most lines that are reported as not being records.
const MAX_UNREADABLE_LINES: usize = 10;
/// The most lines that are not JSON before the form of the file is decided without one.
const MAX_UNDECIDED_LINES: usize = 16;

impl<'a> Recording<'a> {
    fn new(name: &'a str, options: JudgeOptions, longest: usize) -> Self {
        Self {
            name,
            options,
            form: Form::Undecided,
            undecided: Vec::new(),
            undecided_bytes: 0,
            head: None,
            longest,
            lines: 0,
            unread: Vec::new(),
            unread_lines: 0,
            unknown: None,
            sample: DialectSample::new(),
            is_last_unterminated: false,
            remarks: Vec::new(),
        }
    }

    /// Takes in a line.
    fn line(&mut self, line: SplitLine<'_>) {
        let line = match line {
            SplitLine::Line(line) => line,
            SplitLine::TooLong(length) => return self.too_long(length),
        };
        if matches!(self.form, Form::Undecided) && self.needs_more_lines(line) && !self.is_last_unterminated {
            self.undecided_bytes += line.len();
            self.undecided.push(line.to_owned());
            return;
        }
        self.decide_form();
        self.judge(line);
    }

    /// Skips a line that is too long.
    fn too_long(&mut self, length: usize) {
        self.decide_form();
        self.lines += 1;
        self.refuse(format!("{length} bytes, expected at most {}", self.longest));
    }

    /// Looks at a line before form and dialect are known. Returns whether further lines are needed.
    fn needs_more_lines(&mut self, line: &[u8]) -> bool {
        let has_room = self.undecided_bytes + line.len() <= self.longest;
        if self.head.is_none() {
            let first = str::from_utf8(line).ok().and_then(LineHead::of);
            if first.is_none() && has_room && self.undecided.len() < MAX_UNDECIDED_LINES {
                return true;
            }
            let named = first.as_ref().and_then(LineHead::dialect);
            let known = named.as_deref().and_then(DialectVersion::parse);
            self.unknown = named.filter(|_| known.is_none() && self.options.dialect.is_none());
            let dialect = self.options.dialect.or(known);
            self.head = Some(RecordingHead { is_log: first.is_some_and(|it| it.dir.is_none()), dialect });
        }
        let Some(RecordingHead { is_log, dialect: None }) = self.head else { return false };
        let number = self.undecided.len() as u64 + 1;
        match is_log {
            true => self.sample.add(number, &server_record(line)),
            // A line that is no record is reported when it is judged.
            false => drop(with_record(line, |record| self.sample.add(number, record))),
        }
        let is_full = !has_room || self.undecided.len() >= MAX_SAMPLED_FRAMES;
        self.unknown.is_none() && !is_full && !self.sample.is_decided()
    }

    /// Decides form and dialect by the lines so far, and judges those.
    fn decide_form(&mut self) {
        let (Form::Undecided, Some(RecordingHead { is_log, dialect })) = (&self.form, self.head) else {
            return self.judge_undecided();
        };
        let dialect = dialect.unwrap_or_else(|| {
            let found = self.sample.found();
            self.remarks.push(found.remark("line"));
            found.spoken()
        });
        self.form = match is_log {
            true => Form::Log(Box::new(self.examination(dialect, View::Server))),
            false => Form::Trace(Box::new(self.examination(dialect, View::Both))),
        };
        // It takes in these lines once more, as all that follow.
        self.sample = DialectSample::new();
        self.judge_undecided();
    }

    fn judge_undecided(&mut self) {
        // The last line is never among them.
        let is_last_unterminated = mem::take(&mut self.is_last_unterminated);
        for line in mem::take(&mut self.undecided) {
            self.judge(&line);
        }
        self.is_last_unterminated = is_last_unterminated;
    }

    fn examination(&self, dialect: DialectVersion, view: View) -> Examination {
        let examination = Examination::new(self.name, dialect, view);
        match self.options.timeline {
            true => examination.with_timeline(),
            false => examination,
        }
    }

    fn judge(&mut self, line: &[u8]) {
        self.lines += 1;
        match &mut self.form {
            Form::Undecided => self.refuse("no JSON".to_owned()),
            Form::Log(_) if self.is_last_unterminated && is_json_prefix(line) => self.note_cut_line(),
            Form::Log(examination) => {
                let record = server_record(line);
                self.sample.add(self.lines, &record);
                examination.observe(self.lines, &record);
            }
            Form::Trace(_) if line.trim_ascii().is_empty() => {}
            Form::Trace(examination) => {
                let (number, sample) = (self.lines, &mut self.sample);
                let seen = with_record(line, |record| {
                    sample.add(number, record);
                    examination.observe(number, record);
                });
                match seen {
                    Err(_) if self.is_last_unterminated && is_json_prefix(line) => self.note_cut_line(),
                    Err(reason) => self.refuse(reason),
                    Ok(()) => {}
                }
            }
        }
    }

    /// Remarks that the last line is incomplete: the recorder was stopped while writing it.
    fn note_cut_line(&mut self) {
        self.remarks.push(format!("line {}, the last, was cut off, and is left out", self.lines));
    }

    fn refuse(&mut self, reason: String) {
        self.unread_lines += 1;
        if self.unread.len() < MAX_UNREADABLE_LINES {
            self.unread.push(UnreadableLine { line: self.lines, reason });
        }
    }

    fn finish(mut self, broken: Option<io::Error>) -> Subject {
        self.decide_form();
        let examination = match mem::replace(&mut self.form, Form::Undecided) {
            Form::Trace(examination) | Form::Log(examination) => *examination,
            Form::Undecided => {
                self.examination(self.options.dialect.unwrap_or(Dialect::Pi.into()), View::Both)
            }
        };
        let mut subject = examination.finish();
        // One connection may carry sessions of several dialects.
        let is_shared = subject.sees.contains(&Need::Sessions);
        let other = match subject.findings.is_empty() || self.unknown.is_some() || is_shared {
            true => None,
            false => self.sample.mismatch(subject.dialect).map(|mismatch| mismatch.of_recording()),
        };
        let reason = match broken {
            Some(error) => Some(format!("reading failed: {error}")),
            // Findings by another dialect's rules are meaningless.
            None if let Some(unknown) = &self.unknown => {
                subject.findings.clear();
                Some(format!("unknown dialect `{unknown}` in the recording; choose another with `--dialect`"))
            }
            None if other.is_some() => {
                subject.findings.clear();
                subject.timeline.iter_mut().for_each(|moment| moment.findings.clear());
                other
            }
            None if self.unread_lines == 1 => Some("one line is not a record".to_owned()),
            None if self.unread_lines > 1 => Some(format!("{} lines are not records", self.unread_lines)),
            None if subject.frames_in + subject.frames_out + subject.processes == 0 => {
                Some("the file has no records".to_owned())
            }
            None => None,
        };
        if reason.is_some() {
            (subject.outcome, subject.reason) = (Outcome::Error, reason);
        }
        subject.unread = self.unread;
        subject.remarks = self.remarks;
        subject
    }
}

/// Parses a line and passes the record to `see`. Lone surrogates are replaced: recorders cut long strings anywhere.
fn with_record(line: &[u8], see: impl FnOnce(&Record<'_>)) -> Result<(), String> {
    let text =
        str::from_utf8(line).map_err(|error| format!("invalid UTF-8 at byte {}", error.valid_up_to()))?;
    // Faster than to check every escape, of which JSON within JSON has many.
    let has = |escape: &[u8]| memchr::memmem::find(line, escape).is_some();
    let text = match has(br"\ud") || has(br"\uD") {
        true => mend_surrogates(text),
        false => Cow::Borrowed(text),
    };
    see(&read_record(&text).map_err(|error| error.to_string())?);
    Ok(())
}

/// Whether a line is an incomplete JSON value.
fn is_json_prefix(line: &[u8]) -> bool {
    let text = match str::from_utf8(line) {
        Ok(text) => text,
        // The line ends within a character.
        Err(error) if error.error_len().is_none() => {
            str::from_utf8(&line[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    serde_json::from_str::<&RawValue>(text).is_err_and(|error| error.is_eof())
}

/// The record of a line of the server.
fn server_record(line: &[u8]) -> Record<'_> {
    let body = match serde_json::from_slice::<&RawValue>(line) {
        Ok(_) => Body::Json(Cow::Borrowed(line)),
        Err(_) => Body::Raw(Cow::Borrowed(line)),
    };
    Record { t: 0.0, direction: Direction::Out, body, cut: false }
}

/// The members of the first JSON line that show the form of the file.
#[derive(Deserialize)]
struct LineHead<'a> {
    #[serde(borrow)]
    dir: Option<&'a RawValue>,
    #[serde(borrow)]
    frame: Option<&'a RawValue>,
}

impl<'a> LineHead<'a> {
    fn of(line: &'a str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// The dialect that a `spawn` names.
    fn dialect(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Spawn {
            dialect: Option<String>,
        }
        let spawn: Spawn = serde_json::from_str(self.frame?.get()).ok()?;
        spawn.dialect
    }
}
