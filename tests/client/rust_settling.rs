//! `pi_rpc::client` with servers that say when nothing follows any more, and what became of a message.

use pi_rpc::{
    client::{Client, Events, Options},
    protocol::{Dialect, PromptCommand, QueueDisposition, QueueOutcome, StreamingBehavior},
};
use std::time::Duration;
use tokio::{process::Command, time::timeout};

/// Answers whatever it is asked as a server that rests.
const RESTS: &str = r#"
while IFS= read -r line; do
    id=${line#*\"id\":\"}
    id=${id%%\"*}
    echo "{\"id\":\"$id\",\"type\":\"response\",\"command\":\"get_state\",\"success\":true,\"data\":{\"thinkingLevel\":\"off\",\
\"isStreaming\":false,\"isCompacting\":false,\"steeringMode\":\"all\",\"followUpMode\":\"all\",\"sessionId\":\"s\",\
\"autoCompactionEnabled\":true,\"messageCount\":0,\"pendingMessageCount\":0}}"
done
"#;

/// A server that a shell plays.
async fn spawn(dialect: Dialect, script: &str) -> (Client, Events) {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{script}\n{RESTS}")]);
    Client::spawn(Options::new(command, dialect)).await.unwrap()
}

fn answer(number: usize, command: &str, disposition: &str) -> String {
    format!(
        r#"read call; echo '{{"id":"call-{number}","type":"response","command":"{command}","success":true,"data":{{"disposition":"{disposition}"}}}}'"#
    ) + "\n"
}

/// Says a run whose message has this text and ended so.
fn run(text: &str, stop: &str, will_retry: bool) -> String {
    let message = format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"api":"a","provider":"p","model":"m","usage":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}},"stopReason":"{stop}","timestamp":1}}"#
    );
    let frames = [
        r#"{"type":"agent_start"}"#.to_owned(),
        r#"{"type":"turn_start"}"#.to_owned(),
        format!(r#"{{"type":"message_start","message":{message}}}"#),
        format!(r#"{{"type":"message_end","message":{message}}}"#),
        format!(r#"{{"type":"turn_end","message":{message},"toolResults":[]}}"#),
        format!(r#"{{"type":"agent_end","messages":[{message}],"willRetry":{will_retry}}}"#),
    ];
    frames.map(|frame| format!("echo '{frame}'\n")).concat()
}

const RETRY: &str = r#"echo '{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":150,"errorMessage":"Overloaded"}'
"#;
const SETTLED: &str = r#"echo '{"type":"agent_settled","aborted":false}'"#;

/// A little while later, and meanwhile answers.
fn later(what: &str) -> String {
    format!("(sleep 0.15; {what}) &\n")
}

/// Far longer than anything here takes.
async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("it comes to its end")
}

#[tokio::test]
async fn prompt_ends_when_session_has_settled() {
    let half = answer(1, "prompt", "started") + &run("half", "error", true) + RETRY;
    let script = half + &later(&(run("whole", "stop", false) + "sleep 0.15; " + SETTLED));
    let (client, _events) = spawn(Dialect::Pi1, &script).await;
    assert_eq!(soon(client.prompt("Hello")).await.unwrap().text(), "whole");
}

#[tokio::test]
async fn handled_prompt_awaits_no_run() {
    let open = answer(2, "prompt", "started") + "echo '{\"type\":\"agent_start\"}'\n";
    let script = answer(1, "prompt", "handled") + &open + &answer(3, "prompt", "handled");
    let (client, mut events) = spawn(Dialect::Pi1, &script).await;
    assert_eq!(soon(client.prompt("Hello")).await.unwrap().message, None);
    let prompt = |streaming_behavior| PromptCommand {
        id: None,
        message: "Hello".to_owned(),
        images: None,
        streaming_behavior,
        locale: None,
    };
    client.call(prompt(None)).await.unwrap();
    events.next().await.unwrap();
    let reply = soon(client.prompt_with(prompt(Some(StreamingBehavior::Steer)))).await.unwrap();
    assert_eq!(reply.message, None);
}

#[tokio::test]
async fn queue_command_returns_disposition() {
    let script = answer(1, "steer", "queued") + &answer(2, "follow_up", "handled");
    let (client, _events) = spawn(Dialect::Pi1, &script).await;
    let outcome = |disposition| Some(QueueOutcome { disposition });
    assert_eq!(client.steer("Left").await.unwrap(), outcome(QueueDisposition::Queued));
    assert_eq!(client.follow_up("/then").await.unwrap(), outcome(QueueDisposition::Handled));
}

#[tokio::test]
async fn old_pi_prompt_awaits_run_after_compaction() {
    let compaction = r#"read prompt; echo '{"id":"call-1","type":"response","command":"prompt","success":true}'
echo '{"type":"compaction_start","reason":"overflow"}'
echo '{"type":"compaction_end","reason":"overflow","aborted":false,"willRetry":true}'
"#;
    let script = compaction.to_owned() + &later(&run("after", "stop", false));
    let (client, _events) = spawn(Dialect::Pi073, &script).await;
    assert_eq!(soon(client.prompt("Hello")).await.unwrap().text(), "after");
}
