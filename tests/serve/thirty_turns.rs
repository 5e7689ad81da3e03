//! A whole job over HTTP: thirty turns, every tool, and the files that come of it.

use crate::serve_support::{FakeVendor, all_apis, of_type};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::{fs, path::Path};

/// What the model does, turn by turn: text, then calls of tools with what must be seen in their results.
fn job() -> Vec<Vec<(&'static str, Value, &'static str)>> {
    let bash = |command: &str, seen| ("bash", json!({ "command": command }), seen);
    let write =
        |path: &str, content: &str, seen| ("write", json!({ "path": path, "content": content }), seen);
    let edit = |path: &str, old: &str, new: &str, seen| {
        ("edit", json!({ "path": path, "oldText": old, "newText": new }), seen)
    };
    vec![
        vec![("ls", json!({}), ".pi/")],
        vec![write("greet.sh", GREET, "Successfully wrote 40 bytes to greet.sh")],
        vec![bash("sh greet.sh", "hello world")],
        vec![edit("greet.sh", "name=world", "name=${1:-world}", "Successfully replaced text in greet.sh.")],
        vec![bash("sh greet.sh moon; sh greet.sh", "hello moon\nhello world\n")],
        vec![
            write("lib/count.sh", "seq 1 3\n", "Successfully wrote 8 bytes to lib/count.sh"),
            write("lib/list.txt", "pear\nApple\nfig\n", "Successfully wrote 15 bytes"),
        ],
        vec![("find", json!({ "pattern": "*.sh" }), "greet.sh\nlib/count.sh")],
        vec![("grep", json!({ "pattern": "apple", "ignoreCase": true }), "lib/list.txt:2: Apple")],
        vec![bash("sort -f lib/list.txt > lib/sorted.txt && cat lib/sorted.txt", "Apple\nfig\npear")],
        vec![(
            "read",
            json!({ "path": "lib/sorted.txt", "offset": 2, "limit": 1 }),
            "fig\n\n[2 more lines in file.",
        )],
        vec![edit("lib/sorted.txt", "fig\n", "fig\ngrape\n", "Successfully replaced")],
        vec![bash("wc -l < lib/sorted.txt", "4")],
        vec![edit("lib/sorted.txt", "no such line", "x", "Could not find the exact text in lib/sorted.txt")],
        vec![write("notes/a/b/deep.md", "# Deep\n\n- one\n- two\n", "Successfully wrote 20 bytes")],
        vec![("read", json!({ "path": "notes/a/b/deep.md" }), "- two")],
        vec![("grep", json!({ "pattern": "^- ", "path": "notes", "glob": "*.md" }), "a/b/deep.md:3: - one")],
        vec![edit("notes/a/b/deep.md", "- two", "- two\n- three", "Successfully replaced")],
        vec![bash("exit 7", "Command exited with code 7")],
        vec![bash("printf 'a\\tb\\n' > table.tsv; od -c table.tsv | head -1", "a  \\t   b  \\n")],
        vec![("read", json!({ "path": "missing.txt" }), "ENOENT: no such file or directory")],
        vec![write("unicode.txt", "naïve – “quoted” 🦀\n", "Successfully wrote 20 bytes")],
        vec![edit("unicode.txt", "“quoted”", "'plain'", "Successfully replaced")],
        vec![("grep", json!({ "pattern": "🦀", "literal": true }), "unicode.txt:1:")],
        vec![bash("for i in 1 2 3; do echo step $i; done | tee log.txt", "step 3")],
        vec![("ls", json!({ "path": "lib" }), "count.sh\nlist.txt\nsorted.txt")],
        vec![("read", json!({ "path": "log.txt" }), "step 1"), bash("sh lib/count.sh | tail -1", "3")],
        vec![edit("log.txt", "step 2\n", "", "Successfully replaced")],
        vec![bash("rm table.tsv && ls", "unicode.txt")],
        vec![("find", json!({ "pattern": "**/*.txt", "path": "lib" }), "list.txt\nsorted.txt")],
    ]
}

const GREET: &str = "#!/bin/sh\nname=world\necho \"hello $name\"\n";

/// What is left on the disk.
const FILES: [(&str, &str); 7] = [
    ("greet.sh", "#!/bin/sh\nname=${1:-world}\necho \"hello $name\"\n"),
    ("lib/count.sh", "seq 1 3\n"),
    ("lib/list.txt", "pear\nApple\nfig\n"),
    ("lib/sorted.txt", "Apple\nfig\ngrape\npear\n"),
    ("log.txt", "step 1\nstep 3\n"),
    ("notes/a/b/deep.md", "# Deep\n\n- one\n- two\n- three\n"),
    ("unicode.txt", "naïve – 'plain' 🦀\n"),
];

#[test]
fn thirty_turns_leave_same_files_per_api() {
    for api in all_apis() {
        let mut turns: Vec<Value> =
            job().into_iter().enumerate().map(|(at, calls)| turn(at, calls)).collect();
        turns.push(json!({ "say": [{ "text": "Everything is done." }] }));
        assert_eq!(turns.len(), 30);
        let vendor = FakeVendor::plays(&json!({ "turns": turns }));
        let tools = "read,bash,edit,write,grep,find,ls";
        let mut server = vendor.server(Dialect::Pi, api, &["--tools", tools]);
        let frames = server.run("Do the job.");
        assert_eq!(of_type(&frames, "turn_end").len(), 30, "{api}");
        assert_results(api, &frames);
        assert_eq!(vendor.refusals(), Vec::<String>::new(), "{api}");
        let dir = server.finishes();
        assert_eq!(files(dir.path()), FILES.map(|(path, text)| (path.to_owned(), text.to_owned())), "{api}");
    }
}

/// Every third turn thinks and speaks before it acts.
fn turn(at: usize, calls: Vec<(&'static str, Value, &'static str)>) -> Value {
    let mut say = Vec::new();
    if at.is_multiple_of(3) {
        say.push(json!({ "thinking": format!("Step {at}."), "signature": "c2lnbmVk" }));
        say.push(json!({ "text": format!("Now step {at}.") }));
    }
    say.extend(calls.into_iter().map(|(tool, arguments, _)| json!({ "tool": tool, "arguments": arguments })));
    json!({ "say": say })
}

fn assert_results(api: &str, frames: &[Value]) {
    let results: Vec<(&str, &str)> = of_type(frames, "tool_execution_end")
        .into_iter()
        .map(|frame| {
            let text = frame["result"]["content"][0]["text"].as_str().unwrap();
            (frame["toolName"].as_str().unwrap(), text)
        })
        .collect();
    let wanted: Vec<_> = job().into_iter().flatten().collect();
    assert_eq!(results.len(), wanted.len(), "{api}");
    for ((tool, text), (wanted, _, seen)) in results.into_iter().zip(wanted) {
        assert_eq!(tool, wanted, "{api}");
        assert!(text.contains(seen), "{api}: {tool} gave {text:?}, wanted {seen:?}");
    }
}

/// The files below `root` that are not the agent's own, sorted.
fn files(root: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != ".pi" {
                folders.push(path);
            } else if path.is_file() {
                files.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}
