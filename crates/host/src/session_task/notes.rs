//! The note of a run that waits for a permission: there until something may begin, and gone before it does.

use super::{
    violations::{options, task_of},
    *,
};
use crate::records::Records;
use std::fs;

/// A session that another process has left with a run that waits, and the file of its note. An extension is to start first.
fn left(directory: &Path) -> (Box<SessionTask>, PathBuf) {
    let folder = directory.join("state");
    let (records, _) = Records::open(&folder).unwrap();
    let mut file = records.waiting_run("s1");
    file.note(Some(WaitingRun::default())).unwrap();
    let resumption = Resumption { waiting: Some(Box::default()), ..Resumption::default() };
    let mut options = options(Dialect::Pi, directory.to_owned());
    options.extension_setup.extensions = vec!["/bin/cat".to_owned()];
    (task_of(options, resumption, SessionSinks::noted(Some(file))), folder.join("s1.waiting"))
}

#[tokio::test]
async fn note_outlives_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let (mut task, file) = left(directory.path());
    let left = task.left.take().unwrap();
    task.step(Some(Input::Resume(left)));
    task.step(Some(Input::Time));
    assert!(file.exists(), "the run does not go on before the extension is there");
    // It is the first request of the engine.
    task.step(Some(Input::ExtensionEnded { from: 1, text: "gone".to_owned() }));
    assert!(task.runner.engine.is_open() && !file.exists(), "the session has no such run");
}

#[tokio::test]
async fn session_ends_whose_note_stays() {
    let directory = tempfile::tempdir().unwrap();
    let (mut task, file) = left(directory.path());
    let left = task.left.take().unwrap();
    // Also for a superuser: a folder is not removed as a file.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert!(matches!(task.step(Some(Input::Resume(left))), Some(ExitReason::Refused(_))));
}
