//! Writes what a live server says and gets to a private file, from which it is indexed like any recording.

use super::inspection::Inspection;
use pi_rpc_recording::{Direction, Meta, Record, TraceWriter};
use std::{
    fs::File,
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

/// A recording that grows. Clones write to the same file.
#[derive(Clone)]
pub struct LiveRecording {
    inspection: Arc<Inspection>,
    writer: Arc<Mutex<Writer>>,
}

struct Writer {
    trace: TraceWriter<CountedFile>,
    start: Instant,
}

/// A file that counts the bytes that were written to it.
struct CountedFile {
    file: File,
    written: u64,
}

impl Write for CountedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Bytes that the index may be behind: beyond it the server has to wait.
const MAX_BEHIND: u64 = 8 << 20;

impl LiveRecording {
    /// A recording in an empty private file, which the inspection shows from now on.
    ///
    /// # Errors
    ///
    /// The file cannot be made.
    pub fn start(inspection: Arc<Inspection>, path: &Path) -> io::Result<Self> {
        let file = pi_rpc_files::private_files::create(path)?;
        let counted = CountedFile { file, written: 0 };
        let writer = Writer { trace: TraceWriter::new(counted), start: Instant::now() };
        inspection.show_live(path)?;
        Ok(Self { inspection, writer: Arc::new(Mutex::new(writer)) })
    }

    /// Records a line of one side.
    pub fn line(&self, direction: Direction, line: &[u8]) {
        self.record(|t| Record::line(t, direction, line));
    }

    /// Records an unfinished last line.
    pub fn unended(&self, direction: Direction, rest: &[u8]) {
        self.record(|t| Record::unended(t, direction, rest));
    }

    /// Records an event of the process.
    pub fn event(&self, meta: &Meta<'_>) {
        self.record(|t| Record::meta(t, meta));
    }

    fn record<'a>(&self, record: impl FnOnce(f64) -> Record<'a>) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        // In milliseconds, under the lock, so that times are in the order of the records.
        let t = writer.start.elapsed().as_secs_f64() * 1000.0;
        if let Err(error) = writer.trace.write(&record(t)) {
            tracing::error!("the recording ends here: {error}");
        }
        let written = writer.trace.get_ref().written;
        drop(writer);
        self.inspection.wrote(written);
    }

    /// Waits until the index has nearly caught up, so that a fast server fills its pipe and not our disk.
    pub async fn wait_for_index(&self) {
        self.inspection.wait_until_indexed(MAX_BEHIND).await;
    }
}
