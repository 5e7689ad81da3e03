//! Session files that are damaged, or no session files at all: said clearly, and nothing overwritten.

use crate::{
    kept_support::{self, directory, keeper, keeping},
    serve_support::{Server, sample, thorough},
    session_support::{HEADER, answer, file, user},
};
use pi_rpc::protocol::Dialect::Pi;
use serde_json::{Value, json};
use std::{fs, path::Path};

/// The file that is opened, in the server's directory.
const NAME: &str = "given.jsonl";

/// A damaged file, and what is expected of opening it.
struct Case {
    what: &'static str,
    bytes: Vec<u8>,
    /// What is complained of; `Err`: it cannot be opened.
    said: Result<&'static [&'static str], &'static str>,
    /// The texts of the conversation.
    told: &'static [&'static str],
    /// How many bytes are kept.
    kept: usize,
}

impl Case {
    fn refused(what: &'static str, bytes: impl Into<Vec<u8>>, text: &'static str) -> Self {
        Self { what, bytes: bytes.into(), said: Err(text), told: &[], kept: usize::MAX }
    }

    fn opened(
        what: &'static str,
        bytes: impl Into<Vec<u8>>,
        said: &'static [&'static str],
        told: &'static [&'static str],
    ) -> Self {
        Self { what, bytes: bytes.into(), said: Ok(said), told, kept: usize::MAX }
    }

    fn cut(self, kept: usize) -> Self {
        Self { kept, ..self }
    }

    /// What has to be left of the file.
    fn left(&self) -> &[u8] {
        &self.bytes[..self.kept.min(self.bytes.len())]
    }
}

fn cases() -> Vec<Case> {
    const BOTH: &[&str] = &["first", "second"];
    let (one, two) = (user("a", None, "first"), answer("b", Some("a"), "second"));
    let header = HEADER.to_owned();
    let whole = file(&[HEADER, &one, &two]);
    let crlf = whole.replace('\n', "\r\n");
    let torn = format!("{whole}{{\"type\":\"message\",\"id\":\"c\",\"par");
    vec![
        Case::opened("nothing", "", &[], &[]),
        Case::opened("a header alone", file(&[HEADER]), &[], &[]),
        Case::opened("half a header", &HEADER[..30], &["line 1 is incomplete (30 bytes)"], &[]).cut(0),
        Case::refused("no header", file(&[&one, &two]), "no header in its first line"),
        Case::refused("text", "Dear diary,\ntoday\n", "no header in its first line"),
        Case::refused("an image", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(), "no header in its first line"),
        Case::opened(
            "garbage in the middle",
            file(&[&header, &one, &"\u{1}garbage".to_owned(), &"[]".to_owned(), &two]),
            &["given.jsonl: lines 3, 4 passed over: no JSON object"],
            BOTH,
        ),
        Case::opened(
            "a damaged entry between others",
            file(&[&header, &one, &two[..two.len() - 9].to_owned(), &user("c", Some("b"), "third")]),
            &["line 3 passed over", "entry c: its parent b is missing (line 3 is damaged)"],
            &["first", "third"],
        ),
        Case::opened(
            "an entry without an id",
            file(&[HEADER, r#"{"type":"message"}"#, &one, &two]),
            &["line 2 passed over"],
            BOTH,
        ),
        Case::opened(
            "parents in a circle",
            file(&[HEADER, &user("a", Some("b"), "first"), &two]),
            &["entry a: its parents go round in a circle"],
            BOTH,
        ),
        Case::opened(
            "a missing parent",
            file(&[HEADER, &one, &answer("b", Some("gone"), "second")]),
            &["entry b: its parent gone is missing"],
            &["second"],
        ),
        Case::opened(
            "ids that come twice",
            file(&[&header, &user("a", None, "older"), &one, &two]),
            &["line 3: an id that an earlier line has"],
            BOTH,
        ),
        Case::opened("no line feed at the end", whole.trim_end(), &[], BOTH),
        Case::opened("a torn last line", torn, &["line 4 is incomplete"], BOTH).cut(whole.len()),
        Case::opened("lines that end with CR LF", crlf, &[], BOTH),
        Case::opened(
            "bytes that are no UTF-8",
            [whole.as_bytes(), &file(&[&user("c", Some("b"), "<?>")]).into_bytes()]
                .concat()
                .into_iter()
                .map(|byte| if byte == b'?' { 0xff } else { byte })
                .collect::<Vec<_>>(),
            &["line 4: "],
            &["first", "second", "<\u{fffd}>"],
        ),
    ]
}

#[test]
fn damaged_file_opens_or_not_at_start() {
    for case in sample(cases(), 2) {
        let dir = answering();
        fs::write(dir.path().join(NAME), &case.bytes).unwrap();
        match case.said {
            Err(text) => {
                let command = keeping(Pi, dir.path(), &["--session", &format!("./{NAME}")]);
                let ended = Server::start(Pi, dir, command).ends();
                assert_eq!(ended.status.code(), Some(1), "{}", case.what);
                assert!(ended.stderr.contains(text), "{}: {}", case.what, ended.stderr);
                assert!(ended.stderr.contains(NAME), "{}: {}", case.what, ended.stderr);
                assert!(fs::read(ended.dir.path().join(NAME)).unwrap() == case.bytes, "{}", case.what);
            }
            Ok(_) => goes_on(keeper(Pi, dir, &["--session", &format!("./{NAME}")]), &case),
        }
    }
}

#[test]
fn damaged_file_opens_or_not_by_switch() {
    // Those that the start leaves out.
    let skipped = if thorough() { 0 } else { 1 };
    for case in sample(cases().into_iter().skip(skipped), 2) {
        let mut server = keeper(Pi, answering(), &[]);
        let path = server.path(NAME);
        fs::write(&path, &case.bytes).unwrap();
        let response = switch(&mut server, &path);
        match case.said {
            Err(text) => {
                let error = response["error"].as_str().unwrap_or_else(|| panic!("{}: {response}", case.what));
                assert!(error.contains(text) && error.contains(NAME), "{}: {error}", case.what);
                assert!(fs::read(&path).unwrap() == case.bytes, "{}", case.what);
                // The session that was open is open still.
                server.run("Hello.");
                server.finishes();
            }
            Ok(_) => {
                assert_eq!(response["success"], true, "{}: {response}", case.what);
                goes_on(server, &case);
            }
        }
    }
}

#[test]
fn folders_and_pipes_are_refused() {
    let dir = answering();
    fs::create_dir(dir.path().join("folder.jsonl")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("pipe.jsonl")).status().unwrap();
    assert!(made.success());
    let mut server = keeper(Pi, dir, &[]);
    for (path, text) in [
        (server.path("folder.jsonl"), "not a regular file"),
        (server.path("pipe.jsonl"), "not a regular file"),
        ("/dev/null".into(), "not a regular file"),
        ("/proc/self/mem".into(), "Cannot open session file"),
        (server.path("script.json").join("under"), "Cannot open session file"),
    ] {
        let error = switch(&mut server, &path)["error"].take();
        assert!(error.as_str().is_some_and(|error| error.contains(text)), "{}: {error}", path.display());
    }
    let dir = server.finishes();
    for name in ["./folder.jsonl", "./pipe.jsonl", "/dev/null", "nonesuch"] {
        let command = keeping(Pi, dir.path(), &["--session", name]);
        let output = command_output(command);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{name}");
    }
}

#[test]
fn missing_session_file_is_created() {
    for by_switch in [false, true] {
        let dir = answering();
        let path = dir.path().join("new folder").join(NAME);
        let mut server = match by_switch {
            true => {
                let mut server = keeper(Pi, dir, &[]);
                assert_eq!(switch(&mut server, &path)["success"], true);
                server
            }
            false => keeper(Pi, dir, &["--session", path.to_str().unwrap()]),
        };
        assert!(!path.exists());
        server.run("Hello.");
        kept_support::agrees(&mut server, &path);
        server.finishes();
    }
}

#[test]
fn continue_skips_damaged_files() {
    let dir = answering();
    let folder = dir.path().join(kept_support::FOLDER);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("good.jsonl"), file(&[HEADER, &user("a", None, "first")])).unwrap();
    fs::write(folder.join("text.jsonl"), "Dear diary,\n").unwrap();
    fs::write(folder.join("empty.jsonl"), "").unwrap();
    fs::create_dir(folder.join("folder.jsonl")).unwrap();
    let mut server = keeper(Pi, dir, &["--continue"]);
    assert_eq!(texts(&mut server), ["first"]);
    server.finishes();
}

#[test]
fn twenty_megabyte_line_is_read() {
    let dir = answering();
    let path = dir.path().join(NAME);
    let long = "wide ".repeat(4_000_000);
    fs::write(&path, file(&[HEADER, &user("a", None, &long), &answer("b", Some("a"), "second")])).unwrap();
    let before = fs::read(&path).unwrap();
    let mut server = keeper(Pi, dir, &["--session", path.to_str().unwrap()]);
    let told = texts(&mut server);
    assert!(told.len() == 2 && told[0] == long, "{:?}", told.iter().map(String::len).collect::<Vec<_>>());
    server.data(json!({ "type": "set_session_name", "name": "Long" }));
    assert!(fs::read(&path).unwrap().starts_with(&before));
    server.finishes();
}

/// What a server says of a file that it has taken up, and does to it.
fn goes_on(mut server: Server, case: &Case) {
    let (what, path) = (case.what, server.path(NAME));
    assert_eq!(texts(&mut server), case.told, "{what}");
    assert!(fs::read(&path).unwrap() == case.left(), "{what}: the file is another one");
    server.run("Hello.");
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(case.left()), "{what}: an earlier byte was changed");
    let told = texts(&mut server);
    assert_eq!(told, [case.told, &["Hello.", "An answer."]].concat(), "{what}");
    server.close_stdin();
    let ended = server.ends();
    assert_eq!(ended.status.code(), Some(0), "{what}");
    // The files name models that are not here.
    let is_of_file = |line: &&str| !line.contains("Could not restore model");
    let complaints: Vec<&str> = ended.stderr.lines().filter(is_of_file).collect();
    let expected = case.said.unwrap_or_default();
    let fit = complaints.iter().zip(expected).all(|(line, text)| line.contains(text));
    assert!(fit && complaints.len() == expected.len(), "{what}: {complaints:?}");
    // And again: it says the same.
    let mut server = keeper(Pi, ended.dir, &["--session", &format!("./{NAME}")]);
    assert_eq!(texts(&mut server), told, "{what}");
}

/// A directory with a model that answers.
fn answering() -> tempfile::TempDir {
    directory(&json!([{ "repeat": true, "say": [{ "text": "An answer." }] }]))
}

fn switch(server: &mut Server, path: &Path) -> Value {
    server.ask("switch", json!({ "type": "switch_session", "sessionPath": path }))
}

/// What was said, as the server has it.
fn texts(server: &mut Server) -> Vec<String> {
    let messages = server.data(json!({ "type": "get_messages" }))["messages"].take();
    let text = |message: &Value| message["content"][0]["text"].as_str().unwrap().to_owned();
    messages.as_array().unwrap().iter().map(text).collect()
}

fn command_output(mut command: std::process::Command) -> std::process::Output {
    command.stdin(std::process::Stdio::null()).output().unwrap()
}
