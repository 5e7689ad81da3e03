//! Models that scripts run besides tools: classifiers, and models that make images.

use pi_rpc_config::{OtherModels, SharedOtherModels};
use pi_rpc_login::refresh_expiring;
use pi_rpc_model::other_models::{OtherModel, OtherRequest, Purpose};
use pi_rpc_model_http::http::{ExchangeLimits, Http};
use pi_rpc_protocol::Usage;
use reqwest::{
    Method, Request, Url,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::sleep;

/// How long a request may take: images take minutes.
const TIME: Duration = Duration::from_secs(600);

/// Bytes of an answer.
const BYTES: usize = 32 * 1024 * 1024;

/// How often a request is sent again that the provider has refused for now, or that could not be sent, and the first pause. Source: pi
/// 1.6.0 source, which sends only what was refused again.
const RETRIES: u32 = 2;
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Characters of a provider's error.
const MAX_ERROR: usize = 1000;

/// The models that scripts may run, as extensions change them.
pub struct ScriptModels {
    shared: SharedOtherModels,
    http: Arc<Http>,
}

/// The models of one script, and what their requests need.
pub(crate) struct CurrentModels {
    known: Arc<OtherModels>,
    http: Arc<Http>,
}

/// What a model has made of a script's request.
pub(crate) struct ModelResult {
    /// For the script, with the error, if there is one.
    pub value: Value,
    pub usage: Option<Usage>,
    pub error: Option<String>,
}

impl ScriptModels {
    /// These models, reached by `http`.
    pub const fn new(shared: SharedOtherModels, http: Arc<Http>) -> Self {
        Self { shared, http }
    }

    /// The models for a script that begins now.
    pub(crate) fn current(&self) -> CurrentModels {
        CurrentModels { known: self.shared.latest(), http: self.http.clone() }
    }
}

impl CurrentModels {
    /// The models for a purpose, of one provider or all.
    pub(crate) fn of<'m>(
        &'m self,
        purpose: Purpose,
        provider: Option<&str>,
    ) -> impl Iterator<Item = &'m OtherModel> {
        let of_provider = move |model: &&OtherModel| provider.is_none_or(|name| name == model.provider);
        self.known.models.iter().filter(move |model| model.purpose == purpose).filter(of_provider)
    }

    /// Whether there are credentials for the model.
    pub(crate) fn is_available(&self, model: &OtherModel) -> bool {
        self.known.keys.is_configured(&model.provider) && !self.address(model).contains('{')
    }

    fn address(&self, model: &OtherModel) -> String {
        self.known.keys.filled_address(&model.provider, &model.base_url)
    }

    /// Sends a context, whose shape is right, to a model. A failure is a result.
    pub(crate) async fn run(&self, model: &OtherModel, context: &Value) -> ModelResult {
        let (usage, made) = match self.request(model, context).await {
            Ok(answered) => answered,
            Err(error) => (None, Err(error)),
        };
        let mut value = json!({ "provider": model.provider, "model": model.id });
        let member = model.purpose.result_member();
        if let Some(usage) = &usage {
            value["usage"] = json!(usage);
        }
        let error = match made {
            Ok(made) => {
                value[member] = made;
                value["stopReason"] = "stop".into();
                None
            }
            Err(error) => {
                let error = self.known.keys.secrets().redact(&error).into_owned();
                value[member] = if model.purpose == Purpose::Image { json!([]) } else { json!({}) };
                value["stopReason"] = "error".into();
                value["errorMessage"] = error.as_str().into();
                Some(error)
            }
        };
        ModelResult { value, usage, error }
    }

    async fn request(
        &self,
        model: &OtherModel,
        context: &Value,
    ) -> Result<(Option<Usage>, Result<Value, String>), String> {
        let mut addressed = model.clone();
        addressed.base_url = self.address(model);
        let OtherRequest { url, headers, body } = addressed.request(context)?;
        let provider = &model.provider;
        refresh_expiring(&self.http, &self.known.keys, provider).await.map_err(|error| error.to_string())?;
        let (keys, named, id) = (self.known.keys.clone(), provider.clone(), model.id.clone());
        // A key may come from a command.
        let credentials =
            tokio::task::spawn_blocking(move || keys.extension_credentials(&named, Some(&id))).await;
        let (credentials, _) =
            credentials.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let key = credentials.key.ok_or_else(|| format!("No API key for provider: {provider}"))?;
        let url = Url::parse(&url).map_err(|error| format!("{provider}: the address {url}: {error}"))?;
        let mut request = Request::new(Method::POST, url);
        let own = [
            ("content-type".to_owned(), "application/json".to_owned()),
            ("authorization".to_owned(), format!("Bearer {key}")),
        ];
        let all = own.into_iter().chain(model.headers.clone()).chain(headers).chain(credentials.headers);
        for (name, value) in all {
            set_header(request.headers_mut(), &name, &value)?;
        }
        *request.body_mut() = Some(body.to_string().into());
        let body = self.send(model, request).await?;
        Ok(addressed.answer(context, &body))
    }

    /// Sends a request until it is answered, or there is no sense in sending it again.
    async fn send(&self, model: &OtherModel, request: Request) -> Result<Value, String> {
        let label = model.label();
        let limits = ExchangeLimits { bytes: BYTES, time: TIME };
        let mut retries = 0;
        loop {
            let again = request.try_clone().filter(|_| retries < RETRIES);
            let sent = again.as_ref().map_or_else(|| request.try_clone(), Request::try_clone);
            let sent = sent.ok_or("the request cannot be sent twice")?;
            let failure = match self.http.exchange_within(sent, limits).await {
                Ok(answer) if (200..300).contains(&answer.status) => {
                    return serde_json::from_str(&answer.body)
                        .map_err(|error| format!("{label} returned an unexpected response: {error}"));
                }
                Ok(answer) => {
                    let text = format!("{label} error ({}): {}", answer.status, reason(&answer.body));
                    if !model.is_transient(answer.status) {
                        return Err(text);
                    }
                    text
                }
                Err(failure) => {
                    let text = format!("{label} error: {}", failure.text);
                    if !failure.is_unsent {
                        return Err(text);
                    }
                    text
                }
            };
            if again.is_none() {
                return Err(failure);
            }
            sleep(RETRY_PAUSE * 2_u32.pow(retries)).await;
            retries += 1;
        }
    }
}

/// Replaces a header.
fn set_header(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), String> {
    let wrong = || format!("the header {name} has a name or a value that HTTP does not allow");
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
    headers.insert(name, HeaderValue::from_str(value).map_err(|_| wrong())?);
    Ok(())
}

/// What the body of a refusal says.
fn reason(body: &str) -> String {
    let parsed: Value = serde_json::from_str(body).unwrap_or_default();
    let error = &parsed["error"];
    let text = error["message"].as_str().or(error.as_str()).or(parsed["message"].as_str());
    text.unwrap_or(body).trim().chars().take(MAX_ERROR).collect()
}
