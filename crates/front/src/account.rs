//! What the front knows of the session, beside the states of the two machines.

use crate::{
    bridges::Computed,
    schema::{Def, defs},
};
use pi_rpc_protocol::Dialect;
use serde_json::{Map, Value, json};

/// The member of a compaction that was skipped.
const SKIPPED: &str = "skipped";

/// What is known of the session.
#[derive(Debug)]
pub struct Account {
    /// The dialect of the client.
    pub client: Dialect,
    /// Whether the run that ends is retried.
    pub will_retry: bool,
    /// Whether an abort came since the work began.
    pub is_aborted: bool,
    /// Whether the client's own server would say that it streams; `None`: its states do not show it.
    pub is_streaming: Option<bool>,
    /// Whether the prompt that is being answered waits in a queue.
    pub is_queued: bool,
    /// Whether the client's dialect has a member for compactions that were skipped.
    knows_skipped: bool,
    /// The reason of the last compaction.
    pub compaction_reason: Option<Value>,
    /// Number of messages that have begun, of those that the client sees.
    pub messages_begun: u64,
    /// Number of messages that the client does not see.
    pub hidden_messages: u64,
}

impl Account {
    /// An account of a session that begins.
    pub fn new(client: Dialect) -> Self {
        let mut members = defs().filter(|def| def.is_in(client.base())).flat_map(Def::properties);
        let knows_skipped = members.any(|it| it.name == SKIPPED && it.is_in(client.base()));
        Self {
            client,
            will_retry: false,
            is_aborted: false,
            is_streaming: None,
            is_queued: false,
            knows_skipped,
            compaction_reason: None,
            messages_begun: 0,
            hidden_messages: 0,
        }
    }

    /// The value of a member. `given`: that of the server, if it has the member; `object`: the members of the object of the
    /// server.
    pub fn compute(
        &self,
        value: Computed,
        given: Option<&Value>,
        object: &Map<String, Value>,
    ) -> Option<Value> {
        let text = |name: &str| object.get(name).and_then(Value::as_str);
        Some(match value {
            Computed::WillRetry => self.will_retry.into(),
            Computed::Aborted => self.is_aborted.into(),
            Computed::CompactionReason => self.compaction_reason.clone()?,
            Computed::CompactionAborted => match object.get(SKIPPED) {
                Some(Value::Bool(true)) if !self.knows_skipped => true.into(),
                _ => given.cloned()?,
            },
            Computed::MessageId => format!("msg-{}", self.messages_begun.max(1)).into(),
            // The encoder has them.
            Computed::Usage | Computed::Snapshot => return None,
            // The front writes that frame itself.
            Computed::Greeting => return None,
            Computed::ModelName => format!("{}/{}", text("provider")?, text("modelId")?).into(),
            Computed::ModelProvider => text("model")?.split_once('/')?.0.into(),
            Computed::ModelId => text("model")?.split_once('/')?.1.into(),
            Computed::PromptDisposition => if self.is_queued { "queued" } else { "started" }.into(),
            Computed::IsStreaming => {
                self.is_streaming.map_or_else(|| given.cloned(), |it| Some(it.into()))?
            }
            Computed::MessageCount => given?.as_u64()?.saturating_sub(self.hidden_messages).into(),
            Computed::InterruptMode => self.client.record().defaults.interrupt_mode.as_str().into(),
            Computed::IsSettled => (self.is_streaming != Some(true)).into(),
            Computed::ContextUsage => {
                let window = object.get("model")?.get("contextWindow").cloned().unwrap_or_else(|| 0.into());
                json!({ "tokens": null, "contextWindow": window, "percent": null })
            }
            Computed::SourceInfo => json!({
                "path": object.get("path").cloned().unwrap_or_else(|| "".into()),
                "source": "auto",
                "scope": match object.get("location").and_then(Value::as_str) {
                    Some("user") => "user",
                    Some("project") => "project",
                    _ => "temporary",
                },
                "origin": "top-level",
            }),
        })
    }
}
