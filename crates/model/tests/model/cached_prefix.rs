//! Each request of a conversation begins as the one before it, so that the vendor's cache holds.

use crate::model_support::*;
use pi_rpc_model::api::Api;
use pi_rpc_protocol::ThinkingLevel;
use serde_json::{Value, json};

/// A conversation with answers of another model, calls without signatures, and texts without ids.
fn conversation(provider: &str, api: &str, model: &str) -> Vec<Value> {
    let (own, other) = (format!("{provider}/{api}/{model}"), "other/other-api/another");
    let signature =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "eA=="}).to_string();
    vec![
        user(json!("one")),
        assistant(other, json!([thinking("Hm.", "sig"), text("I look."), call("call_1", "read")])),
        result("call_1", json!([text("seen")])),
        assistant(other, json!([text("Done.")])),
        user(json!([text("two"), image("AAAA")])),
        assistant(
            &own,
            json!([
                thinking("Hm.", &signature),
                text("So."),
                call("call_2|fc_2", "read"),
                call("call_3|fc_3", "read")
            ]),
        ),
        result("call_2|fc_2", json!([text("a"), image("BBBB")])),
        result("call_3|fc_3", json!([])),
        assistant(&own, json!([text("First."), text("Second.")])),
        user(json!("three")),
        assistant(&own, json!([call("call_4|fc_4", "read")])),
        result("call_4|fc_4", json!([text("b")])),
        assistant(&own, json!([text("Last.")])),
        user(json!("four")),
    ]
}

/// The conversation as the vendor reads it, without marks of the cache.
fn sent(asked: &Asked, api: Api) -> (String, Value) {
    let mut body = api.request(&asked.request()).body;
    let places = ["/messages", "/input", "/contents", "/context/messages"];
    let place = places.into_iter().find(|place| body.pointer(place).is_some()).unwrap();
    let mut messages = body.pointer_mut(place).unwrap().take();
    remove_marks(&mut messages);
    let mut head = body;
    remove_marks(&mut head);
    (messages.to_string(), head)
}

fn remove_marks(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.shift_remove("cache_control");
            members.values_mut().for_each(remove_marks);
        }
        Value::Array(items) => {
            items.retain(|item| item.get("cachePoint").is_none());
            items.iter_mut().for_each(remove_marks);
            // A text alone, and a list with nothing but that text, are the same to every vendor.
            if let [item] = &items[..]
                && *item == json!({"type": "text", "text": item["text"]})
            {
                *value = item["text"].clone();
            }
        }
        _ => {}
    }
}

/// A system message that changes sections and adds a tool.
fn change(sections: Value, name: &str) -> Value {
    let tool = tool(name);
    let added = json!([{"name": tool.name, "description": tool.description, "parameters": *tool.parameters}]);
    json!({"role": "system", "content": "", "timestamp": 1, "sections": sections, "toolsAdded": added})
}

/// Where a request of the conversation does not begin as the one before it: one before each answer of the model, and the next.
fn breaks(api: Api, model: Value) -> Vec<String> {
    let name = |key: &str, usual: &str| model[key].as_str().unwrap_or(usual).to_owned();
    let takes_efforts = model["compat"]["supportsMidConvoEffort"] == true;
    let takes_changes = model["compat"]["supportsMidConvoSystemMessages"] == true;
    let mut history = conversation(&name("provider", "p"), api.as_str(), &name("id", "m"));
    if takes_changes {
        history.insert(9, change(json!({"cwd": "/b"}), "grep"));
        history.insert(0, change(json!({"preamble": "Be brief."}), "read"));
    }
    let own = |message: &Value| message["api"] == api.as_str();
    let requests: Vec<usize> =
        (0..history.len()).filter(|at| own(&history[*at])).chain([history.len()]).collect();
    let mut found = Vec::new();
    let mut before: Option<(String, Value)> = None;
    for count in requests {
        let mut asked = Asked::new(api.as_str(), model.clone(), history[..count].to_vec().into());
        // A change of the level keeps the cache where models take it in the conversation.
        asked.level = match takes_efforts && count % 2 == 0 {
            true => ThinkingLevel::Low,
            false => ThinkingLevel::High,
        };
        asked.endpoint.levels = ThinkingLevel::ALL[..5].to_vec();
        asked.endpoint.adaptive = true;
        asked.system_prompt = "Be brief.";
        asked.tools = vec![tool("read")];
        asked.has_system_messages = takes_changes;
        if takes_changes && count > 9 {
            (asked.system_prompt, asked.tools) = ("Be brief.\n\n/b", vec![tool("read"), tool("grep")]);
        }
        asked.credentials.account = Some("account".to_owned());
        let (messages, head) = sent(&asked, api);
        if let (Some(answer), Some(effort)) = (history.get_mut(count), api.kept_effort(&asked.request())) {
            answer["providerThinkingLevel"] = effort.into();
        }
        if let Some((earlier, earlier_head)) = &before {
            let kept = earlier.trim_end_matches([']', '}']);
            if !messages.starts_with(kept) {
                found.push(format!("{} at {count}:\n  {earlier}\n  {messages}", api.as_str()));
            }
            if *earlier_head != head {
                found.push(format!("{} at {count}:\n  {earlier_head}\n  {head}", api.as_str()));
            }
        }
        before = Some((messages, head));
    }
    found
}

#[test]
fn requests_begin_as_the_one_before() {
    let mut found = Vec::new();
    for api in Api::ALL {
        let openai = json!({"id": "gpt-6", "provider": "openai", "baseUrl": "https://api.openai.com/v1"});
        let gemini = json!({"id": "gemini-4-argon", "provider": "google"});
        let effort = json!({"compat": {"supportsMidConvoEffort": true}});
        let changes = json!({"reasoning": api != Api::OpenaiCompletions, "compat": {
            "supportsMidConvoSystemMessages": true, "supportsMidConvoToolChanges": true,
            "supportsMidConvoToolAdditions": true, "supportsAdditionalTools": true, "supportsMidConvoEffort": true,
        }});
        let models = match api {
            Api::GoogleGenerativeAi | Api::GoogleVertex => vec![json!({"id": "gemini-2.5-pro"}), gemini],
            Api::AnthropicMessages | Api::OpenaiCodexResponses => vec![json!({}), effort, changes],
            Api::OpenaiResponses => vec![openai, effort, changes],
            Api::OpenaiCompletions => vec![json!({}), changes],
            _ => vec![json!({})],
        };
        found.extend(models.into_iter().flat_map(|model| breaks(api, model)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
