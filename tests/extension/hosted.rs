//! The process of pi's own extensions as a host sees it. A shell script stands for Node: what is started, what it is told
//! and what becomes of the server when it misbehaves is the same.

use crate::extended_support::{assert_goes_on, executable, script};
use crate::serve_support::{Server, binary, command, eventually, of_type, processes_of};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;

/// A program that registers and then does nothing.
const REGISTERS: &str = r#"say '{"type":"register"}'; await nothing"#;

/// A server in a folder with these files, for which `node` is run.
fn server(dialect: Dialect, node: &str, files: &[&str], options: &[&str]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    let node = script(dir.path(), "node", node);
    server_in(dialect, dir, &node, files, options)
}

fn server_in(dialect: Dialect, dir: TempDir, node: &str, files: &[&str], options: &[&str]) -> Server {
    for name in files {
        fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
        fs::write(dir.path().join(name), "export default () => {};\n").unwrap();
    }
    let turns = json!([{ "repeat": true, "say": [{ "text": "Hello." }] }]);
    fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
    let mut command = command(binary(), dir.path());
    command.env("PI_RPC_NODE", node).env("XDG_CACHE_HOME", dir.path().join("caches"));
    command.args(["--mode", "rpc", "--no-session", "--model", "scripted/script.json"]);
    command.args(["--dialect", dialect.as_str()]).args(options);
    Server::start(dialect, dir, command)
}

/// The first frames, up to the answer to a command.
fn beginning(server: &mut Server) -> Vec<Value> {
    server.send(json!({ "id": "begin", "type": "get_state" }));
    server.until(|frame| frame["id"] == "begin")
}

fn errors(frames: &[Value]) -> Vec<(&str, &str, &str)> {
    let errors = of_type(frames, "extension_error");
    errors
        .into_iter()
        .map(|it| {
            let member = |key: &str| it[key].as_str().unwrap();
            (member("extensionPath"), member("event"), member("error"))
        })
        .collect()
}

#[test]
fn extension_host_gets_files_and_server_options() {
    let keeps = r#"printf '%s' "$line" > hello; cp "$3" main; echo "$1 $2 $PI_CODING_AGENT $PI_RPC_EXTENSION ${PI_RPC_CACHE#"${3%main.mjs}"} ${PI_RPC_PROGRAM##*/} ${PI_RPC_TYPE_STRIPPER##*/}" > variables"#;
    let registers =
        r#"say '{"type":"register","flags":[{"name":"plan","takesValue":false}]}'; await nothing"#;
    let keeps = format!("{keeps}\n{registers}");
    let files = ["a.ts", "b/index.js", ".pi/agent/extensions/c.ts"];
    let mut server = server(Dialect::Pi1, &keeps, &files, &["-e", "a.ts", "--plan", "-e", "./b"]);
    assert_eq!(errors(&beginning(&mut server)), []);
    let read = |name: &str| fs::read_to_string(server.path(name)).unwrap();
    let hello: Value = serde_json::from_str(&read("hello")).unwrap();
    let path = |name: &str| server.path(name).to_str().unwrap().to_owned();
    let given = |name| {
        json!({ "path": path(name), "sourceInfo":
            { "path": path(name), "source": "cli", "scope": "temporary", "origin": "top-level" } })
    };
    let found = json!({ "path": path(".pi/agent/extensions/c.ts"), "sourceInfo": {
        "path": path(".pi/agent/extensions/c.ts"), "source": "auto", "scope": "user", "origin": "top-level",
        "baseDir": path(".pi/agent"),
    } });
    assert_eq!(hello["members"], json!([given("a.ts"), given("b"), found]));
    assert_eq!((&hello["api"], &hello["cwd"]), (&json!("1.5"), &json!(path("").trim_end_matches('/'))));
    let arguments = hello["arguments"].as_array().unwrap();
    assert_eq!(arguments[arguments.len() - 5..], ["-e", "a.ts", "--plan", "-e", "./b"].map(Value::from));
    assert_eq!(read("main"), include_str!("../../crates/extension/src/node/main.mjs"));
    let options = "--experimental-vm-modules --experimental-import-meta-resolve";
    let stripper = if cfg!(feature = "strip-types") { "pi-rpc" } else { "" };
    assert_eq!(read("variables"), format!("{options} true 1 prepared pi-rpc {stripper}\n"));
    server.finishes();
}

#[test]
fn without_anything_to_load_nothing_is_started() {
    let mut server = server(Dialect::Pi, "touch started", &["a.txt"], &[]);
    assert_eq!(errors(&beginning(&mut server)), []);
    assert_goes_on(&mut server);
    let dir = server.finishes();
    assert!(!dir.path().join("started").exists() && !dir.path().join("caches").exists());
}

#[test]
fn missing_node_is_reported_per_extension() {
    for (node, why) in [
        ("./nowhere", "PI_RPC_NODE: expected a program, and ./nowhere is none"),
        ("", "it needs Node 18.19 or newer, and there is no node in PATH (PI_RPC_NODE may name one)"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let own = script(
            dir.path(),
            "own",
            r#"say '{"type":"register","commands":[{"name":"own"}]}'; await nothing"#,
        );
        let names = ["a.ts", "b.ts"].map(|name| dir.path().join(name).to_str().unwrap().to_owned());
        for name in &names {
            fs::write(name, "").unwrap();
        }
        // A folder with what scripts need, and no Node.
        let programs = dir.path().join("programs");
        fs::create_dir(&programs).unwrap();
        let mut command = command(binary(), dir.path());
        command.env("PATH", &programs).env("PI_RPC_NODE", node);
        command.args(["--mode", "rpc", "--no-session", "--model", "scripted/demo", "--dialect", "pi-1"]);
        command.args(["-e", "a.ts", "-e", &own, "-e", "b.ts", "--keep-going"]);
        let mut server = Server::start(Dialect::Pi1, dir, command);
        let frames = beginning(&mut server);
        assert_eq!(errors(&frames), [(&*names[0], "load", why), (&*names[1], "load", why)]);
        let commands = server.data(json!({ "type": "get_commands" }));
        assert_eq!(commands["commands"][0]["name"], "own");
        server.finishes();
    }
}

#[test]
fn unsuitable_node_is_not_started_twice() {
    let dir = tempfile::tempdir().unwrap();
    let node =
        executable(dir.path(), "node", "#!/bin/sh\necho once >> starts\necho 'bad option' >&2\nexit 9\n");
    let mut server = server_in(Dialect::Pi, dir, &node, &["a.ts"], &["-e", "a.ts"]);
    let text = "The extension has ended and is not started again: it exited with status 9: bad option";
    assert_eq!(errors(&beginning(&mut server)), [("<extensions>", "end", text)]);
    assert_eq!(fs::read_to_string(server.path("starts")).unwrap(), "once\n");
    assert_goes_on(&mut server);
    server.close_stdin();
    // What extensions print on stderr is in the log.
    let log = server.ends().stderr;
    assert!(log.trim_end().ends_with("WARN <extensions>: bad option"), "{log}");
}

#[test]
fn crashed_extension_host_restarts_with_same_files() {
    let crashes = r#"
        printf '%s\n' "$line" >> hellos
        say '{"type":"register","commands":[{"name":"crash"}]}'
        await command
        exit 3"#;
    let mut server = server(Dialect::Pi, crashes, &["a.ts"], &["-e", "a.ts"]);
    beginning(&mut server);
    server.send(json!({ "id": "c", "type": "prompt", "message": "/crash" }));
    let frames = server.until(|frame| frame["event"] == "command");
    let ended = "The extension has ended: it exited with status 3";
    assert_eq!(errors(&frames), [("<extensions>", "end", ended), ("command:crash", "command", ended)]);
    eventually("it was started again", || {
        fs::read_to_string(server.path("hellos")).is_ok_and(|hellos| hellos.lines().count() == 2)
    });
    let hellos = fs::read_to_string(server.path("hellos")).unwrap();
    let hellos = hellos.lines().map(|hello| serde_json::from_str(hello).unwrap()).collect::<Vec<Value>>();
    let [first, second] = &hellos[..] else { panic!("{hellos:?}") };
    let mut expected = first.clone();
    expected["members"][0]["loaded"] = json!(true);
    assert_eq!(*second, expected);
    assert_goes_on(&mut server);
}

#[test]
fn stray_output_of_extensions_is_harmless() {
    let babbles = r#"say '{"type":"register"}'; echo 'hello there'; echo more; await nothing"#;
    let mut server = server(Dialect::Pi, babbles, &["a.ts"], &["-e", "a.ts"]);
    let frames = server.until(|frame| frame["event"] == "frame");
    assert!(errors(&frames)[0].2.contains("hello there"), "{frames:?}");
    assert_goes_on(&mut server);
    server.finishes();
}

#[test]
fn looping_extension_host_ends_with_server() {
    let loops = r#"say '{"type":"register"}'; trap '' TERM; while :; do :; done"#;
    let mut server = server(Dialect::Pi, loops, &["a.ts"], &["-e", "a.ts"]);
    assert_eq!(errors(&beginning(&mut server)), []);
    assert_goes_on(&mut server);
    let dir = server.finishes();
    eventually("nothing is left", || processes_of(dir.path()).is_empty());
}

#[test]
fn extension_host_takes_first_members_place() {
    let says = |name: &str| {
        format!(r#"say '{{"type":"register","commands":[{{"name":"{name}"}}]}}'; await nothing"#)
    };
    let dir = tempfile::tempdir().unwrap();
    let before = script(dir.path(), "before", &says("before"));
    let behind = script(dir.path(), "behind", &says("behind"));
    let node = script(dir.path(), "node", &says("hosted"));
    let options = ["-e", &before, "-e", "a.ts", "-e", &behind, "-e", "b.ts"];
    let mut server = server_in(Dialect::Pi1, dir, &node, &["a.ts", "b.ts"], &options);
    let commands = server.data(json!({ "type": "get_commands" }))["commands"].clone();
    let names: Vec<&str> =
        commands.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    let own: Vec<&str> =
        names.into_iter().filter(|name| ["before", "hosted", "behind"].contains(name)).collect();
    assert_eq!(own, ["before", "hosted", "behind"]);
    server.finishes();
}

#[test]
fn concurrent_servers_share_one_unpacked_program() {
    let dir = tempfile::tempdir().unwrap();
    let node = script(dir.path(), "node", &format!("test -f \"$3\" && echo \"$3\" >> mains\n{REGISTERS}"));
    fs::write(dir.path().join("a.ts"), "").unwrap();
    let start = |dir: &Path| {
        let mut command = command(binary(), dir);
        command.env("PI_RPC_NODE", &node).args(["--mode", "rpc", "--no-session", "--model", "scripted/demo"]);
        command.args(["--dialect", "pi-1", "-e", "a.ts"]);
        Server::start(Dialect::Pi1, TempDir::new().unwrap(), command)
    };
    let mut servers: Vec<Server> = (0..4).map(|_| start(dir.path())).collect();
    for server in &mut servers {
        assert_eq!(errors(&beginning(server)), []);
    }
    let mains = fs::read_to_string(dir.path().join("mains")).unwrap();
    let mains: Vec<&str> = mains.lines().collect();
    assert_eq!((mains.len(), mains.iter().all(|main| *main == mains[0])), (4, true), "{mains:?}");
    assert!(Path::new(mains[0]).starts_with(dir.path().join(".cache/pi-rpc")));
    servers.into_iter().for_each(|server| drop(server.finishes()));
}

#[test]
fn without_cache_program_ends_with_process() {
    let dir = tempfile::tempdir().unwrap();
    let node = script(dir.path(), "node", &format!("echo \"$3\" > where\n{REGISTERS}"));
    // In the place of the folders are files.
    fs::write(dir.path().join("caches"), "").unwrap();
    fs::write(dir.path().join(format!("pi-rpc-{}", rustix::process::getuid().as_raw())), "").unwrap();
    let mut server = server_in(Dialect::Pi1, dir, &node, &["a.ts"], &["-e", "a.ts"]);
    assert_eq!(errors(&beginning(&mut server)), []);
    let main = fs::read_to_string(server.path("where")).unwrap();
    assert!(Path::new(main.trim()).is_file(), "{main}");
    let dir = server.finishes();
    assert!(Path::new(main.trim()).starts_with(dir.path()) && !Path::new(main.trim()).exists(), "{main}");
}

#[test]
fn package_skills_and_templates_are_callable() {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("pack/prompts/ask.md", "Ask about $1.\n"),
        ("pack/skills/knit/SKILL.md", "---\nname: knit\ndescription: Knits.\n---\nKnit.\n"),
    ] {
        fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
        fs::write(dir.path().join(name), text).unwrap();
    }
    let agent = dir.path().join(".pi/agent");
    fs::create_dir_all(&agent).unwrap();
    fs::write(agent.join("settings.json"), r#"{"packages": ["../../pack"]}"#).unwrap();
    let node = script(dir.path(), "node", REGISTERS);
    let mut server = server_in(Dialect::Pi1, dir, &node, &[], &[]);
    let commands = server.data(json!({ "type": "get_commands" }))["commands"].clone();
    let pack = server.path("pack").to_str().unwrap().to_owned();
    let told: Vec<(&str, &str, &str)> = commands
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (&it["name"], &it["sourceInfo"]["source"], &it["sourceInfo"]["baseDir"]))
        .map(|(name, source, base)| {
            (name.as_str().unwrap(), source.as_str().unwrap(), base.as_str().unwrap())
        })
        .collect();
    assert_eq!(told, [("ask", "../../pack", &*pack), ("skill:knit", "../../pack", &*pack)]);
    server.finishes();
}

#[test]
fn named_npm_package_is_fetched_once() {
    let dir = tempfile::tempdir().unwrap();
    let programs = dir.path().join("programs");
    fs::create_dir(&programs).unwrap();
    // Puts an extension where npm puts a package, and says so where the protocol must not see it.
    executable(
        &programs,
        "npm",
        r#"#!/bin/sh
        while [ "$1" != --prefix ]; do shift; done
        echo "$4" >> "$HOME/fetched"; echo "added 1 package"
        [ "$4" = gone ] && { echo "npm error 404 gone" >&2; exit 1; }
        mkdir -p "$2/node_modules/@me/tools/extensions" && : > "$2/node_modules/@me/tools/extensions/a.ts""#,
    );
    let node = script(dir.path(), "node", &format!(r#"printf '%s\n' "$line" >> hellos; {REGISTERS}"#));
    let start = |dir: &Path, source: &str| {
        let mut command = command(binary(), dir);
        let path = std::env::var("PATH").unwrap();
        command.env("PI_RPC_NODE", &node).env("PATH", format!("{}:{path}", programs.display()));
        command.args([
            "--mode",
            "rpc",
            "--no-session",
            "--keep-going",
            "--model",
            "scripted/demo",
            "--dialect",
            "pi-1",
            "-e",
            source,
        ]);
        Server::start(Dialect::Pi1, TempDir::new().unwrap(), command)
    };
    for _ in 0..2 {
        let mut server = start(dir.path(), "npm:@me/tools@1.0.0");
        assert_eq!(errors(&beginning(&mut server)), []);
        server.finishes();
    }
    let hellos = fs::read_to_string(dir.path().join("hellos")).unwrap();
    for hello in hellos.lines() {
        let hello: Value = serde_json::from_str(hello).unwrap();
        let [member] = &hello["members"].as_array().unwrap()[..] else { panic!("one member: {hello}") };
        assert!(
            member["path"].as_str().unwrap().ends_with("/node_modules/@me/tools/extensions/a.ts"),
            "{member}"
        );
        assert_eq!(member["sourceInfo"]["source"], "cli");
    }
    let mut server = start(dir.path(), "npm:gone");
    let text = "the package cannot be fetched: npm: npm error 404 gone";
    assert_eq!(errors(&beginning(&mut server)), [("npm:gone", "load", text)]);
    server.finishes();
    assert_eq!(fs::read_to_string(dir.path().join("fetched")).unwrap(), "@me/tools@1.0.0\ngone\n");
    assert_eq!(hellos.lines().count(), 2);
}

#[test]
fn bun_starts_outside_of_the_project() {
    let dir = tempfile::tempdir().unwrap();
    let keeps = format!(r#"printf '%s\n%s' "$PWD" "$PI_RPC_DIRECTORY" > "$HOME/places"; {REGISTERS}"#);
    let bun = script(dir.path(), "bun", &keeps);
    let mut server = server_in(Dialect::Pi, dir, &bun, &["a.ts"], &["-e", "a.ts"]);
    assert_eq!(errors(&beginning(&mut server)), []);
    let places = fs::read_to_string(server.path("places")).unwrap();
    let real = |path: &str| fs::canonicalize(path).unwrap();
    let [started, named] = [0, 1].map(|line| real(places.lines().nth(line).unwrap()));
    assert_eq!(named, real(server.path("").to_str().unwrap()));
    assert!(started.starts_with(real(server.path("caches").to_str().unwrap())), "{places}");
    server.finishes();
}
