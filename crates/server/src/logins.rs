//! Logins over the wire: lists, obtains, stores and removes them for the engine.

use pi_rpc_config::{
    Environment, host_of,
    login_kinds::{LoginKind, login_kind, login_kinds},
    read_stored_logins,
};
use pi_rpc_engine::{CallId, Input, LoginEnd, LoginNotice, LoginStart};
use pi_rpc_files::secrets::Secrets;
use pi_rpc_login::{LoginOptions, Method, Notice, choose_flow, log_in, remove_entry, store_entry};
use pi_rpc_model_http::http::Http;
use pi_rpc_protocol::{JsonObject, LoginMethod, LoginProvider};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Where logins are stored, and how vendors are reached.
#[derive(Clone)]
pub struct LoginAccess {
    /// The connections.
    pub http: Arc<Http>,
    /// Get every code and token.
    pub secrets: Secrets,
    /// Variables that name other addresses.
    pub environment: Environment,
    /// The path of `auth.json`.
    pub auth_file: PathBuf,
    /// The id of this installation; `None`: a new one for each login.
    pub device_id: Option<String>,
}

/// Open logins.
#[derive(Default)]
pub struct Logins(HashMap<CallId, OpenLogin>);

struct OpenLogin {
    cancel: CancellationToken,
    pasted: mpsc::Sender<String>,
}

impl Logins {
    /// Begins a login; returns the work, which sends its notices and its end.
    pub fn begin(
        &mut self,
        start: LoginStart,
        access: LoginAccess,
        inputs: mpsc::Sender<Input>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (sender, pasted) = mpsc::channel(1);
        let cancel = CancellationToken::new();
        let call = start.call;
        self.0.insert(call, OpenLogin { cancel: cancel.clone(), pasted: sender });
        async move {
            let end = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(LoginEnd::Cancelled),
                entry = obtain(&start, &access, pasted, inputs.clone()) => entry,
            };
            let end = match end {
                Ok(entry) => store(&access, &start.provider, entry).await,
                Err(end) => end,
            };
            // Fails only when the loop has ended.
            let _ = inputs.send(Input::LoginEnd { call, end }).await;
        }
    }

    /// Passes what the user has pasted to a login.
    pub fn paste(&self, call: CallId, text: String) {
        if let Some(open) = self.0.get(&call) {
            // A second text changes nothing.
            let _ = open.pasted.try_send(text);
        }
    }

    /// Cancels a login; its end still comes.
    pub fn cancel(&mut self, call: CallId) {
        if let Some(open) = self.0.get(&call) {
            open.cancel.cancel();
        }
    }

    /// Forgets a login that has ended.
    pub fn forget(&mut self, call: CallId) {
        self.0.remove(&call);
    }

    /// Cancels every login.
    pub fn cancel_all(&mut self) {
        self.0.drain().for_each(|(_, open)| open.cancel.cancel());
    }
}

/// Lists the providers with a login, as `auth.json` has it now.
pub fn list(auth_file: &Path) -> Vec<LoginProvider> {
    let stored = read_stored_logins(auth_file);
    let provider = |(id, kind): (&str, &LoginKind)| {
        let ways =
            [(kind.browser.is_some(), LoginMethod::Browser), (kind.device.is_some(), LoginMethod::Device)];
        let methods: Vec<LoginMethod> =
            ways.into_iter().filter(|(has, _)| *has).map(|(_, way)| way).collect();
        let login = stored.get(id);
        LoginProvider {
            id: id.to_owned(),
            name: kind.name.clone(),
            available: !methods.is_empty(),
            authenticated: login.is_some_and(|login| login.is_usable),
            methods: Some(methods),
            expires: login.and_then(|login| login.expires).map(|ms| ms.max(0.0) as u64),
        }
    };
    login_kinds().map(provider).collect()
}

/// Removes what `auth.json` holds of a provider.
pub async fn log_out(access: LoginAccess, provider: String) -> Result<bool, String> {
    if !access.auth_file.exists() {
        return Ok(false);
    }
    remove_entry(&access.auth_file, &provider).await.map_err(|error| error.to_string())
}

async fn obtain(
    start: &LoginStart,
    access: &LoginAccess,
    pasted: mpsc::Receiver<String>,
    inputs: mpsc::Sender<Input>,
) -> Result<JsonObject, LoginEnd> {
    let kind = login_kind(&start.provider).ok_or(LoginEnd::Unknown)?;
    let method = start.method.map(|method| match method {
        LoginMethod::Browser => Method::Browser,
        LoginMethod::Device => Method::Device,
    });
    let flow = choose_flow(kind, method)
        .ok_or_else(|| LoginEnd::Failed("the provider offers no such way to log in".to_owned()))?;
    let mut seed = JsonObject::new();
    if let Some(server) = &start.server {
        seed.insert("enterpriseUrl".to_owned(), host_of(server).into());
    }
    let options = LoginOptions {
        environment: &access.environment,
        secrets: &access.secrets,
        device_id: access.device_id.clone(),
        seed,
        pasted,
    };
    let (sender, mut notices) = mpsc::unbounded_channel();
    let call = start.call;
    let forward = async {
        while let Some(notice) = notices.recv().await {
            let notice = match notice {
                Notice::OpenPage { page } => LoginNotice { url: page, code: None },
                Notice::EnterCode { page, code } => LoginNotice { url: page, code: Some(code) },
            };
            if inputs.send(Input::LoginNotice { call, notice }).await.is_err() {
                return;
            }
        }
    };
    let obtained = async move {
        // Owned here, so that the forwarding ends with the login. A notice that nothing forwards any more is lost.
        let mut notify = move |notice: Notice| drop(sender.send(notice));
        log_in(&access.http, kind, flow, options, &mut notify).await
    };
    let (entry, ()) = tokio::join!(obtained, forward);
    entry.map_err(|error| LoginEnd::Failed(error.to_string()))
}

/// Stores a login.
async fn store(access: &LoginAccess, provider: &str, entry: JsonObject) -> LoginEnd {
    match store_entry(&access.auth_file, provider, entry).await {
        Ok(()) => LoginEnd::Stored,
        Err(error) => LoginEnd::Failed(format!("{}: {error}", access.auth_file.display())),
    }
}
