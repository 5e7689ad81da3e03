//! The endpoints that `schema/vendors/logins.json` defines, and the one that a request is for.

use super::LoginAnswer;
use axum::http::{HeaderMap, Method, Uri, header};
use jsonschema::Validator;
use reqwest::Url;
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// One endpoint.
pub(super) struct Endpoint {
    pub provider: String,
    pub plays: String,
    method: String,
    pub path: String,
    /// Media type of the body; `None`: the members are those of the query.
    content: Option<String>,
    headers: Vec<String>,
    schema: Validator,
    /// `grant_type` that it expects, to tell it from others at the same path.
    grant: Option<String>,
    /// `client_id` that it expects.
    client: Option<String>,
}

static ENDPOINTS: LazyLock<Vec<Endpoint>> = LazyLock::new(|| {
    let text = include_str!("../../../../schema/vendors/logins.json");
    let schema: Value = serde_json::from_str(text).expect("our own schema is JSON");
    let defined = schema["$defs"].as_object().into_iter().flatten();
    defined.map(|(_, definition)| Endpoint::new(definition)).collect()
});

impl Endpoint {
    /// All endpoints.
    pub fn all() -> &'static [Self] {
        &ENDPOINTS
    }

    fn new(definition: &Value) -> Self {
        let text = |name: &str| definition[name].as_str().map(str::to_owned);
        let constant = |name: &str| definition["properties"][name]["const"].as_str().map(str::to_owned);
        let headers = definition["x-headers"].as_array().into_iter().flatten();
        Self {
            provider: text("x-provider").unwrap_or_default(),
            plays: text("x-plays").unwrap_or_default(),
            method: text("x-method").unwrap_or_default(),
            path: text("x-path").unwrap_or_default(),
            content: text("x-content"),
            headers: headers.filter_map(Value::as_str).map(str::to_owned).collect(),
            schema: jsonschema::draft202012::new(definition).expect("our own schema is one"),
            grant: constant("grant_type"),
            client: constant("client_id"),
        }
    }

    /// Whether a refresh replaces the token that it was made with.
    pub fn rotates(&self) -> bool {
        self.headers.is_empty()
    }

    /// The member with the device code.
    pub fn device_member(&self) -> &'static str {
        if self.provider == "openai-codex" { "device_auth_id" } else { "device_code" }
    }
}

/// Finds the endpoint of a request, and the members that it was sent.
pub(super) fn find(
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<(&'static Endpoint, Map<String, Value>), LoginAnswer> {
    let invalid = |text: String| LoginAnswer::refusal("invalid_request", text);
    let here: Vec<&Endpoint> = ENDPOINTS.iter().filter(|endpoint| endpoint.path == uri.path()).collect();
    let mut here: Vec<&Endpoint> =
        here.into_iter().filter(|endpoint| *endpoint.method == *method.as_str()).collect();
    let Some(first) = here.first() else {
        return Err(invalid(format!("Not allowed to {method} on {}.", uri.path())));
    };
    let own = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let own = own.split(';').next().unwrap_or_default().trim();
    // Two vendors may have the same path and different forms.
    if first.content.is_some() {
        here.retain(|endpoint| endpoint.content.as_deref() == Some(own));
    }
    let Some(first) = here.first() else {
        return Err(invalid(format!("Content-Type: expected that of the vendor, got {own:?}.")));
    };
    let fields = fields(first.content.as_deref(), uri, body).map_err(invalid)?;
    let named = |wanted: &Option<String>, name: &str| {
        wanted.as_deref().is_none_or(|wanted| fields.get(name).and_then(Value::as_str) == Some(wanted))
    };
    let meant = here.iter().filter(|it| named(&it.grant, "grant_type"));
    let Some(endpoint) = meant.clone().find(|it| named(&it.client, "client_id")).or(meant.clone().next())
    else {
        return Err(LoginAnswer::refusal("unsupported_grant_type", "grant_type"));
    };
    if let Some(missing) = endpoint.headers.iter().find(|name| !headers.contains_key(name.as_str())) {
        return Err(invalid(format!("The header {missing} is missing.")));
    }
    let object = Value::Object(fields);
    // The first fault, without the value: it may be a token.
    let fault = endpoint.schema.iter_errors(&object).next().map(|error| {
        let path = error.instance_path().to_string();
        if path.is_empty() {
            error.masked().to_string()
        } else {
            format!("{}: not accepted", path.trim_start_matches('/'))
        }
    });
    match (fault, object) {
        (None, Value::Object(fields)) => Ok((endpoint, fields)),
        (fault, _) => Err(invalid(fault.unwrap_or_default())),
    }
}

fn fields(content: Option<&str>, uri: &Uri, body: &[u8]) -> Result<Map<String, Value>, String> {
    if content.is_some_and(|content| content.ends_with("/json")) {
        return serde_json::from_slice(body).map_err(|_| "The body is no JSON object.".to_owned());
    }
    let text = match content {
        Some(_) => String::from_utf8_lossy(body).into_owned(),
        None => uri.query().unwrap_or_default().to_owned(),
    };
    let form = Url::parse(&format!("form:?{text}")).map_err(|error| error.to_string())?;
    Ok(form.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned().into())).collect())
}
