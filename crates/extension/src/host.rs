//! Runs the processes of extensions: starts them, sends them frames, ends them, without blocking.

use super::{
    built_in::{BuiltIn, BuiltInOutput, BuiltInSession},
    frame_queue::{self, QueueFull},
    node::NodeHost,
    process::ExtensionProcess,
    stdout::{QueuedInput, StdoutReader},
};
use pi_rpc_engine::{CallId, Input};
use pi_rpc_files::secrets::Secrets;
use pi_rpc_processes::Processes;
use pi_rpc_protocol::{Dialect, ToExtension};
use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::{JoinHandle, JoinSet},
    time::timeout,
};

/// Capacity of the queue of inputs of all extensions.
const INPUT_CAPACITY: usize = 64;

/// How long extensions may take to exit when the server ends.
const GRACE: Duration = Duration::from_millis(200);

/// Everything that extensions are started with.
pub struct ExtensionEnvironment {
    /// The executables of the extensions.
    pub paths: Vec<String>,
    /// The index in `paths` of the Node host, if there is one, and its runtime.
    pub node: Option<(usize, NodeHost)>,
    /// The index in `paths` of the extension that is built into this program, if there is one.
    pub built_in: Option<(usize, Arc<dyn BuiltIn>)>,
    /// The working directory.
    pub directory: PathBuf,
    /// The dialect of the frames that extensions may write.
    pub dialect: Dialect,
    /// The longest line that an extension may write, in bytes.
    pub max_frame: u64,
    /// Maximum of pending bytes for one extension. With more pending, the next frame ends the extension.
    pub max_pending: usize,
    /// While `false`, extensions are not read.
    pub gate: watch::Receiver<bool>,
    /// The registry of processes that may be alive.
    pub processes: Processes,
    /// Variables to withhold from extensions, and texts to redact from their stderr.
    pub secrets: Secrets,
}

/// The running extensions. No method blocks except [`close`](Self::close).
pub struct Extensions {
    environment: ExtensionEnvironment,
    sender: mpsc::Sender<Box<QueuedInput>>,
    /// Whether the host was greeted.
    greeted: watch::Sender<bool>,
    running: HashMap<CallId, RunningProcess>,
    tasks: JoinSet<()>,
}

/// The stream of inputs that extensions cause.
pub struct ExtensionInputs(mpsc::Receiver<Box<QueuedInput>>);

/// A process that was started: where its frames are queued, and how it is stopped.
struct RunningProcess {
    queue: frame_queue::FrameQueue,
    /// The queue of answers, where they do not go to stdin.
    answers: Option<frame_queue::FrameQueue>,
    /// Takes the frames in place of the queue, where nothing is written.
    built_in: Option<mpsc::UnboundedSender<ToExtension>>,
    stop: oneshot::Sender<String>,
}

impl ExtensionInputs {
    /// The next of [`Input::Extension`], [`Input::ExtensionBadLine`], [`Input::ExtensionBadRegister`] and
    /// [`Input::ExtensionEnded`]; `None` when the [`Extensions`] are gone.
    pub async fn next(&mut self) -> Option<Input> {
        let QueuedInput { input, share } = *self.0.recv().await?;
        drop(share);
        Some(input)
    }
}

impl Extensions {
    /// Creates the component without running extensions.
    pub fn new(environment: ExtensionEnvironment) -> (Self, ExtensionInputs) {
        let (sender, inputs) = mpsc::channel(INPUT_CAPACITY);
        let extensions = Self {
            environment,
            sender,
            greeted: watch::Sender::new(false),
            running: HashMap::new(),
            tasks: JoinSet::new(),
        };
        (extensions, ExtensionInputs(inputs))
    }

    /// Records that the host is greeted. Until then, no extension is read beyond its `register`.
    pub fn mark_greeted(&self) {
        self.greeted.send_if_modified(|greeted| !std::mem::replace(greeted, true));
    }

    /// Starts the executable at that place of the paths, as `process`.
    pub fn start(&mut self, process: CallId, place: usize) {
        while self.tasks.try_join_next().is_some() {}
        if let Some((_, built_in)) = self.environment.built_in.as_ref().filter(|(of, _)| *of == place) {
            let built_in = built_in.clone();
            return self.start_built_in(process, built_in);
        }
        let ExtensionEnvironment {
            paths,
            node,
            built_in: _,
            directory,
            dialect,
            max_frame,
            max_pending,
            gate,
            processes,
            secrets,
        } = &self.environment;
        let (queue, writer) = frame_queue::frame_queue(*max_pending);
        let node = node.as_ref().filter(|(of, _)| *of == place).map(|(_, node)| node.clone());
        let (answers, node) = node
            .map(|node| {
                let (answers, writer) = frame_queue::frame_queue(*max_pending);
                (answers, (node, writer))
            })
            .unzip();
        let (stop, stopped) = oneshot::channel();
        let max_frame = usize::try_from(*max_frame).unwrap_or(usize::MAX);
        let sender = self.sender.clone();
        let process_task = ExtensionProcess {
            path: paths.get(place).cloned().unwrap_or_default(),
            node,
            directory: directory.clone(),
            processes: processes.clone(),
            secrets: secrets.clone(),
            reader: StdoutReader::new(
                process,
                *dialect,
                max_frame,
                gate.clone(),
                self.greeted.subscribe(),
                sender.clone(),
            ),
            writer,
            stop: stopped,
        };
        self.running.insert(process, RunningProcess { queue, answers, built_in: None, stop });
        self.follow(process, tokio::spawn(process_task.run()));
    }

    /// Starts the part of this program that stands in place of a process.
    fn start_built_in(&mut self, process: CallId, built_in: Arc<dyn BuiltIn>) {
        let ExtensionEnvironment { directory, max_pending, gate, processes, secrets, .. } = &self.environment;
        let (queue, _) = frame_queue::frame_queue(*max_pending);
        let (sender, frames) = mpsc::unbounded_channel();
        let (stop, stopped) = oneshot::channel();
        let session = BuiltInSession {
            frames,
            output: BuiltInOutput {
                from: process,
                gate: gate.clone(),
                greeted: self.greeted.subscribe(),
                inputs: self.sender.clone(),
            },
            directory: directory.clone(),
            processes: processes.clone(),
            secrets: secrets.clone(),
        };
        let serving = built_in.run(session);
        let task = tokio::spawn(async move {
            tokio::select! {
                biased;
                Ok(text) = stopped => text,
                text = serving => text,
            }
        });
        self.running.insert(process, RunningProcess { queue, answers: None, built_in: Some(sender), stop });
        self.follow(process, task);
    }

    /// Reports the end of a process.
    fn follow(&mut self, process: CallId, process_task: JoinHandle<String>) {
        let sender = self.sender.clone();
        self.tasks.spawn(async move {
            let text =
                process_task.await.unwrap_or_else(|panic| format!("its exit could not be observed: {panic}"));
            let input = Input::ExtensionEnded { from: process, text };
            // The receiver may be gone.
            let _ = sender.send(Box::new(QueuedInput { input, share: None })).await;
        });
    }

    /// Queues a frame for a process; ignored if the process is gone. Ends a process that does not read.
    pub fn send(&mut self, process: CallId, frame: &ToExtension) {
        let Some(running) = self.running.get(&process) else { return };
        if let Some(built_in) = &running.built_in {
            // It takes every frame at once; it may have ended.
            let _ = built_in.send(frame.clone());
            return;
        }
        let queue = match (frame, &running.answers) {
            (ToExtension::Answer(_), Some(answers)) => answers,
            _ => &running.queue,
        };
        if let Err(QueueFull) = queue.push(frame) {
            let most = self.environment.max_pending;
            self.end(process, format!("it does not read: more than {most} bytes are pending"));
        }
    }

    /// Ends a process: closes its stdin and sends its group TERM, and KILL after 200 ms. Of its further output only
    /// the end is reported.
    pub fn stop(&mut self, process: CallId) {
        self.end(process, "it was stopped".to_owned());
    }

    /// Forgets a process that has ended.
    pub fn forget(&mut self, process: CallId) {
        self.running.remove(&process);
    }

    /// Closes the stdin of all processes, after their last frames, and waits briefly for their exit. Use
    /// [`Processes::end_all`] for the rest.
    pub async fn close(&mut self) {
        let stops: Vec<_> = self.running.drain().map(|(_, running)| running.stop).collect();
        let _ = timeout(GRACE, async { while self.tasks.join_next().await.is_some() {} }).await;
        drop(stops);
    }

    fn end(&mut self, process: CallId, text: String) {
        if let Some(running) = self.running.remove(&process) {
            // The process may just have ended by itself.
            let _ = running.stop.send(text);
        }
    }
}
