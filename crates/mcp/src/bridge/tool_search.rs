//! `tool_search`: finds tools that are not declared, and declares them.

use super::*;
use crate::{
    content::text,
    naming::namespace,
    search::{Document, rank, schema_text},
};
use pi_rpc_protocol::JsonObject;

/// How many tools a search loads without `limit`.
const SEARCH_LIMIT: usize = 8;

impl Running {
    pub(super) async fn begin_search(&mut self, call: ExtensionToolCall) {
        let query = call.arguments.get("query").and_then(Value::as_str).unwrap_or_default().to_owned();
        if query.trim().is_empty() {
            return self.fail(call.id, "query must not be empty".to_owned()).await;
        }
        let limit = match call.arguments.get("limit").map(Value::as_f64) {
            None => Some(SEARCH_LIMIT),
            // At most as many as there can be.
            Some(Some(limit)) if limit >= 1.0 && limit.fract() == 0.0 => Some(limit.min(100.0) as usize),
            Some(_) => None,
        };
        let Some(limit) = limit else {
            return self.fail(call.id, "limit must be a positive integer".to_owned()).await;
        };
        let search = Search { query, limit };
        self.wait(Waiting::Search(call.id, search)).await;
    }

    /// Queries which tools are declared: a search adds to them.
    pub(super) async fn query_tools(&mut self, call: String, search: Search) {
        self.queries += 1;
        let id = format!("mcp-{}", self.queries);
        self.searches.insert(id.clone(), (call, search));
        let query =
            ExtensionQuery { id, about: QueryKind::Tools, since: None, provider: None, model_id: None };
        self.output.send(query).await;
    }

    /// Declares the tools that match and are not declared yet.
    pub(super) async fn search(&self, call: String, search: Search, tools: Value) {
        let listed = tools.get("tools").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let name = |tool: &Value| tool.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_active = |tool: &&Value| tool.get("active") == Some(&Value::Bool(true));
        let mut active: Vec<String> = listed.iter().filter(is_active).map(name).collect();
        let mut candidates = Vec::new();
        let mut documents = Vec::new();
        for server in &self.servers {
            let instructions = match &server.state {
                State::Connected(connected) => connected.instructions.as_deref(),
                _ => continue,
            };
            let entry = &server.entry;
            let about =
                [Some(namespace(&entry.name)), entry.description.clone(), instructions.map(str::to_owned)];
            let about = about.into_iter().flatten().collect::<Vec<_>>().join(" ");
            for (name, tool) in &server.tools {
                let exposure = entry.exposure_of(&tool.name);
                let is_searched = matches!(exposure, McpExposure::Codemode | McpExposure::Deferred);
                if is_searched && !active.contains(name) {
                    documents.push(document(name, &tool.description, &tool.parameters, about.clone()));
                    candidates.push((name.clone(), tool.description.clone()));
                }
            }
        }
        if self.resource_exposure().is_some_and(|exposure| exposure != McpExposure::Direct) {
            for tool in super::resources::definitions(true) {
                if !active.contains(&tool.name) {
                    documents.push(document(&tool.name, &tool.description, &tool.parameters, String::new()));
                    candidates.push((tool.name, tool.description));
                }
            }
        }
        let ranked = rank(&search.query, &documents, search.limit);
        let loaded: Vec<_> = ranked.iter().filter_map(|at| candidates.get(*at)).collect();
        let names: Vec<String> = loaded.iter().map(|(name, _)| name.clone()).collect();
        let shown = match loaded.len() {
            0 => "No matching tools found.".to_owned(),
            count => {
                let lines = loaded.iter().map(|(name, description)| {
                    format!("\n- {name}: {}", description.lines().next().unwrap_or_default())
                });
                let s = if count == 1 { "" } else { "s" };
                format!(
                    "Loaded {count} tool{s}. They are available from your next call:{}",
                    lines.collect::<String>()
                )
            }
        };
        if !names.is_empty() {
            active.extend(names.clone());
            let origin = Some(call.clone());
            self.output.send(ExtensionSetActiveTools { id: None, origin, names: active }).await;
        }
        let result = AgentToolResult {
            content: vec![text(shown)],
            details: Some(json!({ "loaded": names })),
            ..AgentToolResult::from("")
        };
        self.output.send(ExtensionToolResult { id: call, result, is_error: None }).await;
    }
}

/// A tool, as it is searched.
fn document(name: &str, description: &str, parameters: &JsonObject, server_text: String) -> Document {
    let mut parts = vec![description.to_owned()];
    schema_text(&Value::Object(parameters.clone()), &mut parts);
    Document { name: name.to_owned(), text: parts.join(" "), server_text }
}

/// The tool that finds tools that are not declared.
pub(super) fn search_tool() -> ExtensionTool {
    let parameters = json!({
        "type": "object",
        "required": ["query"],
        "properties": {
            "query": { "type": "string", "description": "What the tools are to do, in a few words, or the name of one." },
            "limit": { "type": "number", "description": format!("How many tools to load at most; {SEARCH_LIMIT} without it.") },
        },
    });
    ExtensionTool {
        name: SEARCH.to_owned(),
        label: Some(SEARCH.to_owned()),
        description: "Finds tools that were not declared to you, such as those of MCP servers, by words of their names and \
                      descriptions, and declares the best matches for your next call. Use it before you conclude that there \
                      is no tool for something."
            .to_owned(),
        parameters: parameters.as_object().cloned().unwrap_or_default(),
        path: None,
        prompt_snippet: Some("Search for tools that are not declared yet and declare the matches".to_owned()),
        prompt_guidelines: None,
        sequential: Some(true),
        inactive: None,
        exposure: Some(ToolExposure::ModelOnly),
        output_schema: None,
        runs_scripts: None,
    }
}
