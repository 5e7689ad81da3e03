//! Calls a model over HTTP: resolves the credential, builds the request, runs the hooks, forwards the stream.

use super::{provider_hooks::ProviderHooks, sent_images::ImageFitter};
use pi_rpc_config::{CredentialError, Keys};
use pi_rpc_engine::{ModelCall, Purpose, RequestHooks};
use pi_rpc_login as login;
use pi_rpc_model::{
    anthropic::{
        Threads,
        federation::{Federation, TOKEN_BETA},
    },
    api::Api,
    google::vertex::{AccountSource, QUOTA_PROJECT},
    http_options::HttpOptions,
    openai_codex,
    request::{Endpoint, HttpRequest, ModelRequest, Reader, RequestOptions, SocketRequest},
    retry::RetryPolicy,
    types::StreamEvent,
};
use pi_rpc_model_http::http::{AnswerWatch, DEFECT, Http, json_size};
use pi_rpc_protocol::{
    AgentMessage, AssistantContent, InputKind, MessageContent, Model, ThinkingLevel, UserContent, UserMessage,
};
use std::{borrow::Cow, pin::Pin, sync::Arc};
use tokio::sync::mpsc;

/// Bytes of conversation up to which a request is built on the loop's thread: some 50 µs.
const INLINE_BYTES: usize = 64 * 1024;

/// Bytes that a message takes besides its texts.
const MESSAGE_OVERHEAD: usize = 200;

/// Connections, credentials and settings that all calls share.
pub struct ProviderAccess {
    /// The pooled connections.
    pub http: Arc<Http>,
    /// The credentials.
    pub keys: Keys,
    /// Request settings of the user.
    pub options: RequestOptions,
    /// Timeouts and retries.
    pub http_options: HttpOptions,
    /// Makes images fit.
    pub images: ImageFitter,
    /// The conversations that vendors hold.
    pub threads: Arc<Threads>,
}

/// An account of Google that authorizes a request.
struct GoogleAccount {
    /// Where it is.
    source: AccountSource,
    /// The project that pays, where it is not the account's.
    quota_project: Option<String>,
}

/// A request in the words of its API.
struct BuiltRequest {
    request: HttpRequest,
    /// Reads the answer.
    reader: Box<dyn Reader>,
    /// The account that authorizes it, where no key does.
    account: Option<GoogleAccount>,
    /// The exchange for a token of Anthropic that authorizes it, where no key does.
    federation: Option<Federation>,
    /// The thinking level that the answer keeps.
    effort: Option<String>,
}

/// One call of a model over HTTP.
pub struct ProviderCall {
    /// Shared by all calls.
    pub access: Arc<ProviderAccess>,
    /// The model and its address.
    pub endpoint: Arc<Endpoint>,
    /// The conversation, the tools and the level.
    pub call: Box<ModelCall>,
}

impl ProviderCall {
    /// Sends the request and forwards the stream to `events`, up to its last event. Dropping the future closes the
    /// connection. Runs those hooks of extensions that `hooks` names.
    pub async fn run(
        self,
        events: mpsc::Sender<StreamEvent>,
        provider_hooks: ProviderHooks,
        hooks: RequestHooks,
    ) {
        let access = self.access.clone();
        let model = self.endpoint.model.clone();
        let api = Api::parse(&model.api);
        let is_warming = self.call.purpose == Purpose::Warming;
        let session = (self.call.purpose == Purpose::Turn).then(|| self.call.session_id.clone());
        let provider = &self.endpoint.model.provider;
        let renewed = tokio::select! {
            renewed = login::refresh_expiring(&access.http, &access.keys, provider) => renewed,
            () = events.closed() => return,
        };
        if let Err(error) = renewed {
            return fail(&events, error.to_string()).await;
        }
        let built = match self.is_cheap() {
            true => self.build_request(),
            // A key may come from a command, and a long conversation takes a while to convert.
            false => {
                let _stops = KeyCommandGuard(&access.keys);
                let built = tokio::task::spawn_blocking(move || self.build_request()).await;
                built.unwrap_or_else(|_| Err(format!("The request could not be made: {DEFECT}")))
            }
        };
        let BuiltRequest { mut request, reader, account, federation, effort } = match built {
            Ok(ready) => ready,
            Err(message) => return fail(&events, message).await,
        };
        if let Some(effort) = effort {
            // Fails only when the call was dropped.
            let _ = events.send(StreamEvent::Effort(effort)).await;
        }
        if let Some(account) = account {
            let authorized = tokio::select! {
                authorized = access.http.google_authorization(&account.source, &access.http_options) => authorized,
                () = events.closed() => return,
            };
            match authorized {
                Ok(authorized) => authorized.authorize(&mut request.headers, account.quota_project),
                Err(message) => return fail(&events, message).await,
            }
        }
        if let Some(federation) = federation {
            let token = tokio::select! {
                token = access.http.federated_token(&federation) => token,
                () = events.closed() => return,
            };
            match token {
                Ok(token) => add_federated_token(&mut request.headers, &token),
                Err(message) => return fail(&events, message).await,
            }
        }
        let own: Vec<_> = request.headers.clone();
        let request = tokio::select! {
            request = provider_hooks.run_request_hooks(hooks, request) => request,
            () = events.closed() => return,
        };
        // Headers that an extension has added may hold a key.
        for (_, value) in request.headers.iter().filter(|header| !own.contains(header)) {
            access.keys.secrets().remember(value);
        }
        let ((heads, shown), (raw, streamed)) = (mpsc::channel(1), mpsc::channel(1));
        let watch =
            AnswerWatch { heads: hooks.response.then_some(heads), events: hooks.stream.then_some(raw) };
        let is_turn = session.is_some();
        let (request, reader) = match session {
            Some(session) => access.threads.join(&session, &model, request, reader),
            None => (request, reader),
        };
        let options = match is_warming {
            true => &HttpOptions {
                retry: RetryPolicy { retries: 0, ..RetryPolicy::default() },
                ..access.http_options.clone()
            },
            false => &access.http_options,
        };
        let exchange: Pin<Box<dyn Future<Output = ()> + Send>> = match socket_of(api, &request) {
            Some(mut socket) => {
                // The connection that is kept, and what it goes on behind, are those of the conversation.
                socket.key = socket.key.filter(|_| is_turn);
                Box::pin(access.http.stream_socket_answer(socket, request, reader, options, events, watch))
            }
            None => Box::pin(access.http.stream_watched_answer(request, reader, options, events, watch)),
        };
        let hooks = provider_hooks.run_stream_hooks(streamed, &model);
        tokio::join!(exchange, provider_hooks.run_response_hooks(shown), hooks);
    }

    /// Whether building the request costs less than handing it to another thread.
    fn is_cheap(&self) -> bool {
        let mut room = INLINE_BYTES;
        let has_room = |message: &Arc<AgentMessage>| {
            room = room.saturating_sub(estimated_bytes(message));
            room > 0
        };
        self.call.messages.iter().all(has_room) && !self.access.keys.may_run_command(&self.endpoint.model)
    }

    fn build_request(&self) -> Result<BuiltRequest, String> {
        let model = &self.endpoint.model;
        let unspoken = || CredentialError::Api(model.api.clone()).to_string();
        let api = Api::parse(&model.api).ok_or_else(unspoken)?;
        let credentials = self.access.keys.credentials(model).map_err(|error| error.to_string())?;
        let account = api.account_source(&credentials)?.map(|source| GoogleAccount {
            source,
            quota_project: credentials.variable(QUOTA_PROJECT).map(str::to_owned),
        });
        let address = credentials.base_url.clone().unwrap_or_else(|| self.access.keys.address(model));
        let endpoint = match address == model.base_url {
            true => Cow::Borrowed(&*self.endpoint),
            false => {
                let model = Model { base_url: address, ..model.clone() };
                Cow::Owned(Endpoint { model, ..(*self.endpoint).clone() })
            }
        };
        let sees_images = !self.access.options.blocks_images && model.input.contains(&InputKind::Image);
        let messages = match sees_images {
            true => self.access.images.fit(&self.call.messages),
            false => Cow::Borrowed(&self.call.messages[..]),
        };
        let request = ModelRequest {
            endpoint: &endpoint,
            credentials: &credentials,
            max_answer_tokens: self.call.purpose.max_tokens(),
            level: self.call.level.unwrap_or(ThinkingLevel::Off),
            system_prompt: &self.call.system_prompt,
            messages: &messages,
            has_system_messages: self.call.has_system_messages,
            tools: &self.call.tools,
            forced_tool: self.call.forced_tool.as_deref(),
            session_id: match self.call.purpose {
                // No later request begins like that of a summary.
                Purpose::Summary => "",
                Purpose::Turn | Purpose::Extension(_) | Purpose::Warming => &self.call.session_id,
            },
            options: &self.access.options,
        };
        let effort = api.kept_effort(&request).map(str::to_owned);
        let federation = Federation::of(&endpoint.model, &credentials);
        Ok(BuiltRequest {
            request: api.request(&request),
            reader: api.reader_for(model),
            account,
            federation,
            effort,
        })
    }
}

/// The WebSocket that may take the place of the request.
fn socket_of(api: Option<Api>, request: &HttpRequest) -> Option<SocketRequest> {
    let drawn = || format!("{:032x}", fastrand::u128(..));
    (api == Some(Api::OpenaiCodexResponses)).then(|| openai_codex::socket::socket(request, &drawn()))
}

/// Adds the token, and the feature that it needs. A header of the user stays.
fn add_federated_token(headers: &mut Vec<(String, String)>, token: &str) {
    headers.push(("authorization".to_owned(), format!("Bearer {token}")));
    match headers.iter_mut().find(|(name, _)| name == "anthropic-beta") {
        Some((_, betas)) if betas.split(',').any(|beta| beta.trim() == TOKEN_BETA) => {}
        Some((_, betas)) => *betas = format!("{betas},{TOKEN_BETA}"),
        None => headers.push(("anthropic-beta".to_owned(), TOKEN_BETA.to_owned())),
    }
}

/// Estimates the size of a message; images and rare roles count as [`INLINE_BYTES`].
fn estimated_bytes(message: &AgentMessage) -> usize {
    let block = |block: &UserContent| match block {
        UserContent::Text(text) => text.text.len(),
        UserContent::Image(_) => INLINE_BYTES,
    };
    let content_bytes = |block: &AssistantContent| match block {
        AssistantContent::Text(text) => text.text.len(),
        AssistantContent::Thinking(thinking) => thinking.thinking.len(),
        AssistantContent::RedactedThinking(redacted) => redacted.data.len(),
        AssistantContent::ToolCall(call) => call.arguments.values().map(json_size).sum(),
    };
    let content: usize = match message {
        AgentMessage::User(UserMessage { content: MessageContent::Text(text), .. }) => text.len(),
        AgentMessage::User(UserMessage { content: MessageContent::Blocks(blocks), .. }) => {
            blocks.iter().map(block).sum()
        }
        AgentMessage::ToolResult(result) => result.content.iter().map(block).sum(),
        AgentMessage::Assistant(answer) => answer.content.iter().map(content_bytes).sum(),
        _ => INLINE_BYTES,
    };
    content + MESSAGE_OVERHEAD
}

/// Ends the command that prints a key when the call is dropped.
struct KeyCommandGuard<'a>(&'a Keys);

impl Drop for KeyCommandGuard<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

async fn fail(events: &mpsc::Sender<StreamEvent>, message: String) {
    // Fails only when the call was dropped.
    let _ = events.send(StreamEvent::Fail { message, retry_after: None }).await;
}
