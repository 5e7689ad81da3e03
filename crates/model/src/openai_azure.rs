//! Models that are deployed at Azure: those of OpenAI over Responses (`azure-openai-responses`), and others over Chat
//! Completions.
//!
//! [`request()`] is a request of [`openai_responses`] to the address of a resource, with the name of a deployment in the
//! place of the model's id; [`completions()`] changes a request of Chat Completions likewise. Address and names come from
//! [`VARIABLES`].
//!
//! Source: the vendor's reference (Azure OpenAI v1 API); pi's `providers.md` (Azure OpenAI); pi source
//! (`azure-openai-responses`); observed.

use super::{
    context_room::answer_limit,
    openai::sampling,
    openai_responses::{self, Features, MIN_ANSWER_TOKENS, Variant, body, effort_or_none},
    request::{Credentials, HttpRequest, ModelRequest, Reader},
};
use pi_rpc_protocol::Model;
use serde_json::Value;

const BASE_URL: &str = "AZURE_OPENAI_BASE_URL";
const RESOURCE: &str = "AZURE_OPENAI_RESOURCE_NAME";
const API_VERSION: &str = "AZURE_OPENAI_API_VERSION";
const DEPLOYMENTS: &str = "AZURE_OPENAI_DEPLOYMENT_NAME_MAP";

/// Variables that a request depends on.
pub const VARIABLES: [&str; 4] = [BASE_URL, RESOURCE, API_VERSION, DEPLOYMENTS];

/// Version of the API unless a variable names another.
const DEFAULT_VERSION: &str = "v1";

/// Domains of resources, whose addresses may lack the path of the API.
const DOMAINS: [&str; 3] = [".openai.azure.com", ".cognitiveservices.azure.com", ".ai.azure.com"];

/// The path of the API at a resource.
const API_PATH: &str = "/openai/v1";

/// Paths in the address of a resource that stand for [`API_PATH`].
const SHORT_PATHS: [&str; 3] = ["", "/openai", "/openai/v1/responses"];

/// Builds a request of Responses, with the key in `api-key`.
pub fn request(request: &ModelRequest<'_>) -> HttpRequest {
    let credentials = request.credentials;
    let model = &request.endpoint.model;
    let version = credentials.variable(API_VERSION).unwrap_or(DEFAULT_VERSION);
    let mut url = below(&base_url(model, credentials).unwrap_or_default(), "/responses");
    if !url.contains("api-version=") {
        let joint = if url.contains('?') { '&' } else { '?' };
        url += &format!("{joint}api-version={version}");
    }
    let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
    match &credentials.key {
        Some(key) if credentials.bearer => {
            headers.push(("authorization".to_owned(), format!("Bearer {key}")))
        }
        Some(key) => headers.push(("api-key".to_owned(), key.clone())),
        None => {}
    }
    credentials.add_headers(&mut headers);
    let variant = Variant {
        model: deployment(model, credentials),
        effort: effort_or_none(request),
        item_effort: None,
        tokens: None,
        strict: Features::of(model).strict_mode.then_some(Value::Bool(false)),
    };
    let mut body = body(request, variant);
    if let Some(tokens) = answer_limit(request) {
        body.insert("max_output_tokens".into(), tokens.max(MIN_ANSWER_TOKENS).into());
    }
    body.extend(sampling(request));
    HttpRequest { url, headers, body: body.into(), signing: None }
}

/// Sends the `built` request of Chat Completions to the deployment.
pub fn completions(request: &ModelRequest<'_>, mut built: HttpRequest) -> HttpRequest {
    let model = &request.endpoint.model;
    built.url = below(&base_url(model, request.credentials).unwrap_or_default(), "/chat/completions");
    built.body["model"] = Value::from(deployment(model, request.credentials));
    built
}

/// Adds `path` to the path of an address, which may have a query.
fn below(base: &str, path: &str) -> String {
    match base.split_once('?') {
        Some((base, query)) => format!("{}{path}?{query}", base.trim_end_matches('/')),
        None => format!("{base}{path}"),
    }
}

/// Creates the reader of one answer of Responses.
pub fn reader() -> Box<dyn Reader> {
    openai_responses::reader()
}

/// Checks that there is an address.
///
/// # Errors
///
/// There is none, or it is no address of HTTP.
pub fn check(model: &Model, credentials: &Credentials) -> Result<(), String> {
    match base_url(model, credentials) {
        Some(url) if url.starts_with("https://") || url.starts_with("http://") => Ok(()),
        Some(_) => Err(format!(
            "The address of the Azure resource must begin with https:// or http://: check {BASE_URL}, or baseUrl in \
             models.json"
        )),
        None => Err(format!(
            "No Azure resource is configured.\n\nSet {BASE_URL} or {RESOURCE}, in the environment or in \"env\" of the \
             provider's entry in auth.json, or baseUrl in models.json"
        )),
    }
}

/// The name of the model's deployment: `id=name` in a list with commas, else the model's id.
fn deployment<'a>(model: &'a Model, credentials: &'a Credentials) -> &'a str {
    let names = credentials.variable(DEPLOYMENTS).unwrap_or_default();
    let pairs = names.split(',').filter_map(|pair| pair.split_once('='));
    // A later entry of the same id wins.
    let name = pairs
        .map(|(id, name)| (id.trim(), name.trim()))
        .rfind(|(id, name)| *id == model.id && !name.is_empty());
    name.map_or(&model.id, |(_, name)| name)
}

/// The address of the API; `None`: none is configured.
fn base_url(model: &Model, credentials: &Credentials) -> Option<String> {
    let given = credentials.variable(BASE_URL).map(str::to_owned);
    let of_resource =
        || Some(format!("https://{}.openai.azure.com{API_PATH}", credentials.variable(RESOURCE)?));
    let own = || Some(model.base_url.clone()).filter(|url| !url.trim().is_empty());
    given.or_else(of_resource).or_else(own).map(|url| with_api_path(&url))
}

/// Completes the address of a resource by the path of the API. Other addresses, as of a proxy, stay.
fn with_api_path(url: &str) -> String {
    let url = url.trim().trim_end_matches('/');
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let place = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let (host, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).to_ascii_lowercase();
    let is_resource = DOMAINS.iter().any(|domain| name.ends_with(domain));
    if is_resource && SHORT_PATHS.contains(&path.trim_end_matches('/')) {
        return format!("{scheme}://{host}{API_PATH}");
    }
    url.to_owned()
}
