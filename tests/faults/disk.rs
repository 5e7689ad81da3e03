//! Session files that cannot be written: in use, changed by others, without permission, on a full disk. What was said stays
//! in memory, and is written as soon as the file works again.

use crate::{
    kept_support::{self, agrees, directory, entries, files, keeper, keeping, started, violations},
    serve_support::{self, BOTH, Server, at_once, bash_turns, command, pairs, sample, write_agent_file},
    states::{DIALECTS, assert_whole, last, place, run, temporary},
    table::row,
};
use pi_rpc::protocol::Dialect::{self, Pi};
use rustix::process::{Pid, Resource, Rlimit, geteuid, prlimit};
use serde_json::{Value, json};
use std::{
    fs::{self, OpenOptions, Permissions},
    io::Write as _,
    os::unix::{
        fs::{PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
};
use tempfile::TempDir;

#[test]
fn locked_file_is_untouched_until_released() {
    for dialect in BOTH {
        let mut first = keeper(dialect, answering(), &[]);
        first.run("Hello?");
        let path = only_file(&first);
        let (name, bytes) = (path.to_str().unwrap(), fs::read(&path).unwrap());
        let text = format!("Session file is in use by another process: {name}");

        let ended =
            Server::start(dialect, answering(), keeping(dialect, first.dir.path(), &["--session", name]));
        let ended = ended.ends();
        assert_eq!((ended.status.code(), ended.stderr.contains(&text)), (Some(1), true), "{}", ended.stderr);

        let mut second = keeper(dialect, answering(), &[]);
        second.run("Mine?");
        assert!(switch(&mut second, &path)["error"].as_str().is_some_and(|error| error.contains(&text)));
        let own = only_file(&second);
        agrees(&mut second, &own);
        assert!(fs::read(&path).unwrap() == bytes);

        first.run("Go on.");
        agrees(&mut first, &path);
        // One that goes on with another session lets the file go.
        first.data(json!({ "type": "new_session" }));
        assert_eq!(switch(&mut second, &path)["success"], true);
        second.run("Mine now.");
        assert_eq!(agrees(&mut second, &path).len(), 6);
        first.finishes();
        second.finishes();
    }
    row("Another server has the session's file", 2 * BOTH.len());
}

#[test]
fn foreign_change_of_file_stops_writes() {
    let appended = |path: &Path| {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        writeln!(file, r#"{{"type":"custom","customType":"x","id":"feedf00d","parentId":null}}"#).unwrap();
    };
    let cut = |path: &Path| OpenOptions::new().write(true).open(path).unwrap().set_len(100).unwrap();
    let replaced = |path: &Path| {
        let beside = path.with_extension("new");
        fs::copy(path, &beside).unwrap();
        fs::rename(beside, path).unwrap();
    };
    let changes: [&dyn Fn(&Path); 3] = [&appended, &cut, &replaced];
    for (place, change) in changes.into_iter().enumerate() {
        let mut server = keeper(Pi, answering(), &[]);
        server.run("Hello?");
        let path = only_file(&server);
        change(&path);
        let bytes = fs::read(&path).unwrap();
        let text = format!(
            "Session file was changed or removed by another program; nothing was written: {}",
            path.display()
        );
        refuses(&mut server, &text);
        assert!(fs::read(&path).unwrap() == bytes, "{place}");
        // It is still there, and may be given up.
        server.data(json!({ "type": "new_session" }));
        server.run("Hello again?");
        let next = files(server.dir.path()).into_iter().find(|other| *other != path).unwrap();
        agrees(&mut server, &next);
        assert!(fs::read(&path).unwrap() == bytes, "{place}");
    }
    row("Another program appends to the file, cuts it, or puts another in its place", changes.len());
}

/// A server whose file, or its folder, is not there any more; that was `take`n to the path `away`.
fn deprived(dialect: Dialect, folder: bool, take: impl Fn(&Path, &Path)) -> (Server, PathBuf, PathBuf) {
    let mut server = keeper(dialect, answering(), &[]);
    server.run("Hello?");
    let path = only_file(&server);
    let taken = if folder { path.parent().unwrap().to_owned() } else { path.clone() };
    take(&taken, &server.path("away"));
    refuses(&mut server, &format!("nothing was written: {}", path.display()));
    assert!(!path.exists());
    (server, path, taken)
}

#[test]
fn moved_file_is_written_once_back() {
    let times = at_once(pairs(&BOTH, &[false, true]).into_iter(), |(dialect, folder)| {
        let moved = |path: &Path, away: &Path| fs::rename(path, away).unwrap();
        let (mut server, path, taken) = deprived(dialect, folder, moved);
        fs::rename(server.path("away"), taken).unwrap();
        server.run("And now?");
        // What was missed was written first.
        assert_eq!(agrees(&mut server, &path).len(), 6);
        server.close_stdin();
        assert_eq!(server.ends().status.code(), Some(0));
    });
    row("The file, or its folder, is moved away and comes back", times);
}

#[test]
fn removed_file_is_named() {
    let times = at_once(pairs(&BOTH, &[false, true]).into_iter(), |(dialect, folder)| {
        let removed = |path: &Path, _: &Path| match folder {
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        };
        let (mut server, ..) = deprived(dialect, folder, removed);
        server.data(json!({ "type": "new_session" }));
        server.run("Hello again?");
        let next = only_file(&server);
        agrees(&mut server, &next);
        server.close_stdin();
        assert_eq!(server.ends().status.code(), Some(0));
    });
    row("The file, or its folder, is removed", times);
}

#[test]
fn missing_permission_is_reported() {
    let dir = answering();
    fs::create_dir(dir.path().join(kept_support::FOLDER)).unwrap();
    let mut server = keeper(Pi, dir, &[]);
    server.run("Hello?");
    let path = only_file(&server);
    let dir = server.finishes();
    let name = path.to_str().unwrap();
    let bytes = fs::read(&path).unwrap();

    // It can be read, and not written.
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    let mut server = unprivileged(dir, &["--session", name]);
    assert_eq!(server.data(json!({ "type": "get_session_stats" }))["totalMessages"], 2);
    refuses(&mut server, &format!("Cannot write session file {name}: Permission denied"));
    let other = server.path("other.jsonl");
    assert_eq!(switch(&mut server, &other)["success"], true);
    server.run("Elsewhere.");
    agrees(&mut server, &other);

    // It cannot be read.
    fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    let error = switch(&mut server, &path)["error"].take();
    let text = format!("Cannot open session file {name}: Permission denied");
    assert!(error.as_str().is_some_and(|error| error.contains(&text)), "{error}");
    agrees(&mut server, &other);

    // The folder takes no files.
    let folder = path.parent().unwrap();
    fs::set_permissions(folder, Permissions::from_mode(0o555)).unwrap();
    server.data(json!({ "type": "new_session" }));
    let new = server.data(json!({ "type": "get_state" }))["sessionFile"].take();
    let new = new.as_str().unwrap();
    assert!(new.starts_with(folder.to_str().unwrap()), "{new}");
    refuses(&mut server, &format!("Cannot write session file {new}: Permission denied"));
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let end = server.run("Now.").pop().unwrap();
    assert_eq!(end["messages"][1]["stopReason"], "stop", "{end}");
    agrees(&mut server, Path::new(new));
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    assert!(fs::read(&path).unwrap() == bytes);
    row("The file cannot be written, or read, or its folder takes none", 3);
}

#[test]
fn impossible_session_folder_is_reported() {
    let dir = answering();
    let mut command = command(serve_support::binary(), dir.path());
    command.args(["serve", "--model", "scripted/script.json", "--session-dir", "script.json/kept"]);
    let mut server = started(Pi, dir, command);
    refuses(&mut server, "Not a directory");
    server.close_stdin();
    let ended = server.ends();
    assert_eq!(ended.status.code(), Some(0));
    assert!(
        ended.stderr.lines().next().is_some_and(|line| line.contains("script.json/kept: ")),
        "{}",
        ended.stderr
    );
    row("The folder for sessions would be in a file", 1);
}

#[test]
fn full_disk_ends_run_room_writes_all() {
    for dialect in BOTH {
        let mut server = limited(dialect, answering(), &[]);
        server.run("Hello?");
        let path = only_file(&server);
        let length = fs::metadata(&path).unwrap().len();

        // Room for the prompt, but not for its answer.
        room(&server, Some(length + 300));
        let end = server.run("Go on.").pop().unwrap();
        let answer = end["messages"].as_array().unwrap().last().unwrap();
        assert_eq!((&answer["role"], &answer["stopReason"]), (&json!("assistant"), &json!("error")), "{end}");
        let text = answer["errorMessage"].as_str().unwrap();
        assert!(
            text.contains(&format!("Cannot write session file {}: File too large", path.display())),
            "{text}"
        );
        let full = fs::read(&path).unwrap();
        assert_eq!((violations(&full), entries(&full).len()), (Vec::new(), 5));

        refused(&mut server, "File too large");
        server.send(json!({ "type": "set_session_name", "name": "N".repeat(2000) }));
        let named = server.until_type("response").pop().unwrap();
        assert!(named["error"].as_str().is_some_and(|error| error.contains("File too large")), "{named}");
        assert!(fs::read(&path).unwrap() == full);

        room(&server, None);
        let end = server.run("There is room.").pop().unwrap();
        assert_eq!(end["messages"][1]["stopReason"], "stop", "{end}");
        assert_eq!(agrees(&mut server, &path).len(), 6);
        assert!(fs::read(&path).unwrap().starts_with(&full));
    }
}

/// Writes of every kind: the file's beginning, messages, a command of the host, settings, a tool's result, and a name, for
/// which `xcsh` writes the file anew. What is refused is passed over.
fn talk(server: &mut Server) {
    let prompt = |message: &str| json!({ "type": "prompt", "message": message });
    let commands = [
        prompt("Hello?"),
        json!({ "type": "bash", "command": "echo two" }),
        json!({ "type": "set_thinking_level", "level": "high" }),
        prompt("Use a tool?"),
        json!({ "type": "set_session_name", "name": "A name" }),
    ];
    for command in commands {
        let end = if command["type"] == "prompt" { last(server.dialect) } else { "response" };
        server.send(command);
        server.until(|frame| frame["type"] == end || frame["success"] == false);
    }
}

#[test]
fn full_disk_anywhere_leaves_file_whole() {
    let turns = json!([
        { "onResult": "", "repeat": true, "say": [{ "text": "It has ended." }] },
        { "match": "tool", "repeat": true, "say": [{ "tool": "bash", "arguments": { "command": "echo one" } }] },
        { "repeat": true, "say": [{ "text": "An answer." }] },
    ]);
    let mut times = 0;
    for dialect in BOTH {
        let mut server = keeper(dialect, directory(&turns), &[]);
        talk(&mut server);
        let whole = fs::read(only_file(&server)).unwrap();
        server.finishes();
        let lines = whole.split_inclusive(|byte| *byte == b'\n').scan(0, |end, line| {
            *end += line.len();
            Some((*end - line.len(), line))
        });
        let rooms: Vec<_> =
            lines.flat_map(|(at, line)| [0, line.len() / 2].map(|part| (at + part, line))).collect();
        times += at_once(sample(rooms, 5), |(bytes, line)| {
            let what = format!("{dialect}: room for {bytes} bytes, to {}", String::from_utf8_lossy(line));
            let mut server = limited(dialect, directory(&turns), &[]);
            room(&server, Some(bytes as u64));
            talk(&mut server);
            assert_whole(server.dir.path(), &what);
            let before = server.data(json!({ "type": "get_messages" }))["messages"].take();
            room(&server, None);
            let end = server.run("There is room?").pop().unwrap();
            assert_eq!(end["messages"][1]["stopReason"], "stop", "{what}: {end}");
            let path = only_file(&server);
            let after = agrees(&mut server, &path);
            let before = before.as_array().unwrap();
            assert_eq!(after[..before.len()], before[..], "{what}");
        });
    }
    row("The disk gets full before, or in the middle of, each line of a session", times);
}

#[test]
fn output_without_room_has_no_file() {
    let mut times = 0;
    for dialect in DIALECTS {
        let mut server = limited(dialect, place(&bash_turns("seq 100000")), &[]);
        room(&server, Some(400_000));
        let data = server.data(json!({ "type": "bash", "command": "seq 100000" }));
        assert_eq!((&data["truncated"], &data["exitCode"]), (&json!(true), &json!(0)), "{dialect}");
        assert_eq!(data.get("fullOutputPath"), None, "{dialect}");
        let frames = run(&mut server, "go?");
        let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
        let text = end["result"]["content"][0]["text"].as_str().unwrap();
        assert!(
            text.ends_with("The full output could not be kept]"),
            "{dialect}: {}",
            &text[text.len() - 200..]
        );
        assert_eq!(temporary(server.dir.path()), Vec::<String>::new(), "{dialect}");
        server.finishes();
        times += 2;
    }
    row("The disk gets full while the output of a command is written to a temporary file", times);
}

#[test]
fn files_are_written_whole_or_not() {
    let long = "line\n".repeat(20_000);
    let old = format!("{long}one\n");
    let edit = |dialect| match dialect {
        Dialect::Pi1 => json!({ "path": "old.txt", "edits": [{ "oldText": "one\n", "newText": "two\n" }] }),
        _ => json!({ "path": "old.txt", "oldText": "one\n", "newText": "two\n" }),
    };
    let mut times = 0;
    for dialect in DIALECTS {
        let calls = [
            ("write", json!({ "path": "new.txt", "content": long })),
            ("write", json!({ "path": "old.txt", "content": long })),
            ("edit", edit(dialect)),
        ];
        for (tool, arguments) in calls {
            let turns = json!([
                { "onResult": "", "say": [{ "text": "It has ended." }] },
                { "size": 0, "say": [{ "tool": tool, "arguments": arguments }] },
            ]);
            let mut server = limited(dialect, place(&turns), &["--no-session"]);
            fs::write(server.path("old.txt"), &old).unwrap();
            let before = names(server.dir.path());
            room(&server, Some(50_000));
            let frames = run(&mut server, "go?");
            let end = frames.iter().find(|frame| frame["type"] == "tool_execution_end").unwrap();
            assert_eq!(end["isError"], true, "{dialect}, {tool}: {end}");
            let text = end["result"]["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("File too large"), "{dialect}, {tool}: {text}");
            assert_eq!(names(server.dir.path()), before, "{dialect}, {tool}");
            assert!(fs::read_to_string(server.path("old.txt")).unwrap() == old, "{dialect}, {tool}");
            server.finishes();
            times += 1;
        }
        let mut server = limited(dialect, answering(), &[]);
        run(&mut server, "Hello?");
        let before = names(server.dir.path());
        room(&server, Some(4000));
        // In `xcsh` such an answer has no id.
        server.send(json!({ "type": "export_html", "outputPath": "page.html" }));
        let page = server.until_type("response").pop().unwrap();
        assert!(
            page["error"].as_str().is_some_and(|error| error.contains("page.html: File too large")),
            "{page}"
        );
        assert_eq!(names(server.dir.path()), before, "{dialect}");
        server.finishes();
        times += 1;
    }
    row("The disk gets full while `write`, `edit` or `export_html` writes a file", times);
}

#[test]
fn unreadable_user_file_is_skipped_with_warning() {
    let names = ["settings.json", "auth.json", "models.json"];
    let cases = pairs(&pairs(&DIALECTS, &names), &[true, false]);
    let times = at_once(sample(cases, 5), |((dialect, name), is_folder)| {
        let dir = answering();
        write_agent_file(dir.path(), dialect, name, &json!({}));
        let agent = dir.path().join(dialect.record().directories.agent.trim_start_matches("~/"));
        let path = agent.join(name);
        match is_folder {
            true => {
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
            }
            false => fs::write(&path, b"\xff\xfe").unwrap(),
        }
        let mut server = keeper(dialect, dir, &[]);
        server.run("Hello?");
        server.close_stdin();
        let ended = server.ends();
        let warned = ended.stderr.contains(&format!("{}: ", path.display()));
        assert!(warned && ended.stderr.contains("left out"), "{dialect}, {name}: {}", ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{dialect}, {name}");
    });
    row("`settings.json`, `auth.json` or `models.json` cannot be read", times);
}

/// What is in a server's directory, but for its sessions.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries.filter(|name| name != kept_support::FOLDER).collect();
    names.sort();
    names
}

/// A server in a directory, to which a write beyond the limit of [`room`] is what one on a full disk is: a part is written,
/// then none.
fn limited(dialect: Dialect, dir: TempDir, options: &[&str]) -> Server {
    let mut command = command(Path::new("sh"), dir.path());
    if dir.path().join("tmp").exists() {
        command.env("TMPDIR", dir.path().join("tmp"));
    }
    command.args(["-c", r#"trap "" XFSZ; exec "$@""#, "sh"]).arg(serve_support::binary());
    command.args(keeping(dialect, dir.path(), options).get_args());
    started(dialect, dir, command)
}

/// Nothing can be written: a run ends with the text, and a prompt after it is refused with it.
#[track_caller]
fn refuses(server: &mut Server, text: &str) {
    let end = server.run("Is anybody there?").pop().unwrap();
    let last = end["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["stopReason"], "error", "{end}");
    assert!(last["errorMessage"].as_str().is_some_and(|error| error.contains(text)), "{last}");
    refused(server, text);
}

/// The next prompt is refused; in some dialects it is acknowledged before that.
fn refused(server: &mut Server, text: &str) {
    server.send(json!({ "type": "prompt", "message": "And now?" }));
    let refused = server.until(|frame| frame["success"] == false).pop().unwrap();
    assert!(refused["error"].as_str().is_some_and(|error| error.contains(text)), "{refused}");
}

/// Limits how long a file may become that the server writes; `None`: no limit.
fn room(server: &Server, bytes: Option<u64>) {
    let limit = Rlimit { current: bytes, maximum: None };
    prlimit(Some(Pid::from_child(&server.child)), Resource::Fsize, limit).unwrap();
}

/// A server that may not do everything, which the user `root` may.
fn unprivileged(dir: TempDir, options: &[&str]) -> Server {
    let mut command = keeping(Pi, dir.path(), options);
    if geteuid().is_root() {
        command.uid(65534).gid(65534);
        let folder = dir.path().join(kept_support::FOLDER);
        let inside = fs::read_dir(&folder).unwrap().flatten().map(|file| file.path());
        for path in inside.chain([folder.clone(), dir.path().into()]) {
            chown(path, Some(65534), Some(65534)).unwrap();
        }
    }
    started(Pi, dir, command)
}

/// The one session file of a server.
#[track_caller]
fn only_file(server: &Server) -> PathBuf {
    let [path] = files(server.dir.path()).try_into().unwrap();
    path
}

/// A directory with a model that answers.
fn answering() -> TempDir {
    directory(&json!([{ "repeat": true, "say": [{ "text": "An answer." }] }]))
}

fn switch(server: &mut Server, path: &Path) -> Value {
    let command = json!({ "type": "switch_session", "sessionPath": path });
    server.send(command);
    server.until_type("response").pop().unwrap()
}
