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
pub struct Says {
    inputs: mpsc::Sender<Input>,
    asked: Arc<Mutex<Asked>>,
}

#[derive(Default)]
struct Asked {
    /// The number of the last one.
    last: CallId,
    waiting: HashMap<CallId, oneshot::Sender<HookEvent>>,
}

impl Says {
    /// Asks through `inputs`.
    pub fn new(inputs: mpsc::Sender<Input>) -> Self {
        Self { inputs, asked: Arc::default() }
    }

    /// Everybody has had a say. Nobody waits for it if the request was given up meanwhile.
    pub fn said(&self, ask: CallId, event: HookEvent) {
        if let Some(waiting) = self.lock().waiting.remove(&ask) {
            let _ = waiting.send(event);
        }
    }

    /// The request as it is to be sent.
    pub(super) async fn before(&self, hooks: RequestHooks, mut request: HttpRequest) -> HttpRequest {
        if hooks.headers {
            let headers = request.headers.iter().cloned().collect();
            if let Some(HookEvent::BeforeProviderHeaders(said)) =
                self.ask(ProviderHeadersHook { headers }).await
            {
                let lower = |(name, value): (String, String)| (name.to_ascii_lowercase(), value);
                request.headers = said.headers.into_iter().map(lower).collect();
            }
        }
        if hooks.payload {
            let payload = request.body.clone();
            if let Some(HookEvent::BeforeProviderRequest(said)) =
                self.ask(ProviderRequestHook { payload }).await
            {
                request.body = said.payload;
            }
        }
        request
    }

    /// Shows the heads of answers, until there are no more; each answer waits until its head was seen.
    pub(super) async fn show(&self, mut heads: mpsc::Receiver<ResponseHead>) {
        while let Some(ResponseHead { status, headers, seen }) = heads.recv().await {
            let headers = headers.into_iter().collect();
            self.ask(ProviderResponseHook { status: status.into(), headers }).await;
            // A request that was given up waits for nothing.
            let _ = seen.send(());
        }
    }

    /// `None` where the loop is gone.
    async fn ask(&self, event: impl Into<HookEvent>) -> Option<HookEvent> {
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
