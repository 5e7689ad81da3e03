//! Resources of servers, by the tools that pi has for them: lists, templates, and the contents of one. Source: pi 1.6.0 source.

use super::*;
use crate::{
    client::{Client, RequestError},
    content::{READ, block, limited, text},
};
use pi_rpc_protocol::{JsonObject, UserContent};
use std::cmp::Ordering;

const LIST: &str = "list_mcp_resources";
const TEMPLATES: &str = "list_mcp_resource_templates";

/// The names of the tools.
pub(super) const TOOLS: [&str; 3] = [LIST, TEMPLATES, READ];

/// The most pages of a list of one server.
const MAX_PAGES: usize = 100;

/// The most bytes of a list of one server; the rest is left out.
const MAX_LIST: usize = 4 * 1024 * 1024;

/// How long to wait before a request that failed by a passing condition is sent again.
const RETRY: Duration = Duration::from_millis(250);

/// A server whose resources can be read.
struct Source {
    name: String,
    client: Arc<Client>,
}

/// Definitions of the tools; `is_inactive`: they are found by `tool_search`.
pub(super) fn definitions(is_inactive: bool) -> Vec<ExtensionTool> {
    let string = |description: &str| json!({ "type": "string", "description": description });
    let listing = json!({
        "type": "object",
        "properties": {
            "server": string("The server. Without it, the resources of every server are listed."),
            "cursor": string("Continues a list of this server: `nextCursor` of the call before."),
        },
        "additionalProperties": false,
    });
    let reading = json!({
        "type": "object",
        "properties": {
            "server": string("The server, as `list_mcp_resources` names it."),
            "uri": string("The URI of the resource, as it is listed."),
        },
        "required": ["server", "uri"],
        "additionalProperties": false,
    });
    let tool = |name: &str, description: &str, parameters: &Value| ExtensionTool {
        name: name.to_owned(),
        label: Some(name.to_owned()),
        description: description.to_owned(),
        parameters: parameters.as_object().cloned().unwrap_or_default(),
        path: None,
        prompt_snippet: None,
        prompt_guidelines: None,
        sequential: None,
        inactive: is_inactive.then_some(true),
        exposure: is_inactive.then_some(ToolExposure::Deferred),
        output_schema: None,
        runs_scripts: None,
    };
    vec![
        tool(
            LIST,
            "Lists the resources of MCP servers: files, schemas of databases and other data that they share as context.",
            &listing,
        ),
        tool(TEMPLATES, "Lists the templates of resources of MCP servers: URIs with parameters.", &listing),
        tool(READ, "Reads a resource of an MCP server, by the server and the URI.", &reading),
    ]
}

impl SessionBridge {
    /// The widest exposure of the servers with resources; `None`: there are none.
    pub(super) fn resource_exposure(&self) -> Option<McpExposure> {
        let has = |exposure: &McpExposure| {
            let mut servers = self.servers.iter().filter(|server| server.with_resources().is_some());
            servers.any(|server| server.entry.exposure == *exposure)
        };
        let widest =
            [McpExposure::Direct, McpExposure::Codemode, McpExposure::Deferred].into_iter().find(has)?;
        // What is registered as found by a search stays so: a server that is still starting may have them declared.
        let may_widen = |server: &Server| {
            server.entry.exposure == McpExposure::Direct && matches!(server.state, State::Connecting)
        };
        let is_early =
            widest != McpExposure::Direct && !self.has_reported && self.servers.iter().any(may_widen);
        (self.offers_resources && !is_early).then_some(widest)
    }

    /// Performs a call of one of the tools, beside everything else.
    pub(super) fn begin_resources(&mut self, call: ExtensionToolCall) {
        let servers = self.servers.iter().filter(|_| self.offers_resources);
        let sources = servers.filter_map(|server| {
            let client = server.with_resources()?.client.clone();
            Some(Source { name: server.entry.name.clone(), client })
        });
        let mut sources: Vec<Source> = sources.collect();
        sources.sort_by(|one, other| by_name(&one.name, &other.name));
        let (output, events, id) = (self.output.clone(), self.events.downgrade(), call.id.clone());
        let admits_file = self.admits_file.clone();
        let task = tokio::spawn(async move {
            let done = match call.tool_name.as_str() {
                READ => read(&sources, &call.arguments, admits_file).await,
                LIST => list(&sources, &call, "resources/list", "resources").await,
                _ => list(&sources, &call, "resources/templates/list", "resourceTemplates").await,
            };
            match done {
                Ok(result) => {
                    output.send(ExtensionToolResult { id: call.id.clone(), result, is_error: None }).await;
                }
                Err(error) => output.send(ExtensionFailed { id: call.id.clone(), error }).await,
            }
            if let Some(events) = events.upgrade() {
                // Fails only when the session is over.
                let _ = events.send(Event::Ended(call.id)).await;
            }
        });
        self.calls.insert(id, task.abort_handle());
    }
}

fn by_name(one: &str, other: &str) -> Ordering {
    one.to_lowercase().cmp(&other.to_lowercase()).then_with(|| one.cmp(other))
}

/// A text among the arguments; empty ones are as good as none.
fn argument(arguments: &JsonObject, key: &str) -> Result<Option<String>, String> {
    match arguments.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
        Some(_) => Err(format!("{key} must be a string")),
    }
}

fn find<'a>(sources: &'a [Source], name: &str) -> Result<&'a Source, String> {
    sources.iter().find(|source| source.name == name).ok_or_else(|| {
        let known: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        let known = match &known[..] {
            [] => String::new(),
            known => format!(". Servers with resources: {}", known.join(", ")),
        };
        format!("MCP server \"{name}\" has no resources{known}")
    })
}

/// One page of one server, or all pages of all.
async fn list(
    sources: &[Source],
    call: &ExtensionToolCall,
    method: &str,
    key: &str,
) -> Result<AgentToolResult, String> {
    let (server, cursor) = (argument(&call.arguments, "server")?, argument(&call.arguments, "cursor")?);
    let mut payload = JsonObject::new();
    if let Some(server) = &server {
        let source = find(sources, server)?;
        let (items, next) = page(source, method, key, cursor).await.map_err(|error| error.to_string())?;
        payload.insert("server".to_owned(), server.as_str().into());
        payload.insert(key.to_owned(), items.into());
        if let Some(next) = next {
            payload.insert("nextCursor".to_owned(), next.into());
        }
    } else if cursor.is_some() {
        return Err("cursor can only be used when a server is specified".to_owned());
    } else {
        let (mut items, mut errors) = (Vec::new(), Vec::new());
        for source in sources {
            match all_pages(source, method, key).await {
                Ok(of_server) => items.extend(of_server),
                Err(error) => errors.push(json!({ "server": source.name, "error": error.to_string() })),
            }
        }
        payload.insert(key.to_owned(), items.into());
        if !errors.is_empty() {
            payload.insert("errors".to_owned(), errors.into());
        }
    }
    let payload = Value::Object(payload);
    let server = server.unwrap_or_default();
    Ok(result(vec![text(payload.to_string())], &server, &call.tool_name, payload))
}

async fn all_pages(source: &Source, method: &str, key: &str) -> Result<Vec<Value>, RequestError> {
    let (mut all, mut size, mut cursor) = (Vec::new(), 0, None);
    for _ in 0..MAX_PAGES {
        let (items, next) = page(source, method, key, cursor.clone()).await?;
        for item in items {
            size += item.to_string().len();
            if size > MAX_LIST {
                return Err(RequestError::Failed(format!(
                    "the list is longer than {MAX_LIST} bytes; name the server to list it page by page"
                )));
            }
            all.push(item);
        }
        if next.is_none() || next == cursor {
            return Ok(all);
        }
        cursor = next;
    }
    Err(RequestError::Failed(format!(
        "the list has more than {MAX_PAGES} pages; name the server to list it page by page"
    )))
}

/// A page of a list, without user interfaces and icons, and the cursor of the next.
async fn page(
    source: &Source,
    method: &str,
    key: &str,
    cursor: Option<String>,
) -> Result<(Vec<Value>, Option<String>), RequestError> {
    let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
    let mut answer = match ask(&source.client, method, params).await {
        // A server without templates may not know the method.
        Err(error) if method == "resources/templates/list" && error.is_no_method() => {
            return Ok((Vec::new(), None));
        }
        answer => answer?,
    };
    let Some(Value::Array(listed)) = answer.get_mut(key).map(Value::take) else {
        return Err(RequestError::Failed(format!("{method}: {key}: expected a list")));
    };
    let items = listed.into_iter().filter_map(|item| match item {
        Value::Object(mut item) if !is_interface(&item) => {
            item.shift_remove("_meta");
            item.shift_remove("icons");
            let mut shown = JsonObject::new();
            shown.insert("server".to_owned(), source.name.as_str().into());
            shown.extend(item);
            Some(Value::Object(shown))
        }
        _ => None,
    });
    let next = answer.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
    Ok((items.collect(), next))
}

/// Whether a resource is a user interface, which is not drawn here.
fn is_interface(item: &JsonObject) -> bool {
    let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind: String = text("mimeType").to_lowercase().chars().filter(|c| !matches!(c, ' ' | '"')).collect();
    text("uri").starts_with("ui://")
        || text("uriTemplate").starts_with("ui://")
        || kind.contains(";profile=mcp-app")
}

/// The scheme of files.
const FILE: &str = "file:";

/// Checks that a resource is no file that the session may not have read. What is behind any other URI is the server's to know.
async fn check_file(uri: &str, admits_file: Option<FileCheck>) -> Result<(), String> {
    let is_file = uri.get(..FILE.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(FILE));
    let Some(admits_file) = admits_file.filter(|_| is_file) else { return Ok(()) };
    let path = reqwest::Url::parse(uri).ok().and_then(|url| url.to_file_path().ok());
    let is_admitted = match path {
        // Looks at links on the disk.
        Some(path) => tokio::task::spawn_blocking(move || admits_file(&path)).await.unwrap_or(false),
        None => false,
    };
    match is_admitted {
        true => Ok(()),
        false => Err("uri: expected a file below the roots of the token".to_owned()),
    }
}

async fn read(
    sources: &[Source],
    arguments: &JsonObject,
    admits_file: Option<FileCheck>,
) -> Result<AgentToolResult, String> {
    let server = argument(arguments, "server")?.ok_or("server must be provided")?;
    let uri = argument(arguments, "uri")?.ok_or("uri must be provided")?;
    check_file(&uri, admits_file).await?;
    let source = find(sources, &server)?;
    let answer = ask(&source.client, "resources/read", json!({ "uri": uri })).await;
    let mut answer = answer.map_err(|error| error.to_string())?;
    let Some(Value::Array(mut contents)) = answer.get_mut("contents").map(Value::take) else {
        return Err("resources/read: contents: expected a list".to_owned());
    };
    let has_many = contents.len() > 1;
    let mut shown = Vec::new();
    for part in &mut contents {
        if let Value::Object(part) = part {
            part.shift_remove("_meta");
        }
        if has_many {
            shown.push(text(format!("{}:", part.get("uri").and_then(Value::as_str).unwrap_or_default())));
        }
        shown.push(block(&json!({ "type": "resource", "resource": part }), None));
    }
    if shown.is_empty() {
        shown.push(text(format!("Resource {uri} is empty.")));
    }
    let payload = json!({ "server": server, "uri": uri, "contents": contents });
    Ok(result(shown, &server, READ, payload))
}

/// A request that changes nothing at the server: it is sent again once where it failed by a passing condition.
async fn ask(client: &Client, method: &str, params: Value) -> Result<Value, RequestError> {
    match client.request(method, params.clone()).await {
        Err(RequestError::Transient(_)) => {
            tokio::time::sleep(RETRY).await;
            client.request(method, params).await
        }
        answer => answer,
    }
}

fn result(content: Vec<UserContent>, server: &str, tool: &str, payload: Value) -> AgentToolResult {
    let (content, file) = limited(content);
    let mut details = json!({ "server": server, "tool": tool });
    if let Some(file) = file {
        details["fullOutputPath"] = file.into();
    }
    AgentToolResult {
        content,
        details: Some(details),
        structured_content: Some(payload),
        ..AgentToolResult::from("")
    }
}
