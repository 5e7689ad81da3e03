//! Models that extensions bring.
//!
//! The server keeps the list of all models; here is who brought what, with which model the session begins, and who is
//! asked. A provider may leave its models to the server, or answer for them itself ([`speaking`](crate::engine::extensions::model_stream)).
//! Source: own; pi source for what a provider may say.

use crate::engine::{
    CallId, Engine, ModelCall, Output, Selected,
    extensions::model_stream::{Speaking, understood},
    extensions::processes::Failing,
};
use crate::{
    model::types::{StreamEvent, ToolSpec},
    protocol::{
        ExtensionCancel, ExtensionModelCall, ExtensionRegisterProvider, ExtensionTool,
        ExtensionUnregisterProvider, JsonObject, ThinkingLevel, errors,
    },
    session::{NewEntry, Session},
};
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};

/// What extensions have brought.
#[derive(Debug, Default)]
pub struct Providers {
    /// Providers that extensions answer for, by name, each with the place of its extension.
    streams: BTreeMap<String, usize>,
    /// The provider that the server is adding.
    adding: Option<Adding>,
    /// The model to begin with is to be chosen, or chosen again.
    pub unchosen: bool,
    /// The session before it had a model, until the host is greeted.
    pub beginning: Option<Box<(Session, Beginning)>>,
    /// What extensions are asked as models.
    asked: BTreeMap<CallId, Speaking>,
    /// Calls that nobody answers, with why.
    unanswered: VecDeque<(CallId, String)>,
}

/// A provider that the server is adding or taking back.
#[derive(Debug)]
struct Adding {
    name: String,
    process: CallId,
    /// Of the action.
    id: Option<String>,
    /// The file of the extension.
    path: Option<String>,
    streams: bool,
}

/// How a session gets its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// It was there before, and may name its model.
    pub taken_up: bool,
    /// The model was asked for: the session does not choose another.
    pub chosen: bool,
    /// The level that was asked for.
    pub level: Option<ThinkingLevel>,
}

/// Which models there are.
impl Engine {
    /// An extension adds a provider, or changes one.
    pub(in crate::engine) fn register_provider(
        &mut self,
        process: CallId,
        action: ExtensionRegisterProvider,
    ) {
        let ExtensionRegisterProvider { id, name, config, path, streams } = action;
        let streams = streams.unwrap_or(false);
        self.provide(Adding { name, process, id, path, streams }, Some(config));
    }

    /// An extension takes back what it has registered for a provider.
    pub(in crate::engine) fn unregister_provider(
        &mut self,
        process: CallId,
        action: ExtensionUnregisterProvider,
    ) {
        let ExtensionUnregisterProvider { id, name } = action;
        self.provide(Adding { name, process, id, path: None, streams: false }, None);
    }

    fn provide(&mut self, adding: Adding, config: Option<JsonObject>) {
        let (name, streams) = (adding.name.clone(), adding.streams);
        self.providers.adding = Some(adding);
        self.push(Output::Provide { name, config, streams });
    }

    /// The provider was added, or why not.
    pub(in crate::engine) fn provided(&mut self, provided: Result<Vec<crate::engine::Choice>, String>) {
        let Some(Adding { name, process, id, path, streams }) = self.providers.adding.take() else { return };
        match provided {
            Ok(models) => {
                self.models = models;
                let place = self.extensions.place_of(process).filter(|_| streams);
                match place {
                    Some(place) => drop(self.providers.streams.insert(name, place)),
                    None => drop(self.providers.streams.remove(&name)),
                }
                // A level that the model does not take any more.
                let levels = &self.models[self.model].levels;
                if self.level.is_some_and(|level| !levels.contains(&level)) {
                    self.level = self.level.and_then(|level| self.fitting(level));
                }
                self.providers.unchosen |= self.providers.beginning.is_some();
                self.respond(process, id, Ok(None));
            }
            Err(text) => {
                if id.is_none() {
                    let place = self.extensions.place_of(process).unwrap_or_default();
                    let failing = match &path {
                        Some(path) => Failing::File(path, REGISTER_PROVIDER),
                        None => Failing::Extension(place, REGISTER_PROVIDER),
                    };
                    self.extension_failed(failing, &text);
                }
                self.respond(process, id, Err(text));
            }
        }
    }

    /// Before the host is greeted: has the model chosen with which the session begins, if that is not settled yet; `false`
    /// if it is.
    pub(in crate::engine) fn choose_again(&mut self) -> bool {
        let chooses = std::mem::take(&mut self.providers.unchosen);
        if chooses {
            self.push(Output::Choose);
        } else {
            self.providers.beginning = None;
        }
        chooses
    }

    /// The model to begin with is chosen; without one there is nothing to serve.
    pub(in crate::engine) fn chosen(&mut self, selected: Result<Selected, String>) {
        let Ok(Selected { models, start, level, scope }) = selected else {
            return self.exit();
        };
        (self.models, self.model, self.scope) = (models, start, scope);
        if let Some(beginning) = self.providers.beginning.take() {
            let (session, beginning) = *beginning;
            self.session = session.clone();
            let beginning = Beginning { level, ..beginning };
            self.begin_with_model(beginning);
            // Somebody may still add to them.
            self.providers.beginning = Some(Box::new((session, beginning)));
        }
    }

    /// The session gets its model and its level, or takes them from its entries.
    pub(in crate::engine) fn begin_with_model(&mut self, beginning: Beginning) {
        let Beginning { taken_up, chosen, level } = beginning;
        if taken_up {
            if self.session.roles().next().is_none() && self.session.model().is_none() {
                self.keep_model();
            }
            self.take_up(chosen, level);
            return self.restore();
        }
        let preferred = self.models[self.model].preferred;
        self.level = self.fitting(level.or(preferred).unwrap_or(self.default_level));
        self.keep_model();
        self.keep_quietly(NewEntry::Level(self.level));
    }
}

/// Who is asked.
impl Engine {
    /// Has a model asked: by the server, or by the extension that brought it.
    pub(in crate::engine) fn ask_model(&mut self, call: ModelCall) {
        let Some(place) = self.providers.streams.get(&call.model.provider) else {
            return self.push(Output::CallModel(Box::new(call)));
        };
        let id = call.call;
        match self.extensions.running(*place) {
            Some(process) => {
                self.providers.asked.insert(id, Speaking::new(process));
                self.tell_extension(process, model_call(call));
            }
            None => {
                let text = errors::not_running(self.dialect.base());
                self.providers.unanswered.push_back((id, text));
            }
        }
    }

    /// Nobody wants the answer of a model any more.
    pub(in crate::engine) fn cancel_model(&mut self, call: CallId) {
        if let Some(speaking) = self.providers.asked.remove(&call) {
            return self.tell_extension(speaking.process, ExtensionCancel { id: call.to_string() });
        }
        let waiting = self.providers.unanswered.len();
        self.providers.unanswered.retain(|(unanswered, _)| *unanswered != call);
        if self.providers.unanswered.len() == waiting {
            self.push(Output::CancelModel(call));
        }
    }

    /// Whether this is the id of a call that an extension answers.
    pub(in crate::engine) fn is_asked_model(&self, process: CallId, id: &str) -> bool {
        self.asked_model(process, id).is_some()
    }

    /// A model of an extension says something.
    pub(in crate::engine) fn model_said(&mut self, process: CallId, id: &str, event: JsonObject) {
        let Some(call) = self.asked_model(process, id) else { return };
        let Some(speaking) = self.providers.asked.get_mut(&call) else { return };
        let unsaid = errors::model_unsaid(self.dialect.base());
        let steps = match speaking.hear(event, &unsaid) {
            Ok(steps) => steps,
            Err(text) => {
                return self.extension_strayed(process, &text);
            }
        };
        for step in steps {
            if matches!(step, StreamEvent::Finish(_) | StreamEvent::Fail { .. }) {
                self.providers.asked.remove(&call);
            }
            self.model_event(call, step);
        }
    }

    /// A model of an extension cannot answer.
    pub(in crate::engine) fn model_failed(&mut self, process: CallId, id: &str, text: String) {
        if let Some(call) = self.asked_model(process, id) {
            self.providers.asked.remove(&call);
            self.model_event(call, StreamEvent::Fail { message: text, retry_after: None });
        }
    }

    /// The process of an extension is gone, and with it what its models were about to say.
    pub(in crate::engine) fn models_lost(&mut self, process: CallId) {
        let text = errors::not_running(self.dialect.base());
        let lost = self.providers.asked.extract_if(.., |_, speaking| speaking.process == process);
        let lost: Vec<_> = lost.map(|(call, _)| (call, text.clone())).collect();
        self.providers.unanswered.extend(lost);
    }

    /// Fails the next call that nobody answers; `false` if there is none.
    pub(in crate::engine) fn advance_answers(&mut self) -> bool {
        let Some((call, message)) = self.providers.unanswered.pop_front() else { return false };
        self.model_event(call, StreamEvent::Fail { message, retry_after: None });
        true
    }

    fn asked_model(&self, process: CallId, id: &str) -> Option<CallId> {
        let call = id.parse().ok()?;
        self.providers.asked.get(&call).filter(|it| it.process == process).map(|_| call)
    }
}

/// What an extension is asked.
fn model_call(call: ModelCall) -> ExtensionModelCall {
    let max_tokens = call.purpose.max_tokens();
    ExtensionModelCall {
        id: call.call.to_string(),
        model: call.model,
        system_prompt: Some(call.system_prompt.to_string()),
        messages: call.messages.iter().filter_map(|message| understood(message)).collect(),
        tools: Some(call.tools.iter().map(declared).collect()),
        level: call.level,
        session_id: Some(call.session_id),
        max_tokens,
    }
}

fn declared(tool: &ToolSpec) -> ExtensionTool {
    let parameters = match &tool.parameters {
        Value::Object(schema) => schema.clone(),
        _ => JsonObject::new(),
    };
    ExtensionTool {
        name: tool.name.clone(),
        label: None,
        description: tool.description.clone(),
        parameters,
        path: None,
        prompt_snippet: None,
        prompt_guidelines: None,
        sequential: None,
        inactive: None,
    }
}

/// What failed, in the words of `extension_error`.
const REGISTER_PROVIDER: &str = "register_provider";
