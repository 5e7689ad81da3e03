//! Virtual models: models that can be selected, each of whose requests an extension routes to another model.
//!
//! The selection names the virtual model; requests, answers and limits are of the model that a request was routed to.
//! Source: pi 1.6.0 source.

use crate::{core::Engine, extensions::model_stream::portable, io::ModelCall, model_choices::ModelChoice};
use pi_rpc_model::types::StreamEvent;
use pi_rpc_protocol::{
    AgentMessage, AssistantMessage, Model, ModelRoute, ModelRouteHook, RouteReason, StopReason,
    ThinkingLevel, errors,
};

impl Engine {
    /// Whether requests with the model are routed to others.
    pub(crate) fn is_virtual(&self, model: &Model) -> bool {
        self.dialect.record().virtual_model_api == Some(model.api.as_str())
    }

    /// Why prompts to the selected model fail. A virtual one that is gone fails the request, as pi does.
    pub(crate) fn prompt_refusal(&self) -> Option<String> {
        let choice = self.models.choice();
        choice.unusable.clone().filter(|_| !self.is_virtual(&choice.model))
    }

    /// The model whose limits apply to the conversation: of a virtual one, the model of the newest answer that has not
    /// failed, if it is known.
    pub(crate) fn limits_model(&self) -> &Model {
        let selected = &self.models.choice().model;
        if !self.is_virtual(selected) {
            return selected;
        }
        let newest = self.store.session.messages().iter().rev().find_map(|message| match message.as_ref() {
            AgentMessage::Assistant(it)
                if !matches!(it.stop_reason, StopReason::Error | StopReason::Aborted) =>
            {
                Some(it)
            }
            _ => None,
        });
        newest.and_then(|it| self.answering_model(it)).unwrap_or(selected)
    }

    /// The model whose limits apply to an answer; `None`: the answer is of another model than the selected one.
    pub(crate) fn limits_of_answer(&self, answer: &AssistantMessage) -> Option<&Model> {
        let selected = &self.models.choice().model;
        match self.is_virtual(selected) {
            true => self.answering_model(answer),
            false => Some(selected).filter(|it| answer.provider == it.provider && answer.model == it.id),
        }
    }

    fn answering_model(&self, answer: &AssistantMessage) -> Option<&Model> {
        let is_it = |choice: &&ModelChoice| {
            choice.model.provider == answer.provider && choice.model.id == answer.model
        };
        let found = self.models.all.iter().find(is_it)?;
        Some(&found.model).filter(|model| !self.is_virtual(model))
    }

    /// Asks the extension of a virtual model which model the request is sent to. `failed`: the answer that the request
    /// repeats.
    pub(crate) fn route_request(&mut self, request: ModelCall, failed: Option<Box<AssistantMessage>>) {
        let (dialect, now) = (self.dialect, self.now);
        if let Some(expected) = self.requests.models.get_mut(&request.call) {
            // A failed route has no level.
            expected.partial.answer_as(&request.model, None, dialect, now);
        }
        let event = ModelRouteHook {
            model: request.model.clone(),
            thinking_level: request.level.unwrap_or(ThinkingLevel::Off),
            reason: route_reason(&request, failed.is_some()),
            failed: failed.map(|failed| AgentMessage::Assistant(*failed)),
            messages: request
                .messages
                .iter()
                .filter_map(|message| match message.as_ref() {
                    AgentMessage::System(_) => Some(message.as_ref().clone()),
                    message => portable(message),
                })
                .collect(),
        };
        let (call, base) = (request.call, self.dialect.base());
        let unregistered =
            errors::virtual_model_unregistered(base, &request.model.provider, &request.model.id);
        if !self.with_extensions(|host, context| host.route_model(Box::new(request), event, context)) {
            self.model_event(call, StreamEvent::Fail { message: unregistered, retry_after: None });
        }
    }

    /// Sends a request to the model that the extension has chosen; `Err`: why there is none.
    pub(crate) fn send_routed_request(&mut self, mut request: ModelCall, route: Result<ModelRoute, String>) {
        if !self.requests.models.contains_key(&request.call) {
            return;
        }
        let place = route.and_then(|route| {
            let place = self.find_usable(&route.provider, &route.model_id);
            let place = place.filter(|at| !self.is_virtual(&self.models.all[*at].model));
            place.map(|place| (place, route.thinking_level)).ok_or_else(|| {
                let Model { provider, id, .. } = &request.model;
                let target = format!("{}/{}", route.provider, route.model_id);
                errors::virtual_model_target(self.dialect.base(), provider, id, &target)
            })
        });
        match place {
            Ok((place, level)) => {
                request.place = place;
                request.model = self.models.all[place].model.clone();
                request.level = self.clamp_level_of(place, level);
                let (dialect, now) = (self.dialect, self.now);
                if let Some(expected) = self.requests.models.get_mut(&request.call) {
                    expected.partial.answer_as(&request.model, request.level, dialect, now);
                }
                self.with_extensions(|host, context| host.request_model(request, context));
            }
            Err(message) => {
                self.model_event(request.call, StreamEvent::Fail { message, retry_after: None });
            }
        }
    }
}

/// Why a request is made, for the router. Messages of extensions do not count as the user's.
fn route_reason(request: &ModelCall, is_retry: bool) -> RouteReason {
    if !request.purpose.is_turn() {
        return RouteReason::Direct;
    }
    if is_retry {
        return RouteReason::Retry;
    }
    let unanswered = request.messages.iter().rev();
    let mut unanswered =
        unanswered.take_while(|message| !matches!(message.as_ref(), AgentMessage::Assistant(_)));
    match unanswered.any(|message| matches!(message.as_ref(), AgentMessage::User(_))) {
        true => RouteReason::User,
        false => RouteReason::Continuation,
    }
}
