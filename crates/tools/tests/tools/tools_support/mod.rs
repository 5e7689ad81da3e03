//! A place to run tools in, for tests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_rpc_processes::Processes;
use pi_rpc_protocol::{Dialect, DialectTools};
use pi_rpc_tools::{Block, ShellControl, ShellOptions, ToolContext, ToolOutput, run};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

#[path = "../../../../../tests/serve_support/waiting.rs"]
mod waiting;

use waiting::TOO_LONG;

pub struct Place {
    pub dir: TempDir,
    pub cancel: CancellationToken,
    pub gate: watch::Sender<bool>,
    pub shell: ShellOptions,
    pub processes: Processes,
    pub rules: &'static DialectTools,
    pub scales_images: bool,
}

impl Place {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            cancel: CancellationToken::new(),
            gate: watch::Sender::new(true),
            shell: ShellOptions::for_tool(),
            processes: Processes::new(),
            rules: &Dialect::Pi.record().tools,
            scales_images: true,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub fn fifo(&self, name: &str) {
        let made = std::process::Command::new("mkfifo").arg(self.path(name)).status().unwrap();
        assert!(made.success());
    }

    pub fn context(&self) -> ToolContext {
        ToolContext {
            call_id: None,
            delegate: None,
            cwd: self.dir.path().to_owned(),
            cancel: self.cancel.clone(),
            progress: None,
            gate: self.gate.subscribe(),
            shell: self.shell.clone(),
            rules: self.rules,
            scales_images: self.scales_images,
            processes: self.processes.clone(),
        }
    }

    pub fn control(&self) -> ShellControl {
        let ToolContext { cancel, gate, processes, .. } = self.context();
        ShellControl { cancel, gate, progress: None, follower: None, processes }
    }

    /// Runs a tool to its end.
    pub async fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        within(run(name, &arguments, self.context())).await
    }

    /// Starts a tool whose progress is watched.
    pub fn start(&self, name: &'static str, arguments: Value) -> Started {
        let (sender, progress) = mpsc::channel(1);
        let context = ToolContext { progress: Some(sender), ..self.context() };
        let result = tokio::spawn(async move { run(name, &arguments, context).await });
        Started { progress, result }
    }
}

pub struct Started {
    pub progress: mpsc::Receiver<ToolOutput>,
    pub result: tokio::task::JoinHandle<ToolOutput>,
}

impl Started {
    /// Waits for progress that shows `wanted`.
    pub async fn shows(&mut self, wanted: &str) -> ToolOutput {
        loop {
            let update = within(self.progress.recv()).await.expect("progress before the end");
            if text(&update).contains(wanted) {
                return update;
            }
        }
    }

    pub async fn ends(self) -> ToolOutput {
        within(self.result).await.unwrap()
    }
}

pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(TOO_LONG, work).await.expect("it hangs")
}

/// Waits until a condition holds.
pub async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let started = std::time::Instant::now();
    while !is_so() {
        assert!(started.elapsed() < TOO_LONG, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Releases the reader of a fifo.
pub async fn release(fifo: PathBuf) {
    within(tokio::task::spawn_blocking(move || std::fs::write(fifo, "go\n"))).await.unwrap().unwrap();
}

/// The text of a result's first block.
pub fn text(output: &ToolOutput) -> &str {
    match output.content.first() {
        Some(Block::Text(text)) => text,
        other => panic!("no text but {other:?}"),
    }
}

#[track_caller]
pub fn assert_ok(output: &ToolOutput, wanted: &str) {
    assert_eq!((text(output), output.is_error), (wanted, false));
}

#[track_caller]
pub fn assert_error(output: &ToolOutput, wanted: &str) {
    assert_eq!((text(output), output.is_error), (wanted, true));
    assert_eq!(output.details, Some(serde_json::json!({})));
}

/// The processes of a group that are alive, by /proc.
pub fn alive_in_group(group: &str) -> Vec<String> {
    let stats = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = stats.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats
        .filter(|stat| {
            let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
            fields[2] == group && fields[0] != "Z" && fields[0] != "X"
        })
        .collect()
}

/// The path at the end of a notice; the file is removed when this is dropped.
pub struct FullOutput(PathBuf);

impl FullOutput {
    #[track_caller]
    pub fn named_in(text: &str) -> Self {
        let (_, rest) = text.rsplit_once("Full output: ").expect("a path");
        let path = Path::new(rest.split(']').next().unwrap());
        let name = path.file_name().unwrap().to_str().unwrap();
        let hex = name.strip_prefix("pi-bash-").and_then(|name| name.strip_suffix(".log")).expect("the name");
        assert!(hex.len() == 16 && hex.bytes().all(|digit| digit.is_ascii_hexdigit()), "{name}");
        assert_eq!(path.parent(), Some(std::env::temp_dir().as_path()));
        Self(path.to_owned())
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub fn bytes(&self) -> Vec<u8> {
        std::fs::read(&self.0).unwrap()
    }
}

impl Drop for FullOutput {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
