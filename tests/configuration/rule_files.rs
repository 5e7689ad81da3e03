//! Rules in files: where they are found, and what their front matter says.

use pi_rpc::{confinement::Confinement, engine::ttsr::Rules, prompt::rules::RuleFiles};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, path::Path};
use tempfile::TempDir;

/// A home with `agent/` and a project `w/`, holding these files.
fn place(files: &[(&str, &str)]) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    place
}

/// What is found, without the name of the place.
fn found(place: &TempDir) -> (Value, Vec<String>) {
    let root = place.path();
    let found = RuleFiles::find(&root.join("agent"), Some(&root.join("w/.xcsh")), &Confinement::default());
    let short = |text: &str| text.replace(&format!("{}/", root.display()), "");
    let rules = serde_json::to_string(&found.rules).unwrap();
    (serde_json::from_str(&short(&rules)).unwrap(), found.warnings.iter().map(|text| short(text)).collect())
}

#[test]
fn rule_front_matter_is_read() {
    let place = place(&[
        (
            "w/.xcsh/rules/no-unwrap.md",
            "---\n\
             description: No panics # really\n\
             condition:\n  - '\\.unwrap\\(\\)'\n  - \"\\\\.expect\\\\(\"\n\
             scope: [text, 'tool:edit']\n\
             globs: '*.{rs,lock}, src/**/*.toml,'\n\
             alwaysApply: false\n\
             interruptMode: tool-only\n\
             owner: nobody\n\
             ---\n\nUse `?`.\n\n---\nNot more.\n",
        ),
        ("agent/rules/one.md", "---\ncondition: a,b\nscope: thinking\n---\nText\n"),
        ("agent/rules/plain.md", "No front matter.\n"),
    ]);
    let expected = json!([
        {
            "name": "no-unwrap", "path": "w/.xcsh/rules/no-unwrap.md", "content": "Use `?`.\n\n---\nNot more.",
            "globs": ["*.{rs,lock}", "src/**/*.toml"], "alwaysApply": false, "description": "No panics",
            "condition": ["\\.unwrap\\(\\)", "\\.expect\\("], "scope": ["text", "tool:edit"],
            "interruptMode": "tool-only", "_source": { "level": "project" },
        },
        {
            "name": "one", "path": "agent/rules/one.md", "content": "Text", "condition": ["a,b"],
            "scope": ["thinking"], "_source": { "level": "user" },
        },
        {
            "name": "plain", "path": "agent/rules/plain.md", "content": "No front matter.\n",
            "_source": { "level": "user" },
        },
    ]);
    assert_eq!(found(&place), (expected, vec![]));
    let rules = RuleFiles::find(
        &place.path().join("agent"),
        Some(&place.path().join("w/.xcsh")),
        &Confinement::default(),
    )
    .rules;
    assert_eq!(Rules::new(rules).1, Vec::<String>::new());
}

#[test]
fn project_rules_override_user_rules() {
    let place = place(&[
        ("w/.xcsh/rules/b.md", "b"),
        ("w/.xcsh/rules/a.md", "a"),
        ("w/.xcsh/rules/notes.txt", "no"),
        ("w/.xcsh/rules/deeper/c.md", "no"),
        ("w/.pi/rules/d.md", "no"),
        ("w/rules/e.md", "no"),
        ("agent/rules/b.md", "the user's"),
        ("agent/rules/c.md", "c"),
        ("elsewhere.md", "linked"),
    ]);
    symlink(place.path().join("elsewhere.md"), place.path().join("agent/rules/link.md")).unwrap();
    let (rules, warnings) = found(&place);
    let names: Vec<Value> =
        rules.as_array().unwrap().iter().map(|rule| json!([rule["name"], rule["content"]])).collect();
    assert_eq!(Value::from(names), json!([["a", "a"], ["b", "b"], ["c", "c"], ["link", "linked"]]));
    let twice = "agent/rules/b.md: the rule \"b\" is there already: w/.xcsh/rules/b.md; the file is left out";
    assert_eq!(warnings, [twice]);
}

#[test]
fn unreadable_rule_is_left_out() {
    let place = place(&[
        ("w/.xcsh/rules/fine.md", "fine"),
        ("w/.xcsh/rules/mode.md", "---\ninterruptMode: sometimes\n---\n"),
        ("w/.xcsh/rules/shape.md", "---\ncondition: {a: b}\n---\n"),
        ("w/.xcsh/rules/yaml.md", "---\n[\n---\n"),
    ]);
    fs::create_dir(place.path().join("w/.xcsh/rules/folder.md")).unwrap();
    symlink("nowhere", place.path().join("w/.xcsh/rules/lost.md")).unwrap();
    let (rules, warnings) = found(&place);
    assert_eq!(
        rules.as_array().unwrap().iter().map(|rule| &rule["name"]).collect::<Vec<_>>(),
        [&json!("fine")]
    );
    let expected = [
        "folder.md: not a regular file",
        "lost.md: No such file or directory (os error 2)",
        "mode.md: invalid value: string \"sometimes\", expected one of `never`, `prose-only`, `tool-only`, `always` at \
         line 2, column 16",
        "shape.md: a text or a list of texts is wanted at line 2, column 12",
        "yaml.md: unclosed bracket '[' at line 2, column 1",
    ];
    assert_eq!(warnings, expected.map(|why| format!("w/.xcsh/rules/{why}; the file is left out")));
    assert_eq!(
        RuleFiles::find(Path::new("/nowhere"), Some(Path::new("/nowhere/.xcsh")), &Confinement::default()),
        RuleFiles::default()
    );
}
