//! Requests to models that are deployed at Azure, whole.

use crate::model_support::*;
use pi_rpc_model::{
    api::Api,
    openai_azure::{check, request},
    request::HttpRequest,
};
use pi_rpc_protocol::ThinkingLevel;
use serde_json::{Value, json};

const API: &str = "azure-openai-responses";

/// A model at Azure with these variables.
fn asked(model: Value, variables: &[(&'static str, &str)]) -> Asked {
    let mut azure = json!({ "provider": "azure", "baseUrl": "" });
    extend(&mut azure, model);
    let mut asked = Asked::openai(API, azure, json!([user(json!("Hi"))]));
    asked.credentials.variables =
        variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    asked
}

#[test]
fn request_has_key_header_and_version() {
    let mut asked = asked(json!({}), &[("AZURE_OPENAI_RESOURCE_NAME", "house")]);
    asked.level = ThinkingLevel::Low;
    asked.tools = vec![tool("ls")];
    asked.options.caches_long = true;
    let sent = request(&asked.request());
    let body = json!({
        "model": "gpt-5.4",
        "input": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "input_text", "text": "Hi"}]},
        ],
        "stream": true,
        "prompt_cache_key": "session",
        "store": false,
        "max_output_tokens": 64000,
        "tools": [{
            "type": "function", "name": "ls", "description": "Does ls.",
            "parameters": {"type": "object", "properties": {}}, "strict": false,
        }],
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
    });
    check_schema(include_str!("../../../../schema/vendors/openai-responses.json"), &body);
    let headers = headers([("accept", "application/json"), ("api-key", "key")]);
    let url = "https://house.openai.azure.com/openai/v1/responses?api-version=v1".to_owned();
    assert_eq!(sent, HttpRequest { url, headers, body, signing: None });
}

#[test]
fn address_is_completed_at_azure_only() {
    let url = |base: &str| {
        let url = request(&asked(json!({}), &[("AZURE_OPENAI_BASE_URL", base)]).request()).url;
        url.strip_suffix("/responses?api-version=v1").unwrap().to_owned()
    };
    for (base, expected) in [
        ("https://a.openai.azure.com", "https://a.openai.azure.com/openai/v1"),
        (" https://a.openai.azure.com/ ", "https://a.openai.azure.com/openai/v1"),
        ("https://a.services.ai.azure.com/openai", "https://a.services.ai.azure.com/openai/v1"),
        (
            "https://a.cognitiveservices.azure.com:443/openai/",
            "https://a.cognitiveservices.azure.com:443/openai/v1",
        ),
        (
            "https://a.openai.azure.com/openai/v1/responses?api-version=1",
            "https://a.openai.azure.com/openai/v1",
        ),
        ("https://a.openai.azure.com/openai/v1", "https://a.openai.azure.com/openai/v1"),
        ("https://a.openai.azure.com/other/", "https://a.openai.azure.com/other"),
        ("https://proxy.example", "https://proxy.example"),
        ("https://openai.azure.com.example/openai", "https://openai.azure.com.example/openai"),
    ] {
        assert_eq!(url(base), expected, "{base}");
    }
}

#[test]
fn address_sources_have_an_order() {
    let (base, resource) = (("AZURE_OPENAI_BASE_URL", "http://base"), ("AZURE_OPENAI_RESOURCE_NAME", "name"));
    let own = json!({ "baseUrl": "http://own/v1" });
    for (model, variables, expected) in [
        (&own, &[base, resource][..], "http://base"),
        (&own, &[resource], "https://name.openai.azure.com/openai/v1"),
        (&own, &[], "http://own/v1"),
        (&own, &[("AZURE_OPENAI_BASE_URL", " ")], "http://own/v1"),
    ] {
        let asked = asked(model.clone(), variables);
        assert_eq!(request(&asked.request()).url, format!("{expected}/responses?api-version=v1"));
        assert_eq!(check(&asked.endpoint.model, &asked.credentials), Ok(()));
    }
    let nowhere = asked(json!({}), &[]);
    let error = check(&nowhere.endpoint.model, &nowhere.credentials).unwrap_err();
    assert!(error.contains("AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME"), "{error}");
    let wrong = asked(json!({}), &[("AZURE_OPENAI_BASE_URL", "house.openai.azure.com")]);
    let error = check(&wrong.endpoint.model, &wrong.credentials).unwrap_err();
    assert!(error.contains("check AZURE_OPENAI_BASE_URL"), "{error}");
}

#[test]
fn version_and_deployment_come_from_variables() {
    let variables = [
        ("AZURE_OPENAI_BASE_URL", "http://base"),
        ("AZURE_OPENAI_API_VERSION", "2025-04-01-preview"),
        ("AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "other=o, gpt-5.4=first,,gpt-5.4 = mine ,gpt-5.4="),
    ];
    let sent = request(&asked(json!({}), &variables).request());
    assert_eq!(sent.url, "http://base/responses?api-version=2025-04-01-preview");
    assert_eq!(sent.body["model"], "mine");
}

#[test]
fn query_of_address_stays_behind_the_path() {
    let url = |base: &str| request(&asked(json!({}), &[("AZURE_OPENAI_BASE_URL", base)]).request()).url;
    assert_eq!(url("https://proxy/v1?tenant=a"), "https://proxy/v1/responses?tenant=a&api-version=v1");
    assert_eq!(url("https://proxy/v1/?api-version=2"), "https://proxy/v1/responses?api-version=2");
    let chat = json!({ "id": "deepseek", "api": "openai-completions" });
    let chat = asked(chat, &[("AZURE_OPENAI_BASE_URL", "https://proxy/v1?tenant=a")]);
    let sent = Api::OpenaiCompletions.request(&chat.request());
    assert_eq!(sent.url, "https://proxy/v1/chat/completions?tenant=a");
}

#[test]
fn thinking_off_is_sent_where_it_exists() {
    let resource = [("AZURE_OPENAI_RESOURCE_NAME", "house")];
    let reasoning = |asked: &Asked| asked.body(request)["reasoning"].clone();
    let mut asked = asked(json!({ "maxTokens": 9 }), &resource);
    assert_eq!(reasoning(&asked), json!({ "effort": "none" }));
    assert_eq!(asked.body(request)["max_output_tokens"], 16);
    asked.endpoint.efforts.insert(ThinkingLevel::Off, "least".to_owned());
    assert_eq!(reasoning(&asked), json!({ "effort": "least" }));
    asked.endpoint.efforts.clear();
    asked.endpoint.levels.remove(0);
    assert_eq!(reasoning(&asked), Value::Null);
    asked.endpoint.model.reasoning = false;
    assert_eq!(reasoning(&asked), Value::Null);
}

#[test]
fn other_vendors_models_speak_chat_completions() {
    let variables = [
        ("AZURE_OPENAI_BASE_URL", "https://a.services.ai.azure.com"),
        ("AZURE_OPENAI_DEPLOYMENT_NAME_MAP", "deepseek=mine"),
    ];
    let mut asked = asked(json!({ "id": "deepseek", "api": "openai-completions" }), &variables);
    let sent = Api::OpenaiCompletions.request(&asked.request());
    assert_eq!(sent.url, "https://a.services.ai.azure.com/openai/v1/chat/completions");
    assert_eq!(sent.body["model"], "mine");
    assert!(sent.headers.contains(&("authorization".to_owned(), "Bearer key".to_owned())), "{sent:?}");
    asked.endpoint.model.provider = "elsewhere".to_owned();
    assert_eq!(Api::OpenaiCompletions.request(&asked.request()).url, "/chat/completions");
}
