//! What extensions have a say in that happens beside the engine: a request to a provider, and the head of its answer.
//! Whoever performs the request asks by [`Input::Hook`](crate::engine::Input::Hook), and hears by
//! [`Output::Hooked`](crate::engine::Output::Hooked) what became of it.

use crate::engine::{CallId, Engine, extensions::hooks::Then};
use crate::protocol::{HookEvent, HookName, HookResult};

/// What about a request to a provider somebody wants a say in. Source: pi source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestHooks {
    /// Its headers: `before_provider_headers`.
    pub headers: bool,
    /// Its body: `before_provider_request`.
    pub payload: bool,
    /// The head of the answer: `after_provider_response`.
    pub response: bool,
}

impl Engine {
    /// What about the next turn's request somebody wants a say in: nobody else is asked.
    pub fn request_hooks(&self) -> RequestHooks {
        RequestHooks {
            headers: self.is_hooked(HookName::BeforeProviderHeaders),
            payload: self.is_hooked(HookName::BeforeProviderRequest),
            response: self.is_hooked(HookName::AfterProviderResponse),
        }
    }

    /// Asks for whoever performs a request.
    pub(in crate::engine) fn hook_outside(&mut self, ask: CallId, event: HookEvent) {
        self.hook(event, Then::Outside(ask));
    }
}

/// Makes of a request what an extension said.
pub(in crate::engine) fn change(event: &mut HookEvent, result: HookResult) {
    match event {
        HookEvent::BeforeProviderRequest(request) => {
            if let Some(payload) = result.payload {
                request.payload = payload;
            }
        }
        HookEvent::BeforeProviderHeaders(request) => {
            if let Some(headers) = result.headers {
                request.headers = headers;
            }
        }
        _ => {}
    }
}
