//! pi's own extensions, unmodified: the examples of three versions, and packages of the npm registry, do here what they
//! do under the real pi. `tests/pi_extensions/` has the conversations, and what the real pi's said in them.
//!
//! `cargo bless pi_extensions` writes `TABLE.md` anew; with `RECORD=1` the real pi's are asked again,
//! too.
#![cfg(feature = "serve")]

mod toolchain_support;

use serde_json::{Value, json};
use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use toolchain_support::{had, locked, node, slowness};

const FOLDER: &str = "tests/pi_extensions";

/// Environment variable: 1 turns a missing peer into a failure.
const REQUIRED: &str = "PI_RPC_REQUIRE_PEERS";

/// Versions of pi whose examples are loaded, with their dialects.
const VERSIONS: [(&str, &str); 3] = [("0.52.12", "pi"), ("0.73.1", "pi@0.73"), ("1.5.2", "pi-1")];

/// Number of parallel conversations, which mostly wait.
const AT_ONCE: usize = 6;

#[test]
fn pi_extensions_behave_as_under_pi() {
    let Some(installed) = had(Installed::new(), REQUIRED) else { return };
    if env::var_os("RECORD").is_some() {
        play(
            &installed.node,
            &json!({ "record": true, "jobs": 2, "servers": installed.servers(Server::Pi) }),
        );
    }
    let made = tempfile::tempdir().unwrap();
    let page = made.path().join("page");
    let results = made.path().join("results");
    play(
        &installed.node,
        &json!({
            "jobs": AT_ONCE, "servers": installed.servers(Server::Ours), "page": page, "results": results,
            "raw": Path::new(env!("CARGO_TARGET_TMPDIR")).join("pi_extensions"),
        }),
    );
    let (page, kept) = (fs::read_to_string(&page).unwrap(), source().join("TABLE.md"));
    if env::var_os("UPDATE").is_some() {
        fs::write(&kept, &page).unwrap();
        assert!(!page.contains("unexplained"), "known.json says why: {}", listed(&differences(&results)));
    }
    let kept = fs::read_to_string(&kept).unwrap_or_default();
    assert!(
        lasting(&page) == lasting(&kept),
        "{}\n{}",
        changes(&kept, &page),
        listed(&differences(&results))
    );
    if page != kept {
        eprintln!("{}\n{}", changes(&kept, &page), listed(&differences(&results)));
    }
}

/// Extensions of our own writing that use pi's API as widely used ones do: `control`, `purpose-gate`, `btw` and
/// `unified-edit`. Every frame counts.
#[test]
fn counterparts_behave_as_under_pi() {
    let Some(pi) = had(Pi::new(), REQUIRED) else { return };
    if env::var_os("RECORD").is_some() {
        play(&pi.node, &json!({ "record": true, "jobs": 1, "servers": [pi.server(Server::Pi)] }));
    }
    let made = tempfile::tempdir().unwrap();
    let results = made.path().join("results");
    play(
        &pi.node,
        &json!({
            "jobs": 2, "servers": [pi.server(Server::Ours)], "results": results,
            "raw": Path::new(env!("CARGO_TARGET_TMPDIR")).join("pi_extensions"),
        }),
    );
    let known: Value = serde_json::from_slice(&fs::read(source().join("known.json")).unwrap()).unwrap();
    let found = differences(&results);
    let is_known = |name: &str| known.get(format!("counterparts/{name}")).is_some();
    let unknown: Vec<_> = found.iter().filter(|(_, name, _)| !is_known(name)).collect();
    assert!(unknown.is_empty(), "known.json does not say why: {}", listed(&found));
    if !found.is_empty() {
        eprintln!("{}", listed(&found));
    }
}

/// Part of a page that does not depend on timing: loading and registration.
fn lasting(page: &str) -> Vec<String> {
    let without_last = |line: &str| line.rsplit_once(" | ").map_or(line, |(rest, _)| rest).to_owned();
    page.lines().map(|line| without_last(line).replace("| same", "| otherwise")).collect()
}

#[derive(Clone, Copy)]
enum Server {
    Ours,
    Pi,
}

/// Installation by npm.
struct Installed {
    /// Directories with `node_modules`, in the order of [`VERSIONS`].
    pi: Vec<PathBuf>,
    packages: PathBuf,
    /// A Node.js that is recent enough for extensions.
    node: PathBuf,
}

/// pi 1.5.2, with a Node.js that is recent enough for it.
struct Pi {
    home: PathBuf,
    node: PathBuf,
}

impl Pi {
    fn new() -> Result<Self, String> {
        let home = locked("tests/peer_support/pi-1.5.2", &[])?;
        let node = home.join("node_modules/.bin/node");
        Ok(Self { home, node })
    }

    fn server(&self, server: Server) -> Value {
        let case = Case {
            name: "counterparts",
            dialect: "pi-1",
            home: &self.home,
            extensions: &source().join("counterparts"),
            cases: "counterparts.json",
            modules: vec![self.home.join("node_modules")],
        };
        case.server(server, &self.node)
    }
}

/// Extensions, the pi that they were written for, and the conversations with them.
struct Case<'a> {
    name: &'a str,
    dialect: &'a str,
    home: &'a Path,
    extensions: &'a Path,
    cases: &'a str,
    modules: Vec<PathBuf>,
}

impl Case<'_> {
    /// Description for the harness.
    fn server(&self, server: Server, node: &Path) -> Value {
        let ours = env!("CARGO_BIN_EXE_pi-rpc");
        let (command, quiet) = match server {
            Server::Ours => (json!([ours]), 120),
            Server::Pi => (json!([node, program(self.home)]), 350),
        };
        json!({
            "name": self.name, "command": command, "quietMs": quiet * slowness(), "extensions": self.extensions,
            "cases": self.cases, "env": { "PI_RPC_NODE": node, "PI_RPC_DIALECT": self.dialect },
            "mock": ours, "agentFolder": ".pi/agent", "modules": self.modules,
        })
    }
}

/// Runs the harness with a plan.
#[track_caller]
fn play(node: &Path, plan: &Value) {
    let mut plan = plan.clone();
    plan["expected"] = json!(source().join("expected"));
    let mut harness = Command::new(node);
    harness.env("PI_RPC_SLOWNESS", slowness().to_string());
    let mut child = harness.arg(source().join("drive.mjs")).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().expect("a pipe").write_all(plan.to_string().as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "the harness has failed");
}

impl Installed {
    fn new() -> Result<Self, String> {
        node()?;
        // The Node.js of 1.5.2 is one of several optional packages.
        let options = |version: &str| if version == "1.5.2" { vec![] } else { vec!["--omit=optional"] };
        let pi =
            |(version, _): &(&str, _)| locked(&format!("tests/peer_support/pi-{version}"), &options(version));
        let pi: Vec<PathBuf> = VERSIONS.iter().map(pi).collect::<Result<_, _>>()?;
        let packages = locked(&format!("{FOLDER}/packages"), &["--omit=optional", "--legacy-peer-deps"])?;
        let node = pi.last().expect("versions").join("node_modules/.bin/node");
        Ok(Self { pi, packages, node })
    }

    fn servers(&self, server: Server) -> Vec<Value> {
        let examples = VERSIONS.iter().zip(&self.pi).map(|((version, dialect), home)| {
            let extensions = package(home).join("examples/extensions");
            self.server(server, version, dialect, home, &extensions, "cases.json")
        });
        let (last, home) = (VERSIONS[VERSIONS.len() - 1], &self.pi[self.pi.len() - 1]);
        let packages = self.packages.join("node_modules");
        let published = self.server(server, "packages", last.1, home, &packages, "packages.json");
        examples.chain([published]).collect()
    }

    fn server(
        &self,
        server: Server,
        name: &str,
        dialect: &str,
        home: &Path,
        extensions: &Path,
        cases: &str,
    ) -> Value {
        let modules = vec![home.join("node_modules"), self.packages.join("node_modules")];
        Case { name, dialect, home, extensions, cases, modules }.server(server, &self.node)
    }
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER)
}

/// The package of pi that is installed there: it has changed its scope.
fn package(home: &Path) -> PathBuf {
    let scopes = ["@mariozechner", "@earendil-works"]
        .map(|scope| home.join("node_modules").join(scope).join("pi-coding-agent"));
    scopes.into_iter().find(|folder| folder.exists()).expect("pi is installed")
}

fn program(home: &Path) -> PathBuf {
    let package = package(home);
    let programs = ["dist/bundle/cli.js", "dist/cli.js"].map(|file| package.join(file));
    programs.into_iter().find(|file| file.exists()).expect("a program")
}

fn changes(kept: &str, page: &str) -> String {
    let diff = similar::TextDiff::from_lines(kept, page);
    diff.unified_diff().context_radius(0).missing_newline_hint(false).to_string()
}

/// Differences: the server, the extension, and the difference.
fn differences(results: &Path) -> Vec<(String, String, String)> {
    let results: Value = serde_json::from_slice(&fs::read(results).unwrap()).unwrap();
    let servers = results.as_object().into_iter().flatten();
    let of_server = |(server, list): (&String, &Value)| -> Vec<_> {
        let differing = |(name, result): (&String, &Value)| {
            let lists =
                ["registers", "says"].iter().flat_map(|of| result[of].as_array().into_iter().flatten());
            let mut found: Vec<&str> = lists.filter_map(Value::as_str).collect();
            if result["loads"] != result["expected"] {
                found.insert(0, "whether it loads");
            }
            (!found.is_empty()).then(|| (server.clone(), name.clone(), found.join("\n  ")))
        };
        list.as_object().into_iter().flatten().filter_map(differing).collect()
    };
    servers.flat_map(of_server).collect()
}

fn listed(differences: &[(String, String, String)]) -> String {
    let lines = differences.iter().map(|(server, name, how)| format!("{server} {name}:\n  {how}"));
    lines.collect::<Vec<_>>().join("\n")
}
