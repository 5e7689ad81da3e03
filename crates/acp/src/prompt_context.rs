//! The trace context that a client's prompt carries in `_meta`, for the spans of the run that it starts.
//! Source: ACP, extensibility: `traceparent`, `tracestate`.

use agent_client_protocol::v1::schema::Meta;
use pi_rpc_engine::{Input, Now, Output};
use pi_rpc_protocol::Inbound;
use pi_rpc_server::{Observer, TraceContext};
use std::sync::{Arc, Mutex, PoisonError};

/// The context of the last prompt of a session. Clones share it.
#[derive(Clone, Default)]
pub struct PromptContext(Arc<Mutex<Option<TraceContext>>>);

impl PromptContext {
    /// Notes what a prompt carries.
    pub fn note(&self, meta: Option<&Meta>) {
        let text = |name: &str| meta?.get(name)?.as_str();
        let context = text("traceparent").and_then(|parent| TraceContext::new(parent, text("tracestate")));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = context;
    }

    /// An observer that finds the context with each message of the user.
    pub fn observe(&self, inner: Box<dyn Observer>) -> Box<dyn Observer> {
        Box::new(ContextObserver { inner, context: self.clone() })
    }

    fn get(&self) -> Option<TraceContext> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The frames of this client, which is in the same process, carry no context themselves.
struct ContextObserver {
    inner: Box<dyn Observer>,
    context: PromptContext,
}

impl Observer for ContextObserver {
    fn on_trace_context(&mut self, context: &TraceContext) {
        self.inner.on_trace_context(context);
    }

    fn on_input(&mut self, input: &Input, now: Now) {
        if let Input::Frame(frame) = input
            && let Inbound::Command(command) = &**frame
            && command.kind().has_message()
            && let Some(context) = self.context.get()
        {
            self.inner.on_trace_context(&context);
        }
        self.inner.on_input(input, now);
    }

    fn on_output(&mut self, output: &Output, now: Now) {
        self.inner.on_output(output, now);
    }

    fn on_end(&mut self, now: Now) {
        self.inner.on_end(now);
    }
}
