//! `pi_rpc::client` with servers that misbehave: what no conversation with ours can show.

use crate::sdk_support::nothing_is_left;
use pi_rpc::{
    client::{Client, DialogHandler, DialogResponse, Error, Event, Events, HostTool, Options, ServerExit},
    protocol::{
        BashCommand, CompactCommand, Dialect, GetAvailableModelsCommand, GetCommandsCommand, GetStateCommand,
        HostToolDefinition, Outbound, RpcResponse,
    },
};
use serde_json::{Value, json};
use std::{
    future::pending,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{process::Command, sync::Notify, time::sleep};

/// Answers each line by what its command is: `prompt` and `get_state`; everything else is not answered.
const ANSWERS: &str = r#"
while IFS= read -r line; do
    id=${line#*\"id\":\"}
    id=${id%%\"*}
    case $line in
        *'"type":"prompt"'*) echo "{\"id\":\"$id\",\"type\":\"response\",\"command\":\"prompt\",\"success\":true}" ;;
        *'"type":"get_state"'*) echo "{\"id\":\"$id\",\"type\":\"response\",\"command\":\"get_state\",\"success\":true,\
\"data\":{\"thinkingLevel\":\"off\",\"isStreaming\":false,\"isCompacting\":false,\"steeringMode\":\"all\",\"followUpMode\":\"all\",\
\"sessionId\":\"s\",\"autoCompactionEnabled\":true,\"messageCount\":7,\"pendingMessageCount\":0}}" ;;
    esac
done
"#;

/// A server that a shell plays.
fn shell(script: &str) -> Options {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Options::new(command, Dialect::Pi)
}

async fn spawn(script: &str) -> (Client, Events) {
    Client::spawn(shell(script)).await.unwrap()
}

fn in_xcsh(script: &str) -> Options {
    Options { dialect: Dialect::Xcsh, ..shell(script) }
}

/// Says a run whose message has this text and ended so; an error has a reason.
fn run(text: &str, stop: &str) -> String {
    let message = format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"api":"a","provider":"p","model":"m","usage":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}}}},"stopReason":"{stop}","errorMessage":"Too long","timestamp":1}}"#
    );
    let end = format!(r#"{{"type":"message_end","message":{message}}}"#);
    let turn = format!(r#"{{"type":"turn_end","message":{message},"toolResults":[]}}"#);
    let over = format!(r#"{{"type":"agent_end","messages":[{message}]}}"#);
    let begin = r#"{"type":"agent_start"}'; echo '{"type":"turn_start"}"#;
    let start = end.replace("_end", "_start");
    format!("echo '{begin}'; echo '{start}'; echo '{end}'; echo '{turn}'; echo '{over}'\n")
}

const ACKNOWLEDGED: &str = r#"echo '{"id":"call-1","type":"response","command":"prompt","success":true}'"#;

/// A little while later, and meanwhile answers.
fn later(what: &str) -> String {
    format!("(sleep 0.15; {what}) &\n")
}

async fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(30), "never: {what}");
        sleep(Duration::from_millis(5)).await;
    }
}

async fn rest(mut events: Events) -> Vec<Event> {
    let mut rest = Vec::new();
    while let Some(event) = events.next().await {
        rest.push(event);
    }
    rest
}

/// Says 4000 events of a kilobyte, then that it did, then answers.
fn talkative(done: &Path) -> String {
    let filling = "x".repeat(1000);
    let talk = r#"i=0; while [ $i -lt 4000 ]; do echo "{\"type\":\"filler\",\"filling\":\"$FILLING\"}"; i=$((i + 1)); done"#;
    format!("FILLING={filling}; {talk}; touch {}; {ANSWERS}", done.display())
}

#[tokio::test]
async fn unread_events_block_server_without_loss() {
    let dir = tempfile::tempdir().unwrap();
    let done = dir.path().join("done");
    let options = Options { unread: 10_000, ..shell(&talkative(&done)) };
    let (client, mut events) = Client::spawn(options).await.unwrap();
    // What the server has written so far stays the same for many looks: it waits.
    let written = || std::fs::read_to_string(format!("/proc/{}/io", client.id())).unwrap();
    let (mut looks, mut before) = (0, written());
    while looks < 40 {
        sleep(Duration::from_millis(5)).await;
        looks = if written() == before { looks + 1 } else { 0 };
        before = written();
    }
    assert!(!done.exists());
    for _ in 0..4000 {
        assert_eq!(events.next().await.unwrap().missed, 0);
    }
    eventually("everything is said", || done.exists()).await;
    assert_eq!(client.close().await.status, Some(0));
    assert_eq!(rest(events).await, []);
}

#[tokio::test]
async fn call_completes_behind_dropped_and_counted_events() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        unread: 10_000,
        ..shell(&(talkative(&dir.path().join("done")) + "\necho '{\"type\":\"last\"}'"))
    };
    let (client, mut events) = Client::spawn(options).await.unwrap();
    assert_eq!(client.call(GetStateCommand::default()).await.unwrap().message_count, 7);
    // With room again, what comes next says what was missed.
    let mut kept = 0;
    while kept < 5 {
        events.next().await.unwrap();
        kept += 1;
    }
    client.close().await;
    let rest = rest(events).await;
    assert_eq!(rest.last().map(|event| event.text().into_owned()).as_deref(), Some(r#"{"type":"last"}"#));
    let missed: u64 = rest.iter().map(|event| event.missed).sum();
    assert!(missed > 3000, "{missed}");
    assert_eq!(kept + rest.len() as u64 - 1 + missed, 4000);
}

#[tokio::test]
async fn dropping_last_client_kills_process_group() {
    let (client, events) = spawn("sleep 61 & sleep 62").await;
    let process = client.id();
    assert_ne!(nothing_is_left(process, None), Ok(()));
    let copy = client.clone();
    drop(client);
    assert_ne!(nothing_is_left(process, None), Ok(()));
    drop(copy);
    eventually("the group is gone", || nothing_is_left(process, None).is_ok()).await;
    assert_eq!(rest(events).await, []);
}

#[tokio::test]
async fn close_sends_term_and_then_kill() {
    for (script, status) in [
        ("cat > /dev/null; exit 3", 3),
        ("exec sleep 61", 143),
        ("trap '' TERM; echo '{\"type\":\"trapped\"}'; while :; do sleep 61; done", 137),
    ] {
        let options = Options { end_within: Duration::from_millis(300), ..shell(script) };
        let (client, mut events) = Client::spawn(options).await.unwrap();
        if status == 137 {
            events.next().await.unwrap();
        }
        assert_eq!(
            client.close().await,
            ServerExit { status: Some(status), ..ServerExit::default() },
            "{script}"
        );
        // A second time it is as it was.
        assert_eq!(client.close().await.status, Some(status), "{script}");
        nothing_is_left(client.id(), None).unwrap();
    }
}

#[tokio::test]
async fn exit_fails_outstanding_call_with_stderr() {
    let (client, events) = spawn("read line; echo One >&2; echo Two >&2; exit 5").await;
    let error = client.call(GetStateCommand::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "the server has ended with status 5: Two");
    let error = client.prompt("Hello").await.unwrap_err();
    assert!(matches!(error, Error::Gone(ServerExit { status: Some(5), .. })), "{error:?}");
    assert_eq!(rest(events).await, []);
}

#[tokio::test]
async fn late_response_is_an_event() {
    let late = r#"read one; read two; echo '{"id":"call-1","type":"response","command":"get_available_models","success":true,"data":{"models":[]}}'
echo '{"id":"call-2","type":"response","command":"get_available_models","success":true,"data":{"models":[]}}'"#;
    let (client, events) = spawn(late).await;
    let error = client
        .with_timeout(Duration::from_millis(50))
        .call(GetAvailableModelsCommand::default())
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "`get_available_models` was not answered within 50ms");
    assert_eq!(client.call(GetAvailableModelsCommand::default()).await.unwrap().models, []);
    let events = rest(events).await;
    let ids = events.iter().map(|event| match &event.frame {
        Some(Outbound::Response(RpcResponse::Success(success))) => success.id().map(ToString::to_string),
        _ => None,
    });
    assert_eq!(ids.collect::<Vec<_>>(), [Some("call-1".to_owned())]);
}

#[tokio::test]
async fn server_not_ready_in_time_is_ended() {
    let options = Options { start_within: Duration::from_millis(50), ..in_xcsh("exec sleep 61") };
    let error = Client::spawn(options).await.err().unwrap();
    assert_eq!(error.to_string(), "the server was not ready within 50ms");
    let error = Client::spawn(in_xcsh("echo No model >&2; exit 1")).await.err().unwrap();
    assert_eq!(error.to_string(), "the server has ended with status 1: No model");
    let options = Options::new(Command::new("/nowhere/at/all"), Dialect::Pi);
    let error = Client::spawn(options).await.err().unwrap();
    assert_eq!(error.to_string(), "the server cannot be started: No such file or directory (os error 2)");
}

#[tokio::test]
async fn invalid_response_fails_its_call_alone() {
    let wrong = r#"read one; read two; read three
echo '{"id":"call-1","type":"response","command":"get_state","success":true,"data":{}}'
echo '{"id":"call-2","type":"response","command":"get_available_models","success":true,"data":{"models":[]}}'
echo '{"id":"call-3","type":"response","command":"get_available_models","success":true,"data":{"models":[]}}'"#;
    let (client, _events) = spawn(wrong).await;
    let (one, two, three) = tokio::join!(
        client.call(GetStateCommand::default()),
        client.call(GetStateCommand::default()),
        client.call(GetAvailableModelsCommand::default())
    );
    let one = one.unwrap_err().to_string();
    assert!(one.starts_with("the answer to `get_state` cannot be read: `data"), "{one}");
    let two = two.unwrap_err().to_string();
    assert_eq!(two, "the answer to `get_state` cannot be read: it is one to `get_available_models`");
    assert_eq!(three.unwrap().models, []);
}

#[tokio::test]
async fn invalid_lines_are_passed_on_unchanged() {
    let (client, events) =
        spawn(r#"printf 'no JSON\n\n[1]\n\377\r\n{"type":"agent_start","more":1}\n{"type":"agent_start","half":"\\ud800"}\nunfinished'"#).await;
    client.close().await;
    let told: Vec<(Vec<u8>, bool)> =
        rest(events).await.into_iter().map(|event| (event.line, event.frame.is_some())).collect();
    let line = |line: &[u8], is_frame| (line.to_vec(), is_frame);
    assert_eq!(
        told,
        [
            line(b"no JSON", false),
            line(b"", false),
            line(b"[1]", false),
            line(b"\xff\r", false),
            line(br#"{"type":"agent_start","more":1}"#, true),
            line(br#"{"type":"agent_start","half":"\ud800"}"#, true),
            line(b"unfinished", false),
        ]
    );
}

#[tokio::test]
async fn command_of_other_dialect_is_not_sent() {
    let (client, _events) =
        Client::spawn(in_xcsh("echo '{\"type\":\"ready\",\"version\":\"1\"}'; cat > /dev/null"))
            .await
            .unwrap();
    let error = client.call(GetCommandsCommand::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "`get_commands` does not exist in xcsh");
}

#[tokio::test]
async fn prompt_without_run_allows_another() {
    let (client, _events) = spawn(ANSWERS).await;
    for _ in 0..2 {
        let said = client.prompt("/command").await.unwrap();
        assert_eq!((said.text().as_str(), said.message), ("", None));
    }
    assert_eq!(client.state().to_string(), "starting");
}

#[tokio::test]
async fn prompt_awaits_run_that_starts_late() {
    let script = format!("read prompt; {ACKNOWLEDGED}\n{}{ANSWERS}", later(&run("At last", "stop")));
    let (client, _events) = spawn(&script).await;
    assert_eq!(client.prompt("Hello").await.unwrap().text(), "At last");
}

#[tokio::test]
async fn prompt_stops_awaiting_run_after_limit() {
    let options = Options { begin_within: Duration::from_millis(50), ..shell(ANSWERS) };
    let (client, _events) = Client::spawn(options).await.unwrap();
    let started = Instant::now();
    assert_eq!(client.prompt("Kept by an extension").await.unwrap().message, None);
    assert!(started.elapsed() >= Duration::from_millis(50));
}

#[tokio::test]
async fn prompt_acknowledged_after_run_awaits_no_other() {
    let script = format!("read prompt; {}{ACKNOWLEDGED}\n{ANSWERS}", run("Quick", "stop"));
    let (client, _events) = spawn(&script).await;
    let started = Instant::now();
    assert_eq!(client.prompt("Hello").await.unwrap().text(), "Quick");
    assert!(started.elapsed() < Duration::from_secs(9));
}

#[tokio::test]
async fn prompt_awaits_run_after_compaction() {
    let compaction = r#"echo '{"type":"auto_compaction_start","reason":"overflow"}'
echo '{"type":"auto_compaction_end","result":{"summary":"s","firstKeptEntryId":"a","tokensBefore":1,"details":{}},"aborted":false,"willRetry":true}'"#;
    let script = format!(
        "read prompt; {ACKNOWLEDGED}\n{}{compaction}\n{}{ANSWERS}",
        run("Failed", "error"),
        later(&run("Again", "stop"))
    );
    let (client, _events) = spawn(&script).await;
    assert_eq!(client.prompt("Hello").await.unwrap().text(), "Again");
}

#[tokio::test]
async fn error_without_id_fails_newest_matching_call() {
    let script = r#"read state; read models; read compact; read bash
echo '{"type":"response","command":"parse","success":false,"error":"Nothing to compact"}'
echo '{"type":"response","command":"bash","success":false,"error":"No shell"}'
echo '{"type":"response","command":"parse","success":false,"error":"No models"}'
echo '{"type":"response","command":"parse","success":false,"error":"No state"}'"#;
    let (client, _events) = spawn(script).await;
    let command = "sleep 9".to_owned();
    let (state, models, compact, bash) = tokio::join!(
        biased;
        client.call(GetStateCommand::default()),
        client.call(GetAvailableModelsCommand::default()),
        client.call(CompactCommand::default()),
        client.call(BashCommand { id: None, command, exclude_from_context: None }),
    );
    let told = [
        state.unwrap_err().to_string(),
        models.unwrap_err().to_string(),
        compact.unwrap_err().to_string(),
        bash.unwrap_err().to_string(),
    ];
    assert_eq!(
        told,
        [
            "`parse` failed: No state",
            "`parse` failed: No models",
            "`parse` failed: Nothing to compact",
            "`bash` failed: No shell",
        ]
    );
}

#[tokio::test]
async fn non_string_id_matches_no_call() {
    let script = r#"read models
echo '{"type":"response","id":[1],"command":"x","success":false,"error":"e"}'
echo '{"type":"response","id":1,"command":"get_available_models","success":true,"data":{"models":[]}}'
echo '{"type":"response","id":"call-1","command":"get_available_models","success":true,"data":{"models":[]}}'"#;
    let (client, events) = spawn(script).await;
    assert_eq!(client.call(GetAvailableModelsCommand::default()).await.unwrap().models, []);
    assert_eq!(rest(events).await.len(), 2);
}

#[tokio::test]
async fn server_that_closes_a_pipe_is_ended() {
    for script in ["exec >&-; exec sleep 61", "exec <&-; exec sleep 61"] {
        let options = Options { end_within: Duration::from_millis(50), ..shell(script) };
        let (client, events) = Client::spawn(options).await.unwrap();
        for _ in 0..2 {
            let error = client.call(GetStateCommand::default()).await.unwrap_err();
            assert_eq!(error.to_string(), "the server has ended with status 143", "{script}");
        }
        assert_eq!(rest(events).await, []);
        nothing_is_left(client.id(), None).unwrap();
    }
}

#[tokio::test]
async fn server_with_overlong_line_is_killed() {
    let script = "read state; echo 12345678901; sleep 61";
    let (client, _events) = Client::spawn(Options { longest_line: 10, ..shell(script) }).await.unwrap();
    let error = client.call(GetStateCommand::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "the server was killed because it wrote a line of 11 bytes");
}

#[tokio::test]
async fn dialog_before_ready_is_answered() {
    let script = r#"echo '{"type":"extension_ui_request","id":"d1","method":"confirm","title":"Trust it?","message":"m","timeout":0}'
read answer; echo '{"type":"ready","version":"1"}'; echo "$answer""#;
    let on_dialog = DialogHandler::new(|_| async { DialogResponse::Confirmed(true) });
    let (_client, events) = Client::spawn(Options { on_dialog, ..in_xcsh(script) }).await.unwrap();
    let told = rest(events).await;
    assert_eq!(
        told.last().map(|event| event.text().into_owned()).as_deref(),
        Some(r#"{"type":"extension_ui_response","id":"d1","confirmed":true}"#)
    );
}

#[tokio::test]
async fn unreadable_agent_end_still_ends_run() {
    let run = r#"read prompt; echo '{"type":"agent_start"}'
echo '{"id":"call-1","type":"response","command":"prompt","success":true}'; read state
echo '{"type":"agent_end","messages":[{"role":"hologram"}]}'"#;
    let (client, events) = spawn(&format!("{run}\n{ANSWERS}")).await;
    let asked = client.clone();
    // It says so when it is asked anything.
    let asking = tokio::spawn(async move { asked.call(GetAvailableModelsCommand::default()).await });
    assert_eq!(client.prompt("Hello").await.unwrap().message, None);
    client.close().await;
    assert!(matches!(asking.await.unwrap(), Err(Error::Gone(_))));
    let frames: Vec<bool> = rest(events).await.iter().map(|event| event.frame.is_some()).collect();
    assert_eq!(frames, [true, false]);
}

#[tokio::test]
async fn prompt_in_run_is_refused_with_state() {
    let (client, mut events) = spawn(&format!("echo '{{\"type\":\"agent_start\"}}'; {ANSWERS}")).await;
    events.next().await.unwrap();
    let error = client.prompt("Now").await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "`prompt` is refused while the server is streaming.between: Agent is already processing. Specify \
         streamingBehavior ('steer' or 'followUp') to queue the message."
    );
}

#[tokio::test]
async fn cancelled_dialog_drops_its_handler() {
    let script = r#"echo '{"type":"ready","version":"1"}'; read go
echo '{"type":"extension_ui_request","id":"d1","method":"editor","title":"Write"}'; read go
echo '{"type":"extension_ui_request","id":"d2","method":"cancel","targetId":"d1"}'; cat > /dev/null"#;
    let (client, _events) = Client::spawn(in_xcsh(script)).await.unwrap();
    let (asked, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (on_asked, on_dropped) = (Arc::clone(&asked), Arc::clone(&dropped));
    client.on_dialog(move |_| {
        on_asked.notify_one();
        let tells = Tells(Arc::clone(&on_dropped));
        async move {
            let _tells = tells;
            pending::<DialogResponse>().await
        }
    });
    let hasty = client.with_timeout(Duration::from_millis(1));
    assert!(hasty.call(GetStateCommand::default()).await.is_err());
    asked.notified().await;
    assert!(hasty.call(GetStateCommand::default()).await.is_err());
    dropped.notified().await;
}

#[tokio::test]
async fn a_tool_that_panics_has_failed() {
    let script = r#"echo '{"type":"ready","version":"1"}'; read tools
echo '{"id":"call-1","type":"response","command":"set_host_tools","success":true,"data":{"toolNames":["break"]}}'
echo '{"type":"host_tool_call","id":"h1","toolCallId":"t1","toolName":"break","arguments":{}}'
echo '{"type":"host_tool_call","id":"h2","toolCallId":"t2","toolName":"unknown","arguments":{}}'
read one; echo "$one"; read two; echo "$two""#;
    let (client, mut events) = Client::spawn(in_xcsh(script)).await.unwrap();
    let definition = HostToolDefinition {
        name: "break".to_owned(),
        label: None,
        description: "Breaks".to_owned(),
        parameters: Default::default(),
        hidden: None,
        load_mode: None,
        reads_skill_uris: None,
    };
    let lent = client.set_host_tools(vec![HostTool::new(definition, |_| async { panic!("meant so") })]).await;
    assert_eq!(lent.unwrap(), ["break"]);
    let mut results = Vec::new();
    while let Some(event) = events.next().await {
        results.extend(event.text().contains("host_tool_result").then(|| event.text().into_owned()));
    }
    results.sort();
    let result = |id: &str, text: &str| {
        format!(
            r#"{{"type":"host_tool_result","id":"{id}","result":{{"content":[{{"type":"text","text":"{text}"}}]}},"isError":true}}"#
        )
    };
    assert_eq!(
        results,
        [result("h1", "The tool break has failed"), result("h2", "No tool is called unknown")]
    );
}

/// A server that offers two versions of the protocol, and then plays `script`.
fn offering(script: &str) -> Options {
    let ready = r#"{"type":"ready","protocolVersion":1,"supportedProtocolVersions":[1,2],"maxFrameBytes":1048576,"maxReassembledFrameBytes":67108864}"#;
    Options { dialect: Dialect::Omp, ..shell(&format!("echo '{ready}'\n{script}")) }
}

const NEGOTIATED: &str = r#"read -r line; echo '{"id":"call-1","type":"response","command":"negotiate_protocol","success":true,"data":{"protocolVersion":2}}'"#;

#[tokio::test]
async fn highest_offered_version_is_negotiated() {
    let script = format!("{NEGOTIATED}\necho \"$line\"; cat > /dev/null");
    let (_client, mut events) = Client::spawn(offering(&script)).await.unwrap();
    let mut texts = Vec::new();
    while texts.len() < 2 {
        texts.extend(events.next().await.map(|event| event.text().into_owned()));
    }
    let sent: Value = serde_json::from_str(&texts[1]).unwrap();
    assert_eq!(sent, json!({ "id": "call-1", "type": "negotiate_protocol", "protocolVersion": 2 }));
}

#[tokio::test]
async fn first_version_is_not_negotiated() {
    let script = r#"read -r line; echo '{"id":"call-1","type":"response","command":"abort","success":true}'"#;
    let options = Options { protocol_version: 1, ..offering(script) };
    let (client, _events) = Client::spawn(options).await.unwrap();
    client.abort().await.unwrap();
}

#[tokio::test]
async fn prompt_result_ends_extension_command() {
    let script = format!(
        r#"{NEGOTIATED}
read -r line; echo '{{"id":"call-2","type":"response","command":"prompt","success":true}}'
echo '{{"type":"command_output","text":"half"}}'; read -r line
echo '{{"id":"call-3","type":"response","command":"abort","success":true}}'
echo '{{"type":"prompt_result","id":"call-2","agentInvoked":false}}'; cat > /dev/null"#
    );
    let (client, mut events) = Client::spawn(offering(&script)).await.unwrap();
    let prompt = client.prompt("/count");
    let aborted = async {
        while events.next().await.is_some_and(|event| !event.text().contains("half")) {}
        client.abort().await
    };
    // A request of the state would not be answered.
    let (run, aborted) = tokio::join!(prompt, aborted);
    aborted.unwrap();
    assert!(run.unwrap().message.is_none());
}

/// Tells when it is dropped.
struct Tells(Arc<Notify>);

impl Drop for Tells {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
