//! Asks pi's own extensions of the user whether a project is trusted, before anything of the project is read: a process of
//! its own loads them, gets one hook and ends. The frames of this hook are between this program and the
//! Node host alone.

use super::{named_commands::sources, node::NodeHost, spawn::spawn_host};
use pi_rpc_config::ExtensionDecision;
use pi_rpc_files::secrets::Secrets;
use pi_rpc_processes::{Group, Processes};
use pi_rpc_protocol::Dialect;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    thread,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::Child,
    time::timeout,
};

/// How long the extensions may take to load and to decide.
const LIMIT: Duration = Duration::from_secs(30);

/// How long the process may take to print its last messages.
const LAST_MESSAGES: Duration = Duration::from_millis(500);

/// The most bytes that are read of each pipe of the process.
const OUTPUT: u64 = 1 << 20;

/// The hook, and its id.
const HOOK: &str = "project_trust";

/// Everything that the extensions are told.
#[derive(Clone, Debug)]
pub struct TrustQuestion {
    /// The dialect, for its version of the extension API.
    pub dialect: Dialect,
    /// The project.
    pub directory: PathBuf,
    /// The agent directory.
    pub agent_directory: PathBuf,
    /// The extensions' paths, in order.
    pub members: Vec<String>,
    /// The command line, for the flags of extensions.
    pub arguments: Vec<String>,
}

/// What an extension's handler of `project_trust` has returned.
#[derive(Debug, Deserialize)]
pub struct TrustAnswer {
    trusted: bool,
    /// Whether the decision is to be saved.
    #[serde(default)]
    pub remember: bool,
    path: String,
}

impl TrustAnswer {
    /// The decision, for the approval of the project.
    pub fn decision(&self) -> ExtensionDecision {
        ExtensionDecision { approves: self.trusted, by: self.path.clone() }
    }
}

/// Whether the extension at `path` may have a handler of `project_trust`: its source, with what it imports by path, names
/// the event, or it may import packages, which are not looked into.
pub fn may_decide_trust(path: &Path) -> bool {
    const PACKAGES: &str = "node_modules";
    let (texts, is_whole) = sources(path);
    let has_packages =
        |folder: &Path| folder.file_name().is_some_and(|it| it == PACKAGES) || folder.join(PACKAGES).is_dir();
    !is_whole || texts.iter().any(|text| text.contains(HOOK)) || path.ancestors().any(has_packages)
}

/// Asks the extensions; `None`: none has decided. Blocks.
///
/// # Errors
///
/// A text for the user: they could not be asked, or took too long.
pub fn ask_project_trust(
    node: &NodeHost,
    question: &TrustQuestion,
    secrets: &Secrets,
) -> Result<Option<TrustAnswer>, String> {
    // The caller may run inside of a runtime, which must not be blocked by another.
    thread::scope(|scope| {
        let asked = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|error| error.to_string())?.block_on(ask(node, question, secrets))
        });
        asked.join().unwrap_or_else(|_| Err("a defect of this program".to_owned()))
    })
}

async fn ask(
    node: &NodeHost,
    question: &TrustQuestion,
    secrets: &Secrets,
) -> Result<Option<TrustAnswer>, String> {
    let unpacked = node.unpack();
    let unpacked =
        unpacked.map_err(|error| format!("the program that hosts it cannot be unpacked: {error}"))?;
    // Nothing answers queries yet: the other end is closed at once.
    let (answers, _) = std::io::pipe().map_err(|error| error.to_string())?;
    let (directory, environment) = (&question.directory, secrets.child_environment());
    let processes = Processes::new();
    let (mut child, group) =
        spawn_host(node, &unpacked.main, answers.into(), directory, &environment, &processes)?;
    let answered = timeout(LIMIT, exchange(&mut child, question, secrets)).await;
    end(child, group).await;
    answered.unwrap_or_else(|_| Err(format!("no decision within {} s", LIMIT.as_secs())))
}

/// Sends the question, and reads up to its answer.
async fn exchange(
    child: &mut Child,
    question: &TrustQuestion,
    secrets: &Secrets,
) -> Result<Option<TrustAnswer>, String> {
    let (Some(mut stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err("its pipes are missing".to_owned());
    };
    let TrustQuestion { dialect, directory, agent_directory, members, arguments } = question;
    let members: Vec<Value> = members.iter().map(|path| json!({ "path": path })).collect();
    let hello = json!({
        "type": "hello", "protocol": 1, "dialect": dialect.as_str(), "cwd": directory,
        "agentDirectory": agent_directory, "maxFrame": OUTPUT, "members": members, "arguments": arguments,
        "api": dialect.record().extension_api.as_str(), "version": env!("CARGO_PKG_VERSION"),
        "projectTrusted": false,
    });
    let hook = json!({"type": "hook", "id": HOOK, "hook": {"type": HOOK, "cwd": directory}});
    let mut messages = Vec::new();
    let mut stderr = stderr.take(OUTPUT);
    let answer = {
        let asked = async {
            let lines = format!("{hello}\n{hook}\n");
            stdin.write_all(lines.as_bytes()).await.map_err(|error| error.to_string())?;
            read_answer(stdout).await
        };
        let printed = async {
            // What came before a failure is logged all the same.
            let _ = stderr.read_to_end(&mut messages).await;
            std::future::pending().await
        };
        tokio::select! {
            answer = asked => answer,
            () = printed => Ok(None),
        }
    };
    // The end of its input ends the process. What it has started may hold its stderr open.
    drop(stdin);
    let _ = timeout(LAST_MESSAGES, stderr.read_to_end(&mut messages)).await;
    let messages = String::from_utf8_lossy(&messages);
    for line in secrets.redact(&messages).lines().filter(|line| !line.trim().is_empty()) {
        tracing::warn!("{HOOK}: {line}");
    }
    answer
}

async fn read_answer(stdout: tokio::process::ChildStdout) -> Result<Option<TrustAnswer>, String> {
    let mut stdout = BufReader::new(stdout.take(OUTPUT));
    let mut line = Vec::new();
    while stdout.read_until(b'\n', &mut line).await.map_err(|error| error.to_string())? > 0 {
        let frame: Value = serde_json::from_slice(&line).map_err(|error| error.to_string())?;
        line.clear();
        match (frame["type"].as_str(), frame["id"].as_str()) {
            (Some("done"), Some(HOOK)) => {
                let result = frame.get("result").filter(|result| !result.is_null()).cloned();
                return result.map(serde_json::from_value).transpose().map_err(|error| error.to_string());
            }
            (Some("failed"), Some(HOOK)) => return Err(frame["error"].to_string()),
            (Some("error"), _) => {
                let path = frame["extensionPath"].as_str().unwrap_or_default();
                let text = frame["error"].as_str().unwrap_or_default();
                tracing::warn!("{path}: {HOOK}: {text}");
            }
            _ => {}
        }
    }
    Err("the process has ended without a decision".to_owned())
}

async fn end(mut child: Child, group: Group) {
    tokio::join!(group.end(), async { drop(child.wait().await) });
    group.release();
}
