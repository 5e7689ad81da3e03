//! A command as data, called by the client's typed method for it.

use pi_rpc::{
    client::{Client, Error},
    protocol::RpcCommand,
};
use serde_json::{Value, json};

/// Calls whichever command it is as what it is, so that the answer has been of its type.
macro_rules! call {
    ($client:expr, $command:expr, $($variant:ident)*) => {
        match $command { $(RpcCommand::$variant(command) => json!($client.call(command).await?)),* }
    };
}

/// What the command brings, as JSON again; null where it brings nothing.
pub async fn call(client: &Client, command: RpcCommand) -> Result<Value, Error> {
    Ok(call!(
        client, command,
        Prompt Steer FollowUp Abort AbortAndPrompt NewSession GetState SetTodos SetHostTools SetLocale GetIntegrations
        SetModel CycleModel GetAvailableModels SetThinkingLevel CycleThinkingLevel SetSteeringMode SetFollowUpMode
        SetInterruptMode Compact SetAutoCompaction SetAutoRetry AbortRetry Bash AbortBash GetSessionStats ExportHtml
        SwitchSession Fork Branch GetForkMessages GetBranchMessages GetLastAssistantText SetSessionName GetMessages
        GetCommands ClearQueue GetAvailableThinkingLevels Clone GetEntries GetTree
    ))
}
