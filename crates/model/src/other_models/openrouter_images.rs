//! Images by OpenRouter's Chat Completions.

use super::{OtherModel, OtherRequest, data_url, image_parts};
use crate::{openrouter_cost::billed, types::Bill};
use pi_rpc_protocol::Usage;
use serde_json::{Number, Value, json};

/// Makes the request.
pub fn request(model: &OtherModel, context: &Value) -> OtherRequest {
    let blocks = context.get("input").and_then(Value::as_array).into_iter().flatten();
    let content = blocks.map(|block| match image_parts(block) {
        Some(image) => json!({ "type": "image_url", "image_url": { "url": data_url(image) } }),
        None => json!({ "type": "text", "text": block["text"] }),
    });
    let content: Vec<Value> = content.collect();
    let modalities: &[&str] = if model.has("output", "text") { &["image", "text"] } else { &["image"] };
    let body = json!({
        "model": model.id, "messages": [{ "role": "user", "content": content }], "stream": false, "modalities": modalities,
    });
    OtherRequest { url: model.url("chat/completions"), headers: Vec::new(), body }
}

/// Reads the answer. Images that are no data are left out.
pub fn answer(model: &OtherModel, body: &Value) -> (Option<Usage>, Result<Value, String>) {
    let usage = body.get("usage").filter(|usage| usage.is_object()).and_then(|usage| {
        let count = |value: &Value| value.as_u64().unwrap_or_default();
        let details = &usage["prompt_tokens_details"];
        let (prompt, cached, written) = (
            count(&usage["prompt_tokens"]),
            count(&details["cached_tokens"]),
            count(&details["cache_write_tokens"]),
        );
        let cached = if written > 0 { cached.saturating_sub(written) } else { cached };
        let input = prompt.saturating_sub(cached).saturating_sub(written);
        let mut read = model.usage([input, count(&usage["completion_tokens"]), cached, written])?;
        // Most models for images have no price in the catalogue.
        if let Some(Bill::Total(picodollars)) = billed(usage) {
            read.cost.total = Number::from_f64(picodollars as f64 / 1e12)?;
        }
        Some(read)
    });
    let message = &body["choices"][0]["message"];
    let text = message["content"].as_str().filter(|text| !text.is_empty());
    let text = text.map(|text| json!({ "type": "text", "text": text }));
    let images = message["images"].as_array().into_iter().flatten().filter_map(|image| {
        let url = image["image_url"].as_str().or_else(|| image["image_url"]["url"].as_str())?;
        let (mime_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
        Some(json!({ "type": "image", "mimeType": mime_type, "data": data }))
    });
    (usage, Ok(text.into_iter().chain(images).collect()))
}
