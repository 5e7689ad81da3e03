//! Exports of `pi-rpc schema` are stored in the repository, so that a change of the wire shows in review, and a change
//! of a dialect has the version that `schema/README.md` requires. `cargo bless` raises the version of a dialect that has
//! changed since the last commit, as far as it must be, and writes the files.

use crate::{
    serve_support::binary,
    text_diff::{applied, delta},
};
use pi_rpc::{
    export::{Bump, Part, bump, json_schema, meta, meta_schema, part_schema},
    protocol::Dialect,
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
    thread,
};

const FOLDER: &str = "snapshots/exported";

/// Formats that do not depend on the dialect, and their files.
const ALONE: [(&str, &str); 4] = [
    ("dialects", "snapshots/exported/dialects.json"),
    ("settings", "data/settings.schema.json"),
    ("models", "data/models-file.schema.json"),
    ("hooks", "docs/reference/hooks.md"),
];

/// Schemas of files, which are made of Rust types: their text would say nothing that the types do not.
const SCHEMAS_OF_FILES: [&str; 7] =
    ["meta-schema", "script", "mcp-script", "scenario", "adapter", "expect", "report"];

/// Dialect whose `meta` is stored; of the others, digests tell that something has changed.
const META_OF: Dialect = Dialect::Pi1;

/// Digests of what is not stored: a line each, `DIALECT meta.PART DIGEST`, `DIALECT mermaid DIGEST` or `- FORMAT DIGEST`.
const DIGESTS: &str = "snapshots/exported/digests.txt";

/// A file of the repository that `pi-rpc schema` prints.
struct Exported {
    /// Path within the repository.
    path: String,
    dialect: Dialect,
    /// Current output.
    text: String,
    /// File that this one is stored as a difference from.
    base: Option<&'static Self>,
}

impl Exported {
    /// Stored text; `None`: there is none, or it belongs to another base.
    fn published(&self) -> Option<String> {
        let kept = fs::read_to_string(file(&self.path)).ok()?;
        match self.base {
            Some(base) => applied(&base.published()?, &kept),
            None => Some(kept),
        }
    }

    /// Text of the last commit, which versions count from; of sources that are no repository, the stored one.
    fn committed(&self) -> Option<String> {
        let name = format!("HEAD:./{}", self.path);
        let shown = Command::new("git").args(["show", &name]).current_dir(file("")).output();
        let Some(shown) = shown.ok().filter(|shown| shown.status.success()) else { return self.published() };
        let kept = String::from_utf8(shown.stdout).ok()?;
        match self.base {
            Some(base) => applied(&base.committed()?, &kept),
            None => Some(kept),
        }
    }

    fn write(&self) {
        let kept = self.base.map_or_else(|| self.text.clone(), |base| delta(&base.text, &self.text));
        fs::write(file(&self.path), kept).expect("it can be written");
    }
}

/// A file of the repository.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn told(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(binary()).arg("schema").args(arguments).output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn printed(arguments: &[&str]) -> String {
    let (status, text, errors) = told(arguments);
    assert_eq!((status, errors.as_str()), (Some(0), ""), "{arguments:?}");
    text
}

/// Whether a dialect has frames of its own; most overlays have those of their base.
fn has_frames(dialect: Dialect) -> bool {
    dialect.base().as_str() == dialect.as_str()
}

/// All files, bases first; those of all dialects except `pi` are stored as differences from their parents.
fn files() -> &'static [&'static Exported] {
    static FILES: OnceLock<Vec<&'static Exported>> = OnceLock::new();
    FILES.get_or_init(|| {
        let mut wanted: Vec<(String, Dialect, &'static str)> = Vec::new();
        for dialect in Dialect::ALL {
            let extension = if dialect == Dialect::Pi { "json" } else { "diff" };
            if has_frames(dialect) {
                wanted.push((format!("{FOLDER}/{dialect}.schema.{extension}"), dialect, "json-schema"));
            }
        }
        wanted.push((format!("{FOLDER}/{META_OF}.meta.json"), META_OF, "meta"));
        wanted.extend(ALONE.map(|(format, path)| (path.to_owned(), Dialect::Pi, format)));
        let texts: Vec<String> = thread::scope(|scope| {
            let printing: Vec<_> = wanted
                .iter()
                .map(|(_, dialect, format)| scope.spawn(move || export(*dialect, format)))
                .collect();
            printing.into_iter().map(|it| it.join().expect("it is printed")).collect()
        });
        let mut files: Vec<&'static Exported> = Vec::new();
        for ((path, dialect, _), text) in wanted.into_iter().zip(texts) {
            // An overlay is stored as its difference from its parent, the other dialects from `pi`.
            let base = path.strip_suffix("diff").map(|start| {
                let parent = dialect.record().extends.unwrap_or("pi");
                let path = start.replace(dialect.as_str(), parent);
                let is_base = |it: &&&'static Exported| {
                    it.path.strip_prefix(&path).is_some_and(|end| !end.contains('.'))
                };
                *files.iter().find(is_base).expect("parents come first")
            });
            files.push(Box::leak(Box::new(Exported { path, dialect, text, base })));
        }
        let (path, dialect) = (DIGESTS.to_owned(), Dialect::Pi);
        files.push(Box::leak(Box::new(Exported { path, dialect, text: digests(), base: None })));
        files
    })
}

fn export(dialect: Dialect, format: &str) -> String {
    printed(&["--dialect", dialect.as_str(), "--format", format])
}

fn digests() -> String {
    let mut lines = Vec::new();
    for dialect in Dialect::ALL {
        if dialect != META_OF {
            let mut meta: Value = serde_json::from_str(&export(dialect, "meta")).expect("JSON");
            remove_words(&mut meta);
            let parts = meta.as_object().expect("an object").iter();
            // The rest is ids.
            let parts = parts.filter(|(_, part)| part.is_object() || part.is_array());
            lines
                .extend(parts.map(|(name, part)| {
                    digest(dialect.as_str(), &format!("meta.{name}"), &part.to_string())
                }));
        }
        if has_frames(dialect) {
            lines.push(digest(dialect.as_str(), "mermaid", &export(dialect, "mermaid")));
        }
    }
    lines.extend(SCHEMAS_OF_FILES.map(|format| digest("-", format, &export(Dialect::Pi, format))));
    lines.join("\n") + "\n"
}

/// The first 16 hexadecimal digits of SHA-256.
fn digest(dialect: &str, of: &str, text: &str) -> String {
    let sum = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let hex: String = sum.as_ref().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{dialect} {of} {hex}")
}

/// Removes what a change of makes a patch.
fn remove_words(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !["description", "sources", "title"].contains(&name.as_str()));
            members.values_mut().for_each(remove_words);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_words),
        _ => {}
    }
}

fn updates() -> bool {
    std::env::var_os("UPDATE").is_some()
}

fn version(exported: &Value) -> [u64; 3] {
    let id = exported["frames"].as_str().or(exported["$id"].as_str()).expect("an id");
    let version = id.rsplit(':').next().expect("a version");
    let parts: Vec<u64> = version.split('.').map(|part| part.parse().expect("a number")).collect();
    parts.try_into().expect("three numbers")
}

fn dotted(version: [u64; 3]) -> String {
    version.map(|part| part.to_string()).join(".")
}

/// Lowest version that such a change requires.
fn least([major, minor, patch]: [u64; 3], bump: Bump) -> [u64; 3] {
    match bump {
        Bump::None => [major, minor, patch],
        Bump::Patch => [major, minor, patch + 1],
        Bump::Minor => [major, minor + 1, 0],
        Bump::Major => [major + 1, 0, 0],
    }
}

/// A version that does not go with what has changed.
struct Low {
    version: [u64; 3],
    least: [u64; 3],
    bump: Bump,
}

/// Dialects with too low a version for what has changed since the last commit, by the file that has the version.
fn low_versions() -> BTreeMap<String, Low> {
    let changes = files().iter().filter_map(|file| Change::of(file));
    let changes: Vec<Change> = changes.chain(unstored_changes()).collect();
    let mut low: BTreeMap<String, Low> = BTreeMap::new();
    for Change { dialect, bump, was, version } in changes {
        let least = least(was, bump);
        let path = format!("schema/dialects/{}.json", dialect.base().as_str());
        if version < least && low.get(&path).is_none_or(|known| known.least < least) {
            low.insert(path, Low { version, least, bump });
        }
    }
    low
}

/// What has changed of a dialect since the last commit, with the version then and now.
struct Change {
    dialect: Dialect,
    bump: Bump,
    was: [u64; 3],
    version: [u64; 3],
}

impl Change {
    /// `None`: the file is new, or no export that has a version.
    fn of(file: &Exported) -> Option<Self> {
        let is_versioned = file.path.contains(".schema.") || file.path.contains(".meta.");
        let old = is_versioned.then(|| file.committed()).flatten()?;
        let [old, new] = [&old, &file.text].map(|text| serde_json::from_str::<Value>(text).expect("JSON"));
        let bump = bump(&old, &new).expect("both exported");
        Some(Self { dialect: file.dialect, bump, was: version(&old), version: version(&new) })
    }
}

/// Changes of `meta` that only digests show: as great as that of the stored one, and a minor one at least.
fn unstored_changes() -> Vec<Change> {
    let stored = |path: &str| files().iter().find(|file| file.path.starts_with(path));
    let digests = stored(DIGESTS).expect("the digests");
    let Some(old) = digests.committed() else { return Vec::new() };
    let of = |text: &str, dialect: Dialect| -> Vec<String> {
        let start = format!("{dialect} meta.");
        text.lines().filter(|line| line.starts_with(&start)).map(str::to_owned).collect()
    };
    let meta = stored(&format!("{FOLDER}/{META_OF}.meta.")).and_then(|file| Change::of(file));
    let known = meta.map_or(Bump::Minor, |change| change.bump.max(Bump::Minor));
    let changed = |dialect: &Dialect| {
        let was = of(&old, *dialect);
        !was.is_empty() && was != of(&digests.text, *dialect)
    };
    let changes = Dialect::ALL.into_iter().filter(changed).filter_map(|dialect| {
        let of_base = stored(&format!("{FOLDER}/{}.schema.", dialect.base().as_str()));
        Some(Change { dialect, bump: known, ..of_base.and_then(|file| Change::of(file))? })
    });
    changes.collect()
}

#[test]
fn changed_dialects_have_new_versions() {
    for (path, Low { version, least, bump }) in low_versions() {
        let [old, new] = [version, least].map(|version| format!("\"version\": \"{}\"", dotted(version)));
        assert!(
            updates(),
            "{path}: a {bump:?} change since the last commit needs {new} at least, not {old}: run cargo bless; schema/README.md, \
             Versions, says why"
        );
        let text = fs::read_to_string(file(&path)).expect("a dialect");
        assert!(text.contains(&old), "{path}: expected {old}");
        fs::write(file(&path), text.replacen(&old, &new, 1)).expect("it can be written");
    }
}

#[test]
fn exported_files_are_current() {
    let is_stale = |file: &&&Exported| file.published().as_deref() != Some(file.text.as_str());
    let stale: Vec<&&Exported> = files().iter().filter(is_stale).collect();
    if updates() {
        // A version that is raised first has to be compiled.
        if low_versions().is_empty() {
            stale.iter().for_each(|file| file.write());
        }
        return;
    }
    let stale: Vec<&str> = stale.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(stale, Vec::<&str>::new(), "run cargo bless");
}

#[test]
fn exported_folder_holds_nothing_else() {
    if updates() {
        return;
    }
    let expected: BTreeSet<&str> =
        files().iter().filter_map(|file| file.path.strip_prefix(FOLDER)?.strip_prefix('/')).collect();
    let entries = fs::read_dir(file(FOLDER)).expect("the folder");
    let kept: BTreeSet<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
    let expected = expected.into_iter().map(str::to_owned).collect();
    let differ: Vec<&String> = kept.symmetric_difference(&expected).collect();
    assert!(
        differ.is_empty(),
        "{FOLDER}: missing or not exported: {differ:?}; cargo bless writes what is missing"
    );
}

#[test]
fn delta_of_two_texts_is_applied() {
    let base = "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2\n  }\n}\n";
    let text = "{\n  \"b\": {\n    \"c\": 3,\n    \"d\": 4\n  }\n}\n";
    let made = delta(base, text);
    assert_eq!(made, "@ 1 \n- 1\n@ 1 b\n- 1\n+    \"c\": 3,\n+    \"d\": 4\n");
    assert_eq!(applied(base, &made).as_deref(), Some(text));
    assert_eq!(applied("{\n", &made), None);
}

#[test]
fn each_kind_of_change_needs_its_version() {
    let schema = json_schema(Dialect::Pi);
    let changed = |pointer: &str, value: Value| {
        let mut schema = schema.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let parent = schema.pointer_mut(parent).and_then(Value::as_object_mut).expect(pointer);
        match value {
            Value::Null => drop(parent.shift_remove(key)),
            value => drop(parent.insert(key.to_owned(), value)),
        }
        bump(&json_schema(Dialect::Pi), &schema).expect("both exported")
    };
    let required = |names: &[&str]| changed("/$defs/AgentEndEvent/required", json!(names));
    assert_eq!(changed("/title", json!("Frames of pi 0.5x")), Bump::Patch);
    assert_eq!(changed("/$defs/AgentEndEvent/description", json!("It ends.")), Bump::Patch);
    assert_eq!(changed("/$defs/AgentEndEvent/properties/why", json!({ "type": "string" })), Bump::Minor);
    assert_eq!(changed("/$defs/SessionState/properties/sessionName", Value::Null), Bump::Minor);
    assert_eq!(required(&["type"]), Bump::Major);
    assert_eq!(changed("/$defs/AgentEndEvent/properties/messages", Value::Null), Bump::Major);
    assert_eq!(changed("/$defs/QueueMode/enum", json!(["all", "one-at-a-time", "none"])), Bump::Major);
    assert_eq!(bump(&schema, &schema), Ok(Bump::None));
}

#[test]
fn meta_file_is_valid_and_consistent() {
    let validator = jsonschema::validator_for(&meta_schema()).expect("a schema");
    for dialect in Dialect::ALL {
        let (meta, schema) = (json!(meta(dialect)), json_schema(dialect));
        let errors: Vec<String> =
            validator.iter_errors(&meta).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(errors, Vec::<String>::new(), "{dialect}");
        let mut named = BTreeSet::new();
        for list in ["commands", "events", "dialogs"] {
            for about in meta[list].as_array().expect("a list") {
                let defs = ["request", "response", "error", "def", "family"].map(|key| &about[key]);
                named.extend(defs.into_iter().filter_map(Value::as_str));
                named.extend(about["answers"].as_array().into_iter().flatten().filter_map(Value::as_str));
            }
        }
        let strange: Vec<&str> = named.into_iter().filter(|def| schema["$defs"].get(def).is_none()).collect();
        assert_eq!(strange, Vec::<&str>::new(), "{dialect}");
    }
}

#[test]
fn part_has_its_roots_and_their_defs() {
    let mut missing = Vec::new();
    for dialect in Dialect::ALL.into_iter().filter(|dialect| has_frames(*dialect)) {
        let whole = json_schema(dialect);
        for part in Part::ALL {
            let schema = part_schema(dialect, part);
            let defs = schema["$defs"].as_object().expect("defs");
            if defs.is_empty() {
                missing.push((dialect.as_str(), part.as_str()));
                continue;
            }
            jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{dialect} {part:?}: {error}"));
            for (name, def) in defs {
                // The wire around the sessions is exported alone.
                let is_alone = part == Part::MultiSession && whole["$defs"].get(name).is_none();
                assert!(is_alone || *def == whole["$defs"][name], "{dialect}: {name}");
            }
        }
    }
    let without = ["pi", "pi-1", "pi-1@login", "pi-1@navigation", "pi@0.73"];
    assert_eq!(missing, without.map(|dialect| (dialect, "host-tools")));
}

#[test]
fn output_option_writes_and_wrong_part_fails() {
    let dir = tempfile::tempdir().unwrap();
    let path: PathBuf = dir.path().join("pi.json");
    let path = path.to_str().unwrap();
    assert_eq!(printed(&["-o", path]), "");
    assert_eq!(fs::read_to_string(path).unwrap(), printed(&[]));
    for (arguments, why) in [
        (&["--dialect", "po"][..], "po"),
        (&["--part", "host-tools"], "--part host-tools: the dialect pi-1 has no such frames"),
        (
            &["--part", "ui", "--format", "meta"],
            "--part: expected --format json-schema, typescript, go or openapi",
        ),
        (
            &["--diff", "pi", "nowhere.json"],
            "nowhere.json: expected a dialect or an exported file: No such file",
        ),
        (&["--diff", "pi", "Cargo.toml"], "Cargo.toml: "),
        (&["--diff", "pi", "xcsh", "--part", "ui"], "cannot be used with"),
        (&["--diff", "pi-1", "Cargo.toml", "--guide"], "unknown dialect \"Cargo.toml\""),
        (&["-o", "/nowhere/at/all.json"], "/nowhere/at/all.json: No such file"),
    ] {
        let (status, text, errors) = told(arguments);
        assert_eq!((status, text.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(errors.contains(why), "{arguments:?}: {errors}");
    }
}

#[test]
fn diff_status_reports_breaking_changes() {
    let (status, text, _) = told(&["--diff", "pi", "xcsh"]);
    assert_eq!(status, Some(1));
    for line in [
        "breaks servers  RpcCommand: `set_todos` is new",
        "breaks clients  RpcCommand: `fork` is gone",
        "breaks clients  SessionState: `pendingMessageCount`, which was required, is gone",
        "breaks servers  SessionState: `queuedMessageCount` is new and required",
        "                PromptCommand: `locale` is new and optional",
        "breaks clients  CompactionReason: may also be \"idle\"",
        "breaks clients  commands prompt: states.compacting: is queue if streamingBehavior is steer or followUp, else reject (busy), was run",
        "breaks servers  rules ready-first: is \"MUST\", was absent",
        "                record ready: is \"with-version\", was \"none\"",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}");
    }
    let (status, text, _) = told(&["--diff", "pi", "pi@0.58"]);
    assert_eq!(status, Some(0));
    assert_eq!(text.lines().last(), Some("3 differences: clients break by 0, servers by 0; a minor change"));
    let (status, text, _) = told(&["--diff", "pi", "pi@0.58", "--json"]);
    let found: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, found.as_array().map(Vec::len)), (Some(0), Some(3)));
}

#[test]
fn guide_leads_with_what_breaks() {
    let (status, text, _) = told(&["--diff", "pi@0.73", "pi-1@0.84.4", "--guide"]);
    assert_eq!(status, Some(0));
    let headings: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let expected = ["The end of a run", "What breaks", "What behaves otherwise", "What is new"];
    assert_eq!(headings[..4], expected);
    for line in [
        "Now: `agent_settled` ends what a prompt has started. `agent_end` ends one run: a retry, a compaction or a queued message may follow it by itself.",
        "| event `message_update` | `message`, which was required, is gone | Keep the message of `message_start`, apply each `assistantMessageEvent` to it, and replace it by that of `message_end`. |",
        "| command `get_tree` | is new | Returns the entries of the session as a tree. |",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}");
    }
    // What came after 0.84 belongs to the next step.
    assert!(!text.contains("PromptOutcome") && !text.contains("`aborted` is new"), "{text}");
}

#[test]
fn exported_files_are_compared_as_dialects_are() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, arguments: &[&str]| {
        let path = dir.path().join(name).to_str().unwrap().to_owned();
        printed(&[arguments, &["-o", &path]].concat());
        path
    };
    let [pi, xcsh] = ["pi", "xcsh"].map(|dialect| file(dialect, &["--dialect", dialect]));
    let [pi_meta, xcsh_meta] = ["pi", "xcsh"]
        .map(|dialect| file(&format!("{dialect}.meta"), &["--dialect", dialect, "--format", "meta"]));
    let lines = |a: &str, b: &str| -> Vec<String> {
        let text = told(&["--diff", a, b]).1;
        let all = text.lines().map(str::to_owned).collect::<Vec<_>>();
        all[..all.len() - 1].to_vec()
    };
    // Of a frame that only one of them has, one line is enough.
    let is_new = |line: &String| line.ends_with(": is new") || line.ends_with(": is gone");
    let is_of_frame =
        |line: &String| ["commands ", "events ", "dialogs "].iter().any(|list| line[16..].starts_with(list));
    let (frames, mut behaviour) = (lines(&pi, &xcsh), lines(&pi_meta, &xcsh_meta));
    assert!(behaviour.contains(&"breaks clients  commands fork: is gone".to_owned()));
    behaviour.retain(|line| !(is_new(line) && is_of_frame(line)));
    assert_eq!([frames, behaviour].concat(), lines("pi", "xcsh"));
    let (commands, lines_of_files) =
        (file("commands", &["--part", "commands"]), file("session", &["--part", "session-file"]));
    let (status, _, errors) = told(&["--diff", &commands, &lines_of_files]);
    assert_eq!(status, Some(2));
    assert!(errors.contains("the two files are of different parts of the protocol"), "{errors}");
    let (status, _, errors) = told(&["--diff", &pi, &xcsh_meta]);
    assert_eq!(status, Some(2));
    assert!(
        errors.contains("two files of --format json-schema were expected, or two of --format meta"),
        "{errors}"
    );
}
