//! Hooks for what happens beside the engine: a request to a provider, and the head of its response.
//!
//! The server, which performs the request, sends them by [`Input::ProviderHook`](crate::engine::Input::ProviderHook) and receives the
//! outcome by [`Output::ProviderHookCompleted`](crate::engine::Output::ProviderHookCompleted).

use crate::engine::{
    core::Engine,
    extensions::hook::Hook,
    io::{CallId, Output, RequestHooks},
};
use crate::protocol::{HookEvent, HookName};

impl Engine {
    /// The hooks that the server has to send for the next request to a provider.
    pub fn request_hooks(&self) -> RequestHooks {
        RequestHooks {
            headers: self.is_hooked(HookName::BeforeProviderHeaders),
            payload: self.is_hooked(HookName::BeforeProviderRequest),
            response: self.is_hooked(HookName::AfterProviderResponse),
        }
    }

    /// Sends a hook of the server; an event that is none of a provider comes back unchanged.
    pub(in crate::engine) fn send_provider_hook(&mut self, request: CallId, event: HookEvent) {
        match event {
            HookEvent::BeforeProviderRequest(event) => {
                self.send_hook(Hook::BeforeProviderRequest { event, request });
            }
            HookEvent::BeforeProviderHeaders(event) => {
                self.send_hook(Hook::BeforeProviderHeaders { event, request });
            }
            HookEvent::AfterProviderResponse(event) => {
                self.send_hook(Hook::AfterProviderResponse { event, request });
            }
            event => self.complete_provider_hook(request, event),
        }
    }

    /// Gives the outcome to the server.
    pub(in crate::engine) fn complete_provider_hook(&mut self, request: CallId, event: impl Into<HookEvent>) {
        self.push(Output::ProviderHookCompleted { request, event: Box::new(event.into()) });
    }
}
