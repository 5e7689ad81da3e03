//! The table of faults in `docs/reliability.md`. `UPDATE=1` writes the rows that differ; one that is new goes where a person
//! puts a row that begins with its name.

use std::{env, fs, path::Path, sync::Mutex};

/// Tests run at the same time and write one file.
static WRITING: Mutex<()> = Mutex::new(());

/// Holds the row of `fault` to what was seen: how often it was injected, what the host saw, what was lost.
pub fn row(fault: &str, times: usize, saw: &str, lost: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reliability.md");
    let _writing = WRITING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let text = fs::read_to_string(&path).unwrap();
    let start = format!("| {fault} |");
    let expected = format!("{start} {times} | {saw} | {lost} |");
    let found = text.lines().find(|line| line.starts_with(&start));
    let found = found.unwrap_or_else(|| panic!("docs/reliability.md has no row that begins with `{start}`"));
    if found == expected {
        return;
    }
    assert!(env::var_os("UPDATE").is_some(), "docs/reliability.md says\n{found}\nand seen was\n{expected}");
    fs::write(&path, text.replace(found, &expected)).unwrap();
}
