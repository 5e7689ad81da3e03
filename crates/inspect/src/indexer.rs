//! The thread that reads the recording from its first line to its last, and follows it while it grows.

use super::{
    index::{MAX_RECORDS, Span},
    inspection::{IndexJob, Inspection},
    recording_file::{FileForm, FileLine, LineReader, form_of, named_dialect, with_record},
    wire::DialectOrigin,
};
use pi_rpc_protocol::DialectVersion;
use pi_rpc_recording::{DialectEvidence, DialectSample};
use std::{io, sync::Arc, thread, time::Duration};

/// How often a file of another program is looked at.
const POLL: Duration = Duration::from_millis(200);
/// Records after which the page is notified.
const BATCH: u32 = 256;
/// The most records by which the dialect is found out.
const MAX_SAMPLE: u32 = 4096;
/// The most bytes of a recording of our own: a server that never stops would fill the disk.
const MAX_OWN_BYTES: u64 = 8 << 30;
/// The most lines before the one that shows the form of a file.
const MAX_UNDECIDED: usize = 16;

/// Starts the thread. It ends with the inspection.
///
/// # Errors
///
/// The system has no room for a thread.
pub fn start(inspection: Arc<Inspection>) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name("indexer".to_owned()).spawn(move || {
        let mut last = None;
        while let Some(job) = inspection.next_job(last) {
            last = Some(job.generation);
            Indexer::new(&inspection, job).run();
        }
    })
}

struct Indexer<'a> {
    inspection: &'a Inspection,
    job: IndexJob,
    lines: LineReader,
    form: Option<FileForm>,
    /// Lines before the form is known.
    undecided: Vec<(Vec<u8>, u64)>,
    sample: DialectSample,
    records: u32,
    /// Whether the recording was read to its end once.
    was_at_end: bool,
}

impl<'a> Indexer<'a> {
    fn new(inspection: &'a Inspection, job: IndexJob) -> Self {
        Self {
            inspection,
            job,
            lines: LineReader::default(),
            form: None,
            undecided: Vec::new(),
            sample: DialectSample::new(),
            records: 0,
            was_at_end: false,
        }
    }

    /// Reads until another recording is shown.
    fn run(mut self) {
        loop {
            // Taken out, because its lines borrow from it.
            let mut lines = std::mem::take(&mut self.lines);
            let read = match lines.next(&self.job.file) {
                Ok(FileLine::Line(line, offset)) => Some(self.line(line, offset)),
                Ok(FileLine::TooLong) => Some(self.update(|state| state.index.count_unread())),
                Ok(FileLine::End) => None,
                Err(error) => {
                    tracing::error!("reading the recording failed: {error}");
                    Some(self.wait(POLL))
                }
            };
            self.lines = lines;
            let goes_on = read.unwrap_or_else(|| self.end());
            if !goes_on {
                return;
            }
        }
    }

    fn update(&self, change: impl FnOnce(&mut super::inspection::InspectionState)) -> bool {
        self.inspection.update(self.job.generation, change)
    }

    fn wait(&self, time: Duration) -> bool {
        self.inspection.wait_for_more(self.job.generation, self.lines.offset(), time)
    }

    /// Everything that is there was read.
    fn end(&mut self) -> bool {
        if let Some((line, offset)) = self.lines.take_last() {
            return self.line(&line, offset);
        }
        let done = self.lines.offset();
        if !self.was_at_end {
            self.was_at_end = true;
            self.decide_form(true);
        }
        let is_own = self.job.is_own;
        let is_current = self.update(|state| {
            state.done = done;
            // A file of another program may end here.
            if !is_own {
                state.index.settle();
            }
        });
        self.inspection.notify();
        if !self.job.is_own && self.job.file.is_replaced(done) {
            if let Ok(file) = self.job.file.reopen() {
                self.inspection.show_file(file);
            }
            return false;
        }
        is_current && self.wait(if is_own { Duration::from_secs(60) } else { POLL })
    }

    fn line(&mut self, line: &[u8], offset: u64) -> bool {
        if line.trim_ascii().is_empty() {
            return true;
        }
        if self.form.is_some() {
            return self.add(line, offset);
        }
        self.undecided.push((line.to_vec(), offset));
        self.decide_form(self.undecided.len() >= MAX_UNDECIDED)
    }

    /// Decides the form of the file by its latest line, or without one if that `must` be.
    fn decide_form(&mut self, must: bool) -> bool {
        let Some((line, _)) = self.undecided.last() else { return true };
        let form = match (self.job.is_own, form_of(line)) {
            (true, _) => FileForm::Trace,
            (false, Some(form)) => form,
            (false, None) if must => FileForm::Trace,
            (false, None) => return true,
        };
        let named = named_dialect(line).and_then(|name| DialectVersion::parse(&name));
        let named = named.filter(|_| self.job.finds_dialect && !self.job.is_own);
        self.form = Some(form);
        let is_current = self.update(|state| {
            state.form = form;
            match named {
                Some(dialect) => state.set_dialect(dialect, DialectOrigin::Recording),
                None => state.set_dialect(state.spoken, state.origin),
            }
        });
        self.job.finds_dialect &= named.is_none();
        let undecided = std::mem::take(&mut self.undecided);
        is_current && undecided.into_iter().all(|(line, offset)| self.add(&line, offset))
    }

    fn add(&mut self, line: &[u8], offset: u64) -> bool {
        let form = self.form.unwrap_or(FileForm::Trace);
        let is_too_long = self.job.is_own && offset > MAX_OWN_BYTES;
        if self.records >= MAX_RECORDS || is_too_long {
            self.update(|state| state.index.set_full());
            self.inspection.notify();
            // A server waits, because nothing is taken in any more.
            return self.wait_for_another();
        }
        let number = self.records + 1;
        let (sample, job, inspection) = (&mut self.sample, &self.job, self.inspection);
        let is_sampled = job.finds_dialect && number <= MAX_SAMPLE;
        let is_current = with_record(form, line, |record| {
            if is_sampled {
                sample.add(number.into(), record);
            }
            inspection.update(job.generation, |state| {
                if state.done > 0 && !job.is_own {
                    state.has_grown = true;
                }
                state.index.add(record, Span::of(line, offset));
                if job.is_own {
                    state.done = offset + line.len() as u64 + 1;
                }
            })
        });
        let is_current = match is_current {
            Ok(is_current) => {
                self.records = number;
                is_current
            }
            Err(_) => self.update(|state| state.index.count_unread()),
        };
        if number.is_multiple_of(BATCH) {
            self.inspection.notify();
        }
        is_current && !(is_sampled && number.is_power_of_two() && self.finds_other_dialect())
    }

    /// Whether the frames show another dialect, by which the recording is judged anew.
    fn finds_other_dialect(&self) -> bool {
        let found = self.sample.found();
        if found.evidence == DialectEvidence::None {
            return false;
        }
        let is_other = found.spoken() != self.inspection.state().spoken;
        match is_other {
            true => self.inspection.found_dialect(self.job.generation, found.spoken()),
            false => drop(self.update(|state| state.origin = DialectOrigin::Frames)),
        }
        is_other
    }

    fn wait_for_another(&self) -> bool {
        while self.wait(Duration::from_secs(60)) {}
        false
    }
}
