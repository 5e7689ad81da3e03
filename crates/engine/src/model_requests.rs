//! Requests of models: sends, cancels and completes them.

use crate::{
    activity::Next,
    core::Engine,
    io::{CallId, ModelCall, Output, Purpose},
    requests::{ModelContinuation, ModelRequest},
    run::{
        partial_message::{PartialMessage, Progress},
        state::Phase,
    },
};
use pi_rpc_model::types::StreamEvent;
use pi_rpc_protocol::{
    AgentMessage, Emission, MessageContent, MessageStartEvent, TextContent, ThinkingLevel, UserContent,
    UserMessage,
};
use pi_rpc_session::SummaryRequest;
use std::sync::Arc;

impl Engine {
    /// Registers a request that is about to be sent, with its empty partial message.
    pub(crate) fn expect_answer(
        &mut self,
        request: &ModelCall,
        continuation: ModelContinuation,
    ) -> &PartialMessage {
        let partial = PartialMessage::new(&request.model, self.dialect, self.now).at(request.level);
        let expected = self.requests.models.entry(request.call);
        &expected.insert_entry(ModelRequest { partial, continuation }).into_mut().partial
    }

    /// Sends a request to a model, a virtual one's once it is routed.
    pub(crate) fn request_model(&mut self, request: ModelCall) {
        self.requests.models_made += 1;
        let failed = self.series.failed_answer.take_if(|_| request.purpose.is_turn());
        if self.is_virtual(&request.model) {
            return self.route_request(request, failed);
        }
        self.with_extensions(|host, context| host.request_model(request, context));
    }

    /// Sends a request for a summary to the session's model.
    pub(crate) fn request_summary(
        &mut self,
        call: CallId,
        level: Option<ThinkingLevel>,
        request: &SummaryRequest,
        continuation: ModelContinuation,
    ) {
        let text = UserContent::Text(TextContent { text: request.text.clone(), text_signature: None });
        let message = AgentMessage::User(UserMessage {
            content: MessageContent::Blocks(vec![text]),
            attribution: None,
            synthetic: None,
            provider_payload: None,
            timestamp: self.now.wall,
            steering: None,
        });
        let request = ModelCall {
            call,
            place: self.models.current,
            model: self.models.choice().model.clone(),
            level,
            session_id: self.store.session.id().to_owned(),
            system_prompt: request.system_prompt.into(),
            messages: Arc::new(vec![Arc::new(message)]),
            has_system_messages: false,
            tools: Arc::new([]),
            forced_tool: None,
            count: self.requests.models_made,
            purpose: Purpose::Summary,
        };
        self.expect_answer(&request, continuation);
        self.request_model(request);
    }

    /// Cancels a request of a model; returns the partial message, or `None` if the answer is complete.
    pub(crate) fn cancel_model(&mut self, call: CallId) -> Option<PartialMessage> {
        let ModelRequest { partial, continuation } = self.requests.models.remove(&call)?;
        self.with_extensions(|host, context| host.cancel_model(call, context));
        // No frame shows what the others have cost by now.
        if !matches!(continuation, ModelContinuation::Turn) {
            self.push(Output::UnshownUsage(partial.message.usage.clone()));
        }
        Some(partial)
    }

    /// Handles a stream event of a model's answer.
    pub(crate) fn model_event(&mut self, call: CallId, event: StreamEvent) {
        let now = self.now;
        // The effort is known before the answer begins.
        if !matches!(event, StreamEvent::Fail { .. } | StreamEvent::Effort(_)) {
            self.emit_message_start_once(call);
        }
        let Some(request) = self.requests.models.get_mut(&call) else { return };
        match (request.partial.apply(event, now), &request.continuation) {
            (Progress::Over, _) => self.on_answer_end(call),
            (Progress::Update(update), ModelContinuation::Turn) => {
                self.emit(Emission::Update(update.clone()));
                self.check_rules(call, &update);
            }
            // No frame shows partial summaries or answers for extensions.
            (
                Progress::Update(_),
                ModelContinuation::Summary(_)
                | ModelContinuation::BranchSummary(_)
                | ModelContinuation::Action
                | ModelContinuation::Warming,
            )
            | (Progress::Quiet, _) => {}
        }
    }

    /// Emits `message_start` with the first stream event, unless the dialect emits it with the request.
    fn emit_message_start_once(&mut self, call: CallId) {
        if matches!(self.activity.phase(), Some(Phase::Requested(own)) if *own == call)
            && let Some(partial) = self.requests.partial(call)
        {
            let message = AgentMessage::Assistant(partial.message.clone());
            self.emit_event_with(
                MessageStartEvent { message, message_id: None },
                Next::Phase(Phase::Message(call)),
            );
        }
    }

    /// Performs the continuation of a completed or failed request.
    fn on_answer_end(&mut self, call: CallId) {
        let Some(ModelRequest { partial, continuation }) = self.requests.models.remove(&call) else { return };
        if matches!(
            continuation,
            ModelContinuation::BranchSummary(_) | ModelContinuation::Action | ModelContinuation::Warming
        ) {
            self.push(Output::UnshownUsage(partial.message.usage.clone()));
        }
        match continuation {
            ModelContinuation::Turn => self.on_answer_complete(partial),
            ModelContinuation::Summary(part) => self.on_summary_answer(part, partial),
            ModelContinuation::BranchSummary(branch) => self.on_branch_summary(call, &branch, partial),
            ModelContinuation::Action => self.end_model_action(call, partial),
            ModelContinuation::Warming => self.on_warmed(&partial),
        }
    }
}
