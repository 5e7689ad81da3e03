//! Rules in the folder of the project, with the real binary.

use crate::serve_support::{Server, of_type, types};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::fs;

fn says(text: &str) -> Value {
    json!({ "say": [{ "text": text }] })
}

#[test]
fn project_rule_interrupts_once_per_session() {
    let dir = tempfile::tempdir().unwrap();
    let rules = dir.path().join(".xcsh/rules");
    fs::create_dir_all(&rules).unwrap();
    fs::write(rules.join("no-unwrap.md"), "---\ncondition: '\\.unwrap\\(\\)'\n---\nUse `?`.\n").unwrap();
    let turns = json!([says("Say x.unwrap() here."), says("Say x? here.")]);
    let mut server = Server::script_in(Dialect::Xcsh, dir, turns, &[]);
    let stopped = server.run("How do I open a file?");
    let triggered = of_type(&stopped, "ttsr_triggered").pop().unwrap();
    assert_eq!(triggered["rules"][0]["name"], "no-unwrap");
    assert_eq!(of_type(&stopped, "message_end").pop().unwrap()["message"]["stopReason"], "aborted");
    let again = server.until_type("agent_end");
    let [rule, answer] = &of_type(&again, "message_end")[..] else { panic!("{:?}", types(&again)) };
    assert_eq!(rule["message"]["customType"], "ttsr-injection");
    assert!(rule["message"]["content"].as_str().unwrap().contains("\n\nUse `?`.\n"), "{rule}");
    assert_eq!(answer["message"]["content"][0]["text"], "Say x? here.");

    let turns = json!([says("Say x.unwrap() again.")]);
    let mut next = Server::script_in(Dialect::Xcsh, server.finishes(), turns, &["--continue"]);
    let told = next.run("And close it?");
    assert_eq!(of_type(&told, "ttsr_triggered"), Vec::<&Value>::new());
    next.finishes();
}
