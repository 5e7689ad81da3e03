//! Times and sums: latencies of commands, runs, deltas, tokens, cost.

use super::{
    frame_head::{FrameHead, MessageHead},
    item_index::RecordLinks,
    wire::{Deltas, Figures, Run, Tokens},
};
use pi_rpc_protocol::{
    AgentMessageKind as Role, AgentSessionEventKind as Event, HostResponseKind, RpcCommandKind as Command,
};
use pi_rpc_recording::Direction;
use std::collections::VecDeque;

/// A command and its response.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts {
    /// The record of the command.
    pub record: u32,
    /// The record of the response; 0: none so far.
    pub response: u32,
    /// The type, as a number of a name.
    pub name: u16,
    /// Whether it succeeded.
    pub is_success: bool,
}

/// Times and sums of a recording.
#[derive(Debug, Default)]
pub struct FigureIndex {
    requests: Vec<RequestFacts>,
    /// The figures after each record that changed them.
    figures: Vec<(u32, Sums)>,
    /// The model of each answer whose model is not that of the one before.
    models: Vec<(u32, String)>,
    runs: VecDeque<RunFacts>,
    /// The latest prompt without a run.
    prompt: Option<PromptFacts>,
    deltas: DeltaCount,
}

/// Sums up to a record.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    runs: u32,
    turns: u32,
    messages: u32,
    tools: u32,
    tokens: Tokens,
    cost: f64,
}

#[derive(Debug)]
struct RunFacts {
    run: Run,
    /// Times of the prompt or the start, of the start, of the first delta and the latest.
    from: f64,
    start: f64,
    first: Option<f64>,
    last: f64,
    before: Sums,
}

/// A prompt.
#[derive(Clone, Copy, Debug)]
struct PromptFacts {
    record: u32,
    t: f64,
    /// Milliseconds to its response.
    response: Option<f64>,
}

/// The ending of the types of deltas.
const DELTA: &str = "_delta";

/// The most runs that are kept, the latest.
const MAX_RUNS: usize = 200;
/// The longest name of a model that is kept.
const LONGEST_MODEL: usize = 256;

/// A record, as far as figures depend on it.
pub struct FigureRecord<'a> {
    /// The number.
    pub record: u32,
    /// Its time.
    pub t: f64,
    /// The source.
    pub direction: Direction,
    /// The type.
    pub kind: &'a str,
    /// The type as a number of a name.
    pub name: u16,
    /// The members.
    pub head: &'a FrameHead<'a>,
    /// What it belongs to.
    pub links: RecordLinks,
}

impl FigureIndex {
    /// The commands with their responses.
    pub fn requests(&self) -> &[RequestFacts] {
        &self.requests
    }

    /// Adds a record.
    pub fn add(&mut self, record: &FigureRecord<'_>) {
        match record.direction {
            Direction::In => {
                if Command::parse(record.kind) == Some(Command::Prompt) {
                    self.prompt = Some(PromptFacts { record: record.record, t: record.t, response: None });
                }
                if !is_answer(record.kind) {
                    let (record, name) = (record.record, record.name);
                    self.requests.push(RequestFacts { record, response: 0, name, is_success: false });
                }
            }
            Direction::Out => match Event::parse(record.kind) {
                Some(event) => self.event(event, record),
                None => self.response(record),
            },
            Direction::Err | Direction::Meta => {}
        }
    }

    fn response(&mut self, record: &FigureRecord<'_>) {
        let Some(cause) = record.links.cause else { return };
        if let Ok(at) = self.requests.binary_search_by_key(&cause, |request| request.record) {
            self.requests[at].response = record.record;
            self.requests[at].is_success = record.head.success() == Some(true);
        }
        let run = self.runs.back_mut().filter(|open| open.run.prompt == Some(cause));
        match (&mut self.prompt, run) {
            (Some(prompt), _) if prompt.record == cause => prompt.response = Some(record.t - prompt.t),
            (_, Some(open)) => open.run.response = Some(record.t - open.from),
            _ => {}
        }
    }

    fn event(&mut self, event: Event, record: &FigureRecord<'_>) {
        match event {
            Event::MessageUpdate if record.head.step().is_some_and(|step| step.ends_with(DELTA)) => {
                self.delta(record.t);
            }
            Event::AgentStart => {
                self.change(record.record, |sums| sums.runs += 1);
                self.start_run(record);
            }
            Event::AgentEnd => self.end_run(record),
            Event::TurnStart => self.change(record.record, |sums| sums.turns += 1),
            Event::ToolExecutionStart => self.change(record.record, |sums| sums.tools += 1),
            Event::MessageEnd => {
                let message = record.head.message().unwrap_or_default();
                self.change(record.record, |sums| sums.messages += 1);
                if Role::parse(&message.role) == Some(Role::Assistant) {
                    self.answer(record.record, &message);
                }
            }
            _ => {}
        }
    }

    fn answer(&mut self, record: u32, message: &MessageHead) {
        if let Some(usage) = &message.usage {
            self.change(record, |sums| {
                sums.tokens.input += usage.tokens.input;
                sums.tokens.output += usage.tokens.output;
                sums.tokens.cache_read += usage.tokens.cache_read;
                sums.tokens.cache_write += usage.tokens.cache_write;
                sums.tokens.total += usage.tokens.total;
                sums.cost += usage.cost.unwrap_or_default().total;
            });
        }
        let known = self.models.last().map(|(_, model)| model);
        if let Some(model) = message.model.as_ref().filter(|model| model.len() <= LONGEST_MODEL)
            && known != Some(model)
        {
            self.models.push((record, model.clone()));
        }
    }

    fn change(&mut self, record: u32, change: impl FnOnce(&mut Sums)) {
        let mut sums = self.sums();
        change(&mut sums);
        match self.figures.last_mut() {
            Some((last, kept)) if *last == record => *kept = sums,
            _ => self.figures.push((record, sums)),
        }
    }

    fn sums(&self) -> Sums {
        self.figures.last().map(|(_, sums)| *sums).unwrap_or_default()
    }

    fn start_run(&mut self, record: &FigureRecord<'_>) {
        let prompt = self.prompt.take();
        let run = Run {
            prompt: prompt.map(|prompt| prompt.record),
            response: prompt.and_then(|prompt| prompt.response),
            start: record.record,
            ..Run::default()
        };
        let from = prompt.map_or(record.t, |prompt| prompt.t);
        let before = self.sums();
        self.runs.push_back(RunFacts { run, from, start: record.t, first: None, last: record.t, before });
        if self.runs.len() > MAX_RUNS {
            self.runs.pop_front();
        }
    }

    fn end_run(&mut self, record: &FigureRecord<'_>) {
        let sums = self.sums();
        if let Some(open) = self.runs.back_mut().filter(|open| open.run.end.is_none()) {
            open.complete(&sums);
            open.run.end = Some(record.record);
            open.run.duration = Some(record.t - open.start);
        }
    }

    fn delta(&mut self, t: f64) {
        self.deltas.add(t);
        if let Some(open) = self.runs.back_mut().filter(|open| open.run.end.is_none()) {
            open.run.deltas += 1;
            open.last = t;
            if open.first.is_none() {
                open.first = Some(t);
                open.run.first_delta = Some(t - open.from);
            }
        }
    }

    /// The figures after the record with this number.
    pub fn figures_at(&self, record: u32) -> Figures {
        let at = self.figures.partition_point(|(number, _)| *number <= record);
        let sums = at.checked_sub(1).map(|at| self.figures[at].1).unwrap_or_default();
        let at = self.models.partition_point(|(number, _)| *number <= record);
        let model = at.checked_sub(1).map(|at| self.models[at].1.clone());
        let Sums { runs, turns, messages, tools, tokens, cost } = sums;
        Figures { model, runs, turns, messages, tools, tokens, cost }
    }

    /// The latest runs.
    pub fn runs(&self) -> Vec<Run> {
        let sums = self.sums();
        let run = |facts: &RunFacts| {
            let mut open = RunFacts { run: facts.run.clone(), ..*facts };
            if open.run.end.is_none() {
                open.complete(&sums);
            }
            open.run
        };
        self.runs.iter().map(run).collect()
    }

    /// The deltas.
    pub fn deltas(&self) -> Deltas {
        self.deltas.figures()
    }
}

impl RunFacts {
    /// Fills in the sums of the run so far.
    fn complete(&mut self, now: &Sums) {
        let (run, before) = (&mut self.run, &self.before);
        run.turns = now.turns - before.turns;
        run.tools = now.tools - before.tools;
        run.tokens = Tokens {
            input: now.tokens.input - before.tokens.input,
            output: now.tokens.output - before.tokens.output,
            cache_read: now.tokens.cache_read - before.tokens.cache_read,
            cache_write: now.tokens.cache_write - before.tokens.cache_write,
            total: now.tokens.total - before.tokens.total,
        };
        run.cost = now.cost - before.cost;
        let seconds = (self.last - self.first.unwrap_or(self.last)) / 1000.0;
        run.deltas_per_second = if seconds > 0.0 { f64::from(run.deltas) / seconds } else { 0.0 };
    }
}

/// Deltas of the last second, in tenths of it.
#[derive(Debug, Default)]
struct DeltaCount {
    tenths: VecDeque<(i64, u32)>,
    most: u32,
    total: u32,
}

impl DeltaCount {
    fn add(&mut self, t: f64) {
        let tenth = (t / 100.0) as i64;
        self.total += 1;
        match self.tenths.back_mut() {
            Some((last, count)) if *last >= tenth => *count += 1,
            _ => self.tenths.push_back((tenth, 1)),
        }
        while self.tenths.front().is_some_and(|(first, _)| first + 10 <= tenth) {
            self.tenths.pop_front();
        }
        self.most = self.most.max(self.now());
    }

    fn now(&self) -> u32 {
        self.tenths.iter().map(|(_, count)| count).sum()
    }

    fn figures(&self) -> Deltas {
        Deltas { now: self.now().into(), most: self.most.into(), total: self.total }
    }
}

/// Whether an inbound frame answers the server and is no command.
pub fn is_answer(kind: &str) -> bool {
    HostResponseKind::parse(kind).is_some()
}
