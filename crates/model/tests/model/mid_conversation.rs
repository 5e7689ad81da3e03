//! Changes of instructions and tools: at their place in the conversation, where the server takes them there.

use crate::model_support::*;
use pi_rpc_model::api::Api;
use serde_json::{Value, json};

/// A first system message, and one that changes a section, removes `ls` and adds `grep` before the second prompt.
fn history(api: &str) -> Value {
    json!([
        system(json!({
            "sections": {"preamble": "Be brief.", "cwd": "In /a."},
            "toolsAdded": [declared("read"), declared("ls")],
        })),
        user(json!("one")),
        assistant(&format!("p/{api}/m"), json!([call("call_1", "a")])),
        result("call_1", json!([text("seen")])),
        system(json!({
            "sections": {"cwd": "In /b.", "skills": null},
            "toolsRemoved": [{"name": "ls"}], "toolsAdded": [declared("grep")],
        })),
        user(json!("two")),
    ])
}

fn system(members: Value) -> Value {
    let mut message = json!({"role": "system", "content": "", "timestamp": 1});
    extend(&mut message, members);
    message
}

fn declared(name: &str) -> Value {
    let tool = tool(name);
    json!({"name": tool.name, "description": tool.description, "parameters": *tool.parameters})
}

/// The body of the request to a server with this `compat`.
fn body(api: &str, compat: Value, has_system_messages: bool) -> Value {
    let mut asked = Asked::new(api, json!({ "compat": compat, "reasoning": false }), history(api));
    asked.has_system_messages = has_system_messages;
    asked.system_prompt = "Be brief.\n\nIn /b.";
    asked.tools = vec![tool("read"), tool("grep")];
    Api::parse(api).unwrap().request(&asked.request()).body
}

/// The text of the change.
const CHANGE: &str =
    "Updated system prompt section \"cwd\":\n\nIn /b.\n\nRemoved system prompt section \"skills\".";
/// The text of the first system message.
const FIRST: &str = "Be brief.\n\nIn /a.";

fn names(tools: &Value) -> Vec<&str> {
    let tools = tools.as_array().into_iter().flatten();
    tools.map(|tool| tool["name"].as_str().or(tool["function"]["name"].as_str()).unwrap()).collect()
}

#[test]
fn anthropic_tools_change_in_conversation() {
    let compat = json!({"supportsMidConvoSystemMessages": true, "supportsMidConvoToolChanges": true});
    let body = body("anthropic-messages", compat, true);
    assert_eq!(body["system"][0]["text"], FIRST);
    assert_eq!(names(&body["tools"]), ["read", "ls", "__pi_deferred_placeholder__"]);
    assert_eq!(body["tools"][2]["defer_loading"], true);
    let definition = json!({
        "name": "grep", "description": "Does grep.", "eager_input_streaming": true,
        "input_schema": {"type": "object", "properties": {}, "required": []},
    });
    let messages = body["messages"].as_array().unwrap();
    // Behind the prompt, as it stands ahead of the next answer.
    let expected = json!({"role": "system", "content": [
        {"type": "text", "text": CHANGE},
        {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "ls"}},
        {
            "type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition},
            "cache_control": {"type": "ephemeral"},
        },
    ]});
    assert_eq!((messages.len(), &messages[4]), (5, &expected));
    assert_eq!(messages[3]["role"], "user");
}

#[test]
fn anthropic_texts_change_without_tool_changes() {
    let body = body("anthropic-messages", json!({"supportsMidConvoSystemMessages": true}), true);
    assert_eq!(body["system"][0]["text"], FIRST);
    assert_eq!(names(&body["tools"]), ["read", "grep"]);
    let expected = json!({"role": "system", "content": [
        {"type": "text", "text": CHANGE, "cache_control": {"type": "ephemeral"}},
    ]});
    assert_eq!(body["messages"][4], expected);
}

#[test]
fn responses_tools_change_among_items() {
    let compat = json!({"supportsMidConvoSystemMessages": true, "supportsAdditionalTools": true});
    let body = body("openai-responses", compat, true);
    assert_eq!(body["tools"], Value::Null);
    let input = body["input"].as_array().unwrap();
    let is_told = |item: &&Value| item["type"] == "additional_tools" || item["role"] == "system";
    let told: Vec<Value> = input.iter().filter(is_told).cloned().collect();
    let [first, instructions, notice, added, change] = &told[..] else { panic!("{told:#?}") };
    assert_eq!((names(&first["tools"]), instructions["content"].as_str()), (vec!["read", "ls"], Some(FIRST)));
    assert!(notice["content"].as_str().unwrap().starts_with("This is an incremental tools update."));
    assert_eq!(names(&added["tools"]), ["grep"]);
    let removal = "The following tools are no longer available. Do not call them:\n- ls";
    assert_eq!(change["content"], format!("{CHANGE}\n\n{removal}"));
    // At its place: ahead of the prompt.
    assert_eq!(input.last().unwrap()["role"], "user");
}

#[test]
fn completions_fold_tools_up_to_removal() {
    let compat = json!({"supportsMidConvoSystemMessages": true, "supportsMidConvoToolAdditions": true});
    let body = body("openai-completions", compat, true);
    // `ls` cannot be taken back in the conversation.
    assert_eq!(names(&body["tools"]), ["read", "grep"]);
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[0]["content"], FIRST);
    assert_eq!(messages[4], json!({"role": "system", "content": CHANGE}));
}

#[test]
fn changes_stand_ahead_without_system_messages() {
    let compat = json!({
        "supportsMidConvoSystemMessages": true, "supportsMidConvoToolChanges": true, "supportsAdditionalTools": true,
        "supportsMidConvoToolAdditions": true,
    });
    for api in ["anthropic-messages", "openai-responses", "openai-completions"] {
        let text = body(api, compat.clone(), false).to_string();
        assert!(text.contains("Be brief.\\n\\nIn /b.") && !text.contains("Updated system prompt"), "{text}");
        assert!(!text.contains("__pi_deferred_placeholder__") && !text.contains("\"ls\""), "{text}");
        let plain = body(api, json!({}), true).to_string();
        assert!(
            plain.contains("Be brief.\\n\\nIn /b.") && !plain.contains("Updated system prompt"),
            "{plain}"
        );
    }
}
