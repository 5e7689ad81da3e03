//! Our request for a line of the matrix.

use super::Line;
use pi_rpc::{
    config::{Sources, catalogue::BUILT_IN, load},
    model::{
        anthropic::Threads,
        api::Api,
        chatgpt_token::chatgpt_account,
        request::{Credentials, Endpoint, HttpRequest, ModelRequest, RequestOptions},
        types::ToolSpec,
    },
    protocol::{AgentMessage, Dialect, ThinkingLevel},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// All models, and the cases.
pub struct Asked {
    endpoints: HashMap<(String, String), Endpoint>,
    cases: Value,
}

impl Asked {
    /// Reads the catalogue.
    pub fn new(cases: Value) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().to_str().expect("a path");
        let config = load(Sources {
            dialect: Dialect::Pi1,
            working_directory: home.path().to_owned(),
            environment: [("HOME", path)].into_iter().collect(),
            approve: None,
        });
        let named =
            |endpoint: Endpoint| ((endpoint.model.provider.clone(), endpoint.model.id.clone()), endpoint);
        Self { endpoints: config.models().into_iter().map(named).collect(), cases }
    }

    /// Number of models.
    pub fn models(&self) -> usize {
        self.endpoints.len()
    }

    /// The API and the request for a line.
    pub fn request(&self, line: &Line) -> (String, HttpRequest) {
        let key = (line.provider.clone(), line.model.clone());
        let mut endpoint = self.endpoints[&key].clone();
        let variables = self.cases["variables"].as_object().expect("variables");
        for (name, value) in variables {
            let place = format!("{{{name}}}");
            endpoint.model.base_url =
                endpoint.model.base_url.replace(&place, value.as_str().expect("a text"));
        }
        assert_eq!(endpoint.levels.len(), line.levels, "levels of {key:?}");
        let model = &endpoint.model;
        let api = Api::parse(&model.api).expect("a known API");
        let level = ThinkingLevel::parse(&line.level).expect("a level");
        let conversation = &self.cases["conversations"][&line.conversation];
        let signature = self.cases["signatures"][&model.api].as_str().unwrap_or("c2lnbmVk");
        let quoted = |text: &str| {
            let text = Value::from(text).to_string();
            text[1..text.len() - 1].to_owned()
        };
        let mut text = conversation.to_string();
        for (name, value) in [
            ("$provider", &model.provider[..]),
            ("$api", &model.api),
            ("$model", &model.id),
            ("$signature", signature),
        ] {
            text = text.replace(name, &quoted(value));
        }
        let mut conversation: Value = serde_json::from_str(&text).expect("JSON");
        let messages: Vec<AgentMessage> =
            serde_json::from_value(conversation["messages"].take()).expect("messages");
        let changes = matches!(messages.first(), Some(AgentMessage::System(_)));
        // A session always begins with its instructions and tools.
        let first = json!({
            "role": "system", "content": conversation["systemPrompt"], "toolsAdded": conversation["tools"], "timestamp": 0,
        });
        let first = (!changes).then(|| read_first(first));
        let messages: Vec<Arc<AgentMessage>> = first.into_iter().chain(messages).map(Arc::new).collect();
        // The state that the system messages add up to.
        let state = if changes { &conversation["now"] } else { &conversation };
        let tools: Vec<ToolSpec> = state["tools"].as_array().into_iter().flatten().map(tool).collect();
        let retention = conversation["retention"].as_str();
        let credentials = credentials(api, model, &self.cases);
        let options = RequestOptions {
            budgets: BTreeMap::new(),
            blocks_images: false,
            caches_long: retention == Some("long"),
        };
        let request = ModelRequest {
            endpoint: &endpoint,
            credentials: &credentials,
            max_answer_tokens: None,
            level,
            system_prompt: state["systemPrompt"].as_str().unwrap_or_default(),
            messages: &messages,
            has_system_messages: true,
            tools: &tools,
            forced_tool: None,
            session_id: if retention == Some("none") { "" } else { "session" },
            options: &options,
        };
        let (built, _) = Arc::<Threads>::default().join(
            request.session_id,
            model,
            api.request(&request),
            api.reader_for(model),
        );
        (model.api.clone(), built)
    }
}

fn read_first(mut message: Value) -> AgentMessage {
    if message["toolsAdded"].is_null()
        && let Some(members) = message.as_object_mut()
    {
        members.shift_remove("toolsAdded");
    }
    serde_json::from_value(message).expect("a system message")
}

fn credentials(api: Api, model: &pi_rpc::protocol::Model, cases: &Value) -> Credentials {
    let key = cases["key"][&model.api].as_str().unwrap_or("key");
    let variable = |name: &&'static str| {
        let value = cases["variables"][*name].as_str()?;
        Some((*name, value.to_owned()))
    };
    let headers = model.headers.iter().flatten();
    Credentials {
        key: Some(key.to_owned()),
        headers: headers.map(|(name, value)| (name.clone(), value.clone())).collect(),
        bearer: BUILT_IN.provider(&model.provider).is_some_and(|provider| provider.bearer),
        variables: api.variables(&model.provider).iter().filter_map(variable).collect(),
        account: chatgpt_account(key),
        ..Credentials::default()
    }
}

fn tool(tool: &Value) -> ToolSpec {
    let text = |name: &str| tool[name].as_str().expect("a text").to_owned();
    ToolSpec {
        name: text("name"),
        description: text("description"),
        parameters: tool["parameters"].clone().into(),
        exclusive: false,
        output: None,
    }
}
