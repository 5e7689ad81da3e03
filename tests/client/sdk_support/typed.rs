//! Calls of commands by the client's typed methods.

use pi_rpc::{
    client::{Client, Error},
    protocol::RpcCommand,
};
use serde_json::{Value, json};

/// Calls a command by the typed method of its kind.
macro_rules! call {
    ($client:expr, $command:expr, $($variant:ident)*) => {
        match $command { $(RpcCommand::$variant(command) => json!($client.call(command).await?)),* }
    };
}

/// Calls the command, and returns its data as JSON; null if there is none.
pub async fn call(client: &Client, command: RpcCommand) -> Result<Value, Error> {
    Ok(call!(
        client, command,
        Prompt Steer FollowUp Abort AbortAndPrompt NewSession GetState SetTodos SetHostTools SetLocale GetIntegrations
        SetModel CycleModel GetAvailableModels SetThinkingLevel CycleThinkingLevel SetSteeringMode SetFollowUpMode
        SetInterruptMode Compact SetAutoCompaction SetAutoRetry AbortRetry Bash AbortBash GetSessionStats ExportHtml
        SwitchSession Fork Branch GetForkMessages GetBranchMessages GetLastAssistantText SetSessionName GetMessages
        GetCommands ClearQueue GetAvailableThinkingLevels Clone GetEntries GetTree NavigateTree GetLoginProviders Login
        AbortLogin Logout
        NegotiateProtocol Handoff GetMessagesPage GetAvailableCommands SetHostUriSchemes SetSubagentSubscription GetSubagents
        GetSubagentMessages SetFastMode OpenSession SetEventFilter
    ))
}
