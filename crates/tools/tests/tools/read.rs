//! The tools `read` and `ls`, arguments, specs and truncation.

use crate::tools_support::{Place, assert_error, assert_ok, text};
use pi_rpc_protocol::{Dialect, TruncationResult, TruncationUnit};
use pi_rpc_tools::{Block, DEFAULT_TOOLS, Limits, size_text, specs, truncate_head, truncate_tail};
use proptest::prelude::*;
use serde_json::{Value, json};

fn numbered(lines: usize) -> String {
    (1..=lines).map(|n| n.to_string()).collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn read_gives_the_file_as_it_is() {
    let place = Place::new();
    place.write("a.txt", "one\ntwo\n");
    let output = place.call("read", json!({"path": "a.txt"})).await;
    assert_ok(&output, "one\ntwo\n");
    assert_eq!(output.details, None);
    assert_ok(&place.call("read", json!({"path": "@./a.txt"})).await, "one\ntwo\n");
    place.write("empty", "");
    assert_ok(&place.call("read", json!({"path": "empty"})).await, "");
    place.write("latin", b"caf\xe9");
    assert_ok(&place.call("read", json!({"path": "latin"})).await, "caf\u{FFFD}");
}

#[tokio::test]
async fn read_shows_a_window() {
    let place = Place::new();
    place.write("ten", numbered(10));
    for (arguments, shown) in [
        (json!({"path": "ten", "offset": 9}), "9\n10"),
        (json!({"path": "ten", "offset": 10, "limit": 5}), "10"),
        (json!({"path": "ten", "limit": 2}), "1\n2\n\n[8 more lines in file. Use offset=3 to continue.]"),
        (
            json!({"path": "ten", "offset": 3, "limit": 1}),
            "3\n\n[7 more lines in file. Use offset=4 to continue.]",
        ),
        (json!({"path": "ten", "limit": 10}), &numbered(10)),
        (
            json!({"path": "ten", "offset": 0, "limit": 1}),
            "1\n\n[9 more lines in file. Use offset=2 to continue.]",
        ),
        (json!({"path": "ten", "limit": 0}), "\n\n[10 more lines in file. Use offset=1 to continue.]"),
    ] {
        let output = place.call("read", arguments).await;
        assert_ok(&output, shown);
        assert_eq!(output.details, None);
    }
    let output = place.call("read", json!({"path": "ten", "offset": 11})).await;
    assert_error(&output, "Offset 11 is beyond end of file (10 lines total)");
}

#[tokio::test]
async fn read_cuts_by_lines() {
    let place = Place::new();
    place.write("long", numbered(5000));
    let output = place.call("read", json!({"path": "long"})).await;
    let notice = "\n\n[Showing lines 1-2000 of 5000. Use offset=2001 to continue.]";
    assert_ok(&output, &format!("{}{notice}", numbered(2000)));
    let details = output.details.unwrap();
    let keys: Vec<&String> = details["truncation"].as_object().unwrap().keys().collect();
    let wire = [
        "content",
        "truncated",
        "truncatedBy",
        "totalLines",
        "totalBytes",
        "outputLines",
        "outputBytes",
        "lastLinePartial",
        "firstLineExceedsLimit",
        "maxLines",
        "maxBytes",
    ];
    assert_eq!(keys, wire);
    assert_eq!(details["truncation"]["truncatedBy"], "lines");
    let output = place.call("read", json!({"path": "long", "offset": 2001})).await;
    assert!(text(&output).ends_with("[Showing lines 2001-4000 of 5000. Use offset=4001 to continue.]"));
}

#[tokio::test]
async fn read_cuts_by_bytes() {
    let place = Place::new();
    let line = "x".repeat(1023);
    place.write("wide", format!("{line}\n").repeat(100));
    let output = place.call("read", json!({"path": "wide"})).await;
    assert!(
        text(&output)
            .ends_with("x\n\n[Showing lines 1-50 of 101 (50.0KB limit). Use offset=51 to continue.]")
    );
    place.write("huge", format!("first\n{}\nlast", "x".repeat(60_000)));
    let output = place.call("read", json!({"path": "huge", "offset": 2})).await;
    assert_ok(
        &output,
        "[Line 2 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '2p' huge | head -c 51200]",
    );
    assert_eq!(output.details.unwrap()["truncation"]["firstLineExceedsLimit"], true);
}

/// The head of a JPEG of 1x1 pixels.
const JPEG: &[u8] =
    b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0\0\x0b\x08\0\x01\0\x01\x01\x01\x11\0\xff\xd9";

#[tokio::test]
async fn read_gives_images_by_their_content() {
    let place = Place::new();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03\x08\x02\0\0\0";
    for (bytes, mime_type) in [
        (png.as_slice(), "image/png"),
        (JPEG, "image/jpeg"),
        (b"GIF89a\x01\0\x01\0\0\0\0\0", "image/gif"),
        (b"RIFF\x24\0\0\0WEBPVP8L\x18\0\0\0\x2f\x00\x00\x00\x00", "image/webp"),
    ] {
        place.write("picture.txt", bytes);
        let output = place.call("read", json!({"path": "picture.txt"})).await;
        assert_ok(&output, &format!("Read image file [{mime_type}]"));
        let Some(Block::Image { data, mime_type: kind }) = output.content.get(1) else { panic!("no image") };
        assert_eq!(kind, mime_type);
        assert!(!data.is_empty());
    }
    let mut wide = png.to_vec();
    wide[16..20].copy_from_slice(&9000_u32.to_be_bytes());
    place.write("wide.png", wide);
    let output = place.call("read", json!({"path": "wide.png"})).await;
    assert!(text(&output).starts_with("Read image file [image/png]\n[Image left out: 9000x3 pixels"));
    assert_eq!(output.content.len(), 1);
}

#[tokio::test]
async fn read_reports_the_system_error() {
    let place = Place::new();
    let missing = place.path("missing.txt");
    let output = place.call("read", json!({"path": "missing.txt"})).await;
    assert_error(&output, &format!("ENOENT: no such file or directory, access '{}'", missing.display()));
    let output = place.call("read", json!({"path": "."})).await;
    assert_error(&output, "EISDIR: illegal operation on a directory, read");
    place.fifo("fifo");
    let output = place.call("read", json!({"path": "fifo"})).await;
    assert_error(&output, &format!("Not a regular file: {}", place.path("fifo").display()));
}

#[tokio::test]
async fn read_finds_the_spellings_of_macos() {
    let place = Place::new();
    for (name, asked) in [
        ("Shot 9.41\u{202F}AM.png.txt", "Shot 9.41 AM.png.txt"),
        ("cafe\u{301}", "café"),
        ("it\u{2019}s", "it's"),
        ("l\u{2019}e\u{301}te\u{301}", "l'été"),
    ] {
        place.write(name, name);
        assert_ok(&place.call("read", json!({"path": asked})).await, name);
    }
}

#[tokio::test]
async fn ls_lists_names_without_regard_to_case() {
    let place = Place::new();
    for name in ["b", "A", ".hidden", "C"] {
        place.write(name, "");
    }
    std::fs::create_dir(place.path("Dir")).unwrap();
    std::os::unix::fs::symlink("nowhere", place.path("dangling")).unwrap();
    std::os::unix::fs::symlink("Dir", place.path("link")).unwrap();
    let output = place.call("ls", json!({})).await;
    assert_ok(&output, ".hidden\nA\nb\nC\nDir/\nlink/");
    assert_eq!(output.details, None);
    assert_ok(&place.call("ls", json!({"path": "Dir"})).await, "(empty directory)");
    let output = place.call("ls", json!({"path": "nothing"})).await;
    assert_error(&output, &format!("Path not found: {}", place.path("nothing").display()));
    let output = place.call("ls", json!({"path": "b"})).await;
    assert_error(&output, &format!("Not a directory: {}", place.path("b").display()));
}

#[tokio::test]
async fn ls_stops_at_its_limits() {
    let place = Place::new();
    for n in 0..501 {
        place.write(&format!("{n:03}{}", "n".repeat(120)), "");
    }
    let output = place.call("ls", json!({"limit": 3})).await;
    assert!(text(&output).ends_with("\n\n[3 entries limit reached. Use limit=6 for more]"));
    assert_eq!(output.details, Some(json!({"entryLimitReached": 3})));
    let output = place.call("ls", json!({})).await;
    let notice = "[500 entries limit reached. Use limit=1000 for more. 50.0KB limit reached]";
    assert!(text(&output).ends_with(&format!("n\n\n{notice}")));
    let details = output.details.unwrap();
    assert_eq!(details["entryLimitReached"], 500);
    assert_eq!(details["truncation"]["maxLines"], 9_007_199_254_740_991_u64);
    let output = place.call("ls", json!({"limit": 0})).await;
    assert_eq!(output.details, Some(json!({"entryLimitReached": 1})), "a full directory is not called empty");
    let output = place.call("ls", json!({"limit": 501})).await;
    assert!(text(&output).ends_with("n\n\n[50.0KB limit reached]"));
}

#[tokio::test]
async fn unknown_tool_gives_error_result() {
    assert_error(&Place::new().call("fly", json!({})).await, "Tool fly not found");
}

#[tokio::test]
async fn a_cancelled_tool_does_nothing() {
    let place = Place::new();
    place.cancel.cancel();
    assert_error(&place.call("read", json!({"path": "a"})).await, "Operation aborted");
    assert_error(&place.call("ls", json!({})).await, "Operation aborted");
    assert_error(&place.call("grep", json!({"pattern": "a"})).await, "Operation aborted");
    assert_error(&place.call("find", json!({"pattern": "*"})).await, "Operation aborted");
    assert_error(&place.call("write", json!({"path": "started", "content": ""})).await, "Operation aborted");
    let edit = json!({"path": "started", "oldText": "a", "newText": "b"});
    assert_error(&place.call("edit", edit).await, "Operation aborted");
    assert_error(&place.call("bash", json!({"command": "touch started"})).await, "Command aborted");
    assert!(!place.path("started").exists());
}

#[test]
fn specs_are_plain_object_schemas() {
    let specs = specs(&Dialect::Pi.record().tools);
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["read", "bash", "edit", "write", "grep", "find", "ls"]);
    let exclusive = specs.iter().filter(|spec| spec.exclusive).map(|spec| spec.name.as_str());
    assert_eq!(exclusive.collect::<Vec<_>>(), ["bash", "edit", "write"]);
    assert_eq!(DEFAULT_TOOLS, ["read", "bash", "edit", "write"]);
    assert_eq!(
        *specs[1].parameters,
        json!({
            "type": "object",
            "properties": {
                "command": {"description": "The command, as bash understands it", "type": "string"},
                "timeout": {"description": "End the command after so many seconds", "type": "number"},
            },
            "required": ["command"],
        })
    );
    assert_eq!(specs[6].parameters.get("required"), None::<&Value>);
    let shapes = specs[2..6].iter().map(|spec| {
        let parameters = spec.parameters["properties"].as_object().unwrap().iter();
        let types = parameters.map(|(name, schema)| format!("{name}: {}", schema["type"].as_str().unwrap()));
        (types.collect::<Vec<_>>().join(", "), spec.parameters["required"].clone())
    });
    assert_eq!(
        shapes.collect::<Vec<_>>(),
        [
            (
                "path: string, oldText: string, newText: string".to_owned(),
                json!(["path", "oldText", "newText"])
            ),
            ("path: string, content: string".to_owned(), json!(["path", "content"])),
            (
                "pattern: string, path: string, glob: string, ignoreCase: boolean, literal: boolean, \
                 context: number, limit: number"
                    .to_owned(),
                json!(["pattern"])
            ),
            ("pattern: string, path: string, limit: number".to_owned(), json!(["pattern"])),
        ]
    );
}

#[test]
fn sizes_are_put_as_javascript_rounds() {
    for (bytes, words) in [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1.0KB"),
        (1280, "1.3KB"),
        (51200, "50.0KB"),
        (1_048_575, "1024.0KB"),
        (1_048_576, "1.0MB"),
        (1_572_864, "1.5MB"),
    ] {
        assert_eq!(size_text(bytes), words);
    }
}

#[test]
fn tail_of_overlong_last_line_is_kept() {
    let limits = Limits { lines: 10, bytes: 6, ..Limits::default() };
    let cut = truncate_tail("one\nabcdefgé", limits);
    assert_eq!((cut.content.as_str(), cut.last_line_partial, cut.output_lines), ("defgé", true, 1));
    let cut = truncate_tail("one\nabcdefgh\n", limits);
    assert_eq!((cut.content.as_str(), cut.last_line_partial, cut.output_lines), ("defgh\n", true, 2));
    let cut = truncate_tail("one\nééééé", limits);
    assert_eq!(cut.content, "ééé");
}

#[test]
fn final_feed_begins_no_line_in_pi1() {
    let limits = Limits { lines: 2, bytes: 6, ignores_final_feed: true };
    let shown =
        |cut: TruncationResult| (cut.content, cut.total_lines, cut.output_lines, cut.last_line_partial);
    assert_eq!(shown(truncate_head("a\nb\n", limits)), ("a\nb\n".to_owned(), 2, 2, false));
    assert_eq!(shown(truncate_head("a\nb\nc\n", limits)), ("a\nb".to_owned(), 3, 2, false));
    assert_eq!(shown(truncate_tail("a\nb\nc\n", limits)), ("b\nc".to_owned(), 3, 2, false));
    assert_eq!(shown(truncate_tail("one\nabcdefgh\n", limits)), ("cdefgh".to_owned(), 2, 1, true));
    assert_eq!(shown(truncate_tail("", limits)), (String::new(), 0, 0, false));
}

proptest! {
    #[test]
    fn truncation_keeps_all_fitting_whole_lines(
        all in "[aé\n]{0,60}", lines in 1_u64..8, bytes in 4_u64..40,
    ) {
        let limits = Limits { lines, bytes, ..Limits::default() };
        let fits = |text: &str| text.split('\n').count() as u64 <= lines && text.len() as u64 <= bytes;
        for (head, cut) in [(true, truncate_head(&all, limits)), (false, truncate_tail(&all, limits))] {
            let kept = cut.content.as_str();
            prop_assert!(kept.len() as u64 <= bytes);
            prop_assert_eq!(cut.output_bytes, kept.len() as u64);
            prop_assert_eq!((cut.total_bytes, cut.total_lines), (all.len() as u64, all.split('\n').count() as u64));
            prop_assert_eq!(cut.truncated, !fits(&all));
            prop_assert_eq!(cut.truncated, cut.truncated_by.is_some());
            if cut.first_line_exceeds_limit || cut.last_line_partial {
                prop_assert_eq!(cut.truncated_by, Some(TruncationUnit::Bytes));
                let nothing_wasted = all.ends_with(kept) && kept.len() as u64 > bytes - 2;
                prop_assert!(if head { kept.is_empty() } else { nothing_wasted }, "kept {:?}", kept);
                continue;
            }
            prop_assert_eq!(cut.output_lines, kept.split('\n').count() as u64);
            if !cut.truncated {
                prop_assert_eq!(kept, &all);
                continue;
            }
            // One line more would not fit.
            let all: Vec<&str> = all.split('\n').collect();
            let count = cut.output_lines as usize;
            let (same, more) = if head {
                (all[..count].join("\n"), all[..=count].join("\n"))
            } else {
                (all[all.len() - count..].join("\n"), all[all.len() - count - 1..].join("\n"))
            };
            prop_assert_eq!(kept, same);
            prop_assert!(!fits(&more));
        }
    }
}
