//! Records the conversations with the servers behind ACP sessions.

use pi_rpc_client::{LineObserver, LineOrigin};
use pi_rpc_files::private_files;
use pi_rpc_protocol::Dialect;
use pi_rpc_recording::{Direction, Meta, Record, TraceWriter};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

/// Makes a recording for each session: the first has the given name, the others have their number behind it.
pub struct Recorder {
    path: PathBuf,
    sessions: AtomicUsize,
}

impl Recorder {
    /// Recordings at `path`.
    pub fn new(path: PathBuf) -> Self {
        Self { path, sessions: AtomicUsize::new(0) }
    }

    /// An observer that records a session.
    ///
    /// # Errors
    ///
    /// The file cannot be created.
    pub fn observer(&self, dialect: Dialect) -> Result<LineObserver, String> {
        let path = match self.sessions.fetch_add(1, Ordering::Relaxed) {
            0 => self.path.clone(),
            number => numbered(&self.path, number + 1),
        };
        let writer = self.create(&path, dialect).map_err(|error| format!("{}: {error}", path.display()))?;
        let (writer, began) = (Arc::new(Mutex::new(writer)), Instant::now());
        Ok(LineObserver::new(move |origin, line| {
            let direction = match origin {
                LineOrigin::Client => Direction::In,
                LineOrigin::Server => Direction::Out,
            };
            let at = began.elapsed().as_secs_f64() * 1000.0;
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = writer.write(&Record::line(at, direction, line)) {
                tracing::warn!("the recording: {error}");
            }
        }))
    }

    fn create(&self, path: &Path, dialect: Dialect) -> io::Result<TraceWriter<File>> {
        let mut writer = TraceWriter::new(private_files::create(path)?);
        let meta = Meta::Spawn { argv: &[], dialect: Some(dialect.as_str()), server: "pi-rpc acp" };
        writer.write(&Record::meta(0.0, &meta))?;
        Ok(writer)
    }
}

/// The path with a number behind the stem of its name.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
    path.with_file_name(format!("{stem}-{number}{extension}"))
}
