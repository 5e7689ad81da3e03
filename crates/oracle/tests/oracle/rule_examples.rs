//! The page of examples: for each rule a frame that breaks it, the same as it should be, and where the rule comes from. It is
//! made from the planted faults and the lies; `UPDATE=1` writes it anew.

use crate::{
    lies::{DIALECTS, lies},
    mutation_support::{Trace, dialect, read, recorded, valid},
    mutations::mutants,
};
use pi_rpc_oracle::{
    Examination, View,
    report::{ReportedFinding, Source},
};
use pi_rpc_protocol::{Area, Dialect, RuleId};
use serde_json::Value;
use std::{
    env,
    fmt::Write as _,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

/// What a rule finds in a spoilt recording.
struct Example {
    /// What is wrong.
    what: String,
    /// The recording: `dialect/name`.
    name: String,
    finding: ReportedFinding,
    spoilt: Trace,
    original: Trace,
}

/// The most characters of a frame that the page shows.
const SHOWN: usize = 400;

/// What the page begins with.
const HEAD: &str = "# Rules by example

Each of the [rules](rules.md) with a fault that it finds: what came, what was expected, the same frame as it should be, where the rule
comes from, and which servers of the [scoreboard](../conformance/scoreboard.md) break it today. Generated from the planted faults and the
lies in `tests/oracle`, and the results in `tests/peers`.
";

#[test]
fn examples_of_rules_are_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/rule-examples.md");
    let page = page();
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "UPDATE=1 cargo test -p pi-rpc-oracle examples_of_rules writes the page anew");
}

fn page() -> String {
    let mut page = HEAD.to_owned();
    let mut mutants = mutants();
    // What breaks one rule alone shows it best.
    mutants.sort_by_key(|mutant| mutant.breaks.len());
    let planted: Vec<_> =
        mutants.iter().flat_map(|mutant| mutant.traces().map(move |name| (mutant, name))).collect();
    let results = results();
    for area in Area::ALL {
        let _ = writeln!(page, "\n## {area}");
        for rule in RuleId::ALL.into_iter().filter(|rule| rule.about().area == area) {
            let of_rule = planted.iter().filter(|(mutant, _)| mutant.breaks.contains(rule.as_str()));
            let mut examples = of_rule.filter_map(|(mutant, name)| {
                let mut spoilt = valid(name);
                let planted = catch_unwind(AssertUnwindSafe(|| {
                    mutant.ops.iter().for_each(|op| op.apply(&mut spoilt));
                }));
                planted.ok()?;
                Example::of(rule, mutant.what.clone(), name.clone(), spoilt, valid(name))
            });
            let example = examples.next().or_else(|| lie(rule));
            section(&mut page, rule, example.as_ref(), &results);
        }
    }
    page
}

/// The originals that were played with, each with the name of its page and its result.
fn results() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/peers");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut results: Vec<(String, Value)> = files
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".result.json")?.to_owned();
            let is_original = !name.starts_with("pi-rpc");
            is_original.then(|| (name, serde_json::from_slice(&fs::read(&path).unwrap()).unwrap()))
        })
        .collect();
    results.sort_by(|one, other| one.0.cmp(&other.0));
    results
}

/// The servers that break a rule today, each with a link to its page.
fn broken_by(rule: RuleId, results: &[(String, Value)]) -> String {
    let breaks = |result: &Value| {
        let mut defects = result["defects"].as_array().into_iter().flatten();
        defects.any(|defect| defect["rule"] == rule.as_str())
    };
    let of = results.iter().filter(|(_, result)| breaks(result));
    let links: Vec<String> = of
        .map(|(name, result)| {
            format!("[{}](../conformance/{name}.md)", result["server"].as_str().unwrap_or(name))
        })
        .collect();
    if links.is_empty() { "no server".to_owned() } else { links.join(", ") }
}

/// A lie that the rule finds.
fn lie(rule: RuleId) -> Option<Example> {
    lies().into_iter().filter(|lie| lie.found.iter().any(|name| name == rule.as_str())).find_map(|lie| {
        DIALECTS.iter().filter(|dialect| lie.is_for(dialect)).find_map(|dialect| {
            let name = format!("{dialect}/{}", lie.recording);
            let mut spoilt = recorded(&name);
            lie.steps(dialect).iter().for_each(|step| step.apply(dialect, &mut spoilt));
            let what = lie.lie.trim_end_matches('.').to_owned();
            Example::of(rule, what, name.clone(), spoilt, recorded(&name))
        })
    })
}

impl Example {
    fn of(rule: RuleId, what: String, name: String, spoilt: Trace, original: Trace) -> Option<Self> {
        let mut examination = Examination::new(&*name, dialect(&name), View::Both);
        for (at, record) in spoilt.iter().enumerate() {
            examination.observe(at as u64 + 1, &read(&record.to_string()));
        }
        let finding = examination.finish().findings.into_iter().find(|found| found.rule == rule)?;
        Some(Self { what, name, finding, spoilt, original })
    }

    /// The record of the finding.
    fn broken(&self) -> Option<&Value> {
        self.spoilt.get(usize::try_from(self.finding.record).ok()?.checked_sub(1)?)
    }

    /// The frame in its place in the original recording; `None` if it is the same there.
    fn kept(&self) -> Option<&Value> {
        let broken = self.broken()?;
        if self.original.contains(broken) {
            return None;
        }
        let is_it = |record: &&Value| {
            let same = |key: &str| record["frame"][key] == broken["frame"][key];
            record["t"] == broken["t"] && record["dir"] == broken["dir"] && same("type") && same("id")
        };
        self.original.iter().find(is_it)
    }
}

fn section(page: &mut String, rule: RuleId, example: Option<&Example>, results: &[(String, Value)]) {
    let about = rule.about();
    let tiers = DIALECTS.map(|name| {
        let tier = Dialect::parse(name).and_then(|dialect| rule.tier(dialect.base()));
        format!("{name} {}", tier.map_or("–", |tier| tier.as_str()))
    });
    let sources: Vec<String> = Source::of(rule).iter().map(linked).collect();
    let _ = write!(page, "\n### {rule}\n\n{} Tiers: {}. ", about.sentence, tiers.join(", "));
    let _ = write!(page, "Written in: {}. ", sources.join("; "));
    let _ = write!(page, "Broken today by {}. ", broken_by(rule, results));
    let Some(example) = example else {
        let _ = writeln!(page, "No conversation of `tests/oracle` breaks it alone.");
        return;
    };
    let _ = writeln!(page, "{} (`{}`):\n```text", capital(&example.what), example.name);
    let finding = &example.finding;
    let _ = writeln!(page, "expected {}", one_line(&finding.expectation()));
    if let Some(broken) = example.broken() {
        let _ = writeln!(page, "breaks   {}", shortened(broken));
    }
    if let Some(kept) = example.kept() {
        let _ = writeln!(page, "keeps    {}", shortened(kept));
    }
    let _ = writeln!(page, "```");
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A record in one line, without its time.
fn shortened(record: &Value) -> String {
    let body = record.get("frame").or_else(|| record.get("raw")).map(ToString::to_string).unwrap_or_default();
    format!("{} {}", record["dir"].as_str().unwrap_or_default(), one_line(&body))
}

/// A text in one line of a block, shortened.
fn one_line(text: &str) -> String {
    let plain: String = text.replace('\n', " ").replace('`', "'");
    let short: String = plain.chars().take(SHOWN).collect();
    let more = if short.len() < plain.len() { " …" } else { "" };
    format!("{short}{more}")
}

fn linked(source: &Source) -> String {
    let section = source.section.as_ref().map(|section| format!(": {section}")).unwrap_or_default();
    match &source.address {
        Some(address) => format!("[{}{section}]({address})", source.document),
        None => format!("{}{section}", source.document),
    }
}
