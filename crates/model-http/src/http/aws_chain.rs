//! Keys from the vendor's chain of providers: roles, single sign-on, processes, containers, machines.
//!
//! The chain reads the environment and the files of AWS by itself. Its requests go through the clients of this program, with
//! their proxies and certificate authorities.

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::{
    http::{HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
    runtime_components::RuntimeComponents,
};
use aws_smithy_types::body::SdkBody;
use pi_rpc_files::secrets::Secrets;
use pi_rpc_model::bedrock::AwsKeys;
use reqwest::Client;
use std::{
    error::Error,
    fmt,
    time::{Duration, SystemTime},
};
use tokio::{sync::Mutex, time::timeout};

/// Time before the end of keys at which new ones are taken.
const MARGIN: Duration = Duration::from_secs(300);
/// Time limit of a request where the chain names none.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The chain, and the keys that it has given.
#[derive(Default)]
pub struct KeyChain(Mutex<ChainState>);

#[derive(Default)]
struct ChainState {
    /// The profile of `auth.json` that the provider reads.
    profile: Option<String>,
    provider: Option<SharedCredentialsProvider>,
    /// The newest keys, and when they end.
    newest: Option<(AwsKeys, Option<SystemTime>)>,
}

// Keys must not reach logs.
impl fmt::Debug for KeyChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyChain").finish_non_exhaustive()
    }
}

impl KeyChain {
    /// Takes keys from the chain, or those that it has given while they are valid; they become `secrets`. `profile` replaces that
    /// of the environment.
    ///
    /// # Errors
    ///
    /// A text for the answer: nothing in the chain gives keys, or what does has failed.
    pub async fn keys(
        &self,
        clients: ChainClients,
        profile: Option<&str>,
        region: &str,
        secrets: &Secrets,
    ) -> Result<AwsKeys, String> {
        let mut state = self.0.lock().await;
        if state.profile.as_deref() != profile {
            *state = ChainState { profile: profile.map(str::to_owned), ..ChainState::default() };
        }
        let now = SystemTime::now();
        let is_valid = |end: &Option<SystemTime>| end.is_none_or(|end| now + MARGIN < end);
        if let Some((keys, _)) = state.newest.as_ref().filter(|(_, end)| is_valid(end)) {
            return Ok(keys.clone());
        }
        let provider = match &state.provider {
            Some(provider) => provider.clone(),
            None => provider(clients, profile, region).await?,
        };
        state.provider = Some(provider.clone());
        let found = provider
            .provide_credentials()
            .await
            .map_err(|error| format!("No AWS keys: {}", causes(&error)))?;
        let keys = AwsKeys {
            id: found.access_key_id().to_owned(),
            secret: found.secret_access_key().to_owned(),
            session_token: found.session_token().map(str::to_owned),
        };
        secrets.remember(&keys.secret);
        keys.session_token.iter().for_each(|token| secrets.remember(token));
        state.newest = Some((keys.clone(), found.expiry()));
        Ok(keys)
    }
}

async fn provider(
    clients: ChainClients,
    profile: Option<&str>,
    region: &str,
) -> Result<SharedCredentialsProvider, String> {
    let region = Region::new(region.to_owned());
    let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(clients).region(region);
    if let Some(profile) = profile {
        loader = loader.profile_name(profile);
    }
    let config = loader.load().await;
    config.credentials_provider().ok_or_else(|| "No AWS keys: the chain of AWS has no providers".to_owned())
}

/// Joins the causes of an error, the outermost first.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(found) = cause {
        text = format!("{text}: {found}");
        cause = found.source();
    }
    text
}

/// The clients for requests of the chain.
#[derive(Clone, Debug)]
pub struct ChainClients {
    /// For services behind HTTPS.
    pub outward: Client,
    /// For containers and machines, which are asked directly by plain HTTP.
    pub local: Client,
}

impl HttpClient for ChainClients {
    fn http_connector(&self, settings: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        let patience = settings.read_timeout().or(settings.connect_timeout()).unwrap_or(REQUEST_TIMEOUT);
        SharedHttpConnector::new(ChainConnector { clients: self.clone(), patience })
    }
}

/// The longest answer that is read, in bytes.
const MAX_BODY: usize = 4 * 1024 * 1024;

#[derive(Debug)]
struct ChainConnector {
    clients: ChainClients,
    patience: Duration,
}

impl HttpConnector for ChainConnector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let client =
            if request.uri().starts_with("http://") { &self.clients.local } else { &self.clients.outward };
        let (client, patience) = (client.clone(), self.patience);
        HttpConnectorFuture::new(async move {
            let answer = timeout(patience, send(client, request)).await;
            answer.unwrap_or_else(|late| Err(ConnectorError::timeout(late.into())))
        })
    }
}

async fn send(client: Client, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
    let request = request.try_into_http1x().map_err(|error| ConnectorError::user(error.into()))?;
    let (parts, body) = request.into_parts();
    let body = body.bytes().unwrap_or_default().to_vec();
    let mut request = reqwest::Request::try_from(http::Request::from_parts(parts, body))
        .map_err(|error| ConnectorError::user(error.into()))?;
    request.timeout_mut().take();
    let failed = |error: reqwest::Error| ConnectorError::io(error.without_url().into());
    let mut answer = client.execute(request).await.map_err(failed)?;
    let (status, headers) = (answer.status(), answer.headers().clone());
    let mut body = Vec::new();
    while let Some(piece) = answer.chunk().await.map_err(failed)? {
        body.extend_from_slice(&piece);
        if body.len() > MAX_BODY {
            let text = format!("the answer has more than {MAX_BODY} bytes");
            return Err(ConnectorError::other(text.into(), None));
        }
    }
    let mut response = http::Response::new(SdkBody::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    HttpResponse::try_from(response).map_err(|error| ConnectorError::other(error.into(), None))
}
