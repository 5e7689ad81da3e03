//! Renews the token of a provider before a request.

use super::{
    account_models::add_account_models,
    auth_file::LockedAuthFile,
    client::now_ms,
    database::LeasedLogin,
    request::{Names, build, entry_of, refusal_text},
};
use pi_rpc_config::{
    Keys,
    login_kinds::{LoginKind, login_kind},
};
use pi_rpc_model_http::http::{DEFECT, Exchanged, Http};
use pi_rpc_protocol::JsonObject;
use serde_json::Value;
use std::{
    io,
    path::PathBuf,
    sync::{Arc, LazyLock},
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{sleep, timeout},
};

/// Time limit of a refresh, with its retries. Source: pi 1.5.2.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(15);

/// Time limit of the list of an account's models.
const MODELS_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a login cannot be used. The texts tell the user what would help, and hold no token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    /// The vendor refuses a new token.
    #[error("The login of {provider} has expired, and {reason}.\n\nLog in again: pi-rpc login {provider}")]
    Refused {
        /// The provider.
        provider: String,
        /// Who refused it, and with which words.
        reason: String,
    },
    /// The vendor cannot be reached, or its answer is unusable.
    #[error("The login of {provider} has expired and could not be renewed: {reason}")]
    Unavailable {
        /// The provider.
        provider: String,
        /// The reason.
        reason: String,
    },
    /// The file that holds the login cannot be locked, read or written.
    #[error("The login of {provider} could not be renewed: {}: {reason}", path.display())]
    File {
        /// The provider.
        provider: String,
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
}

impl LoginError {
    fn of_file(provider: &str, path: PathBuf, error: &io::Error) -> Self {
        Self::File { provider: provider.to_owned(), path, reason: error.to_string() }
    }
}

/// Number of refreshes whose new token is not in the file yet.
static RUNNING: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

struct RunningGuard;

impl RunningGuard {
    fn new() -> Self {
        RUNNING.send_modify(|running| *running += 1);
        Self
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        RUNNING.send_modify(|running| *running -= 1);
    }
}

/// Waits until every new token is in the file: at many vendors the old one is worth nothing any more.
pub async fn finish_refreshes() {
    let mut running = RUNNING.subscribe();
    // The limit is the refresh's own, with some time for the file.
    let _ =
        timeout(REFRESH_TIMEOUT + Duration::from_secs(1), running.wait_for(|running| *running == 0)).await;
}

/// The exclusive hold on a stored login: the lock of `auth.json`, or the lease of a row of the database.
enum HeldLogin {
    File(LockedAuthFile),
    Row(LeasedLogin),
    /// There is no such login any more.
    Gone,
}

impl HeldLogin {
    /// Waits for the lock or the lease.
    async fn hold(keys: &Keys, provider: &str) -> io::Result<Self> {
        match keys.database_row(provider) {
            Some((path, row)) => Ok(LeasedLogin::acquire(&path, row).await?.map_or(Self::Gone, Self::Row)),
            None => LockedAuthFile::open(&keys.auth_file()).await.map(Self::File),
        }
    }

    /// The login, as an entry of `auth.json`.
    fn entry(&self, provider: &str) -> io::Result<Option<JsonObject>> {
        match self {
            Self::File(file) => Ok(file.entries()?.get(provider).and_then(Value::as_object).cloned()),
            Self::Row(row) => row.entry().map(Some),
            Self::Gone => Ok(None),
        }
    }

    /// Runs `work`, and renews the lock of `auth.json` meanwhile; a lease lasts longer than any `work`.
    async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        match self {
            Self::File(file) => file.lock().hold(work).await,
            Self::Row(_) | Self::Gone => work.await,
        }
    }

    fn replace(&self, provider: &str, entry: JsonObject) -> io::Result<()> {
        match self {
            Self::File(file) => file.replace(provider, Some(entry)),
            Self::Row(row) => row.replace(entry),
            Self::Gone => Ok(()),
        }
    }
}

/// Renews the login of `provider` in its file and in `keys` if it expires soon; does nothing with any other credential.
/// The token that another process has put into the file meanwhile is taken instead.
///
/// What has begun under the lock ends even if this future is dropped.
///
/// # Errors
///
/// The login has expired and there is no new token. A login that only expires soon is used on.
pub async fn refresh_expiring(http: &Arc<Http>, keys: &Keys, provider: &str) -> Result<(), LoginError> {
    let Some(kind) = login_kind(provider).filter(|_| keys.expires_soon(provider)) else { return Ok(()) };
    let renewed = match HeldLogin::hold(keys, provider).await {
        Err(error) => Err(LoginError::of_file(provider, keys.login_file(provider), &error)),
        Ok(held) => {
            let refresh =
                Refresh { http: http.clone(), keys: keys.clone(), provider: provider.to_owned(), kind };
            let running = RunningGuard::new();
            let task = tokio::spawn(async move {
                let _running = running;
                refresh.run(held).await
            });
            let lost =
                |_| LoginError::Unavailable { provider: provider.to_owned(), reason: DEFECT.to_owned() };
            task.await.map_err(lost).flatten()
        }
    };
    match renewed {
        Err(error) if !keys.has_expired(provider) => {
            tracing::warn!("{}", keys.secrets().redact(&error.to_string()));
            Ok(())
        }
        renewed => renewed,
    }
}

struct Refresh {
    http: Arc<Http>,
    keys: Keys,
    provider: String,
    kind: &'static LoginKind,
}

impl Refresh {
    async fn run(self, mut held: HeldLogin) -> Result<(), LoginError> {
        let of_file =
            |error| LoginError::of_file(&self.provider, self.keys.login_file(&self.provider), &error);
        let entry = held.entry(&self.provider).map_err(of_file)?;
        self.keys.set_login(&self.provider, entry.as_ref());
        let Some(entry) = entry.filter(|_| self.keys.expires_soon(&self.provider)) else { return Ok(()) };
        let renewed = held.during(self.request(&entry)).await?;
        // Known before anything can be said of it; used even if the file cannot be written.
        self.keys.set_login(&self.provider, Some(&renewed));
        let written = tokio::task::spawn_blocking({
            let provider = self.provider.clone();
            move || held.replace(&provider, renewed)
        });
        let written = written.await.unwrap_or_else(|_| Err(io::Error::other(DEFECT)));
        if let Err(error) = written {
            tracing::warn!("{}", of_file(error));
        }
        Ok(())
    }

    /// Obtains a new token.
    async fn request(&self, entry: &JsonObject) -> Result<JsonObject, LoginError> {
        let provider = || self.provider.clone();
        let unavailable = |reason: String| {
            let reason = self.keys.secrets().redact(&reason).into_owned();
            LoginError::Unavailable { provider: provider(), reason }
        };
        let Some(request) = &self.kind.refresh else { return Ok(entry.clone()) };
        let names = Names::new(self.kind, self.keys.environment(), entry).with_secrets(self.keys.secrets());
        let request = build(request, &names).map_err(unavailable)?;
        let host = request.url().host_str().unwrap_or_default().to_owned();
        let tries = self.exchange(request);
        let answer = timeout(REFRESH_TIMEOUT, tries).await;
        let late = || unavailable(format!("Connection error: {host} was silent for {REFRESH_TIMEOUT:?}"));
        let Exchanged { status, body } = answer.map_err(|_| late())?.map_err(unavailable)?;
        let said = self.keys.secrets().redact(&refusal_text(&body)).into_owned();
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        match status {
            200..=299 => {
                let answer = serde_json::from_str::<JsonObject>(&body);
                let answer =
                    answer.map_err(|_| unavailable(format!("{host} did not answer with a JSON object")))?;
                let renewed = entry_of(self.kind, &answer, entry, now_ms())
                    .map_err(|reason| unavailable(format!("the answer of {host}: {reason}{said}")))?;
                Ok(self.with_models(&names, renewed).await)
            }
            400..=499 if status != 408 && status != 429 => Err(LoginError::Refused {
                provider: provider(),
                reason: format!("{host} refuses to renew it ({status}{said})"),
            }),
            _ => Err(unavailable(format!("{host}: {status}{said}"))),
        }
    }

    /// Adds the models of the account; those from before stay if they cannot be listed.
    async fn with_models(&self, names: &Names, entry: JsonObject) -> JsonObject {
        let listed = add_account_models(&self.http, self.kind, names, entry.clone(), false);
        match timeout(MODELS_TIMEOUT, listed).await {
            Ok(Ok(entry)) => entry,
            Ok(Err(_)) | Err(_) => entry,
        }
    }

    async fn exchange(&self, request: reqwest::Request) -> Result<Exchanged, String> {
        let mut tried = 0;
        loop {
            let again = request.try_clone().filter(|_| tried < self.kind.refresh_retries);
            let Some(again) = again else { return self.http.exchange(request).await };
            match self.http.exchange(again).await {
                Ok(answer) if answer.status != 429 && answer.status < 500 => return Ok(answer),
                _ => sleep(Duration::from_secs(1 << tried)).await,
            }
            tried += 1;
        }
    }
}
