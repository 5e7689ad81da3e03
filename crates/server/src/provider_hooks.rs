//! Hooks of extensions on a request to a provider and on the head and the events of its response.

use pi_rpc_engine::{CallId, Input, RequestHooks};
use pi_rpc_model::request::HttpRequest;
use pi_rpc_model_http::http::{RawEvent, ResponseHead};
use pi_rpc_protocol::{
    HookEvent, Model, ProviderHeadersHook, ProviderRequestHook, ProviderResponseHook, ProviderStreamHook,
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::{mpsc, oneshot};

/// Runs hooks by way of the loop and the engine. Clones share their state.
#[derive(Clone)]
pub struct ProviderHooks {
    inputs: mpsc::Sender<Input>,
    outstanding: Arc<Mutex<OutstandingHooks>>,
}

/// Hooks that have not completed.
#[derive(Default)]
struct OutstandingHooks {
    /// The id of the newest one.
    last: CallId,
    waiting: HashMap<CallId, oneshot::Sender<HookEvent>>,
}

impl ProviderHooks {
    /// Sends hooks to the loop through `inputs`.
    pub fn new(inputs: mpsc::Sender<Input>) -> Self {
        Self { inputs, outstanding: Arc::default() }
    }

    /// Completes a hook: `event` has the changes of all extensions. Ignored if the request was dropped meanwhile.
    pub fn complete(&self, id: CallId, event: HookEvent) {
        if let Some(waiting) = self.lock().waiting.remove(&id) {
            let _ = waiting.send(event);
        }
    }

    /// Applies the changes of extensions to a request before it is sent.
    pub(super) async fn run_request_hooks(
        &self,
        hooks: RequestHooks,
        mut request: HttpRequest,
    ) -> HttpRequest {
        if hooks.headers {
            let headers = request.headers.iter().cloned().collect();
            if let Some(HookEvent::BeforeProviderHeaders(changed)) =
                self.run_hook(ProviderHeadersHook { headers }).await
            {
                let lower = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
                request.headers = changed.headers.into_iter().map(lower).collect();
            }
        }
        if hooks.payload {
            let payload = request.body.clone();
            if let Some(HookEvent::BeforeProviderRequest(changed)) =
                self.run_hook(ProviderRequestHook { payload }).await
            {
                request.body = changed.payload;
            }
        }
        request
    }

    /// Runs the response hook for each head; the body is not read before the hook has completed.
    pub(super) async fn run_response_hooks(&self, mut heads: mpsc::Receiver<ResponseHead>) {
        while let Some(ResponseHead { status, headers, seen }) = heads.recv().await {
            let headers = headers.into_iter().collect();
            self.run_hook(ProviderResponseHook { status: status.into(), headers }).await;
            // Fails only when the request was dropped.
            let _ = seen.send(());
        }
    }

    /// Runs the hook for each event of an answer of `model`; the answer is not read on before the hook has completed. What is
    /// no JSON, as the mark of the end, is passed over.
    pub(super) async fn run_stream_hooks(&self, mut events: mpsc::Receiver<RawEvent>, model: &Model) {
        while let Some(RawEvent { data, seen }) = events.recv().await {
            if let Ok(data) = serde_json::from_str(&data) {
                let Model { provider, api, id, .. } = model;
                let (provider, api, model) = (provider.clone(), api.clone(), id.clone());
                self.run_hook(ProviderStreamHook { provider, api, model, data }).await;
            }
            // Fails only when the request was dropped.
            let _ = seen.send(());
        }
    }

    /// Runs one hook; `None` if the loop has ended.
    async fn run_hook(&self, event: impl Into<HookEvent>) -> Option<HookEvent> {
        let (sender, completed) = oneshot::channel();
        let id = {
            let mut outstanding = self.lock();
            outstanding.last += 1;
            let id = outstanding.last;
            outstanding.waiting.insert(id, sender);
            id
        };
        let event = Box::new(event.into());
        self.inputs.send(Input::ProviderHook { request: id, event }).await.ok()?;
        completed.await.ok()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, OutstandingHooks> {
        self.outstanding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
