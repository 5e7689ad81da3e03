//! What was switched off stays off: `--tools`, `--exclude-tools`, `--no-tools` and `defaultTools` decide what the model is
//! offered, and an entry that takes away and matches nothing is no session.

use crate::serve_support::{
    FakeVendor, Server, at_once, binary, command, pairs, start, write_agent_file, write_models_file,
};
use pi_rpc::protocol::Dialect::{self, Pi, Pi1, Pi073, Xcsh};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// The dialects whose tools have the same names.
const DIALECTS: [Dialect; 4] = [Pi, Pi073, Pi1, Xcsh];

/// An extension with a tool `deploy`, and in pi 1 an inactive one, `peek`.
const EXTENSION: &str = r#"#!/bin/sh
read -r hello
echo '{"type":"register","hooks":["session_start"],"tools":[
{"name":"deploy","description":"Deploys.","parameters":{"type":"object"}},
{"name":"peek","description":"Peeks.","parameters":{"type":"object"},"inactive":true}]}' | tr -d '\n'
echo
while read -r line; do
  case $line in
    *session_start*)
      id=${line#*'"id":"'} id=${id%%'"'*}
      CHOOSE
      echo '{"type":"done","id":"'$id'"}';;
  esac
done
"#;

/// Chooses tools by their names, whatever is switched off.
const CHOOSE: &str = r#"echo '{"type":"set_active_tools","names":["read","bash","grep","deploy"]}'"#;

/// How a server is started.
#[derive(Clone, Default)]
struct Case<'a> {
    settings: Value,
    options: &'a [&'a str],
    /// What the extension does; `None`: there is none.
    extension: Option<&'a str>,
}

/// The directory of a server, with a vendor's model and the files of the case.
fn directory(dialect: Dialect, vendor: &FakeVendor, case: &Case<'_>) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_model(dir.path(), dialect, vendor);
    if !case.settings.is_null() {
        write_agent_file(dir.path(), dialect, "settings.json", &case.settings);
    }
    if let Some(does) = case.extension {
        executable(&dir.path().join("extension"), &EXTENSION.replace("CHOOSE", does));
    }
    dir
}

/// Writes the configuration of the vendor's model.
fn write_model(home: &Path, dialect: Dialect, vendor: &FakeVendor) {
    let models = json!({ "providers": { "fake": {
        "baseUrl": format!("http://{}", vendor.address), "apiKey": "fake-key", "api": "anthropic-messages",
        "models": [{ "id": "model", "contextWindow": 200_000, "maxTokens": 8000 }],
    } } });
    write_models_file(home, dialect, &models);
}

/// Writes an executable. A process of its own does so: a descriptor of ours would be inherited for a moment by whatever
/// another test starts, and a file that somebody writes cannot be executed.
fn executable(path: &Path, content: &str) {
    let mut writer = Command::new("sh");
    writer.args(["-c", "cat > \"$0\" && chmod +x \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut writer = writer.spawn().unwrap();
    writer.stdin.take().unwrap().write_all(content.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}

/// The names of the tools in the vendor's last request.
fn requested(vendor: &FakeVendor) -> Vec<String> {
    let tools = vendor.journal.received().pop().expect("a request").body["tools"].take();
    let names = tools.as_array().into_iter().flatten();
    names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn options<'a>(case: &Case<'a>) -> Vec<&'a str> {
    let extension: &[&str] = if case.extension.is_some() { &["-e", "./extension"] } else { &[] };
    [&["--model", "fake/model"], extension, case.options].concat()
}

/// The names of the tools that the model is offered.
fn offered(dialect: Dialect, case: &Case<'_>) -> Vec<String> {
    let vendor = FakeVendor::plays(&json!({ "turns": [{ "say": [{ "text": "Well." }] }] }));
    let mut server = start(dialect, directory(dialect, &vendor, case), &options(case));
    server.run("go");
    server.close_stdin();
    requested(&vendor)
}

/// The status and the words of a server that does not start.
fn refusal(dialect: Dialect, case: &Case<'_>) -> (Option<i32>, String) {
    let vendor = FakeVendor::plays(&json!({ "turns": [] }));
    let dir = directory(dialect, &vendor, case);
    let mut command = command(binary(), dir.path());
    command.args(["--mode", "rpc", "--no-session", "--dialect", dialect.as_str()]).args(options(case));
    let ended = command.stdin(Stdio::null()).output().unwrap();
    let words = String::from_utf8(ended.stderr).unwrap().replace(dir.path().to_str().unwrap(), "~");
    (ended.status.code(), words.lines().last().unwrap_or_default().to_owned())
}

fn given<'a>(options: &'a [&'a str]) -> Case<'a> {
    Case { options, ..Case::default() }
}

#[test]
fn options_select_tools_in_every_dialect() {
    let everywhere: [(&[&str], &[&str]); 5] = [
        (&[], &["read", "bash", "edit", "write"]),
        (&["--tools", "l*,r*"], &["read", "ls"]),
        (&["--tools", "+grep,-bash"], &["read", "edit", "write", "grep"]),
        (&["-xt", "b*,e*,w*"], &["read"]),
        (&["-nt"], &[]),
    ];
    let cases: [(&[&str], &[&str]); 14] = [
        (&["--tools", "read,grep"], &["read", "grep"]),
        (&["--tools", "*"], &["read", "bash", "edit", "write", "grep", "find", "ls"]),
        (&["--tools", ""], &[]),
        (&["--tools", " read , ls "], &["read", "ls"]),
        (&["--tools", "READ"], &[]),
        (&["--tools", "read", "--tools", "ls"], &["ls"]),
        (&["-t=read"], &["read"]),
        (&["--tools", "+grep"], &["read", "bash", "edit", "write", "grep"]),
        (&["--tools", "-bash,-write"], &["read", "edit"]),
        (&["--tools", "+grep,-grep"], &["read", "bash", "edit", "write"]),
        (&["-xt=bash", "-xt", "edit"], &["read", "write"]),
        (&["-xt", "*"], &[]),
        (&["--tools", "read,bash", "-xt", "bash"], &["read"]),
        (&["-nbt", "--tools", "+read"], &["read"]),
    ];
    let all = pairs(&DIALECTS, &everywhere).into_iter().chain(pairs(&[Pi1], &cases));
    at_once(all, |(dialect, (options, expected))| {
        let mut names = offered(dialect, &given(options));
        // xcsh's list of todos is a built-in tool, too.
        names.retain(|name| name != "todo_write");
        assert_eq!(names, expected, "{dialect} {options:?}");
    });
}

#[test]
fn options_reach_tools_of_extensions() {
    let cases: [(&str, &[&str], &[&str]); 11] = [
        ("", &[], &["read", "bash", "edit", "write", "deploy"]),
        ("", &["--tools", "read"], &["read"]),
        ("", &["--tools", "read,p*"], &["read", "peek"]),
        ("", &["--tools", "+peek,-deploy"], &["read", "bash", "edit", "write", "peek"]),
        ("", &["-xt", "d*"], &["read", "bash", "edit", "write"]),
        ("", &["-nt"], &[]),
        ("", &["-nt", "--tools", "read"], &["read"]),
        ("", &["-nbt"], &["deploy"]),
        (CHOOSE, &["--tools", "read"], &["read"]),
        (CHOOSE, &["-xt", "bash,deploy"], &["read", "grep"]),
        (CHOOSE, &["--tools", "-bash"], &["read", "grep", "deploy"]),
    ];
    at_once(cases.into_iter(), |(does, options, expected)| {
        let case =
            Case { options, extension: Some(if does.is_empty() { ":" } else { does }), ..Case::default() };
        let mut names = offered(Pi1, &case);
        names.sort_unstable();
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        assert_eq!(names, expected, "{options:?} {does}");
    });
}

#[test]
fn default_tools_are_those_of_settings() {
    let cases: [(Value, &[&str], &[&str]); 10] = [
        (json!(["read", "ls"]), &[], &["read", "ls"]),
        (json!([]), &[], &[]),
        (json!(["+grep"]), &[], &["read", "bash", "edit", "write", "grep"]),
        (json!(["-bash", "-write"]), &[], &["read", "edit"]),
        (json!(["read", "-read", "+ls"]), &[], &["ls"]),
        (json!(["READ"]), &[], &[]),
        (json!(["+codemode", "+powershell"]), &[], &["read", "bash", "edit", "write"]),
        (json!(["read"]), &["--tools", "ls"], &["ls"]),
        (json!(["read"]), &["--tools", "+ls"], &["read", "ls"]),
        (json!(["read", "bash"]), &["-xt", "b*"], &["read"]),
    ];
    let all = pairs(&[Pi1], &cases).into_iter().chain(pairs(&[Pi, Pi073, Xcsh], &cases[..4]));
    at_once(all, |(dialect, (tools, options, expected))| {
        let case = Case { settings: json!({ "defaultTools": tools }), options, ..Case::default() };
        let mut names = offered(dialect, &case);
        names.retain(|name| name != "todo_write");
        assert_eq!(names, expected, "{dialect} {tools} {options:?}");
    });
    let of_extension =
        Case { settings: json!({ "defaultTools": [] }), extension: Some(":"), ..Case::default() };
    assert_eq!(offered(Pi1, &of_extension), ["deploy"]);
}

#[test]
fn project_narrows_and_widens_only_approved() {
    let cases: [(Value, &[&str], &[&str]); 5] = [
        (json!(["+bash"]), &["-a"], &["read", "bash"]),
        (json!(["bash"]), &["-a"], &["bash"]),
        (json!([]), &["-a"], &[]),
        (json!(["+bash"]), &[], &["read"]),
        (json!(["bash"]), &["-na"], &["read"]),
    ];
    at_once(cases.into_iter(), |(project, options, expected)| {
        let settings = json!({ "defaultTools": ["read"] });
        let vendor = FakeVendor::plays(&json!({ "turns": [{ "say": [{ "text": "Well." }] }] }));
        let dir = directory(Pi1, &vendor, &Case { settings, ..Case::default() });
        let work = dir.path().join("work");
        fs::create_dir_all(work.join(".pi")).unwrap();
        fs::write(work.join(".pi/settings.json"), json!({ "defaultTools": project }).to_string()).unwrap();
        let mut command = command(binary(), dir.path());
        command.args(["serve", "--no-session", "--dialect", "pi-1", "--model", "fake/model"]).args(options);
        command.current_dir(work);
        let mut server = Server::start(Pi1, dir, command);
        server.run("go");
        server.close_stdin();
        let names = requested(&vendor);
        // A project that is not trusted takes nothing away that the user has not taken, either.
        let is_open = options.is_empty() || options == ["-na"];
        let narrowed = is_open && names.is_empty();
        assert!(narrowed || names == expected, "{project} {options:?}: {names:?}");
    });
}

#[test]
fn entry_that_removes_nothing_is_refused() {
    let cases: [(&[&str], Value, &str); 8] = [
        (&["-xt", "bahs"], Value::Null, "--exclude-tools: no tool matches \"bahs\""),
        (&["-xt", "read,BASH"], Value::Null, "--exclude-tools: no tool matches \"BASH\""),
        (&["-xt", "x*"], Value::Null, "--exclude-tools: no tool matches \"x*\""),
        (&["--tools", "read", "-xt", "bahs"], Value::Null, "--exclude-tools: no tool matches \"bahs\""),
        (&["--tools", "-bahs"], Value::Null, "--tools: no tool matches \"bahs\""),
        (&[], json!(["-bahs"]), "defaultTools: no tool matches \"bahs\""),
        (&[], json!(["read", "-b*"]), "defaultTools[1]: expected a list of names of tools (no patterns)"),
        (&["-nt", "-xt", "bahs"], Value::Null, "--exclude-tools: no tool matches \"bahs\""),
    ];
    let extended = pairs(&[(Pi1, Some(":")), (Xcsh, Some(":"))], &cases[..2]);
    let all =
        pairs(&[(Pi1, None)], &cases).into_iter().chain(pairs(&[(Pi, None), (Xcsh, None)], &cases[..6]));
    at_once(all.chain(extended), |((dialect, extension), (options, tools, text))| {
        let settings = if tools.is_null() { Value::Null } else { json!({ "defaultTools": tools }) };
        let (status, words) = refusal(dialect, &Case { settings, options, extension });
        assert_eq!(status, Some(2), "{dialect} {options:?} {extension:?}: {words}");
        assert!(words.contains(text), "{dialect} {options:?} {extension:?}: {words}");
    });
}

#[test]
fn entry_that_adds_nothing_warns() {
    let cases: [(&[&str], Value); 3] = [
        (&["--tools", "read,nothere"], Value::Null),
        (&["--tools", "+nothere"], Value::Null),
        (&[], json!(["+nothere"])),
    ];
    at_once(pairs(&[Pi, Pi1], &cases).into_iter(), |(dialect, (options, tools))| {
        let settings = if tools.is_null() { Value::Null } else { json!({ "defaultTools": tools }) };
        let (status, words) = refusal(dialect, &Case { settings, options, ..Case::default() });
        assert_eq!(status, Some(0), "{dialect} {options:?} {tools}: {words}");
        assert!(words.contains("no tool matches \"nothere\""), "{dialect} {options:?} {tools}: {words}");
    });
}

#[test]
fn wrong_lists_are_refused() {
    let cases: [(&[&str], i32, &str); 14] = [
        (&["--tools", "read,-bash"], 1, "--tools: tool names cannot be mixed with +name or -name entries"),
        (
            &["--tools", "+r*"],
            1,
            "--tools: +name and -name entries take exact tool names, not patterns, got +r*",
        ),
        (&["--tools", "-"], 1, "--tools: +name and -name entries take exact tool names, not patterns, got -"),
        (&["-xt", ""], 2, "--exclude-tools: got \"\", expected names of tools"),
        (&["-xt", " , "], 2, "--exclude-tools: got \" , \", expected names of tools"),
        (&["-xt", "-bash"], 2, "--exclude-tools: got \"-bash\", expected names of tools"),
        (&["--tools"], 1, "missing argument for option '--tools'"),
        (&["--no-tools=false"], 2, "unexpected argument"),
        (&["-nt=false"], 2, "unexpected argument"),
        (&["-xtbash"], 1, "-x: unknown; did you mean -xt"),
        (&["--exclude-tool", "bash"], 2, "--exclude-tool: unknown; did you mean --exclude-tools?"),
        (&["--no-tool"], 2, "--no-tool: unknown; did you mean --no-tools?"),
        (&["--confirm-tool", "bash"], 2, "--confirm-tool: unknown; did you mean --confirm-tools?"),
        (&["--no-builtin-tool"], 2, "--no-builtin-tool: unknown; did you mean --no-builtin-tools?"),
    ];
    at_once(cases.into_iter(), |(options, status, text)| {
        let (code, words) = refusal(Pi1, &given(options));
        assert_eq!(code, Some(status), "{options:?}: {words}");
        assert!(words.contains(text), "{options:?}: {words}");
    });
}

#[test]
fn wrong_narrowing_settings_are_refused() {
    let expected = "expected a list of names of tools (no patterns), or of names behind + or -";
    let cases = [
        (json!({ "defaultTools": "read" }), format!("defaultTools: {expected}, got \"read\"")),
        (json!({ "defaultTools": null }), format!("defaultTools: {expected}, got null")),
        (json!({ "defaultTools": 3 }), format!("defaultTools: {expected}, got 3")),
        (
            json!({ "defaultTools": { "read": true } }),
            format!("defaultTools: {expected}, got {{\"read\":true}}"),
        ),
        (json!({ "defaultTools": ["read", 3] }), format!("defaultTools[1]: {expected}, got 3")),
        (json!({ "defaultTools": [" "] }), format!("defaultTools[0]: {expected}, got \" \"")),
        (json!({ "defaultTools": ["-"] }), format!("defaultTools[0]: {expected}, got \"-\"")),
        (
            json!({ "enabledModels": "opus" }),
            "enabledModels: expected a list of patterns, got \"opus\"".to_owned(),
        ),
        (
            json!({ "images": { "blockImages": "yes" } }),
            "images.blockImages: expected true or false, got \"yes\"".to_owned(),
        ),
        (
            json!({ "defaultProjectTrust": "nevr" }),
            "defaultProjectTrust: expected \"ask\", \"always\" or \"never\", got \"nevr\"".to_owned(),
        ),
    ];
    let all = pairs(&[Pi1], &cases).into_iter().chain(pairs(&[Pi, Xcsh], &cases[..2]));
    at_once(all, |(dialect, (settings, text))| {
        let (status, words) = refusal(dialect, &Case { settings: settings.clone(), ..Case::default() });
        assert_eq!(status, Some(2), "{dialect} {settings}: {words}");
        assert!(words.ends_with(&format!("settings.json: {text}")), "{dialect} {settings}: {words}");
    });
}

#[test]
fn unreadable_settings_that_narrow_are_refused() {
    let vendor = FakeVendor::plays(&json!({ "turns": [] }));
    for (text, status) in [("{ \"defaultTools\": [\"read\",], }", Some(2)), ("{ \"theme\": }", Some(0))] {
        let dir = directory(Pi1, &vendor, &Case::default());
        fs::write(dir.path().join(".pi/agent/settings.json"), text).unwrap();
        let mut command = command(binary(), dir.path());
        command.args(["serve", "--no-session", "--dialect", "pi-1", "--model", "fake/model"]);
        let ended = command.stdin(Stdio::null()).output().unwrap();
        let words = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), status, "{text}: {words}");
        assert_eq!(words.contains("names defaultTools"), status == Some(2), "{words}");
    }
}

#[test]
fn excluded_tool_of_the_host_stays_off() {
    let script = json!({ "turns": [{ "say": [{ "text": "Well." }] }] });
    let mut server = Server::script_with(Xcsh, script, &["-xt", "w*"]);
    let tool =
        json!({ "name": "weather", "description": "Tells the weather.", "parameters": { "type": "object" } });
    server.send(json!({ "type": "set_host_tools", "tools": [tool] }));
    let response = server.until_type("response").pop().unwrap();
    assert_eq!(response["success"], false, "{response}");
    let text = "Host tool \"weather\" is excluded by the options of this server";
    assert!(response["error"].as_str().unwrap().contains(text), "{response}");
    server.finishes();
}

#[test]
fn resumed_session_stays_without_tools() {
    let turns = json!([{ "say": [{ "text": "Well." }] }, { "say": [{ "text": "Well." }] }, { "say": [{ "text": "Well." }] },
        { "say": [{ "text": "Well." }] }]);
    let mut dir = tempfile::tempdir().unwrap();
    let cases: [(&[&str], &[&str]); 4] = [
        (&["--tools", "read"], &["read"]),
        (&["-c"], &["read"]),
        (&["-c", "--tools", "+grep"], &["read", "grep"]),
        (&["-c", "--tools", "read,bash"], &["read", "bash"]),
    ];
    for (options, expected) in cases {
        let vendor = FakeVendor::plays(&json!({ "turns": turns }));
        write_model(dir.path(), Pi1, &vendor);
        let mut command = command(binary(), dir.path());
        command.args(["serve", "--dialect", "pi-1", "--model", "fake/model"]).args(options);
        let mut server = Server::start(Pi1, dir, command);
        server.run("go");
        server.until_type("agent_settled");
        assert_eq!(requested(&vendor), expected, "{options:?}");
        dir = server.finishes();
    }
}
