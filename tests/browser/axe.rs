//! axe-core in a page: what keeps people out who do without a mouse, a screen or good eyes.

use crate::{chromium_support::Chromium, toolchain_support::packages};
use serde_json::{Value, json};
use std::{fs, sync::LazyLock};

/// The text of axe-core, from npm.
static AXE: LazyLock<String> = LazyLock::new(|| {
    let folder = packages("tests/chromium_support/node").expect("axe-core is installed with the browser");
    fs::read_to_string(folder.join("node_modules/axe-core/axe.min.js")).unwrap()
});

/// Runs every rule of axe-core, and gives its serious and critical findings: rule, first element, and why.
const SERIOUS: &str =
    "axe.run(document, { preload: false, resultTypes: ['violations'] }).then(({ violations }) => violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .map(({ id, nodes }) => [id, nodes[0].html.slice(0, 200), nodes[0].failureSummary]))";

/// The serious and critical findings of axe-core about the page that is open.
pub fn serious_findings(chromium: &mut Chromium) -> Value {
    // The page's policy does not hold for what the debugger runs.
    chromium.ask("Runtime.evaluate", json!({ "expression": *AXE }));
    chromium.value(SERIOUS)
}
