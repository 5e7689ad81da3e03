//! Requests to Vertex AI: addresses, keys and accounts. The rest is as of the Gemini API.

use crate::model_support::*;
use pi_rpc_model::{api::Api, google::vertex::AccountSource};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const API: &str = "google-vertex";
const USUAL: &str = "https://{location}-aiplatform.googleapis.com";

/// A prompt to the model `id` at `base`, with these variables instead of a key.
fn asked(base: &str, id: &str, variables: &[(&'static str, &str)]) -> Asked {
    let mut asked = Asked::new(API, json!({ "id": id, "baseUrl": base }), json!([user(json!("q"))]));
    asked.credentials.key = None;
    asked.credentials.variables =
        variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect::<BTreeMap<_, _>>();
    asked
}

fn url(base: &str, id: &str, variables: &[(&'static str, &str)]) -> String {
    Api::GoogleVertex.request(&asked(base, id, variables).request()).url
}

const GEMINI: &str = "publishers/google/models/gemini-3.5-flash:streamGenerateContent?alt=sse";

#[test]
fn location_chooses_host_and_folder() {
    for (location, host) in [
        ("global", "aiplatform.googleapis.com"),
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
    ] {
        for project in ["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"] {
            let variables = [(project, "mine"), ("GOOGLE_CLOUD_LOCATION", location)];
            let expected = format!("https://{host}/v1/projects/mine/locations/{location}/{GEMINI}");
            assert_eq!(url(USUAL, "gemini-3.5-flash", &variables), expected);
        }
    }
}

#[test]
fn own_address_keeps_its_version() {
    let variables = [("GOOGLE_CLOUD_PROJECT", "mine"), ("GOOGLE_CLOUD_LOCATION", "global")];
    for (base, expected) in [
        ("https://proxy.example/", "https://proxy.example/v1"),
        (
            "https://proxy.example/v1beta1/projects/a/locations/b",
            "https://proxy.example/v1beta1/projects/a/locations/b",
        ),
        ("https://proxy.example/vertex", "https://proxy.example/vertex/v1"),
        ("https://v2.example", "https://v2.example/v1"),
    ] {
        assert_eq!(url(base, "gemini-3.5-flash", &variables), format!("{expected}/{GEMINI}"), "{base}");
    }
}

#[test]
fn model_id_may_be_a_path() {
    let path = |id: &str| {
        let url = url("https://a.example/v1", id, &[]);
        url["https://a.example/v1/".len()..].split(':').next().unwrap().to_owned()
    };
    for (id, expected) in [
        ("gemini-2.5-pro", "publishers/google/models/gemini-2.5-pro"),
        ("meta/llama-4", "publishers/meta/models/llama-4"),
        ("publishers/meta/models/llama-4", "publishers/meta/models/llama-4"),
        ("projects/p/locations/l/endpoints/7", "projects/p/locations/l/endpoints/7"),
    ] {
        assert_eq!(path(id), expected);
    }
}

#[test]
fn key_precedes_account() {
    let variables = [("GOOGLE_CLOUD_PROJECT", "mine"), ("GOOGLE_CLOUD_LOCATION", "europe-west4")];
    let mut asked = asked(USUAL, "gemini-3.5-flash", &variables);
    asked.credentials.key = Some(" key ".to_owned());
    let request = Api::GoogleVertex.request(&asked.request());
    assert_eq!(request.url, format!("https://aiplatform.googleapis.com/v1/{GEMINI}"));
    assert_eq!(request.headers, headers([("content-type", "application/json"), ("x-goog-api-key", "key")]));
    assert_eq!(Api::GoogleVertex.account_source(&asked.credentials), Ok(None));
    // Words that stand for an account.
    for word in ["gcp-vertex-credentials", "<authenticated>", ""] {
        asked.credentials.key = Some(word.to_owned());
        let request = Api::GoogleVertex.request(&asked.request());
        assert_eq!(request.headers, headers([("content-type", "application/json")]), "{word}");
        assert!(request.url.contains("/projects/mine/"), "{}", request.url);
    }
}

#[test]
fn account_needs_project_and_location() {
    let file = |variables: &[(&'static str, &str)]| {
        Api::GoogleVertex.account_source(&asked(USUAL, "m", variables).credentials)
    };
    let source = |file: Option<&str>, is_named: bool, host: Option<&str>| {
        let [file, metadata_host] = [file, host].map(|it| it.map(str::to_owned));
        Ok(Some(AccountSource { file, is_named, metadata_host }))
    };
    let (project, location) = (("GOOGLE_CLOUD_PROJECT", "p"), ("GOOGLE_CLOUD_LOCATION", "l"));
    let own = ("GOOGLE_APPLICATION_CREDENTIALS", "/own.json");
    let usual = "/home/me/.config/gcloud/application_default_credentials.json";
    for (variables, expected) in [
        (vec![project, location, own, ("HOME", "/home/me")], source(Some("/own.json"), true, None)),
        (vec![project, location, ("HOME", "/home/me")], source(Some(usual), false, None)),
        (vec![project, location, ("GCE_METADATA_HOST", "h")], source(None, false, Some("h"))),
        (
            vec![location, own],
            Err("Vertex AI needs a project: set GOOGLE_CLOUD_PROJECT, or use an API key.".to_owned()),
        ),
        (
            vec![project, own],
            Err("Vertex AI needs a location: set GOOGLE_CLOUD_LOCATION (for example to global).".to_owned()),
        ),
    ] {
        assert_eq!(file(&variables), expected, "{variables:?}");
    }
}

#[test]
fn body_equals_that_of_gemini_api() {
    let history = json!([
        user(json!([text("look"), image("AAAA")])),
        stopped("p/google-vertex/gemini-3.5-flash", "toolUse", json!([call_of("1", "ls", json!({}))])),
        returned("1", "ls", json!([text("a")]), false),
    ]);
    let body = |api: &str| -> Value {
        let history = serde_json::from_str(&history.to_string().replace("google-vertex", api)).unwrap();
        let mut asked = Asked::new(api, json!({ "id": "gemini-3.5-flash" }), history);
        asked.system_prompt = "Be good.";
        asked.tools = vec![tool("ls")];
        let body = Api::parse(api).unwrap().request(&asked.request()).body;
        check_schema(include_str!("../../../../schema/vendors/google-generative-ai.json"), &body);
        body
    };
    assert_eq!(body(API), body("google-generative-ai"));
}
