//! Every way into a session, found in the schema and in the sources: each answers for the session of another as it does for one
//! that is not there.

use crate::{
    host_support::hello,
    tcp_support::{TcpHost, WsClient},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

/// What is known of a way.
enum Way {
    /// A client that may not touch the session at `target` gets this answer.
    Attack(fn(&Scene, &Target) -> String),
    /// No session of another can be reached by it, for this reason.
    Harmless(&'static str),
}
use Way::{Attack, Harmless};

/// The names by which a client may know a session.
struct Target {
    handle: String,
    id: String,
    file: PathBuf,
}

/// A host with two clients, of which one has a session.
struct Scene {
    host: TcpHost,
    root: PathBuf,
}

/// What the session of the other client contains.
const SECRET: &str = "The secret is 4711";

impl Scene {
    fn cwd(&self) -> &str {
        self.root.to_str().unwrap()
    }

    /// The intruder, on a connection of many sessions.
    fn intruder(&self) -> WsClient {
        self.host.client("other")
    }

    fn refused(&self, kind: &str, members: &Value) -> String {
        let mut frame = json!({ "type": kind, "id": 1, "cwd": self.root });
        frame.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        self.intruder().request(&frame).to_string()
    }

    /// The answers to a command with each of the names of a session.
    fn refused_by_name(&self, kind: &str, member: &str, target: &Target) -> String {
        target.names().iter().map(|name| self.refused(kind, &json!({ member: name })) + "\n").collect()
    }

    /// The answers to requests for a new session, with each of the names of a session.
    fn refused_new(&self, parameter: &str, target: &Target) -> String {
        let mut answers = String::new();
        for name in target.names() {
            let path = format!("/sessions/new?cwd={}&{parameter}={name}", self.cwd());
            let refused = self.host.connect(&path, "other").err();
            answers += &format!("{:?}\n", refused.unwrap_or_else(|| panic!("{path}: let in")));
        }
        answers
    }

    /// The answer in a session of the intruder's own.
    fn in_own_session(&self, members: &Value) -> String {
        let mut intruder = self.intruder();
        let session = intruder.open(&json!({ "cwd": self.root }));
        let mut frame = json!({ "id": 1, "sessionId": session });
        frame.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let answer = intruder.request(&frame);
        let messages = intruder.request(&json!({ "type": "get_messages", "id": 2, "sessionId": session }));
        assert!(!messages.to_string().contains(SECRET), "{frame}");
        json!([answer["success"], answer["error"], answer["data"]]).to_string()
    }
}

impl Target {
    /// The file in several spellings, the ids, and their beginnings.
    fn names(&self) -> Vec<String> {
        let file = self.file.to_str().unwrap();
        let (folder, name) = file.rsplit_once('/').unwrap();
        let last = folder.rsplit_once('/').unwrap().1;
        let prefix = |id: &String| id[..13].to_owned();
        vec![
            file.to_owned(),
            format!("{folder}/../{last}/{name}"),
            format!("{folder}/./{name}"),
            self.id.clone(),
            prefix(&self.id),
            self.handle.clone(),
        ]
    }
}

const NAMES_NOTHING: Way = Harmless("names no session");
const GUARDED: Way =
    Harmless("opens files by the same request of the engine as `switch_session`, behind the same guard");

/// All ways, as they are found below.
fn rows() -> Vec<(&'static str, Way)> {
    vec![
        ("route /", Harmless("a connection of many sessions: its commands are ways of their own")),
        ("route /healthz", Harmless("says only whether the host ends")),
        ("route /metrics", Attack(|scene, _| format!("{:?}", scene.host.connect("/metrics", "other").err()))),
        ("route /status", Attack(|scene, _| scene.host.status("other")["sessions"].to_string())),
        ("route /sessions/new", Harmless("its parameters are ways of their own")),
        (
            "route /sessions/{id}",
            Attack(|scene, target| {
                let by = |name: &String| scene.host.connect(&format!("/sessions/{name}"), "other").err();
                format!("{:?} {:?}", by(&target.handle).unwrap(), by(&target.id).unwrap())
            }),
        ),
        ("parameter no_builtin_tools", Harmless("takes tools away")),
        ("parameter session", Attack(|scene, target| scene.refused_new("session", target))),
        ("parameter fork", Attack(|scene, target| scene.refused_new("fork", target))),
        (
            "parameter newest",
            Attack(|scene, _| {
                let path = format!("/sessions/new?newest=true&cwd={}", scene.cwd());
                let mut client = scene.host.connect(&path, "other").ok().unwrap();
                let messages = client.request(&json!({ "type": "get_messages", "id": 1 }));
                assert!(!messages.to_string().contains(SECRET), "{messages}");
                client.request(&json!({ "type": "get_state", "id": 2 }))["data"]["messageCount"].to_string()
            }),
        ),
        ("parameter client", Harmless("counts within the sessions and the principal of the client")),
        ("parameter after", NAMES_NOTHING),
        ("parameter dialect", NAMES_NOTHING),
        ("parameter cwd", NAMES_NOTHING),
        ("parameter provider", NAMES_NOTHING),
        ("parameter model", NAMES_NOTHING),
        ("parameter thinking", NAMES_NOTHING),
        ("parameter name", NAMES_NOTHING),
        ("parameter in_memory", NAMES_NOTHING),
        ("parameter tools", NAMES_NOTHING),
        ("parameter exclude_tools", NAMES_NOTHING),
        ("parameter confirm_tools", NAMES_NOTHING),
        ("parameter max_cost", NAMES_NOTHING),
        ("parameter max_turns", NAMES_NOTHING),
        ("parameter max_time", NAMES_NOTHING),
        (
            "start New",
            Harmless("a new session; by the host's options, as `parameter newest` and `parameter session`"),
        ),
        ("start InMemory", Harmless("a new session")),
        ("start Newest", Harmless("`parameter newest`")),
        ("start Named", Harmless("`parameter session`, `command open_session sessionPath`")),
        ("start Fork", Harmless("`parameter fork`")),
        (
            "member session_id",
            Attack(|scene, target| scene.refused("get_state", &json!({ "sessionId": target.handle }))),
        ),
        ("command get_protocol_info", NAMES_NOTHING),
        ("command open_session", Harmless("its members are ways of their own")),
        ("command open_session cwd", NAMES_NOTHING),
        ("command open_session sessionDir", Harmless("omp@18.3 alone, and answered as not implemented")),
        (
            "command open_session sessionPath",
            Attack(|scene, target| scene.refused_by_name("open_session", "sessionPath", target)),
        ),
        (
            "command close_session sessionId",
            Attack(|scene, target| scene.refused_by_name("close_session", "sessionId", target)),
        ),
        (
            "command attach_session sessionId",
            Attack(|scene, target| scene.refused_by_name("attach_session", "sessionId", target)),
        ),
        (
            "command detach_session sessionId",
            Attack(|scene, target| scene.refused_by_name("detach_session", "sessionId", target)),
        ),
        (
            "command list_sessions",
            Attack(|scene, _| {
                scene.intruder().request(&json!({ "type": "list_sessions", "id": 1 })).to_string()
            }),
        ),
        (
            "command list_stored_sessions cwd",
            Attack(|scene, target| {
                let list = |members| scene.refused("list_stored_sessions", &members);
                [
                    json!({}),
                    json!({ "query": "secret" }),
                    json!({ "archived": true }),
                    json!({ "after": target.file, "limit": 1 }),
                ]
                .map(list)
                .concat()
            }),
        ),
        (
            "command read_stored_session sessionPath",
            Attack(|scene, target| scene.refused_by_name("read_stored_session", "sessionPath", target)),
        ),
        (
            "command rename_stored_session sessionPath",
            Attack(|scene, target| {
                let members = |name| json!({ "sessionPath": name, "name": "Mine" });
                let names = target.names();
                names.iter().map(|name| scene.refused("rename_stored_session", &members(name))).collect()
            }),
        ),
        (
            "command archive_session sessionPath",
            Attack(|scene, target| scene.refused_by_name("archive_session", "sessionPath", target)),
        ),
        (
            "command switch_session sessionPath",
            Attack(|scene, target| {
                let switch = |name: &String| {
                    scene.in_own_session(&json!({ "type": "switch_session", "sessionPath": name }))
                };
                target.names()[..3].iter().map(switch).collect()
            }),
        ),
        (
            "command export_html outputPath",
            Harmless("is written, and over no session: tests/security/paths.rs"),
        ),
        (
            "command new_session parentSession",
            Attack(|scene, target| {
                scene.in_own_session(&json!({ "type": "new_session", "parentSession": target.file }))
            }),
        ),
        ("command get_subagent_messages sessionFile", Harmless("is not served")),
        ("command get_subagent_messages subagentId", Harmless("is not served")),
        ("extension command path", Harmless("says where a command comes from")),
        ("extension model_call sessionId", Harmless("is said to the extension")),
        ("extension register_provider path", Harmless("says where a provider comes from")),
        ("extension register_virtual_model path", Harmless("says where a model comes from")),
        ("extension switch_session sessionPath", GUARDED),
        ("extension new_session parentSession", Harmless("is noted in the new session, and not read")),
    ]
}

/// Whether a member of this name may name a session.
fn names_session(member: &str) -> bool {
    let member = member.to_lowercase();
    ["session", "path", "file", "cwd", "dir", "subagentid"].iter().any(|part| member.contains(part))
}

fn schema(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The commands of a file of the schema with those of their members that may name a session.
fn commands(file: &str, prefix: &str, is_every: bool) -> Vec<String> {
    let mut found = Vec::new();
    for definition in schema(file)["$defs"].as_object().unwrap().values() {
        let title = definition["title"].as_str().unwrap_or_default();
        let is_command = match prefix {
            "command" => title.ends_with("Command"),
            _ => title.starts_with("Extension") && definition["properties"]["id"].is_object(),
        };
        let Some(kind) = definition["properties"]["type"]["const"].as_str().filter(|_| is_command) else {
            continue;
        };
        let members = definition["properties"].as_object().unwrap().keys();
        let named: Vec<_> = members.filter(|member| names_session(member)).collect();
        // One that may create a session is a way without such a member, too.
        if is_every && (named.is_empty() || kind == "open_session") {
            found.push(format!("{prefix} {kind}"));
        }
        found.extend(named.into_iter().map(|member| format!("{prefix} {kind} {member}")));
    }
    found
}

fn source(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("crates").join(name)).unwrap()
}

/// The fields of a struct, or the variants of an enum.
fn members(file: &str, head: &str) -> Vec<String> {
    let text = source(file);
    let (_, body) = text.split_once(&format!("{head} {{\n")).unwrap_or_else(|| panic!("{head}"));
    let body = &body[..body.find("\n}").unwrap()];
    let lines = body.lines().map(str::trim).filter(|line| !line.starts_with(['/', '#']));
    let name = |line: &str| line.trim_start_matches("pub ").split([':', '(', ',']).next().unwrap().to_owned();
    lines.map(name).filter(|name| !name.is_empty()).collect()
}

/// All ways into sessions that the schema and the sources have.
fn ways() -> BTreeSet<String> {
    let listener = source("host/src/listener.rs");
    let routes = listener.split(".route(\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let mut found: BTreeSet<String> = routes.map(|route| format!("route {route}")).collect();
    let listed = |head, file, kind: &str| {
        members(file, head).into_iter().map(|name| format!("{kind} {name}")).collect::<Vec<_>>()
    };
    found.extend(listed("struct NewSession", "host/src/new_session.rs", "parameter"));
    found.extend(listed("struct ClientOptions", "host/src/listener.rs", "parameter"));
    found.extend(listed("pub enum Start", "host/src/open_request.rs", "start"));
    let envelope = members("host/src/shared_connection.rs", "struct Envelope");
    found
        .extend(envelope.into_iter().filter(|name| names_session(name)).map(|name| format!("member {name}")));
    found.extend(commands("multi_session.json", "command", true));
    found.extend(commands("commands.json", "command", false));
    found.extend(commands("omp.json", "command", false));
    found.extend(commands("login.json", "command", false));
    found.extend(commands("extension.json", "extension", false));
    found
}

#[test]
fn every_way_has_a_row() {
    let known: BTreeSet<String> = rows().iter().map(|(name, _)| (*name).to_owned()).collect();
    let is_reasoned = |way: &Way| !matches!(way, Harmless(reason) if reason.is_empty());
    assert!(rows().iter().all(|(_, way)| is_reasoned(way)));
    assert_eq!(ways(), known, "left: ways that there are; right: ways that are tried below");
}

#[test]
fn handles_come_from_the_one_function() {
    let files = [
        "host/src/registry.rs",
        "host/src/registry_entry.rs",
        "host/src/shared_sessions.rs",
        "host/src/scoped_host.rs",
        "host/src/listener.rs",
        "cluster/src/node.rs",
    ];
    for file in files {
        let bare: Vec<String> = source(file)
            .lines()
            .filter(|line| line.contains("Result<SessionHandle") || line.contains("Option<SessionHandle>"))
            .map(str::to_owned)
            .collect();
        assert_eq!(bare, Vec::<String>::new(), "{file}: expected Permitted<SessionHandle>");
    }
    let permission = source("host/src/permission.rs");
    let made = permission.split("#[cfg(test)]").next().unwrap().matches("Permitted(session)").count();
    assert_eq!(made, 1, "only `permit` makes a Permitted");
}

/// Opens a session with a file and a secret. Returns its names.
fn begin(client: &mut WsClient, root: &Path) -> Target {
    let opened = client.request(&json!({ "type": "open_session", "id": "open", "cwd": root }));
    let handle = opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{opened}")).to_owned();
    let state = &opened["data"]["state"];
    let target = Target {
        handle: handle.clone(),
        id: state["sessionId"].as_str().unwrap().to_owned(),
        file: state["sessionFile"].as_str().unwrap().into(),
    };
    client.send(&json!({ "type": "prompt", "id": 1, "message": SECRET, "sessionId": handle }));
    client.find(|frame| frame["type"] == "agent_settled");
    target
}

/// Tries all ways on sessions of `secret`, which is refused to `other` by the limits that both have.
fn try_all_ways(limits: impl Fn(&str) -> Value) {
    let both = |here: &str| vec![limits(here), limits(here)];
    let host = TcpHost::start(&hello(), both, &[]);
    let root = fs::canonicalize(host.dir.path()).unwrap().join("root");
    fs::create_dir(&root).unwrap();
    let scene = Scene { host, root };
    let mut owner = scene.host.client("secret");
    let (open, closed) = (begin(&mut owner, &scene.root), begin(&mut owner, &scene.root));
    owner.request(&json!({ "type": "close_session", "id": 2, "sessionId": closed.handle }));
    let before = fs::read(&closed.file).unwrap();
    let no_id = "00000000-0000-7000-8000-000000000000".to_owned();
    let no_file = closed.file.with_file_name(format!("2000-01-01T00-00-00-000Z_{no_id}.jsonl"));
    let nothing = Target { handle: no_id.clone(), id: no_id, file: no_file };
    let without_names = |mut answer: String, target: &Target| {
        let mut names = target.names();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        names.iter().for_each(|name| answer = answer.replace(name, "NAME"));
        answer
    };
    for (name, way) in rows() {
        let attack = match way {
            Attack(attack) => attack,
            Harmless(_) => continue,
        };
        let expected = without_names(attack(&scene, &nothing), &nothing);
        for target in [&open, &closed] {
            let answer = attack(&scene, target);
            assert!(!answer.contains(SECRET), "{name}: {answer}");
            assert_eq!(without_names(answer, target), expected, "{name}");
        }
    }
    // Another spelling of the file is the same file.
    let link = scene.root.join("link.jsonl");
    symlink(&closed.file, &link).unwrap();
    let second = scene.root.join("second.jsonl");
    fs::hard_link(&closed.file, &second).unwrap();
    for path in [link, second] {
        let error = scene
            .intruder()
            .refused(&json!({ "type": "open_session", "id": 1, "cwd": scene.root, "sessionPath": path }));
        assert_eq!(error, "unknown_session", "{path:?}");
    }
    assert_eq!(fs::read(&closed.file).unwrap(), before);
    for name in closed.names().into_iter().take(5) {
        let frame = json!({ "type": "open_session", "id": 3, "cwd": scene.root, "sessionPath": name });
        let opened = owner.request(&frame);
        let session = opened["data"]["sessionId"].as_str().unwrap_or_else(|| panic!("{name}: {opened}"));
        let messages = owner.request(&json!({ "type": "get_messages", "id": 4, "sessionId": session }));
        assert!(messages.to_string().contains(SECRET), "{messages}");
        owner.request(&json!({ "type": "close_session", "id": 5, "sessionId": session }));
    }
}

#[test]
fn ways_are_closed_to_tokens_without_roots() {
    try_all_ways(|_| json!({}));
}

#[test]
fn ways_are_closed_in_common_roots() {
    try_all_ways(|here| json!({ "roots": [format!("{here}/root")] }));
}
