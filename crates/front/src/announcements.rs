//! Events before the response to a command, where the server's dialect does not have them.

use crate::{
    bridges::{AnnouncedEvent, bridges},
    front::{Front, Output},
    plan::TYPE,
};
use pi_rpc_protocol::{AgentSessionEventKind as Event, RpcCommand};
use serde_json::{Map, Value, json};

impl Front {
    /// Emits the events that announce what `command` has done; `outcome`: the data of its success, or its error text.
    pub(crate) fn announce(&mut self, command: &RpcCommand, outcome: Result<&Value, &str>, out: &mut Output) {
        let kind = command.kind();
        let announcements = bridges().announcements.iter().filter(|it| it.command == kind.as_str());
        for event in announcements.flat_map(|it| &it.events) {
            let Some(name) = event.fixed.get(TYPE).and_then(Value::as_str).and_then(Event::parse) else {
                continue;
            };
            let base = self.client.base();
            let is_theirs = name.fires().iter().any(|row| row.only.is_none_or(|only| base.is_in(only)));
            if !is_theirs || self.is_announced_by_server(event) {
                continue;
            }
            let sources = json!({ "command": command, "data": outcome.ok() });
            let is_empty =
                |path: &String| sources.pointer(path).is_none_or(|value| value.is_null() || value == "");
            let is_set = |path: &String| sources.pointer(path) == Some(&Value::Bool(true));
            if event.only_with.as_ref().is_some_and(is_empty) || event.unless.as_ref().is_some_and(is_set) {
                continue;
            }
            let mut members = event.fixed.clone();
            for (member, path) in &event.paths {
                let value = sources.pointer(path).filter(|value| !value.is_null());
                members.extend(value.map(|value| (member.clone(), value.clone())));
            }
            match (&event.failed, outcome) {
                (Some(member), Err(text)) => drop(members.insert(member.clone(), text.into())),
                (None, Err(_)) if !event.paths.is_empty() => continue,
                _ => {}
            }
            self.emit_event(Value::Object(members), out);
        }
    }

    /// Whether the server's dialect has the event itself, with these values.
    fn is_announced_by_server(&self, event: &AnnouncedEvent) -> bool {
        let id = event.fixed.get(TYPE).and_then(Value::as_str).and_then(|kind| self.to_server.frame(kind));
        id.is_some_and(|id| {
            self.to_server.carry(id, Value::Object(event.fixed.clone()), &self.account).is_some()
        })
    }

    /// Whether an event for the client says something new, or is of a kind that may repeat itself.
    pub(crate) fn is_news(&mut self, value: &Value) -> bool {
        let Some(members) = value.as_object() else { return true };
        let Some(name) = members.get(TYPE).and_then(Value::as_str).and_then(Event::parse) else {
            return true;
        };
        let is_it = |event: &AnnouncedEvent| {
            event.if_changed && event.fixed.get(TYPE).is_some_and(|it| it == name.as_str())
        };
        let reports_changes = bridges().announcements.iter().flat_map(|it| &it.events).any(is_it);
        !reports_changes || self.note_change(name, members)
    }

    /// Notes the values of an event. Returns whether they are others than the last ones.
    fn note_change(&mut self, event: Event, members: &Map<String, Value>) -> bool {
        let last = self.announced.iter_mut().find(|(kind, _)| *kind == event);
        match last {
            Some((_, last)) if last == members => false,
            Some((_, last)) => {
                last.clone_from(members);
                true
            }
            None => {
                self.announced.push((event, members.clone()));
                true
            }
        }
    }
}
