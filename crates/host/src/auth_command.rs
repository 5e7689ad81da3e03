//! Tokens that a program of the operator accepts (`--auth-command`).
//!
//! The program gets the token on stdin. Exit status 0 accepts it, with name and limits as JSON on stdout, or nothing; 1 refuses
//! it; anything else is a failure, which refuses the client and is logged. Answers are kept for [`KEPT`].

use super::{limits::TokenLimits, principal::Principal, token_file::name_of};
use pi_rpc_files::secrets::{ChildEnvironment, MASK, Secrets, search_forms};
use pi_rpc_processes::process_watcher::{self, WatchedGroup};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::HashMap,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process::Command,
    sync::Semaphore,
};

/// How long an answer counts, in both directions.
pub const KEPT: Duration = Duration::from_secs(30);

/// Answers that are kept.
const MAX_KEPT: usize = 4096;

/// How long the program may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Programs that run at once: anybody who reaches the port can start one.
const MAX_RUNNING: usize = 8;

/// The longest answer that is read, in bytes.
const MAX_ANSWER: u64 = 64 * 1024;

/// The exit status that refuses a token.
const REFUSED: i32 = 1;

/// The name and limits of an accepted token; `None`: it is refused.
pub type Verdict = Option<(String, TokenLimits)>;

/// A program that checks tokens.
#[derive(Debug)]
pub struct AuthCommand {
    program: PathBuf,
    environment: ChildEnvironment,
    kept: Mutex<HashMap<[u8; 32], (Instant, Verdict)>>,
    running: Semaphore,
}

/// What the program writes.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    name: Option<String>,
    #[serde(default)]
    limits: TokenLimits,
}

impl AuthCommand {
    /// Checks tokens by this program.
    pub fn new(program: PathBuf, environment: ChildEnvironment) -> Self {
        Self { program, environment, kept: Mutex::default(), running: Semaphore::new(MAX_RUNNING) }
    }

    /// Whether the program accepts a token with this SHA-256.
    ///
    /// # Errors
    ///
    /// The program fails, or its answer is none; the text does not have the token.
    pub async fn check(&self, token: &str, hash: [u8; 32]) -> Result<Verdict, String> {
        if let Some(kept) = self.kept(&hash) {
            return Ok(kept);
        }
        let _permit = self.running.acquire().await.map_err(|error| error.to_string())?;
        // Another connection may have asked meanwhile.
        if let Some(kept) = self.kept(&hash) {
            return Ok(kept);
        }
        let verdict = match self.run(token, &hash).await {
            Ok(Some((name, _))) if shows(&name, token) => Err(format!(
                "{}: `name`: expected a name that does not show the token",
                self.program.display()
            )),
            outcome => outcome.map_err(|error| without(&error, token)),
        };
        let verdict = verdict?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_KEPT {
            kept.retain(|_, (since, _)| since.elapsed() < KEPT);
        }
        if kept.len() < MAX_KEPT {
            kept.insert(hash, (Instant::now(), verdict.clone()));
        }
        Ok(verdict)
    }

    fn kept(&self, hash: &[u8; 32]) -> Option<Verdict> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, verdict) = kept.get(hash)?;
        (since.elapsed() < KEPT).then(|| verdict.clone())
    }

    async fn run(&self, token: &str, hash: &[u8; 32]) -> Result<Verdict, String> {
        let name = self.program.display();
        let mut command = Command::new(&self.program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        self.environment.withhold_keys(command.as_std_mut());
        let start = process_watcher::announce_start(command.as_std_mut());
        let mut child = command.kill_on_drop(true).spawn().map_err(|error| format!("{name}: {error}"))?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let _watched = group.map(|group| WatchedGroup::new(start, group));
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let write = async {
            if let Some(mut stdin) = stdin {
                // A program that does not read the token may accept it all the same.
                let _ = stdin.write_all(token.as_bytes()).await;
            }
        };
        let whole = async {
            let ((), answer, message) = tokio::join!(write, read(stdout), read(stderr));
            (answer, message, child.wait().await)
        };
        let ended = tokio::time::timeout(TIMEOUT, whole).await;
        if let Some(group) = group {
            // What the program has started ends with it.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let Ok((answer, message, status)) = ended else {
            return Err(format!("{name}: no answer within {TIMEOUT:?}"));
        };
        let status = status.map_err(|error| format!("{name}: {error}"))?;
        verdict(status, &answer, hash).map_err(|error| match message.lines().next() {
            Some(message) => format!("{name}: {error}: {message}"),
            None => format!("{name}: {error}"),
        })
    }
}

fn verdict(status: ExitStatus, answer: &str, hash: &[u8; 32]) -> Result<Verdict, String> {
    match status.code() {
        Some(0) => {}
        Some(REFUSED) => return Ok(None),
        _ => return Err(format!("expected exit status 0 or {REFUSED}, got {status}")),
    }
    let Answer { name, limits } = match answer.trim() {
        "" => Answer::default(),
        answer => {
            if let Ok(written) = serde_json::from_str::<Value>(answer) {
                TokenLimits::refuse_nulls(&written["limits"])?;
            }
            let mut deserializer = serde_json::Deserializer::from_str(answer);
            serde_path_to_error::deserialize(&mut deserializer)
                .map_err(|error| format!("`{}`: {}", error.path(), error.inner()))?
        }
    };
    limits.validate()?;
    let name = name.filter(|name| !name.is_empty());
    if let Some(name) = &name {
        Principal::check_name(name)?;
    }
    Ok(Some((name.unwrap_or_else(|| name_of(hash)), limits)))
}

async fn read(from: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(from) = from {
        // What was read before an error is judged.
        let _ = from.take(MAX_ANSWER).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a text shows the token, in any spelling.
fn shows(text: &str, token: &str) -> bool {
    let forms: Vec<String> = search_forms(token).collect();
    text == token || Secrets::default().redact_with(text, &forms) != text
}

/// The text without the token, in any spelling.
fn without(text: &str, token: &str) -> String {
    let forms: Vec<String> = search_forms(token).collect();
    Secrets::default().redact_with(&text.replace(token, MASK), &forms).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _, path::Path};

    fn command(dir: &Path, script: &str) -> AuthCommand {
        let program = dir.join("check");
        fs::write(&program, format!("#!/bin/sh\necho >> {}/runs\n{script}\n", dir.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        AuthCommand::new(program, ChildEnvironment::default())
    }

    #[tokio::test]
    async fn program_gives_name_and_limits() {
        let dir = tempfile::tempdir().unwrap();
        let script = r#"read -r token; [ "$token" = secret ] || exit 1
            printf '{"name":"a","limits":{"sessions":1}}'"#;
        let command = command(dir.path(), script);
        let limits = TokenLimits { sessions: Some(1), ..TokenLimits::default() };
        let accepted = Some(("a".to_owned(), limits));
        assert_eq!(command.check("secret", [1; 32]).await, Ok(accepted.clone()));
        assert_eq!(command.check("other", [2; 32]).await, Ok(None));
        // Both are kept.
        assert_eq!(command.check("secret", [1; 32]).await, Ok(accepted));
        assert_eq!(command.check("other", [2; 32]).await, Ok(None));
        assert_eq!(fs::read_to_string(dir.path().join("runs")).unwrap().lines().count(), 2);
    }

    #[tokio::test]
    async fn no_answer_means_no_limits() {
        let dir = tempfile::tempdir().unwrap();
        let accepted = Some((format!("token-{}", "01".repeat(32)), TokenLimits::default()));
        assert_eq!(command(dir.path(), "exit 0").check("secret", [1; 32]).await, Ok(accepted));
    }

    #[tokio::test]
    async fn failures_are_told_without_token() {
        let dir = tempfile::tempdir().unwrap();
        for (script, expected) in [
            ("cat >&2; exit 7", "expected exit status 0 or 1, got exit status: 7: ***"),
            ("base64 >&2; exit 7", "expected exit status 0 or 1, got exit status: 7: ***"),
            (
                r#"printf '{"name":"local"}'"#,
                "name: \"local\" is that of clients without a token; expected another one",
            ),
            (r#"printf '{"name":"%s!"}' "$(cat)""#, "`name`: expected a name that does not show the token"),
            (
                "echo '{\"root\":[]}'",
                "`root`: unknown field `root`, expected `name` or `limits` at line 1 column 7",
            ),
            (
                "echo '{\"limits\":{\"tools\":null}}'",
                "limits.tools: expected a limit, got null; leave it out where there is none",
            ),
            ("kill -9 $$", "expected exit status 0 or 1, got signal: 9 (SIGKILL)"),
        ] {
            let error = command(dir.path(), script).check("secret-token", [1; 32]).await.unwrap_err();
            assert_eq!(error, format!("{}: {expected}", dir.path().join("check").display()));
        }
    }
}
