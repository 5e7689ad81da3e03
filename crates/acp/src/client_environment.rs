//! What the tools of a session do in its ACP client: files, terminals, tools of MCP servers.

use super::session::PumpHandle;
use agent_client_protocol::{
    Client as AcpClient,
    v1::{
        ConnectionTo,
        schema::{
            ClientCapabilities, CreateTerminalRequest, KillTerminalRequest, ReadTextFileRequest,
            ReleaseTerminalRequest, SessionId, TerminalExitStatus, TerminalId, TerminalOutputRequest,
            WaitForTerminalExitRequest, WriteTextFileRequest,
        },
    },
};
use pi_rpc_client::HostTool;
use pi_rpc_mcp::McpTools;
use pi_rpc_model::types::ToolSpec;
use pi_rpc_tools::{CommandEnd, Delegated, DelegatedCommand, DelegatedOutcome, ToolDelegate, ToolOutput};
use serde_json::Value;
use std::{future::pending, path::Path, sync::Arc};
use tokio::{runtime::Handle, sync::watch, time::sleep};

/// The client of one session.
pub struct ClientEnvironment {
    connection: ConnectionTo<AcpClient>,
    session: watch::Receiver<Option<(SessionId, PumpHandle)>>,
    reads_files: bool,
    writes_files: bool,
    has_terminals: bool,
    tools: McpTools,
    runtime: Handle,
}

/// Bytes of a command's output that the client keeps.
const OUTPUT_LIMIT: u64 = 1024 * 1024;

impl ClientEnvironment {
    /// What this client offers, with tools of the MCP servers that it has handed over. Needs a tokio runtime.
    pub fn new(
        connection: ConnectionTo<AcpClient>,
        session: watch::Receiver<Option<(SessionId, PumpHandle)>>,
        client: &ClientCapabilities,
        tools: McpTools,
    ) -> Arc<Self> {
        Arc::new(Self {
            connection,
            session,
            reads_files: client.fs.read_text_file,
            writes_files: client.fs.write_text_file,
            has_terminals: client.terminal,
            tools,
            runtime: Handle::current(),
        })
    }

    /// The tools of MCP servers, for a server that calls them through its host.
    pub fn host_tools(self: &Arc<Self>) -> Vec<HostTool> {
        self.tools.host_tools()
    }

    /// The session, once the client knows it: tools run only then.
    fn session(&self) -> Result<(SessionId, PumpHandle), String> {
        self.session.borrow().clone().ok_or_else(|| "the session is not open yet".to_owned())
    }

    async fn run_in_terminal(&self, command: DelegatedCommand) -> Result<DelegatedOutcome, String> {
        let (session, pump) = self.session()?;
        let DelegatedCommand { call_id, command, directory, cancel, timeout } = command;
        let request = CreateTerminalRequest::new(session.clone(), "sh")
            .args(vec!["-c".to_owned(), command])
            .cwd(directory)
            .output_byte_limit(OUTPUT_LIMIT);
        let created = self.connection.send_request(request).block_task().await;
        let terminal = created.map_err(|error| format!("terminal/create: {error}"))?.terminal_id;
        if let Some(call) = call_id {
            pump.show_terminal(call, terminal.clone()).await;
        }
        let exit = WaitForTerminalExitRequest::new(session.clone(), terminal.clone());
        let exit = self.connection.send_request(exit).block_task();
        tokio::pin!(exit);
        let expired = async {
            match timeout {
                Some(timeout) => {
                    sleep(timeout).await;
                    timeout
                }
                None => pending().await,
            }
        };
        let ending = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(CommandEnd::Cancelled),
            exit = &mut exit => Ok(exit),
            limit = expired => Err(CommandEnd::TimedOut(limit)),
        };
        let ending = match ending {
            Ok(exit) => exit.map(|exit| ending_of(&exit.exit_status)).map_err(|error| error.to_string()),
            Err(stopped) => {
                let kill = KillTerminalRequest::new(session.clone(), terminal.clone());
                // A command that has just ended needs no kill.
                let _ = self.connection.send_request(kill).block_task().await;
                Ok(stopped)
            }
        };
        let output = self.output(&session, &terminal).await;
        let release = ReleaseTerminalRequest::new(session, terminal);
        let _ = self.connection.send_request(release).block_task().await;
        Ok(DelegatedOutcome { output: output?, ending: ending? })
    }

    async fn output(&self, session: &SessionId, terminal: &TerminalId) -> Result<String, String> {
        let request = TerminalOutputRequest::new(session.clone(), terminal.clone());
        let output = self.connection.send_request(request).block_task().await;
        output.map(|output| output.output).map_err(|error| format!("terminal/output: {error}"))
    }
}

fn ending_of(status: &TerminalExitStatus) -> CommandEnd {
    match status.exit_code.and_then(|code| i32::try_from(code).ok()) {
        Some(code) => CommandEnd::Exited(code),
        // ACP names the signal; which number it has does not show.
        None => CommandEnd::Signalled(0),
    }
}

impl ToolDelegate for ClientEnvironment {
    fn specs(&self) -> Vec<ToolSpec> {
        self.tools.specs()
    }

    fn run<'a>(&'a self, name: &'a str, arguments: &'a Value) -> Delegated<'a, Result<ToolOutput, String>> {
        Box::pin(self.tools.run(name, arguments))
    }

    fn read_file(&self, path: &Path) -> Option<Result<String, String>> {
        let (session, _) = self.session().ok().filter(|_| self.reads_files)?;
        let request = ReadTextFileRequest::new(session, path);
        let read = self.runtime.block_on(self.connection.send_request(request).block_task());
        Some(read.map(|read| read.content).map_err(|error| format!("fs/read_text_file: {error}")))
    }

    fn write_file(&self, path: &Path, text: &str) -> Option<Result<(), String>> {
        let (session, _) = self.session().ok().filter(|_| self.writes_files)?;
        let request = WriteTextFileRequest::new(session, path, text);
        let written = self.runtime.block_on(self.connection.send_request(request).block_task());
        Some(written.map(drop).map_err(|error| format!("fs/write_text_file: {error}")))
    }

    fn runs_commands(&self) -> bool {
        self.has_terminals
    }

    fn run_command(&self, command: DelegatedCommand) -> Delegated<'_, Result<DelegatedOutcome, String>> {
        Box::pin(self.run_in_terminal(command))
    }
}
