//! Queries of extensions, answered at once: the extension blocks on the response.
//!
//! The server answers the rest (models without a key, settings, keys) by [`Output::Query`].

use crate::{
    core::Engine,
    io::{CallId, Output},
    toolbox::arguments::ToolOwner,
};
use pi_rpc_protocol::{
    CommandList, ExtensionAnswer, ExtensionQuery, JsonObject, QueriedEntries, QueriedPrompt, QueriedState,
    QueriedTool, QueriedTools, QueryKind,
};
use serde::Serialize;
use serde_json::{Value, json};

impl Engine {
    /// Answers a query of an extension, or passes it to the server.
    pub(crate) fn query(&mut self, process: CallId, query: ExtensionQuery) {
        let data = match query.about {
            QueryKind::State => value(self.queried_state()),
            QueryKind::Entries => value(self.queried_entries(query.since.unwrap_or(0))),
            QueryKind::Tools => value(self.queried_tools()),
            QueryKind::Commands => value(self.command_list()),
            QueryKind::SystemPrompt => value(self.queried_prompt()),
            QueryKind::Models | QueryKind::Settings | QueryKind::ApiKey => {
                return self.push(Output::Query { from: process, query: Box::new(query) });
            }
        };
        self.send_to_extension(process, ExtensionAnswer { id: query.id, data: Some(data), error: None });
    }

    /// All slash commands: of extensions, templates and skills, and of the agent behind the server.
    pub(crate) fn command_list(&self) -> CommandList {
        let of_extensions = self.extensions.commands(self.dialect.record().extension_api);
        CommandList {
            commands: of_extensions
                .chain(self.instructions.commands.list(self.dialect.base()))
                .chain(self.instructions.agent_commands.iter().cloned())
                .collect(),
        }
    }

    /// The state of the session, for extensions.
    fn queried_state(&self) -> QueriedState {
        let tree = self.store.session.tree();
        QueriedState {
            model: self.current_model(),
            thinking_level: self.models.level,
            is_idle: !self.is_working(),
            has_pending_messages: self.queued() > 0,
            session_id: self.store.session.id().to_owned(),
            session_file: self.session_file(),
            session_name: self.store.session.name(),
            session_directory: self
                .store
                .place
                .folder
                .as_ref()
                .map(|path| path.to_string_lossy().into_owned()),
            leaf_id: tree.leaf_id().map(ToString::to_string),
            entry_count: tree.entries().len() as u64,
            active_tools: self.tools.specs().iter().map(|spec| spec.name.clone()).collect(),
            context_usage: self.context_usage(),
        }
    }

    /// The entries from the index `since` on, for extensions.
    fn queried_entries(&self, since: u64) -> QueriedEntries {
        let tree = self.store.session.tree();
        let known = usize::try_from(since).unwrap_or(usize::MAX);
        let news = tree.entries().get(known..).unwrap_or_default();
        QueriedEntries {
            header: object(tree.header()),
            entries: news.iter().filter_map(|entry| serde_json::from_slice(entry.line()).ok()).collect(),
            leaf_id: tree.leaf_id().map(ToString::to_string),
        }
    }

    /// All tools, for extensions.
    fn queried_tools(&self) -> QueriedTools {
        let tools = self.tools.all().map(|(spec, owner, active)| {
            let (path, prompt_guidelines) = match owner {
                ToolOwner::Extension(place) => {
                    let added = self.extensions.tool(place, &spec.name);
                    let path = added.and_then(|tool| tool.path.clone());
                    let path = path.unwrap_or_else(|| self.extensions.path(place).to_owned());
                    (Some(path), added.and_then(|tool| tool.prompt_guidelines.clone()))
                }
                ToolOwner::Server | ToolOwner::Host => (None, None),
            };
            QueriedTool {
                name: spec.name.clone(),
                description: spec.description.clone(),
                parameters: object(&*spec.parameters),
                path,
                prompt_guidelines,
                active,
                callable: self.tools.is_callable(&spec.name),
                output_schema: spec.output.as_deref().map(object),
            }
        });
        QueriedTools { tools: tools.collect() }
    }

    /// The system prompt and its parts, for extensions.
    fn queried_prompt(&self) -> QueriedPrompt {
        let names: Vec<&str> = self.tools.specs().iter().map(|spec| spec.name.as_str()).collect();
        let mut options = JsonObject::new();
        options.insert("cwd".to_owned(), self.store.place.directory.clone().into());
        options.insert("selectedTools".to_owned(), names.into());
        if let Some(source) = &self.instructions.source {
            options.extend(source.options(&self.instructions.commands.skills));
        }
        // Of the open run, or of the next one.
        let prompt = self.activity.run().map_or(&self.instructions.text, |run| &run.system_prompt);
        QueriedPrompt { system_prompt: prompt.to_string(), options }
    }
}

/// Serializes an outcome for the wire.
fn value(data: impl Serialize) -> Value {
    serde_json::to_value(data).unwrap_or_else(|_| json!({}))
}

fn object(data: impl Serialize) -> JsonObject {
    match serde_json::to_value(data) {
        Ok(Value::Object(object)) => object,
        _ => JsonObject::new(),
    }
}
