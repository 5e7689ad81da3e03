//! Keeps the vendor's cache of the conversation warm: before it ends, the last request is sent again with an answer of one token,
//! where that is likely to save more than it costs.
//!
//! Source: pi 1.6.0 (`cache-warming`, `cache-warmer`): its times, its chance of a next request and its least savings.

use crate::{
    core::Engine,
    io::{ModelCall, Purpose},
    requests::ModelContinuation,
    run::partial_message::PartialMessage,
    store::after_append::AfterAppend,
};
use pi_rpc_machine::{PricedTokens, costs};
use pi_rpc_model::{api::Api, http_options::CacheWarming};
use pi_rpc_protocol::{AgentMessage, Model, SessionEntryKind, StopReason, ThinkingLevel};
use pi_rpc_session::NewEntry;
use std::{sync::Arc, time::Duration};

/// How caches are kept warm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WarmingPlan {
    /// When.
    pub mode: CacheWarming,
    /// Whether vendors are asked to keep caches long.
    pub keeps_long: bool,
}

/// Longest time after a request in which its cache is kept warm, while a run is open and between runs.
const LONGEST: Duration = Duration::from_secs(60 * 60);
const LONGEST_IDLE: Duration = Duration::from_secs(30 * 60);
/// Time that is kept before the end of a cache.
const LEAST_MARGIN: Duration = Duration::from_secs(10);
/// Least savings in dollars.
const LEAST_SAVINGS: f64 = 0.05;
/// The `kind` of the entries.
const WARMING: &str = "cache_warm";
/// The chance that another request comes between runs before the cache ends.
const IDLE_CHANCE: f64 = 0.15;

/// The cache that is kept warm.
#[derive(Debug, Default)]
pub struct CacheWarmer {
    request: Option<WarmedRequest>,
}

/// A request whose cache is kept warm. Times are of the monotonic clock.
#[derive(Debug)]
struct WarmedRequest {
    /// The request.
    call: Box<ModelCall>,
    /// The session's messages at its time.
    messages: Arc<Vec<Arc<AgentMessage>>>,
    /// When it was sent.
    since: Duration,
    /// How long the cache lasts.
    lifetime: Duration,
    /// When it is sent again; `None`: it is under way.
    due: Option<Duration>,
    /// Whether no run is open.
    is_idle: bool,
}

impl WarmedRequest {
    /// Time from a request to the next.
    fn delay(&self) -> Duration {
        (self.lifetime * 9 / 10).min(self.lifetime.saturating_sub(LEAST_MARGIN))
    }

    /// Until when it may be sent again.
    const fn end(&self) -> Duration {
        self.since.saturating_add(if self.is_idle { LONGEST_IDLE } else { LONGEST })
    }

    /// Sets the next time; `false`: there is none.
    fn schedule(&mut self, now: Duration) -> bool {
        let due = now.saturating_add(self.delay());
        self.due = Some(due);
        due <= self.end() && now < self.end()
    }

    /// Whether it is too late: the cache may have ended.
    fn is_late(&self, now: Duration) -> bool {
        // Half of the margin is for a late clock.
        self.due.is_some_and(|due| now > due.saturating_add((self.lifetime - self.delay()) / 2))
    }
}

impl CacheWarmer {
    /// When a request is due, on the monotonic clock.
    pub fn due(&self) -> Option<Duration> {
        self.request.as_ref()?.due
    }
}

impl Engine {
    /// Keeps the cache of a request of the open run warm, in place of an earlier one.
    pub(crate) fn warm_cache_of(&mut self, call: &ModelCall) {
        self.stop_warming();
        let plan = self.modes.cache_warming;
        let lifetime = lifetime(&call.model, plan.keeps_long);
        let lifetime = lifetime.filter(|it| *it > LEAST_MARGIN && can_repeat(call));
        let is_told = SessionEntryKind::Usage.is_in(self.dialect.base());
        let (Some(lifetime), true) = (lifetime, is_told && plan.mode != CacheWarming::Off) else { return };
        let mut request = WarmedRequest {
            call: Box::new(ModelCall { purpose: Purpose::Warming, ..call.clone() }),
            messages: self.store.session.messages().clone(),
            since: self.now.monotonic,
            lifetime,
            due: None,
            is_idle: false,
        };
        if request.schedule(self.now.monotonic) {
            self.cache_warmer.request = Some(request);
        }
    }

    /// Ends it, with a request that is under way.
    pub fn stop_warming(&mut self) {
        if let Some(WarmedRequest { call, due: None, .. }) = self.cache_warmer.request.take() {
            self.cancel_model(call.call);
        }
    }

    /// The run has settled.
    pub(crate) fn settle_warming(&mut self) {
        let now = self.now.monotonic;
        let Some(request) = &mut self.cache_warmer.request else { return };
        request.is_idle = true;
        let is_over = now >= request.end() || request.due.is_some_and(|due| due > request.end());
        if is_over || self.modes.cache_warming.mode == CacheWarming::Streaming {
            self.stop_warming();
        }
    }

    /// Sends the request again if it is due and worth it.
    pub(crate) fn warm_due_cache(&mut self) {
        let now = self.now.monotonic;
        let Some(request) =
            self.cache_warmer.request.as_ref().filter(|it| it.due.is_some_and(|due| due <= now))
        else {
            return;
        };
        let is_over = self.reached_limit().is_some();
        if is_over || request.is_late(now) || !self.continues(request) || !self.is_worth_warming(request) {
            return self.stop_warming();
        }
        let mut call = (*request.call).clone();
        call.call = self.ids.call();
        call.count = self.requests.models_made;
        if let Some(request) = &mut self.cache_warmer.request {
            request.due = None;
            request.call.call = call.call;
        }
        self.expect_answer(&call, ModelContinuation::Warming);
        self.request_model(call);
    }

    /// Whether the conversation goes on from the request: same session, same model, its messages first.
    fn continues(&self, request: &WarmedRequest) -> bool {
        let (call, now) = (&request.call, self.store.session.messages());
        let model = &self.models.choice().model;
        call.session_id == self.store.session.id()
            && (&call.model.provider, &call.model.id) == (&model.provider, &model.id)
            && now.len() >= request.messages.len()
            && request.messages.iter().zip(now.iter()).all(|(one, other)| Arc::ptr_eq(one, other))
    }

    /// Whether what is likely saved is worth what it costs.
    fn is_worth_warming(&self, request: &WarmedRequest) -> bool {
        let newest = self.store.session.messages().iter().rev().find_map(|message| match &**message {
            AgentMessage::Assistant(answer) => Some(&answer.usage),
            _ => None,
        });
        let tokens = newest.map_or(0, |usage| usage.input + usage.cache_read + usage.cache_write);
        savings(&request.call.model, tokens, request.is_idle) >= LEAST_SAVINGS
    }

    /// Notes what the answer has used, and waits for the next time.
    pub(crate) fn on_warmed(&mut self, partial: &PartialMessage) {
        let message = &partial.message;
        let Some(request) = &self.cache_warmer.request else { return };
        if !self.continues(request) {
            return self.stop_warming();
        }
        if !matches!(message.stop_reason, StopReason::Error | StopReason::Aborted) {
            let entry = self.append(NewEntry::Usage {
                kind: WARMING.to_owned(),
                provider: message.provider.clone(),
                model: message.response_model.clone().unwrap_or_else(|| message.model.clone()),
                usage: Box::new(message.usage.clone()),
            });
            let entries = entry.into_iter().collect();
            self.store.after_append(AfterAppend::Entries { entries, compacts: false });
        }
        let now = self.now.monotonic;
        if let Some(request) = &mut self.cache_warmer.request
            && !request.schedule(now)
        {
            self.cache_warmer.request = None;
        }
    }
}

/// How long the vendor keeps the cache of a request to `model`; `None`: it is not known.
fn lifetime(model: &Model, keeps_long: bool) -> Option<Duration> {
    let cache = model.prompt_cache.as_ref()?;
    let seconds = if keeps_long { &cache.long } else { &cache.short };
    Duration::try_from_secs_f64(seconds.as_ref()?.as_f64()?).ok()
}

/// Whether an answer of one token leaves the cache as it is: a thinking budget would change with it.
fn can_repeat(call: &ModelCall) -> bool {
    let thinks = call.level.is_some_and(|level| level != ThinkingLevel::Off);
    !thinks || Api::parse(&call.model.api) != Some(Api::AnthropicMessages) || thinks_freely(&call.model)
}

/// Whether the model decides by itself how long to think, by its `compat`.
fn thinks_freely(model: &Model) -> bool {
    let forced = model.compat.as_ref().and_then(|compat| compat.get("forceAdaptiveThinking"));
    forced.is_some_and(|forced| *forced == true)
}

/// Dollars that a warm cache of so many tokens likely saves, less its price.
fn savings(model: &Model, tokens: u64, is_idle: bool) -> f64 {
    let price = |tokens: PricedTokens| costs(&model.cost, &tokens).iter().sum::<f64>();
    let nothing = PricedTokens::default();
    let hit = price(PricedTokens { cache_read: tokens, ..nothing });
    let miss = match model.cost.cache_write.as_f64() > Some(0.0) {
        true => price(PricedTokens { cache_write: tokens, ..nothing }),
        false => price(PricedTokens { input: tokens, ..nothing }),
    };
    let warm = price(PricedTokens { cache_read: tokens, output: 1, ..nothing });
    let chance = if is_idle { IDLE_CHANCE } else { 1.0 };
    chance * (miss - hit).max(0.0) - warm
}
