//! TypeSafe's System One, which several providers serve, and the endpoint of Cloudflare for the same.

use super::{
    OtherApi, OtherModel, OtherRequest,
    classifier_answer::{Predicate, ReadAnswer},
    data_url, images, questions,
};
use pi_rpc_protocol::{JsonObject, Usage};
use serde_json::{Value, json};

/// Permits images at TypeSafe itself, where they are experimental.
const IMAGE_OPT_IN: (&str, &str) = ("TypeSafe-Danger-Zone-Images", "true");

/// How many images a model of Cloudflare takes.
const MAX_CLEF_IMAGES: usize = 4;

/// Answers to yes or no.
const PREDICATE: Predicate = Predicate { kind: "noul", member: "noul", noun: "a bool" };

/// Makes the request.
pub fn request(model: &OtherModel, context: &Value) -> Result<OtherRequest, String> {
    let asked = questions(context).map(|(id, question)| {
        let mut question = question.clone();
        if question["type"] == "bool" {
            question["type"] = "noul".into();
        }
        (id.clone(), question)
    });
    let mut request = JsonObject::new();
    request.insert("state".to_owned(), context.get("state").cloned().unwrap_or_default());
    request.insert("questions".to_owned(), asked.collect::<JsonObject>().into());
    let images = images(context);
    let mut headers = Vec::new();
    if !images.is_empty() {
        let (form, opts_in) = image_form(model);
        add_images(model, form, &images, &mut request)?;
        headers.extend(opts_in.then(|| (IMAGE_OPT_IN.0.to_owned(), IMAGE_OPT_IN.1.to_owned())));
    }
    let (path, body) = match model.api {
        OtherApi::CloudflareSystemOne => ("run", json!({ "model": model.id, "input": request })),
        _ => {
            let mut body = JsonObject::new();
            body.insert("model".to_owned(), model.id.as_str().into());
            body.extend(request);
            ("systemone", Value::Object(body))
        }
    };
    Ok(OtherRequest { url: model.url(path), headers, body })
}

/// How the service takes images, and whether it needs to be permitted.
fn image_form(model: &OtherModel) -> (&str, bool) {
    let is_openrouter = model.provider == "openrouter" || model.base_url.contains("openrouter.ai");
    let (form, opts_in) = match model.api {
        OtherApi::CloudflareSystemOne if model.id.starts_with("@cf/cloudflare/clef") => ("images", false),
        OtherApi::CloudflareSystemOne => ("assets", false),
        _ if is_openrouter => ("state-image-urls", false),
        _ => ("assets", true),
    };
    let stated = model.compat("imageInput").and_then(Value::as_str);
    let opts = model.compat("sendImageOptInHeader").and_then(Value::as_bool);
    (stated.unwrap_or(form), opts.unwrap_or(opts_in))
}

fn add_images(
    model: &OtherModel,
    form: &str,
    images: &[(&str, &str)],
    request: &mut JsonObject,
) -> Result<(), String> {
    let refused = |kinds: &str, kind: &str| {
        format!("{} accepts {kinds} images for {}, got {kind}", model.label(), model.id)
    };
    let state = request.get("state").cloned().unwrap_or_default();
    match form {
        "images" => {
            if images.len() > MAX_CLEF_IMAGES {
                let count = images.len();
                return Err(refused(&format!("at most {MAX_CLEF_IMAGES}"), &count.to_string()));
            }
            let known = ["image/png", "image/jpeg", "image/webp"];
            if let Some((kind, _)) = images.iter().find(|(kind, _)| !known.contains(kind)) {
                return Err(refused("PNG, JPEG, and WebP", kind));
            }
            request.insert("images".to_owned(), images.iter().copied().map(data_url).collect());
        }
        "state-image-urls" => {
            let part = |image: &(&str, &str)| json!({ "type": "image_url", "image_url": { "url": data_url(*image) } });
            let parts = images.iter().map(part).chain([state]);
            request.insert("state".to_owned(), parts.collect());
        }
        _ => {
            let mut assets = JsonObject::new();
            for (at, (kind, data)) in images.iter().enumerate() {
                let format = match *kind {
                    "image/png" => "png",
                    "image/jpeg" => "jpeg",
                    kind => return Err(refused("PNG and JPEG", kind)),
                };
                let asset = json!({ "type": "image", "format": format, "data_base64": data });
                assets.insert(format!("<image-{}>", at + 1), asset);
            }
            // Every asset has to be named.
            let names = assets.keys().map(|name| Value::from(name.as_str())).chain([state]);
            let state = names.collect();
            request.insert("state".to_owned(), state);
            request.insert("assets".to_owned(), assets.into());
        }
    }
    Ok(())
}

/// Reads the answer.
pub fn answer(model: &OtherModel, context: &Value, body: &Value) -> (Option<Usage>, Result<Value, String>) {
    let output = match model.api {
        OtherApi::CloudflareSystemOne => run_output(model, body),
        _ => Ok(body),
    };
    match output {
        // What cannot be read was billed as well.
        Ok(output) => (model.classifier_usage(output.get("usage")), answers(model, context, output)),
        Err(error) => (None, Err(error)),
    }
}

/// The output of a model in the envelope of Cloudflare's API, which may have a record of the run in it.
fn run_output<'b>(model: &OtherModel, body: &'b Value) -> Result<&'b Value, String> {
    if body["success"] == false {
        let errors = body["errors"].as_array().into_iter().flatten();
        let texts: Vec<&str> = errors.filter_map(|error| error["message"].as_str()).collect();
        return Err(match texts.is_empty() {
            true => format!("{} request failed", model.label()),
            false => texts.join("; "),
        });
    }
    let result = &body["result"];
    match result["state"].as_str() {
        _ if result.get("answers").is_some() => Ok(result),
        Some("Completed") => Ok(&result["result"]),
        Some(state) => Err(format!("{} run did not complete (state: {state})", model.label())),
        None => Err(model.wrong("an unexpected response")),
    }
}

fn answers(model: &OtherModel, context: &Value, output: &Value) -> Result<Value, String> {
    let given = output.get("answers").filter(|it| it.is_object());
    let given = given.ok_or_else(|| model.wrong("an unexpected response"))?;
    let mut answers = JsonObject::new();
    for (id, question) in questions(context) {
        let missing = |kind: &str| format!("{} did not return {kind} answer for {id}", model.label());
        let answer = given.get(id).filter(|it| it.is_object()).ok_or_else(|| missing("an"))?;
        let probabilities = answer["probabilities"].as_object().cloned();
        let read =
            ReadAnswer { model, id, answer, probabilities, predicate: &PREDICATE }.read_for(question)?;
        answers.insert(id.clone(), read);
    }
    Ok(answers.into())
}
