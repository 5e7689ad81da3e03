//! Spans of a session, in the words of OpenTelemetry: which run, turn, model request, tool call and hook began when, below what,
//! and how it ended.
//!
//! For programs that drive sessions by a [`Runner`](pi_rpc_server::Runner), and want to show an operator where their time and tokens go.
//! It is no log and no metric: those are the server's, and the host's. It changes nothing that a session does, and without the
//! feature `otlp` it sends nothing.
//!
//! - [`SessionTracer`]: follows what passes between an engine and the world, and returns [`SpanEvent`]s. No clock, no IO.
//! - [`TracerOptions`]: the span of the client, and [`Texts`], if prompts and answers are recorded.
//! - `otlp` (feature `otlp`): exports the spans as the variables `OTEL_*` say.
//!
//! | Span | Kind | From, to |
//! |---|---|---|
//! | `invoke_agent` | internal | `agent_start`, or the hooks in front of it; `agent_end` |
//! | `turn` | internal | `turn_start`, `turn_end` |
//! | `chat MODEL` | client | the request of a model, the end of its answer |
//! | `execute_tool NAME` | internal | `tool_execution_start`, `tool_execution_end` |
//! | `hook NAME` | internal | the frame to the extension, its answer |
//!
//! ```
//! use pi_rpc_engine::{Now, Output};
//! use pi_rpc_protocol::{AgentStartEvent, Emission, Outbound, TurnStartEvent};
//! use pi_rpc_traces::{SessionTracer, SpanEvent, TracerOptions};
//!
//! let now = Now { monotonic: std::time::Duration::ZERO, wall: 1_000 };
//! let emit = |event| Output::Emit(Emission::Frame(Outbound::AgentSessionEvent(event)));
//! let mut tracer = SessionTracer::new(TracerOptions::default());
//! tracer.on_output(&emit(AgentStartEvent {}.into()), now);
//! tracer.on_output(&emit(TurnStartEvent {}.into()), now);
//! let names: Vec<String> = tracer.take_events().into_iter().filter_map(|event| match event {
//!     SpanEvent::Started(start) => Some(start.name),
//!     SpanEvent::Ended(_) => None,
//! }).collect();
//! assert_eq!(names, ["invoke_agent", "turn"]);
//! ```

mod conventions;
mod model_request;
#[cfg(feature = "otlp")]
pub mod otlp;
mod session_tracer;
mod span;
mod texts;

pub use session_tracer::{SessionTracer, TracerOptions};
pub use span::{
    Attribute, AttributeValue, Failure, Parent, SpanEnd, SpanEvent, SpanKind, SpanNumber, SpanStart,
};
pub use texts::{Redact, Texts};
