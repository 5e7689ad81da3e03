//! Sessions of this engine, in this process.

use super::prompt_context::PromptContext;
use pi_rpc_client::{Client, ConnectionOptions, Events, LineChannels};
use pi_rpc_files::secrets::Secrets;
use pi_rpc_host::{
    OpenRequest, OpenSession, Principal, Resumption, SessionEnd, SessionLimits, SessionSinks, Start,
    Unattended, line_channels, start_session,
};
use pi_rpc_protocol::{Dialect, FRAME_LIMIT, GetStateCommand, SessionEndedEvent};
use pi_rpc_tools::ToolDelegate;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// Lists the folders with the session files of a working directory, or of all.
type FindFolders = dyn Fn(Option<&Path>) -> Vec<PathBuf> + Send + Sync;

/// Opens sessions of this engine, and finds those on disk.
pub struct EngineSessions {
    /// The dialect of the connections to them.
    pub dialect: Dialect,
    /// Makes the options of a session.
    pub open: Arc<OpenSession>,
    /// Lists the folders with the session files of a working directory, or of all. May block.
    pub folders: Box<FindFolders>,
    /// Keys, which the processes of MCP servers do not get.
    pub secrets: Secrets,
}

/// Bytes of frames that are kept until the client is connected.
const KEPT_OUTPUT: usize = 1024 * 1024;

/// How long they are kept.
const KEPT_IDLE: Duration = Duration::from_secs(60);

impl EngineSessions {
    /// Starts a session in `directory`. The text is its id.
    ///
    /// # Errors
    ///
    /// The directory, the session or what it needs cannot be used.
    pub(crate) async fn open(
        &self,
        start: Start,
        directory: PathBuf,
        delegate: Arc<dyn ToolDelegate>,
        prompt_context: PromptContext,
        connection: ConnectionOptions,
    ) -> Result<(Client, Events, String), String> {
        let owner = Principal::local();
        let request = OpenRequest {
            owner: Some(owner.clone()),
            start,
            directory: Some(directory),
            dialect: Some(self.dialect),
            ..OpenRequest::default()
        };
        let open = self.open.clone();
        let options = tokio::task::spawn_blocking(move || open(request)).await;
        let mut options = options.map_err(|panic| panic.to_string())?.map_err(|error| error.text())?;
        options.tools.extend(delegate.specs());
        if let Some(text) = options.tool_refusal() {
            return Err(text);
        }
        options.tool_environment.delegate = Some(delegate);
        options.observer = options.observer.map(|observer| prompt_context.observe(observer));
        let limits = SessionLimits {
            max_frame: FRAME_LIMIT,
            kept_output: KEPT_OUTPUT,
            kept_idle: KEPT_IDLE,
            unattended: Unattended::default(),
        };
        let session = start_session(
            "acp".into(),
            options,
            limits,
            owner,
            Resumption::default(),
            SessionSinks::default(),
        );
        let mut ended = session.ended.clone();
        let (to_server, from_server) = line_channels(session);
        let begun = async {
            let channels = LineChannels { to_server, from_server };
            let (client, events) = Client::connect(channels, connection).await?;
            let state = client.call(GetStateCommand::default()).await?;
            Ok::<_, pi_rpc_client::Error>((client, events, state.session_id))
        };
        let error = match begun.await {
            Ok(begun) => return Ok(begun),
            Err(error) => error,
        };
        // Without its client the session ends, and may say why it was not served.
        match ended.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(SessionEnd::Over(SessionEndedEvent { error: Some(reason), .. }))) => Err(reason.clone()),
            _ => Err(error.to_string()),
        }
    }
}
