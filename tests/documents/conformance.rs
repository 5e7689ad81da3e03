//! The pages of `docs/conformance`: what each server does in the scenarios, from `tests/peers/*.result.json`.

use crate::documents_support::{ROOT, page};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Files of the results, in the order of the columns: originals by age, then this server.
const SERVERS: [&str; 13] = [
    "pi-0.52.12",
    "pi-0.73.1",
    "pi-1.5.2",
    "pi-1.6.0",
    "omp-18.2.3",
    "xcsh-recordings",
    "pi-rpc-pi",
    "pi-rpc-pi@0.73",
    "pi-rpc-pi-1@1.5",
    "pi-rpc-pi-1",
    "pi-rpc-xcsh",
    "pi-rpc-omp",
    "pi-rpc-omp@18.3",
];

/// The most scenarios that are named beside a defect.
const NAMED: usize = 4;

/// Each page's path and text.
pub fn pages() -> Vec<(String, String)> {
    let results: Vec<Value> = SERVERS
        .iter()
        .map(|name| serde_json::from_str(&page(&format!("tests/peers/{name}.result.json"))).expect(name))
        .collect();
    let mut pages = vec![("docs/conformance/scoreboard.md".to_owned(), scoreboard(&results))];
    for (name, result) in SERVERS.iter().zip(&results) {
        if !name.starts_with("pi-rpc") {
            pages.push((format!("docs/conformance/{name}.md"), server_page(result)));
        }
    }
    pages
}

/// The rules that servers keep, as `schema/rules.json` has them.
fn server_rules() -> BTreeMap<String, Value> {
    let mut rules: BTreeMap<String, Value> = serde_json::from_str(&page("schema/rules.json")).expect("JSON");
    rules.retain(|_, rule| rule["side"] == "server");
    rules
}

/// The page that compares all servers.
fn scoreboard(results: &[Value]) -> String {
    let rules = server_rules();
    let mut text = "# Which server keeps what\n\n\
        Each server plays the [scenarios](../reference/scenarios.md) of its dialect with a scripted model, and every frame is judged by the \
        [rules](../reference/rules.md). Of xcsh, which no registry has, recordings are judged. `cargo bless conform_peers documents` installs \
        the servers, plays them and writes this page and those of the servers anew; `cargo peers --all` fails where one does otherwise than \
        `tests/peers` says.\n\n\
        | Level | What a client may rely on |\n| --- | --- |\n\
        | whole | every rule that was put to the test |\n\
        | sound | every MUST; the broken SHOULDs are on the server's page |\n\
        | known defects | every MUST but in the places that the server's page names |\n\
        | recordings only | what was recorded, which is not what the scenarios ask for |\n\n"
        .to_owned();
    table(&mut text, &["Server", "Dialect", "Played", "Scenarios", "MUST kept", "SHOULD kept", "Level"]);
    for (name, result) in SERVERS.iter().zip(results) {
        let server = string(&result["server"]);
        let server = match name.starts_with("pi-rpc") {
            true => server,
            false => format!("[{server}]({name}.md)"),
        };
        let passed = scenarios(result).filter(|(_, outcome)| *outcome == "passed").count();
        let row = [
            server,
            format!("`{}`", string(&result["dialect"])),
            string(&result["played"]),
            format!("{passed} of {}", scenarios(result).count()),
            kept(result, "MUST", &rules),
            kept(result, "SHOULD", &rules),
            level(result).to_owned(),
        ];
        line(&mut text, &row);
    }
    text += "\n## Rules\n\n`+`: kept. `d`: broken where the server's page says. Empty: not put to the test, or not of the dialect. Rules that every \
        server keeps are left out.\n\n";
    let columns: Vec<String> = results.iter().map(|result| string(&result["server"])).collect();
    header(&mut text, "Rule", &columns);
    let broken: BTreeSet<String> =
        results.iter().flat_map(|result| list(&result["defects"])).map(|it| string(&it["rule"])).collect();
    for rule in &broken {
        let mark = |result: &Value| {
            let is_broken = list(&result["defects"]).any(|it| it["rule"] == **rule);
            match (is_broken, words(&result["exercised"]).any(|it| it == rule)) {
                (true, _) => "d",
                (false, true) => "+",
                (false, false) => "",
            }
        };
        marks(&mut text, &format!("`{rule}`"), results.iter().map(mark));
    }
    text += "\n## Scenarios\n\n`+`: passed. `d`: passed but for known defects. `f`: failed. `?`: could not be judged. Empty: not played, \
        as it is not of the dialect or takes too long there.\n\n";
    let played: BTreeMap<usize, &Value> =
        results.iter().enumerate().filter(|(_, result)| result["recordings"] != true).collect();
    header(&mut text, "Scenario", &played.keys().map(|at| columns[*at].clone()).collect::<Vec<_>>());
    let names: BTreeSet<&str> =
        played.values().flat_map(|result| scenarios(result)).map(|(name, _)| name).collect();
    for name in names {
        let mark = |result: &&Value| {
            let is_defect =
                || list(&result["defects"]).any(|it| list(&it["scenarios"]).any(|scenario| scenario == name));
            match scenarios(result).find(|it| it.0 == name).map(|it| it.1) {
                None => "",
                Some("passed") if is_defect() => "d",
                Some("passed") => "+",
                Some("failed") => "f",
                Some(_) => "?",
            }
        };
        marks(&mut text, name, played.values().map(mark));
    }
    text
}

/// The page of one server.
fn server_page(result: &Value) -> String {
    let rules = server_rules();
    let server = string(&result["server"]);
    let mut text = format!(
        "# {server}\n\npi-rpc {} played {} scenarios as `{}` on {}: {}. {} of {} applicable rules were put to the test. \
         [All servers](scoreboard.md).\n\n",
        string(&result["by"]),
        scenarios(result).count(),
        string(&result["dialect"]),
        string(&result["played"]),
        level(result),
        words(&result["exercised"]).count(),
        words(&result["exercised"]).count() + list(&result["notExercised"]).count(),
    );
    if result["recordings"] == true {
        text = text.replacen("played", "judged", 1).replacen("scenarios", "recordings", 1);
    }
    table(&mut text, &["Rules", "Put to the test", "Broken"]);
    let groups: BTreeSet<&str> = rules.values().filter_map(|rule| rule["area"].as_str()).collect();
    for group in ["MUST", "SHOULD", "OBSERVED"].into_iter().chain(groups) {
        let of_group = |rule: &Value| tier(rule, result) == group || rule["area"] == group;
        let (exercised, broken) = counts(result, &rules, of_group);
        line(&mut text, &[group.to_owned(), exercised.to_string(), broken.to_string()]);
    }
    text += "\n## What it does otherwise\n\n";
    table(&mut text, &["Rule", "Asks", "Why it may stay", "Scenarios", "Recording"]);
    for defect in list(&result["defects"]) {
        let names: Vec<String> = list(&defect["scenarios"]).map(string).collect();
        let several = match names.len() {
            0..=NAMED => names.join(", "),
            count => format!("{count} scenarios"),
        };
        let recording = defect["recording"].as_str().map_or_else(String::new, |file| format!("`{file}`"));
        let row = [
            format!("`{}`", string(&defect["rule"])),
            string(&defect["tier"]),
            string(&defect["why"]),
            several,
            recording,
        ];
        line(&mut text, &row);
    }
    text += "\n## What was not put to the test\n\n";
    table(&mut text, &["Rule", "Why not"]);
    for rule in list(&result["notExercised"]) {
        line(&mut text, &[format!("`{}`", string(&rule["rule"])), string(&rule["reason"])]);
    }
    text
}

/// What a client may rely on.
fn level(result: &Value) -> &'static str {
    let breaks = |tier: &str| list(&result["defects"]).any(|it| it["tier"] == tier);
    match (breaks("MUST"), breaks("SHOULD")) {
        _ if result["recordings"] == true => "recordings only",
        (true, _) => "known defects",
        (false, true) => "sound",
        (false, false) => "whole",
    }
}

/// How many of the rules of a tier that were put to the test are kept.
fn kept(result: &Value, tier: &str, rules: &BTreeMap<String, Value>) -> String {
    let (exercised, broken) = counts(result, rules, |rule| self::tier(rule, result) == tier);
    format!("{} of {exercised}", exercised - broken)
}

/// What a rule asks in the dialect of the result, or in that which it is an overlay of.
fn tier(rule: &Value, result: &Value) -> String {
    let dialect = string(&result["dialect"]);
    let base = dialect.split('@').next().unwrap_or_default();
    let by_dialect = rule["tier"].as_object();
    let tier = by_dialect.and_then(|tiers| tiers.get(&dialect).or_else(|| tiers.get(base)));
    string(tier.unwrap_or(&rule["tier"]))
}

/// How many of the rules were put to the test, and how many of these are broken.
fn counts(
    result: &Value,
    rules: &BTreeMap<String, Value>,
    wanted: impl Fn(&Value) -> bool,
) -> (usize, usize) {
    let broken: BTreeSet<String> = list(&result["defects"]).map(|it| string(&it["rule"])).collect();
    let exercised: BTreeSet<String> =
        words(&result["exercised"]).map(str::to_owned).chain(broken.iter().cloned()).collect();
    let is_wanted = |name: &&String| rules.get(*name).is_some_and(&wanted);
    (exercised.iter().filter(is_wanted).count(), broken.iter().filter(is_wanted).count())
}

/// The scenarios, each with its outcome.
fn scenarios(result: &Value) -> impl Iterator<Item = (&str, &str)> {
    let outcomes = result["scenarios"].as_object().into_iter().flatten();
    outcomes.flat_map(|(outcome, names)| words(names).map(|name| (name, outcome.as_str())))
}

/// The names in a text.
fn words(value: &Value) -> impl Iterator<Item = &str> {
    value.as_str().unwrap_or_default().split_whitespace()
}

/// A table's head with a narrow column for each server.
fn header(text: &mut String, first: &str, servers: &[String]) {
    let columns: Vec<String> = std::iter::once(first.to_owned()).chain(servers.iter().cloned()).collect();
    table(text, &columns);
}

fn marks(text: &mut String, first: &str, marks: impl Iterator<Item = &'static str>) {
    line(text, &std::iter::once(first.to_owned()).chain(marks.map(str::to_owned)).collect::<Vec<_>>());
}

fn table(text: &mut String, columns: &[impl AsRef<str>]) {
    line(text, columns);
    line(text, &vec!["---"; columns.len()]);
}

fn line(text: &mut String, cells: &[impl AsRef<str>]) {
    let cells: Vec<_> = cells.iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
    *text += &format!("| {} |\n", cells.join(" | "));
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn string(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[test]
fn each_result_is_on_the_scoreboard() {
    let files = fs::read_dir(Path::new(ROOT).join("tests/peers")).expect("a folder");
    let names = files.map(|file| file.expect("an entry").file_name().into_string().expect("UTF-8"));
    let found: BTreeSet<String> =
        names.filter_map(|name| Some(name.strip_suffix(".result.json")?.to_owned())).collect();
    assert_eq!(found, SERVERS.map(str::to_owned).into());
}
