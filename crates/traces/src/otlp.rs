//! Exports spans by OTLP (http/protobuf), in the background: nothing here holds a session up.
//!
//! ```text
//! sessions ─→ SessionTracer ─→ spans of the SDK ─→ bounded queue ─→ batches ─→ HTTP
//!                                                       └─→ dropped, counted
//! ```
//!
//! The SDK reads its variables: those of the sampler (`OTEL_TRACES_SAMPLER`), the batches (`OTEL_BSP_*`), the resource
//! (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`) and the exporter (`OTEL_EXPORTER_OTLP_*`). What the SDK would say of an export that
//! fails is in no log: [`Exporter`] says it once, without the address, which may have a key in it.

mod counts;
mod sender;

use crate::{
    conventions::ABORTED,
    session_tracer::{SessionTracer, TracerOptions},
    span::{Attribute, AttributeValue, Parent, SpanEnd, SpanEvent, SpanKind, SpanNumber, SpanStart},
};
use counts::{CountedExporter, CountedProcessor, Counts};
use opentelemetry::{
    Context, KeyValue, StringValue, Value,
    trace::{
        Span as _, SpanBuilder, SpanContext, SpanId, Status, TraceContextExt as _, TraceFlags, TraceId,
        TraceState, Tracer as _, TracerProvider as _,
    },
};
use opentelemetry_otlp::{RetryPolicy, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    trace::{BatchSpanProcessor, SdkTracer, SdkTracerProvider, Span},
};
use pi_rpc_engine::{Input, Now, Output};
use pi_rpc_server::{Observer, TraceContext};
use sender::Sender;
use std::{
    collections::HashMap,
    env,
    str::FromStr as _,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

/// Exports the spans of all sessions of this process.
pub struct Exporter {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    counts: Arc<Counts>,
    /// Performs requests until it is dropped.
    _sender: Sender,
}

/// The name of the instrumentation, and of the service where none is given.
const NAME: &str = "pi-rpc";

/// Attempts after the first one, for spans that a collector did not take. Behind it comes the next batch.
const RETRIES: usize = 1;

impl Exporter {
    /// The exporter that the variables of this process describe.
    ///
    /// # Errors
    ///
    /// A variable has a value that cannot be heeded, or the system gives no thread.
    pub fn from_environment(version: &'static str) -> Result<Self, String> {
        check_protocol()?;
        let counts = Arc::new(Counts::default());
        let sender = Sender::start(counts.clone()).map_err(|error| error.to_string())?;
        let retries = RetryPolicy::recommended().with_max_retries(RETRIES);
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(sender.client())
            .with_retry_policy(retries)
            .build()
            .map_err(|error| error.to_string())?;
        let exporter = CountedExporter::new(exporter, counts.clone());
        let batches = BatchSpanProcessor::builder(exporter).build();
        let provider = SdkTracerProvider::builder()
            .with_resource(resource(version))
            .with_span_processor(CountedProcessor::new(batches, counts.clone()))
            .build();
        let scope = opentelemetry::InstrumentationScope::builder(NAME).with_version(version).build();
        let tracer = provider.tracer_with_scope(scope);
        Ok(Self { provider, tracer, counts, _sender: sender })
    }

    /// The observer of a session that begins.
    pub fn observer(&self, options: TracerOptions) -> Box<dyn Observer> {
        let session = SessionTracer::new(options);
        Box::new(TracedSession { session, tracer: self.tracer.clone(), open: HashMap::new() })
    }

    /// Exports what is there, for at most this long, and says how many spans were lost. Blocks.
    pub fn finish(&self, limit: Duration) {
        // What has failed is counted.
        let _ = self.provider.shutdown_with_timeout(limit);
        self.counts.report();
    }
}

/// A session whose spans are exported.
struct TracedSession {
    session: SessionTracer,
    tracer: SdkTracer,
    open: HashMap<SpanNumber, Span>,
}

impl Observer for TracedSession {
    fn on_trace_context(&mut self, context: &TraceContext) {
        self.session.on_trace_context(context);
    }

    fn on_input(&mut self, input: &Input, now: Now) {
        self.session.on_input(input, now);
        self.export();
    }

    fn on_output(&mut self, output: &Output, now: Now) {
        self.session.on_output(output, now);
        self.export();
    }

    fn on_end(&mut self, now: Now) {
        self.session.on_end(now);
        self.export();
    }
}

impl Drop for TracedSession {
    /// A session that is dropped without its end was killed.
    fn drop(&mut self) {
        for span in self.open.values_mut() {
            span.set_attribute(KeyValue::new("error.type", ABORTED));
            span.set_status(Status::error(""));
            span.end();
        }
    }
}

impl TracedSession {
    fn export(&mut self) {
        for event in self.session.take_events() {
            match event {
                SpanEvent::Started(start) => self.start(start),
                SpanEvent::Ended(end) => self.end(end),
            }
        }
    }

    fn start(&mut self, start: SpanStart) {
        let SpanStart { number, parent, name, kind, at, attributes } = start;
        let parent = match &parent {
            Parent::None => None,
            Parent::Client(context) => remote(context),
            Parent::Span(number) => self.open.get(number).map(|span| span.span_context().clone()),
        };
        let context = match parent {
            Some(parent) => Context::new().with_remote_span_context(parent),
            None => Context::new(),
        };
        let kind = match kind {
            SpanKind::Internal => opentelemetry::trace::SpanKind::Internal,
            SpanKind::Client => opentelemetry::trace::SpanKind::Client,
        };
        let builder = SpanBuilder::from_name(name)
            .with_kind(kind)
            .with_start_time(UNIX_EPOCH + at)
            .with_attributes(attributes.into_iter().map(key_value));
        let span = self.tracer.build_with_context(builder, &context);
        self.open.insert(number, span);
    }

    fn end(&mut self, end: SpanEnd) {
        let Some(mut span) = self.open.remove(&end.number) else { return };
        span.set_attributes(end.attributes.into_iter().map(key_value));
        if let Some(failure) = end.failure {
            span.set_attribute(KeyValue::new("error.type", failure.class));
            span.set_status(Status::error(failure.text.unwrap_or_default()));
        }
        span.end_with_timestamp(UNIX_EPOCH + end.at);
    }
}

/// The span of a client.
fn remote(context: &TraceContext) -> Option<SpanContext> {
    let fields: Vec<&str> = context.traceparent.split('-').collect();
    let [_, trace, span, flags] = fields[..] else { return None };
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    let state = context.tracestate.as_deref().and_then(|state| TraceState::from_str(state).ok());
    Some(SpanContext::new(
        TraceId::from_hex(trace).ok()?,
        SpanId::from_hex(span).ok()?,
        flags,
        true,
        state.unwrap_or_default(),
    ))
}

fn key_value((name, value): Attribute) -> KeyValue {
    let value = match value {
        AttributeValue::Text(text) => Value::String(text.into()),
        AttributeValue::Texts(texts) => {
            Value::Array(texts.into_iter().map(StringValue::from).collect::<Vec<_>>().into())
        }
        AttributeValue::Count(count) => Value::I64(count.try_into().unwrap_or(i64::MAX)),
        AttributeValue::Seconds(seconds) => Value::F64(seconds),
        AttributeValue::Flag(is_so) => Value::Bool(is_so),
    };
    KeyValue::new(name, value)
}

/// What all spans are of: this program, unless the variables name another service.
fn resource(version: &'static str) -> Resource {
    let usual = [KeyValue::new("service.name", NAME), KeyValue::new("service.version", version)];
    let given = Resource::builder().build();
    let is_named = given
        .iter()
        .any(|(key, value)| key.as_str() == "service.name" && !value.as_str().starts_with("unknown_service"));
    let usual = usual.into_iter().filter(|it| match it.key.as_str() {
        "service.name" => !is_named,
        key => !given.iter().any(|(given, _)| given.as_str() == key),
    });
    Resource::builder().with_attributes(usual).build()
}

/// Refuses other encodings than that of this exporter.
fn check_protocol() -> Result<(), String> {
    for variable in ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"] {
        let Ok(protocol) = env::var(variable) else { continue };
        match protocol.trim() {
            "" => {}
            "http/protobuf" => return Ok(()),
            other => return Err(format!("{variable}: expected http/protobuf, got {other:?}")),
        }
    }
    Ok(())
}
