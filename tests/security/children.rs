//! Each place that starts a process is listed here, with the environment that the process gets.

use super::source_files::source_files;
use regex::Regex;

/// What a child process gets of the environment of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gets {
    /// All but keys: `withhold_keys` is called for it.
    NoKeys,
    /// All of it. The reason stands in `docs/explanation/security.md`.
    All,
    /// Variables that are named one by one.
    Named,
}

/// The files that start processes, with how many places in them do so.
const PLACES: [(&str, usize, Gets); 26] = [
    // The watcher of processes, which gets none.
    ("processes/process_watcher.rs", 1, Gets::Named),
    // A server of `mcp.json`, or of an ACP client.
    ("mcp/stdio.rs", 1, Gets::NoKeys),
    // A script of the model, which gets none.
    ("codemode/sandbox.rs", 1, Gets::Named),
    // A server that answers in place of this program.
    ("acp/agent_process.rs", 1, Gets::All),
    // An agent that asks models in place of this program.
    ("acp/backend/connection.rs", 1, Gets::All),
    // The browser.
    ("cli/inspect.rs", 1, Gets::NoKeys),
    // The server that the user talks to.
    ("cli/repl.rs", 1, Gets::All),
    // The program that takes this one's place.
    ("cli/upgrade.rs", 2, Gets::All),
    // A command of the user's that prints a key.
    ("config/command.rs", 1, Gets::All),
    // An extension, and the host of pi's own ones.
    ("extension/spawn.rs", 2, Gets::NoKeys),
    // The runtime of pi's own extensions is asked for its version.
    ("extension/node.rs", 1, Gets::NoKeys),
    // The server whose page is shown.
    ("inspect/command_source.rs", 1, Gets::All),
    // The server behind a front, which the user starts with it.
    ("cli/front/server.rs", 1, Gets::All),
    // The server that a link is in front of, in place of this program.
    ("cli/front/link.rs", 1, Gets::All),
    // npm and Node.js, for releases that clients are tried with.
    ("cli/canary/releases.rs", 3, Gets::NoKeys),
    // A client's tests. The servers that they start get no keys: `cli/canary/place.rs`.
    ("cli/canary/trial.rs", 1, Gets::All),
    // The server of a test, and the judgement of what was said to it.
    ("client/testing/mod.rs", 1, Gets::All),
    ("client/testing/judgement.rs", 1, Gets::All),
    // A server that is tried.
    ("conform/live/home.rs", 1, Gets::Named),
    // A server that is asked for its version.
    ("conform/live/server_version.rs", 1, Gets::Named),
    // A server that is tapped.
    ("conform/tap/run.rs", 1, Gets::All),
    // git and npm, with the scripts of packages.
    ("packages/fetch.rs", 3, Gets::NoKeys),
    // The operator's program that checks tokens.
    ("host/auth_command.rs", 1, Gets::NoKeys),
    // Another's server, which serves the sessions of a host in place of this program.
    ("host/server_process.rs", 1, Gets::All),
    // A command of the model, of the host or of an agent.
    ("tools/running_command.rs", 1, Gets::NoKeys),
    // The text of a test that the inspector writes; nothing is started here.
    ("inspect/copies.rs", 1, Gets::All),
];

/// The code of a file without comments and tests.
fn code(text: &str) -> String {
    let shipped = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let shipped = shipped.split("#[cfg(all(test, ").next().unwrap_or_default();
    let lines = shipped.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn every_spawned_process_has_its_environment_listed() {
    let imported = Regex::new(r"process::(?:\{[^{}]*)?\bCommand\b(?: as (\w+))?").unwrap();
    for (shown, text) in source_files() {
        let code = code(&text);
        let Some(import) = imported.captures(&code) else { continue };
        let name = import.get(1).map_or("Command", |alias| alias.as_str());
        let starts = Regex::new(&format!(r"\b{name}::(?:new|from)\(")).unwrap().find_iter(&code).count();
        let listed = PLACES.iter().find(|(file, ..)| **file == shown);
        let (known, gets) = listed.map_or((0, None), |(_, count, gets)| (*count, Some(*gets)));
        assert_eq!(starts, known, "{shown}: list the places that start a process, with what it gets");
        let calls = |function: &str| code.contains(function);
        match gets {
            Some(Gets::NoKeys) => assert!(calls(".withhold_keys("), "{shown}"),
            Some(Gets::Named) => assert!(calls(".env_clear()"), "{shown}"),
            Some(Gets::All) | None => assert!(!calls(".withhold_keys("), "{shown}"),
        }
    }
}
