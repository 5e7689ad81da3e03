//! What the answer of an extension means for a hook.

use crate::engine::extensions::{hooks::Hooking, provider_hooks};
use crate::protocol::{
    Base, ExtensionMessage, HookBash, HookCompaction, HookEvent, HookResult, HookSummary, InputAction, errors,
};

/// What the extensions have said so far. What takes the place of something in the event is there.
#[derive(Debug, Default)]
pub struct Say {
    /// It does not happen.
    pub cancel: bool,
    /// What the user said was dealt with.
    pub handled: bool,
    /// A summary.
    pub compaction: Option<HookCompaction>,
    /// Messages behind that of the user.
    pub messages: Vec<ExtensionMessage>,
    /// Why a tool must not run, or a shell command.
    pub block: Option<String>,
    /// With `block`: the model is not asked again for the results.
    pub terminate: bool,
    /// Something in the event took the place of what was there.
    pub changed: bool,
    /// Files and folders of skills.
    pub skill_paths: Vec<String>,
    /// Files and folders of prompt templates.
    pub prompt_paths: Vec<String>,
    /// What came of a shell command.
    pub bash: Option<HookBash>,
    /// A summary of the branch that is left.
    pub summary: Option<HookSummary>,
}

impl Hooking {
    /// Notes what an extension said; `true` if nobody else needs to be asked. The error says what cannot be.
    pub(in crate::engine) fn take(&mut self, base: Base, result: HookResult) -> Result<bool, String> {
        let say = &mut self.say;
        Ok(match &mut self.event {
            HookEvent::SessionBeforeSwitch(_) | HookEvent::SessionBeforeFork(_) => {
                say.cancel |= result.cancel.unwrap_or(false);
                say.cancel
            }
            HookEvent::SessionBeforeCompact(_) => {
                say.cancel |= result.cancel.unwrap_or(false);
                say.compaction = result.compaction.or(say.compaction.take());
                say.cancel
            }
            HookEvent::SessionBeforeTree(tree) => {
                say.cancel |= result.cancel.unwrap_or(false);
                say.summary = result.summary.or(say.summary.take());
                tree.custom_instructions = result.custom_instructions.or(tree.custom_instructions.take());
                tree.replace_instructions = result.replace_instructions.or(tree.replace_instructions);
                tree.label = result.label.or(tree.label.take());
                say.cancel
            }
            HookEvent::Input(input) => {
                match result.action {
                    Some(InputAction::Handled) => say.handled = true,
                    Some(InputAction::Transform) => {
                        input.text = result.text.unwrap_or(std::mem::take(&mut input.text));
                        input.images = result.images.or(input.images.take());
                    }
                    Some(InputAction::Continue) | None => {}
                }
                say.handled
            }
            HookEvent::BeforeAgentStart(start) => {
                say.messages.extend(result.message);
                say.messages.extend(result.custom_messages.into_iter().flatten());
                if let Some(system_prompt) = result.system_prompt {
                    start.system_prompt = system_prompt;
                }
                false
            }
            HookEvent::PrepareArguments(call) => {
                call.input = result.input.unwrap_or(std::mem::take(&mut call.input));
                false
            }
            HookEvent::ToolCall(call) => {
                if let Some(input) = result.input {
                    (call.input, say.changed) = (input, true);
                }
                if result.block.unwrap_or(false) {
                    say.block = Some(result.reason.unwrap_or_default());
                    say.terminate = result.terminate.unwrap_or(false);
                }
                say.block.is_some()
            }
            HookEvent::ToolResult(event) => {
                // What programs are told must not contradict what the model is.
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
            HookEvent::Context(context) => {
                if let Some(messages) = result.messages {
                    (context.messages, say.changed) = (messages, true);
                }
                false
            }
            HookEvent::MessageEnd(ended) => {
                if let Some(message) = result.messages.and_then(|messages| messages.into_iter().next()) {
                    if message.kind() != ended.message.kind() {
                        return Err(errors::other_role(base));
                    }
                    (ended.message, say.changed) = (message, true);
                }
                false
            }
            HookEvent::UserBash(_) => {
                say.bash = result.bash;
                say.bash.is_some()
            }
            HookEvent::BeforeProviderRequest(_) | HookEvent::BeforeProviderHeaders(_) => {
                provider_hooks::change(&mut self.event, result);
                false
            }
            HookEvent::ResourcesDiscover(_) => {
                say.skill_paths.extend(result.skill_paths.into_iter().flatten());
                say.prompt_paths.extend(result.prompt_paths.into_iter().flatten());
                false
            }
            HookEvent::SessionShutdown(_)
            | HookEvent::Event(_)
            | HookEvent::SessionStart(_)
            | HookEvent::SessionCompact(_)
            | HookEvent::SessionTree(_)
            | HookEvent::ModelSelect(_)
            | HookEvent::ThinkingLevelSelect(_)
            | HookEvent::AfterProviderResponse(_) => false,
        })
    }
}
