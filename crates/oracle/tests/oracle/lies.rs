//! The oracle finds lies: planted faults that are consistent in themselves. Each breaks one promise of the protocol, and
//! where a value is repeated, it is changed there, too.
//!
//! `lies/catalogue` has the lies, `lies/recordings` the conversations in which they are planted, and `lies/scenarios` the
//! scenarios from which our own server made these.

mod catalogue;
mod generated;
mod wide;

use crate::mutation_support::{Trace, read, recorded};
pub use catalogue::{Lie, includes, lies, recordings};
use pi_rpc_oracle::{Judge, View};
use pi_rpc_protocol::{Dialect, RuleId, Side, Tier};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    thread,
};

pub const DIALECTS: [&str; 4] = ["pi", "pi-1", "xcsh", "omp"];

/// The findings about a lie in one dialect.
struct LieResult {
    lie: Lie,
    dialect: &'static str,
    trace: Trace,
    /// The rules that find the lie.
    rules: BTreeSet<String>,
}

/// Plants and judges every lie in each of its dialects.
fn results() -> Vec<LieResult> {
    let lies = lies();
    thread::scope(|scope| {
        let parts = DIALECTS.map(|dialect| {
            let lies = &lies;
            scope.spawn(move || {
                let here = lies.iter().filter(|lie| lie.is_for(dialect));
                here.map(|lie| judge_lie(lie, dialect)).collect::<Vec<_>>()
            })
        });
        parts.into_iter().flat_map(|part| part.join().expect("a part")).flatten().collect()
    })
}

/// Plants and judges a lie; `None` if the recording has no place for it.
fn judge_lie(lie: &Lie, dialect: &'static str) -> Option<LieResult> {
    let name = format!("{dialect}/{}", lie.recording);
    let mut trace = recorded(&name);
    let steps = lie.steps(dialect);
    let result = catch_unwind(AssertUnwindSafe(|| {
        steps.iter().for_each(|step| step.apply(dialect, &mut trace));
    }));
    if result.is_err() {
        eprintln!("lie {} cannot be applied to {name}", lie.number);
    }
    result.ok().map(|()| LieResult { lie: lie.clone(), dialect, rules: broken(dialect, &trace), trace })
}

/// The rules of tier MUST or SHOULD about servers that the recording breaks.
fn broken(dialect: &str, trace: &Trace) -> BTreeSet<String> {
    let mut judge = Judge::new(Dialect::parse(dialect).expect("a dialect"), View::Both);
    let mut findings: Vec<_> =
        trace.iter().flat_map(|record| judge.observe(&read(&record.to_string()))).collect();
    findings.extend(judge.finish());
    let of_server = |rule: RuleId| rule.about().side == Side::Server;
    let failing = findings.into_iter().map(|finding| finding.violation);
    let failing = failing.filter(|it| it.tier != Tier::Observed && of_server(it.rule));
    failing.map(|violation| violation.rule.to_string()).collect()
}

/// Whether some lie in this dialect breaks the rule.
pub fn is_broken(dialect: &str, rule: &str) -> bool {
    let is_found =
        |lie: &Lie| lie.is_for(dialect) && !lie.is_pending(dialect) && !lie.not_found.contains_key(dialect);
    lies().iter().any(|lie| is_found(lie) && lie.found.iter().any(|name| name == rule))
}

#[test]
fn recordings_of_lies_have_no_fault() {
    for name in recordings() {
        let dialect = name.split('/').next().unwrap_or_default();
        assert_eq!(broken(dialect, &recorded(&name)), BTreeSet::new(), "{name}");
    }
}

#[test]
fn lies_are_numbered_in_order() {
    let numbers: Vec<u32> = lies().iter().map(|lie| lie.number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u32).collect::<Vec<_>>());
}

#[test]
fn every_lie_is_found_or_excused() {
    let results = results();
    let mut wrong: Vec<String> = results.iter().filter_map(LieResult::differs).collect();
    let planted: usize = lies().iter().map(Lie::dialect_count).sum();
    assert_eq!(results.len(), planted, "some lies cannot be applied, see above");
    let mut by_lie: BTreeMap<u32, (&Lie, BTreeSet<&String>)> = BTreeMap::new();
    for result in &results {
        by_lie.entry(result.lie.number).or_insert((&result.lie, BTreeSet::new())).1.extend(&result.rules);
    }
    for (lie, rules) in by_lie.values() {
        let idle = lie.found.iter().filter(|rule| !rules.contains(rule));
        wrong.extend(idle.map(|rule| format!("lie {}: {rule} is listed and tells it nowhere", lie.number)));
    }
    assert_eq!(wrong, Vec::<String>::new());
    let shown = table(&results);
    println!("{shown}");
    insta::assert_snapshot!("lies", shown);
}

impl LieResult {
    /// The difference from the catalogue, if any.
    fn differs(&self) -> Option<String> {
        let Self { lie, dialect, rules, .. } = self;
        let excused = lie.not_found.contains_key(*dialect) || lie.is_pending(dialect);
        let listed = rules.iter().all(|rule| lie.found.contains(rule));
        match (rules.is_empty(), excused) {
            (true, true) => None,
            (false, false) if listed => None,
            _ => Some(format!(
                "lie {} ({dialect}, {}): found by {rules:?}, listed are {:?}",
                lie.number, lie.lie, lie.found
            )),
        }
    }
}

/// The table of found lies, and the list of the others.
fn table(results: &[LieResult]) -> String {
    let mut out = String::new();
    let mut areas: Vec<&str> = results.iter().map(|result| result.lie.area.as_str()).collect();
    areas.sort_unstable();
    areas.dedup();
    let _ = write!(out, "{:<12}", "found of");
    for dialect in DIALECTS.into_iter().chain(["all"]) {
        let _ = write!(out, " {dialect:>9}");
    }
    out.push('\n');
    for area in areas.iter().copied().chain(["all"]) {
        let _ = write!(out, "{area:<12}");
        for dialect in DIALECTS.into_iter().chain(["all"]) {
            let counted = |result: &&LieResult| {
                (area == "all" || result.lie.area == area) && (dialect == "all" || result.dialect == dialect)
            };
            let counted: Vec<&LieResult> = results.iter().filter(counted).collect();
            let found = counted.iter().filter(|result| !result.rules.is_empty()).count();
            let _ = write!(out, " {:>9}", format!("{found}/{}", counted.len()));
        }
        out.push('\n');
    }
    let found = results.iter().filter(|result| !result.rules.is_empty()).count();
    let _ =
        writeln!(out, "{:.1} % of {} are found", 100.0 * found as f64 / results.len() as f64, results.len());
    for result in results.iter().filter(|result| result.rules.is_empty()) {
        let why = result.lie.not_found.get(result.dialect).map_or("pending", String::as_str);
        let _ = writeln!(
            out,
            "not found: {} in {}: {}: {why}",
            result.lie.number, result.dialect, result.lie.lie
        );
    }
    out
}

#[test]
#[ignore = "prints what tells each lie and writes the recordings to target/lies, for those who write rules"]
fn lies_are_listed_and_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lies");
    fs::create_dir_all(&folder).expect("a folder");
    for result in results() {
        let (number, dialect) = (result.lie.number, result.dialect);
        println!("{}", json!({ "number": number, "dialect": dialect, "rules": result.rules }));
        let lines: String = result.trace.iter().map(|record| format!("{record}\n")).collect();
        fs::write(folder.join(format!("{number:03}-{dialect}.jsonl")), lines).expect("a recording");
    }
}
