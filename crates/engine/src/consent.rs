//! Consent of the host to tool calls (`--confirm-tools`): which calls need it, the dialog, and its response.
//!
//! A call needs consent when a pattern matches the name of its tool. A pattern that has matched no tool yet may be a
//! slip: until one matches, every call needs consent. The host is notified once, by `extension_error`: when extensions
//! have registered, or, where the host itself may lend tools, with the first call that needs consent for this reason.

use crate::{
    actions::task::ActionTask,
    core::Engine,
    extensions::process::FailureSource,
    io::{CallId, Output},
    permissions::{self, GuardedCall},
    requests::ToolContinuation,
    tool_result::error_result,
};
use pi_rpc_protocol::{
    ExtensionRunTool, JsonObject, RpcExtensionUIRequest, RpcExtensionUIResponse, SelectRequest, errors, texts,
};
use serde_json::Value;

pub use crate::consent_patterns::{Pattern, nearest};

/// What a call that needs consent belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConsentSubject {
    /// The call at this place of the batch.
    Call(usize),
    /// The action of an extension.
    Action {
        /// The action.
        call: CallId,
        /// The extension's process.
        process: CallId,
        /// The request that the action belongs to.
        origin: Option<String>,
    },
}

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
        // A client that knows the question may say no, whatever this process would permit.
        if self.was_answered_early(at, &name, arguments) {
            return;
        }
        if self.was_permitted(at) || !(self.needs_consent(&name) || self.has_inherited_question(at)) {
            return self.run_permitted_call(at);
        }
        if self.activity.lifecycle().is_input_over() {
            return self.on_call_consent(at, None);
        }
        if self.tools.consent_patterns.has_store {
            let call = self.guarded_call(&name, arguments);
            return self
                .push(Output::FindPermission { subject: ConsentSubject::Call(at), call: Box::new(call) });
        }
        self.ask_about_call(at, &name, arguments);
    }

    /// Runs or prevents the call at `at` by an answer that came before its question was open again; `false`: there is none.
    fn was_answered_early(&mut self, at: usize, name: &str, arguments: &JsonObject) -> bool {
        if !is_shown_whole(arguments) {
            return false;
        }
        let answer = self.take_early_answer(at, &texts::confirm_call(name, &shown(arguments)));
        let is_answered = answer.is_some();
        if is_answered {
            self.on_call_consent(at, answer);
        }
        is_answered
    }

    /// Opens the consent dialog for the call at `at`.
    fn ask_about_call(&mut self, at: usize, name: &str, arguments: &JsonObject) {
        let title = texts::confirm_call(name, &shown(arguments));
        // The question that another process has asked is the same one: an answer to it counts. Of arguments that were not
        // shown whole, the title does not say whether they are the same.
        let asked = self.take_inherited_question(at, &title);
        let id = asked.map(|(id, _)| id).filter(|_| is_shown_whole(arguments));
        let request = self.question(title, name, arguments);
        self.with_extensions(|host, context| host.request_call_consent(at, request, id, context));
    }

    /// Runs a call that a stored permission covers; asks the host about others.
    pub(crate) fn on_permission_found(&mut self, subject: ConsentSubject, is_covered: bool) {
        match subject {
            ConsentSubject::Call(at) => {
                let Some(arguments) = self.consent_arguments(at) else { return };
                let Some(name) = self.tool_call(at).map(|call| call.name.clone()) else { return };
                if self.was_answered_early(at, &name, &arguments) {
                    return;
                }
                if self.is_call_stopping(at) || self.activity.lifecycle().is_input_over() {
                    return self.on_call_consent(at, None);
                }
                // A record may still name the question that a client was asked: only its answer ends that.
                match is_covered && !self.has_inherited_question(at) {
                    true => self.run_permitted_call(at),
                    false => self.ask_about_call(at, &name, &arguments),
                }
            }
            ConsentSubject::Action { call, process, origin } => match is_covered {
                true => self.run_consented_action(call),
                false => self.ask_about_action(call, process, origin.as_deref()),
            },
        }
    }

    /// The arguments that the call at `at` needs consent for.
    pub(crate) fn consent_arguments(&self, at: usize) -> Option<JsonObject> {
        let checked = self.checked_arguments(at)?;
        Some(self.changed_arguments(at).cloned().unwrap_or(checked))
    }

    fn guarded_call(&self, name: &str, arguments: &JsonObject) -> GuardedCall {
        GuardedCall {
            tool: name.to_owned(),
            is_own_tool: self.tools.is_carried_out_by_server(name),
            arguments: arguments.clone(),
            session: self.store.session.id().to_owned(),
            directory: self.store.place.directory.clone().into(),
        }
    }

    /// Whether the host has permitted the call in another process, with the arguments that it runs with.
    fn was_permitted(&mut self, at: usize) -> bool {
        let Some(slot) = self.slot(at) else { return false };
        slot.before.is_permitted && slot.prepared.is_none() && slot.changed.is_none()
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
        let arguments = self.consent_arguments(at).unwrap_or_default();
        if self.has_consented(&name, &arguments, answer) {
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
        let guarded = self.guarded_call(&name, &arguments);
        let consent = ActionTask::Consent { tool_name: name, arguments };
        let call = self.open_task(process, Some(id), consent);
        match self.tools.consent_patterns.has_store {
            true => {
                let subject = ConsentSubject::Action { call, process, origin };
                self.push(Output::FindPermission { subject, call: Box::new(guarded) });
            }
            false => self.ask_about_action(call, process, origin.as_deref()),
        }
    }

    /// Opens the consent dialog for an extension's `run_tool`.
    fn ask_about_action(&mut self, call: CallId, process: CallId, origin: Option<&str>) {
        let Some((name, arguments)) = self.action_to_consent(call) else { return };
        let place = self.extensions.place_of(process).unwrap_or_default();
        let title = texts::confirm_run_tool(&name, self.extensions.path(place), &shown(&arguments));
        let request = self.question(title, &name, &arguments);
        let is_asked = self.with_extensions(|host, context| {
            host.request_action_consent(process, call, origin, request, context)
        });
        if !is_asked {
            let denied = errors::denied(self.dialect.base(), &name);
            self.end_action(call, Err(denied));
        }
    }

    /// The tool and the arguments of an action that waits for consent.
    fn action_to_consent(&self, call: CallId) -> Option<(String, JsonObject)> {
        match self.requests.actions.0.get(&call) {
            Some(ActionTask::Consent { tool_name, arguments }) => {
                Some((tool_name.clone(), arguments.clone()))
            }
            _ => None,
        }
    }

    /// Runs or refuses the tool of an extension's `run_tool` by the host's dialog response.
    pub(crate) fn on_action_consent(&mut self, call: CallId, answer: Option<RpcExtensionUIResponse>) {
        let Some((name, arguments)) = self.action_to_consent(call) else { return };
        if !self.has_consented(&name, &arguments, answer) {
            let text = errors::denied(self.dialect.base(), &name);
            return self.end_action(call, Err(text));
        }
        self.run_consented_action(call);
    }

    fn run_consented_action(&mut self, call: CallId) {
        let Some((name, arguments)) = self.action_to_consent(call) else { return };
        if let Some(task) = self.requests.actions.0.get_mut(&call) {
            *task = ActionTask::Tool;
            self.requests.tools.insert(call, ToolContinuation::Action);
            self.start_tool(call, None, name, arguments);
        }
    }

    /// Whether the response allows the call; keeps what it allows for good.
    fn has_consented(
        &mut self,
        name: &str,
        arguments: &JsonObject,
        answer: Option<RpcExtensionUIResponse>,
    ) -> bool {
        let Some(RpcExtensionUIResponse::UIValueResponse(answer)) = answer else { return false };
        if answer.value == texts::allow_once() {
            return true;
        }
        if !self.tools.consent_patterns.has_store {
            let is_for_session = answer.value == texts::allow_session();
            if is_for_session {
                self.tools.consent_patterns.allowed.insert(name.to_owned());
            }
            return is_for_session;
        }
        let offers = permissions::offers(&self.guarded_call(name, arguments));
        let chosen = offers.into_iter().find(|(text, _)| *text == answer.value);
        let Some((_, permission)) = chosen else { return false };
        self.push(Output::StorePermission(Box::new(permission)));
        true
    }

    /// Narrows the answer of somebody whose session it is not: what would permit calls for good permits the one call.
    pub fn narrow_answer(&self, answer: &mut RpcExtensionUIResponse) {
        let RpcExtensionUIResponse::UIValueResponse(answer) = answer else { return };
        let is_for_good = ![texts::allow_once(), texts::deny()].contains(&answer.value);
        if is_for_good && self.extensions.offers_consent(&answer.id, &answer.value) {
            answer.value = texts::allow_once();
        } else if is_for_good && let Some((name, arguments)) = self.call_of_inherited_question(&answer.id) {
            let is_offered = self.for_good(&name, &arguments).contains(&answer.value);
            answer.value = if is_offered { texts::allow_once() } else { texts::deny() };
        }
    }

    /// Builds the consent dialog.
    fn question(&self, title: String, name: &str, arguments: &JsonObject) -> RpcExtensionUIRequest {
        let for_good = self.for_good(name, arguments);
        let options = [texts::allow_once()].into_iter().chain(for_good).chain([texts::deny()]).collect();
        SelectRequest { id: String::new(), title, options, timeout: None, option_details: None }.into()
    }

    /// The options that permit further calls than the one that is asked about.
    fn for_good(&self, name: &str, arguments: &JsonObject) -> Vec<String> {
        let offered = match self.tools.consent_patterns.has_store {
            true => permissions::offers(&self.guarded_call(name, arguments)),
            false => Vec::new(),
        };
        match offered.is_empty() {
            true => vec![texts::allow_session()],
            false => offered.into_iter().map(|(text, _)| text).collect(),
        }
    }
}

/// Stands for the file in an `extension_error` about the option.
const OPTION: &str = "--confirm-tools";

/// Stands for the event in an `extension_error` about the option.
const GUARD: &str = "confirm_tools";

/// The longest arguments that a dialog shows whole, in characters of their JSON.
const WHOLE: usize = 16_000;

/// Characters shown of each long text in longer arguments: at its beginning, and at its end.
const SHOWN: [usize; 2] = [6_000, 6_000];

/// The length from which a text within the arguments may be cut, in characters.
const LONG: usize = 1_000;

/// Whether a dialog shows all of the arguments.
fn is_shown_whole(arguments: &JsonObject) -> bool {
    serde_json::to_string(arguments).is_ok_and(|text| text.chars().count() <= WHOLE)
}

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
