//! Servers that the client of a session hands over.
//!
//! For sessions whose client names MCP servers, as ACP clients do: [`McpTools::connect`] starts or reaches the servers, and their
//! tools then run in this process ([`McpTools::run`]) or are lent to a server of our protocol ([`McpTools::host_tools`]).
//!
//! Only tools are used: no resources, prompts or sampling of MCP. This crate offers no MCP server, reads no configuration and
//! asks nobody for permission. The processes of servers get no variables that the given
//! [`ChildEnvironment`] withholds, and end with the last clone of [`McpTools`].
//!
//! - [`McpTools`]: the tools of the connected servers, each named `mcp__SERVER__TOOL`.
//!
//! ```
//! use agent_client_protocol::v1::schema::{McpServer, McpServerStdio};
//! use pi_rpc_mcp::McpTools;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), String> {
//! // The shortest MCP server: it answers `initialize` and `tools/list`.
//! let script = r#"
//! read line
//! echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},
//! "serverInfo":{"name":"demo","version":"1"}}}' | tr -d '\n'; echo
//! read line; read line
//! echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}}'
//! read line
//! "#;
//! let server = McpServerStdio::new("calc", "/bin/sh").args(vec!["-c".to_owned(), script.to_owned()]);
//! let tools = McpTools::connect(vec![McpServer::Stdio(server)], &std::env::temp_dir(), &Default::default()).await?;
//! assert_eq!(tools.specs()[0].name, "mcp__calc__add");
//! # Ok(())
//! # }
//! ```

use super::{
    content::tool_result,
    naming::tool_names,
    server::{ConnectedServer, ServerAddress, Surroundings, connect_to},
    stdio::ServerProcess,
    tool::Tool,
};
use agent_client_protocol::v1::schema::McpServer;
use pi_rpc_client::HostTool;
use pi_rpc_config::mcp::TIMEOUT;
use pi_rpc_files::secrets::{ChildEnvironment, Secrets};
use pi_rpc_model::types::ToolSpec;
use pi_rpc_processes::Processes;
use pi_rpc_protocol::{AgentToolResult, HostToolDefinition, ImageContent, TextContent, UserContent};
use pi_rpc_tools::{Block, ToolOutput};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};
use tokio::time::timeout;

/// Tools of connected MCP servers. Dropping the last clone ends the servers.
#[derive(Clone, Default)]
pub struct McpTools {
    tools: Arc<Vec<McpTool>>,
}

struct McpTool {
    /// The name for the model.
    name: String,
    /// The name of its server.
    server_name: String,
    tool: Tool,
    server: Arc<ConnectedServer>,
}

/// How long a server may take to start and to list its tools.
const START_TIMEOUT: Duration = Duration::from_secs(30);

impl McpTools {
    /// Connects all servers; those on stdio start in `directory` and get `environment`, besides what the client gives them.
    ///
    /// # Errors
    ///
    /// A server cannot be connected; the reason names it.
    pub async fn connect(
        servers: Vec<McpServer>,
        directory: &Path,
        environment: &ChildEnvironment,
    ) -> Result<Self, String> {
        let surroundings = Surroundings {
            directory: directory.to_owned(),
            processes: Processes::new(),
            environment: environment.clone(),
            secrets: Secrets::default(),
            log: None,
            agent: None,
        };
        let mut tools: Vec<McpTool> = Vec::new();
        let mut taken = BTreeSet::new();
        for (index, server) in servers.into_iter().enumerate() {
            let (server_name, address) = address(server, directory)
                .map_err(|(field, reason)| format!("mcpServers[{index}]{field}: {reason}"))?;
            let failed = |reason: String| format!("mcpServers[{index}] ({server_name}): {reason}");
            let connecting = connect_to(&server_name, address, TIMEOUT, &surroundings);
            let late = || format!("no answer within {START_TIMEOUT:?}");
            let connected = timeout(START_TIMEOUT, connecting).await;
            let server = connected.map_err(|_| failed(late()))?.map_err(|error| failed(error.to_string()))?;
            for note in server.notes() {
                tracing::warn!("MCP server {server_name}: {note}");
            }
            let server = Arc::new(server);
            let listed: Vec<&str> = server.tool_names().collect();
            for (name, tool) in tool_names(&server_name, &listed, &taken).into_iter().zip(&server.tools) {
                // A name is taken even by its hash where a server is named twice.
                if taken.insert(name.clone()) {
                    let (server_name, tool, server) = (server_name.clone(), tool.clone(), server.clone());
                    tools.push(McpTool { name, server_name, tool, server });
                }
            }
        }
        Ok(Self { tools: Arc::new(tools) })
    }

    /// The tools, for the model.
    pub fn specs(&self) -> Vec<ToolSpec> {
        let spec = |it: &McpTool| ToolSpec {
            name: it.name.clone(),
            description: it.tool.description.clone(),
            parameters: Value::Object(it.tool.parameters.clone()).into(),
            exclusive: false,
            output: None,
        };
        self.tools.iter().map(spec).collect()
    }

    /// Runs a tool. Dropping the future cancels the call.
    ///
    /// # Errors
    ///
    /// There is no such tool, or its server fails.
    pub async fn run(&self, name: &str, arguments: &Value) -> Result<ToolOutput, String> {
        let tool = self.tools.iter().find(|tool| tool.name == name);
        let tool = tool.ok_or_else(|| format!("Tool {name} not found"))?;
        let params = json!({ "name": tool.tool.name, "arguments": arguments });
        let answer = tool.server.client.request("tools/call", params).await;
        let answer = answer.map_err(|error| format!("{name}: {error}"))?;
        let (result, is_error) = tool_result(&tool.server_name, &tool.tool.name, answer, false);
        let content = result.content.into_iter().map(|block| match block {
            UserContent::Text(text) => Block::Text(text.text),
            UserContent::Image(image) => Block::Image { data: image.data, mime_type: image.mime_type },
        });
        Ok(ToolOutput {
            content: content.collect(),
            details: result.details,
            structured: result.structured_content,
            is_error,
        })
    }

    /// The tools, for a server that calls them through its host.
    pub fn host_tools(&self) -> Vec<HostTool> {
        let tool = |tool: &McpTool| {
            let definition = HostToolDefinition {
                name: tool.name.clone(),
                label: None,
                description: tool.tool.description.clone(),
                parameters: tool.tool.parameters.clone(),
                hidden: None,
                load_mode: None,
                reads_skill_uris: None,
            };
            let (tools, name) = (self.clone(), tool.name.clone());
            HostTool::new(definition, move |call| {
                let (tools, name) = (tools.clone(), name.clone());
                async move {
                    let arguments = Value::Object(call.arguments().clone());
                    tools.run(&name, &arguments).await.and_then(host_result)
                }
            })
        };
        self.tools.iter().map(tool).collect()
    }
}

/// The name of a server, and where it is; values are the client's, as they are. The error has the field, and what was expected.
fn address(server: McpServer, directory: &Path) -> Result<(String, ServerAddress), (&'static str, String)> {
    match server {
        McpServer::Stdio(server) => {
            let process = ServerProcess {
                command: server.command,
                args: server.args,
                env: server.env.into_iter().map(|variable| (variable.name, variable.value)).collect(),
                directory: directory.to_owned(),
            };
            Ok((server.name, ServerAddress::Stdio(process)))
        }
        McpServer::Http(server) => {
            let headers = server.headers.into_iter().map(|header| (header.name, header.value)).collect();
            Ok((server.name, ServerAddress::Http { url: server.url, headers, login: None }))
        }
        McpServer::Sse(server) => Err((
            ".type",
            format!("expected stdio or http, got sse, which MCP has given up ({})", server.name),
        )),
        _ => Err((".type", "expected stdio or http".to_owned())),
    }
}

/// The result of a call, for a server that calls tools through its host.
fn host_result(output: ToolOutput) -> Result<AgentToolResult, String> {
    let content = output.content.into_iter().map(|block| match block {
        Block::Text(text) => UserContent::Text(TextContent { text, text_signature: None }),
        Block::Image { data, mime_type } => UserContent::Image(ImageContent { data, mime_type }),
    });
    let content: Vec<UserContent> = content.collect();
    if output.is_error {
        let texts = content.iter().filter_map(|block| match block {
            UserContent::Text(text) => Some(text.text.as_str()),
            UserContent::Image(_) => None,
        });
        return Err(texts.collect::<Vec<_>>().join("\n"));
    }
    Ok(AgentToolResult { content, details: output.details, ..AgentToolResult::from("") })
}
