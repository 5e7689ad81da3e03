//! What this project has, asked of its program.

use super::facts::Ours;
use crate::{cargo, root, run};
use regex::Regex;
use serde_json::Value;
use std::{collections::BTreeSet, fs, process::Command};

/// What the dialect has, and with `pi-1` also what stands around the wire.
pub fn facts(dialect: &str) -> Result<Ours, String> {
    run(&mut cargo(&["build", "--quiet", "--bin", "pi-rpc"]))?;
    let schema = json(&["schema", "--dialect", dialect])?;
    let mut types = BTreeSet::new();
    constants(&schema, &mut types);
    let help = program(&["serve", "--help"])?;
    let mut ours = Ours::from([
        ("commands", types.clone()),
        ("events", types.clone()),
        ("other frames", types),
        ("options", found(&help, r"(--[a-z][\w-]+)")?),
    ]);
    if dialect == "pi-1" {
        let mut settings = BTreeSet::new();
        properties(&json(&["schema", "--format", "settings"])?, "", &mut settings);
        ours.insert("settings", settings);
        let providers = text("data/providers.json")?;
        ours.insert("variables of keys", found(&providers, r#""([A-Z][A-Z0-9]+_[A-Z0-9_]{3,})""#)?);
        let variables = text("docs/reference/configuration.md")?;
        ours.insert("variables", found(&variables, r"`([A-Z][A-Z0-9]+_[A-Z0-9_]+)`")?);
        let words = found(&node_host()?, r"(\w+)")?;
        ours.insert("events of extensions", words.clone());
        ours.insert("members of the extension API", words);
        let models: Value = serde_json::from_str(&text("data/models.json")?)
            .map_err(|error| format!("data/models.json: {error}"))?;
        let by_provider = models["providers"].as_object().into_iter().flatten();
        let names = by_provider.flat_map(|(provider, models)| {
            let ids = models.as_array().into_iter().flatten().filter_map(|model| model["id"].as_str());
            ids.map(move |id| format!("{provider}/{id}"))
        });
        ours.insert("models", names.collect());
    }
    Ok(ours)
}

fn program(arguments: &[&str]) -> Result<String, String> {
    let path = root().join("target/debug/pi-rpc");
    let output = Command::new(&path).args(arguments).output();
    let output = output.map_err(|error| format!("{}: {error}", path.display()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("pi-rpc {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr))),
    }
}

fn json(arguments: &[&str]) -> Result<Value, String> {
    serde_json::from_str(&program(arguments)?)
        .map_err(|error| format!("pi-rpc {}: {error}", arguments.join(" ")))
}

fn text(name: &str) -> Result<String, String> {
    fs::read_to_string(root().join(name)).map_err(|error| format!("{name}: {error}"))
}

/// The program that runs extensions, and the schema of its wire: what they do not name is not there.
fn node_host() -> Result<String, String> {
    let folder = "crates/extension/src/node/host";
    let mut host = text("schema/extension.json")?;
    for entry in fs::read_dir(root().join(folder)).map_err(|error| format!("{folder}: {error}"))? {
        let name = entry.map_err(|error| error.to_string())?.file_name();
        host += &text(&format!("{folder}/{}", name.to_string_lossy()))?;
    }
    Ok(host)
}

fn found(text: &str, pattern: &str) -> Result<BTreeSet<String>, String> {
    let pattern = Regex::new(pattern).map_err(|error| error.to_string())?;
    Ok(pattern.captures_iter(text).map(|found| found[1].to_owned()).collect())
}

/// Every text that a schema demands of a member `type`.
fn constants(schema: &Value, types: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            types.extend(members.get("const").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| constants(value, types));
        }
        Value::Array(list) => list.iter().for_each(|value| constants(value, types)),
        _ => {}
    }
}

/// The properties of a schema and of the objects in it, as paths.
fn properties(schema: &Value, path: &str, names: &mut BTreeSet<String>) {
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        names.insert(format!("{path}{name}"));
        properties(member, &format!("{path}{name}."), names);
    }
}
