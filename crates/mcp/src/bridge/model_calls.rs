//! `models` in scripts of `codemode`: the lists of models, and requests to those that answer no prompts.

use super::scripts::{CallInScript, RunningScript};
use crate::{
    script_models::{CurrentModels, ModelResult},
    script_output::ScriptCall,
};
use pi_rpc_codemode::Sandbox;
use pi_rpc_files::secrets::redact_url;
use pi_rpc_model::other_models::{OtherModel, Purpose};
use pi_rpc_protocol::{QueriedModel, Usage};
use pi_rpc_session::compaction::sum_usage;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::{sync::Semaphore, task::JoinSet, time::Instant};

/// The functions that scripts call.
pub(super) const MODEL_FUNCTIONS: [&str; 5] = [
    "models.getModelsOfType",
    "models.getAvailableOfType",
    "models.getModelOfType",
    "models.classify",
    "models.generateImages",
];

/// Requests of one script at the same time; more wait. Source: pi 1.6.0's `codemode.md`.
const MAX_REQUESTS: usize = 4;

/// Requests of one script altogether: each progress report has all of them.
const MAX_REQUESTS_IN_ALL: u64 = 1000;

/// The type of models that answer prompts, which scripts only list.
const CHAT: &str = "chat";

/// The models of one script, and its requests to them.
pub(super) struct ModelCalls {
    models: Arc<CurrentModels>,
    chat: Vec<QueriedModel>,
    slots: Arc<Semaphore>,
    running: JoinSet<ModelCallEnd>,
    /// Requests so far.
    count: u64,
    /// Tokens and costs of the requests that have ended.
    pub usage: Option<Usage>,
    /// Images that were made.
    pub images: usize,
}

/// The end of a request to a model.
pub(super) struct ModelCallEnd {
    /// The id for the script.
    id: u64,
    result: ModelResult,
}

impl ModelCalls {
    pub(super) fn new(models: CurrentModels, chat: Vec<QueriedModel>) -> Self {
        let models = Arc::new(models);
        let slots = Arc::new(Semaphore::new(MAX_REQUESTS));
        Self { models, chat, slots, running: JoinSet::new(), count: 0, usage: None, images: 0 }
    }

    /// The next request that ends; none: for ever.
    pub(super) async fn next(&mut self) -> ModelCallEnd {
        loop {
            match self.running.join_next().await {
                Some(Ok(ended)) => return ended,
                // A task that has panicked or was cancelled answers nothing.
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    /// What a script has used so far, which is nothing before its first request has ended; `None`: it has sent none.
    pub(super) fn used(&self) -> Option<Usage> {
        let nothing = || {
            let none = json!({
                "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
                "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 },
            });
            serde_json::from_value(none).ok()
        };
        self.usage.clone().or_else(|| nothing().filter(|_| self.count > 0))
    }

    /// Cancels the requests.
    pub(super) fn cancel(&mut self) {
        self.running.abort_all();
    }

    /// The models of a type, as scripts are told of them.
    fn list(&self, name: &str, arguments: &Value, is_wanted: impl Fn(bool) -> bool) -> Result<Value, String> {
        let kind = arguments.get(0).and_then(Value::as_str).unwrap_or_default();
        let provider = match arguments.get(1) {
            None | Some(Value::Null) => None,
            Some(Value::String(provider)) => Some(provider.as_str()),
            Some(_) => return Err(format!("{name}(): provider: expected a string")),
        };
        if kind == CHAT {
            let of_provider =
                |it: &&QueriedModel| provider.is_none_or(|provider| it.model.provider == provider);
            let listed = self.chat.iter().filter(of_provider).filter(|it| is_wanted(it.usable));
            return Ok(listed.map(chat_info).collect());
        }
        let purpose = purpose_of(name, kind)?;
        let listed =
            self.models.of(purpose, provider).filter(|model| is_wanted(self.models.is_available(model)));
        Ok(listed.map(other_info).collect())
    }

    /// The model with this type, provider and id.
    fn find(&self, name: &str, arguments: &Value) -> Result<Option<Value>, String> {
        let text = |at: usize| arguments.get(at).and_then(Value::as_str);
        let (Some(kind), Some(provider), Some(id)) = (text(0), text(1), text(2)) else {
            return Err(format!("{name}(type, provider, id): expected three strings"));
        };
        if kind == CHAT {
            let is_it = |it: &&QueriedModel| it.model.provider == provider && it.model.id == id;
            return Ok(self.chat.iter().find(is_it).map(chat_info));
        }
        let purpose = purpose_of(name, kind)?;
        let found = self.models.of(purpose, Some(provider)).find(|model| model.id == id);
        Ok(found.map(other_info))
    }

    /// The model that a script names for a request; only provider and id count, so that no script chooses where a key is sent.
    fn named(&self, name: &str, purpose: Purpose, given: Option<&Value>) -> Result<&OtherModel, String> {
        let kind = purpose.as_str();
        let hint = format!("models.getAvailableOfType(\"{kind}\") lists those that can be used");
        let text = |key: &str| given.and_then(|it| it.get(key)).and_then(Value::as_str);
        let (Some(provider), Some(id)) = (text("provider"), text("id")) else {
            return Err(format!("{name}(): expected a model of type {kind} as the first argument; {hint}"));
        };
        let found = self.models.of(purpose, Some(provider)).find(|model| model.id == id);
        found.ok_or_else(|| {
            let is_other = |other: Purpose| self.models.of(other, Some(provider)).any(|model| model.id == id);
            match Purpose::ALL.into_iter().find(|other| *other != purpose && is_other(*other)) {
                Some(other) => {
                    format!(
                        "{name}(): {provider}/{id} is of type {}, expected {kind}; {hint}",
                        other.as_str()
                    )
                }
                None => format!("{name}(): there is no model {provider}/{id} of type {kind}; {hint}"),
            }
        })
    }
}

impl RunningScript {
    /// Serves a function of `models`.
    pub(super) async fn call_model_function(
        &mut self,
        sandbox: &Sandbox,
        id: u64,
        name: &str,
        arguments: &Value,
    ) {
        let Some(calls) = &self.models else {
            return sandbox.answer(id, Err(format!("{name}(): there are no such models here"))).await;
        };
        let answer = match name {
            "models.getModelsOfType" => calls.list(name, arguments, |_| true).map(Some),
            "models.getAvailableOfType" => calls.list(name, arguments, |usable| usable).map(Some),
            "models.getModelOfType" => calls.find(name, arguments),
            _ => match self.begin_model_call(id, name, arguments) {
                Ok(()) => return self.report().await,
                Err(error) => Err(error),
            },
        };
        sandbox.answer(id, answer).await;
    }

    fn begin_model_call(&mut self, id: u64, name: &str, arguments: &Value) -> Result<(), String> {
        let Some(calls) = &mut self.models else { return Ok(()) };
        let purpose = if name == "models.classify" { Purpose::Classifier } else { Purpose::Image };
        let model = calls.named(name, purpose, arguments.get(0))?.clone();
        let context = arguments.get(1).cloned().unwrap_or_default();
        purpose.check(&context)?;
        if calls.count >= MAX_REQUESTS_IN_ALL {
            return Err(format!("{name}(): a script sends at most {MAX_REQUESTS_IN_ALL} requests to models"));
        }
        calls.count += 1;
        let record =
            ScriptCall::of_model(&self.call.tool_call_id, name, calls.count, &model.provider, &model.id);
        self.calls.push(CallInScript { action: None, id, began: Instant::now(), record });
        let (models, slots) = (Arc::clone(&calls.models), Arc::clone(&calls.slots));
        calls.running.spawn(async move {
            // The semaphore is never closed.
            let _slot = slots.acquire().await;
            ModelCallEnd { id, result: models.run(&model, &context).await }
        });
        Ok(())
    }

    /// Takes the end of a request to a model, and passes its result to the script.
    pub(super) async fn end_model_call(&mut self, sandbox: &Sandbox, ended: ModelCallEnd) {
        let ModelCallEnd { id, result: ModelResult { value, usage, error } } = ended;
        if let Some(calls) = &mut self.models {
            let blocks = value["output"].as_array().into_iter().flatten();
            calls.images += blocks.filter(|block| block["type"] == "image").count();
            if let Some(usage) = usage.clone() {
                calls.usage = Some(match calls.usage.take() {
                    Some(before) => sum_usage(before, usage),
                    None => usage,
                });
            }
        }
        if let Some(call) = self.calls.iter_mut().find(|call| call.id == id) {
            call.record.took = Some(call.began.elapsed());
            call.record.cost = usage.map(|usage| usage.cost.total);
            call.record.end(error.is_some(), error.as_deref().unwrap_or_default());
        }
        // An abort counts what was used.
        self.report().await;
        sandbox.answer(id, Ok(Some(value))).await;
    }
}

fn purpose_of(name: &str, kind: &str) -> Result<Purpose, String> {
    let purpose = Purpose::ALL.into_iter().find(|purpose| purpose.as_str() == kind);
    purpose.ok_or_else(|| format!("{name}(): type: expected chat, image or classifier, got {kind:?}"))
}

/// What scripts are told of a classifier or a model for images; its address without a password.
fn other_info(model: &OtherModel) -> Value {
    let mut info = model.info();
    if let Some(Value::String(url)) = info.get_mut("baseUrl") {
        *url = redact_url(url);
    }
    info
}

/// What scripts are told of a model that answers prompts.
fn chat_info(queried: &QueriedModel) -> Value {
    let mut info = json!(queried.model);
    info["type"] = CHAT.into();
    if let Some(info) = info.as_object_mut() {
        info.remove("headers");
    }
    info
}
