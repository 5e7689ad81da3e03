//! Follows the inputs and outputs of a session's engine, and says which spans begin and end with them.

use crate::{
    conventions::{
        ABORTED, CONVERSATION, EXTENSION, FINISH_REASONS, OPERATION, OTHER_FAILURE, PROVIDER, REQUEST_MODEL,
        TOOL_CALL, TOOL_NAME, TURN, stop_reason, usage,
    },
    model_request::{ModelKey, ModelRequest},
    span::{Attribute, Failure, Parent, SpanEnd, SpanEvent, SpanKind, SpanNumber, SpanStart},
    texts::Texts,
};
use pi_rpc_engine::{CallId, Input, Now, Output};
use pi_rpc_model::types::TokenCounts;
use pi_rpc_protocol::{
    AgentEndEvent, AgentMessage, AgentSessionEvent, Emission, FromExtension, HookEvent, Inbound, Outbound,
    StopReason, ToExtension, ToolExecutionEndEvent, ToolExecutionStartEvent,
};
use pi_rpc_server::TraceContext;
use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

/// What the spans of a session are made with.
#[derive(Clone, Debug, Default)]
pub struct TracerOptions {
    /// The span below which are the runs of clients that name none.
    pub parent: Option<TraceContext>,
    /// Records prompts, answers, arguments and results; `None`: no texts are recorded.
    pub texts: Option<Texts>,
    /// Names of the extensions, by their places.
    pub extensions: Vec<String>,
}

/// Makes spans of what passes between a session's engine and the world. It has no clock and no IO.
#[derive(Debug)]
pub struct SessionTracer {
    options: TracerOptions,
    clock: Option<Anchor>,
    last_number: SpanNumber,
    events: Vec<SpanEvent>,
    /// The trace context of the frame that comes next.
    carried: Option<TraceContext>,
    /// What the runs that begin now are below.
    parent: Parent,
    prelude: Option<Prelude>,
    /// When a run was taken up that another process has left, until it shows.
    resumed: Option<Duration>,
    run: Option<Run>,
    turn: Option<SpanNumber>,
    models: HashMap<ModelKey, ModelRequest>,
    /// Running tools, by the ids of their calls.
    tools: HashMap<String, SpanNumber>,
    /// Hooks under way, by the process and the id of the request.
    hooks: BTreeMap<(CallId, String), SpanNumber>,
    /// The places of extensions that run.
    places: HashMap<CallId, usize>,
}

/// A moment by both clocks: that of the system may be set anew while a span is open.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    monotonic: Duration,
    wall: Duration,
}

/// Hooks in front of a run, which become a part of it once it has begun.
#[derive(Debug)]
struct Prelude {
    run: SpanNumber,
    at: Duration,
    events: Vec<SpanEvent>,
}

/// An open run.
#[derive(Debug)]
struct Run {
    number: SpanNumber,
    turns: u64,
    tokens: TokenCounts,
    /// What its requests have in common.
    attributes: Vec<Attribute>,
    /// The failure of its last request.
    failure: Option<Failure>,
}

/// The most events that wait for a run to begin.
const MAX_PRELUDE: usize = 256;

impl SessionTracer {
    /// The tracer of a session that has not begun.
    pub fn new(options: TracerOptions) -> Self {
        let parent = options.parent.clone().map_or(Parent::None, Parent::Client);
        Self {
            options,
            clock: None,
            last_number: 0,
            events: Vec::new(),
            carried: None,
            parent,
            prelude: None,
            resumed: None,
            run: None,
            turn: None,
            models: HashMap::new(),
            tools: HashMap::new(),
            hooks: BTreeMap::new(),
            places: HashMap::new(),
        }
    }

    /// Takes what has become known of spans, in order: a span begins after its parent.
    pub fn take_events(&mut self) -> Vec<SpanEvent> {
        std::mem::take(&mut self.events)
    }

    /// Notes the context of the frame that comes next.
    pub fn on_trace_context(&mut self, context: &TraceContext) {
        self.carried = Some(context.clone());
    }

    /// Follows an input that the engine is about to handle.
    pub fn on_input(&mut self, input: &Input, now: Now) {
        match input {
            Input::Frame(frame) => self.on_frame(frame),
            Input::BadLine(_) => self.carried = None,
            Input::Resume(_) => self.resumed = Some(self.at(now)),
            Input::Model { call, event } => {
                let at = self.at(now);
                let Some(request) = self.models.get_mut(&ModelKey::Call(*call)) else { return };
                if request.add(event, at) {
                    self.end_model(&ModelKey::Call(*call), at);
                }
            }
            Input::Extension { from, frame } => self.on_extension_frame(*from, frame, now),
            Input::ExtensionEnded { from, .. } => self.on_extension_end(*from, now),
            _ => {}
        }
    }

    /// Follows an output of the engine.
    pub fn on_output(&mut self, output: &Output, now: Now) {
        match output {
            Output::Emit(Emission::Frame(frame) | Emission::Line { frame, .. }) => {
                if let Outbound::AgentSessionEvent(event) = frame {
                    self.on_event(event, now);
                }
            }
            Output::CallModel(call) => {
                let at = self.at(now);
                let request = ModelRequest::of_call(call, self.options.texts.as_ref());
                self.start_model(ModelKey::Call(call.call), request, at);
            }
            Output::CancelModel(call) => {
                let at = self.at(now);
                self.cut_model(&ModelKey::Call(*call), at);
            }
            Output::StartExtension { process, place } => drop(self.places.insert(*process, *place)),
            Output::ToExtension { to, frame } => self.on_frame_to_extension(*to, frame, now),
            _ => {}
        }
    }

    /// Ends all that is open: the session has ended.
    pub fn on_end(&mut self, now: Now) {
        let at = self.at(now);
        self.release_prelude();
        self.end_run_with(at, Some(Failure::of(ABORTED)));
        let models: Vec<ModelKey> = self.models.keys().cloned().collect();
        models.iter().for_each(|key| self.cut_model(key, at));
        for hook in std::mem::take(&mut self.hooks).into_values() {
            self.end(hook, at, Vec::new(), Some(Failure::of(ABORTED)));
        }
    }

    /// A command that may start a run says what that run is below.
    fn on_frame(&mut self, frame: &Inbound) {
        let carried = self.carried.take();
        let Inbound::Command(command) = frame else { return };
        // What comes while a run is on its way, such as a steering message, changes nothing of it.
        if command.kind().has_message() && self.run.is_none() && self.hooks.is_empty() {
            self.release_prelude();
            let context = carried.or_else(|| self.options.parent.clone());
            self.parent = context.map_or(Parent::None, Parent::Client);
        }
    }

    fn on_event(&mut self, event: &AgentSessionEvent, now: Now) {
        let at = self.at(now);
        match event {
            AgentSessionEvent::AgentStart(_) => self.start_run(at),
            AgentSessionEvent::AgentEnd(end) => self.end_run(end, at),
            AgentSessionEvent::TurnStart(_) => self.start_turn(at),
            AgentSessionEvent::TurnEnd(_) => {
                if let Some(turn) = self.turn.take() {
                    self.end(turn, at, Vec::new(), None);
                }
            }
            AgentSessionEvent::ToolExecutionStart(start) => self.start_tool(start, at),
            AgentSessionEvent::ToolExecutionEnd(end) => self.end_tool(end, at),
            _ => {}
        }
    }

    fn start_run(&mut self, at: Duration) {
        self.resumed = None;
        // Where a chain of runs has one end, the next one ends the one before: as its last request has ended.
        let failure = self.run.as_ref().and_then(|run| run.failure.clone());
        self.end_run_with(at, failure);
        let prelude = self.prelude.take();
        let (number, begun) = match &prelude {
            Some(prelude) => (prelude.run, prelude.at),
            None => (self.next_number(), at),
        };
        self.events.push(SpanEvent::Started(SpanStart {
            number,
            parent: self.parent.clone(),
            name: "invoke_agent".to_owned(),
            kind: SpanKind::Internal,
            at: begun,
            attributes: vec![(OPERATION, "invoke_agent".into())],
        }));
        self.events.extend(prelude.into_iter().flat_map(|prelude| prelude.events));
        self.run = Some(Run {
            number,
            turns: 0,
            tokens: TokenCounts::default(),
            attributes: Vec::new(),
            failure: None,
        });
    }

    fn end_run(&mut self, end: &AgentEndEvent, at: Duration) {
        self.resume_run();
        let last = end.messages.iter().rev().find_map(|message| match message {
            AgentMessage::Assistant(it) => Some(it.stop_reason),
            _ => None,
        });
        self.cut_parts(at);
        let Some(run) = self.run.take() else { return };
        let failure = match last {
            Some(StopReason::Error) => Some(run.failure.unwrap_or_else(|| Failure::of(OTHER_FAILURE))),
            Some(StopReason::Aborted) => Some(Failure::of(ABORTED)),
            _ => None,
        };
        let mut attributes = run.attributes;
        attributes.extend(last.map(|last| (FINISH_REASONS, vec![stop_reason(last)].into())));
        attributes.extend(usage(&run.tokens));
        self.end(run.number, at, attributes, failure);
    }

    /// Ends the open run, which has no end of its own.
    fn end_run_with(&mut self, at: Duration, failure: Option<Failure>) {
        self.cut_parts(at);
        if let Some(run) = self.run.take() {
            let attributes = run.attributes.into_iter().chain(usage(&run.tokens)).collect();
            self.end(run.number, at, attributes, failure);
        }
    }

    /// Ends what the open run consists of.
    fn cut_parts(&mut self, at: Duration) {
        for tool in std::mem::take(&mut self.tools).into_values() {
            self.end(tool, at, Vec::new(), Some(Failure::of(ABORTED)));
        }
        let turns = self.models.iter().filter(|(_, request)| request.is_turn);
        let turns: Vec<ModelKey> = turns.map(|(key, _)| key.clone()).collect();
        turns.iter().for_each(|key| self.cut_model(key, at));
        if let Some(turn) = self.turn.take() {
            self.end(turn, at, Vec::new(), Some(Failure::of(ABORTED)));
        }
    }

    /// Begins the run that was taken up: its `agent_start` is another process's.
    fn resume_run(&mut self) {
        if let Some(at) = self.resumed.take() {
            self.start_run(at);
        }
    }

    fn start_turn(&mut self, at: Duration) {
        self.resume_run();
        let Some(run) = &mut self.run else { return };
        run.turns += 1;
        let attributes = vec![(TURN, run.turns.into())];
        self.turn = Some(self.start("turn", self.parent(None), SpanKind::Internal, at, attributes));
    }

    fn start_tool(&mut self, start: &ToolExecutionStartEvent, at: Duration) {
        self.resume_run();
        let mut attributes = vec![
            (OPERATION, "execute_tool".into()),
            (TOOL_NAME, start.tool_name.as_str().into()),
            (TOOL_CALL, start.tool_call_id.as_str().into()),
        ];
        attributes.extend(self.options.texts.as_ref().map(|texts| texts.arguments(&start.args)));
        let parent = self.parent(start.parent_tool_call_id.as_deref());
        let name = format!("execute_tool {}", start.tool_name);
        let number = self.start(&name, parent, SpanKind::Internal, at, attributes);
        // Models choose the ids, and some repeat them.
        if let Some(replaced) = self.tools.insert(start.tool_call_id.clone(), number) {
            self.end(replaced, at, Vec::new(), Some(Failure::of(OTHER_FAILURE)));
        }
    }

    fn end_tool(&mut self, end: &ToolExecutionEndEvent, at: Duration) {
        let Some(number) = self.tools.remove(&end.tool_call_id) else { return };
        let result = self.options.texts.as_ref().map(|texts| texts.result(&end.result));
        let failure = end.is_error.then(|| Failure::of("tool_error"));
        self.end(number, at, result.into_iter().collect(), failure);
    }

    fn start_model(&mut self, key: ModelKey, mut request: ModelRequest, at: Duration) {
        let attributes = std::mem::take(&mut request.attributes);
        if let Some(run) = self.run.as_mut().filter(|_| request.is_turn) {
            let shared = [PROVIDER, REQUEST_MODEL, CONVERSATION];
            run.attributes = attributes.iter().filter(|(name, _)| shared.contains(name)).cloned().collect();
        }
        let parent = self.parent(None);
        request.number = self.start(&request.name, parent, SpanKind::Client, at, attributes);
        request.begun = at;
        self.models.insert(key, request);
    }

    /// Ends a request whose answer is complete, or has failed.
    fn end_model(&mut self, key: &ModelKey, at: Duration) {
        let Some(request) = self.models.remove(key) else { return };
        let failure = request.failure(self.options.texts.as_ref());
        if let Some(run) = self.run.as_mut().filter(|_| request.is_turn) {
            add(&mut run.tokens, &request.tokens);
            run.failure.clone_from(&failure);
        }
        self.end(request.number, at, request.end_attributes(self.options.texts.as_ref()), failure);
    }

    /// Ends a request that is cancelled.
    fn cut_model(&mut self, key: &ModelKey, at: Duration) {
        if let Some(request) = self.models.get_mut(key) {
            request.cut();
            self.end_model(key, at);
        }
    }

    fn on_frame_to_extension(&mut self, to: CallId, frame: &ToExtension, now: Now) {
        let at = self.at(now);
        match frame {
            // One for each event of a stream would say nothing of it.
            ToExtension::Hook(it) if !matches!(it.hook, HookEvent::ProviderStreamEvent(_)) => {
                self.start_hook(to, &it.id, &it.hook, at);
            }
            ToExtension::ModelCall(call) => {
                let mut request = ModelRequest::of_extension(call, self.options.texts.as_ref());
                // The frame does not say what it is for: in a turn, it is most often its request.
                request.is_turn = self.turn.is_some();
                self.start_model(ModelKey::Extension(to, call.id.clone()), request, at);
            }
            ToExtension::Cancel(cancel) => {
                self.cut_model(&ModelKey::Extension(to, cancel.id.clone()), at);
                if let Some(hook) = self.hooks.remove(&(to, cancel.id.clone())) {
                    self.end(hook, at, Vec::new(), Some(Failure::of(ABORTED)));
                }
            }
            _ => {}
        }
    }

    fn start_hook(&mut self, to: CallId, id: &str, hook: &HookEvent, at: Duration) {
        let call = match hook {
            HookEvent::PrepareArguments(it) => Some(it.tool_call_id.as_str()),
            HookEvent::ToolCall(it) => Some(it.tool_call_id.as_str()),
            HookEvent::ToolResult(it) => Some(it.tool_call_id.as_str()),
            _ => None,
        };
        let precedes_run = matches!(hook, HookEvent::Input(_) | HookEvent::BeforeAgentStart(_));
        if self.run.is_none() && precedes_run && self.prelude.is_none() {
            self.prelude = Some(Prelude { run: self.next_number(), at, events: Vec::new() });
        }
        let parent = match &self.prelude {
            Some(prelude) if precedes_run => Parent::Span(prelude.run),
            _ => self.parent(call),
        };
        let name = self.places.get(&to).and_then(|place| self.options.extensions.get(*place));
        let attributes = name.map(|name| (EXTENSION, name.as_str().into())).into_iter().collect();
        let name = format!("hook {}", hook.kind().as_str());
        let number = self.start(&name, parent, SpanKind::Internal, at, attributes);
        self.hooks.insert((to, id.to_owned()), number);
    }

    fn on_extension_frame(&mut self, from: CallId, frame: &FromExtension, now: Now) {
        let at = self.at(now);
        let (id, failure) = match frame {
            FromExtension::Done(it) => (&it.id, None),
            FromExtension::Failed(it) => {
                let key = ModelKey::Extension(from, it.id.clone());
                if let Some(request) = self.models.get_mut(&key) {
                    request.fail(&it.error);
                    return self.end_model(&key, at);
                }
                let text = self.options.texts.as_ref().map(|texts| texts.text(&it.error));
                (&it.id, Some(Failure { class: OTHER_FAILURE.to_owned(), text }))
            }
            FromExtension::ModelEvent(it) => {
                let key = ModelKey::Extension(from, it.id.clone());
                let Some(request) = self.models.get_mut(&key) else { return };
                if request.add_of_extension(&it.event, at) {
                    self.end_model(&key, at);
                }
                return;
            }
            _ => return,
        };
        if let Some(number) = self.hooks.remove(&(from, id.clone())) {
            self.end(number, at, Vec::new(), failure);
        }
    }

    /// What an extension was to do is over with its process.
    fn on_extension_end(&mut self, from: CallId, now: Now) {
        let at = self.at(now);
        self.places.remove(&from);
        let own: Vec<_> = self.hooks.keys().filter(|(process, _)| *process == from).cloned().collect();
        for number in own.iter().filter_map(|key| self.hooks.remove(key)).collect::<Vec<_>>() {
            self.end(number, at, Vec::new(), Some(Failure::of("extension_ended")));
        }
        let is_own = |key: &&ModelKey| matches!(key, ModelKey::Extension(process, _) if *process == from);
        let own: Vec<ModelKey> = self.models.keys().filter(is_own).cloned().collect();
        own.iter().for_each(|key| self.cut_model(key, at));
    }

    /// Lets go of hooks that waited for a run: it has not begun.
    fn release_prelude(&mut self) {
        let Some(prelude) = self.prelude.take() else { return };
        let orphaned = Parent::Span(prelude.run);
        self.events.extend(prelude.events.into_iter().map(|event| match event {
            SpanEvent::Started(start) if start.parent == orphaned => {
                SpanEvent::Started(SpanStart { parent: self.parent.clone(), ..start })
            }
            event => event,
        }));
    }

    /// The innermost open span: of the tool call, the turn, the run or the client.
    fn parent(&self, tool_call: Option<&str>) -> Parent {
        let tool = tool_call.and_then(|id| self.tools.get(id)).copied();
        let own = tool.or(self.turn).or_else(|| self.run.as_ref().map(|run| run.number));
        own.map_or_else(|| self.parent.clone(), Parent::Span)
    }

    fn start(
        &mut self,
        name: &str,
        parent: Parent,
        kind: SpanKind,
        at: Duration,
        attributes: Vec<Attribute>,
    ) -> SpanNumber {
        let number = self.next_number();
        self.push(SpanEvent::Started(SpanStart {
            number,
            parent,
            name: name.to_owned(),
            kind,
            at,
            attributes,
        }));
        number
    }

    fn end(
        &mut self,
        number: SpanNumber,
        at: Duration,
        attributes: Vec<Attribute>,
        failure: Option<Failure>,
    ) {
        self.push(SpanEvent::Ended(SpanEnd { number, at, attributes, failure }));
    }

    fn push(&mut self, event: SpanEvent) {
        match &mut self.prelude {
            Some(prelude) => {
                prelude.events.push(event);
                if prelude.events.len() >= MAX_PRELUDE {
                    self.release_prelude();
                }
            }
            None => self.events.push(event),
        }
    }

    const fn next_number(&mut self) -> SpanNumber {
        self.last_number += 1;
        self.last_number
    }

    /// The time since the Unix epoch. While a span is open it follows the clock that is never set.
    fn at(&mut self, now: Now) -> Duration {
        let wall = Duration::from_millis(now.wall);
        let is_open =
            self.run.is_some() || self.prelude.is_some() || !self.hooks.is_empty() || !self.models.is_empty();
        let anchor = match self.clock.filter(|_| is_open) {
            Some(anchor) => anchor,
            None => *self.clock.insert(Anchor { monotonic: now.monotonic, wall }),
        };
        anchor.wall + now.monotonic.saturating_sub(anchor.monotonic)
    }
}

/// Adds the tokens of an answer to those of the run.
fn add(sum: &mut TokenCounts, tokens: &TokenCounts) {
    // Providers say what they like.
    let add = |sum: &mut u64, tokens: u64| *sum = sum.saturating_add(tokens);
    add(&mut sum.input, tokens.input);
    add(&mut sum.output, tokens.output);
    add(&mut sum.cache_read, tokens.cache_read);
    add(&mut sum.cache_write, tokens.cache_write);
    if let Some(reasoning) = tokens.reasoning {
        add(sum.reasoning.get_or_insert_default(), reasoning);
    }
}
