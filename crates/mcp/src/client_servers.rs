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
//! echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},
//! "serverInfo":{"name":"demo","version":"1"}}}' | tr -d '\n'; echo
//! read line; read line
//! echo '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}}'
//! read line
//! "#;
//! let server = McpServerStdio::new("calc", "/bin/sh").args(vec!["-c".to_owned(), script.to_owned()]);
//! let tools = McpTools::connect(vec![McpServer::Stdio(server)], &std::env::temp_dir(), &Default::default()).await?;
//! assert_eq!(tools.specs()[0].name, "mcp__calc__add");
//! # Ok(())
//! # }
//! ```

use agent_client_protocol::v1::schema::{McpServer, McpServerHttp, McpServerStdio};
use pi_rpc_client::HostTool;
use pi_rpc_files::secrets::ChildEnvironment;
use pi_rpc_model::types::ToolSpec;
use pi_rpc_processes::{Group, Processes};
use pi_rpc_protocol::{AgentToolResult, HostToolDefinition, ImageContent, TextContent, UserContent};
use pi_rpc_tools::{Block, ToolOutput};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::{
    RoleClient, ServiceExt as _,
    model::{CallToolRequestParams, CallToolResult, ContentBlock, ResourceContents, Tool},
    service::RunningService,
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use serde_json::Value;
use std::{collections::HashMap, path::Path, process::Stdio, sync::Arc, time::Duration};
use tokio::{
    process::{Child, Command},
    time::timeout,
};

/// A connection to an MCP server. Dropping it ends the server.
struct Connection {
    service: RunningService<RoleClient, ()>,
    /// The process of a server on stdio, with all that it has started.
    _process: Option<(Child, Group)>,
}

/// Tools of connected MCP servers.
#[derive(Clone, Default)]
pub struct McpTools {
    tools: Arc<Vec<McpTool>>,
}

struct McpTool {
    spec: ToolSpec,
    /// The name at the server.
    name: String,
    connection: Arc<Connection>,
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
        let mut tools: Vec<McpTool> = Vec::new();
        for (index, server) in servers.into_iter().enumerate() {
            let (name, connecting) = match server {
                McpServer::Stdio(server) => (server.name.clone(), McpTransport::Process(server)),
                McpServer::Http(server) => (server.name.clone(), McpTransport::Http(server)),
                McpServer::Sse(server) => {
                    let text = "expected stdio or http, got sse, which MCP has given up";
                    return Err(format!("mcpServers[{index}].type: {text} ({})", server.name));
                }
                _ => return Err(format!("mcpServers[{index}].type: expected stdio or http")),
            };
            let failed = |reason: String| format!("mcpServers[{index}] ({name}): {reason}");
            let started = timeout(START_TIMEOUT, connecting.start(directory, environment)).await;
            let late = || format!("no answer within {START_TIMEOUT:?}");
            let (connection, listed) = started.map_err(|_| failed(late()))?.map_err(failed)?;
            for tool in listed {
                let spec = spec(&name, &tool);
                if !tools.iter().any(|other| other.spec.name == spec.name) {
                    tools.push(McpTool {
                        spec,
                        name: tool.name.into_owned(),
                        connection: connection.clone(),
                    });
                }
            }
        }
        Ok(Self { tools: Arc::new(tools) })
    }

    /// The tools, for the model.
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec.clone()).collect()
    }

    /// Runs a tool. Dropping the future cancels the call.
    ///
    /// # Errors
    ///
    /// There is no such tool, or its server fails.
    pub async fn run(&self, name: &str, arguments: &Value) -> Result<ToolOutput, String> {
        let tool = self.tools.iter().find(|tool| tool.spec.name == name);
        let tool = tool.ok_or_else(|| format!("Tool {name} not found"))?;
        let mut call = CallToolRequestParams::new(tool.name.clone());
        call.arguments = arguments.as_object().cloned();
        let result = tool.connection.service.call_tool(call).await;
        result.map(output).map_err(|error| format!("{name}: {error}"))
    }

    /// The tools, for a server that calls them through its host.
    pub fn host_tools(&self) -> Vec<HostTool> {
        let tool = |tool: &McpTool| {
            let ToolSpec { name, description, parameters, .. } = tool.spec.clone();
            let definition = HostToolDefinition {
                name: name.clone(),
                label: None,
                description,
                parameters: parameters.as_object().cloned().unwrap_or_default(),
                hidden: None,
                load_mode: None,
                reads_skill_uris: None,
            };
            let tools = self.clone();
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

/// A server that is to be connected.
enum McpTransport {
    Process(McpServerStdio),
    Http(McpServerHttp),
}

impl McpTransport {
    async fn start(
        self,
        directory: &Path,
        environment: &ChildEnvironment,
    ) -> Result<(Arc<Connection>, Vec<Tool>), String> {
        let (service, _process) = match self {
            Self::Process(server) => {
                let mut command = Command::new(&server.command);
                command.args(&server.args).current_dir(directory);
                environment.withhold_keys(command.as_std_mut());
                command.envs(server.env.iter().map(|variable| (&variable.name, &variable.value)));
                let program = server.command.display();
                command.stdin(Stdio::piped()).stdout(Stdio::piped());
                let started = Processes::new().spawn(&mut command);
                let (mut child, group) = started.map_err(|error| format!("{program}: {error}"))?;
                let Some(pipes) = child.stdout.take().zip(child.stdin.take()) else {
                    return Err(format!("{program}: it has no pipes"));
                };
                let service = ().serve(pipes).await.map_err(|error| error.to_string())?;
                (service, Some((child, group)))
            }
            Self::Http(server) => {
                // Fails if one is installed already.
                let _ = rustls::crypto::ring::default_provider().install_default();
                let mut headers = HashMap::new();
                for header in server.headers {
                    let name: HeaderName =
                        header.name.parse().map_err(|_| format!("{}: no name of a header", header.name))?;
                    let value: HeaderValue =
                        header.value.parse().map_err(|_| format!("{}: no value of a header", header.name))?;
                    headers.insert(name, value);
                }
                let config =
                    StreamableHttpClientTransportConfig::with_uri(server.url).custom_headers(headers);
                let transport = StreamableHttpClientTransport::from_config(config);
                (().serve(transport).await.map_err(|error| error.to_string())?, None)
            }
        };
        let tools = service.list_all_tools().await.map_err(|error| format!("tools/list: {error}"))?;
        Ok((Arc::new(Connection { service, _process }), tools))
    }
}

/// A tool as the model sees it: its name begins with that of its server.
fn spec(server: &str, tool: &Tool) -> ToolSpec {
    let letters = |text: &str| -> String {
        text.chars().map(|it| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' }).collect()
    };
    let description = tool.description.as_deref().or(tool.title.as_deref());
    ToolSpec {
        name: format!("mcp__{}__{}", letters(server), letters(&tool.name)),
        description: description.unwrap_or(&tool.name).to_owned(),
        parameters: Value::Object((*tool.input_schema).clone()).into(),
        exclusive: false,
    }
}

/// The result of a call, as tools of this process have it.
fn output(result: CallToolResult) -> ToolOutput {
    let mut content: Vec<Block> = result.content.into_iter().map(block).collect();
    if content.is_empty() {
        let structured = result.structured_content.as_ref().map(Value::to_string);
        content.push(Block::Text(structured.unwrap_or_else(|| "(no output)".to_owned())));
    }
    let structured = result.structured_content;
    ToolOutput { content, details: structured, structured: None, is_error: result.is_error.unwrap_or(false) }
}

fn block(block: ContentBlock) -> Block {
    match block {
        ContentBlock::Text(text) => Block::Text(text.text),
        ContentBlock::Image(image) => Block::Image { data: image.data, mime_type: image.mime_type },
        ContentBlock::Audio(audio) => Block::Text(format!("[audio: {}]", audio.mime_type)),
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { text, .. } => Block::Text(text),
            ResourceContents::BlobResourceContents { uri, .. } => Block::Text(format!("[binary: {uri}]")),
            _ => Block::Text("[a resource of a kind that is not known]".to_owned()),
        },
        ContentBlock::ResourceLink(link) => Block::Text(format!("[{}]({})", link.name, link.uri)),
        _ => Block::Text("[content of a kind that is not known]".to_owned()),
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
