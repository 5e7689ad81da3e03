//! Logins at providers: obtains tokens, renews them before they expire, and keeps them in `auth.json`.
//!
//! For programs that use logins in place of API keys: [`log_in`] leads a user through a login, [`store_entry`] keeps it, and
//! [`refresh_expiring`] is called before each request to a model.
//!
//! This crate sends no prompt and calls no model: its requests go to the vendors' endpoints for tokens, and to their lists of the
//! models that an account may use. What differs between providers is data,
//! [`pi_rpc_config::login_kinds`]. Tokens are never part of an error or a notice.
//!
//! The file is shared with pi: both change it under the same lock, and read it again once they hold that.
//!
//! - [`log_in`], [`LoginOptions`], [`Flow`], [`Notice`]: a login, in a browser on this machine or by a code.
//! - [`store_entry`], [`store_key`]: put a login or a key into the file.
//! - [`request`]: requests for tokens, and entries of `auth.json` from their answers; no IO.
//! - [`lock`], [`auth_file`]: the lock of `auth.json`, and its entries; `database`: those of omp's database.
//! - `client`, `device`, `browser`, [`callback`]: the ways to log in; `account_models`: the models that the account may use.
//! - [`refresh`](mod@refresh): renews the token of a provider before a request.
//!
//! ```
//! use pi_rpc_config::{Environment, login_kinds::login_kind};
//! use pi_rpc_login::request::{Names, build};
//! use serde_json::json;
//!
//! let kind = login_kind("anthropic").unwrap();
//! let stored = json!({ "type": "oauth", "refresh": "r-1", "access": "a-1", "expires": 0 });
//! let names = Names::new(kind, &Environment::default(), stored.as_object().unwrap());
//! let request = build(kind.refresh.as_ref().unwrap(), &names)?;
//! assert_eq!((request.method().as_str(), request.url().scheme()), ("POST", "https"));
//! let body = request.body().and_then(|body| body.as_bytes()).unwrap();
//! assert!(String::from_utf8_lossy(body).contains("r-1"));
//! # Ok::<(), String>(())
//! ```

mod account_models;
pub mod auth_file;
mod browser;
pub mod callback;
mod client;
mod database;
mod device;
pub mod lock;
pub mod refresh;
pub mod request;

pub use client::FlowError;
pub use refresh::{LoginError, finish_refreshes, refresh_expiring};

use pi_rpc_config::{
    Environment,
    login_kinds::{BrowserFlow, DeviceFlow, LoginKind},
};
use pi_rpc_files::secrets::Secrets;
use pi_rpc_model_http::http::Http;
use pi_rpc_protocol::JsonObject;
use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    path::Path,
};
use tokio::sync::mpsc;

/// What the user is to do. Neither text could log somebody else in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Open a page on this machine.
    OpenPage {
        /// Its address.
        page: String,
    },
    /// Open a page on any machine and enter a code.
    EnterCode {
        /// Its address.
        page: String,
        /// The code.
        code: String,
    },
}

/// A way to log in.
#[derive(Clone, Copy)]
pub enum Flow<'a> {
    /// In a browser on this machine.
    Browser(&'a BrowserFlow),
    /// By a code.
    Device(&'a DeviceFlow),
}

/// The kinds of [`Flow`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// In a browser on this machine.
    Browser,
    /// By a code.
    Device,
}

/// Chooses the way that is wanted, else the first that the provider offers; `None`: it offers none of that kind.
pub fn choose_flow(kind: &LoginKind, wanted: Option<Method>) -> Option<Flow<'_>> {
    let browser = kind.browser.as_ref().filter(|_| wanted != Some(Method::Device)).map(Flow::Browser);
    let device = || kind.device.as_ref().filter(|_| wanted != Some(Method::Browser)).map(Flow::Device);
    browser.or_else(device)
}

/// What a login needs beside its kind.
pub struct LoginOptions<'a> {
    /// Variables that name other addresses.
    pub environment: &'a Environment,
    /// Get every code and token.
    pub secrets: &'a Secrets,
    /// The id of this installation; `None`: a new one.
    pub device_id: Option<String>,
    /// Members that the entry begins with.
    pub seed: JsonObject,
    /// Addresses or codes that the user pastes.
    pub pasted: mpsc::Receiver<String>,
}

/// The variable that names the address of the listener for the browser, as in pi: a container needs another one.
const CALLBACK_VARIABLE: &str = "PI_OAUTH_CALLBACK_HOST";

/// Logs in, and returns the entry for `auth.json`. `notify` tells the user what to do.
///
/// # Errors
///
/// The user or the vendor refuses, cannot be reached, or takes too long.
pub async fn log_in(
    http: &Http,
    kind: &LoginKind,
    flow: Flow<'_>,
    options: LoginOptions<'_>,
    notify: &mut (dyn FnMut(Notice) + Send),
) -> Result<JsonObject, FlowError> {
    let LoginOptions { environment, secrets, device_id, seed, pasted } = options;
    let mut names = request::Names::new(kind, environment, &seed).with_secrets(secrets);
    names.set("deviceId", &device_id.unwrap_or_else(random_uuid));
    let access_names = names.clone();
    let entry = match flow {
        Flow::Device(flow) => device::log_in(http, kind, flow, names, seed, notify).await,
        Flow::Browser(flow) => {
            let address = environment.get(CALLBACK_VARIABLE).and_then(|address| address.parse().ok());
            let address = address.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
            let begun = browser::BrowserLogin::begin(http, kind, flow, names, address, notify).await?;
            begun.finish(http, seed, pasted).await
        }
    }?;
    let entry = account_models::add_account_models(http, kind, &access_names, entry, true).await?;
    for member in ["access", "refresh"] {
        entry
            .get(member)
            .and_then(|token| token.as_str())
            .into_iter()
            .for_each(|token| secrets.remember(token));
    }
    Ok(entry)
}

/// Puts a login into `auth.json`.
///
/// # Errors
///
/// Those of the lock and of the file.
pub async fn store_entry(path: &Path, provider: &str, entry: JsonObject) -> io::Result<()> {
    let file = auth_file::LockedAuthFile::open(path).await?;
    file.replace(provider, Some(entry))
}

/// Puts an API key into `auth.json`; variables that the provider's entry has stay.
///
/// # Errors
///
/// Those of the lock and of the file.
pub async fn store_key(path: &Path, provider: &str, key: &str) -> io::Result<()> {
    let file = auth_file::LockedAuthFile::open(path).await?;
    let mut entry =
        file.entries()?.get(provider).and_then(|entry| entry.as_object()).cloned().unwrap_or_default();
    entry.retain(|member, _| member == "env");
    entry.insert("type".to_owned(), "api_key".into());
    entry.insert("key".to_owned(), key.into());
    file.replace(provider, Some(entry))
}

/// Removes a login from `auth.json`; returns whether there was one.
///
/// # Errors
///
/// Those of the lock and of the file.
pub async fn remove_entry(path: &Path, provider: &str) -> io::Result<bool> {
    let file = auth_file::LockedAuthFile::open(path).await?;
    let has = file.entries()?.contains_key(provider);
    if has {
        file.replace(provider, None)?;
    }
    Ok(has)
}

/// A random id in the form of a UUID of version 4.
fn random_uuid() -> String {
    uuid::Builder::from_random_bytes(fastrand::u128(..).to_ne_bytes()).into_uuid().to_string()
}
