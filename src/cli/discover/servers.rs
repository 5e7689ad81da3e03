//! The known kinds of local servers, and how their models are listed. A server is recognized by its answers, not by its port.
//!
//! Sources: the public API references of Ollama (`/api/tags`, `/api/show`), LM Studio (`/api/v0/models`), llama.cpp's
//! server (`/props`, `/v1/models`) and vLLM (`/v1/models`).

use super::{LIMIT, MAX_BYTES};
use futures_util::{StreamExt as _, future::join_all};
use reqwest::{Client, Method};
use serde_json::{Value, json};

/// Servers and their usual ports.
pub const USUAL: [(&str, u16); 5] =
    [("ollama", 11434), ("llama-cpp", 9931), ("llama-cpp", 8080), ("lm-studio", 1234), ("vllm", 8000)];

/// A server that was found.
#[derive(Debug)]
pub struct LocalServer {
    /// The name for its provider.
    pub name: &'static str,
    /// Its address, without a path.
    pub address: String,
    /// Whether it takes `reasoning_effort`.
    pub takes_effort: bool,
    /// The models that answer prompts.
    pub models: Vec<LocalModel>,
}

/// A model of a server; what it does not say is left to the defaults.
#[derive(Debug, Default)]
pub struct LocalModel {
    id: String,
    context_window: Option<u64>,
    sees_images: bool,
    thinks: bool,
}

impl LocalModel {
    /// The model's entry in `models.json`.
    pub fn as_json(&self) -> Value {
        let mut model = json!({ "id": self.id });
        if self.thinks {
            model["reasoning"] = true.into();
        }
        if self.sees_images {
            model["input"] = json!(["text", "image"]);
        }
        if let Some(tokens) = self.context_window {
            model["contextWindow"] = tokens.into();
            // An answer must fit beside the prompt.
            model["maxTokens"] = (tokens / 2).clamp(1, 16_384).into();
        }
        model
    }
}

/// Finds out which server answers at `address`.
///
/// # Errors
///
/// None does, or none that is known; the text is for people.
pub async fn find(address: &str) -> Result<LocalServer, String> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    // No proxy can reach this machine.
    let client = Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .timeout(LIMIT)
        .build()
        .map_err(|error| error.to_string())?;
    let asker = Asker { client, address };
    let version = match asker.get("/api/version").await {
        Err(Failure::Unreachable) => return Err("nothing answers".to_owned()),
        answer => answer.ok(),
    };
    if version.is_some_and(|version| version["version"].is_string()) {
        return asker.ollama().await;
    }
    if let Ok(list) = asker.get("/api/v0/models").await
        && list["data"].is_array()
    {
        return Ok(asker.lm_studio(&list));
    }
    let list = asker.get("/v1/models").await.map_err(|failure| failure.text("/v1/models"))?;
    let Some(models) = list["data"].as_array() else {
        return Err("no list of models at /v1/models".to_owned());
    };
    match asker.get("/props").await {
        Ok(properties) if properties["default_generation_settings"].is_object() => {
            Ok(asker.llama_cpp(models, &properties))
        }
        _ => Ok(asker.vllm(models)),
    }
}

/// Why there is no answer.
enum Failure {
    Unreachable,
    Status(u16),
    NotJson,
}

impl Failure {
    fn text(&self, path: &str) -> String {
        match self {
            Self::Unreachable => "nothing answers".to_owned(),
            Self::Status(status) => format!("{path}: status {status}"),
            Self::NotJson => format!("{path}: no JSON"),
        }
    }
}

struct Asker<'a> {
    client: Client,
    address: &'a str,
}

impl Asker<'_> {
    async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.ask(Method::GET, path, None).await
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, Failure> {
        let mut request = self.client.request(method, format!("{}{path}", self.address));
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.map_err(|_| Failure::Unreachable)?;
        if !response.status().is_success() {
            return Err(Failure::Status(response.status().as_u16()));
        }
        let mut bytes = Vec::new();
        let mut pieces = response.bytes_stream();
        while let Some(piece) = pieces.next().await {
            bytes.extend_from_slice(&piece.map_err(|_| Failure::NotJson)?);
            if bytes.len() > MAX_BYTES {
                return Err(Failure::NotJson);
            }
        }
        serde_json::from_slice(&bytes).map_err(|_| Failure::NotJson)
    }

    fn server(&self, name: &'static str, takes_effort: bool, models: Vec<LocalModel>) -> LocalServer {
        LocalServer { name, address: self.address.to_owned(), takes_effort, models }
    }

    async fn ollama(&self) -> Result<LocalServer, String> {
        let list = self.get("/api/tags").await.map_err(|failure| failure.text("/api/tags"))?;
        let ids = list["models"].as_array().into_iter().flatten().filter_map(|model| model["name"].as_str());
        let models = join_all(ids.map(|id| self.ollama_model(id))).await;
        Ok(self.server("ollama", true, models.into_iter().flatten().collect()))
    }

    /// `None`: the model answers no prompts.
    async fn ollama_model(&self, id: &str) -> Option<LocalModel> {
        let shown = self.ask(Method::POST, "/api/show", Some(json!({ "model": id }))).await;
        let shown = shown.unwrap_or(Value::Null);
        let able: Option<Vec<&str>> =
            shown["capabilities"].as_array().map(|list| list.iter().filter_map(Value::as_str).collect());
        let can = |what: &str| able.as_ref().is_some_and(|able| able.contains(&what));
        if able.is_some() && !can("completion") {
            return None;
        }
        let context = shown["model_info"].as_object().into_iter().flatten();
        let context = context.filter(|(key, _)| key.ends_with(".context_length"));
        Some(LocalModel {
            id: id.to_owned(),
            context_window: context.filter_map(|(_, tokens)| tokens.as_u64()).next(),
            sees_images: can("vision"),
            thinks: can("thinking"),
        })
    }

    fn lm_studio(&self, list: &Value) -> LocalServer {
        let models = list["data"].as_array().into_iter().flatten();
        let models = models.filter(|model| matches!(model["type"].as_str(), Some("llm" | "vlm")));
        let models = models.filter_map(|model| {
            let loaded = model["loaded_context_length"].as_u64();
            Some(LocalModel {
                id: model["id"].as_str()?.to_owned(),
                context_window: loaded.or(model["max_context_length"].as_u64()),
                sees_images: model["type"] == "vlm",
                thinks: false,
            })
        });
        self.server("lm-studio", false, models.collect())
    }

    fn llama_cpp(&self, models: &[Value], properties: &Value) -> LocalServer {
        let settings = &properties["default_generation_settings"];
        let models = models.iter().filter_map(|model| {
            Some(LocalModel {
                id: model["id"].as_str()?.to_owned(),
                context_window: settings["n_ctx"].as_u64().or(model["meta"]["n_ctx_train"].as_u64()),
                sees_images: properties["modalities"]["vision"] == true,
                thinks: false,
            })
        });
        self.server("llama-cpp", false, models.collect())
    }

    /// vLLM, or another server of OpenAI's API.
    fn vllm(&self, models: &[Value]) -> LocalServer {
        let name = match models.iter().any(|model| model["owned_by"] == "vllm") {
            true => "vllm",
            false => "local",
        };
        let models = models.iter().filter_map(|model| {
            let context_window = model["max_model_len"].as_u64();
            Some(LocalModel { id: model["id"].as_str()?.to_owned(), context_window, ..LocalModel::default() })
        });
        self.server(name, false, models.collect())
    }
}
