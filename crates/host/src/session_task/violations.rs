//! A violation of our own shows in the metrics, in every build.

use super::*;
use crate::session_handle::Unattended;
use pi_rpc_engine::{Modes, SessionStorage};
use pi_rpc_server::{LoginAccess, ModelLibrary, ToolEnvironment};
use std::time::Duration;

/// A session with the scripted model, in memory.
pub(super) fn options(dialect: Dialect, directory: PathBuf) -> SessionOptions {
    SessionOptions {
        dialect,
        library: ModelLibrary::scripted("demo").unwrap(),
        level: None,
        modes: Modes::of(dialect),
        tools: Vec::new(),
        spare_tools: Vec::new(),
        tool_selection: Default::default(),
        system_prompt: "".into(),
        extension_setup: Default::default(),
        node: None,
        built_in: None,
        chosen: true,
        name: None,
        place: SessionStorage::in_memory("/work"),
        session: None,
        store: Default::default(),
        files: None,
        file_guard: None,
        permissions: None,
        disk_timeout: None,
        limits: Default::default(),
        agent: None,
        observer: None,
        login_access: LoginAccess {
            http: Default::default(),
            secrets: Default::default(),
            environment: Default::default(),
            auth_file: directory.join("auth.json"),
            device_id: None,
        },
        tool_environment: ToolEnvironment {
            directory,
            shell: None,
            prefix: None,
            programs: None,
            output_file_limit: None,
            output_files: Default::default(),
            secrets: Default::default(),
            confinement: Default::default(),
            scales_images: false,
            delegate: None,
        },
    }
}

pub(crate) fn limits() -> SessionLimits {
    SessionLimits {
        max_frame: 1 << 20,
        kept_output: 1 << 20,
        kept_idle: Duration::from_secs(60),
        unattended: Unattended::default(),
    }
}

/// A task of a session with these options.
pub(super) fn task_of(
    options: SessionOptions,
    resumption: Resumption,
    sinks: SessionSinks,
) -> Box<SessionTask> {
    SessionTask::new("s1".to_owned(), options, limits(), Principal::local(), resumption, sinks)
}

#[tokio::test]
async fn violation_is_counted() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(Dialect::Pi, directory.path().to_owned());
    let mut task = task_of(options, Resumption::default(), SessionSinks::default());
    task.step(None);
    let before = METRICS.count_of_violations();
    // No client can use an id twice: `RequestIds` gives each command its own. Here the state answers the open `bash`.
    for line in [r#"{"id":"1","type":"bash","command":"true"}"#, r#"{"id":"1","type":"get_state"}"#] {
        task.step(line_to_input(line.as_bytes(), Dialect::Pi));
    }
    assert_eq!(METRICS.count_of_violations() - before, 1);
}
