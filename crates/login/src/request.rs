//! Requests for tokens, and entries of `auth.json` from their answers. No IO.

use pi_rpc_config::{
    Environment, host_of,
    login_kinds::{BodyForm, Expiry, LoginKind, MembersRule, TokenRequest},
};
use pi_rpc_files::secrets::Secrets;
use pi_rpc_model::chatgpt_token::chatgpt_account;
use pi_rpc_protocol::JsonObject;
use reqwest::{
    Method, Request, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Values of the names in texts of a [`LoginKind`].
#[derive(Clone, Default)]
pub struct Names {
    values: BTreeMap<String, String>,
    /// Codes and tokens among them, to be redacted.
    secrets: Secrets,
    /// Replaces the origins of all addresses: see [`ORIGIN_VARIABLE`].
    origin: Option<String>,
}

/// Variable that replaces the origins of the vendors' endpoints for logins by an address of this machine, such as that of
/// `mock-llm`.
const ORIGIN_VARIABLE: &str = "PI_RPC_TOKEN_ORIGIN";

/// Whether an origin is on this machine: tokens are sent to no other that a variable names.
fn is_local(origin: &str) -> bool {
    let port = origin.strip_prefix("http://127.0.0.1:").map(str::parse::<u16>);
    port.is_some_and(|port| port.is_ok())
}

impl Names {
    /// The names of the table, of the environment and of a credential.
    pub fn new(kind: &LoginKind, environment: &Environment, credential: &JsonObject) -> Self {
        let origin = environment.get(ORIGIN_VARIABLE).filter(|origin| is_local(origin));
        let mut names = Self { origin: origin.map(str::to_owned), ..Self::default() };
        names.set("clientId", &kind.client_id);
        names.set("scope", &kind.scopes.join(" "));
        if let Some(refresh) = credential.get("refresh").and_then(Value::as_str) {
            names.set_secret("refresh", refresh);
        }
        for (name, variable) in &kind.variables {
            let own = variable.credential.as_ref().and_then(|member| credential.get(member)?.as_str());
            let own = own.filter(|own| !own.is_empty()).map(host_or_text);
            let set = || variable.environment.iter().find_map(|variable| environment.get(variable));
            let value = own.or_else(|| set().map(|value| value.trim_end_matches('/').to_owned()));
            if let Some(value) = value.or_else(|| variable.default.clone()) {
                names.set(name, &value);
            }
        }
        names
    }

    /// Lets codes and tokens be added to these secrets.
    #[must_use]
    pub fn with_secrets(mut self, secrets: &Secrets) -> Self {
        self.secrets = secrets.clone();
        self
    }

    /// Adds the names that come from a credential which was not there before.
    pub fn add_credential(&mut self, kind: &LoginKind, credential: &JsonObject) {
        for (name, variable) in &kind.variables {
            let own = variable.credential.as_ref().and_then(|member| credential.get(member)?.as_str());
            if let Some(own) = own {
                self.set(name, &host_or_text(own));
            }
        }
    }

    /// Sets a name.
    pub fn set(&mut self, name: &str, value: &str) {
        self.values.insert(name.to_owned(), value.to_owned());
    }

    /// Sets a name whose value is a code or a token.
    pub fn set_secret(&mut self, name: &str, value: &str) {
        self.secrets.remember(value);
        self.set(name, value);
    }

    /// Redacts codes and tokens in a text.
    pub fn redact(&self, text: &str) -> String {
        self.secrets.redact(text).into_owned()
    }

    /// Fills in an address.
    ///
    /// # Errors
    ///
    /// A name has no value, or the address is none.
    pub fn url(&self, text: &str) -> Result<Url, String> {
        let text = self.fill(text)?;
        let url =
            Url::parse(&text).map_err(|_| format!("{text}: expected an http:// or https:// address"))?;
        match &self.origin {
            Some(origin) => {
                let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
                Url::parse(&format!("{origin}{}{query}", url.path())).map_err(|error| error.to_string())
            }
            None => Ok(url),
        }
    }

    /// Replaces every `{name}` in a text.
    ///
    /// # Errors
    ///
    /// A name has no value; the text says which.
    pub fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once('{') {
            let (name, after) = behind.split_once('}').unwrap_or((behind, ""));
            let value =
                self.values.get(name).ok_or_else(|| format!("`{name}`: expected a text, got nothing"))?;
            filled.push_str(before);
            filled.push_str(value);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

/// The host of an address, or a text that is none.
fn host_or_text(text: &str) -> String {
    if text.contains("://") { host_of(text) } else { text.to_owned() }
}

/// The address of a page, if it is one that a browser may open.
pub fn web_page(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.into())
}

/// Builds the HTTP request of `request`.
///
/// # Errors
///
/// A name has no value, or the address is none.
pub fn build(request: &TokenRequest, names: &Names) -> Result<Request, String> {
    let url = names.url(&request.url)?;
    let method = if request.body == BodyForm::None { Method::GET } else { Method::POST };
    let mut built = Request::new(method, url);
    let headers = built.headers_mut();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    for (name, value) in &request.headers {
        let wrong = |_| format!("the header {name:?} has characters that HTTP does not allow");
        let mut value = HeaderValue::from_str(&names.fill(value)?).map_err(|_| wrong(()))?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong(()))?, value);
    }
    let fields = request.fields.iter().map(|(name, text)| Ok((name.as_str(), names.fill(text)?)));
    let fields: Vec<(&str, String)> = fields.collect::<Result<_, String>>()?;
    let (kind, body) = match request.body {
        BodyForm::None => return Ok(built),
        BodyForm::Form => ("application/x-www-form-urlencoded", encode_form(&fields)),
        BodyForm::Json => {
            let object: JsonObject =
                fields.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect();
            ("application/json", Value::Object(object).to_string())
        }
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    *built.body_mut() = Some(body.into());
    Ok(built)
}

/// Encodes fields as a form, which is a query without its URL.
fn encode_form(fields: &[(&str, String)]) -> String {
    let url = Url::parse_with_params("form:", fields);
    url.ok().and_then(|url| url.query().map(str::to_owned)).unwrap_or_default()
}

/// Makes the entry of `auth.json` from the answer to a request for a token. Other members of the `previous` entry stay.
/// `now`: milliseconds since 1970.
///
/// # Errors
///
/// A member is missing or has another type; the text names it, without its value.
pub fn entry_of(
    kind: &LoginKind,
    answer: &JsonObject,
    previous: &JsonObject,
    now: f64,
) -> Result<JsonObject, String> {
    let rule = &kind.answer;
    let access = text(answer, &rule.access)?;
    let before = previous.get("refresh").and_then(Value::as_str);
    let refresh = match &rule.refresh {
        // A vendor that sends no new one lets the old one be used again.
        Some(member) if before.is_none() || answer.contains_key(member) => text(answer, member)?,
        _ => before.unwrap_or_default(),
    };
    let margin = rule.margin_seconds * 1000.0;
    let expires = match &rule.expires {
        Expiry::In { r#in, default } => now + seconds(answer, r#in, *default)? * 1000.0 - margin,
        Expiry::At { at } => seconds(answer, at, None)? * 1000.0 - margin,
        Expiry::After { after } => now + after * 1000.0 - margin,
        Expiry::Never(_) => NEVER,
    };
    let mut entry = previous.clone();
    entry.insert("type".to_owned(), "oauth".into());
    entry.insert("access".to_owned(), access.into());
    entry.insert("refresh".to_owned(), refresh.into());
    entry.insert("expires".to_owned(), json!(expires.floor() as i64));
    for member in &rule.copied {
        if let Some(value) = answer.get(member) {
            entry.insert(member.clone(), value.clone());
        }
    }
    match rule.members {
        Some(MembersRule::CodexAccount) => {
            let account = chatgpt_account(access).ok_or("`access_token`: it names no ChatGPT account")?;
            entry.insert("accountId".to_owned(), account.into());
        }
        Some(MembersRule::ChatgptScopes) => {
            let scopes: Vec<&str> = text(answer, "scope")?.split_whitespace().collect();
            if !scopes.contains(&DIRECT_USE) {
                return Err(format!("`scope`: expected {DIRECT_USE} in it; the account does not allow it"));
            }
            entry.insert("scopes".to_owned(), json!(scopes));
        }
        None => {}
    }
    Ok(entry)
}

/// The largest integer that JSON numbers hold exactly, which pi writes for a token that does not expire.
const NEVER: f64 = 9_007_199_254_740_991.0;

/// The scope without which a token of ChatGPT is of no use here.
const DIRECT_USE: &str = "chatgpt.tokens.use.direct";

fn text<'a>(answer: &'a JsonObject, member: &str) -> Result<&'a str, String> {
    let found = answer.get(member).unwrap_or(&Value::Null);
    let text = found.as_str().filter(|text| !text.is_empty());
    text.ok_or_else(|| format!("`{member}`: expected a text, got {}", kind_of(found)))
}

fn seconds(answer: &JsonObject, member: &str, default: Option<f64>) -> Result<f64, String> {
    let found = answer.get(member).unwrap_or(&Value::Null);
    let number = if found.is_null() { default } else { found.as_f64() };
    number
        .filter(|number| *number > 0.0)
        .ok_or_else(|| format!("`{member}`: expected a number of seconds, got {}", kind_of(found)))
}

/// The type of a value: the value itself may be a token.
const fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "another number",
        Value::String(_) => "another text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The vendor's reason in the body of a refusal: `error` and `error_description`, or whatever says it in words.
pub fn refusal_text(body: &str) -> String {
    let Ok(Value::Object(body)) = serde_json::from_str(body) else { return String::new() };
    let of = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let nested = || {
        let error = body.get("error")?;
        error.get("message").or_else(|| error.get("code"))?.as_str()
    };
    let parts = [
        of("error").or_else(nested),
        of("error_description").or_else(|| of("message")).or_else(|| of("detail")),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    parts.join(": ")
}
