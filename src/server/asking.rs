//! Asking a provider: who asks, the request, and the answer as it comes.

use crate::{
    config::{Keys, NoCredentials},
    engine::{ModelCall, Purpose},
    model::{
        api::Api,
        http::{Http, HttpOptions},
        request::{Endpoint, HttpRequest, ModelRequest, RequestOptions},
        types::StreamEvent,
    },
    protocol::ThinkingLevel,
};
use std::sync::Arc;
use tokio::sync::mpsc;

/// What all requests have in common.
pub struct Vendors {
    /// The connections.
    pub http: Http,
    /// Who proves what.
    pub keys: Keys,
    /// The user's settings.
    pub options: RequestOptions,
    /// How long to wait for a provider, and how often to try.
    pub http_options: HttpOptions,
}

/// One call of a model over HTTP.
pub struct Asking {
    /// What all requests have in common.
    pub vendors: Arc<Vendors>,
    /// Whom to ask.
    pub endpoint: Arc<Endpoint>,
    /// What to ask.
    pub call: Box<ModelCall>,
}

impl Asking {
    /// Asks, and sends the answer's steps to `events`; the last one ends it. Dropped, the request ends at once.
    pub async fn run(self, events: mpsc::Sender<StreamEvent>) {
        let vendors = self.vendors.clone();
        // A key may come from a command, and a long conversation takes a while to convert.
        let stops = StopsCommand(&vendors.keys);
        let asked = tokio::task::spawn_blocking(move || self.request()).await;
        drop(stops);
        let (request, api) = match asked {
            Ok(Ok(ready)) => ready,
            Ok(Err(message)) => return fail(&events, message).await,
            Err(panic) => return fail(&events, format!("The request could not be made: {panic}")).await,
        };
        vendors.http.ask(request, api.reader(), &vendors.http_options, events).await;
    }

    fn request(&self) -> Result<(HttpRequest, Api), String> {
        let model = &self.endpoint.model;
        let unspoken = || NoCredentials::Api(model.api.clone()).to_string();
        let api = Api::parse(&model.api).ok_or_else(unspoken)?;
        let credentials = self.vendors.keys.credentials(model).map_err(|error| error.to_string())?;
        let request = ModelRequest {
            endpoint: &self.endpoint,
            credentials: &credentials,
            most_tokens: match self.call.purpose {
                Purpose::Turn => None,
                Purpose::Summary(tokens) => Some(tokens),
            },
            level: self.call.level.unwrap_or(ThinkingLevel::Off),
            system_prompt: &self.call.system_prompt,
            messages: &self.call.messages,
            tools: &self.call.tools,
            forced_tool: self.call.forced_tool.as_deref(),
            session_id: &self.call.session_id,
            options: &self.vendors.options,
        };
        Ok((api.request(&request), api))
    }
}

/// Ends the command that prints a key when nobody waits for it any more.
struct StopsCommand<'a>(&'a Keys);

impl Drop for StopsCommand<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

async fn fail(events: &mpsc::Sender<StreamEvent>, message: String) {
    // Nobody hears it when the call was given up.
    let _ = events.send(StreamEvent::Fail { message, retry_after: None }).await;
}
