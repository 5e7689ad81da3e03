//! The table of faults in `docs/reliability.md`. `PI_RPC_THOROUGH=1 UPDATE=1` writes the rows that differ; a new one goes where
//! a person puts a row that begins with its name.

use crate::serve_support::thorough;
use std::{env, fs, path::Path, sync::Mutex};

/// Tests run at the same time and write one file.
static WRITING: Mutex<()> = Mutex::new(());

/// Holds the row of `fault` to how often it was injected, what the host saw and what was lost. A sample is injected less
/// often than the row says.
pub fn row(fault: &str, times: usize, saw: &str, lost: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reliability.md");
    let _writing = WRITING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let text = fs::read_to_string(&path).unwrap();
    let start = format!("| {fault} |");
    let expected = format!("{start} {times} | {saw} | {lost} |");
    let found = text.lines().find(|line| line.starts_with(&start));
    let found = found.unwrap_or_else(|| panic!("docs/reliability.md has no row that begins with `{start}`"));
    let is_sample = !thorough() && {
        let stated = found[start.len()..].split('|').next().and_then(|cell| cell.trim().parse().ok());
        stated.is_some_and(|stated: usize| (1..=stated).contains(&times))
            && found.ends_with(&format!(" | {saw} | {lost} |"))
    };
    if found == expected || is_sample {
        return;
    }
    let may_write = thorough() && env::var_os("UPDATE").is_some();
    assert!(may_write, "docs/reliability.md says\n{found}\nand seen was\n{expected}");
    fs::write(&path, text.replace(found, &expected)).unwrap();
}
