//! The ids of rules in the documentation of modules are those that the module judges.

use pi_rpc_protocol::RuleId as Rule;
use std::{fs, path::Path};

#[test]
fn documented_rules_are_judged_in_module() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let mut documented = 0;
    for folder in [
        "machine/src",
        "machine/src/machine",
        "machine/src/checks",
        "machine/src/checks/partial_message",
        "oracle/src",
        "oracle/src/judge",
        "oracle/src/shared_wire",
    ] {
        for file in fs::read_dir(root.join(folder)).unwrap() {
            let path = file.unwrap().path();
            let Some(text) = path.is_file().then(|| fs::read_to_string(&path).unwrap()) else { continue };
            for id in rules_of(&text) {
                assert!(Rule::parse(id).is_some(), "{}: there is no rule `{id}`", path.display());
                let variant = format!("::{}", in_code(id));
                let judges = text.lines().any(|line| !line.starts_with("//") && line.contains(&variant));
                assert!(judges, "{}: remove `{id}` from its `//! Rules:`: it judges another", path.display());
                documented += 1;
            }
        }
    }
    assert!(documented > 140, "{documented} rules are named where they are judged");
}

/// The ids in the last paragraph of the module's documentation, `//! Rules: …`.
fn rules_of(text: &str) -> Vec<&str> {
    let doc = text.lines().take_while(|line| line.starts_with("//!"));
    let paragraph =
        doc.skip_while(|line| !line.starts_with("//! Rules: ") && !line.starts_with("//! Rule: "));
    paragraph.flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

/// The name of the rule's variant.
fn in_code(id: &str) -> String {
    let words = id.split('-').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect()
}
