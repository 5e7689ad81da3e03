//! What extensions decide about warm caches, and what they are told of MCP servers of others.

use crate::asking_support::{Extension, Playback, Scenario, done, hooks, says, scenario, shorthand, writes};
use pi_rpc::{
    engine::{Modes, Setup},
    model::http_options::CacheWarming,
    protocol::{Dialect::Pi1, PromptCache},
};
use serde_json::{Value, json};
use shorthand::{prompt, says as model_says};

/// A prompt whose answer is charged so many tokens, and whose cache lasts five minutes.
fn charged(tokens: u64, extension: Extension) -> Scenario {
    let mut answer = model_says("Yes.");
    answer["usage"] = json!({ "input": tokens, "output": 1 });
    let cached = |setup: &mut Setup| {
        for choice in &mut setup.models {
            choice.model.prompt_cache = Some(PromptCache { short: Some(300.into()), long: None });
            (choice.model.cost.input, choice.model.cost.cache_write) = (5.into(), 6.into());
        }
    };
    scenario(json!([answer, model_says("."), model_says(".")]))
        .set_up(cached)
        .modes(|modes: &mut Modes| modes.cache_warming.mode = CacheWarming::Idle)
        .extended(extension)
        .host(10, prompt("p", "go"))
}

/// What comes of it within 500 s.
fn warmed(tokens: u64, extension: Extension) -> Playback {
    charged(tokens, extension).ends(500_000).play(Pi1)
}

/// The purposes of the requests of models.
fn purposes(played: &Playback) -> Vec<&str> {
    played.asked.iter().filter_map(|line| line.split(' ').next()).collect()
}

const DECISION: &str = "cache_warming_decision";

#[test]
fn extension_stops_a_warm_cache() {
    let played = warmed(1_000_000, hooks("a", DECISION, [says(json!({ "warms": false }))]));
    assert_eq!(purposes(&played), ["turn"], "{}", played.log);
    let asked: Vec<&Value> =
        played.wrote(">a", "hook cache_warming_decision").iter().map(|it| &it["hook"]).collect();
    let event = json!({
        "type": DECISION, "warmCost": 2e-6, "missCost": 6, "continuationProbability": 0.15, "warms": true,
    });
    assert_eq!(asked, [&event]);
}

#[test]
fn extension_warms_a_small_cache() {
    let played = warmed(10_000, hooks("a", DECISION, [says(json!({ "warms": true }))]));
    assert_eq!(purposes(&played), ["turn", "warming"], "{}", played.log);
    let entries: Vec<&Value> =
        played.said.iter().map(|frame| &frame["entry"]).filter(|it| it["kind"] == "cache_warm").collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["note"], "extension override");
}

#[test]
fn undecided_extension_changes_no_decision() {
    let played = warmed(1_000_000, hooks("a", DECISION, [done()]));
    assert_eq!(purposes(&played), ["turn", "warming"], "{}", played.log);
    assert!(!played.log.contains("extension override"), "{}", played.log);
}

#[test]
fn prompt_cancels_the_decision() {
    let silent = hooks("a", DECISION, []);
    let played = charged(1_000_000, silent).host(271_000, prompt("q", "on")).ends(280_000).play(Pi1);
    assert_eq!(purposes(&played), ["turn", "turn"], "{}", played.log);
    assert_eq!(played.wrote(">a", "cancel").len(), 1, "{}", played.log);
}

#[test]
fn later_mcp_servers_are_told() {
    let servers = |names: &[&str]| -> Value {
        names.iter().map(|name| json!({ "name": name, "config": { "command": "x" } })).collect()
    };
    let commands = json!([{ "name": "add", "description": "Adds a server." }]);
    let adding = Extension::new("b", json!({ "commands": commands, "mcpServers": servers(&["one"]) })).on(
        "command add",
        [
            writes(
                json!({ "type": "register", "commands": commands, "mcpServers": servers(&["one", "two"]) }),
            ),
            done(),
        ],
    );
    let played = scenario(json!([]))
        .extended(hooks("a", "mcp_servers_change", [done()]))
        .extended(adding)
        .host(20, prompt("p", "/add"))
        .play(Pi1);
    let told: Vec<&Value> =
        played.wrote(">a", "hook mcp_servers_change").iter().map(|it| &it["hook"]["servers"]).collect();
    let path = &told[0][0]["path"];
    let server = |name: &str| json!({ "name": name, "config": { "command": "x" }, "path": path });
    assert_eq!(told, [&json!([server("one"), server("two")])]);
}
