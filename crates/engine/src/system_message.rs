//! System messages: the sections of the system prompt and the tools, as messages of the conversation.
//!
//! Dialects with system messages open the first run of a session with one that has everything. Later ones have what has
//! changed since. Providers whose servers
//! take such messages are sent them; others the state that results. Source: pi 1 source, its message reference, observed.

use crate::{
    core::Engine,
    run::state::Run,
    toolbox::{arguments::ToolOwner, selection::RecordedTools},
};
use indexmap::IndexMap;
use pi_rpc_model::types::ToolSpec;
use pi_rpc_prompt::{Section, ToolLine, tool_line};
use pi_rpc_protocol::{AgentMessage, JsonObject, SystemContent, SystemMessage, SystemTool, ToolName};
use pi_rpc_session::compaction::checkpoint;
use serde_json::Value;
use std::sync::Arc;

/// The sections and tools that result from the system messages so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemState {
    sections: Vec<Section>,
    tools: Vec<SystemTool>,
}

impl Engine {
    /// The system message with the changes since the last one; `None`: no changes, or the dialect has no such messages.
    pub(crate) fn system_changes(&self) -> Option<SystemMessage> {
        if !self.dialect.record().system_message_opens_run {
            return None;
        }
        let tools = self.tools.specs().iter().map(declared).collect();
        let now = SystemState { sections: self.instructions.sections.clone(), tools };
        SystemState::replay(self.store.session.system_messages()).changes_to(&now, self.now.wall)
    }
}

impl Engine {
    /// Whether the system messages of the session add up to the instructions and tools of the open run.
    pub(crate) fn has_told_instructions(&self) -> bool {
        let is_own = |run: &Run| Arc::ptr_eq(&run.system_prompt, &self.instructions.text);
        self.dialect.record().system_message_opens_run
            && self.activity.run().is_some_and(is_own)
            && self.system_changes().is_none()
    }

    /// Goes on without the tools that the session was without, in dialects with system messages.
    pub(crate) fn follow_session_tools(&mut self) {
        if !self.dialect.record().system_message_opens_run {
            return;
        }
        let messages = self.store.session.system_messages();
        let last = SystemState::replay(messages).tools.into_iter().map(|tool| tool.name).collect();
        let declared = messages.iter().flat_map(|message| match &**message {
            AgentMessage::System(message) => {
                message.tools_added.iter().flatten().map(|tool| tool.name.clone()).collect::<Vec<_>>()
            }
            _ => Vec::new(),
        });
        let recorded = RecordedTools { last, ever: declared.collect() };
        let recorded = (!messages.is_empty()).then_some(recorded);
        if self.tools.follow_session(recorded) {
            self.rebuild_instructions();
        }
    }

    /// Rebuilds the system prompt after the tools have changed, also for the open run, unless an extension has
    /// replaced it there.
    pub(crate) fn rebuild_instructions(&mut self) {
        let Some(source) = &self.instructions.source else { return };
        let lines: Vec<ToolLine<'_>> =
            self.tools.specs().iter().filter_map(|spec| self.tool_line(spec)).collect();
        let guidelines: Vec<&str> =
            self.tools.specs().iter().flat_map(|spec| self.guidelines(spec)).collect();
        let instructions = source.instructions(&lines, &guidelines, &self.instructions.commands.skills);
        let before = std::mem::replace(&mut self.instructions.text, instructions.text().into());
        self.instructions.sections = instructions.0;
        if let Some(run) = self.activity.run_mut() {
            run.replace_instructions(&before, &self.instructions.text);
        }
    }

    /// The guidelines that an extension gives for its tool.
    fn guidelines<'a>(&'a self, spec: &ToolSpec) -> impl Iterator<Item = &'a str> {
        let tool = match self.tools.owner(&spec.name) {
            Some(ToolOwner::Extension(place)) => self.extensions.tool(place, &spec.name),
            _ => None,
        };
        tool.and_then(|tool| tool.prompt_guidelines.as_ref()).into_iter().flatten().map(String::as_str)
    }

    /// A tool as one line of the system prompt; `None` for a tool of an extension without such a line.
    fn tool_line<'a>(&'a self, spec: &'a ToolSpec) -> Option<ToolLine<'a>> {
        match self.tools.owner(&spec.name)? {
            ToolOwner::Extension(place) => {
                let purpose = self.extensions.tool(place, &spec.name)?.prompt_snippet.as_deref()?;
                Some(ToolLine { name: &spec.name, purpose })
            }
            ToolOwner::Server | ToolOwner::Host => tool_line(&spec.name),
        }
    }
}

impl SystemState {
    /// The state that results from the system messages among `messages`.
    pub fn replay(messages: &[Arc<AgentMessage>]) -> Self {
        let Some(state) = checkpoint(messages, 0) else { return Self::default() };
        let sections = state.sections.iter().flatten();
        let sections = sections.filter_map(|(name, text)| Some(Section::new(name, text.as_ref()?)));
        Self { sections: sections.collect(), tools: state.tools_added.unwrap_or_default() }
    }

    /// The message that turns this state into `now`; `None` if they are equal. A tool whose declaration has changed is
    /// removed and added again.
    pub fn changes_to(&self, now: &Self, timestamp: u64) -> Option<SystemMessage> {
        let changed = now.sections.iter().filter(|section| !self.sections.contains(section));
        let gone =
            self.sections.iter().filter(|section| now.sections.iter().all(|it| it.name != section.name));
        let sections = changed
            .map(|section| (section.name.clone(), Some(section.text.clone())))
            .chain(gone.map(|section| (section.name.clone(), None)));
        let sections = Some(sections.collect()).filter(|it: &IndexMap<_, _>| !it.is_empty());
        let added: Vec<_> = now.tools.iter().filter(|tool| !self.tools.contains(tool)).cloned().collect();
        let removed = self.tools.iter().filter(|tool| !now.tools.contains(tool));
        let removed: Vec<_> = removed.map(|tool| ToolName { name: tool.name.clone() }).collect();
        let is_news = sections.is_some() || !added.is_empty() || !removed.is_empty();
        is_news.then(|| SystemMessage {
            content: SystemContent::Text(String::new()),
            sections,
            timestamp,
            tools_added: Some(added).filter(|tools| !tools.is_empty()),
            tools_removed: Some(removed).filter(|tools| !tools.is_empty()),
        })
    }
}

/// The declaration of a tool in a system message.
fn declared(tool: &ToolSpec) -> SystemTool {
    let parameters = match &*tool.parameters {
        Value::Object(schema) => schema.clone(),
        _ => JsonObject::new(),
    };
    SystemTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters,
        constrained_sampling: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn known(sections: &[(&str, &str)], tools: &[(&str, &str)]) -> SystemState {
        let tool = |(name, description): &(&str, &str)| SystemTool {
            name: (*name).to_owned(),
            description: (*description).to_owned(),
            parameters: JsonObject::new(),
            constrained_sampling: None,
        };
        SystemState {
            sections: sections.iter().map(|(name, text)| Section::new(*name, *text)).collect(),
            tools: tools.iter().map(tool).collect(),
        }
    }

    #[test]
    fn changes_lead_from_old_to_new_state() {
        let before =
            known(&[("preamble", "I"), ("skills", "sew"), ("cwd", "/a")], &[("read", "r"), ("ls", "l")]);
        let now =
            known(&[("preamble", "I"), ("rules", "do"), ("cwd", "/b")], &[("read", "R"), ("bash", "b")]);
        let news = before.changes_to(&now, 7).unwrap();
        let tool = |name: &str, description: &str| json!({"name": name, "description": description, "parameters": {}});
        let expected = json!({
            "role": "system", "content": "",
            "sections": {"rules": "do", "cwd": "/b", "skills": null},
            "timestamp": 7,
            "toolsAdded": [tool("read", "R"), tool("bash", "b")],
            "toolsRemoved": [{"name": "read"}, {"name": "ls"}],
        });
        assert_eq!(serde_json::to_string(&news).unwrap(), expected.to_string());
        let message = |message: &SystemMessage| Arc::new(AgentMessage::System(message.clone()));
        let first = SystemState::default().changes_to(&before, 1).unwrap();
        let mut replayed = SystemState::replay(&[message(&first), message(&news)]);
        assert_eq!(replayed.changes_to(&now, 8), None);
        replayed.sections.sort_by(|one, other| one.name.cmp(&other.name));
        assert_eq!(replayed.sections.len(), 3);
    }

    #[test]
    fn tools_alone_change_without_sections() {
        let (before, now) = (known(&[("cwd", "/a")], &[]), known(&[("cwd", "/a")], &[("ls", "l")]));
        let news = before.changes_to(&now, 7).unwrap();
        assert_eq!((news.sections, news.tools_removed), (None, None));
        assert_eq!(news.tools_added.unwrap().len(), 1);
    }
}
