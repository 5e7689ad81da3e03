//! Google's Vertex AI (`google-vertex`): the Gemini API at another address, with a key or with a Google account.
//!
//! Source: the vendor's client library (`@google/genai`) and API reference; pi source (`google-vertex`).

use super::{body, headers};
use crate::request::{Credentials, HttpRequest, ModelRequest};
use pi_rpc_protocol::Model;

/// The variable that names the file of an account.
const FILE: &str = "GOOGLE_APPLICATION_CREDENTIALS";
const LOCATION: &str = "GOOGLE_CLOUD_LOCATION";
/// Variables that name the project; the first that is set counts.
const PROJECTS: [&str; 2] = ["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"];
const HOME: &str = "HOME";
/// Variables that name the metadata server of the machine; the first that is set counts.
const METADATA_HOSTS: [&str; 2] = ["GCE_METADATA_HOST", "GCE_METADATA_IP"];
/// The metadata server of Google's machines.
const USUAL_METADATA_HOST: &str = "169.254.169.254";
/// What a token of the machine allows.
const CLOUD_SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The project that pays, where it is not the account's.
pub const QUOTA_PROJECT: &str = "GOOGLE_CLOUD_QUOTA_PROJECT";

/// Variables that a request depends on.
pub const VARIABLES: [&str; 8] =
    [FILE, LOCATION, PROJECTS[0], PROJECTS[1], HOME, QUOTA_PROJECT, METADATA_HOSTS[0], METADATA_HOSTS[1]];

/// Where `gcloud auth application-default login` writes the account, in the home directory.
const USUAL_FILE: &str = ".config/gcloud/application_default_credentials.json";

/// The part of an address that stands for the location.
const PLACEHOLDER: &str = "{location}";

/// Stands for a key in configurations of pi that use an account.
const ACCOUNT_MARKER: &str = "gcp-vertex-credentials";

/// Locations of several regions, with an address of their own.
const MULTI_REGIONS: [&str; 2] = ["eu", "us"];

/// Builds the request, which has no authorization yet where an account is used.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    let key = key(request.credentials).map(str::to_owned);
    let url = format!(
        "{}/{}:streamGenerateContent?alt=sse",
        folder(&request.endpoint.model, request.credentials),
        resource(&request.endpoint.model.id)
    );
    let credentials = Credentials { key, ..request.credentials.clone() };
    let request = ModelRequest { credentials: &credentials, ..*request };
    HttpRequest { url, headers: headers(&request), body: body(&request), signing: None }
}

/// Where the account is that authorizes requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSource {
    /// Its file; `None`: there is no home directory.
    pub file: Option<String>,
    /// Whether a variable names the file; else the machine's own account is used where the file does not exist.
    pub is_named: bool,
    /// The metadata server, which gives tokens of the machine's own account; `None`: the usual one.
    pub metadata_host: Option<String>,
}

impl AccountSource {
    /// The address at which the metadata server gives tokens.
    pub fn metadata_url(&self) -> String {
        let host = self.metadata_host.as_deref().unwrap_or(USUAL_METADATA_HOST);
        let host = host.trim_start_matches("http://").trim_end_matches('/');
        format!(
            "http://{host}/computeMetadata/v1/instance/service-accounts/default/token?scopes={CLOUD_SCOPE}"
        )
    }

    /// The text for a missing account.
    pub fn missing(&self) -> String {
        format!("Vertex AI needs an account: set {FILE} to its file, or use an API key")
    }
}

/// Where the account is that authorizes requests; `None`: a key does.
///
/// # Errors
///
/// There is no key, and no project or no location is set.
pub fn account_source(credentials: &Credentials) -> Result<Option<AccountSource>, String> {
    if key(credentials).is_some() {
        return Ok(None);
    }
    if project(credentials).is_none() {
        return Err(format!("Vertex AI needs a project: set {}, or use an API key.", PROJECTS[0]));
    }
    if credentials.variable(LOCATION).is_none() {
        return Err(format!("Vertex AI needs a location: set {LOCATION} (for example to global)."));
    }
    let usual = || Some(format!("{}/{USUAL_FILE}", credentials.variable(HOME)?));
    let named = credentials.variable(FILE).map(str::to_owned);
    let host = METADATA_HOSTS.into_iter().find_map(|name| credentials.variable(name));
    Ok(Some(AccountSource {
        is_named: named.is_some(),
        file: named.or_else(usual),
        metadata_host: host.map(str::to_owned),
    }))
}

/// The key, if it is none of the words that stand for an account.
fn key(credentials: &Credentials) -> Option<&str> {
    let key = credentials.key.as_deref()?.trim();
    let is_placeholder = key.starts_with('<') && key.ends_with('>');
    Some(key).filter(|key| !key.is_empty() && *key != ACCOUNT_MARKER && !is_placeholder)
}

fn project(credentials: &Credentials) -> Option<&str> {
    PROJECTS.into_iter().find_map(|name| credentials.variable(name))
}

/// The address of the service with its version and, at Google's own addresses, the project.
fn folder(model: &Model, credentials: &Credentials) -> String {
    let base = model.base_url.trim().trim_end_matches('/');
    if !base.is_empty() && !base.contains(PLACEHOLDER) {
        return if has_version(base) { base.to_owned() } else { format!("{base}/v1") };
    }
    let (Some(project), Some(location), None) =
        (project(credentials), credentials.variable(LOCATION), key(credentials))
    else {
        return "https://aiplatform.googleapis.com/v1".to_owned();
    };
    let host = match location {
        "global" => "aiplatform.googleapis.com".to_owned(),
        region if MULTI_REGIONS.contains(&region) => format!("aiplatform.{region}.rep.googleapis.com"),
        region => format!("{region}-aiplatform.googleapis.com"),
    };
    format!("https://{host}/v1/projects/{project}/locations/{location}")
}

/// Whether a part of the address's path is a version, such as `v1beta1`.
fn has_version(base: &str) -> bool {
    let is_version = |part: &str| {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        part.strip_prefix('v').is_some_and(|number| {
            let (number, beta) = number.split_once("beta").unwrap_or((number, ""));
            !number.is_empty() && digits(number) && digits(beta)
        })
    };
    base.split_once("://").map_or(base, |(_, rest)| rest).split('/').skip(1).any(is_version)
}

/// The path of a model below the project.
fn resource(id: &str) -> String {
    let is_path = ["publishers/", "projects/", "models/"].iter().any(|start| id.starts_with(start));
    match id.split_once('/') {
        _ if is_path => id.to_owned(),
        Some((publisher, model)) => format!("publishers/{publisher}/models/{model}"),
        None => format!("publishers/google/models/{id}"),
    }
}
