//! One hook, as data: its event, the outcome so far, and the continuation. `hooks` sends it.
//!
//! Each variant of [`Hook`] has the event that extensions receive, the part of the outcome that is not in the event
//! itself, and what the engine needs to go on once every extension has responded.

use crate::{
    extensions::request::HookOwner,
    io::{CallId, ModelCall},
    prompt::{Prompt, RunStart},
    run::{
        boundary::{Boundary, is_turn_end},
        deferred::AfterRun,
    },
    store::next_session::NextSession,
};
use pi_rpc_protocol::{
    AgentToolResult, Base, BashCommand, BeforeAgentStartHook, BeforeCompactHook, BeforeForkHook,
    BeforeSettleHook, BeforeSwitchHook, BeforeTreeHook, CacheWarmingHook, CompactedHook, ContextHook,
    EventHook, ExtensionMessage, HookBash, HookCompaction, HookEvent, HookName, HookResult, HookSummary,
    InputAction, InputHook, LevelSelectHook, McpServersHook, MessageEndHook, ModelRoute, ModelRouteHook,
    ModelSelectHook, PrepareArgumentsHook, ProviderHeadersHook, ProviderRequestHook, ProviderResponseHook,
    ProviderStreamHook, RequestId, ResourcesHook, RpcCommandKind, RpcSuccess, SessionStartHook, ShutdownHook,
    ToolCallHook, ToolResultHook, TreeHook, UserBashHook, errors,
};
use std::{collections::VecDeque, time::Duration};

/// A hook with its outcome so far and its continuation.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "hooks are few and moved rarely")]
pub enum Hook {
    /// The user's text, before it is expanded.
    Input {
        event: InputHook,
        /// An extension has dealt with the text: nothing else comes of it.
        is_handled: bool,
        then: InputContinuation,
    },
    /// A run is about to begin.
    BeforeAgentStart {
        event: BeforeAgentStartHook,
        /// Messages that follow the user's.
        messages: Vec<ExtensionMessage>,
        start: Box<RunStart>,
    },
    /// The command would open another session.
    SessionBeforeSwitch { event: BeforeSwitchHook, is_cancelled: bool, next: NextSession },
    /// The command would fork the session.
    SessionBeforeFork { event: BeforeForkHook, is_cancelled: bool, next: NextSession },
    /// The conversation is about to be compacted.
    SessionBeforeCompact {
        event: BeforeCompactHook,
        is_cancelled: bool,
        /// Takes the place of a model's summary.
        compaction: Option<HookCompaction>,
        /// Topics that the summary is to emphasise.
        focus: Option<String>,
    },
    /// Another branch of the session is about to be taken up.
    SessionBeforeTree {
        event: BeforeTreeHook,
        is_cancelled: bool,
        /// Takes the place of a model's summary.
        summary: Option<HookSummary>,
        navigation: CallId,
    },
    /// The arguments of the call at this place of the batch are about to be checked.
    PrepareArguments {
        event: PrepareArgumentsHook,
        /// Why there are no arguments.
        failure: Option<String>,
        at: usize,
    },
    /// The call at this place of the batch is about to run.
    ToolCall {
        event: ToolCallHook,
        /// The arguments in the event are an extension's.
        is_changed: bool,
        veto: Option<Veto>,
        at: usize,
    },
    /// The call at this place of the batch has ended.
    ToolResult {
        event: ToolResultHook,
        /// The result that its tool returned.
        original: Box<AgentToolResult>,
        at: usize,
    },
    /// A model is about to be requested.
    Context {
        event: ContextHook,
        /// The messages in the event are an extension's.
        is_changed: bool,
    },
    /// A request with a virtual model is about to be made.
    ModelRoute {
        event: ModelRouteHook,
        /// The request, still with the virtual model.
        call: Box<ModelCall>,
        /// The model to send it to, or why there is none; `None`: the extension has not responded.
        outcome: Option<Result<ModelRoute, String>>,
    },
    /// A message of the run is complete.
    MessageEnd {
        event: MessageEndHook,
        /// The message in the event is an extension's.
        is_changed: bool,
    },
    /// A shell command of the host is about to run.
    UserBash {
        event: UserBashHook,
        /// Why it must not run.
        failure: Option<String>,
        /// Takes the place of what it would print.
        result: Option<HookBash>,
        command: Box<BashCommand>,
    },
    /// A request with this number is about to be sent to a provider.
    BeforeProviderRequest { event: ProviderRequestHook, request: CallId },
    /// The headers of the request with this number are about to be sent to a provider.
    BeforeProviderHeaders { event: ProviderHeadersHook, request: CallId },
    /// A provider has begun to respond to the request with this number.
    AfterProviderResponse { event: ProviderResponseHook, request: CallId },
    /// An event of a provider's answer has come; the answer is read on afterwards.
    ProviderStreamEvent { event: ProviderStreamHook, request: CallId },
    /// Skills and prompt templates are searched.
    ResourcesDiscover {
        event: ResourcesHook,
        /// Files and folders of skills.
        skills: Vec<String>,
        /// Files and folders of prompt templates.
        templates: Vec<String>,
        /// The response to the command that opened the session; `None`: it is the first of the process.
        response: Option<Box<RpcSuccess>>,
    },
    /// A session has begun.
    SessionStart { event: SessionStartHook, then: SessionStartContinuation },
    /// The session is about to be left for `next`.
    SessionShutdown { event: ShutdownHook, next: Box<AfterRun> },
    /// The conversation was compacted.
    SessionCompact { event: CompactedHook },
    /// Another branch was taken up, for the action.
    SessionTree { event: TreeHook, navigation: CallId },
    /// Another model was chosen.
    ModelSelect { event: ModelSelectHook },
    /// Another thinking level was chosen.
    ThinkingLevelSelect { event: LevelSelectHook },
    /// An event of the run, for extensions that registered for it in `awaits`.
    Event {
        event: EventHook,
        /// The frame of the event is held until every extension has responded, or their time is over.
        holds_frame: bool,
        boundary: Boundary,
    },
    /// The chain of runs is about to settle.
    AgentBeforeSettle { event: BeforeSettleHook, boundary: Boundary },
    /// The cache of the conversation is about to end.
    CacheWarmingDecision {
        event: CacheWarmingHook,
        /// Whether it is kept warm; `None`: no extension has decided.
        outcome: Option<bool>,
    },
    /// Extensions have added or removed servers of the Model Context Protocol.
    McpServersChange { event: McpServersHook },
}

/// A hook that is outstanding.
#[derive(Debug)]
pub struct OutstandingHook {
    /// The hook, with its outcome so far.
    pub hook: Hook,
    /// The places of the extensions that have still to respond.
    pub remaining: VecDeque<usize>,
    /// How long the extensions before have taken; while a dialog of theirs was open does not count.
    pub spent: Duration,
}

/// The continuation of the hook `input`.
#[derive(Debug)]
pub enum InputContinuation {
    /// A prompt goes on.
    Prompt(Box<Prompt>),
    /// A message is queued.
    Queue {
        /// The request's id.
        id: Option<RequestId>,
        /// The request's kind, which names the queue.
        kind: RpcCommandKind,
    },
}

/// The continuation of the hook `session_start`.
#[derive(Debug)]
pub enum SessionStartContinuation {
    /// The first session of the process has begun: skills and templates are searched.
    Discover,
    /// Skills and templates are searched, then the command that opened the session is responded to.
    Respond(Box<RpcSuccess>),
    /// Nothing.
    Nothing,
}

/// The veto of an extension against a tool call.
#[derive(Debug)]
pub struct Veto {
    /// Why, for the model.
    pub reason: String,
    /// The model is not requested again for the results.
    pub terminates: bool,
}

/// Defines the accessors that are alike for all variants.
macro_rules! accessors {
    ($($variant:ident)*) => {
        /// The name that extensions register for.
        pub const fn name(&self) -> HookName {
            match self { $(Self::$variant { .. } => HookName::$variant),* }
        }

        /// The event as extensions receive it now.
        pub fn event(&self) -> HookEvent {
            match self { $(Self::$variant { event, .. } => event.clone().into()),* }
        }
    };
}

impl Hook {
    accessors! {
        Input BeforeAgentStart SessionBeforeSwitch SessionBeforeFork SessionBeforeCompact SessionBeforeTree
        PrepareArguments ToolCall ToolResult Context MessageEnd UserBash BeforeProviderRequest
        BeforeProviderHeaders AfterProviderResponse ProviderStreamEvent ResourcesDiscover SessionStart SessionShutdown SessionCompact
        SessionTree ModelSelect ThinkingLevelSelect Event AgentBeforeSettle ModelRoute
        CacheWarmingDecision McpServersChange
    }

    /// The owner of the requests of this hook.
    pub const fn owner(&self) -> HookOwner {
        match self {
            Self::Input { then: InputContinuation::Prompt(_), .. }
            | Self::BeforeAgentStart { .. }
            | Self::ModelRoute { .. }
            | Self::BeforeProviderRequest { .. }
            | Self::BeforeProviderHeaders { .. }
            | Self::AfterProviderResponse { .. }
            | Self::ProviderStreamEvent { .. } => HookOwner::Prompt,
            Self::PrepareArguments { .. } | Self::ToolCall { .. } | Self::ToolResult { .. } => {
                HookOwner::Call
            }
            _ => HookOwner::Command,
        }
    }

    /// Whether another session is open afterwards.
    pub const fn changes_session(&self) -> bool {
        matches!(
            self,
            Self::SessionShutdown { .. }
                | Self::SessionStart { then: SessionStartContinuation::Respond(_), .. }
                | Self::ResourcesDiscover { response: Some(_), .. }
        )
    }

    /// Whether the session may be left afterwards.
    pub const fn may_leave_session(&self) -> bool {
        matches!(self, Self::SessionBeforeSwitch { .. } | Self::SessionBeforeFork { .. })
    }

    /// Whether a command of the host waits for it, in dialects that serve commands one by one.
    pub const fn holds_commands(&self) -> bool {
        self.may_leave_session() || matches!(self, Self::Input { then: InputContinuation::Prompt(_), .. })
    }

    /// Adds the result of an extension to the outcome; `true`: the outcome is final.
    ///
    /// # Errors
    ///
    /// Why the result does not count.
    pub fn apply(&mut self, base: Base, result: HookResult) -> Result<bool, String> {
        Ok(match self {
            Self::SessionBeforeSwitch { is_cancelled, .. } | Self::SessionBeforeFork { is_cancelled, .. } => {
                *is_cancelled |= result.cancel.unwrap_or(false);
                *is_cancelled
            }
            Self::SessionBeforeCompact { is_cancelled, compaction, .. } => {
                *is_cancelled |= result.cancel.unwrap_or(false);
                *compaction = result.compaction.or(compaction.take());
                *is_cancelled
            }
            Self::SessionBeforeTree { event, is_cancelled, summary, .. } => {
                *is_cancelled |= result.cancel.unwrap_or(false);
                *summary = result.summary.or(summary.take());
                event.custom_instructions = result.custom_instructions.or(event.custom_instructions.take());
                event.replace_instructions = result.replace_instructions.or(event.replace_instructions);
                event.label = result.label.or(event.label.take());
                *is_cancelled
            }
            Self::Input { event, is_handled, .. } => {
                match result.action {
                    Some(InputAction::Handled) => *is_handled = true,
                    Some(InputAction::Transform) => {
                        event.text = result.text.unwrap_or(std::mem::take(&mut event.text));
                        event.images = result.images.or(event.images.take());
                    }
                    Some(InputAction::Continue) | None => {}
                }
                *is_handled
            }
            Self::BeforeAgentStart { event, messages, .. } => {
                messages.extend(result.message);
                messages.extend(result.custom_messages.into_iter().flatten());
                if let Some(system_prompt) = result.system_prompt {
                    event.system_prompt = system_prompt;
                }
                false
            }
            Self::PrepareArguments { event, .. } => {
                event.input = result.input.unwrap_or(std::mem::take(&mut event.input));
                false
            }
            Self::ToolCall { event, is_changed, veto, .. } => {
                if let Some(input) = result.input {
                    (event.input, *is_changed) = (input, true);
                }
                if result.block.unwrap_or(false) {
                    let reason = result.reason.unwrap_or_default();
                    *veto = Some(Veto { reason, terminates: result.terminate.unwrap_or(false) });
                }
                veto.is_some()
            }
            Self::ToolResult { event, .. } => {
                // The structured content must not contradict the content that the model reads.
                let structured = result.structured_content;
                if let Some(content) = result.content {
                    let same = event.content == content;
                    event.structured_content = event.structured_content.take().filter(|_| same);
                    event.content = content;
                }
                event.structured_content = structured.or(event.structured_content.take());
                if result.details.is_some() {
                    event.details = result.details;
                }
                event.is_error = result.is_error.unwrap_or(event.is_error);
                false
            }
            Self::Context { event, is_changed } => {
                if let Some(messages) = result.messages {
                    (event.messages, *is_changed) = (messages, true);
                }
                false
            }
            Self::ModelRoute { outcome, .. } => {
                *outcome = result.route.map(Ok);
                false
            }
            Self::MessageEnd { event, is_changed } => {
                if let Some(message) = result.messages.and_then(|messages| messages.into_iter().next()) {
                    if message.kind() != event.message.kind() {
                        return Err(errors::other_role(base));
                    }
                    (event.message, *is_changed) = (message, true);
                }
                false
            }
            Self::UserBash { result: made, .. } => {
                *made = result.bash;
                made.is_some()
            }
            Self::BeforeProviderRequest { event, .. } => {
                if let Some(payload) = result.payload {
                    event.payload = payload;
                }
                false
            }
            Self::BeforeProviderHeaders { event, .. } => {
                if let Some(headers) = result.headers {
                    event.headers = headers;
                }
                false
            }
            Self::ResourcesDiscover { skills, templates, .. } => {
                skills.extend(result.skill_paths.into_iter().flatten());
                templates.extend(result.prompt_paths.into_iter().flatten());
                false
            }
            Self::Event { event, boundary, .. } => {
                if is_turn_end(event) {
                    boundary.add(result);
                }
                false
            }
            Self::AgentBeforeSettle { boundary, .. } => {
                boundary.add(result);
                false
            }
            Self::CacheWarmingDecision { outcome, .. } => {
                *outcome = result.warms.or(*outcome);
                false
            }
            Self::SessionStart { .. }
            | Self::SessionShutdown { .. }
            | Self::SessionCompact { .. }
            | Self::SessionTree { .. }
            | Self::ModelSelect { .. }
            | Self::ThinkingLevelSelect { .. }
            | Self::AfterProviderResponse { .. }
            | Self::ProviderStreamEvent { .. }
            | Self::McpServersChange { .. } => false,
        })
    }

    /// Adds the failure of an extension to the outcome, which counts as a veto. `true`: the
    /// outcome is final. `is_cancelled`: the request was cancelled before.
    pub fn fail(&mut self, base: Base, text: &str, cancelled: bool) -> bool {
        match self {
            Self::ToolCall { veto, .. } => {
                let terminates = veto.as_ref().is_some_and(|veto| veto.terminates);
                *veto = Some(Veto { reason: errors::block_failed(base, text), terminates });
                true
            }
            Self::ModelRoute { outcome, .. } => {
                *outcome = Some(Err(text.to_owned()));
                false
            }
            Self::PrepareArguments { failure, .. } => {
                *failure = Some(text.to_owned());
                false
            }
            // The process was stopped before the extensions responded.
            Self::SessionBeforeSwitch { is_cancelled, .. }
            | Self::SessionBeforeFork { is_cancelled, .. }
            | Self::SessionBeforeTree { is_cancelled, .. } => {
                *is_cancelled |= cancelled;
                false
            }
            // The extension might have run the command on another machine.
            Self::UserBash { failure, .. } => {
                *failure = Some(text.to_owned());
                true
            }
            _ => false,
        }
    }

    /// Adds to the outcome that an extension is not running; `true`: the outcome is final.
    pub fn skip(&mut self, base: Base) -> bool {
        match self {
            Self::ToolCall { .. }
            | Self::PrepareArguments { .. }
            | Self::UserBash { .. }
            | Self::ModelRoute { .. } => self.fail(base, &errors::not_running(base), false),
            _ => false,
        }
    }
}
