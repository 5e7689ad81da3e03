//! A first client: sends a prompt, shows the answer while it is streamed, and confirms tools before they run.
//!
//! ```text
//! cargo build && cargo run --quiet --example client -- target/debug/pi-rpc "What is in this folder?"
//! ```

use pi_rpc::{
    client::{Client, DialogResponse, Error, Events, Options},
    protocol::{
        AgentSessionEvent, AssistantMessageEvent, Dialect, GetSessionStatsCommand, Outbound,
        RpcExtensionUIRequest,
    },
};
use std::io::Write as _;
use tokio::process::Command;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().unwrap_or_else(|| "pi-rpc".to_owned());
    let question = arguments.next().unwrap_or_else(|| "What is in this folder?".to_owned());

    let mut server = Command::new(program);
    server.args(["serve", "--no-session", "--model", "scripted/demo", "--confirm-tools", "bash"]);
    let (client, events) = Client::spawn(Options::new(server, Dialect::Pi)).await?;
    client.on_dialog(|request| async move { decide(&request) });
    let showing = tokio::spawn(show(events));

    let said = client.prompt(question).await?;
    let stats = client.call(GetSessionStatsCommand::default()).await?;
    client.close().await;
    // The task ends with the server.
    let _ = showing.await;
    println!(
        "\n{} characters in the last message, {} tool calls",
        said.text().chars().count(),
        stats.tool_calls
    );
    Ok(())
}

/// Prints the texts of the answer while they are streamed.
async fn show(mut events: Events) {
    while let Some(event) = events.next().await {
        if let Some(Outbound::AgentSessionEvent(AgentSessionEvent::MessageUpdate(update))) = event.frame
            && let AssistantMessageEvent::TextDelta(delta) = update.assistant_message_event
        {
            print!("{}", delta.delta);
            // Nothing can be done about a failed write to stdout.
            let _ = std::io::stdout().flush();
        }
    }
}

/// Answers confirmation dialogs like a careful user: only tools that read may run.
fn decide(request: &RpcExtensionUIRequest) -> DialogResponse {
    match request {
        RpcExtensionUIRequest::Select(it) if it.title.contains("ls -a") => match it.options.first() {
            Some(once) => DialogResponse::Value(once.clone()),
            None => DialogResponse::Cancelled,
        },
        RpcExtensionUIRequest::Confirm(_) => DialogResponse::Confirmed(false),
        _ => DialogResponse::Cancelled,
    }
}
