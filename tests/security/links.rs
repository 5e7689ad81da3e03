//! Links of a project's instructions: they may lead anywhere in its repository, not out of it, and never to credentials.

use crate::serve_support::{FakeVendor, Server, binary, command, write_agent_file};
use pi_rpc::{
    confinement::Confinement,
    prompt::discover::Discovered,
    protocol::Dialect::{self, Omp, Pi, Pi1, Xcsh},
};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

const DIALECTS: [Dialect; 4] = [Pi, Xcsh, Omp, Pi1];

/// A key that the servers know.
const KEY: &str = "key-of-the-user-0123456789";

/// A home with a model, and a repository in it.
struct Place {
    dir: TempDir,
    dialect: Dialect,
    vendor: FakeVendor,
}

impl Place {
    fn new(dialect: Dialect) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = Self { dir, dialect, vendor: FakeVendor::plays_leniently(&says_hello()) };
        fs::create_dir_all(place.path("work/.git")).unwrap();
        let models = json!({ "providers": { "fake": {
            "baseUrl": format!("http://{}", place.vendor.address), "apiKey": KEY, "api": "anthropic-messages",
            "models": [{ "id": "model", "contextWindow": 200_000, "maxTokens": 8000 }],
        } } });
        write_agent_file(&place.path("home"), dialect, "models.json", &models);
        place
    }

    /// A path; `.pi` stands for the folders of the dialect.
    fn path(&self, name: &str) -> PathBuf {
        let root = self.dir.path().canonicalize().unwrap();
        root.join(name.replace(".pi", self.dialect.record().directories.project))
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn link(&self, name: &str, target: impl AsRef<Path>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    /// Runs these prompts in a server in `folder`; gives the requests to the vendor, all frames, and stderr.
    fn runs(self, folder: &str, options: &[&str], prompts: &[&str]) -> Ran {
        let server = self.starts(folder, options);
        server.runs(prompts)
    }

    fn starts(self, folder: &str, options: &[&str]) -> Running {
        let Self { dialect, .. } = self;
        let (home, working) = (self.path("home"), self.path(folder));
        let Self { dir, vendor, .. } = self;
        let mut command = command(binary(), dir.path());
        command.env("HOME", home).current_dir(working);
        command
            .args(["serve", "--model", "fake/model", "--approve", "--dialect", dialect.as_str()])
            .args(options);
        Running { server: Server::start(dialect, dir, command), vendor }
    }
}

struct Running {
    server: Server,
    vendor: FakeVendor,
}

impl Running {
    fn runs(mut self, prompts: &[&str]) -> Ran {
        let mut frames = Vec::new();
        for prompt in prompts {
            self.server.send(json!({ "type": "prompt", "message": prompt, "id": "prompt" }));
            let is_over = |frame: &Value| {
                frame["type"] == "agent_end"
                    || frame["type"] == "response" && frame["id"] == "prompt" && frame["success"] == false
            };
            frames.extend(self.server.until(is_over));
        }
        self.server.close_stdin();
        let ended = self.server.ends();
        frames.extend(ended.frames);
        let requests = self.vendor.journal.received().into_iter().map(|request| request.body.to_string());
        let frames = frames.iter().map(Value::to_string).collect();
        Ran { requests: requests.collect(), frames, stderr: ended.stderr, dir: ended.dir }
    }
}

/// What a run has shown.
struct Ran {
    requests: String,
    frames: String,
    stderr: String,
    dir: TempDir,
}

impl Ran {
    /// Everything that it has written, or sent to the vendor.
    fn everything(&self) -> String {
        let mut all = format!("{}\n{}\n{}", self.requests, self.frames, self.stderr);
        let mut folders = vec![self.dir.path().join("home")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    folders.push(entry);
                } else if entry.extension().is_some_and(|ending| ending == "jsonl") {
                    all += &fs::read_to_string(entry).unwrap();
                }
            }
        }
        all
    }
}

fn says_hello() -> Value {
    json!({ "turns": [{ "repeat": true, "say": [{ "text": "Hello." }] }] })
}

/// Files of instructions: name, and the text with a mark.
fn instructions(mark: &str) -> [(&'static str, String); 6] {
    let described =
        |name: &str| format!("---\nname: {name}\ndescription: {mark}-{name}\n---\n{mark}-body-{name}");
    [
        ("AGENTS.md", format!("{mark}-agents")),
        (".pi/SYSTEM.md", format!("{mark}-system")),
        (".pi/APPEND_SYSTEM.md", format!("{mark}-append")),
        (".pi/skills/one/SKILL.md", described("one")),
        (".pi/prompts/two.md", format!("{mark}-template")),
        (".agents/skills/three/SKILL.md", described("three")),
    ]
}

const PROMPTS: [&str; 4] = ["Hi.", "/two", "/skill:one", "/skill:three"];

/// The marks that [`PROMPTS`] bring into requests.
fn marks(mark: &str) -> [String; 6] {
    ["agents", "system", "append", "body-one", "template", "body-three"].map(|name| format!("{mark}-{name}"))
}

#[test]
fn links_out_of_repository_are_left_out() {
    for dialect in DIALECTS {
        let place = Place::new(dialect);
        let mut named = Vec::new();
        for (name, text) in instructions("OUTSIDE") {
            let target = place.file(&format!("elsewhere/{}", name.replace('/', "-")), &text);
            place.link(&format!("work/{name}"), &target);
            named.push((place.path(&format!("work/{name}")), target));
        }
        let ran = place.runs("work", &[], &PROMPTS);
        assert!(ran.requests.contains("/skill:one"), "{dialect}: {}", ran.requests);
        assert!(!ran.everything().contains("OUTSIDE"), "{dialect}: {}", ran.everything());
        for (link, target) in named {
            let told = ran.stderr.lines().any(|line| {
                line.contains(&link.display().to_string())
                    && line.contains(&target.display().to_string())
                    && line.contains("--follow-links")
            });
            assert!(told, "{dialect}: {}\n{}", link.display(), ran.stderr);
        }
    }
}

#[test]
fn links_inside_repository_are_followed() {
    for dialect in DIALECTS {
        let place = Place::new(dialect);
        for (name, text) in instructions("INSIDE") {
            // In a folder beside the working directory, and by way of a place outside.
            let target = place.file(&format!("work/shared/{}", name.replace('/', "-")), &text);
            let detour = format!("elsewhere/{}", name.replace('/', "-"));
            place.link(&detour, &target);
            place.link(&format!("work/part/{name}"), place.path(&detour));
        }
        let ran = place.runs("work/part", &[], &PROMPTS);
        for mark in marks("INSIDE") {
            assert!(ran.requests.contains(&mark), "{dialect}: {mark}\n{}\n{}", ran.requests, ran.stderr);
        }
    }
}

#[test]
fn follow_links_lets_links_lead_out() {
    for dialect in [Pi, Pi1] {
        let place = Place::new(dialect);
        for (name, text) in instructions("OUTSIDE") {
            let target = place.file(&format!("elsewhere/{}", name.replace('/', "-")), &text);
            place.link(&format!("work/{name}"), &target);
        }
        let ran = place.runs("work", &["--follow-links"], &PROMPTS);
        for mark in marks("OUTSIDE") {
            assert!(ran.requests.contains(&mark), "{dialect}: {mark}\n{}\n{}", ran.requests, ran.stderr);
        }
    }
}

#[test]
fn folders_linked_out_are_left_out() {
    for dialect in DIALECTS {
        let place = Place::new(dialect);
        let skill = |name: &str| format!("---\nname: {name}\ndescription: OUTSIDE\n---\nOUTSIDE");
        place.file("elsewhere/skills/four/SKILL.md", &skill("four"));
        place.file("elsewhere/prompts/five.md", "OUTSIDE");
        place.file("elsewhere/six/SKILL.md", &skill("six"));
        place.file("elsewhere/settings.json", &json!({ "sessionDir": "OUTSIDE" }).to_string());
        place.link("work/.pi/prompts", "../../elsewhere/prompts");
        place.link("work/.pi/settings.json", "../../elsewhere/settings.json");
        place.link("work/.agents/skills", "../../elsewhere/skills");
        place.link("work/.pi/skills/six", "../../../elsewhere/six");
        let ran = place.runs("work", &[], &["/five", "/skill:four", "/skill:six"]);
        assert!(!ran.everything().contains("OUTSIDE"), "{dialect}: {}", ran.everything());
        for folder in ["prompts", ".agents/skills", "skills/six", "settings.json"] {
            assert!(
                ran.stderr.contains(&format!("{folder}: it leads to ")),
                "{dialect}: {folder}\n{}",
                ran.stderr
            );
        }
        assert!(!ran.dir.path().join("work/OUTSIDE").exists(), "{dialect}");
    }
}

#[test]
fn links_into_proc_are_left_out() {
    let place = Place::new(Pi1);
    place.link("work/AGENTS.md", "/proc/self/environ");
    place.link("work/.pi/APPEND_SYSTEM.md", "/proc/self/cmdline");
    let ran = place.runs("work", &[], &["Hi."]);
    assert!(!ran.requests.contains("TMPDIR=") && !ran.requests.contains("serve\\u0000"), "{}", ran.requests);
    for name in ["AGENTS.md", "APPEND_SYSTEM.md"] {
        assert!(ran.stderr.contains(&format!("{name} cannot be read: it leads to /proc/")), "{}", ran.stderr);
    }
}

#[test]
fn credentials_are_never_instructions() {
    for option in ["--no-follow", "--follow-links"] {
        let place = Place::new(Pi1);
        let auth = place.file(
            "home/.pi/agent/auth.json",
            r#"{"other": {"type": "api_key", "key": "CREDENTIAL-of-other"}, "SHORT": 1}"#,
        );
        place.file("work/.env", "CREDENTIAL_OF=project");
        // A hard link has no place of its own.
        fs::hard_link(&auth, place.path("work/AGENTS.md")).unwrap();
        place.link("work/.pi/APPEND_SYSTEM.md", "../.env");
        place.link("work/.pi/prompts/two.md", &auth);
        place.link("work/.pi/skills/one/SKILL.md", place.path("home/.pi/agent/models.json"));
        place.link("home/.pi/agent/AGENTS.md", "auth.json");
        let options: &[&str] = if option == "--follow-links" { &[option] } else { &[] };
        let ran = place.runs("work", options, &["/two"]);
        for text in ["CREDENTIAL", "SHORT", KEY] {
            assert!(!ran.requests.contains(text), "{option}: {}", ran.requests);
        }
        let told = ran.stderr.lines().filter(|line| line.contains("holds credentials")).count();
        assert_eq!(told, 5, "{option}: {}", ran.stderr);
    }
}

#[test]
fn known_keys_in_instructions_are_masked() {
    for dialect in DIALECTS {
        let place = Place::new(dialect);
        for (name, text) in instructions("MARK") {
            place.file(&format!("work/{name}"), &text.replace("MARK", &format!("MARK-{KEY}")));
        }
        let mut running = place.starts("work", &[]);
        running.server.send(json!({ "type": "get_state", "id": "state" }));
        running.server.response("state");
        let ran = running.runs(&PROMPTS);
        for mark in marks("MARK-***") {
            assert!(ran.requests.contains(&mark), "{dialect}: {mark}\n{}", ran.requests);
        }
        assert!(!ran.everything().contains(KEY), "{dialect}");
    }
}

#[test]
fn skill_exchanged_for_link_is_refused() {
    let place = Place::new(Pi);
    let skill = place.file("work/.pi/skills/one/SKILL.md", "---\nname: one\ndescription: one\n---\nfirst");
    let target = place.file("elsewhere/secret", "OUTSIDE");
    let mut running = place.starts("work", &[]);
    running.server.data(json!({ "type": "get_commands" }));
    fs::remove_file(&skill).unwrap();
    symlink(&target, &skill).unwrap();
    let ran = running.runs(&["/skill:one"]);
    assert!(!ran.everything().contains("OUTSIDE"), "{}", ran.everything());
}

#[test]
fn files_above_repository_stay_in_their_folder() {
    let place = Place::new(Pi1);
    place.file("AGENTS.md", "REGULAR");
    place.file("outer/notes.md", "BESIDE");
    place.link("outer/AGENTS.md", "notes.md");
    place.file("elsewhere/secret.md", "OUTSIDE");
    place.link("outer/inner/AGENTS.md", "../../elsewhere/secret.md");
    fs::create_dir_all(place.path("outer/inner/repository/.git")).unwrap();
    fs::create_dir_all(place.path("outer/inner/repository/part")).unwrap();
    let ran = place.runs("outer/inner/repository/part", &[], &["Hi."]);
    assert!(ran.requests.contains("REGULAR") && ran.requests.contains("BESIDE"), "{}", ran.requests);
    assert!(!ran.everything().contains("OUTSIDE"), "{}", ran.everything());
}

#[test]
fn links_of_user_lead_anywhere() {
    for dialect in DIALECTS {
        let place = Place::new(dialect);
        let agent = dialect.record().directories.agent.replace('~', "home");
        place.file("dotfiles/AGENTS.md", "DOTFILES-agents");
        place.file("dotfiles/one/SKILL.md", "---\nname: one\ndescription: x\n---\nDOTFILES-one");
        place.file("dotfiles/three/SKILL.md", "---\nname: three\ndescription: x\n---\nDOTFILES-three");
        let agent_file = |name: &str| place.path("").join(&agent).join(name);
        fs::create_dir_all(agent_file("skills")).unwrap();
        symlink(place.path("dotfiles/AGENTS.md"), agent_file("AGENTS.md")).unwrap();
        symlink(place.path("dotfiles/one"), agent_file("skills/one")).unwrap();
        place.link("home/.agents/skills", place.path("dotfiles"));
        // Nor does it matter that the home is where the server works.
        let ran = place.runs("home", &[], &["Hi.", "/skill:one", "/skill:three"]);
        for mark in ["DOTFILES-agents", "DOTFILES-one", "DOTFILES-three"] {
            assert!(ran.requests.contains(mark), "{dialect}: {mark}\n{}\n{}", ran.requests, ran.stderr);
        }
    }
}

#[test]
fn extension_resources_stay_in_repository() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("work/prompts")).unwrap();
    fs::write(root.join("secret.md"), "OUTSIDE").unwrap();
    fs::write(root.join("work/fine.md"), "fine").unwrap();
    symlink("../../secret.md", root.join("work/prompts/secret.md")).unwrap();
    symlink("../fine.md", root.join("work/prompts/fine.md")).unwrap();
    let working = root.join("work");
    let confinement = Confinement::new(&working, Vec::new(), Vec::new(), false);
    let found = Discovered::find_in(&working, Vec::new(), vec!["prompts".to_owned()], &confinement);
    let names: Vec<&str> = found.commands.templates.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["fine"]);
    let root = root.display();
    let warning = format!(
        "{root}/work/prompts/secret.md: it leads to {root}/secret.md, out of {root}/work; --follow-links allows that; the \
         file is left out"
    );
    assert_eq!(found.warnings, [warning]);
}
