//! Player of conversations.

use super::{
    Host,
    compare::{Compared, Comparison},
    conversation::{Await, Call, Conversation, Event, Fields, Prompt, Refused, Step, Text, Words},
    nothing_is_left, program_dialects,
    typed::call,
};
use pi_rpc::{
    client::{Client, Error, Event as ClientEvent, Options},
    protocol::{Dialect, PromptCommand, RpcCommand},
};
use serde_json::{Value, json};
use std::{collections::HashMap, fs, path::Path, process::Stdio, time::Duration};
use tempfile::TempDir;
use tokio::{process::Command, sync::mpsc, task::JoinHandle, time::timeout};

/// Time limit of a conversation, on a busy machine.
const TOO_LONG: Duration = Duration::from_secs(120);

type Done = Result<(), String>;
type Called = Result<Value, Error>;

/// Plays a conversation with a server of its own, which `program` is, and compares the state of the session after every event; the error names the
/// step, or what differed.
pub async fn play(
    conversation: &Conversation,
    dialect: Dialect,
    seed: u32,
    program: &Path,
) -> Result<Compared, String> {
    let home = tempfile::tempdir().unwrap();
    furnish(conversation, home.path());
    let options = Options {
        unread: usize::MAX,
        start_within: TOO_LONG,
        end_within: TOO_LONG,
        ..Options::new(server(conversation, dialect, seed, home.path(), program), dialect)
    };
    let (client, mut coming) = Client::spawn(options).await.map_err(|error| error.to_string())?;
    let (comes, events) = mpsc::unbounded_channel();
    let comparison = Comparison::begin(client.clone());
    let wake = comparison.wake();
    tokio::spawn(async move {
        while let Some(event) = coming.next().await {
            wake.notify_one();
            // Nobody may look at them any more.
            let _ = comes.send(event);
        }
    });
    let (host, started) = (Host::default(), HashMap::new());
    let mut played = Played { dialect, client, events, host, started, home };
    played.host.answer(&played.client, Default::default());
    for (at, step) in conversation.steps.iter().enumerate() {
        let done = timeout(TOO_LONG, played.step(step)).await;
        done.unwrap_or_else(|_| Err(format!("it takes longer than {TOO_LONG:?}")))
            .map_err(|error| format!("step {at} {step:?}: {error}"))?;
        comparison.wake().notify_one();
    }
    match conversation.steps.last() {
        Some(Step::Close(_) | Step::Kill(_)) => {}
        _ => played.close(0).await?,
    }
    comparison.end(&played.client)
}

/// Dialects of a conversation.
pub fn dialects(conversation: &Conversation) -> Vec<Dialect> {
    let named = conversation.dialects.as_ref();
    program_dialects()
        .filter(|it| named.is_none_or(|names| names.iter().any(|name| name == it.as_str())))
        .collect()
}

fn furnish(conversation: &Conversation, home: &Path) {
    let script = conversation.script.iter().map(|script| ("script.json", &script.0));
    let files = conversation.files.iter().map(|(path, text)| (path.as_str(), text));
    for (path, text) in script.chain(files) {
        let path = home.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn server(conversation: &Conversation, dialect: Dialect, seed: u32, home: &Path, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", home).current_dir(home).stdin(Stdio::piped());
    let model = if conversation.script.is_some() { "scripted/script.json" } else { "scripted/demo" };
    command.args(["serve", "--no-session", "--dialect", dialect.as_str(), "--model", model]);
    if !conversation.hazards.is_empty() {
        command.args(["--hazard", &conversation.hazards, "--seed", &seed.to_string()]);
    }
    command.args(&conversation.options);
    command
}

struct Played {
    dialect: Dialect,
    client: Client,
    events: mpsc::UnboundedReceiver<ClientEvent>,
    host: Host,
    /// Started calls that were not awaited yet.
    started: HashMap<String, Vec<JoinHandle<Called>>>,
    home: TempDir,
}

impl Played {
    async fn step(&mut self, step: &Step) -> Done {
        match step {
            Step::Call(it) => self.call(it).await,
            Step::Await(it) => self.wait_for(it).await,
            Step::Prompt(it) => self.prompt(it).await,
            Step::Event(it) => self.event(it).await,
            Step::Idle(_) => self.client.wait_idle().await.map_err(|error| error.to_string()),
            Step::Steer(it) => {
                self.client.steer(&it.steer).await.map(drop).map_err(|error| error.to_string())
            }
            Step::FollowUp(it) => {
                self.client.follow_up(&it.follow_up).await.map(drop).map_err(|error| error.to_string())
            }
            Step::Dialogs(it) => {
                self.host.answer(&self.client, it.dialogs.clone());
                Ok(())
            }
            Step::Asked(it) => {
                let (wanted, asked) = (Value::Object(it.asked.clone()), self.host.asked());
                is(asked.iter().any(|asked| fits(&wanted, asked)), || format!("asked was only {asked:?}"))
            }
            Step::HostTools(it) => {
                let tools: Vec<_> = it.host_tools.iter().map(|tool| self.host.tool(tool.clone())).collect();
                let lent = self.client.set_host_tools(tools).await.map_err(|error| error.to_string())?;
                let names: Vec<&str> = it.host_tools.iter().map(|tool| tool.name.as_str()).collect();
                is(lent == names, || format!("lent were {lent:?}"))
            }
            Step::Called(it) => {
                let mut calls = self.host.called.subscribe();
                calls
                    .wait_for(|calls| calls.contains(&it.called))
                    .await
                    .map(drop)
                    .map_err(|error| error.to_string())
            }
            Step::Cancelled(it) => {
                let mut names = self.host.cancelled.subscribe();
                names
                    .wait_for(|names| names.contains(&it.cancelled))
                    .await
                    .map(drop)
                    .map_err(|e| e.to_string())
            }
            Step::Refused(it) => self.refused(it).await,
            Step::Kill(_) => self.kill().await,
            Step::Close(it) => self.close(it.close.status).await,
        }
    }

    async fn call(&mut self, step: &Call) -> Done {
        let command = self.command(&step.call, &step.with)?;
        let client = if step.anyway { self.client.unchecked() } else { self.client.clone() };
        let mut calls = Vec::new();
        for _ in 0..step.times.unwrap_or(1) {
            let (client, command) = (client.clone(), command.clone());
            calls.push(tokio::spawn(async move { call(&client, command).await }));
            // Those that are not waited for are sent in the order of the steps.
            tokio::task::yield_now().await;
        }
        match &step.name {
            Some(name) => {
                self.started.insert(name.clone(), calls);
                Ok(())
            }
            None => ended(calls, step.returns.as_ref(), step.fails.as_ref()).await,
        }
    }

    async fn wait_for(&mut self, step: &Await) -> Done {
        let calls = self.started.remove(&step.name).ok_or("nothing was started by that name")?;
        ended(calls, step.returns.as_ref(), step.fails.as_ref()).await
    }

    async fn prompt(&mut self, step: &Prompt) -> Done {
        let client = if step.anyway { self.client.unchecked() } else { self.client.clone() };
        let mut command = json!({"type": "prompt", "message": text(&step.prompt)});
        if let Some(images) = &step.images {
            command["images"] = json!(images);
        }
        let prompt: PromptCommand = serde_json::from_value(command).map_err(|error| error.to_string())?;
        match (client.prompt_with(prompt).await, &step.fails) {
            (Ok(said), None) => {
                let wanted = step.says.as_ref().map(text);
                is(wanted.is_none_or(|wanted| wanted == said.text()), || format!("it said {:?}", said.text()))
            }
            (Ok(said), Some(_)) => Err(format!("it was not refused, and said {:?}", said.text())),
            (Err(error), fails) => failed(&error, fails.as_ref()),
        }
    }

    async fn event(&mut self, step: &Event) -> Done {
        let wanted = Value::Object(step.having.clone());
        let mut passed = Vec::new();
        while let Some(event) = self.events.recv().await {
            let frame: Value = serde_json::from_slice(&event.line).map_err(|error| error.to_string())?;
            if frame["type"] == step.event.as_str() && fits(&wanted, &frame) {
                return Ok(());
            }
            passed.push(frame["type"].to_string());
        }
        Err(format!("the events ended; passed over were {}", passed.join(", ")))
    }

    async fn refused(&mut self, step: &Refused) -> Done {
        let command = self.command(&step.refused, &step.with)?;
        match call(&self.client, command).await {
            Err(Error::Refused { .. }) => Ok(()),
            other => Err(format!("it came to {other:?}")),
        }
    }

    async fn kill(&mut self) -> Done {
        let process = self.client.id();
        self.client.kill().await;
        for (name, calls) in std::mem::take(&mut self.started) {
            for call in calls {
                let outcome = call.await.map_err(|error| error.to_string())?;
                is(matches!(outcome, Err(Error::Gone(_))), || format!("{name} came to {outcome:?}"))?;
            }
        }
        let afterwards = call(&self.client, self.command("get_state", &Fields::new())?).await;
        is(matches!(afterwards, Err(Error::Gone(_))), || {
            format!("a call afterwards came to {afterwards:?}")
        })?;
        while self.events.recv().await.is_some() {}
        // The rest of its group dies a moment after the process that was waited for.
        while nothing_is_left(process, None).is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    async fn close(&mut self, status: i32) -> Done {
        let process = self.client.id();
        let ended = self.client.close().await;
        is(ended.status == Some(status), || format!("it ended so: {ended:?}"))?;
        nothing_is_left(process, Some(self.home.path()))
    }

    fn command(&self, kind: &str, with: &Fields) -> Result<RpcCommand, String> {
        let mut command = with.clone();
        command.insert("type".to_owned(), json!(kind));
        let line = Value::Object(command).to_string();
        let read = pi_rpc::protocol::read::<pi_rpc::protocol::Inbound>(line.as_bytes(), self.dialect);
        match read.map_err(|error| error.to_string())? {
            pi_rpc::protocol::Inbound::Command(command) => Ok(command),
            other => Err(format!("{other:?} is no command")),
        }
    }
}

async fn ended(calls: Vec<JoinHandle<Called>>, returns: Option<&Value>, fails: Option<&Words>) -> Done {
    for call in calls {
        match (call.await.map_err(|error| error.to_string())?, fails) {
            (Ok(data), None) => {
                is(returns.is_none_or(|wanted| fits(wanted, &data)), || format!("it returned {data}"))?
            }
            (Ok(data), Some(_)) => return Err(format!("it did not fail, and returned {data}")),
            (Err(error), fails) => failed(&error, fails)?,
        }
    }
    Ok(())
}

fn failed(error: &Error, fails: Option<&Words>) -> Done {
    let as_wanted = match (error, fails) {
        (Error::Failed(error), Some(Words::Are(words))) => error.error == *words,
        (Error::Failed(error), Some(Words::Contain { contains })) => error.error.contains(contains),
        _ => false,
    };
    is(as_wanted, || format!("it failed: {error}"))
}

/// Whether `got` is `wanted`; an object may have more members.
fn fits(wanted: &Value, got: &Value) -> bool {
    match (wanted, got) {
        (Value::Object(wanted), Value::Object(got)) => {
            wanted.iter().all(|(name, wanted)| got.get(name).is_some_and(|got| fits(wanted, got)))
        }
        _ => wanted == got,
    }
}

fn text(text: &Text) -> String {
    match text {
        Text::Plain(text) => text.clone(),
        Text::Repeated { repeat, times } => repeat.repeat(*times),
    }
}

fn is(so: bool, told: impl Fn() -> String) -> Done {
    if so { Ok(()) } else { Err(told()) }
}
