//! The tool `find`: which names fit, which are left out, where it stops.

use std::fs;
use std::os::unix::fs::symlink;

use crate::tools_support::{Place, assert_error, assert_ok, text};
use pi_rpc_tools::ToolOutput;
use serde_json::{Value, json};

fn place(files: &[&str]) -> Place {
    let place = Place::new();
    for name in files {
        fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
        place.write(name, "");
    }
    place
}

async fn find(place: &Place, arguments: Value) -> ToolOutput {
    place.call("find", arguments).await
}

#[tokio::test]
async fn names_match_anywhere_paths_from_searched_directory() {
    let place = place(&["a.rs", "src/b.rs", "src/deep/c.rs", "src/deep/d.md", "other/src/e.rs"]);
    for (pattern, wanted) in [
        ("*.rs", "a.rs\nother/src/e.rs\nsrc/b.rs\nsrc/deep/c.rs"),
        ("src", "other/src/\nsrc/"),
        ("?.{rs,md}", "a.rs\nother/src/e.rs\nsrc/b.rs\nsrc/deep/c.rs\nsrc/deep/d.md"),
        ("src/*.rs", "src/b.rs"),
        ("SRC/*.rs", "No files found matching pattern"),
        ("./src/*.rs", "src/b.rs"),
        ("././a.rs", "a.rs"),
        ("**/src/*.rs", "other/src/e.rs\nsrc/b.rs"),
        ("src/**/*.rs", "src/b.rs\nsrc/deep/c.rs"),
        ("**/deep/*", "src/deep/c.rs\nsrc/deep/d.md"),
        ("*.none", "No files found matching pattern"),
        ("rs", "No files found matching pattern"),
    ] {
        let output = find(&place, json!({"pattern": pattern})).await;
        assert_ok(&output, wanted);
        assert_eq!(output.details, None);
    }
    assert_ok(&find(&place, json!({"pattern": "*.rs", "path": "src"})).await, "b.rs\ndeep/c.rs");
    assert_ok(&find(&place, json!({"pattern": "src/*.rs", "path": "other"})).await, "src/e.rs");
    assert_ok(&find(&place, json!({"pattern": "./deep/c.*", "path": "src"})).await, "deep/c.rs");
    assert_ok(
        &find(&place, json!({"pattern": "src/*.rs", "path": "src"})).await,
        "No files found matching pattern",
    );
    let whole = format!("{}/src/*", place.dir.path().display());
    assert_ok(&find(&place, json!({"pattern": whole})).await, "src/b.rs\nsrc/deep/");
}

#[tokio::test]
async fn case_counts_only_with_capital_in_pattern() {
    let place = place(&["Readme.md", "README", "readme.txt"]);
    assert_ok(&find(&place, json!({"pattern": "readme*"})).await, "README\nReadme.md\nreadme.txt");
    assert_ok(&find(&place, json!({"pattern": "Readme*"})).await, "Readme.md");
}

#[tokio::test]
async fn ignored_files_are_excluded_hidden_ones_listed() {
    let place = place(&[".env", ".hid/x", "a.log", "sub/a.log", "sub/b.tmp", "sub/keep.log", "other/b.tmp"]);
    place.write(".gitignore", "*.log\n");
    place.write("sub/.gitignore", "*.tmp\n!keep.log\n");
    symlink("sub", place.path("link")).unwrap();
    let output = find(&place, json!({"pattern": "*"})).await;
    let wanted =
        ".env\n.gitignore\n.hid/\n.hid/x\nlink\nother/\nother/b.tmp\nsub/\nsub/.gitignore\nsub/keep.log";
    assert_ok(&output, wanted);
    assert_ok(&find(&place, json!({"pattern": ""})).await, wanted);
    assert_ok(&find(&place, json!({"pattern": "keep*", "path": "link"})).await, "keep.log");
}

#[tokio::test]
async fn a_search_stops_at_its_limits() {
    let place = Place::new();
    for n in 0..1001 {
        place.write(&format!("{n:04}{}", "n".repeat(60)), "");
    }
    let output = find(&place, json!({"pattern": "*", "limit": 2})).await;
    let name = |n: u32| format!("{n:04}{}", "n".repeat(60));
    let notice = "[2 results limit reached. Use limit=4 for more, or refine pattern]";
    assert_ok(&output, &format!("{}\n{}\n\n{notice}", name(0), name(1)));
    assert_eq!(output.details, Some(json!({"resultLimitReached": 2})));
    let output = find(&place, json!({"pattern": "000[01]*", "limit": 2})).await;
    assert_ok(&output, &format!("{}\n{}", name(0), name(1)));
    assert_eq!(output.details, None);
    let output = find(&place, json!({"pattern": "*"})).await;
    let notice =
        "[1000 results limit reached. Use limit=2000 for more, or refine pattern. 50.0KB limit reached]";
    assert!(text(&output).ends_with(&format!("{}\n\n{notice}", name(786))));
    let details = output.details.unwrap();
    assert_eq!(details["resultLimitReached"], 1000);
    let cut = &details["truncation"];
    assert_eq!((&cut["totalLines"], &cut["totalBytes"]), (&json!(1000), &json!(64_999)));
    assert_eq!((&cut["outputLines"], &cut["truncatedBy"]), (&json!(787), &json!("bytes")));
    let output = find(&place, json!({"pattern": "*", "limit": 2000})).await;
    assert!(text(&output).ends_with("n\n\n[50.0KB limit reached]"));
    assert_eq!(output.details.unwrap()["truncation"]["totalLines"], 1001);
}

#[tokio::test]
async fn unsearchable_path_is_reported() {
    let place = place(&["file"]);
    let missing = format!("Path not found: {}", place.path("missing").display());
    assert_error(&find(&place, json!({"pattern": "*", "path": "missing"})).await, &missing);
    let file = format!("Not a directory: {}", place.path("file").display());
    assert_error(&find(&place, json!({"pattern": "*", "path": "file"})).await, &file);
    let glob = "[fd error]: error parsing glob '[x': unclosed character class; missing ']'";
    assert_error(&find(&place, json!({"pattern": "[x"})).await, glob);
}
