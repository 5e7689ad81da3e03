//! Where a release of oh-my-pi states its facts.

use super::{Release, facts::Facts};

pub fn facts(release: &Release) -> Result<Facts, String> {
    let file = |name: &str| release.folder.join(name);
    let mut facts = Facts::default();
    let types = file("src/modes/rpc/rpc-types.ts");
    facts.find("commands", &types, r#"\{ id\?: string; type: "(\w+)"((?:; [^}]*)?) ?\}"#)?;
    facts.find("events", &file("src/session/agent-session-events.ts"), r#"type: "(\w+)"([^}]*)"#)?;
    facts.find("other frames", &types, r#"(?m)^\s+type: "(\w+)""#)?;
    facts.find("options", &file("src/cli/flag-tables.ts"), r#""(--[a-z][\w-]+)""#)?;
    Ok(facts)
}
