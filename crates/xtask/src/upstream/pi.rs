//! Where a release of pi states its facts.

use super::{
    Release,
    facts::{Facts, read},
};

/// Where pi-ai keeps its model list.
pub const MODELS: &str = "dist/providers/data";

pub fn facts(release: &Release) -> Result<Facts, String> {
    let file = |name: &str| release.folder.join(name);
    let [ai, core, ..] = &release.parts[..] else {
        return Err("data/upstream.json: agents.pi.parts: expected pi-ai, then pi-agent-core".to_owned());
    };
    let mut facts = Facts::default();
    facts.find(
        "commands",
        &file("dist/modes/rpc/rpc-types.d.ts"),
        r#"id\?: string;\s+type: "(\w+)";([^}]*)"#,
    )?;
    facts.find("events", &file("dist/core/agent-session.d.ts"), r#"type: "(\w+)";([^}]*)"#)?;
    facts.find("events", &core.join("dist/types.d.ts"), r#"type: "(\w+_\w+)";([^}]*)"#)?;
    facts.find("settings", &file("docs/settings.md"), r"(?m)^\| `([\w.]+)` \|(.*)$")?;
    facts.find("options", &file("dist/cli/args.js"), r#""(--[a-z][\w-]+)""#)?;
    let types = file("dist/core/extensions/types.d.ts");
    facts.find("events of extensions", &types, r#"on\(event: "(\w+)"(.*)"#)?;
    facts.find("members of the extension API", &types, r"(?m)^    (\w+)[(<](.*)$")?;
    facts.find("variables", &file("docs/environment-variables.md"), r"`([A-Z][A-Z0-9]+_[A-Z0-9_]+)`")?;
    facts.find(
        "variables of keys",
        &ai.join("dist/env-api-keys.js"),
        r#""([A-Z][A-Z0-9]+_[A-Z0-9_]{3,})""#,
    )?;
    facts.find(
        "default models",
        &file("dist/core/model-resolver.js"),
        r#"(?m)^ {4}"?([\w-]+)"?: "([^"]+)",$"#,
    )?;
    facts.find(
        "texts of transient failures",
        &ai.join("dist/utils/retry.js"),
        r#"(?m)^ {4}["'](.+)["'],"#,
    )?;
    facts.find("texts of overflows", &ai.join("dist/utils/overflow.js"), r"(?m)^ {4}(/.+/i)")?;
    let compat = file("docs/models-configuration.md");
    facts.find("compat members", &compat, r"(?m)^\| `(\w+)` \|(.*)$")?;
    for tool in ["bash", "edit", "find", "grep", "ls", "read", "write"] {
        let file = file(&format!("dist/core/tools/{tool}.js"));
        facts.add("words of tools", descriptions(tool, &read(&file)?));
    }
    Ok(facts)
}

/// Every description that a tool's file holds, numbered, so that another wording shows.
fn descriptions(tool: &str, text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| line.contains("description:"));
    lines.enumerate().map(|(at, line)| (format!("{tool} {at}"), line.trim().to_owned())).collect()
}
