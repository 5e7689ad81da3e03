//! Scripts of `codemode`: what they call, what they put out, and what they cannot do.

use crate::{
    mcp::{ANSWER, call, ends, entry, finish, shell_server, start},
    serve_support::{Server, of_type},
};
use pi_rpc::protocol::Dialect::Pi1;
use serde_json::{Value, json};
use std::fs;

/// A turn in which the model runs this script.
pub fn script(code: &str) -> Value {
    call("codemode", json!({ "code": code }))
}

/// A server of ours with a server `t` whose tools scripts call; the model runs these scripts.
fn scripted(codes: &[&str], options: &[&str]) -> Server {
    let mut turns: Vec<Value> = codes.iter().map(|code| script(code)).collect();
    turns.push(ends());
    let user = json!({ "t": entry(&shell_server(ANSWER), "codemode") });
    start(user, None, turns.into(), options)
}

/// The text of the result of each `codemode` call, without its first lines.
fn outputs(frames: &[Value]) -> Vec<String> {
    let ends = of_type(frames, "tool_execution_end").into_iter().filter(|end| end["toolName"] == "codemode");
    ends.map(|end| end["result"]["content"][1]["text"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn script_calls_tools_of_servers() {
    let code = "const r = await tools.mcp__t__echo({}); text(r.content[0].text); \
                const b = await tools.bash({ command: 'echo nested; exit 2' }); console.log(1); \
                try { await tools.read({ path: 'nope' }) } catch (e) { text(String(e).slice(0, 13)) } return b.exit_code;";
    let mut server = scripted(&[code], &[]);
    let frames = server.run("go");
    let expected = "==> text 1/3 <==\nheard\n==> text 2/3 <==\nError: ENOENT\n==> text 3/3 <==\n2\n\
                    <console_output>\n1\n</console_output>";
    assert_eq!(outputs(&frames), [expected]);
    let nested: Vec<(&Value, &Value, &Value)> = of_type(&frames, "tool_execution_start")
        .iter()
        .filter(|start| start["parentToolCallId"].is_string())
        .map(|start| (&start["toolCallId"], &start["toolName"], &start["parentToolCallId"]))
        .collect();
    let outer = &of_type(&frames, "tool_execution_start")[0]["toolCallId"];
    let id = |number: u8| json!(format!("{}/{number}", outer.as_str().unwrap()));
    let (ids, names) = ([id(1), id(2), id(3)], ["mcp__t__echo", "bash", "read"].map(Value::from));
    let expected: Vec<_> = ids.iter().zip(&names).map(|(id, name)| (id, name, outer)).collect();
    assert_eq!(nested, expected);
    let results = of_type(&frames, "turn_end")[0]["toolResults"].as_array().unwrap();
    let recorded = results[0]["nestedCalls"]["calls"].as_array().unwrap();
    let recorded: Vec<_> =
        recorded.iter().map(|call| (&call["id"], &call["name"], &call["status"])).collect();
    let states = ["ok", "error", "error"].map(Value::from);
    let expected: Vec<_> =
        ids.iter().zip(&names).zip(&states).map(|((id, name), state)| (id, name, state)).collect();
    assert_eq!((results.len(), recorded), (1, expected));
    finish(server);
}

#[test]
fn consent_is_asked_for_calls_of_scripts() {
    let code = "try { await tools.bash({ command: 'touch made' }) } catch (e) { return e.message }";
    let mut server = scripted(&[code], &["--confirm-tools", "bash"]);
    server.send(json!({ "type": "prompt", "message": "go" }));
    let frames = server.until_type("extension_ui_request");
    let asked = frames.last().unwrap();
    assert_eq!(asked["title"], "Allow bash? {\"command\":\"touch made\"}");
    server.send(json!({ "type": "extension_ui_response", "id": asked["id"], "value": "Deny" }));
    let frames = server.until_type("agent_end");
    assert_eq!(outputs(&frames), ["The user did not allow this call of bash."]);
    assert!(!server.path("made").exists());
    finish(server);
}

#[test]
fn lists_of_tools_hold_for_scripts() {
    let code = "const found = ALL_TOOLS.map((tool) => tool.name); \
                try { await tools['bash']({ command: 'x' }) } catch (e) { return [found, e.message.slice(0, 25)] }";
    for (options, expected) in [
        (&["--tools", "codemode,read"][..], r#"[["read"],"tools.bash does not exist"]"#),
        (&["--tools", "codemode,mcp__t__*"], r#"[["mcp__t__echo"],"tools.bash does not exist"]"#),
        (&["-xt", "bash,mcp__*"], r#"[["read","edit","write"],"tools.bash does not exist"]"#),
    ] {
        let mut server = scripted(&[code], options);
        assert_eq!(outputs(&server.run("go")), [expected], "{options:?}");
        finish(server);
    }
}

#[test]
fn excluded_codemode_is_not_offered() {
    let mut server = scripted(&["return 1"], &["--exclude-tools", "codemode"]);
    let end = of_type(&server.run("go"), "tool_execution_end")[0].clone();
    assert_eq!(end["result"]["content"][0]["text"], "Tool codemode not found");
    finish(server);
}

/// The tools that the first system message adds, with their descriptions.
fn declared(frames: &[Value]) -> Vec<(String, String)> {
    let ends = of_type(frames, "message_end");
    let system = ends.iter().find(|frame| frame["message"]["role"] == "system").unwrap();
    let tools = system["message"]["toolsAdded"].as_array().unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    tools.iter().map(|tool| (text(&tool["name"]), text(&tool["description"]))).collect()
}

/// A server of ours without servers of MCP, with these settings.
fn without_servers(settings: &Value, codes: &[&str], options: &[&str]) -> Server {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(".pi/agent")).unwrap();
    fs::write(dir.path().join(".pi/agent/settings.json"), settings.to_string()).unwrap();
    let turns = codes.iter().map(|code| script(code)).chain([ends()]);
    Server::script_in(Pi1, dir, turns.collect(), options)
}

#[test]
fn scripts_need_no_server_where_selected() {
    let usual = ["read", "bash", "edit", "write"];
    let with = |more: &[&'static str]| [&usual[..], more].concat();
    for (settings, options, expected) in [
        (json!({}), &[][..], with(&[])),
        (json!({}), &["--tools", "+codemode"], with(&["codemode"])),
        (json!({}), &["--tools", "read,codemode"], vec!["read", "codemode"]),
        (json!({ "defaultTools": ["+codemode", "+tool_search"] }), &[], with(&["codemode", "tool_search"])),
        (json!({ "defaultTools": ["+codemode"] }), &["--no-mcp"], with(&["codemode"])),
        (json!({ "defaultTools": ["+codemode"] }), &["--exclude-tools", "codemode"], with(&[])),
    ] {
        let code = "return (await tools.read({ path: 'script.json' })).length > 0";
        let mut server = without_servers(&settings, &[code], options);
        let frames = server.run("go");
        let names: Vec<String> = declared(&frames).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, expected, "{settings} {options:?}");
        if expected.contains(&"codemode") {
            assert_eq!(outputs(&frames), ["true"], "{settings} {options:?}");
        }
        finish(server);
    }
}

#[test]
fn settings_list_tools_in_place_of_declarations() {
    let code = "return (await tools.read({ path: 'script.json' })).length > 0";
    for (codemode, listed) in [
        (json!({ "mode": "only" }), &["### `read`", "### `bash`", "### `edit`", "### `write`"][..]),
        (json!({ "mode": "only", "inlineBudget": 0 }), &[]),
    ] {
        let settings = json!({ "defaultTools": ["+codemode"], "codemode": codemode });
        let mut server = without_servers(&settings, &[code], &[]);
        let frames = server.run("go");
        let [(name, description)] = &declared(&frames)[..] else { panic!("{codemode}: {frames:?}") };
        assert_eq!((name.as_str(), outputs(&frames)), ("codemode", vec!["true".to_owned()]));
        let lines: Vec<&str> = description.lines().filter(|line| line.starts_with("### ")).collect();
        assert_eq!(lines, listed, "{codemode}");
        let rest = description.contains("Tools for scripts, without 4 that `searchTools` finds:");
        assert_eq!(rest, listed.is_empty(), "{codemode}");
        finish(server);
    }
}

#[test]
fn unreachable_servers_are_told_once() {
    let told = |reason: &str| {
        let text = "Tools of MCP servers are reached by codemode or tool_search, and neither is offered";
        format!("{text}{reason}; they cannot be called: t")
    };
    for (options, auto, expected) in [
        (&[][..], true, None),
        (&[], false, Some(told(" (autoEnableCodemode is false)"))),
        (&["--tools", "+codemode"], false, None),
        (&["--tools", "+tool_search"], false, None),
        (&["--exclude-tools", "codemode"], true, Some(told(""))),
        (&["--tools", "read,mcp__t__*"], true, Some(told(""))),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join(".pi/agent")).unwrap();
        let servers = json!({ "t": entry(&shell_server(ANSWER), "codemode") });
        let file = json!({ "mcpServers": servers, "autoEnableCodemode": auto });
        fs::write(dir.path().join(".pi/agent/mcp.json"), file.to_string()).unwrap();
        let mut server = Server::script_in(Pi1, dir, json!([ends(), ends()]), options);
        let mut frames = server.run("go");
        frames.extend(server.until_type("agent_settled"));
        frames.extend(server.run("again"));
        let notices: Vec<&Value> =
            of_type(&frames, "extension_ui_request").iter().map(|frame| &frame["message"]).collect();
        let expected: Vec<Value> = expected.into_iter().map(Value::from).collect();
        assert_eq!(notices, expected.iter().collect::<Vec<_>>(), "{options:?} {auto}");
        finish(server);
    }
}

#[test]
fn stored_values_stay_on_their_branch() {
    let mut server =
        scripted(&["store('k', 5)", "return load('k')", "throw store('k', 6)", "return load('k')"], &[]);
    let frames = server.run("go");
    assert_eq!(outputs(&frames)[1], "5");
    assert_eq!(outputs(&frames)[3], "5");
    let stored: Vec<&Value> =
        of_type(&frames, "entry_appended").iter().map(|it| &it["entry"]["data"]).collect();
    assert_eq!(stored, [&json!({ "set": { "k": 5 }, "delete": [] })]);
    finish(server);
}

#[test]
fn scripts_find_and_describe_tools() {
    let code = "const [found] = await searchTools('echoes', { namespace: 't' }); \
                const space = await describeNamespace('mcp__t'); \
                return [found.name, (await describeTool('mcp__t__echo')) === found.description, space, await describeTool('none') === undefined];";
    let mut server = scripted(&[code], &[]);
    let expected = r#"["mcp__t__echo",true,{"name":"mcp__t","tools":["mcp__t__echo"]},true]"#;
    assert_eq!(outputs(&server.run("go")), [expected]);
    finish(server);
}

#[test]
fn scripts_without_end_are_ended() {
    let spin = "// @options: {\"timeout_ms\": 1500}\nfor (;;);";
    let wait = "// @options: {\"timeout_ms\": 1500}\nawait tools.bash({ command: 'sleep 60' })";
    let mut server = scripted(&[spin, wait, "await new Promise(() => {})"], &[]);
    let frames = server.run("go");
    let outputs = outputs(&frames);
    let late = "Script error:\nScript timed out: it took more than 1500 ms\n\n";
    assert_eq!(outputs[0], format!("{late}No tool calls were made."));
    assert_eq!(
        outputs[1],
        format!("{late}Tool calls before the failure, which are not undone: bash (cancelled)")
    );
    assert!(outputs[2].starts_with("Script error:\nError: The script waits for a promise"), "{}", outputs[2]);
    let ends = of_type(&frames, "tool_execution_end");
    let order: Vec<&Value> = ends.iter().map(|end| &end["toolName"]).collect();
    assert_eq!(order, ["codemode", "bash", "codemode", "codemode"]);
    finish(server);
}

#[test]
fn abort_ends_script_and_its_calls() {
    let mut server = scripted(&["await tools.bash({ command: 'sleep 60' })"], &[]);
    server.send(json!({ "type": "prompt", "message": "go" }));
    server.until(|frame| frame["type"] == "tool_execution_update" && frame["parentToolCallId"].is_string());
    server.send(json!({ "type": "abort" }));
    let frames = server.until_type("agent_settled");
    let ends = of_type(&frames, "tool_execution_end");
    let ended: Vec<_> = ends.iter().map(|end| (&end["toolName"], &end["isError"])).collect();
    let is_error = &json!(true);
    assert_eq!(ended, [(&json!("bash"), is_error), (&json!("codemode"), is_error)]);
    server.close_stdin();
    assert_eq!(server.ends().status.code(), Some(0));
}

#[test]
fn description_does_not_depend_on_servers() {
    let declared = |exposure: &str, script: &str| {
        let user = json!({ "t": entry(script, exposure) });
        let mut server = start(user, None, json!([ends()]), &["--tools", "codemode,read"]);
        let frames = server.run("go");
        finish(server);
        let system = of_type(&frames, "message_end")[0]["message"].clone();
        assert_eq!(system["toolsAdded"][1]["name"], "codemode", "{system}");
        system["toolsAdded"].clone()
    };
    assert_eq!(declared("codemode", &shell_server(ANSWER)), declared("codemode", "exit 1"));
}
