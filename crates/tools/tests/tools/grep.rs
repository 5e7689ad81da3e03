//! The tool `grep`: what it searches, how hits are shown, where it stops.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::tools_support::{Place, assert_error, assert_ok, text};
use pi_rpc_tools::ToolOutput;
use serde_json::{Value, json};

fn place(files: &[(&str, &str)]) -> Place {
    let place = Place::new();
    for (name, content) in files {
        fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
        place.write(name, content);
    }
    place
}

async fn grep(place: &Place, arguments: Value) -> ToolOutput {
    place.call("grep", arguments).await
}

#[tokio::test]
async fn hits_come_in_the_order_of_paths() {
    let place = place(&[("b/x", "hit b\n"), ("a.txt", "miss\nhit 1\nhit 2"), ("b.txt", "hit c\r\n")]);
    let output = grep(&place, json!({"pattern": "hit"})).await;
    assert_ok(&output, "a.txt:2: hit 1\na.txt:3: hit 2\nb/x:1: hit b\nb.txt:1: hit c");
    assert_eq!(output.details, None);
    assert_ok(&grep(&place, json!({"pattern": "hit", "path": "b"})).await, "x:1: hit b");
    assert_ok(&grep(&place, json!({"pattern": "hit", "path": "b/x"})).await, "x:1: hit b");
    let output = grep(&place, json!({"pattern": "nowhere"})).await;
    assert_ok(&output, "No matches found");
    assert_eq!(output.details, None);
}

#[tokio::test]
async fn patterns_are_regular_expressions_unless_literal() {
    let place = place(&[("f", "a.c\nabc\nABC\nx+y\n")]);
    for (arguments, wanted) in [
        (json!({"pattern": "a.c"}), "f:1: a.c\nf:2: abc"),
        (json!({"pattern": "a.c", "literal": true}), "f:1: a.c"),
        (json!({"pattern": "^abc$", "ignoreCase": true}), "f:2: abc\nf:3: ABC"),
        (json!({"pattern": "x+y", "literal": true}), "f:4: x+y"),
        (json!({"pattern": "-e"}), "No matches found"),
    ] {
        assert_ok(&grep(&place, arguments).await, wanted);
    }
    let output = grep(&place, json!({"pattern": "a(b"})).await;
    assert_error(&output, "rg: regex parse error:\n    (?:a(b)\n    ^\nerror: unclosed group");
    let output = grep(&place, json!({"pattern": "a\nb", "literal": true})).await;
    assert_error(&output, "rg: the literal \"\\n\" is not allowed in a regex");
}

#[tokio::test]
async fn overlapping_context_is_shown_once() {
    let place = place(&[("f", "1\n2 hit\n3\n4 hit\n5\n6\n"), ("end", "a\nhit\n"), ("open", "hit\nb")]);
    let output = grep(&place, json!({"pattern": "hit", "context": 1})).await;
    let end = "end-1- a\nend:2: hit";
    let f = "f-1- 1\nf:2: 2 hit\nf-3- 3\nf:4: 4 hit\nf-5- 5";
    assert_ok(&output, &format!("{end}\n{f}\nopen:1: hit\nopen-2- b"));
    let output = grep(&place, json!({"pattern": "hit", "path": "f", "context": 2})).await;
    let f = "f-1- 1\nf:2: 2 hit\nf-3- 3\nf:4: 4 hit\nf-5- 5\nf-6- 6";
    assert_ok(&output, f);
    let output = grep(&place, json!({"pattern": "hit", "path": "f", "context": 2, "limit": 1})).await;
    let notice = "[1 matches limit reached. Use limit=2 for more, or refine pattern]";
    assert_ok(&output, &format!("f-1- 1\nf:2: 2 hit\nf-3- 3\nf-4- 4 hit\n\n{notice}"));
}

#[tokio::test]
async fn ignored_and_binary_files_are_not_searched() {
    let place = place(&[
        (".git/HEAD", "hit"),
        (".gitignore", "*.log\n/out\n"),
        (".hidden/x", "hit"),
        (".ignore", "secret\n"),
        ("a.log", "hit"),
        ("binary", "hit\0\n"),
        ("out/x", "hit"),
        ("secret", "hit"),
        ("src/.rgignore", "y\n"),
        ("src/x", "hit"),
        ("src/y", "hit"),
    ]);
    symlink("src", place.path("link")).unwrap();
    let output = grep(&place, json!({"pattern": "hit"})).await;
    assert_ok(&output, ".git/HEAD:1: hit\n.hidden/x:1: hit\nsrc/x:1: hit");
    assert_ok(&grep(&place, json!({"pattern": "hit", "path": "a.log"})).await, "a.log:1: hit");
    assert_ok(&grep(&place, json!({"pattern": "hit", "path": "link/x"})).await, "x:1: hit");
    assert!(
        text(&grep(&place, json!({"pattern": "hit", "path": "binary"})).await).starts_with("binary:1: hit")
    );
    fs::remove_dir_all(place.path(".git")).unwrap();
    let output = grep(&place, json!({"pattern": "hit", "glob": "*.log"})).await;
    assert_ok(&output, "a.log:1: hit");
}

#[tokio::test]
async fn globs_choose_files() {
    let place = place(&[("a.rs", "hit"), ("src/b.rs", "hit"), ("src/c.md", "hit"), ("src/deep/d.rs", "hit")]);
    for (arguments, wanted) in [
        (json!({"pattern": "hit", "glob": "*.rs"}), "a.rs:1: hit\nsrc/b.rs:1: hit\nsrc/deep/d.rs:1: hit"),
        (json!({"pattern": "hit", "glob": "src/*.rs"}), "src/b.rs:1: hit"),
        (json!({"pattern": "hit", "glob": "!*.rs"}), "src/c.md:1: hit"),
        (json!({"pattern": "hit", "glob": "*.rs", "path": "src"}), "b.rs:1: hit\ndeep/d.rs:1: hit"),
        (json!({"pattern": "hit", "glob": "deep/*.rs", "path": "src"}), "deep/d.rs:1: hit"),
        (json!({"pattern": "hit", "glob": "./src/*.rs"}), "src/b.rs:1: hit"),
        (json!({"pattern": "hit", "glob": "!./deep/*", "path": "src"}), "b.rs:1: hit\nc.md:1: hit"),
        (json!({"pattern": "hit", "glob": "src/*.rs", "path": "src"}), "No matches found"),
        (json!({"pattern": "hit", "glob": "*.none"}), "No matches found"),
    ] {
        assert_ok(&grep(&place, arguments).await, wanted);
    }
    let output = grep(&place, json!({"pattern": "hit", "glob": "[x"})).await;
    assert_error(&output, "rg: error parsing glob '[x': unclosed character class; missing ']'");
}

#[tokio::test]
async fn a_search_stops_at_its_limits() {
    let place = place(&[("f", &"hit\n".repeat(150)), ("g", "hit\n")]);
    let output = grep(&place, json!({"pattern": "hit"})).await;
    assert_eq!(text(&output).lines().filter(|line| line.starts_with("f:")).count(), 100);
    let notice = "\n\n[100 matches limit reached. Use limit=200 for more, or refine pattern]";
    assert!(text(&output).ends_with(&format!("f:100: hit{notice}")));
    assert_eq!(output.details, Some(json!({"matchLimitReached": 100})));
    let output = grep(&place, json!({"pattern": "hit", "limit": 0})).await;
    let notice = "[1 matches limit reached. Use limit=2 for more, or refine pattern]";
    assert_ok(&output, &format!("f:1: hit\n\n{notice}"));
    assert_eq!(output.details, Some(json!({"matchLimitReached": 1})));
    let output = grep(&place, json!({"pattern": "hit", "limit": 151})).await;
    assert_eq!((text(&output).lines().count(), output.details), (151, None));
}

#[tokio::test]
async fn long_lines_and_long_results_are_cut() {
    let long = format!("é{}😀 hit", "x".repeat(498));
    let place = place(&[("f", &format!("{long}\n"))]);
    let output = grep(&place, json!({"pattern": "hit"})).await;
    let notice = "[Some lines truncated to 500 chars. Use read tool to see full lines]";
    assert_ok(&output, &format!("f:1: é{}... [truncated]\n\n{notice}", "x".repeat(498)));
    assert_eq!(output.details, Some(json!({"linesTruncated": true})));
    place.write("f", format!("{} hit\n", "x".repeat(600)).repeat(200));
    let output = grep(&place, json!({"pattern": "hit", "limit": 150})).await;
    let notice = "[150 matches limit reached. Use limit=300 for more, or refine pattern. 50.0KB limit reached. \
                  Some lines truncated to 500 chars. Use read tool to see full lines]";
    assert!(text(&output).ends_with(&format!("... [truncated]\n\n{notice}")), "{}", text(&output));
    let details = output.details.unwrap();
    let cut = &details["truncation"];
    let lines: Vec<String> =
        (1..=150).map(|n| format!("f:{n}: {}... [truncated]", "x".repeat(500))).collect();
    let whole = lines.join("\n");
    assert_eq!(cut["totalBytes"], whole.len());
    assert_eq!(cut["totalLines"], 150);
    let content = cut["content"].as_str().unwrap();
    assert!(whole.starts_with(content) && content.len() <= 51200 && content.len() > 51200 - 600);
    assert_eq!((&details["matchLimitReached"], &details["linesTruncated"]), (&json!(150), &json!(true)));
}

#[tokio::test]
async fn long_context_line_counts_only_when_shown() {
    let long = "x".repeat(600);
    let place = place(&[("f", &format!("{long}\n\nhit\n\n{long}\n"))]);
    let output = grep(&place, json!({"pattern": "hit", "context": 1})).await;
    assert_ok(&output, "f-2- \nf:3: hit\nf-4- ");
}

#[tokio::test]
async fn other_encodings_are_read() {
    let place = Place::new();
    let utf16: Vec<u8> = "\u{FEFF}a hit\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    place.write("utf16", utf16);
    place.write("latin", b"caf\xe9 hit\n");
    let output = grep(&place, json!({"pattern": "hit"})).await;
    assert_ok(&output, "latin:1: caf\u{FFFD} hit\nutf16:1: a hit");
}

#[tokio::test]
async fn unsearchable_path_is_reported() {
    let place = place(&[("a", "hit\n"), ("closed", "hit\n")]);
    let missing = format!("Path not found: {}", place.path("missing").display());
    assert_error(&grep(&place, json!({"pattern": "hit", "path": "missing"})).await, &missing);
    place.fifo("fifo");
    let fifo = format!("Not a regular file: {}", place.path("fifo").display());
    assert_error(&grep(&place, json!({"pattern": "hit", "path": "fifo"})).await, &fifo);
    assert_ok(&grep(&place, json!({"pattern": "hit", "glob": "[!c]*"})).await, "a:1: hit");
    fs::set_permissions(place.path("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(place.path("closed")).is_ok() {
        return; // root reads everything
    }
    let output = grep(&place, json!({"pattern": "hit"})).await;
    assert_ok(&output, "a:1: hit\n\n[1 paths could not be read]");
    let closed = place.path("closed");
    let closed = format!("{}: Permission denied (os error 13)", closed.display());
    assert_error(&grep(&place, json!({"pattern": "none"})).await, &closed);
}

#[tokio::test]
async fn endless_line_does_not_fill_memory() {
    let place = place(&[("a", "hit\n")]);
    place.write("line", "x".repeat(65 << 20));
    let output = grep(&place, json!({"pattern": "hit"})).await;
    assert_ok(&output, "a:1: hit\n\n[1 paths could not be read]");
    let output = grep(&place, json!({"pattern": "hit", "path": "line"})).await;
    let line = place.path("line");
    assert_error(&output, &format!("{}: configured allocation limit (67108864) exceeded", line.display()));
}

#[tokio::test]
async fn abandoned_search_stops() {
    let place = Place::new();
    // Many names of one file: much to search, little to write.
    place.write("0", "nothing here\n".repeat(1 << 16));
    for n in 1..2000 {
        fs::hard_link(place.path("0"), place.path(&n.to_string())).unwrap();
    }
    let mut searching = place.start("grep", json!({"pattern": "(?i)(a|b)+nowhere$"}));
    tokio::task::yield_now().await;
    place.cancel.cancel();
    assert_eq!(searching.progress.recv().await, None);
    assert_error(&searching.ends().await, "Operation aborted");
}
