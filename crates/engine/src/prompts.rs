//! Takes a prompt to its run: slash command, `input` hook, expansion of skills and templates, disposition.
//!
//! ```text
//! prompt ─→ command of an extension? ─→ it runs; no run follows
//!        └→ input hook ─→ skill, template ─→ queued, refused, or accepted
//!                                              accepted ─→ compaction first? ─→ before_agent_start hook ─→ run
//! ```
//!
//! One prompt at a time is examined; later ones are deferred. [`Prompt`] is the data, [`Intake`] the state. Source: pi
//! source. Decided here: in `pi` and `pi-1` a prompt that was accepted gets no second response; what fails later ends
//! its run.

use crate::{
    activity::Next,
    backlog::Intake,
    core::Engine,
    extensions::{
        hook::{Hook, InputContinuation},
        process::FailureSource,
    },
    gate::Gate,
    io::Output,
    prompt::{Expansion, Prompt, Recipient, RunStart, parts, text_of},
    queues::TurnInput,
    run::deferred::AfterRun,
    store::after_append::AfterAppend,
    todos::list::TODO_WRITE,
};
use pi_rpc_machine::Step;
use pi_rpc_protocol::{
    AgentMessage, Attribution, BeforeAgentStartHook, Check as _, CustomMessage, DialectPromptAck,
    ExtensionMessage, HookName, ImageContent, InputHook, InputSource, MessageContent, PromptDisposition,
    PromptOutcome, PromptResponse, RpcCommand, RpcCommandKind, StreamingBehavior, TextContent, UserContent,
    UserMessage, errors,
};
use std::sync::Arc;

impl Engine {
    /// Serves a prompt: runs the slash command that the text calls, or examines the prompt now or after earlier prompts.
    pub(crate) fn serve_prompt(&mut self, prompt: Prompt) {
        let from_host = matches!(prompt.recipient, Recipient::Host { .. });
        if from_host
            && let Some((name, arguments)) = slash(&prompt.text)
            && let Some(command) = self.extension_command(name)
        {
            let (name, arguments) = (name.to_owned(), arguments.to_owned());
            return self.with_extensions(|host, context| {
                host.request_command(command, &name, &arguments, prompt.recipient, context);
            });
        }
        if from_host && let Some(error) = self.missing_command(&prompt.text) {
            return self.refuse_prompt(&prompt.recipient, error);
        }
        let is_free = self.backlog.intake.is_free() && !self.holds_commands();
        if !is_free || self.backlog.after_run.iter().any(AfterRun::waits_for_prompt) {
            return self.defer_prompt(prompt);
        }
        self.examine(prompt);
    }

    /// The error for a text that calls a slash command of an extension which could not be loaded, or of one that is built
    /// into the original; `None` for any other text. A template or a skill of that name takes its place.
    pub(crate) fn missing_command(&self, text: &str) -> Option<String> {
        let (name, _) = slash(text)?;
        if self.instructions.commands.template(text).is_some()
            || self.instructions.commands.skill(text).is_some()
        {
            return None;
        }
        let base = self.dialect.base();
        if let Some((path, reason)) = self.extensions.unloaded_command(name) {
            return Some(errors::command_not_loaded(base, name, path, reason));
        }
        let is_of_agent = self.instructions.agent_commands.iter().any(|command| command.name == name);
        let is_absent = !is_of_agent && self.dialect.record().absent_commands.contains(&name);
        is_absent.then(|| errors::absent_command(base, name))
    }

    /// Defers a prompt until the prompts before it are examined.
    ///
    /// An extension gets its response at once: its own hook may be the outstanding one.
    fn defer_prompt(&mut self, mut prompt: Prompt) {
        if let Recipient::Extension { process, id, .. } = &mut prompt.recipient {
            let (process, id) = (*process, id.take());
            self.respond_to_extension(process, id, Ok(()));
        }
        self.backlog.after_run.push_back(AfterRun::AfterPrompt(Box::new(prompt)));
    }

    /// Sends the `input` hook for a prompt.
    fn examine(&mut self, prompt: Prompt) {
        self.backlog.intake = Intake::Examining;
        if !self.is_hooked(HookName::Input) {
            return self.expand_prompt(prompt, false);
        }
        let from_host = matches!(prompt.recipient, Recipient::Host { .. });
        let source = if from_host { InputSource::Rpc } else { InputSource::Extension };
        let streaming_behavior = match &prompt.command {
            RpcCommand::Prompt(command) if self.is_under_way() => command.streaming_behavior,
            _ => None,
        };
        let event = InputHook {
            text: prompt.text.clone(),
            images: prompt.images.clone(),
            source,
            streaming_behavior,
        };
        let then = InputContinuation::Prompt(Box::new(prompt));
        self.send_hook(Hook::Input { event, is_handled: false, then });
    }

    /// Examines the next deferred prompt; `false` if there is none or another is being examined.
    pub(crate) fn examine_next_prompt(&mut self) -> bool {
        if !self.backlog.intake.is_free() || self.holds_commands() {
            return false;
        }
        match self.backlog.after_run.pop_front_if(|next| next.waits_for_prompt()) {
            Some(AfterRun::AfterPrompt(next)) => self.examine(*next),
            _ => return false,
        }
        true
    }

    /// Expands the prompt that waited for the decision about the ended run; `false` if there is none.
    pub(crate) fn resume_examined_prompt(&mut self) -> bool {
        if self.holds_commands() {
            return false;
        }
        match std::mem::replace(&mut self.backlog.intake, Intake::Examining) {
            Intake::Examined { prompt, is_handled } => self.expand_prompt(*prompt, is_handled),
            other => {
                self.backlog.intake = other;
                return false;
            }
        }
        true
    }

    /// Expands a prompt after its `input` hook, unless an extension has handled the prompt.
    pub(crate) fn expand_prompt(&mut self, prompt: Prompt, is_handled: bool) {
        if is_handled {
            self.backlog.intake = Intake::Free;
            self.respond_accepted(&prompt.recipient, PromptDisposition::Handled);
            self.await_prompt_result(&prompt.recipient, None);
            return self.emit_prompt_result(&prompt.recipient);
        }
        // Texts of extensions are not expanded.
        if matches!(prompt.recipient, Recipient::Extension { .. }) {
            return self.queue_or_run_prompt(prompt);
        }
        let text = prompt.text.clone();
        self.expand(&text, true, Expansion::Prompt(Box::new(prompt)));
    }

    /// Expands a skill or a template, if the text calls one.
    pub(crate) fn expand(&mut self, text: &str, skills: bool, expansion: Expansion) {
        if skills && let Some((skill, _)) = self.instructions.commands.skill(text) {
            let path = skill.path.clone();
            self.requests.files.skill = Some(expansion);
            return self.push(Output::ReadFile(path));
        }
        self.finish_expansion(expansion, None);
    }

    /// Handles the result of reading a skill's file.
    pub(crate) fn on_skill_read(&mut self, read: Result<String, String>) {
        let Some(expansion) = self.requests.files.skill.take() else { return };
        let text = match &expansion {
            Expansion::Prompt(prompt) => &prompt.text,
            Expansion::Queued { text, .. } => text,
        };
        let Some((skill, arguments)) = self.instructions.commands.skill(text) else {
            return self.finish_expansion(expansion, None);
        };
        match read {
            Ok(file) => {
                let text = skill.expand(&file, arguments);
                self.finish_expansion(expansion, Some(text));
            }
            Err(error) => {
                let path = skill.path.clone();
                self.report_failure(FailureSource::Skill(&path.display().to_string()), &error);
                self.finish_expansion(expansion, None);
            }
        }
    }

    /// Expands a template, if no skill was, and runs or queues the text; `skill`: the text of the expanded skill.
    fn finish_expansion(&mut self, expansion: Expansion, skill: Option<String>) {
        let template = |text: &str| self.instructions.commands.template(text);
        match expansion {
            Expansion::Prompt(mut prompt) => {
                if let Some(text) = skill.or_else(|| template(&prompt.text)) {
                    prompt.text = text;
                }
                self.queue_or_run_prompt(*prompt);
            }
            Expansion::Queued { id, kind, images, text } => {
                let text = skill.or_else(|| template(&text)).unwrap_or(text);
                self.queue_expanded(id, kind, text, images);
            }
        }
    }

    /// Queues a prompt, refuses it, or opens its run, as the gate says.
    fn queue_or_run_prompt(&mut self, prompt: Prompt) {
        self.backlog.intake = Intake::Free;
        let gate = self.gate(&prompt.command);
        let behavior = match &prompt.command {
            RpcCommand::Prompt(command) => command.streaming_behavior,
            _ => None,
        };
        if gate == Gate::Preempt && prompt.command.kind() == RpcCommandKind::AbortAndPrompt {
            // The command met no run, but ends one that has begun since.
            return self.preempt(AfterRun::Prompt(Box::new(prompt)));
        }
        let Prompt { recipient, text, images, is_aborted, .. } = prompt;
        let message = self.user_message(text, images);
        match gate {
            Gate::Queue => {
                let queue = behavior.unwrap_or(StreamingBehavior::Steer);
                let text = text_of(&message.content);
                self.queue_message(queue, message);
                self.respond_accepted(&recipient, PromptDisposition::Queued);
                self.await_prompt_result(&recipient, Some(text));
            }
            Gate::Reject(text) => self.refuse_prompt(&recipient, text.to_owned()),
            Gate::Run | Gate::Preempt | Gate::Noop | Gate::Control => {
                self.admit_prompt(recipient, message, is_aborted)
            }
        }
    }

    /// Admits a prompt if the model is usable and all earlier entries are persisted: its run starts. Responds in any case.
    pub(crate) fn admit_prompt(&mut self, recipient: Recipient, message: UserMessage, is_aborted: bool) {
        if self.store.has_failed() {
            let message = Box::new(message);
            return self.store.after_append(AfterAppend::OpenRun { recipient, message, is_aborted });
        }
        match self.prompt_refusal() {
            Some(error) => self.refuse_prompt(&recipient, error),
            None => {
                let mut start = RunStart { message, is_aborted, recipient: Some(recipient) };
                if !self.dialect.record().compaction.before_response {
                    self.respond_started(&mut start);
                }
                self.cancel_retry();
                if let Some(start) = self.compact_before_run(start) {
                    self.send_before_agent_start(start);
                }
            }
        }
    }

    /// Sends the `before_agent_start` hook of a prompt; its run opens after that.
    pub(crate) fn send_before_agent_start(&mut self, mut start: RunStart) {
        self.respond_started(&mut start);
        self.take_step(Step::PromptBegins, Next::Nothing);
        // No model request follows, so no extension has anything to change.
        if start.is_aborted || self.ends_at_once() || !self.is_hooked(HookName::BeforeAgentStart) {
            return self.open_run_after_hook(start, Vec::new(), None);
        }
        let (prompt, images) = parts(&start.message.content);
        let system_prompt = self.instructions.text.to_string();
        let event = BeforeAgentStartHook { prompt, images, system_prompt };
        let start = Box::new(start);
        self.send_hook(Hook::BeforeAgentStart { event, messages: Vec::new(), start });
    }

    /// Responds, once, that the run of a prompt starts.
    fn respond_started(&mut self, start: &mut RunStart) {
        if let Some(recipient) = start.recipient.take() {
            self.respond_accepted(&recipient, PromptDisposition::Started);
            self.await_prompt_result(&recipient, None);
        }
    }

    /// Opens the run of a prompt whose `before_agent_start` hook has completed.
    pub(crate) fn open_run_after_hook(
        &mut self,
        start: RunStart,
        added: Vec<ExtensionMessage>,
        system_prompt: Option<String>,
    ) {
        let waiting = std::mem::take(&mut self.queues.next_prompt);
        let added: Vec<AgentMessage> =
            added.into_iter().map(|message| self.custom_message(message).into()).collect();
        // Handlers that leave the instructions as they are have not replaced them.
        let own = &self.instructions.text;
        let replaced = system_prompt.filter(|text| **text != **own);
        let system_prompt = replaced.map_or_else(|| own.clone(), Arc::from);
        let prelude = self.prelude(&text_of(&start.message.content));
        let planned = prelude.is_some();
        let inputs = prelude.into_iter().chain([AgentMessage::User(start.message)]);
        self.todos.reset_reminders();
        self.begin_budget();
        self.series.failed_answer = None;
        let inputs = inputs.chain(waiting).chain(added).map(TurnInput::from);
        self.start_run_under(system_prompt, inputs, start.is_aborted);
        if let Some(run) = self.activity.run_mut().filter(|_| planned) {
            run.forced_tool = Some(TODO_WRITE.to_owned());
        }
    }

    /// Whether a prompt or a message is on its way to a run or a queue, or the session is being changed: nothing else
    /// may begin.
    pub(crate) fn has_prompt_under_way(&self) -> bool {
        !self.backlog.intake.is_free() || self.activity.is_starting() || self.activity.is_switching()
    }

    /// Aborts the prompts on their way to a run: their runs end before a model is requested.
    pub(crate) fn abort_prompts(&mut self) {
        for next in &mut self.backlog.after_run {
            if let AfterRun::AfterPrompt(prompt) = next {
                prompt.is_aborted = true;
            }
        }
        self.extensions.abort_prompts();
    }

    /// Responds with the success of a command or an action, without data.
    pub(crate) fn respond_success(&mut self, recipient: &Recipient) {
        match recipient.clone() {
            Recipient::Host { id, kind } => self.acknowledge(kind, id),
            Recipient::Extension { process, id, .. } => {
                self.respond_to_extension(process, id, Ok(()));
            }
        }
    }

    /// Responds that a prompt is accepted, in some dialects with its disposition.
    pub(crate) fn respond_accepted(&mut self, recipient: &Recipient, disposition: PromptDisposition) {
        let is_starting = self.activity.is_starting();
        match recipient {
            Recipient::Host { id, kind: RpcCommandKind::Prompt } => {
                let mut data = PromptOutcome { disposition: Some(disposition), agent_invoked: None };
                data.fit(self.dialect.base());
                let data = Some(data).filter(|data| data.disposition.is_some());
                self.succeed(PromptResponse { id: id.clone(), data });
            }
            recipient => self.respond_success(recipient),
        }
        if disposition != PromptDisposition::Started && !is_starting && self.activity.is_starting() {
            self.take_step(Step::PromptEnds, Next::Kept);
        }
    }

    /// Responds that a prompt is refused. Some dialects emit a success before they examine a prompt; the error follows it. A
    /// message for a queue has one response, also if it starts a run.
    pub(crate) fn refuse_prompt(&mut self, recipient: &Recipient, text: String) {
        let early = self.dialect.record().prompt_ack == DialectPromptAck::ImmediateThenMaybeError;
        let Recipient::Host { id, kind } = recipient else { return self.respond_failure(recipient, text) };
        let is_starting = self.activity.is_starting();
        if early && kind.is_prompt() {
            self.respond_success(recipient);
        }
        match is_starting {
            true => self.fail(id.clone(), *kind, text.clone()),
            // Ends the state that the success has led to.
            false => self.emit_failure(id.clone(), *kind, text.clone()),
        }
        if early && kind.is_prompt() {
            self.emit_failed_prompt(recipient, text);
        }
    }

    /// Responds with the failure of a command or an action.
    pub(crate) fn respond_failure(&mut self, recipient: &Recipient, text: String) {
        match recipient.clone() {
            Recipient::Host { id, kind } => self.fail(id, kind, text),
            Recipient::Extension { process, id, event } => {
                if let Some(event) = event {
                    self.report_failure(FailureSource::Runtime(event), &text);
                }
                self.respond_to_extension(process, id, Err(text));
            }
        }
    }

    /// Builds the user's message from a prompt's text and images.
    pub(crate) fn user_message(&self, text: String, images: Option<Vec<ImageContent>>) -> UserMessage {
        let text = UserContent::Text(TextContent { text, text_signature: None });
        let images = images.into_iter().flatten().map(UserContent::Image);
        UserMessage {
            content: MessageContent::Blocks([text].into_iter().chain(images).collect()),
            attribution: Some(Attribution::User),
            synthetic: None,
            provider_payload: None,
            steering: None,
            timestamp: self.now.wall,
        }
    }

    /// The custom message of the conversation that an extension's message becomes.
    pub(crate) fn custom_message(&self, message: ExtensionMessage) -> CustomMessage {
        CustomMessage {
            custom_type: message.custom_type,
            content: message.content,
            display: message.display,
            details: message.details,
            attribution: Some(Attribution::Agent),
            timestamp: self.now.wall,
        }
    }
}

/// Splits a text that begins with `/` into a command's name and its arguments.
pub fn slash(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('/')?;
    Some(text.split_once(' ').unwrap_or((text, "")))
}
