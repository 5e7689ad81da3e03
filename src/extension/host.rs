//! The extensions that run.

use super::{
    frame_queue::{self, QueueFull},
    node::NodeHost,
    process::ExtensionProcess,
    stdout::{QueuedInput, StdoutReader},
};
use crate::{
    engine::{CallId, Input},
    protocol::{Dialect, ToExtension},
    secrets::Secrets,
    tools::Processes,
};
use std::{collections::HashMap, path::PathBuf, time::Duration};
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinSet,
    time::timeout,
};

/// Inputs that wait for the loop, of all extensions together.
const INPUT_CAPACITY: usize = 64;

/// How long an extension may take to end by itself when the server ends.
const GRACE: Duration = Duration::from_millis(200);

/// What extensions run in.
pub struct ExtensionEnvironment {
    /// Their executables.
    pub paths: Vec<String>,
    /// The place among them of the process that hosts pi's extensions, if there is one, and what runs it.
    pub node: Option<(usize, NodeHost)>,
    /// The directory that they work in.
    pub directory: PathBuf,
    /// The dialect whose frames they may write.
    pub dialect: Dialect,
    /// The longest line that one may write, in bytes.
    pub max_frame: u64,
    /// Bytes that may wait for one. It is ended when more wait and it is told yet more; so a single frame may be longer.
    pub max_pending: usize,
    /// While `false`, nothing is heard of them.
    pub gate: watch::Receiver<bool>,
    /// Remembers what may still be alive.
    pub processes: Processes,
    /// Variables that they do not get, and what their last words must not say.
    pub secrets: Secrets,
}

/// The extensions that run, for the loop: it starts them, tells them something and ends them, and none of that waits.
pub struct Extensions {
    environment: ExtensionEnvironment,
    heard: mpsc::Sender<QueuedInput>,
    /// The host was greeted.
    greeted: watch::Sender<bool>,
    running: HashMap<CallId, Running>,
    tasks: JoinSet<()>,
}

/// What they say, for the loop.
pub struct ExtensionInputs(mpsc::Receiver<QueuedInput>);

struct Running {
    queue: frame_queue::FrameQueue,
    /// For answers, where they do not go to stdin.
    answers: Option<frame_queue::FrameQueue>,
    stop: oneshot::Sender<String>,
}

impl ExtensionInputs {
    /// The next of [`Input::Extension`], [`Input::ExtensionBadLine`], [`Input::ExtensionBadRegister`] and
    /// [`Input::ExtensionEnded`]; `None` when the [`Extensions`] are gone.
    pub async fn next(&mut self) -> Option<Input> {
        let QueuedInput { input, share } = self.0.recv().await?;
        drop(share);
        Some(input)
    }
}

impl Extensions {
    /// None runs yet.
    pub fn new(environment: ExtensionEnvironment) -> (Self, ExtensionInputs) {
        let (heard, inputs) = mpsc::channel(INPUT_CAPACITY);
        let extensions = Self {
            environment,
            heard,
            greeted: watch::Sender::new(false),
            running: HashMap::new(),
            tasks: JoinSet::new(),
        };
        (extensions, ExtensionInputs(inputs))
    }

    /// Every extension has registered, or cannot any more: until this is said, nothing is heard of one behind its
    /// `register`.
    pub fn greeted(&self) {
        self.greeted.send_if_modified(|greeted| !std::mem::replace(greeted, true));
    }

    /// Starts the executable at that place of the paths, as `process`.
    pub fn start(&mut self, process: CallId, place: usize) {
        while self.tasks.try_join_next().is_some() {}
        let ExtensionEnvironment {
            paths,
            node,
            directory,
            dialect,
            max_frame,
            max_pending,
            gate,
            processes,
            secrets,
        } = &self.environment;
        let (queue, waiting) = frame_queue::frame_queue(*max_pending);
        let node = node.as_ref().filter(|(of, _)| *of == place).map(|(_, node)| node.clone());
        let (answers, node) = node
            .map(|node| {
                let (answers, waiting) = frame_queue::frame_queue(*max_pending);
                (answers, (node, waiting))
            })
            .unzip();
        let (stop, stopped) = oneshot::channel();
        let max_frame = usize::try_from(*max_frame).unwrap_or(usize::MAX);
        let heard = self.heard.clone();
        let life = ExtensionProcess {
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
                heard.clone(),
            ),
            waiting,
            stop: stopped,
        };
        self.running.insert(process, Running { queue, answers, stop });
        let life = tokio::spawn(life.run());
        self.tasks.spawn(async move {
            let text = life.await.unwrap_or_else(|panic| format!("it was lost: {panic}"));
            let input = Input::ExtensionEnded { from: process, text };
            // A loop that is gone needs no end.
            let _ = heard.send(QueuedInput { input, share: None }).await;
        });
    }

    /// Writes a frame to a process; one that is gone hears nothing. One that has not read what it was told for long is
    /// ended.
    pub fn tell(&mut self, process: CallId, frame: &ToExtension) {
        let Some(running) = self.running.get(&process) else { return };
        let queue = match (frame, &running.answers) {
            (ToExtension::Answer(_), Some(answers)) => answers,
            _ => &running.queue,
        };
        if let Err(QueueFull) = queue.push(frame) {
            let most = self.environment.max_pending;
            self.end(process, format!("it does not read: more than {most} bytes wait for it"));
        }
    }

    /// Ends a process: its stdin is closed, and its group gets TERM, and KILL after 200 ms. What it says meanwhile is not
    /// heard; its end is.
    pub fn stop(&mut self, process: CallId) {
        self.end(process, "it was stopped".to_owned());
    }

    /// Forgets a process that has ended.
    pub fn ended(&mut self, process: CallId) {
        self.running.remove(&process);
    }

    /// For the end of the server: closes the stdin of all processes, behind what they were told last, and gives them a
    /// short while to end by themselves. Whatever is left afterwards is for [`Processes::end_all`].
    pub async fn close(&mut self) {
        let stops: Vec<_> = self.running.drain().map(|(_, running)| running.stop).collect();
        let _ = timeout(GRACE, async { while self.tasks.join_next().await.is_some() {} }).await;
        drop(stops);
    }

    fn end(&mut self, process: CallId, text: String) {
        if let Some(running) = self.running.remove(&process) {
            // A process that has just ended by itself needs nobody.
            let _ = running.stop.send(text);
        }
    }
}
