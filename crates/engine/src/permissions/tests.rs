//! What permissions cover: no more than they say, and nothing that is in doubt.

use super::*;
use serde_json::json;

fn call(tool: &str, arguments: Value) -> GuardedCall {
    let Value::Object(arguments) = arguments else { panic!("arguments") };
    GuardedCall {
        tool: tool.to_owned(),
        is_own_tool: true,
        arguments,
        session: "s1".to_owned(),
        directory: "/work".into(),
    }
}

fn command(text: &str) -> GuardedCall {
    call("bash", json!({ "command": text }))
}

fn permission(tool: &str, covers: Coverage) -> Permission {
    Permission { tool: tool.to_owned(), covers, scope: PermissionScope::Project("/work".into()) }
}

fn prefix(words: &[&str]) -> Permission {
    permission("bash", Coverage::CommandPrefix(words.iter().map(|it| (*it).to_owned()).collect()))
}

fn covers(permission: &Permission, call: &GuardedCall) -> bool {
    permission.covers(call, call.path().as_deref())
}

/// Commands that are more than `git status` with arguments, or may be.
const COMPOUND: [&str; 44] = [
    "git status && rm -rf /",
    "git status&&rm x",
    "git status; rm x",
    "git status;rm x",
    "git status | sh",
    "git status |& sh",
    "git status || rm x",
    "git status & rm x",
    "git status &",
    "git status\nrm x",
    "git status\r\nrm x",
    "git status > /etc/passwd",
    "git status >> x",
    "git status >x",
    "git status 2>x",
    "git status 2>&1",
    "git status < x",
    "git status <<< x",
    "git status << X",
    "git status $(rm x)",
    "git status \"$(rm x)\"",
    "git status `rm x`",
    "git status \"`rm x`\"",
    "git status $HOME",
    "git status \"$HOME\"",
    "git status ${x:=y}",
    "git status <(rm x)",
    "git status >(rm x)",
    "git status $'a'",
    "git status $((1))",
    "git status {a,b}",
    "git status *",
    "git status ?",
    "git status [a]",
    "git status ~",
    "git status !x",
    "git status \\\nrm",
    "git status \\; rm",
    "git status # x",
    "(git status)",
    "{ git status; }",
    "! git status",
    "git status 'a",
    "git status \"a",
];

#[test]
fn compound_command_is_never_covered() {
    for text in COMPOUND {
        assert_eq!(command(text).words(), None, "{text:?}");
        assert!(!covers(&prefix(&["git", "status"]), &command(text)), "{text:?}");
        assert!(!covers(&prefix(&["git"]), &command(text)), "{text:?}");
        assert_eq!(offers(&command(text)).len(), 2, "{text:?}");
    }
}

#[test]
fn every_special_byte_is_in_doubt() {
    for letter in (0..=127).map(char::from) {
        let text = format!("git status a{letter}b");
        let is_plain = letter.is_ascii_alphanumeric() || "_-./:,=+@% \t".contains(letter);
        assert_eq!(command(&text).words().is_some(), is_plain, "{text:?}");
    }
}

#[test]
fn prefix_goes_by_words() {
    let status = prefix(&["git", "status"]);
    for text in ["git status", "git  status a", "git status 'a b' \"c\"", "git\tstatus", "'git' status"] {
        assert!(covers(&status, &command(text)), "{text:?}");
    }
    for text in ["git statusx", "git", "X=1 git status", "./git status", "", "git push", "git -c a=b status"]
    {
        assert!(!covers(&status, &command(text)), "{text:?}");
    }
}

#[test]
fn exact_command_covers_itself_alone() {
    let exact = permission("bash", Coverage::Command(vec!["make".to_owned(), "all".to_owned()]));
    assert!(covers(&exact, &command("make  'all'")));
    assert!(!covers(&exact, &command("make all SHELL=x")));
    assert!(!covers(&exact, &command("make")));
}

#[test]
fn other_arguments_are_in_doubt() {
    for arguments in [
        json!({ "command": "git status", "cwd": "/" }),
        json!({ "command": "git status", "env": {} }),
        json!({ "command": ["git", "status"] }),
        json!({}),
    ] {
        assert!(!covers(&prefix(&["git", "status"]), &call("bash", arguments.clone())), "{arguments}");
    }
    let timed = call("bash", json!({ "command": "git status", "timeout": 5 }));
    assert!(covers(&prefix(&["git", "status"]), &timed));
}

/// Commands that run others, or write files, though they begin with words that are offered.
const HIDDEN_RUNS: [&str; 19] = [
    "git fetch --upload-pack='sh -c evil' .",
    "git fetch ext::sh",
    "git fetch evil.org:repo",
    "git fetch https://evil.org/repo",
    "git grep -O'sh -c evil' x",
    "git diff --ext-diff",
    "git log --output=/etc/passwd",
    "git push --receive-pack=evil .",
    "git push origin +main",
    "git push origin :main",
    "git status -s",
    "go test -exec evil ./x",
    "go build -toolexec evil",
    "go vet -vettool=evil",
    "cargo build --config build.rustc=evil",
    "cargo test +evil",
    "npm run test -- evil",
    "npm test --script-shell=evil",
    "ls ''",
];

#[test]
fn prefix_covers_plain_words_alone() {
    for text in HIDDEN_RUNS {
        let words = command(text).words().unwrap();
        for count in 1..words.len() {
            let first = permission("bash", Coverage::CommandPrefix(words[..count].to_vec()));
            assert!(!covers(&first, &command(text)), "{text} {count}");
        }
        assert_eq!(words::prefix(&words), None, "{text}");
        let offered = offers(&command(text));
        assert_eq!(offered[2].1.covers, Coverage::Command(words), "{text}: the very command is offered");
    }
}

#[test]
fn runners_have_no_prefix() {
    for text in [
        "sh -c x",
        "sudo ls",
        "/usr/bin/env ls",
        "python3 x",
        "find a",
        "git config core.pager evil",
        "git rebase main",
        "git submodule foreach evil",
        "git bisect run evil",
        "npm exec x",
        "npm config set script-shell evil",
        "yarn evil",
        "go run x",
        "go generate",
        "cargo run x",
        "gh alias set x evil",
        "mytool x",
    ] {
        let words = command(text).words().unwrap();
        for count in 1..=words.len() {
            let first = permission("bash", Coverage::CommandPrefix(words[..count].to_vec()));
            assert!(!covers(&first, &command(text)), "{text} {count}");
        }
        assert_eq!(words::prefix(&words), None, "{text}");
    }
    assert!(!covers(&prefix(&[]), &command("ls")));
}

#[test]
fn offered_prefixes_are_short() {
    let offered = |text: &str| words::prefix(&command(text).words().unwrap()).map(|words| words.join(" "));
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(offered("git status src"), some("git status"));
    assert_eq!(offered("npm run test x"), some("npm run test"));
    assert_eq!(offered("ls /etc"), some("ls"));
    for text in ["rm x", "git -c a=b status", "npm exec x", "npm install x", "git", "./ls", "npm run"] {
        assert_eq!(offered(text), None, "{text}");
    }
}

#[test]
fn path_covers_what_lies_below() {
    let below = permission("write", Coverage::Path("/work/src".into()));
    let writes = |path: &str| call("write", json!({ "path": path, "content": "" }));
    for path in ["src/a", "/work/src/a/b", "./src/a", "src"] {
        assert!(covers(&below, &writes(path)), "{path}");
    }
    for path in ["src/../a", "/work/srcs/a", "~/src/a", "@src/a", "", "src/a\nb", "a"] {
        assert!(!covers(&below, &writes(path)), "{path:?}");
    }
    assert!(!below.covers(&writes("src/a"), Some(Path::new("/etc/passwd"))), "a link leads out");
    assert!(!below.covers(&writes("src/a"), None), "it cannot be resolved");
    assert!(!covers(&below, &call("edit", json!({ "path": "src/a" }))), "another tool");
    let moved = call("write", json!({ "path": "src/a", "content": "", "cwd": "/" }));
    assert!(!covers(&below, &moved), "another argument");
}

#[test]
fn host_is_compared_whole() {
    let docs = permission("fetch", Coverage::Host("docs.rs".to_owned()));
    let fetch = |url: &str| call("fetch", json!({ "url": url }));
    for url in ["https://docs.rs", "http://docs.rs/a?b#c", "https://DOCS.rs:443/", "https://docs.rs./"] {
        assert!(covers(&docs, &fetch(url)), "{url}");
    }
    for url in [
        "https://docs.rs.evil.org/",
        "https://docs.rs@evil.org/",
        "https://docs.rs:pw@evil.org/",
        "https://docs.rs\\@evil.org/",
        "https://docs.rs:8080/",
        "https://evil.org/docs.rs",
        "https://evil.org#docs.rs",
        "file://docs.rs/",
        "//docs.rs/",
        "docs.rs",
        "https://",
        " https://docs.rs",
        "https://docs.rs\n",
    ] {
        assert!(!covers(&docs, &fetch(url)), "{url:?}");
    }
    for other in [
        json!("https://evil.org"),
        json!("https:evil.org"),
        json!("evil.org:8080"),
        json!(["evil.org"]),
        json!({ "host": "evil.org" }),
    ] {
        let two = call("fetch", json!({ "url": "https://docs.rs/", "proxy": other }));
        assert!(!covers(&docs, &two), "{two:?}");
    }
    assert!(covers(&docs, &call("fetch", json!({ "url": "https://docs.rs/", "timeout": 5, "raw": true }))));
}

#[test]
fn scope_is_session_or_project() {
    let of = |scope| Permission { tool: "bash".to_owned(), covers: Coverage::All, scope };
    assert!(covers(&of(PermissionScope::Session("s1".to_owned())), &command("x | y")));
    assert!(!covers(&of(PermissionScope::Session("s2".to_owned())), &command("x | y")));
    assert!(!covers(&of(PermissionScope::Project("/work/a".into())), &command("x")));
    assert!(!covers(&of(PermissionScope::Project("/".into())), &command("x")));
}

#[test]
fn foreign_tools_have_no_paths_and_commands() {
    for (tool, arguments) in
        [("bash", json!({ "command": "git status" })), ("read", json!({ "path": "a/b" }))]
    {
        let foreign = GuardedCall { is_own_tool: false, ..call(tool, arguments) };
        assert_eq!(offers(&foreign).len(), 2, "{tool}");
    }
}

#[test]
fn offers_name_tool_part_and_scope() {
    let texts = |call: &GuardedCall| offers(call).into_iter().map(|(text, _)| text).collect::<Vec<_>>();
    assert_eq!(
        texts(&command("git status src")),
        [
            "Allow for this session",
            "Always allow bash in this project",
            "Allow commands without options that begin with \"git status\" for this session",
            "Always allow commands without options that begin with \"git status\" in this project",
        ]
    );
    assert_eq!(
        texts(&call("write", json!({ "path": "src/a" })))[3],
        "Always allow write below /work/src in this project"
    );
    assert_eq!(
        texts(&call("fetch", json!({ "url": "https://docs.rs/a" })))[3],
        "Always allow fetch at docs.rs in this project"
    );
    assert_eq!(texts(&command("make all"))[3], "Always allow the command \"make all\" in this project");
}
