//! Consent of the host to tool calls (`--confirm-tools`): which calls need it, the dialog, and its response.
//!
//! A call needs consent when a pattern matches the name of its tool. A pattern that has matched no tool yet may be a
//! slip: until one matches, every call needs consent. The host is notified once, by `extension_error`: when extensions
//! have registered, or, where the host itself may lend tools, with the first call that needs consent for this reason.

use crate::{
    actions::task::ActionTask, core::Engine, extensions::process::FailureSource, io::CallId,
    requests::ToolContinuation, tool_result::error_result,
};
use pi_rpc_protocol::{
    ExtensionRunTool, JsonObject, RpcExtensionUIRequest, RpcExtensionUIResponse, SelectRequest, errors, texts,
};
use serde_json::Value;

pub use crate::consent_patterns::{Pattern, nearest};

impl Engine {
    /// Whether a call of the tool `name` needs the host's consent.
    fn needs_consent(&mut self, name: &str) -> bool {
        if self.tools.consent_patterns.allowed.contains(name) {
            return false;
        }
        self.tools.forget_matched_patterns();
        if self.tools.consent_patterns.patterns.iter().any(|pattern| pattern.matches(name)) {
            return true;
        }
        self.report_unmatched();
        !self.tools.consent_patterns.unmatched.is_empty()
    }

    /// Reports the patterns that match no tool, once.
    pub(crate) fn report_unmatched(&mut self) {
        if self.tools.consent_patterns.unmatched.is_empty()
            || std::mem::replace(&mut self.tools.consent_patterns.reported, true)
        {
            return;
        }
        let base = self.dialect.base();
        let known: Vec<&str> = self.tools.all().map(|(tool, ..)| tool.name.as_str()).collect();
        let describe = |pattern: &Pattern| match nearest(&pattern.text, known.iter().copied()) {
            Some(name) => errors::no_such_guarded_tool_but(base, &pattern.text, name),
            None => errors::no_such_guarded_tool(base, &pattern.text),
        };
        let texts: Vec<String> = self.tools.consent_patterns.unmatched.iter().map(describe).collect();
        for text in texts {
            self.report_failure(FailureSource::File(OPTION, GUARD), &text);
        }
    }

    /// Opens the consent dialog for the call at `at`, or runs the call if it needs no consent.
    pub(crate) fn request_consent(&mut self, at: usize, arguments: &JsonObject) {
        let Some(name) = self.tool_call(at).map(|call| call.name.clone()) else { return };
        if !self.needs_consent(&name) {
            return self.run_permitted_call(at);
        }
        if self.activity.lifecycle().is_input_over() {
            return self.on_call_consent(at, None);
        }
        let request = question(texts::confirm_call(&name, &shown(arguments)));
        self.with_extensions(|host, context| host.request_call_consent(at, request, context));
    }

    /// Runs or prevents a call by the host's dialog response; anything but a yes is a no.
    pub(crate) fn on_call_consent(&mut self, at: usize, answer: Option<RpcExtensionUIResponse>) {
        if self.checked_arguments(at).is_none() {
            return;
        }
        if self.is_call_stopping(at) {
            let result = self.unrun_result(at);
            return self.end_unrun_call(at, result);
        }
        let Some(name) = self.tool_call(at).map(|call| call.name.clone()) else { return };
        if self.has_consented(&name, answer) {
            self.run_permitted_call(at);
        } else {
            let text = errors::denied(self.dialect.base(), &name);
            self.end_unrun_call(at, error_result(&text));
        }
    }

    /// Serves an extension's `run_tool`: runs a tool of the server outside of the conversation, with the host's consent.
    pub(crate) fn run_action_tool(&mut self, process: CallId, action: ExtensionRunTool) {
        let ExtensionRunTool { id, origin, tool_name: name, arguments, .. } = action;
        let base = self.dialect.base();
        if !self.tools.is_of_server(&name) {
            return self.respond(process, Some(id), Err(errors::tool_not_found(base, &name)));
        }
        if !self.needs_consent(&name) {
            let call = self.open_task(process, Some(id), ActionTask::Tool);
            self.requests.tools.insert(call, ToolContinuation::Action);
            return self.start_tool(call, None, name, arguments);
        }
        let place = self.extensions.place_of(process).unwrap_or_default();
        let title = texts::confirm_run_tool(&name, self.extensions.path(place), &shown(&arguments));
        let denied = errors::denied(base, &name);
        let consent = ActionTask::Consent { tool_name: name, arguments };
        let call = self.open_task(process, Some(id), consent);
        let is_asked = self.with_extensions(|host, context| {
            host.request_action_consent(process, call, origin.as_deref(), question(title), context)
        });
        if !is_asked {
            self.end_action(call, Err(denied));
        }
    }

    /// Runs or refuses the tool of an extension's `run_tool` by the host's dialog response.
    pub(crate) fn on_action_consent(&mut self, call: CallId, answer: Option<RpcExtensionUIResponse>) {
        let Some(ActionTask::Consent { tool_name, arguments }) = self.requests.actions.0.get(&call) else {
            return;
        };
        let (name, arguments) = (tool_name.clone(), arguments.clone());
        if !self.has_consented(&name, answer) {
            let text = errors::denied(self.dialect.base(), &name);
            return self.end_action(call, Err(text));
        }
        if let Some(task) = self.requests.actions.0.get_mut(&call) {
            *task = ActionTask::Tool;
            self.requests.tools.insert(call, ToolContinuation::Action);
            self.start_tool(call, None, name, arguments);
        }
    }

    /// Whether the response allows a call of the tool `name`; remembers it where the user has allowed all calls.
    fn has_consented(&mut self, name: &str, answer: Option<RpcExtensionUIResponse>) -> bool {
        let Some(RpcExtensionUIResponse::UIValueResponse(answer)) = answer else { return false };
        if answer.value == texts::allow_session() {
            self.tools.consent_patterns.allowed.insert(name.to_owned());
            return true;
        }
        answer.value == texts::allow_once()
    }
}

/// Stands for the file in an `extension_error` about the option.
const OPTION: &str = "--confirm-tools";

/// Stands for the event in an `extension_error` about the option.
const GUARD: &str = "confirm_tools";

/// Builds the consent dialog.
fn question(title: String) -> RpcExtensionUIRequest {
    let options = vec![texts::allow_once(), texts::allow_session(), texts::deny()];
    SelectRequest { id: String::new(), title, options, timeout: None, option_details: None }.into()
}

/// The longest arguments that a dialog shows whole, in characters of their JSON.
const WHOLE: usize = 16_000;

/// Characters shown of each long text in longer arguments: at its beginning, and at its end.
const SHOWN: [usize; 2] = [6_000, 6_000];

/// The length from which a text within the arguments may be cut, in characters.
const LONG: usize = 1_000;

/// Formats the arguments for the dialog. If they are too long, each long text is cut by itself: what a
/// command does last is shown even if other arguments follow it.
fn shown(arguments: &JsonObject) -> String {
    let whole = |arguments: &JsonObject| serde_json::to_string(arguments).unwrap_or_default();
    let text = whole(arguments);
    if text.chars().count() <= WHOLE {
        return text;
    }
    let mut arguments = arguments.clone();
    let texts = arguments.values_mut().filter_map(|value| match value {
        Value::String(text) if text.chars().count() > LONG => Some(text),
        _ => None,
    });
    let long: Vec<&mut String> = texts.collect();
    let share = SHOWN.map(|length| length / long.len().max(1));
    for text in long {
        *text = cut(text, share);
    }
    cut(&whole(&arguments), [WHOLE / 2; 2])
}

/// Cuts the middle out of a long text, and says how much is missing and where.
fn cut(text: &str, [first, last]: [usize; 2]) -> String {
    let count = text.chars().count();
    if count <= first + last {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(first).collect();
    let end: String = text.chars().skip(count - last).collect();
    let hidden = count - first - last;
    let note = texts::hidden_part(
        &hidden.to_string(),
        &count.to_string(),
        &(first + 1).to_string(),
        &(count - last).to_string(),
    );
    format!("{beginning} {note} {end}")
}
