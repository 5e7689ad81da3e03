//! Nodes and servers are killed, stopped and cut off under sessions that run; afterwards all logs together are judged.
//!
//! `PI_RPC_CLUSTER_SESSIONS`, `PI_RPC_CLUSTER_FAULTS` and `PI_RPC_CLUSTER_SEED` make it longer; `PI_RPC_CLUSTER_LOG` keeps the log.

use crate::{
    checker::check,
    host_support::Client,
    log::is_whole,
    proxy::Link,
    serve_support::{binary, command, eventually},
    servers::Servers,
    toolchain_support::clock_library,
};
use pi_rpc::cluster::{Connection, NatsOptions, list, read_all};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{
    env, fs,
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

/// Nodes, and servers.
const COUNT: usize = 3;

/// How long a client waits for a frame before it goes to another node.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long all sessions may take to serve a prompt after the last fault.
const RECOVERY: Duration = Duration::from_secs(120);

fn setting(name: &str, usual: usize) -> usize {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The file that says how far the clock of a node is off.
fn clock(dir: &Path, index: usize) -> PathBuf {
    dir.join(format!("clock{index}"))
}

struct Nodes {
    dir: PathBuf,
    urls: Vec<String>,
    links: Vec<Link>,
    children: Vec<Child>,
}

impl Nodes {
    fn run(dir: &Path, urls: &str, index: usize) -> Child {
        let mut line = command(binary(), dir);
        line.args(["host", "--model", "scripted/script.json", "--dialect", "pi-1", "--nats-replicas", "3"]);
        line.args(["--nats", urls, "--listen", &format!("unix:s{index}"), "--node", &format!("n{index}")]);
        if let Some(library) = clock_library() {
            line.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", clock(dir, index));
            // Only the time of day jumps, as it does on real machines.
            line.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
        }
        let log =
            fs::OpenOptions::new().create(true).append(true).open(dir.join(format!("log{index}"))).unwrap();
        line.env("RUST_LOG", "info").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
    }

    fn kill(&mut self, index: usize) {
        let _ = self.children[index].kill();
        let _ = self.children[index].wait();
    }

    fn start_again(&mut self, index: usize) {
        self.children[index] = Self::run(&self.dir, &self.urls[index], index);
    }

    fn signal(&self, index: usize, signal: Signal) {
        kill_process(Pid::from_child(&self.children[index]), signal).unwrap();
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        (0..self.children.len()).for_each(|index| self.kill(index));
    }
}

/// A client of one session, which goes to another node whenever it gets nothing more.
struct Prompter {
    session: String,
    dir: PathBuf,
    random: fastrand::Rng,
    log: mpsc::Sender<Value>,
    stop: Arc<AtomicBool>,
    /// Prompts that were served.
    served: Arc<AtomicUsize>,
    last: u64,
    prompts: usize,
    connections: usize,
}

impl Prompter {
    fn run(mut self) {
        while !self.stop.load(Ordering::Relaxed) {
            let node = self.random.usize(0..COUNT);
            // A node that is gone, or gives nothing, is left for another.
            if self.connection(node).is_none() {
                thread::sleep(Duration::from_millis(200));
            }
        }
    }

    fn connection(&mut self, node: usize) -> Option<()> {
        let stream = UnixStream::connect(self.dir.join(format!("s{node}"))).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
        self.connections += 1;
        let client = format!("{}:{}", self.session, self.connections);
        let attach =
            json!({ "type": "attach_session", "id": "a", "sessionId": self.session, "after": self.last });
        writeln!(&stream, "{attach}").ok()?;
        let attached = self.until(&client, &mut lines, |frame| frame["id"] == "a")?;
        (attached["success"] == true).then_some(())?;
        while !self.stop.load(Ordering::Relaxed) {
            self.prompts += 1;
            let (id, text) = (format!("p{}", self.prompts), format!("{} {}", self.session, self.prompts));
            self.note(
                json!({ "event": "sent", "session": self.session, "client": client, "id": id, "text": text }),
            );
            let prompt = json!({ "type": "prompt", "id": id, "message": text, "sessionId": self.session });
            writeln!(&stream, "{prompt}").ok()?;
            let answer = self.until(&client, &mut lines, |frame| frame["id"] == id.as_str())?;
            if answer["success"] == true {
                self.until(&client, &mut lines, |frame| {
                    frame["type"] == "agent_settled" || frame["type"] == "session_snapshot"
                })?;
                self.served.fetch_add(1, Ordering::Relaxed);
            }
        }
        Some(())
    }

    /// Reads frames up to the one that `is_last` recognises, and notes what they tell.
    fn until(
        &mut self,
        client: &str,
        lines: &mut impl Iterator<Item = std::io::Result<String>>,
        is_last: impl Fn(&Value) -> bool,
    ) -> Option<Value> {
        let due = Instant::now() + PATIENCE;
        while Instant::now() < due {
            let frame: Value = serde_json::from_str(&lines.next()?.ok()?).unwrap();
            if let Some(number) = frame["sequence"].as_u64() {
                self.last = number;
            }
            if frame["type"] == "message_end" {
                let mut told = message(&self.session, &frame["message"], "told");
                told["client"] = json!(client);
                told["number"] = frame["sequence"].clone();
                self.note(told);
            }
            if frame["type"] == "response" {
                self.note(json!({ "event": "answered", "session": self.session, "client": client, "id": frame["id"], "success": frame["success"] }));
            }
            if is_last(&frame) {
                return Some(frame);
            }
        }
        None
    }

    fn note(&self, event: Value) {
        self.log.send(event).unwrap();
    }
}

/// The event about a message of a session.
fn message(session: &str, message: &Value, event: &str) -> Value {
    let text = match &message["content"] {
        Value::String(text) => text.clone(),
        content => content[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    json!({ "event": event, "session": session, "role": message["role"], "timestamp": message["timestamp"], "text": text })
}

#[test]
fn faults_break_no_promise() {
    let Some(mut servers) = Servers::start(COUNT) else { return };
    let (sessions, faults) =
        (setting("PI_RPC_CLUSTER_SESSIONS", 6), setting("PI_RPC_CLUSTER_FAULTS", KINDS.len()));
    let mut random = fastrand::Rng::with_seed(setting("PI_RPC_CLUSTER_SEED", 1) as u64);
    let dir = tempfile::tempdir().unwrap();
    let say =
        json!([{ "text": "One word after the other, as long as it takes.", "size": 8, "delayMs": 100 }]);
    fs::write(
        dir.path().join("script.json"),
        json!({ "turns": [{ "repeat": true, "say": say }] }).to_string(),
    )
    .unwrap();
    let links: Vec<Link> = (0..COUNT).map(|_| Link::default()).collect();
    let urls = |link: &Link| {
        let ports = servers.ports().iter().map(|port| format!("nats://127.0.0.1:{}", link.to(*port)));
        ports.collect::<Vec<_>>().join(",")
    };
    let urls: Vec<String> = links.iter().map(urls).collect();
    (0..COUNT).for_each(|index| fs::write(clock(dir.path(), index), "+0").unwrap());
    let children = (0..COUNT).map(|index| Nodes::run(dir.path(), &urls[index], index)).collect();
    let mut nodes = Nodes { dir: dir.path().to_owned(), urls, links, children };
    for index in 0..COUNT {
        let socket = dir.path().join(format!("s{index}"));
        eventually("the socket is there", || UnixStream::connect(&socket).is_ok());
    }
    let (log, events) = mpsc::channel();
    let stop = Arc::new(AtomicBool::new(false));
    let mut served = Vec::new();
    let mut threads = Vec::new();
    let mut openers: Vec<Client> =
        (0..COUNT).map(|index| Client::connect(dir.path().join(format!("s{index}")))).collect();
    for index in 0..sessions {
        let opened = openers[index % COUNT].request(&json!({ "type": "open_session", "id": "open" }));
        let session = opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned();
        let count = Arc::new(AtomicUsize::new(0));
        served.push(count.clone());
        let prompter = Prompter {
            session,
            dir: dir.path().to_owned(),
            random: random.fork(),
            log: log.clone(),
            stop: stop.clone(),
            served: count,
            last: 0,
            prompts: 0,
            connections: 0,
        };
        threads.push(thread::spawn(|| prompter.run()));
    }
    drop((openers, log));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let options = NatsOptions { urls: servers.urls(), replicas: COUNT, ..NatsOptions::default() };
    let connection = runtime.block_on(Connection::open(&options, "test")).unwrap();
    let kinds = break_things(&mut random, faults, &mut servers, &mut nodes, &runtime, &connection);
    let before: Vec<usize> = served.iter().map(|count| count.load(Ordering::Relaxed)).collect();
    let since = Instant::now();
    let has_recovered =
        |(count, before): (&Arc<AtomicUsize>, &usize)| count.load(Ordering::Relaxed) > *before;
    while !served.iter().zip(&before).all(has_recovered) && since.elapsed() < RECOVERY {
        thread::sleep(Duration::from_millis(100));
    }
    let recovered = served.iter().zip(&before).filter(|pair| has_recovered(*pair)).count();
    let recovery = since.elapsed();
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let mut lines: Vec<Value> = events.into_iter().collect();
    lines.extend(runtime.block_on(stored(&connection)));
    if let Some(path) = env::var_os("PI_RPC_CLUSTER_LOG") {
        let text: Vec<String> = lines.iter().map(Value::to_string).collect();
        fs::write(path, text.join("\n") + "\n").unwrap();
        for index in 0..COUNT {
            let _ = fs::copy(
                dir.path().join(format!("log{index}")),
                env::temp_dir().join(format!("cluster-node{index}.log")),
            );
        }
    }
    let verdict = check(lines);
    println!("{sessions} sessions, faults {kinds:?}, {} takeovers, {:?}", verdict.takeovers, verdict.counts);
    println!("{recovered} sessions served a prompt within {recovery:?} of the last fault");
    assert_eq!(verdict.violations, Vec::<String>::new());
    assert_eq!(recovered, sessions);
}

const KINDS: [&str; 5] =
    ["kill of a node", "kill of a server", "pause of a node", "partition", "jump of a clock"];

/// Kinds of faults as often as they come.
const OFTEN: [usize; 8] = [0, 0, 0, 1, 1, 2, 3, 4];

/// Breaks things, one at a time. Returns how often each kind was done.
fn break_things(
    random: &mut fastrand::Rng,
    faults: usize,
    servers: &mut Servers,
    nodes: &mut Nodes,
    runtime: &tokio::runtime::Runtime,
    connection: &Connection,
) -> std::collections::BTreeMap<&'static str, usize> {
    let mut kinds = std::collections::BTreeMap::new();
    for fault in 0..faults {
        thread::sleep(Duration::from_millis(random.u64(500..2000)));
        let victim = random.usize(0..COUNT);
        // Each kind once at the beginning, then the kills more often.
        let kind = if fault < KINDS.len() { fault } else { random.choice(OFTEN).unwrap() };
        let name = KINDS[kind];
        *kinds.entry(name).or_insert(0) += 1;
        match kind {
            0 => {
                nodes.kill(victim);
                thread::sleep(Duration::from_millis(500));
                nodes.start_again(victim);
            }
            1 => {
                servers.kill(victim);
                thread::sleep(Duration::from_millis(500));
                servers.run(victim);
                let due = Instant::now() + Duration::from_secs(30);
                // Two servers that are behind could stop everything, which is no fault of ours.
                while !runtime.block_on(is_whole(connection)) && Instant::now() < due {
                    thread::sleep(Duration::from_millis(100));
                }
            }
            2 => {
                nodes.signal(victim, Signal::STOP);
                thread::sleep(Duration::from_secs(7));
                nodes.signal(victim, Signal::CONT);
            }
            3 => {
                nodes.links[victim].cut(true);
                thread::sleep(Duration::from_secs(7));
                nodes.links[victim].cut(false);
            }
            _ => {
                let seconds = random.choice(["+7200", "-7200", "+4000000", "-4000000", "+0"]).unwrap();
                fs::write(clock(&nodes.dir, victim), seconds).unwrap();
            }
        }
    }
    kinds
}

/// The events that lie in the streams.
async fn stored(connection: &Connection) -> Vec<Value> {
    let mut events = Vec::new();
    for (session, _) in list(connection).await.unwrap() {
        let subject = format!("pi-rpc.entries.{session}");
        let read = read_all(&connection.entries, &subject, |stored| {
            let header = |name: &str| stored.headers.get(name).map(|value| value.as_str().to_owned());
            let epoch: Option<u64> = header("Pi-Rpc-Epoch").and_then(|text| text.parse().ok());
            events.push(json!({
                "event": "record", "session": session, "sequence": stored.sequence, "epoch": epoch,
                "node": header("Pi-Rpc-Node"),
            }));
            let lines = stored.payload.split(|byte| *byte == b'\n');
            let entries = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
            let messages = entries.filter(|entry| entry["type"] == "message");
            events.extend(messages.map(|entry| message(&session, &entry["message"], "entry")));
        });
        read.await.unwrap();
        let mut batches = Vec::new();
        let subject = format!("pi-rpc.output.{session}");
        let read = read_all(&connection.output, &subject, |stored| {
            let epoch =
                stored.headers.get("Pi-Rpc-Epoch").and_then(|value| value.as_str().parse::<u64>().ok());
            batches.push(
                json!({ "event": "batch", "session": session, "sequence": stored.sequence, "epoch": epoch }),
            );
        });
        read.await.unwrap();
        events.extend(batches);
    }
    events
}
