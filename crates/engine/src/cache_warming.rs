//! Keeps the vendor's cache of the conversation warm: before it ends, the last request is sent again with an answer of one token,
//! where that is likely to save more than it costs.
//!
//! Source: pi 1.6.0 (`cache-warming`, `cache-warmer`): its times, its chance of a next request and its least savings.

use crate::{
    core::Engine,
    extensions::hook::Hook,
    io::{CallId, ModelCall, Purpose},
    requests::ModelContinuation,
    run::partial_message::PartialMessage,
    store::after_append::AfterAppend,
};
use pi_rpc_machine::{PricedTokens, costs};
use pi_rpc_model::{api::Api, http_options::CacheWarming};
use pi_rpc_protocol::{
    AgentMessage, CacheWarmingHook, Model, SessionEntryKind, StopReason, ThinkingLevel, number,
};
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
/// The `note` of an entry for a request that an extension has decided on.
const OVERRIDDEN: &str = "extension override";
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
    /// When it is sent again.
    due: Duration,
    /// How far that is.
    stage: WarmingStage,
    /// Whether an extension has decided that it is sent.
    is_overridden: bool,
    /// Whether no run is open.
    is_idle: bool,
}

/// How far the repetition of a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WarmingStage {
    /// It is not due yet.
    Scheduled,
    /// Extensions decide on it, by this hook.
    Deciding(CallId),
    /// It was sent.
    Requested,
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
        self.due = now.saturating_add(self.delay());
        (self.stage, self.is_overridden) = (WarmingStage::Scheduled, false);
        self.due <= self.end() && now < self.end()
    }

    /// Whether it is too late: the cache may have ended.
    fn is_late(&self, now: Duration) -> bool {
        // Half of the margin is for a late clock.
        now > self.due.saturating_add((self.lifetime - self.delay()) / 2)
    }
}

impl CacheWarmer {
    /// When a request is due, on the monotonic clock.
    pub fn due(&self) -> Option<Duration> {
        let request = self.request.as_ref()?;
        (request.stage == WarmingStage::Scheduled).then_some(request.due)
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
            due: Duration::ZERO,
            stage: WarmingStage::Scheduled,
            is_overridden: false,
            is_idle: false,
        };
        if request.schedule(self.now.monotonic) {
            self.cache_warmer.request = Some(request);
        }
    }

    /// Ends it, with a request that is under way.
    pub fn stop_warming(&mut self) {
        let Some(WarmedRequest { call, stage, .. }) = self.cache_warmer.request.take() else { return };
        match stage {
            WarmingStage::Scheduled => {}
            WarmingStage::Deciding(hook) => self.cancel_hook(hook),
            WarmingStage::Requested => {
                self.cancel_model(call.call);
            }
        }
    }

    /// The run has settled.
    pub(crate) fn settle_warming(&mut self) {
        let now = self.now.monotonic;
        let Some(request) = &mut self.cache_warmer.request else { return };
        request.is_idle = true;
        let is_over =
            now >= request.end() || request.stage == WarmingStage::Scheduled && request.due > request.end();
        if is_over || self.modes.cache_warming.mode == CacheWarming::Streaming {
            self.stop_warming();
        }
    }

    /// Sends the request again if it is due and worth it, or an extension wants it.
    pub(crate) fn warm_due_cache(&mut self) {
        let now = self.now.monotonic;
        if self.cache_warmer.due().is_none_or(|due| due > now) {
            return;
        }
        let Some(event) = self.warming_decision() else { return self.stop_warming() };
        let id = self.ids.call();
        if let Some(request) = &mut self.cache_warmer.request {
            request.stage = WarmingStage::Deciding(id);
        }
        self.send_hook_as(id, Hook::CacheWarmingDecision { event, outcome: None });
    }

    /// The decision on the request that is due; `None`: it must not be sent.
    fn warming_decision(&self) -> Option<CacheWarmingHook> {
        let request = self.cache_warmer.request.as_ref()?;
        let is_over = self.reached_limit().is_some();
        if is_over || request.is_late(self.now.monotonic) || !self.continues(request) {
            return None;
        }
        let newest = self.store.session.messages().iter().rev().find_map(|message| match &**message {
            AgentMessage::Assistant(answer) => Some(&answer.usage),
            _ => None,
        });
        let tokens = newest.map_or(0, |usage| usage.input + usage.cache_read + usage.cache_write);
        Some(decide(&request.call.model, tokens, request.is_idle))
    }

    /// Sends the request again, or not, as extensions have decided; `None`: none has.
    pub(crate) fn on_warming_decided(&mut self, hook: CallId, is_worth: bool, outcome: Option<bool>) {
        let is_awaited = |request: &WarmedRequest| request.stage == WarmingStage::Deciding(hook);
        if !self.cache_warmer.request.as_ref().is_some_and(is_awaited) {
            return;
        }
        if !outcome.unwrap_or(is_worth) || self.warming_decision().is_none() {
            return self.stop_warming();
        }
        let call = self.ids.call();
        let Some(request) = &mut self.cache_warmer.request else { return };
        request.stage = WarmingStage::Requested;
        request.is_overridden = !is_worth;
        request.call.call = call;
        request.call.count = self.requests.models_made;
        let call = (*request.call).clone();
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
                note: request.is_overridden.then(|| OVERRIDDEN.to_owned()),
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

/// Whether a warm cache of so many tokens is likely to save more than it costs.
fn decide(model: &Model, tokens: u64, is_idle: bool) -> CacheWarmingHook {
    let price = |tokens: PricedTokens| costs(&model.cost, &tokens).iter().sum::<f64>();
    let nothing = PricedTokens::default();
    let hit = price(PricedTokens { cache_read: tokens, ..nothing });
    let miss = match model.cost.cache_write.as_f64() > Some(0.0) {
        true => price(PricedTokens { cache_write: tokens, ..nothing }),
        false => price(PricedTokens { input: tokens, ..nothing }),
    };
    let warm_cost = price(PricedTokens { cache_read: tokens, output: 1, ..nothing });
    let miss_cost = (miss - hit).max(0.0);
    let continuation_probability = if is_idle { IDLE_CHANCE } else { 1.0 };
    CacheWarmingHook {
        warm_cost: number(warm_cost),
        miss_cost: number(miss_cost),
        continuation_probability: number(continuation_probability),
        warms: continuation_probability * miss_cost - warm_cost >= LEAST_SAVINGS,
    }
}
