//! Hooks about requests to providers, which the server performs: headers, body, the head of the response, and its events.
//!
//! The server, which performs the request, sends them by [`Input::ProviderHook`](crate::Input::ProviderHook)
//! and receives the outcome by [`Output::ProviderHookCompleted`](crate::Output::ProviderHookCompleted).

use crate::{
    core::Engine,
    extensions::hook::Hook,
    io::{CallId, Output, RequestHooks},
};
use pi_rpc_protocol::{HookEvent, HookName};

impl Engine {
    /// The hooks that extensions have registered for requests to providers.
    pub fn request_hooks(&self) -> RequestHooks {
        RequestHooks {
            headers: self.is_hooked(HookName::BeforeProviderHeaders),
            payload: self.is_hooked(HookName::BeforeProviderRequest),
            response: self.is_hooked(HookName::AfterProviderResponse),
            stream: self.is_hooked(HookName::ProviderStreamEvent),
        }
    }

    /// Sends a hook for the server; an event of another kind is returned unchanged.
    pub(crate) fn send_provider_hook(&mut self, request: CallId, event: HookEvent) {
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
            HookEvent::ProviderStreamEvent(event) => {
                self.send_hook(Hook::ProviderStreamEvent { event, request });
            }
            event => self.complete_provider_hook(request, event),
        }
    }

    /// Returns the outcome of a hook to the server.
    pub(crate) fn complete_provider_hook(&mut self, request: CallId, event: impl Into<HookEvent>) {
        self.push(Output::ProviderHookCompleted { request, event: Box::new(event.into()) });
    }
}
