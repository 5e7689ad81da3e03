//! Host of a conversation: its answers to dialogs, and its tools.

use super::conversation::{self, Tool, ToolCall, ToolStep};
use pi_rpc::{
    client::{Client, DialogResponse, HostCall, HostTool},
    protocol::{AgentToolResult, HostToolDefinition},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    future::pending,
    sync::{Arc, Mutex},
};
use tokio::sync::watch;

/// State of the host: dialogs and calls so far.
#[derive(Default)]
pub struct Host {
    asked: Arc<Mutex<Vec<Value>>>,
    pub called: Arc<watch::Sender<Vec<ToolCall>>>,
    pub cancelled: Arc<watch::Sender<Vec<String>>>,
}

impl Host {
    /// Sets the answers to later dialogs.
    pub fn answer(&self, client: &Client, answers: BTreeMap<String, conversation::Answer>) {
        let asked = Arc::clone(&self.asked);
        client.on_dialog(move |request| {
            asked.lock().unwrap().push(json!(request));
            let answer = match answers.get(request.kind().as_str()) {
                Some(conversation::Answer::Value { value }) => DialogResponse::Value(value.clone()),
                Some(conversation::Answer::Confirmed { confirmed }) => DialogResponse::Confirmed(*confirmed),
                Some(conversation::Answer::Cancelled { .. }) | None => DialogResponse::Cancelled,
            };
            async { answer }
        });
    }

    /// The dialogs that were asked so far.
    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }

    /// Creates a tool that plays its steps, and records its calls.
    pub fn tool(&self, tool: Tool) -> HostTool {
        let Tool { name, label, description, parameters, answers } = tool;
        let (called, cancelled) = (Arc::clone(&self.called), Arc::clone(&self.cancelled));
        let definition = HostToolDefinition {
            name,
            label,
            description,
            parameters,
            hidden: None,
            load_mode: None,
            reads_skill_uris: None,
        };
        HostTool::new(definition, move |call| {
            let name = call.call.tool_name.clone();
            let arguments = call.arguments().clone();
            called.send_modify(|calls| calls.push(ToolCall { name: name.clone(), arguments }));
            let dropped = Dropped { name, cancelled: Some(Arc::clone(&cancelled)) };
            perform(call, answers.clone(), dropped)
        })
    }
}

/// Records that a call was dropped before its end.
struct Dropped {
    name: String,
    cancelled: Option<Arc<watch::Sender<Vec<String>>>>,
}

impl Drop for Dropped {
    fn drop(&mut self) {
        if let Some(cancelled) = &self.cancelled {
            cancelled.send_modify(|names| names.push(self.name.clone()));
        }
    }
}

async fn perform(
    call: HostCall,
    steps: Vec<ToolStep>,
    mut dropped: Dropped,
) -> Result<AgentToolResult, String> {
    let mut result = Err("it has no end".to_owned());
    for step in steps {
        match step {
            ToolStep::Update { update } => call.update(update).await,
            ToolStep::Result { result: text } => result = Ok(text.into()),
            ToolStep::Error { error } => result = Err(error),
            ToolStep::Hang { .. } => pending().await,
        }
    }
    dropped.cancelled = None;
    result
}
