//! Spans that wait, and spans that were lost: what is queued is bounded, and a loss is reported once.

use opentelemetry::Context;
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{Span, SpanData, SpanExporter, SpanProcessor},
};
use std::{
    env,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

/// The variable with the most spans that wait.
const MAX_QUEUE: &str = "OTEL_BSP_MAX_QUEUE_SIZE";

/// Its default. Source: the specification of OpenTelemetry's SDK.
const USUAL_QUEUE: usize = 2048;

/// Spans on their way.
#[derive(Debug, Default)]
pub struct Counts {
    /// Spans that are queued or being sent.
    waiting: AtomicUsize,
    /// Spans for which there was no room, and those that no collector took.
    lost: AtomicUsize,
    is_warned: AtomicBool,
    /// Why the last request has failed.
    reason: Mutex<Option<String>>,
}

impl Counts {
    /// Notes why a request has failed.
    pub fn note_reason(&self, reason: String) {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }

    /// Says how many spans were lost, if any.
    pub fn report(&self) {
        let waiting = self.waiting.load(Ordering::Relaxed);
        if waiting > 0 {
            self.lose(waiting, "the collector has not answered before the end");
        }
        let lost = self.lost.load(Ordering::Relaxed);
        if lost > 0 {
            tracing::warn!("traces: spans that were not exported: {lost}");
        }
    }

    /// Counts spans that are lost; warns of the first ones.
    fn lose(&self, count: usize, reason: &str) {
        self.lost.fetch_add(count, Ordering::Relaxed);
        if !self.is_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!("traces: {reason}; spans are lost, and counted at the end");
        }
    }
}

/// A processor in front of which spans are counted, and dropped where too many wait.
#[derive(Debug)]
pub struct CountedProcessor<P> {
    inner: P,
    counts: Arc<Counts>,
    max_waiting: usize,
}

impl<P> CountedProcessor<P> {
    /// Counts what goes to `inner`.
    pub fn new(inner: P, counts: Arc<Counts>) -> Self {
        let max_waiting = env::var(MAX_QUEUE).ok().and_then(|size| size.parse().ok());
        Self { inner, counts, max_waiting: max_waiting.unwrap_or(USUAL_QUEUE) }
    }
}

impl<P: SpanProcessor> SpanProcessor for CountedProcessor<P> {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.inner.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if !span.span_context.is_sampled() {
            return;
        }
        let waiting = self.counts.waiting.fetch_add(1, Ordering::Relaxed);
        if waiting >= self.max_waiting {
            self.counts.waiting.fetch_sub(1, Ordering::Relaxed);
            return self.counts.lose(1, &format!("{} spans wait for the collector", self.max_waiting));
        }
        self.inner.on_end(span);
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

/// An exporter whose losses are counted.
#[derive(Debug)]
pub struct CountedExporter<E> {
    inner: E,
    counts: Arc<Counts>,
}

impl<E> CountedExporter<E> {
    /// Counts what `inner` exports.
    pub const fn new(inner: E, counts: Arc<Counts>) -> Self {
        Self { inner, counts }
    }
}

impl<E: SpanExporter> SpanExporter for CountedExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        let exported = self.inner.export(batch).await;
        self.counts.waiting.fetch_sub(count, Ordering::Relaxed);
        if exported.is_err() {
            let reason = self.counts.reason.lock().unwrap_or_else(PoisonError::into_inner).take();
            self.counts.lose(count, reason.as_deref().unwrap_or("the collector refuses them"));
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}
