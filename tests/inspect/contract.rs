//! The types that the page is checked with are those of the answers.

use pi_rpc::inspect::contract;
use std::{fs, path::Path};

#[test]
fn contract_has_the_types_of_answers() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/inspect/src/page/contract.d.ts");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, contract()).unwrap();
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(written == contract(), "run cargo bless");
}
