//! The files of a run: `home` with pi's folder, and `project`, the working directory.

use super::Run;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};
use std::{fs, net::SocketAddr, os::unix::fs::symlink, path::Path};

/// Writes the files of a run below `root`. A text is a file's content, an object with one of these members another kind of
/// file: `json`, `base64`, `lines` (so many numbered lines), `repeat` (a text and a count), `link` (a target), `folder`.
/// Any other object is JSON.
pub fn lay_out(root: &Path, run: &Run, vendor: SocketAddr) {
    for folder in ["home/.pi/agent", "project", "tmp"] {
        fs::create_dir_all(root.join(folder)).expect(folder);
    }
    let mut settings = Map::from_iter([
        ("defaultProvider".to_owned(), json!("fake")),
        ("defaultModel".to_owned(), json!("model")),
    ]);
    settings.extend(run.settings.clone());
    let agent = root.join("home/.pi/agent");
    let settings = Value::Object(settings).to_string().replace("{root}", &root.display().to_string());
    fs::write(agent.join("settings.json"), settings).expect("settings.json");
    fs::write(agent.join("models.json"), models(run, vendor).to_string()).expect("models.json");
    for (path, content) in &run.files {
        let place = root.join(path);
        fs::create_dir_all(place.parent().expect("a folder")).expect(path);
        let member =
            |name: &str| content.get(name).filter(|_| content.as_object().is_some_and(|it| it.len() == 1));
        if let Some(target) = member("link").and_then(Value::as_str) {
            symlink(target, &place).expect(path);
            continue;
        }
        if member("folder").is_some() {
            fs::create_dir_all(&place).expect(path);
            continue;
        }
        let bytes = if let Some(text) = content.as_str() {
            text.replace("{root}", &root.display().to_string()).into_bytes()
        } else if let Some(text) = member("base64").and_then(Value::as_str) {
            STANDARD.decode(text).expect(path)
        } else if let Some(count) = member("lines").and_then(Value::as_u64) {
            (1..=count).map(|number| format!("line {number}\n")).collect::<String>().into_bytes()
        } else if let Some(parts) = member("repeat").and_then(Value::as_array) {
            parts[0].as_str().expect(path).repeat(parts[1].as_u64().expect(path) as usize).into_bytes()
        } else {
            member("json").unwrap_or(content).to_string().into_bytes()
        };
        fs::write(&place, bytes).expect(path);
    }
}

/// The scripted vendor, with two models.
fn models(run: &Run, vendor: SocketAddr) -> Value {
    let model = |id: &str| {
        let mut model = Map::from_iter([
            ("id".to_owned(), json!(id)),
            ("name".to_owned(), json!(format!("The {id}"))),
            ("reasoning".to_owned(), json!(true)),
            ("input".to_owned(), json!(["text", "image"])),
            ("contextWindow".to_owned(), json!(200_000)),
            ("maxTokens".to_owned(), json!(8000)),
        ]);
        model.extend(run.model.clone());
        Value::Object(model)
    };
    json!({ "providers": { "fake": {
        "baseUrl": format!("http://{vendor}"), "apiKey": "key", "api": "anthropic-messages",
        "models": [model("model"), model("other")],
    } } })
}
