//! The table of faults in `docs/explanation/reliability.md`. `PI_RPC_THOROUGH=1 cargo bless faults` writes the rows that differ; what the host sees
//! and what is lost stands in the document alone, and the test of the row asserts it.

use crate::serve_support::thorough;
use std::{env, fs, path::Path, sync::Mutex};

/// Tests run at the same time and write one file.
static WRITING: Mutex<()> = Mutex::new(());

/// Holds the row of `fault` to how often it was injected. A sample is injected less often than the row says.
pub fn row(fault: &str, times: usize) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/explanation/reliability.md");
    let _writing = WRITING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let text = fs::read_to_string(&path).unwrap();
    let start = format!("| {fault} | ");
    let found = text.lines().find_map(|line| line.strip_prefix(&start));
    let found = found
        .unwrap_or_else(|| panic!("docs/explanation/reliability.md has no row that begins with `{start}`"));
    let (stated, rest) = found.split_once(" |").expect("cells");
    let most: usize = stated.parse().expect("a number");
    if most == times || !thorough() && (1..most).contains(&times) {
        return;
    }
    let may_write = thorough() && env::var_os("UPDATE").is_some();
    assert!(may_write, "docs/explanation/reliability.md says {most} times, seen were {times}: {fault}");
    fs::write(&path, text.replace(&format!("{start}{found}"), &format!("{start}{times} |{rest}"))).unwrap();
}
