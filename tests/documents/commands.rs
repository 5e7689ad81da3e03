//! Every command of the README and of the book runs, and prints what the page shows. Blocks that need more than cargo, git and
//! a shell say so behind the fence (`sh needs-node`); a snapshot lists them.

use crate::documents_support::{Block, Clone, blocks, page, pages};
use std::{path::Path, sync::Mutex, thread};

/// What a block may need: the test that runs it all the same, or why none does.
const NEEDS: [(&str, &str); 7] = [
    ("needs-node", "run by `cargo peers`"),
    ("needs-python", "run by `cargo peers`"),
    ("needs-pi", "an installed pi"),
    ("needs-network", "npm or git"),
    ("needs-openssl", "openssl, which not every machine has"),
    ("needs-time", "minutes"),
    ("needs-patch", "run by `.ci/run --all`, in a copy of the repository with the patch of the recipe"),
];

#[test]
fn commands_of_documents_run() {
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for path in tried() {
            let wrong = &wrong;
            scope.spawn(move || {
                if let Err(error) = run(&path) {
                    wrong.lock().unwrap().push(format!("{path}: {error}"));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What a block needs of the repository: its build, or a file of it.
const OF_REPOSITORY: [&str; 5] = ["cargo ", "contrib/", "examples/", "schema/commands.json", "tests/"];

/// The pages for somebody who has the program, and not its source.
#[test]
fn commands_run_from_installed_binary() {
    let wrong = Mutex::new(Vec::new());
    let pages = || tried().filter(|path| path.starts_with("docs/how-to/") || path == "docs/tutorial.md");
    thread::scope(|scope| {
        for path in pages() {
            let wrong = &wrong;
            scope.spawn(move || {
                let blocks = blocks(&page(&path));
                let needs_none = |block: &&Block| !OF_REPOSITORY.iter().any(|name| block.text.contains(name));
                let run: Vec<&Block> =
                    blocks.iter().filter(|block| block.is_run(None)).filter(needs_none).collect();
                let folder = Clone::without_repository(Path::new(env!("CARGO_BIN_EXE_pi-rpc")));
                if let Err(error) = folder.run_all(&run) {
                    wrong.lock().unwrap().push(format!("{path}: {error}"));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    let mut needed = String::new();
    for path in pages() {
        for block in blocks(&page(&path)).iter().filter(|block| block.is_run(None)) {
            let lines =
                block.text.lines().filter(|line| OF_REPOSITORY.iter().any(|name| line.contains(name)));
            lines.for_each(|line| needed += &format!("{path}: {}\n", line.trim()));
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("commands_of_repository", needed));
}

/// CONTRIBUTING.md has commands that change files and take long.
fn tried() -> impl Iterator<Item = String> {
    pages().into_iter().filter(|path| path != "CONTRIBUTING.md")
}

/// Runs the blocks of a page, and compares what they print with the blocks `text output` behind them.
fn run(path: &str) -> Result<(), String> {
    let blocks = blocks(&page(path));
    let run: Vec<&Block> = blocks.iter().filter(|block| block.is_run(None)).collect();
    let printed = Clone::new(Path::new(env!("CARGO_BIN_EXE_pi-rpc"))).run_all(&run)?;
    for (at, shown) in blocks.iter().enumerate().filter(|(_, block)| block.info == "text output") {
        let before = blocks[..at].iter().filter(|block| block.is_run(None)).count();
        let printed = printed.get(before.wrapping_sub(1)).ok_or("an output without a command")?;
        if !fits(printed, &shown.text) {
            let printed: Vec<String> =
                printed.lines().take(40).map(|line| line.chars().take(100).collect()).collect();
            return Err(format!(
                "line {}: expected\n{}\ngot\n{}",
                shown.line,
                shown.text,
                printed.join("\n")
            ));
        }
    }
    Ok(())
}

/// Whether a text is as shown: a line `…` stands for any lines, `…` within a line for any text.
fn fits(text: &str, shown: &str) -> bool {
    let text: Vec<&str> = text.lines().collect();
    let shown: Vec<&str> = shown.lines().collect();
    lines_fit(&text, &shown)
}

fn lines_fit(text: &[&str], shown: &[&str]) -> bool {
    match shown.split_first() {
        None => text.is_empty(),
        Some((&"…", rest)) => (0..=text.len()).any(|skipped| lines_fit(&text[skipped..], rest)),
        Some((line, rest)) => text
            .split_first()
            .is_some_and(|(first, others)| line_fits(first, line) && lines_fit(others, rest)),
    }
}

fn line_fits(text: &str, shown: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|start| text.strip_prefix(start)) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

#[test]
fn commands_left_out_are_listed() {
    let mut list = String::new();
    for (need, why) in NEEDS {
        list += &format!("{need}: {why}\n");
        for path in tried() {
            for block in blocks(&page(&path)).iter().filter(|block| block.is_run(Some(need))) {
                let commands =
                    block.text.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', ' ']));
                commands.for_each(|line| list += &format!("  {path}: {line}\n"));
            }
        }
    }
    for path in pages() {
        let known = |info: &str| info.is_empty() || NEEDS.iter().any(|(need, _)| info == *need);
        for block in blocks(&page(&path)) {
            let needs = block.info.strip_prefix("sh ").unwrap_or_default();
            assert!(known(needs), "{path}: line {}: {}: unknown", block.line, block.info);
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("commands_left_out", list));
}

#[test]
fn readme_is_a_front_door() {
    let lines = page("README.md").lines().count();
    assert!(lines <= 150, "{lines} lines; details go to docs/");
}
