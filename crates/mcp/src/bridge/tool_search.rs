//! `tool_search`: finds tools that are not declared, and declares them.

use super::*;
use crate::{
    content::text,
    naming::namespace,
    search::{Document, rank, schema_text},
};
use pi_rpc_protocol::QueriedTool;

/// How many tools a search loads without `limit`.
const SEARCH_LIMIT: usize = 8;

impl SessionBridge {
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
        self.wait(PendingRequest::Search(call.id, search)).await;
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
        let listed = tools.get("tools").cloned().unwrap_or_default();
        let listed: Vec<QueriedTool> = serde_json::from_value(listed).unwrap_or_default();
        let (declared, others): (Vec<_>, Vec<_>) = listed.into_iter().partition(|tool| tool.active);
        let mut active: Vec<String> = declared.into_iter().map(|tool| tool.name).collect();
        // What is not declared and can be called nevertheless waits for a search.
        let candidates: Vec<QueriedTool> = others.into_iter().filter(|tool| tool.callable).collect();
        let documents: Vec<Document> =
            candidates.iter().map(|tool| document(tool, self.text_of_server(&tool.name))).collect();
        let ranked = rank(&search.query, &documents, search.limit);
        let loaded: Vec<_> = ranked.iter().filter_map(|at| candidates.get(*at)).collect();
        let names: Vec<String> = loaded.iter().map(|tool| tool.name.clone()).collect();
        let shown = match loaded.len() {
            0 => "No matching tools found.".to_owned(),
            count => {
                let lines = loaded.iter().map(|tool| {
                    let first = tool.description.lines().next().unwrap_or_default();
                    format!("\n- {}: {first}", tool.name)
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

    /// What is said of the server of a tool; nothing for other tools.
    fn text_of_server(&self, tool: &str) -> String {
        let has = |server: &&Server| server.tools.iter().any(|(name, _)| name == tool);
        let Some(server) = self.servers.iter().find(has) else { return String::new() };
        let instructions = match &server.state {
            State::Connected(connected) => connected.instructions.clone(),
            _ => None,
        };
        let about = [Some(namespace(&server.entry.name)), server.entry.description.clone(), instructions];
        about.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// A tool, as it is searched.
fn document(tool: &QueriedTool, server_text: String) -> Document {
    let mut parts = vec![tool.description.clone()];
    schema_text(&Value::Object(tool.parameters.clone()), &mut parts);
    Document { name: tool.name.clone(), text: parts.join(" "), server_text }
}

/// The tool that finds tools that are not declared; `is_active`: it is offered from the start.
pub(super) fn search_tool(is_active: bool) -> ExtensionTool {
    let parameters = json!({
        "type": "object",
        "required": ["query"],
        "properties": {
            "query": { "type": "string", "description": "What the tools are to do, in a few words, or the name of one." },
            "limit": { "type": "number", "description": format!("How many tools to load at most; {SEARCH_LIMIT} without it.") },
        },
    });
    ExtensionTool {
        name: SEARCH_TOOL.to_owned(),
        label: Some(SEARCH_TOOL.to_owned()),
        description: "Finds tools that were not declared to you, such as those of MCP servers, by words of their names and \
                      descriptions, and declares the best matches for your next call. Use it before you conclude that there \
                      is no tool for something."
            .to_owned(),
        parameters: parameters.as_object().cloned().unwrap_or_default(),
        path: None,
        prompt_snippet: Some("Search for tools that are not declared yet and declare the matches".to_owned()),
        prompt_guidelines: None,
        sequential: Some(true),
        inactive: (!is_active).then_some(true),
        exposure: Some(ToolExposure::ModelOnly),
        output_schema: None,
        runs_scripts: None,
    }
}
