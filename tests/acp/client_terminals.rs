//! Terminals of the test's client: commands run until they end or are killed.

use agent_client_protocol::v1::schema as acp;
use std::{
    process::Stdio,
    sync::{Arc, Mutex},
};
use tokio::{
    io::AsyncReadExt as _,
    process::Command,
    sync::{Notify, watch},
};

/// The terminals of a client, in the order in which they were created.
#[derive(Clone, Default)]
pub struct Terminals(Arc<Mutex<Vec<Terminal>>>);

#[derive(Clone)]
struct Terminal {
    kill: Arc<Notify>,
    /// Exit code and output.
    ended: watch::Receiver<Option<(Option<u32>, String)>>,
}

impl Terminals {
    pub fn create(&self, request: &acp::CreateTerminalRequest) -> acp::CreateTerminalResponse {
        let mut command = Command::new(&request.command);
        command.args(&request.args).current_dir(request.cwd.as_ref().unwrap());
        let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let (exited, ended) = watch::channel(None);
        let kill = Arc::new(Notify::new());
        let killed = kill.clone();
        tokio::spawn(async move {
            let (mut output, mut text) = (child.stdout.take().unwrap(), String::new());
            tokio::select! {
                read = output.read_to_string(&mut text) => { read.unwrap(); }
                () = killed.notified() => child.kill().await.unwrap(),
            }
            let code = child.wait().await.unwrap().code();
            exited.send_replace(Some((code.map(|code| code as u32), text)));
        });
        let mut terminals = self.0.lock().unwrap();
        terminals.push(Terminal { kill, ended });
        acp::CreateTerminalResponse::new(format!("terminal-{}", terminals.len() - 1))
    }

    pub async fn exit(&self, id: &acp::TerminalId) -> acp::WaitForTerminalExitResponse {
        let (code, _) = self.end(id).await;
        acp::WaitForTerminalExitResponse::new(acp::TerminalExitStatus::new().exit_code(code))
    }

    pub async fn output(&self, id: &acp::TerminalId) -> acp::TerminalOutputResponse {
        let (_, text) = self.end(id).await;
        acp::TerminalOutputResponse::new(text, false)
    }

    pub fn kill(&self, id: &acp::TerminalId) {
        self.terminal(id).kill.notify_one();
    }

    async fn end(&self, id: &acp::TerminalId) -> (Option<u32>, String) {
        let mut ended = self.terminal(id).ended;
        let ended = ended.wait_for(Option::is_some).await.unwrap();
        ended.clone().unwrap()
    }

    fn terminal(&self, id: &acp::TerminalId) -> Terminal {
        let number: usize = id.0.strip_prefix("terminal-").unwrap().parse().unwrap();
        self.0.lock().unwrap()[number].clone()
    }
}
