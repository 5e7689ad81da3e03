//! The rules that frames are judged by, area by area.

use super::{bases, code, table};
use pi_rpc_machine::Rule;
use pi_rpc_protocol::{Area, Side, Tier};

/// Every rule, with how much it asks in each base dialect.
pub(super) fn all() -> String {
    let legend = table(
        ["Tier", "Means"],
        Tier::ALL.into_iter().map(|tier| [tier.as_str().to_owned(), tier.about().to_owned()]),
    );
    let areas = Area::ALL.into_iter().map(|area| {
        let rules = Rule::ALL.into_iter().filter(|rule| rule.about().area == area);
        let bases: Vec<_> = bases().collect();
        let head = bases.iter().map(|base| base.as_str()).collect::<Vec<_>>().join(" / ");
        format!("## {area}\n\n{}", table(["Rule", &head, "What it demands"], rules.map(row)))
    });
    std::iter::once(legend).chain(areas).collect::<Vec<_>>().join("\n")
}

fn row(rule: Rule) -> [String; 3] {
    let about = rule.about();
    let tiers = bases().map(|base| rule.tier(base.base()).map_or("–", Tier::as_str));
    let mut text = about.sentence.to_owned();
    if about.side == Side::Host {
        text += " *Of the host.*";
    }
    if !about.needs.is_empty() {
        let needs: Vec<&str> = about.needs.iter().map(|need| need.about()).collect();
        text += &format!(" Also needs: {}", needs.join(" "));
    }
    text += &format!(" Written in: {}.", about.sources.join("; "));
    [code(rule.as_str()), tiers.collect::<Vec<_>>().join(" / "), text]
}
