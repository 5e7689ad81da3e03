//! Reads a request of any vendor as a script sees it.

use pi_rpc_model::scripted::{ScriptedCall, ToolText};
use serde_json::Value;
use std::collections::HashMap;

/// The newest prompt, the results since, and the tools of one request.
#[derive(Debug, Default, PartialEq)]
pub(super) struct PromptContext {
    prompt: String,
    results: Vec<ToolText>,
    tools: Vec<String>,
    input_chars: usize,
    names: HashMap<String, String>,
}

impl PromptContext {
    /// The call for the player; `call` counts the model's calls.
    pub fn scripted_call(&self, call: usize) -> ScriptedCall<'_> {
        ScriptedCall {
            prompt: &self.prompt,
            call,
            results: &self.results,
            tools: &self.tools,
            summary: false,
            input_chars: self.input_chars,
        }
    }

    /// Adds a user message.
    pub fn add_user_text(&mut self, text: &str) {
        self.add_text(text);
        text.clone_into(&mut self.prompt);
        self.results.clear();
    }

    /// Adds text that is neither the user's nor a tool's.
    pub fn add_text(&mut self, text: &str) {
        self.input_chars += text.chars().count();
    }

    /// Adds a call of a tool.
    pub fn add_call(&mut self, id: &Value, name: &Value) {
        if let (Some(id), Some(name)) = (id.as_str(), name.as_str()) {
            self.names.insert(id.to_owned(), name.to_owned());
        }
    }

    /// Adds a tool's result.
    pub fn add_result(&mut self, id: &Value, text: String, is_error: bool) {
        self.add_text(&text);
        let name = id.as_str().and_then(|id| self.names.get(id)).cloned().unwrap_or_default();
        self.results.push(ToolText { name, text, is_error });
    }

    /// Adds an offered tool.
    pub fn add_tool(&mut self, name: &Value) {
        self.tools.extend(name.as_str().map(str::to_owned));
    }
}

/// The elements of an array; none of anything else.
pub(super) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a message's content: a string, or its parts that have a `text`, one a line.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        content => {
            let texts = items(content).iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}
