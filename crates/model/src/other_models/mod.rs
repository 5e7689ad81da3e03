//! Models that answer no prompts: classifiers, which answer typed questions about JSON, and models that make images.
//!
//! A request is made of what a script gives, and its answer read, in the words of each API. Nothing is sent here.
//! Source: pi 1.6.0 source, and its `codemode.md`.
//!
//! ```
//! use pi_rpc_model::other_models::{OtherModel, Purpose};
//! use serde_json::json;
//!
//! let facts = json!({ "id": "jev", "name": "Jev", "api": "typesafe-system-one", "baseUrl": "https://api.example/v1", "input": ["text"],
//!     "cost": { "input": 2, "output": 0, "cacheRead": 0, "cacheWrite": 0 } });
//! let model = OtherModel::read(Purpose::Classifier, "typesafe", facts.as_object().unwrap().clone()).unwrap();
//! let context = json!({ "state": { "text": "Hi" }, "questions": { "rude": { "type": "bool", "instructions": "Is it rude?",
//!     "criteria": { "true": "Rude", "false": "Polite" } } } });
//! assert!(Purpose::Classifier.check(&context).is_ok());
//! let request = model.request(&context).unwrap();
//! assert_eq!(request.url, "https://api.example/v1/systemone");
//! let answer = json!({ "answers": { "rude": { "type": "noul", "noul": 0.25 } }, "usage": { "input_tokens": 500_000 } });
//! let (usage, answers) = model.answer(&context, &answer);
//! assert_eq!(answers.unwrap()["rude"]["probability"], 0.25);
//! assert_eq!(usage.unwrap().cost.total.as_f64(), Some(1.0));
//! ```

mod classifier_answer;
mod context;
mod decisions;
mod openrouter_images;
mod system_one;

use pi_rpc_protocol::{JsonObject, Usage};
use serde_json::{Value, json};

/// What a model is for, besides answering prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Answers typed questions.
    Classifier,
    /// Makes images.
    Image,
}

impl Purpose {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Classifier, Self::Image];

    /// Its name, as `type` of a model has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Classifier => "classifier",
            Self::Image => "image",
        }
    }

    /// The member of a result that has what the model has made.
    pub const fn result_member(self) -> &'static str {
        match self {
            Self::Classifier => "answers",
            Self::Image => "output",
        }
    }

    /// Checks the shape of what a script gives to such a model.
    ///
    /// # Errors
    ///
    /// The member that is wrong, and what was expected.
    pub fn check(self, context: &Value) -> Result<(), String> {
        match self {
            Self::Classifier => context::check_classifier(context),
            Self::Image => context::check_images(context),
        }
    }
}

/// An API of such models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OtherApi {
    SystemOne,
    CloudflareSystemOne,
    Decisions,
    OpenrouterImages,
}

impl OtherApi {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "typesafe-system-one" => Self::SystemOne,
            "cloudflare-workers-ai-system-one" => Self::CloudflareSystemOne,
            "openai-decisions" => Self::Decisions,
            "openrouter-images" => Self::OpenrouterImages,
            _ => return None,
        })
    }

    /// Its name in errors.
    const fn label(self) -> &'static str {
        match self {
            Self::SystemOne => "System One API",
            Self::CloudflareSystemOne => "Cloudflare Workers AI",
            Self::Decisions => "OpenAI Decisions",
            Self::OpenrouterImages => "OpenRouter",
        }
    }
}

/// A model that answers no prompts.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherModel {
    /// What it is for.
    pub purpose: Purpose,
    /// Its provider.
    pub provider: String,
    /// Its id.
    pub id: String,
    /// Its address, in which a request may need the values of variables.
    pub base_url: String,
    /// Headers of every request.
    pub headers: Vec<(String, String)>,
    api: OtherApi,
    /// Its entry in the catalogue.
    facts: JsonObject,
}

/// A request, without the credentials.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherRequest {
    /// The address.
    pub url: String,
    /// Headers besides those for the key and the type of the body.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
}

impl OtherModel {
    /// Reads an entry of the catalogue; `None`: a member is missing, or the API is not known.
    pub fn read(purpose: Purpose, provider: &str, facts: JsonObject) -> Option<Self> {
        let text = |key: &str| facts.get(key).and_then(Value::as_str);
        let headers = facts.get("headers").and_then(Value::as_object).into_iter().flatten();
        let headers = headers.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Some(Self {
            purpose,
            provider: provider.to_owned(),
            id: text("id")?.to_owned(),
            base_url: text("baseUrl")?.to_owned(),
            headers: headers.collect(),
            api: OtherApi::parse(text("api")?)?,
            facts,
        })
    }

    /// The name of its API in errors.
    pub const fn label(&self) -> &'static str {
        self.api.label()
    }

    /// What scripts are told of it: the entry, without headers.
    pub fn info(&self) -> Value {
        let mut info = json!({ "type": self.purpose.as_str(), "provider": self.provider });
        let shown = self.facts.iter().filter(|(key, _)| *key != "headers");
        shown.for_each(|(key, value)| info[key] = value.clone());
        info["baseUrl"] = self.base_url.as_str().into();
        info
    }

    /// Whether it takes or makes this kind of content.
    fn has(&self, member: &str, kind: &str) -> bool {
        let kinds = self.facts.get(member).and_then(Value::as_array).into_iter().flatten();
        kinds.into_iter().any(|it| it == kind)
    }

    fn compat(&self, member: &str) -> Option<&Value> {
        self.facts.get("compat")?.get(member)
    }

    /// Makes a request of a context whose shape is [checked](Purpose::check).
    ///
    /// # Errors
    ///
    /// The model cannot take it.
    pub fn request(&self, context: &Value) -> Result<OtherRequest, String> {
        let has_images =
            context.get("images").and_then(Value::as_array).is_some_and(|images| !images.is_empty());
        if has_images && !self.has("input", "image") {
            return Err(format!("Model {}/{} does not accept image input", self.provider, self.id));
        }
        match self.api {
            OtherApi::SystemOne | OtherApi::CloudflareSystemOne => system_one::request(self, context),
            OtherApi::Decisions => decisions::request(self, context),
            OtherApi::OpenrouterImages => Ok(openrouter_images::request(self, context)),
        }
    }

    /// Reads the body of an answer: what it has cost, if it says so, and what the model has made.
    pub fn answer(&self, context: &Value, body: &Value) -> (Option<Usage>, Result<Value, String>) {
        match self.api {
            OtherApi::SystemOne | OtherApi::CloudflareSystemOne => system_one::answer(self, context, body),
            OtherApi::Decisions => decisions::answer(self, context, body),
            OtherApi::OpenrouterImages => openrouter_images::answer(self, body),
        }
    }

    /// Whether an answer with this status may be another one if it is requested again.
    pub fn is_transient(&self, status: u16) -> bool {
        match self.api {
            // It may be under way, and cost, behind a gateway that has given up.
            OtherApi::OpenrouterImages => matches!(status, 408 | 409 | 429 | 503),
            // A gateway in front of this API ends long requests, and would again.
            OtherApi::Decisions if status == 504 => false,
            _ => matches!(status, 408 | 409 | 429 | 500..),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("{}/{path}", self.base_url.trim_end_matches('/'))
    }

    /// An answer that is not as the API has it.
    fn wrong(&self, what: &str) -> String {
        format!("{} returned {what}", self.label())
    }

    fn number(&self, value: Option<&Value>, what: &str) -> Result<Value, String> {
        let number = value.filter(|value| value.is_number()).cloned();
        number.ok_or_else(|| self.wrong(&format!("an invalid {what}")))
    }

    /// The tokens of `input` and `output`, and others, with their cost by the model's prices.
    fn usage(&self, [input, output, cache_read, cache_write]: [u64; 4]) -> Option<Usage> {
        let total = input.checked_add(output)?.checked_add(cache_read)?.checked_add(cache_write)?;
        let prices = self.facts.get("cost");
        let above = |tier: &&Value| tier.get("inputTokensAbove").and_then(Value::as_u64);
        let tiers = prices.and_then(|prices| prices.get("tiers")).and_then(Value::as_array).into_iter();
        let tier = tiers
            .flatten()
            .filter(|tier| above(tier).is_some_and(|it| input + cache_read + cache_write > it));
        let prices = tier.max_by_key(above).or(prices);
        let cost = |tokens: u64, kind: &str| {
            let price =
                prices.and_then(|prices| prices.get(kind)).and_then(Value::as_f64).unwrap_or_default();
            price / 1e6 * tokens as f64
        };
        let costs = [
            cost(input, "input"),
            cost(output, "output"),
            cost(cache_read, "cacheRead"),
            cost(cache_write, "cacheWrite"),
        ];
        let usage = json!({
            "input": input, "output": output, "cacheRead": cache_read, "cacheWrite": cache_write, "totalTokens": total,
            "cost": {
                "input": costs[0], "output": costs[1], "cacheRead": costs[2], "cacheWrite": costs[3],
                "total": costs.iter().sum::<f64>(),
            },
        });
        serde_json::from_value(usage).ok()
    }

    /// The usage that a classifier's answer states.
    fn classifier_usage(&self, stated: Option<&Value>) -> Option<Usage> {
        let tokens = |key: &str| stated?.get(key);
        if tokens("input_tokens").is_none() && tokens("output_tokens").is_none() {
            return None;
        }
        let count = |key: &str| tokens(key).and_then(Value::as_u64).unwrap_or_default();
        self.usage([count("input_tokens"), count("output_tokens"), 0, 0])
    }
}

/// The questions of a classifier's context, by id.
fn questions(context: &Value) -> impl Iterator<Item = (&String, &Value)> {
    context.get("questions").and_then(Value::as_object).into_iter().flatten()
}

/// The image blocks of a classifier's context: type and data of each.
fn images(context: &Value) -> Vec<(&str, &str)> {
    let blocks = context.get("images").and_then(Value::as_array).into_iter().flatten();
    blocks.filter_map(image_parts).collect()
}

/// Type and data of an image block.
fn image_parts(block: &Value) -> Option<(&str, &str)> {
    Some((block.get("mimeType")?.as_str()?, block.get("data")?.as_str()?))
}

fn data_url((mime_type, data): (&str, &str)) -> String {
    format!("data:{mime_type};base64,{data}")
}
