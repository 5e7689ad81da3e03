//! Conversations that once broke a rule, as `tests/explore` has found and shrunk them: `tests/regressions/NAME.json`.

use pi_rpc_test_kit::{Conversation, random};
use std::{fs, path::Path};

#[test]
fn regressions_keep_the_rules() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/regressions");
    for file in fs::read_dir(&folder).expect("a folder") {
        let file = file.expect("a file").path();
        let text = fs::read_to_string(&file).expect("UTF-8");
        let conversation: Conversation =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        random::play(&conversation).unwrap_or_else(|wrong| panic!("{}: {wrong}", file.display()));
    }
}
