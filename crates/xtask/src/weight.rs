//! `cargo weight`: how many crates each product is made of, how large the program is, and how many lines are generated and committed;
//! fails above the limits.

use super::{cargo, root};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::Command,
};

/// Crates that are compiled for a package on this system, its own included, and the most that there may be.
const CRATES: [(&str, usize); 3] = [("pi-rpc-client", 53), ("pi-rpc-oracle", 69), ("pi-rpc", 396)];

/// The most megabytes of the stripped program, by the folder of its profile.
const MEGABYTES: [(&str, u64); 2] = [("release", 54), ("dist", 34)];

/// Folders and files that are generated, or are for the most part.
const GENERATED: [&str; 12] = [
    "snapshots",
    "*.snap",
    "docs/conformance",
    "docs/plots",
    "docs/reference",
    "crates/inspect/src/page/contract.d.ts",
    "examples/extensions/pi_rpc_frames.py",
    "sdk/python/pi_rpc_client/omp",
    "sdk/python/pi_rpc_client/pi",
    "sdk/python/pi_rpc_client/pi_1",
    "sdk/python/pi_rpc_client/xcsh",
    "sdk/typescript/src/generated",
];

/// The most lines that these may have. The aim is 60,000: frames of virtual models and of registered MCP servers came since.
const LINES: usize = 60_200;

/// Crates by their ids, each with those that it is compiled with.
type Graph = BTreeMap<String, Vec<String>>;

/// Prints the figures. `--table`: each direct dependency with what it and the crates that only it brings cost, as
/// Markdown, for the page of dependencies.
///
/// # Errors
///
/// A figure is above its limit, or the page of dependencies lists others than there are.
pub fn run(arguments: &[String]) -> Result<(), String> {
    let metadata = metadata()?;
    if arguments.iter().any(|argument| argument == "--table") {
        return table(&metadata);
    }
    let mut above = Vec::new();
    for (package, limit) in CRATES {
        let count = crate_count(package)?;
        println!("{package}: {count} crates, at most {limit}");
        if count > limit {
            above.push(format!("{package}: {count} crates, expected at most {limit}"));
        }
    }
    for (profile, limit) in MEGABYTES {
        let Ok(file) = fs::metadata(root().join("target").join(profile).join("pi-rpc")) else { continue };
        let size = file.len().div_ceil(1_000_000);
        println!("target/{profile}/pi-rpc: {size} MB, at most {limit}");
        if size > limit {
            above.push(format!("target/{profile}/pi-rpc: {size} MB, expected at most {limit}"));
        }
    }
    // Sources that were unpacked have no list of files.
    if let Some(lines) = generated_lines() {
        println!("generated and committed: {lines} lines, at most {LINES}");
        if lines > LINES {
            above.push(format!("generated and committed: {lines} lines, expected at most {LINES}"));
        }
    }
    if above.is_empty() {
        compare_page(&metadata)
    } else {
        Err(format!("{}; say why in the commit that raises a limit", above.join("; ")))
    }
}

/// The lines of all that is generated and in the repository; `None`: this is none, or there is no git.
fn generated_lines() -> Option<usize> {
    let mut list = Command::new("git");
    list.args(["ls-files", "-z", "--"]).args(GENERATED).current_dir(root());
    let list = list.output().ok().filter(|output| output.status.success())?;
    let list = String::from_utf8(list.stdout).ok()?;
    let files = list.split('\0').filter(|path| !path.is_empty());
    let lines = files.filter_map(|path| Some(fs::read_to_string(root().join(path)).ok()?.lines().count()));
    Some(lines.sum())
}

/// The number of crates that a package is compiled with by itself, its own included: features that only others turn on do not count.
fn crate_count(package: &str) -> Result<usize, String> {
    let mut command = cargo(&["tree", "--locked", "-p", package, "-e", "normal,build", "--prefix", "none"]);
    let output = command.output().map_err(|error| format!("cargo tree: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    // A crate that was shown already ends with `(*)`.
    let crates = lines
        .lines()
        .filter_map(|line| line.split_once(' ').map(|(name, rest)| (name, rest.split(' ').next())));
    Ok(crates.collect::<BTreeSet<_>>().len())
}

fn metadata() -> Result<Value, String> {
    let host = Command::new("rustc").arg("-vV").output().map_err(|error| format!("rustc: {error}"))?;
    let host = String::from_utf8_lossy(&host.stdout).into_owned();
    let host = host
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or("rustc -vV: expected a line `host: `")?;
    let mut command = cargo(&["metadata", "--format-version", "1", "--filter-platform", host]);
    let output = command.output().map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata: {error}"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn id_of(metadata: &Value, name: &str) -> Result<String, String> {
    let found = list(metadata, "packages").iter().find(|package| text(package, "name") == name);
    found.map(|package| text(package, "id").to_owned()).ok_or_else(|| format!("no package is called {name}"))
}

/// Which crate is compiled with which; those of tests are left out.
fn graph(metadata: &Value) -> Graph {
    let is_compiled =
        |dependency: &&Value| list(dependency, "dep_kinds").iter().any(|kind| text(kind, "kind") != "dev");
    let nodes = list(&metadata["resolve"], "nodes").iter();
    nodes
        .map(|node| {
            let needed = list(node, "deps").iter().filter(is_compiled).map(|it| text(it, "pkg").to_owned());
            (text(node, "id").to_owned(), needed.collect())
        })
        .collect()
}

/// All crates that `from` is compiled with, but for what only `without` brings.
fn reached(graph: &Graph, from: &str, without: Option<&str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(id) = open.pop() {
        if Some(id.as_str()) != without && found.insert(id.clone()) {
            open.extend(graph.get(&id).into_iter().flatten().cloned());
        }
    }
    found
}

/// A direct dependency: the crates of ours that name it, and the ids of the crates that only it brings.
#[derive(Default)]
struct Direct {
    users: BTreeSet<String>,
    only: BTreeSet<String>,
}

/// The names of all crates by their ids.
fn names(metadata: &Value) -> BTreeMap<&str, &str> {
    list(metadata, "packages").iter().map(|package| (text(package, "id"), text(package, "name"))).collect()
}

/// What the program is compiled with and one of our crates names, by name.
fn direct(metadata: &Value) -> Result<BTreeMap<String, Direct>, String> {
    let graph = graph(metadata);
    let names = names(metadata);
    let own: BTreeSet<&str> = list(metadata, "workspace_members").iter().filter_map(Value::as_str).collect();
    let root = id_of(metadata, "pi-rpc")?;
    let all = reached(&graph, &root, None);
    let mut rows: BTreeMap<String, Direct> = BTreeMap::new();
    for member in all.iter().filter(|id| own.contains(id.as_str())) {
        for dependency in graph.get(member).into_iter().flatten().filter(|id| !own.contains(id.as_str())) {
            let name = names.get(dependency.as_str()).copied().unwrap_or_default();
            let user = names.get(member.as_str()).copied().unwrap_or_default();
            let row = rows.entry(name.to_owned()).or_insert_with(|| {
                let rest = reached(&graph, &root, Some(dependency));
                Direct { only: all.difference(&rest).cloned().collect(), ..Direct::default() }
            });
            row.users.insert(user.strip_prefix("pi-rpc-").unwrap_or(user).to_owned());
        }
    }
    Ok(rows)
}

/// The page of the table, below the root.
const PAGE: &str = "docs/explanation/dependencies.md";

/// Whether the page has a row for each direct dependency, and no other.
fn compare_page(metadata: &Value) -> Result<(), String> {
    let page = fs::read_to_string(root().join(PAGE)).map_err(|error| format!("{PAGE}: {error}"))?;
    let listed: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    let rows = direct(metadata)?;
    let expected: BTreeSet<&str> = rows.keys().map(String::as_str).collect();
    let differing: Vec<&str> = listed.symmetric_difference(&expected).copied().collect();
    match differing.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "{PAGE}: expected a row for each direct dependency, differing: {}",
            differing.join(", ")
        )),
    }
}

fn table(metadata: &Value) -> Result<(), String> {
    let names = names(metadata);
    let rows = direct(metadata)?;
    let costs = costs()?;
    println!(
        "| Dependency | For what | Who would miss it | Used by | Crates that only it brings | Seconds | MB |"
    );
    println!("|---|---|---|---|---:|---:|---:|");
    for (name, Direct { users, only }) in rows {
        let users: Vec<String> = users.into_iter().collect();
        let (purpose, missed) = purpose(&name)?;
        let (mut seconds, mut bytes) = (0.0, 0);
        for id in &only {
            let (duration, size) =
                costs.get(names.get(id.as_str()).copied().unwrap_or_default()).copied().unwrap_or_default();
            seconds += duration;
            bytes += size;
        }
        let (count, megabytes) = (only.len(), bytes as f64 / 1e6);
        println!(
            "| `{name}` | {purpose} | {missed} | {} | {count} | {seconds:.1} | {megabytes:.1} |",
            users.join(", ")
        );
    }
    Ok(())
}

/// For what a dependency is there, and who would miss it.
const PURPOSES: &str = include_str!("dependencies.txt");

fn purpose(name: &str) -> Result<(&'static str, &'static str), String> {
    let row =
        PURPOSES.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" | ")?.split_once(" | "));
    row.ok_or_else(|| format!("crates/xtask/src/dependencies.txt: {name} is missing"))
}

/// Seconds and bytes of each crate, by its name: of the last `cargo build --timings`.
fn costs() -> Result<BTreeMap<String, (f64, u64)>, String> {
    let target = root().join("target");
    let page = target.join("cargo-timings/cargo-timing.html");
    let text = fs::read_to_string(&page)
        .map_err(|error| format!("{}: {error}; `cargo build --timings` writes it", page.display()))?;
    let units = text
        .split_once("const UNIT_DATA = ")
        .and_then(|(_, rest)| rest.split_once("];"))
        .map(|(units, _)| units);
    let units: Value =
        serde_json::from_str(&format!("{}]", units.ok_or("the page of timings has no UNIT_DATA")?))
            .map_err(|error| format!("{}: {error}", page.display()))?;
    let mut found: BTreeMap<String, (f64, u64)> = BTreeMap::new();
    for unit in units.as_array().into_iter().flatten() {
        found.entry(text_of(unit, "name")).or_default().0 += unit["duration"].as_f64().unwrap_or_default();
    }
    let entries =
        fs::read_dir(target.join("debug/deps")).map_err(|error| format!("target/debug/deps: {error}"))?;
    for entry in entries.flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let name = file.strip_prefix("lib").and_then(|file| file.strip_suffix(".rlib")?.rsplit_once('-'));
        if let Some((name, _)) = name {
            let size = entry.metadata().map_or(0, |metadata| metadata.len());
            let known = found.keys().find(|known| known.replace('-', "_") == name).cloned();
            found.entry(known.unwrap_or_else(|| name.to_owned())).or_default().1 += size;
        }
    }
    Ok(found)
}

fn text_of(value: &Value, key: &str) -> String {
    text(value, key).to_owned()
}
