//! `set_event_filter`: which events of the session are sent.

use crate::core::Engine;
use pi_rpc_protocol::{
    AgentSessionEventKind, EventFilter, RpcCommandKind, SetEventFilterCommand, SetEventFilterResponse, errors,
};

impl Engine {
    /// Serves `set_event_filter`. Source: oh-my-pi source.
    pub(crate) fn set_event_filter(&mut self, SetEventFilterCommand { id, events }: SetEventFilterCommand) {
        let is_empty = |event: &String| event.is_empty();
        if events.as_ref().is_some_and(|events| events.iter().any(is_empty)) {
            let text = errors::event_filter(self.dialect.base());
            return self.fail(id, RpcCommandKind::SetEventFilter, text);
        }
        let events = events.map(|events| {
            let mut once: Vec<String> = Vec::new();
            for event in events {
                if !once.contains(&event) {
                    once.push(event);
                }
            }
            once
        });
        self.sent_events.clone_from(&events);
        self.succeed(SetEventFilterResponse { id, data: EventFilter { events } });
    }

    /// Whether an event of this kind is kept from the host, as it is not among those that it has selected.
    pub(crate) fn is_kept_back(&self, event: AgentSessionEventKind) -> bool {
        let selected = self.sent_events.as_ref();
        event.is_filtered() && selected.is_some_and(|events| !events.iter().any(|it| it == event.as_str()))
    }
}
