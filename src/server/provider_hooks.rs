//! What extensions are asked about while a provider is asked.

use crate::{
    engine::{CallId, Input, RequestHooks},
    model::{http::ResponseHead, request::HttpRequest},
    protocol::{HookEvent, ProviderHeadersHook, ProviderRequestHook, ProviderResponseHook},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::{mpsc, oneshot};

/// Asks them, by way of the loop. Clones are one.
#[derive(Clone)]
pub struct ProviderHooks {
    inputs: mpsc::Sender<Input>,
    asked: Arc<Mutex<OutstandingHooks>>,
}

#[derive(Default)]
struct OutstandingHooks {
    /// The number of the last one.
    last: CallId,
    waiting: HashMap<CallId, oneshot::Sender<HookEvent>>,
}

impl ProviderHooks {
    /// Asks through `inputs`.
    pub fn new(inputs: mpsc::Sender<Input>) -> Self {
        Self { inputs, asked: Arc::default() }
    }

    /// Everybody has had a say. Nobody waits for it if the request was given up meanwhile.
    pub fn complete(&self, ask: CallId, event: HookEvent) {
        if let Some(waiting) = self.lock().waiting.remove(&ask) {
            let _ = waiting.send(event);
        }
    }

    /// The request as it is to be sent.
    pub(super) async fn run_request_hooks(
        &self,
        hooks: RequestHooks,
        mut request: HttpRequest,
    ) -> HttpRequest {
        if hooks.headers {
            let headers = request.headers.iter().cloned().collect();
            if let Some(HookEvent::BeforeProviderHeaders(said)) =
                self.run_hook(ProviderHeadersHook { headers }).await
            {
                let lower = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
                request.headers = said.headers.into_iter().map(lower).collect();
            }
        }
        if hooks.payload {
            let payload = request.body.clone();
            if let Some(HookEvent::BeforeProviderRequest(said)) =
                self.run_hook(ProviderRequestHook { payload }).await
            {
                request.body = said.payload;
            }
        }
        request
    }

    /// Shows the heads of answers, until there are no more; each answer waits until its head was seen.
    pub(super) async fn run_response_hooks(&self, mut heads: mpsc::Receiver<ResponseHead>) {
        while let Some(ResponseHead { status, headers, seen }) = heads.recv().await {
            let headers = headers.into_iter().collect();
            self.run_hook(ProviderResponseHook { status: status.into(), headers }).await;
            // A request that was given up waits for nothing.
            let _ = seen.send(());
        }
    }

    /// `None` where the loop is gone.
    async fn run_hook(&self, event: impl Into<HookEvent>) -> Option<HookEvent> {
        let (sender, said) = oneshot::channel();
        let ask = {
            let mut asked = self.lock();
            asked.last += 1;
            let ask = asked.last;
            asked.waiting.insert(ask, sender);
            ask
        };
        let event = Box::new(event.into());
        self.inputs.send(Input::Hook { ask, event }).await.ok()?;
        said.await.ok()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, OutstandingHooks> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
