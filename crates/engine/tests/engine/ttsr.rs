//! Rules that stop an answer, by themselves: which apply to a text, and the message that injects them.

use pi_rpc_engine::ttsr::{Rules, WatchedContent};
use pi_rpc_protocol::{AssistantContent, Rule};
use proptest::prelude::*;
use serde_json::{Value, json};

const TEXT: WatchedContent<'static> = WatchedContent::Text;
const THINKING: WatchedContent<'static> = WatchedContent::Thinking;
const EDIT: WatchedContent<'static> = WatchedContent::Arguments("edit");
const BASH: WatchedContent<'static> = WatchedContent::Arguments("bash");

/// A rule of this name that watches for `unwrap`, with the members of `more` besides or instead.
fn rule(name: &str, more: Value) -> Rule {
    let mut rule = json!({
        "name": name, "path": format!("/w/.xcsh/rules/{name}.md"), "content": format!("Keep {name}.\n"),
        "condition": ["unwrap"], "_source": { "level": "project" },
    });
    rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(rule).unwrap()
}

/// Rules without anything wrong in them.
fn rules(rules: &[Rule]) -> Rules {
    let (rules, warnings) = Rules::new(rules.to_vec());
    assert_eq!(warnings, Vec::<String>::new());
    rules
}

/// The names of the rules that `written`, as the first block of an answer, goes against.
fn broken(rules: &mut Rules, watched: WatchedContent<'_>, written: &str) -> Vec<String> {
    rules.reset();
    names(rules.feed(0, watched, written))
}

fn names(rules: Option<Vec<Rule>>) -> Vec<String> {
    rules.unwrap_or_default().into_iter().map(|rule| rule.name).collect()
}

/// What a rule with the members of `more` watches, of a text, thinking, an edit and a bash call.
fn watches(more: Value) -> Vec<&'static str> {
    let mut rules = rules(&[rule("r", more)]);
    let all = [("text", TEXT), ("thinking", THINKING), ("edit", EDIT), ("bash", BASH)];
    all.into_iter()
        .filter(|(_, it)| !broken(&mut rules, *it, "x.unwrap()").is_empty())
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn rule_matches_across_deltas_of_block() {
    let rule = rule("no-unwrap", json!({ "condition": ["never this", r"\.unwrap\(\)"] }));
    let mut rules = rules(std::slice::from_ref(&rule));
    assert_eq!(rules.feed(0, TEXT, "let x = y.unw"), None);
    // Another block.
    assert_eq!(rules.feed(1, EDIT, "rap()"), None);
    assert_eq!(rules.feed(0, TEXT, "rap("), None);
    assert_eq!(rules.feed(0, TEXT, ""), None);
    assert_eq!(rules.feed(0, TEXT, ")"), Some(vec![rule]));
}

#[test]
fn the_next_answer_begins_with_nothing_written() {
    let mut rules = rules(&[rule("r", json!({}))]);
    assert_eq!(rules.feed(0, TEXT, "unw"), None);
    rules.reset();
    assert_eq!(rules.feed(0, TEXT, "rap"), None);
}

#[test]
fn matching_rules_trigger_together_and_once() {
    let (a, b, c) = (
        rule("a", json!({})),
        rule("b", json!({ "condition": ["wrap$"] })),
        rule("c", json!({ "condition": ["x"] })),
    );
    let mut rules = rules(&[a.clone(), b, c]);
    assert_eq!(broken(&mut rules, TEXT, "unwrap"), ["a", "b"]);
    // Not told yet: the user was faster, say.
    assert_eq!(broken(&mut rules, TEXT, "unwrap"), ["a", "b"]);
    rules.mark_injected(&[a]);
    assert_eq!(broken(&mut rules, TEXT, "unwrap"), ["b"]);
    rules.restore(["b".to_owned(), "gone".to_owned()]);
    assert_eq!(broken(&mut rules, TEXT, "unwrap"), ["a"]);
    rules.restore([]);
    assert_eq!(broken(&mut rules, TEXT, "unwrap"), ["a", "b"]);
}

#[test]
fn scope_and_interrupt_mode_select_content() {
    let everything = ["text", "thinking", "edit", "bash"];
    assert_eq!(watches(json!({})), everything);
    assert_eq!(watches(json!({ "scope": ["text"] })), ["text"]);
    assert_eq!(watches(json!({ "scope": ["thinking", " tool:bash "] })), ["thinking", "bash"]);
    assert_eq!(watches(json!({ "scope": ["tool"] })), ["edit", "bash"]);
    assert_eq!(watches(json!({ "interruptMode": "always" })), everything);
    assert_eq!(watches(json!({ "interruptMode": "prose-only" })), ["text", "thinking"]);
    assert_eq!(watches(json!({ "interruptMode": "tool-only" })), ["edit", "bash"]);
    assert_eq!(watches(json!({ "interruptMode": "never" })), Vec::<&str>::new());
    assert_eq!(watches(json!({ "interruptMode": "tool-only", "scope": ["text", "tool:edit"] })), ["edit"]);
    assert_eq!(watches(json!({ "condition": [] })), Vec::<&str>::new());
    let blocks = json!([
        { "type": "text", "text": "" },
        { "type": "thinking", "thinking": "" },
        { "type": "thinking", "thinking": "[hidden]", "redacted": true },
        { "type": "redactedThinking", "data": "x" },
        { "type": "toolCall", "id": "c", "name": "edit", "arguments": {} },
    ]);
    let blocks: Vec<AssistantContent> = serde_json::from_value(blocks).unwrap();
    assert_eq!(
        blocks.iter().map(WatchedContent::of).collect::<Vec<_>>(),
        [Some(TEXT), Some(THINKING), None, None, Some(EDIT)]
    );
}

#[test]
fn globs_limit_rule_to_matching_files() {
    let fits = |globs: Value, arguments: Value| {
        let mut rules = rules(&[rule("r", json!({ "globs": globs }))]);
        !broken(&mut rules, EDIT, &arguments.to_string()).is_empty()
    };
    let about = |path: &str| json!({ "path": path, "newText": "x.unwrap()" });
    for path in ["a.rs", "./src/a.rs", "/w/src/deep/a.rs"] {
        assert!(fits(json!(["*.md", "*.rs"]), about(path)), "{path}");
    }
    assert!(!fits(json!(["*.rs"]), about("a.rs.md")));
    assert!(fits(json!(["src/*.rs"]), about("/w/src/a.rs")));
    assert!(!fits(json!(["src/*.rs"]), about("src/deep/a.rs")));
    assert!(fits(json!(["src/**/*.rs"]), about("src/deep/a.rs")));
    assert!(!fits(json!(["/src/*.rs"]), about("/w/src/a.rs")));
    assert!(fits(json!(["*.rs"]), json!({ "file_path": "a.rs", "content": "unwrap" })));
    assert!(!fits(json!(["*.rs"]), json!({ "command": "grep unwrap a.rs" })));
    assert!(fits(json!([]), json!({ "command": "grep unwrap a.rs" })));
    assert_eq!(watches(json!({ "globs": ["*.rs"] })), Vec::<&str>::new());
}

#[test]
fn only_complete_path_satisfies_glob() {
    let mut rules = rules(&[rule("r", json!({ "globs": ["*.r"] })), rule("s", json!({ "globs": ["*.rs"] }))]);
    let pieces = |rules: &mut Rules, pieces: &[&str]| {
        rules.reset();
        pieces.iter().map(|piece| names(rules.feed(0, EDIT, piece))).collect::<Vec<_>>()
    };
    let nothing = Vec::<String>::new;
    assert_eq!(
        pieces(&mut rules, &[r#"{"path":"unwrap.r"#, r#"s"#, r#"","newText":""#]),
        [nothing(), nothing(), vec!["s".to_owned()]]
    );
    let long = "x".repeat(40_000);
    assert_eq!(
        pieces(&mut rules, &[r#"{"newText":"unwrap"#, &long, r#"","path":"a."#, "r", r#""}"#]),
        [nothing(), nothing(), nothing(), nothing(), vec!["r".to_owned()]]
    );
}

#[test]
fn match_window_is_limited_and_anchors_hold() {
    let mut rules = rules(&[
        rule("near", json!({ "condition": ["(?s)begin.*end"] })),
        rule("first", json!({ "condition": ["^x"] })),
    ]);
    let filler = "é".repeat(1500);
    assert_eq!(names(rules.feed(0, TEXT, &format!("{filler}begin"))), Vec::<String>::new());
    assert_eq!(names(rules.feed(0, TEXT, &filler)), Vec::<String>::new());
    assert_eq!(names(rules.feed(0, TEXT, "end")), ["near"]);
    let mut rules = self::rules(&[rule("first", json!({ "condition": ["^x"] }))]);
    for _ in 0..40 {
        assert_eq!(names(rules.feed(0, TEXT, &format!("é{}", "x".repeat(1000)))), Vec::<String>::new());
    }
}

#[test]
fn invalid_rule_parts_are_skipped_with_warning() {
    let (mut rules, warnings) = Rules::new(vec![
        rule(
            "a",
            json!({ "condition": ["(", "a(?=b)", "x*", "good"], "scope": ["text", "prose"], "globs": ["[", "*.rs"] }),
        ),
        rule("b", json!({ "condition": ["("] })),
        rule("c", json!({ "scope": ["everything"] })),
        rule("d", json!({ "condition": ["first"] })),
        rule("d", json!({ "condition": ["second"] })),
    ]);
    assert_eq!(
        warnings,
        [
            "/w/.xcsh/rules/a.md: (: unclosed group; ignored",
            "/w/.xcsh/rules/a.md: a(?=b): look-around, including look-ahead and look-behind, is not supported; ignored",
            "/w/.xcsh/rules/a.md: x*: it matches the empty text; ignored",
            "/w/.xcsh/rules/a.md: prose: expected text, thinking, tool or tool:<name>; ignored",
            "/w/.xcsh/rules/a.md: [: unclosed character class; missing ']'; ignored",
            "/w/.xcsh/rules/b.md: (: unclosed group; ignored",
            "/w/.xcsh/rules/c.md: everything: expected text, thinking, tool or tool:<name>; ignored",
        ]
    );
    assert_eq!(broken(&mut rules, TEXT, "first second unwrap"), ["d"]);
    assert_eq!(broken(&mut rules, TEXT, "second unwrap"), Vec::<String>::new());
}

#[test]
fn each_injected_rule_has_own_block() {
    let told = [rule("a", json!({})), rule("b", json!({ "content": "\nAlways {path}.\n\nReally.\n" }))];
    let mut message = serde_json::to_value(Rules::injection_message(&told, 5)).unwrap();
    let content = message["content"].take();
    let expected = json!({
        "role": "custom", "customType": "ttsr-injection", "content": null, "display": false,
        "attribution": "agent", "timestamp": 5,
    });
    assert_eq!(message.to_string(), expected.to_string());
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("rules_injected", content.as_str().unwrap()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// How an answer is cut into pieces makes no difference.
    #[test]
    fn a_rule_applies_however_the_answer_streams(text in "[abé\"\\\\ ]{0,60}", cuts in prop::collection::vec(0..60usize, 0..12)) {
        let conditions = json!({ "condition": ["ab+a", "é b", "^b", "\"$"] });
        let ready = || rules(&[rule("r", conditions.clone())]);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| text.floor_char_boundary(cut.min(text.len()))).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut streaming = ready();
        let mut prefixes = Vec::new();
        let streamed = cuts.windows(2).any(|cut| {
            prefixes.push(&text[..cut[1]]);
            streaming.feed(0, TEXT, &text[cut[0]..cut[1]]).is_some()
        });
        let whole = prefixes.iter().any(|prefix| ready().feed(0, TEXT, prefix).is_some());
        prop_assert_eq!(streamed, whole);
    }
}
