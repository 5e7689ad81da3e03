//! The table of rules, as text and as JSON. All of its content comes from the schema.

use pi_rpc_machine::Rule;
use pi_rpc_protocol::{Area, Dialect, Need};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// All rules as text, by area: name, tier in each base dialect, the side that is judged, the rule in one sentence, and its
/// sources.
pub fn table() -> String {
    let mut text = String::new();
    let width = Rule::ALL.into_iter().map(|rule| rule.as_str().len()).max().unwrap_or_default();
    let dialects: String = bases().map(|base| format!(" {:<8}", base.as_str())).collect();
    // Writing to a string does not fail.
    let _ = writeln!(text, "{:<width$} {dialects} side", "rule");
    for area in Area::ALL {
        let _ = writeln!(text, "\n{area}");
        for rule in Rule::ALL.into_iter().filter(|rule| rule.about().area == area) {
            let tiers: String = bases().map(|base| format!(" {:<8}", tier(rule, base))).collect();
            let about = rule.about();
            let _ = writeln!(text, "{:<width$} {tiers} {}", rule.as_str(), about.side);
            let _ = writeln!(text, "    {}", about.sentence);
            let _ = writeln!(text, "    {}", about.sources.join("; "));
        }
    }
    text
}

/// All rules as JSON.
pub fn json() -> Value {
    let rule = |rule: Rule| {
        let about = rule.about();
        let tiers = bases()
            .filter_map(|base| Some((base.as_str().to_owned(), rule.tier(base.base())?.as_str().into())));
        json!({
            "rule": rule.as_str(),
            "area": about.area.as_str(),
            "side": about.side.as_str(),
            "tier": Value::Object(tiers.collect()),
            "sentence": about.sentence,
            "needs": about.needs.iter().map(|need| need.as_str()).collect::<Vec<_>>(),
            "sources": about.sources,
        })
    };
    json!({ "rules": Rule::ALL.map(rule).to_vec() })
}

/// What a rule with this need has to see, in words.
pub const fn describe_need(need: Need) -> &'static str {
    match need {
        Need::Host => "what the host wrote",
        Need::End => "how the process ended",
        Need::Clock => "when each frame came",
        Need::Hazard => "a server that is inconvenient on purpose",
        Need::Sessions => "a connection that carries many sessions",
    }
}

/// The base dialects. An overlay has the tiers of its base.
fn bases() -> impl Iterator<Item = Dialect> {
    let extends = |dialect: &Dialect| Dialect::ALL.iter().find(|first| first.base() == dialect.base());
    Dialect::ALL.into_iter().filter(move |dialect| extends(dialect) == Some(dialect))
}

fn tier(rule: Rule, dialect: Dialect) -> &'static str {
    rule.tier(dialect.base()).map_or("–", |tier| tier.as_str())
}
