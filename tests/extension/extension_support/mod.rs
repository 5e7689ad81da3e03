//! Extensions without a server: the test runs the event loop.

use pi_rpc::{
    engine::Input,
    extension::{ExtensionEnvironment, ExtensionInputs, Extensions, NodeHost},
    protocol::{Dialect, ExtensionCancel, ToExtension},
    secrets::Secrets,
    tools::Processes,
};
use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::sync::watch;

/// Time limit of every wait.
const TOO_LONG: Duration = Duration::from_secs(180);

/// The longest line that the extensions here may write.
pub const MAX_FRAME: u64 = 1000;

/// Limit of pending bytes, more than a pipe holds.
pub const MAX_PENDING: usize = 1 << 20;

/// Extensions in a folder of their own. Dropped, it takes everything with it.
pub struct Place {
    pub dir: TempDir,
    pub gate: watch::Sender<bool>,
    pub processes: Processes,
}

/// State of the event loop.
pub struct World {
    pub extensions: Extensions,
    pub inputs: ExtensionInputs,
}

impl Place {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir, gate: watch::Sender::new(true), processes: Processes::new() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes a shell script.
    pub fn script(&self, name: &str, body: &str) -> String {
        self.executable(name, &format!("#!/bin/sh\n{body}\n"))
    }

    /// Writes an executable. A process of its own does so: a descriptor of ours would be inherited for a moment by
    /// whatever another test starts, and a file that somebody writes cannot be executed.
    pub fn executable(&self, name: &str, content: &str) -> String {
        let path = self.path(name);
        let mut writer = Command::new("sh");
        writer.args(["-c", "cat > \"$0\" && chmod +x \"$0\""]).arg(&path).stdin(Stdio::piped());
        let mut writer = writer.spawn().unwrap();
        writer.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
        assert!(writer.wait().unwrap().success());
        path.to_str().unwrap().to_owned()
    }

    /// Creates a loop with these extensions, without starting them.
    pub fn world(&self, paths: Vec<String>) -> World {
        self.world_with(paths, None)
    }

    /// Creates a loop with the process of pi's own extensions, without starting it.
    pub fn hosting(&self, node: NodeHost) -> World {
        self.world_with(vec!["<extensions>".to_owned()], Some((0, node)))
    }

    fn world_with(&self, paths: Vec<String>, node: Option<(usize, NodeHost)>) -> World {
        let (extensions, inputs) = Extensions::new(ExtensionEnvironment {
            paths,
            node,
            built_in: None,
            directory: self.dir.path().to_owned(),
            dialect: Dialect::Pi,
            max_frame: MAX_FRAME,
            max_pending: MAX_PENDING,
            gate: self.gate.subscribe(),
            processes: self.processes.clone(),
            secrets: Secrets::default(),
        });
        extensions.mark_greeted();
        World { extensions, inputs }
    }

    /// Creates a loop with one shell script, started as process 1.
    pub fn runs(&self, body: &str) -> World {
        let mut world = self.world(vec![self.script("extension", body)]);
        world.extensions.start(1, 0);
        world
    }

    /// Waits until the file exists.
    pub async fn awaits(&self, name: &str) {
        let path = self.path(name);
        eventually(&format!("{name} is there"), || path.exists()).await;
    }
}

impl World {
    /// Reads the next input: its process and its text.
    pub async fn next(&mut self) -> (u64, String) {
        let input = tokio::time::timeout(TOO_LONG, self.inputs.next()).await.expect("it hangs");
        match input.expect("the extensions are there") {
            Input::Extension { from, frame } => (from, serde_json::to_string(&frame).unwrap()),
            Input::ExtensionBadLine { from, text } => (from, format!("strayed: {text}")),
            Input::ExtensionBadRegister { from, text } => (from, format!("misregistered: {text}")),
            Input::ExtensionEnded { from, text } => {
                self.extensions.forget(from);
                (from, format!("ended: {text}"))
            }
            other => panic!("no input of an extension: {other:?}"),
        }
    }

    /// Reads the inputs of one process up to its end.
    pub async fn all(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        loop {
            said.push(self.next().await.1);
            if said.last().is_some_and(|last| last.starts_with("ended: ")) {
                return said;
            }
        }
    }

    pub fn tell(&mut self, process: u64, id: &str) {
        self.extensions.send(process, &cancel(id));
    }
}

/// A `cancel`, the shortest frame.
pub fn cancel(id: &str) -> ToExtension {
    ToExtension::Cancel(ExtensionCancel { id: id.to_owned() })
}

/// Waits until a condition holds.
pub async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < TOO_LONG, "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Waits until the process whose id a script left in that file is gone.
pub async fn gone(file: &Path) {
    let id = std::fs::read_to_string(file).unwrap().trim().to_owned();
    eventually("it is gone", || match std::fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(stat) => stat.rsplit_once(')').unwrap().1.trim_start().starts_with('Z'),
        Err(_) => true,
    })
    .await;
}
