//! Renews expired logins at the vendor and in `auth.json`, once for all processes.

use super::{auth::Login, auth_file::LockedAuthFile, login_service::LoginService};
use crate::{
    model::http::{Http, TokenRequest},
    protocol::JsonObject,
    secrets::Secrets,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::time::{interval, timeout};

/// How long before its end a token is renewed, in milliseconds: a request may take a while.
const AHEAD_MS: f64 = 5.0 * 60.0 * 1000.0;
/// Time limit of the vendor's answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// Interval in which the lock's time is renewed.
const KEEP_INTERVAL: Duration = Duration::from_secs(2);

/// Logins that this process has renewed, by provider.
#[derive(Default)]
pub struct RenewedLogins(Mutex<BTreeMap<String, Login>>);

impl RenewedLogins {
    /// Whether the provider's token would be used as it is, so that [`RenewedLogins::token`] does not block.
    pub fn is_fresh(&self, provider: &str, login: &Login) -> bool {
        let Ok(renewed) = self.0.try_lock() else { return false };
        !renewed.get(provider).unwrap_or(login).expires_within(AHEAD_MS)
    }

    /// The token of a login, renewed if it ends soon. Blocks until the vendor has answered, up to some 45 s.
    ///
    /// # Errors
    ///
    /// Why the login cannot be renewed. A token that has not ended yet is used all the same.
    pub fn token(
        &self,
        provider: &str,
        login: &Login,
        auth_file: &Path,
        origin: Option<&str>,
        secrets: &Secrets,
    ) -> Result<String, String> {
        // Held meanwhile: two requests must not use the same refresh token.
        let mut renewed: MutexGuard<'_, _> = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let current = renewed.get(provider).unwrap_or(login);
        if !current.expires_within(AHEAD_MS) {
            return Ok(current.access().to_owned());
        }
        let found = match LoginService::of(provider) {
            Some(service) => renew(service, provider, auth_file, origin, secrets),
            None => Err("this version does not know how".to_owned()),
        };
        match found {
            Ok(login) => {
                let token = login.access().to_owned();
                renewed.insert(provider.to_owned(), login);
                Ok(token)
            }
            Err(reason) if current.expires_within(0.0) => Err(reason),
            Err(reason) => {
                tracing::warn!(
                    "the login of {provider} was not renewed: {reason}; it is valid for some minutes"
                );
                Ok(current.access().to_owned())
            }
        }
    }
}

/// Renews the login in the file, unless another process has done so.
fn renew(
    service: &LoginService,
    provider: &str,
    auth_file: &Path,
    origin: Option<&str>,
    secrets: &Secrets,
) -> Result<Login, String> {
    let of_file = |error: io::Error| format!("{}: {error}", auth_file.display());
    let file = LockedAuthFile::lock(auth_file).map_err(of_file)?;
    let gone = || format!("{}: there is no login of {provider} any more", auth_file.display());
    let entry = file.read(provider).map_err(of_file)?.ok_or_else(gone)?;
    let current = learn(&entry, secrets)?;
    if !current.expires_within(AHEAD_MS) {
        return Ok(current);
    }
    let answer = exchange(service.request(&entry, origin)?, &file)
        .map_err(|error| secrets.redact(&error).into_owned())?;
    let renewed = service.renew(&entry, &answer, now_ms())?;
    let login = learn(&renewed, secrets)?;
    match file.replace(provider, &entry, renewed) {
        Ok(true) => Ok(login),
        Ok(false) => learn(&file.read(provider).map_err(of_file)?.ok_or_else(gone)?, secrets),
        Err(error) => {
            // The old refresh token may be of no use any more, but this process can go on.
            tracing::error!("{}: {error}; the renewed login of {provider} is lost", auth_file.display());
            Ok(login)
        }
    }
}

/// Parses a login, and redacts its tokens from now on.
fn learn(entry: &JsonObject, secrets: &Secrets) -> Result<Login, String> {
    let login: Option<Login> = serde_json::from_value(Value::Object(entry.clone())).ok();
    let login = login.filter(|login| matches!(login, Login::Oauth { .. }));
    let login = login.ok_or("the entry in auth.json is no login any more")?;
    login.tokens().for_each(|token| secrets.remember(token));
    Ok(login)
}

/// Sends the request, and keeps the lock meanwhile.
fn exchange(request: TokenRequest, file: &LockedAuthFile) -> Result<Value, String> {
    let answer = async {
        let mut keeps = interval(KEEP_INTERVAL);
        let http = Http::default();
        let mut answer = std::pin::pin!(timeout(PATIENCE, http.exchange(request)));
        loop {
            tokio::select! {
                answer = &mut answer => break answer.unwrap_or_else(|_| Err("the vendor did not answer in time".to_owned())),
                _ = keeps.tick() => file.keep(),
            }
        }
    };
    // A thread and a runtime of its own: the exchange is not given up with the request that needs it, as the vendor may
    // have replaced the refresh token already.
    let (status, body) = thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|error| error.to_string())?.block_on(answer)
        });
        worker.join().unwrap_or_else(|_| Err("a bug in this program".to_owned()))
    })?;
    let body: Value = serde_json::from_str(&body).unwrap_or_default();
    match status {
        200..300 => Ok(body),
        status => Err(refusal(status, &body)),
    }
}

/// Names the reason of a refusal, without the rest of the body, which may hold tokens.
fn refusal(status: u16, body: &Value) -> String {
    let error = &body["error"];
    let code = error.as_str().or(error["code"].as_str()).or(error["type"].as_str());
    let text = body["error_description"].as_str().or(error["message"].as_str()).or(body["message"].as_str());
    let parts = [Some(status.to_string()), code.map(str::to_owned), text.map(str::to_owned)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
