//! The request `_session/steering`: a message for a run that is open.
//!
//! No part of ACP. Name, members and outcomes are those that the ACP agents of Claude Code and Codex share; clients find it by
//! `_meta.steering.supported` in the response to `initialize`.

use agent_client_protocol::{
    JsonRpcRequest, JsonRpcResponse,
    v1::schema::{ContentBlock, Meta, SessionId},
};
use pi_rpc_protocol::StreamingBehavior;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A message for the open run of a session.
#[derive(Clone, Debug, Serialize, Deserialize, JsonRpcRequest)]
#[request(method = "_session/steering", response = SteeringResponse)]
#[serde(rename_all = "camelCase")]
pub struct SteeringRequest {
    /// The session.
    pub session_id: SessionId,
    /// The message, as in a prompt.
    pub prompt: Vec<ContentBlock>,
    /// How it is delivered.
    #[serde(rename = "_meta", default)]
    pub meta: SteeringMeta,
}

/// The `_meta` of the request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SteeringMeta {
    /// How the message is delivered.
    pub steering: SteeringOptions,
}

/// How a message is delivered.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SteeringOptions {
    /// What happens without an open run.
    pub idle_behavior: IdleBehavior,
    /// The queue; `followUp` is ours. Absent: `steer`.
    pub streaming_behavior: Option<StreamingBehavior>,
}

/// What happens to a message without an open run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IdleBehavior {
    /// It begins a run, whose end no response tells.
    #[default]
    StartNewTurn,
    /// Nothing: the client sends it as a prompt.
    PromptRequired,
}

/// What has become of the message.
#[derive(Clone, Debug, Serialize, Deserialize, JsonRpcResponse)]
pub struct SteeringResponse {
    /// Whether a run has it.
    pub outcome: SteeringOutcome,
    /// Why no run has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl SteeringResponse {
    /// The response of this outcome.
    pub fn new(outcome: SteeringOutcome) -> Self {
        let reason = (outcome == SteeringOutcome::PromptRequired).then(|| "noRunningTurn".to_owned());
        Self { outcome, reason }
    }
}

/// Whether a run has the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SteeringOutcome {
    /// The open run.
    Injected,
    /// One that begins with it.
    StartedNewTurn,
    /// None.
    PromptRequired,
}

/// The `_meta` of the response to `initialize`.
pub fn capability() -> Meta {
    let mut meta = Meta::new();
    meta.insert("steering".to_owned(), json!({ "supported": true }));
    meta
}
