//! Budgets: how much a run and a session may cost, how many answers they may have and how long they may work.
//!
//! Before each request of a run it is looked what was spent. At a limit the run pauses: the host is asked whether it goes
//! on, with as much again, or ends. So at most one answer goes beyond a limit. Without a host that answers (its input has
//! ended, the dialog was cancelled) the run ends. The time in which the host is asked does not count. What a tool that
//! runs says that it has used counts at once.

use crate::{
    activity::Next,
    core::Engine,
    run::state::{EarlyEnd, Phase, Run},
};
use pi_rpc_protocol::{
    AgentMessage, RpcExtensionUIRequest, RpcExtensionUIResponse, SelectRequest, Usage, errors, texts,
};
use pi_rpc_session::totals;
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, sync::Arc, time::Duration};

/// Limits of what is spent; `None`: no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BudgetLimits {
    /// US dollars.
    pub dollars: Option<f64>,
    /// Answers of models.
    pub turns: Option<u64>,
    /// Time in which runs are open.
    pub time: Option<Duration>,
}

/// The limits of each run, and of a session together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BudgetPlan {
    /// Of one prompt, with the retries and queued messages that follow it.
    pub run: BudgetLimits,
    /// Of a session, with what its file has from before; time of this process alone.
    pub session: BudgetLimits,
}

/// What was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Spent {
    dollars: f64,
    turns: u64,
    time: Duration,
}

/// A limit that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachedLimit {
    scope: BudgetScope,
    measure: Measure,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BudgetScope {
    Run,
    Session,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Dollars,
    Turns,
    Time,
}

/// What is spent of the budgets, and what the host has granted beyond them.
#[derive(Debug, Default)]
pub struct Budget {
    /// The limits, with what the host has granted in this session.
    granted: Option<BudgetPlan>,
    /// What the session had spent when the prompt of the open run came.
    before_run: Spent,
    /// Time in which runs were open, up to `since`.
    worked: Duration,
    /// From when on an open run works.
    since: Option<Duration>,
    /// Whether the last run has ended at a limit.
    has_ended_run: bool,
}

impl BudgetPlan {
    /// Sets the limits in `text`, the value of the option `option` (`max-cost`, `max-turns`, `max-time`): one or more,
    /// separated by commas, `[run=|session=]LIMIT` each.
    ///
    /// # Errors
    ///
    /// What came, and what was expected.
    pub fn read(&mut self, option: &str, text: &str) -> Result<(), String> {
        for part in text.split(',') {
            let (limits, value) = match part.split_once('=') {
                None => (&mut self.run, part),
                Some(("run", value)) => (&mut self.run, value),
                Some(("session", value)) => (&mut self.session, value),
                Some((scope, _)) => return Err(format!("got \"{scope}\", expected run= or session=")),
            };
            limits.set(option, value).map_err(|expected| format!("got \"{value}\", expected {expected}"))?;
        }
        Ok(())
    }

    /// The values of the options `max-cost`, `max-turns` and `max-time` that set these limits, where there are any.
    pub fn values(&self) -> [Option<String>; 3] {
        type Limit = fn(&BudgetLimits) -> Option<String>;
        let limits: [Limit; 3] = [
            |limits| limits.dollars.map(|dollars| dollars.to_string()),
            |limits| limits.turns.map(|turns| turns.to_string()),
            |limits| limits.time.map(|time| time.as_secs_f64().to_string()),
        ];
        limits.map(|limit| {
            let session = limit(&self.session).map(|value| format!("session={value}"));
            let both: Vec<String> = limit(&self.run).into_iter().chain(session).collect();
            (!both.is_empty()).then(|| both.join(","))
        })
    }

    /// Lowers the limits to those of `other`, where it has lower ones or this has none.
    pub fn narrow(&mut self, other: &Self) {
        self.run.narrow(&other.run);
        self.session.narrow(&other.session);
    }

    /// Whether nothing is limited.
    pub fn is_unlimited(&self) -> bool {
        *self == Self::default()
    }

    const fn of(&mut self, scope: BudgetScope) -> &mut BudgetLimits {
        match scope {
            BudgetScope::Run => &mut self.run,
            BudgetScope::Session => &mut self.session,
        }
    }
}

impl BudgetLimits {
    /// Sets the limit that `option` names. Fails with what was expected.
    fn set(&mut self, option: &str, value: &str) -> Result<(), &'static str> {
        let positive = || value.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
        match option {
            "max-cost" => self.dollars = Some(positive().ok_or("an amount of US dollars above 0")?),
            "max-turns" => {
                let turns = value.parse().ok().filter(|turns| *turns > 0);
                self.turns = Some(turns.ok_or("a number of answers above 0")?);
            }
            _ => {
                let time = positive().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
                self.time = Some(time.ok_or("a number of seconds above 0")?);
            }
        }
        Ok(())
    }

    fn narrow(&mut self, other: &Self) {
        self.dollars = [self.dollars, other.dollars].into_iter().flatten().reduce(f64::min);
        self.turns = [self.turns, other.turns].into_iter().flatten().min();
        self.time = [self.time, other.time].into_iter().flatten().min();
    }

    /// The measure whose limit `spent` has reached.
    fn reached(&self, spent: &Spent) -> Option<Measure> {
        let is = |reached: Option<bool>, measure| reached.unwrap_or(false).then_some(measure);
        is(self.dollars.map(|limit| spent.dollars >= limit), Measure::Dollars)
            .or(is(self.turns.map(|limit| spent.turns >= limit), Measure::Turns))
            .or(is(self.time.map(|limit| spent.time >= limit), Measure::Time))
    }

    /// Raises the limit of `measure` by `by` so that it is above what was spent.
    fn raise(&mut self, measure: Measure, by: &Self, spent: &Spent) {
        match (measure, self, by) {
            (Measure::Dollars, Self { dollars: Some(limit), .. }, Self { dollars: Some(by), .. }) => {
                *limit = limit.max(spent.dollars) + by;
            }
            (Measure::Turns, Self { turns: Some(limit), .. }, Self { turns: Some(by), .. }) => {
                *limit = (*limit).max(spent.turns).saturating_add(*by);
            }
            (Measure::Time, Self { time: Some(limit), .. }, Self { time: Some(by), .. }) => {
                *limit = (*limit).max(spent.time).saturating_add(*by);
            }
            _ => {}
        }
    }

    /// The limit of `measure`, in words.
    fn words(&self, measure: Measure) -> String {
        match measure {
            Measure::Dollars if self.dollars == Some(1.0) => texts::budget_dollar(),
            Measure::Dollars => texts::budget_dollars(&self.dollars.unwrap_or(0.0).to_string()),
            Measure::Turns if self.turns == Some(1) => texts::budget_turn(),
            Measure::Turns => texts::budget_turns(&self.turns.unwrap_or(0).to_string()),
            Measure::Time if self.time == Some(Duration::from_secs(1)) => texts::budget_second(),
            Measure::Time => texts::budget_seconds(&self.time.unwrap_or_default().as_secs_f64().to_string()),
        }
    }
}

impl Budget {
    /// Begins to count the time of a run, unless it is counted.
    pub fn start(&mut self, now: Duration) {
        self.since.get_or_insert(now);
    }

    /// Stops counting the time.
    pub fn pause(&mut self, now: Duration) {
        if let Some(since) = self.since.take() {
            self.worked += now.saturating_sub(since);
        }
    }

    fn time(&self, now: Duration) -> Duration {
        self.worked + self.since.map_or(Duration::ZERO, |since| now.saturating_sub(since))
    }
}

/// The dollars of a usage.
pub fn dollars(usage: &Usage) -> f64 {
    usage.cost.total.as_f64().unwrap_or_default()
}

impl Engine {
    /// Begins the budget of a prompt's run.
    pub(crate) fn begin_budget(&mut self) {
        if self.modes.budget.is_unlimited() {
            return;
        }
        self.budget.has_ended_run = false;
        self.budget.before_run = self.spent();
        if let Some(granted) = &mut self.budget.granted {
            granted.run = self.modes.budget.run;
        }
    }

    /// Begins the budget of a run that another process has begun, with what its messages have used. The time that it took is
    /// not known.
    pub(crate) fn resume_budget(&mut self, messages: &[Arc<AgentMessage>]) {
        self.begin_budget();
        let run = totals(messages);
        let before = &mut self.budget.before_run;
        before.dollars -= run.cost;
        before.turns = before.turns.saturating_sub(run.assistant);
        self.budget.start(self.now.monotonic);
    }

    /// Notes what the tool of a call says that it has used so far.
    pub(crate) fn note_tool_usage(&mut self, at: usize, usage: Option<&Usage>) {
        if let (Some(slot), Some(usage)) = (self.slot(at), usage) {
            slot.used = Some(usage.clone());
        }
    }

    /// What the session has spent, with what tools that run have used.
    fn spent(&self) -> Spent {
        let totals = self.store.session.tree().totals();
        let running = self.activity.batch().into_iter().flat_map(|batch| &batch.calls);
        let used: f64 = running.filter_map(|slot| slot.used.as_ref()).map(dollars).sum();
        Spent {
            dollars: totals.cost + used,
            turns: totals.assistant,
            time: self.budget.time(self.now.monotonic),
        }
    }

    /// What the open run has spent, and its session.
    fn spent_of(&self, scope: BudgetScope) -> Spent {
        let (all, before) = (self.spent(), self.budget.before_run);
        match scope {
            BudgetScope::Session => all,
            BudgetScope::Run => Spent {
                dollars: all.dollars - before.dollars,
                turns: all.turns.saturating_sub(before.turns),
                time: all.time.saturating_sub(before.time),
            },
        }
    }

    /// The limit that the open run or its session has reached.
    pub(crate) fn reached_limit(&self) -> Option<ReachedLimit> {
        if self.modes.budget.is_unlimited() {
            return None;
        }
        let granted = self.budget.granted.unwrap_or(self.modes.budget);
        let reached = |scope, limits: BudgetLimits| {
            let measure = limits.reached(&self.spent_of(scope))?;
            Some(ReachedLimit { scope, measure })
        };
        reached(BudgetScope::Session, granted.session).or_else(|| reached(BudgetScope::Run, granted.run))
    }

    /// Asks the host whether the run goes on beyond the limit.
    pub(crate) fn pause_at_limit(&mut self, limit: ReachedLimit) {
        self.budget.pause(self.now.monotonic);
        self.carry(Next::Phase(Phase::AtLimit(limit)));
        if self.activity.lifecycle().is_input_over() {
            return self.on_limit_response(None);
        }
        let title = self.limit_text(limit);
        let options = vec![self.raising_option(limit), texts::budget_stop()];
        let request =
            SelectRequest { id: String::new(), title, options, timeout: None, option_details: None };
        let request = RpcExtensionUIRequest::from(request);
        self.with_extensions(|host, context| host.request_budget(request, context));
    }

    /// Goes on beyond the limit or ends the run, by the host's dialog response; anything but a yes is a no.
    pub(crate) fn on_limit_response(&mut self, response: Option<RpcExtensionUIResponse>) {
        let Some(Phase::AtLimit(limit)) = self.activity.phase() else { return };
        let limit = *limit;
        self.carry(Next::Phase(Phase::Turn(VecDeque::new())));
        if self.activity.run().is_some_and(Run::ends_early) {
            return;
        }
        let goes_on = match response {
            Some(RpcExtensionUIResponse::UIValueResponse(it)) => it.value == self.raising_option(limit),
            _ => false,
        };
        if goes_on {
            let spent = self.spent_of(limit.scope);
            let mut plan = self.modes.budget;
            let granted = self.budget.granted.get_or_insert(plan);
            granted.of(limit.scope).raise(limit.measure, plan.of(limit.scope), &spent);
            return self.budget.start(self.now.monotonic);
        }
        self.budget.has_ended_run = true;
        let text = self.limit_text(limit);
        if let Some(run) = self.activity.run_mut() {
            run.early_end = Some(EarlyEnd::Failed(text));
        }
    }

    /// Whether the last run has ended at a limit of its budget.
    pub const fn has_ended_at_limit(&self) -> bool {
        self.budget.has_ended_run
    }

    /// The option of the dialog that raises the limit.
    fn raising_option(&self, limit: ReachedLimit) -> String {
        let mut plan = self.modes.budget;
        texts::budget_go_on(&plan.of(limit.scope).words(limit.measure))
    }

    /// The limit that is reached, in words.
    fn limit_text(&self, limit: ReachedLimit) -> String {
        let base = self.dialect.base();
        let mut granted = self.budget.granted.unwrap_or(self.modes.budget);
        let words = granted.of(limit.scope).words(limit.measure);
        match limit.scope {
            BudgetScope::Run => errors::run_budget(base, &words),
            BudgetScope::Session => errors::session_budget(base, &words),
        }
    }
}
