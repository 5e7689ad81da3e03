//! Models and tools of a conversation.

use pi_rpc_engine::{ModelChoice, ModelSelection};
use pi_rpc_model::types::ToolSpec;
use pi_rpc_protocol::{Dialect, ExtensionRegisterVirtualModel, JsonObject, Model, ThinkingLevel};
use serde_json::json;

/// Tools with plans as their command lines; `bash` never runs in parallel with other calls.
pub fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, exclusive| ToolSpec {
        name: name.to_owned(),
        description: format!("Runs a plan as {name}."),
        parameters: json!({
            "type": "object",
            "properties": { "command": { "type": "string" }, "timeout": { "type": "number" } },
            "required": ["command"],
        })
        .into(),
        exclusive,
        output: None,
    };
    vec![tool("bash", true), tool("probe", false)]
}

pub fn choice(dialect: Dialect, id: &str, window: u64) -> ModelChoice {
    let model = json!({
        "id": id, "name": "Play", "api": "scripted", "provider": "scripted", "baseUrl": "scripted:",
        "reasoning": id != "plain", "input": ["text"],
        "cost": { "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0 },
        "contextWindow": window, "maxTokens": 16_384,
    });
    let text = model.to_string();
    let model: Model = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{dialect}: {error}"));
    let levels = if model.reasoning { 5 } else { 1 };
    ModelChoice { model, levels: ThinkingLevel::ALL[..levels].to_vec(), preferred: None, unusable: None }
}

/// Available models; extensions may add some.
pub struct Models {
    pub all: Vec<ModelChoice>,
    dialect: Dialect,
    window: u64,
}

impl Models {
    pub fn new(dialect: Dialect, window: u64) -> Self {
        let all = ["play", "work", "plain"].map(|id| choice(dialect, id, window)).to_vec();
        Self { all, dialect, window }
    }

    /// Adds or removes the models of a provider; one without a `baseUrl` is refused.
    pub fn provide(&mut self, name: &str, config: Option<&JsonObject>) -> Result<Vec<ModelChoice>, String> {
        for gone in self.all.iter_mut().filter(|choice| choice.model.provider == name) {
            gone.unusable = Some("gone".to_owned());
        }
        if let Some(config) = config {
            config.get("baseUrl").ok_or("baseUrl: missing")?;
            for model in config["models"].as_array().into_iter().flatten() {
                let mut choice = choice(self.dialect, model["id"].as_str().expect("an id"), self.window);
                name.clone_into(&mut choice.model.provider);
                match self.all.iter_mut().find(|it| it.model.id == choice.model.id) {
                    Some(known) => *known = choice,
                    None => self.all.push(choice),
                }
            }
        }
        Ok(self.all.clone())
    }

    /// Adds a virtual model, or makes it unusable.
    pub fn provide_virtual(
        &mut self,
        provider: &str,
        id: &str,
        definition: Option<&ExtensionRegisterVirtualModel>,
    ) -> Result<Vec<ModelChoice>, String> {
        let api = self.dialect.record().virtual_model_api.ok_or("no virtual models in this dialect")?;
        let is_it = |it: &ModelChoice| it.model.provider == provider && it.model.id == id;
        let place = self.all.iter().position(is_it);
        if let Some(gone) = place {
            self.all[gone].unusable = Some("gone".to_owned());
        }
        if let Some(definition) = definition {
            let mut choice = choice(self.dialect, id, 0);
            provider.clone_into(&mut choice.model.provider);
            choice.model.name.clone_from(&definition.name);
            api.clone_into(&mut choice.model.api);
            match place {
                Some(place) => self.all[place] = choice,
                None => self.all.push(choice),
            }
        }
        Ok(self.all.clone())
    }

    /// Selects the last model.
    pub fn choose(&self) -> Result<ModelSelection, String> {
        let start = self.all.len() - 1;
        Ok(ModelSelection { models: self.all.clone(), start, level: None, scope: None })
    }
}
