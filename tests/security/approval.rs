//! Approval of projects: each cell of the tables in `docs/explanation/security.md`, with the real binary.

mod extension_answers;

use crate::extended_support::{executable, script};
use crate::serve_support::{FakeVendor, Server, binary, command, of_type, thorough, write_agent_file};
use pi_rpc::protocol::Dialect::{self, Omp, Pi, Pi1, Xcsh};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path};
use tempfile::TempDir;

const DIALECTS: [Dialect; 4] = [Pi, Xcsh, Omp, Pi1];

/// What a project brings along: the row of the table, the name of what runs, and what errors call it. `.pi` stands for
/// the project's directory.
struct Code {
    row: &'static str,
    name: &'static str,
    word: &'static str,
    /// What the host is told was left out, below the working directory or as it is named.
    path: &'static str,
}

const CODE: [Code; 11] = [
    Code {
        row: "an executable in `.pi/extensions/`",
        name: "program",
        word: "an executable",
        path: ".pi/extensions/program",
    },
    Code {
        row: "the executable index of a folder in `.pi/extensions/`",
        name: "index",
        word: "an executable",
        path: ".pi/extensions/folder/index.sh",
    },
    Code {
        row: "an executable that `extensions` of its settings name",
        name: "named",
        word: "an executable",
        path: ".pi/named",
    },
    Code {
        row: "TypeScript or JavaScript in `.pi/extensions/`",
        name: "script.ts",
        word: "an extension",
        path: ".pi/extensions/script.ts",
    },
    Code {
        row: "TypeScript or JavaScript that `extensions` of its settings name",
        name: "listed.ts",
        word: "an extension",
        path: ".pi/listed.ts",
    },
    Code {
        row: "a package that `packages` of its settings name",
        name: "packed.ts",
        word: "a package",
        path: "./pack",
    },
    Code { row: "`shellPath` of its settings", name: "shell", word: "shellPath", path: ".pi/settings.json" },
    Code {
        row: "`shellCommandPrefix` of its settings",
        name: "prefix",
        word: "shellCommandPrefix",
        path: ".pi/settings.json",
    },
    Code {
        row: "an executable in `extensions/` of an agent directory that a variable names inside of the project",
        name: "agent",
        word: "an executable",
        path: ".pi/agent/extensions/agent",
    },
    Code {
        row: "a command that prints a key, in `models.json` or `auth.json` of such a directory",
        name: "key",
        word: "a command that prints a key",
        path: "",
    },
    Code {
        row: "the programs in `bin/` of such a directory, for commands",
        name: "bin",
        word: "a folder of programs",
        path: ".pi/agent/bin",
    },
];

/// A home, and a project in it.
struct Project {
    dir: TempDir,
    dialect: Dialect,
}

impl Project {
    fn new(dialect: Dialect) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["home", "work"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        Self { dir, dialect }
    }

    fn working(&self) -> std::path::PathBuf {
        self.dir.path().canonicalize().unwrap().join("work")
    }

    /// The path of a file of the project.
    fn own(&self, name: &str) -> std::path::PathBuf {
        self.working().join(name.replace(".pi", self.dialect.record().directories.project))
    }

    fn agent(&self) -> std::path::PathBuf {
        let agent = self.dialect.record().directories.agent;
        self.dir.path().canonicalize().unwrap().join(agent.replace('~', "home"))
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.own(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn program(&self, name: &str, body: &str) {
        let path = self.own(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        executable(path.parent().unwrap(), path.file_name().unwrap().to_str().unwrap(), body);
    }

    /// An extension that leaves its name where it has run.
    fn extension(&self, name: &str, mark: &str) {
        let register = r#"printf '{"type":"register"}\n'"#;
        self.program(
            name,
            &format!("#!/bin/sh\nread -r hello\n: > ran.{mark}\n{register}\ncat > /dev/null\n"),
        );
    }

    /// Everything that a project of its own brings along.
    fn full(dialect: Dialect) -> Self {
        let project = Self::new(dialect);
        project.extension(".pi/extensions/program", "program");
        project.extension(".pi/extensions/folder/index.sh", "index");
        project.extension(".pi/named", "named");
        for script in [".pi/extensions/script.ts", ".pi/listed.ts", ".pi/pack/extensions/packed.ts"] {
            project.file(script, "");
        }
        project.program(".pi/shell", "#!/bin/sh\n: > ran.shell\nexec /bin/sh \"$@\"\n");
        let settings = json!({
            "extensions": ["named", "listed.ts"], "packages": ["./pack"],
            "shellPath": project.own(".pi/shell"), "shellCommandPrefix": ": > ran.prefix",
        });
        project.file(".pi/settings.json", &settings.to_string());
        project
    }

    /// A server with the program `node` beside the project in place of Node.
    fn guarded_server(self, options: &[&str]) -> Server {
        let node = self.dir.path().join("node");
        let working = self.working();
        let mut command = command(binary(), self.dir.path());
        command.env("HOME", self.dir.path().join("home")).env("PI_RPC_NODE", node).current_dir(working);
        command.args([
            "serve",
            "--no-session",
            "--model",
            "scripted/demo",
            "--dialect",
            self.dialect.as_str(),
        ]);
        command.args(options);
        Server::start(self.dialect, self.dir, command)
    }

    fn server(self, options: &[&str], variables: &[(&str, &Path)]) -> Server {
        self.kept_server(&[&["--no-session"], options].concat(), variables)
    }

    /// A server whose session is kept in a file.
    fn kept_server(self, options: &[&str], variables: &[(&str, &Path)]) -> Server {
        let working = self.working();
        let node = r#"printf '%s' "$line" > hello; say '{"type":"register"}'; await nothing"#;
        let node = script(self.dir.path(), "node", node);
        let mut command = command(binary(), self.dir.path());
        command.env("HOME", self.dir.path().join("home")).env("PI_RPC_NODE", node);
        command.envs(variables.iter().copied()).current_dir(working);
        command.args(["serve", "--dialect", self.dialect.as_str()]).args(options);
        Server::start(self.dialect, self.dir, command)
    }
}

/// What the host was told was left out, and whether each of `names` has run.
fn outcome(server: &mut Server, names: &[&str]) -> (Vec<Value>, Vec<bool>) {
    server.send(json!({"id": "b", "type": "bash", "command": "hello-of-the-project || true"}));
    let frames = server.until(|frame| frame["id"] == "b");
    let errors = of_type(&frames, "extension_error").into_iter().cloned().collect();
    let loaded = fs::read_to_string(server.path("work/hello")).unwrap_or_default();
    let has_run = |name: &&str| match name.ends_with(".ts") {
        true => loaded.contains(&format!("/{name}\"")),
        false => server.path(&format!("work/ran.{name}")).exists(),
    };
    (errors, names.iter().map(has_run).collect())
}

/// How a project is decided about: the words of the table, and of the command line.
const DECISIONS: [(&str, Option<&str>); 3] =
    [("no decision", None), ("approved", Some("--approve")), ("refused", Some("--no-approve"))];

/// The error about the code of a project that is not approved.
fn left_out(project: &Project, code: &Code, decision: Option<&str>, inside: bool) -> Value {
    let path = match code.path.starts_with("./") {
        true => code.path.to_owned(),
        false => project.own(code.path).display().to_string(),
    };
    let agent = project.agent().display().to_string();
    let how = match decision {
        Some(by) => format!("it was refused by {by}; --approve approves it"),
        None if inside => {
            let agent = project.own(".pi/agent").display().to_string();
            format!("--approve approves it; {agent} lies inside of the project and cannot")
        }
        None => format!(
            "--approve approves it, or {{\"{}\": true}} in {agent}/trust.json, or \"defaultProjectTrust\": \"always\" \
             in {agent}/settings.json",
            project.working().display()
        ),
    };
    let text = format!("{} of a project that is not approved is left out: {how}", code.word);
    json!({"type": "extension_error", "extensionPath": path, "event": "load", "error": text})
}

/// What runs of the codes that a project brings along by itself, and that all else is told of.
fn own_code(dialect: Dialect, decision: Option<&str>) -> Vec<bool> {
    let codes = &CODE[..8];
    let project = Project::full(dialect);
    let texts: Vec<Value> = codes.iter().map(|code| left_out(&project, code, decision, false)).collect();
    let options = [&["--model", "scripted/demo"][..], decision.as_slice()].concat();
    let mut server = project.server(&options, &[]);
    let names: Vec<&str> = codes.iter().map(|code| code.name).collect();
    let (mut errors, ran) = outcome(&mut server, &names);
    let mut expected: Vec<Value> =
        texts.into_iter().zip(&ran).filter(|(_, ran)| !**ran).map(|(text, _)| text).collect();
    errors.sort_by_key(Value::to_string);
    expected.sort_by_key(Value::to_string);
    assert_eq!(errors, expected, "{dialect} {decision:?}");
    ran
}

/// The same of an agent directory that a variable names inside of the project.
fn agents_code(dialect: Dialect, decision: Option<&str>) -> Vec<bool> {
    let project = Project::new(dialect);
    project.extension(".pi/agent/extensions/agent", "agent");
    project.program(".pi/agent/bin/hello-of-the-project", "#!/bin/sh\n: > ran.bin\n");
    let models = json!({"providers": {"own": {
        "baseUrl": "http://127.0.0.1:1", "apiKey": "!: > ran.key; echo key-of-nobody", "api": "anthropic-messages",
        "models": [{"id": "m"}],
    }}});
    project.file(".pi/agent/models.json", &models.to_string());
    let settings =
        json!({"retry": {"enabled": false, "provider": {"maxRetries": 0}}, "defaultProjectTrust": "always"});
    project.file(".pi/agent/settings.json", &settings.to_string());
    let trust = json!({ project.working().to_str().unwrap(): true });
    project.file(".pi/agent/trust.json", &trust.to_string());
    let texts = [8, 10].map(|code| left_out(&project, &CODE[code], decision, true));
    let options = [&["--model", "own/m"][..], decision.as_slice()].concat();
    let agent = project.own(".pi/agent");
    let mut server = project.server(&options, &[("PI_CODING_AGENT_DIR", &agent)]);
    let (mut errors, ran) = outcome(&mut server, &["agent", "bin"]);
    let expected = texts.into_iter().zip(&ran).filter(|(_, ran)| !**ran).map(|(text, _)| text);
    let mut expected: Vec<Value> = expected.collect();
    errors.sort_by_key(Value::to_string);
    expected.sort_by_key(Value::to_string);
    assert_eq!(errors, expected, "{dialect} {decision:?}");
    let frames = server.run("hello");
    let key = server.path("work/ran.key").exists();
    let end = frames.last().unwrap()["messages"].as_array().unwrap().last().unwrap()["errorMessage"].clone();
    let unapproved = "API key for provider \"own\" comes from a command of a project that is not approved, so it was \
                      not run; --approve approves it";
    assert_eq!(end == unapproved, !key, "{dialect} {decision:?}: {end}");
    vec![ran[0], key, ran[1]]
}

/// A text that a project brings along: the row of the table, the file, its content, and the mark that shows in a request to
/// the model. An empty mark: the settings make a folder of sessions.
const TEXTS: [(&str, &str, &str, &str); 9] = [
    ("`AGENTS.md` and `CLAUDE.md`", "AGENTS.md", "MARK-agents", "MARK-agents"),
    ("`SYSTEM.md` in `.pi/`", ".pi/SYSTEM.md", "MARK-system", "MARK-system"),
    ("`APPEND_SYSTEM.md` in `.pi/`", ".pi/APPEND_SYSTEM.md", "MARK-append", "MARK-append"),
    (
        "its settings: `enabledModels`, `sessionDir` and all others",
        ".pi/settings.json",
        r#"{"sessionDir": "talks", "prompts": ["../listed"], "skills": ["../listed-skills"]}"#,
        "",
    ),
    ("a prompt template in `.pi/prompts/`", ".pi/prompts/template.md", "MARK-template", "MARK-template"),
    ("a prompt template that its settings name", "listed/named.md", "MARK-named", "MARK-named"),
    (
        "a skill in `.pi/skills/`",
        ".pi/skills/one/SKILL.md",
        "---\nname: one\ndescription: x\n---\nMARK-one",
        "MARK-one",
    ),
    (
        "a skill that its settings name",
        "listed-skills/two/SKILL.md",
        "---\nname: two\ndescription: x\n---\nMARK-two",
        "MARK-two",
    ),
    (
        "a skill in `.agents/skills/`, or in that of a folder above it in the repository",
        "../.agents/skills/three/SKILL.md",
        "---\nname: three\ndescription: x\n---\nMARK-three",
        "MARK-three",
    ),
];

/// Which of the texts are read.
fn texts_read(dialect: Dialect, decision: Option<&str>) -> Vec<bool> {
    let project = Project::new(dialect);
    let vendor =
        FakeVendor::plays_leniently(&json!({ "turns": [{ "repeat": true, "say": [{ "text": "Hi." }] }] }));
    let models = json!({ "providers": { "fake": {
        "baseUrl": format!("http://{}", vendor.address), "apiKey": "key", "api": "anthropic-messages",
        "models": [{ "id": "model", "contextWindow": 200_000, "maxTokens": 8000 }],
    } } });
    write_agent_file(&project.dir.path().join("home"), dialect, "models.json", &models);
    fs::create_dir(project.dir.path().join(".git")).unwrap();
    for (_, file, text, _) in TEXTS {
        project.file(file, text);
    }
    let options = [&["--model", "fake/model"][..], decision.as_slice()].concat();
    let mut server = project.kept_server(&options, &[]);
    for prompt in ["Hi.", "/template", "/named", "/skill:one", "/skill:two", "/skill:three"] {
        server.run(prompt);
    }
    let requests: String = vendor.journal.received().iter().map(|request| request.body.to_string()).collect();
    let is_read = |(_, _, _, mark): &(&str, &str, &str, &str)| match mark.is_empty() {
        true => server.path("work/talks").exists(),
        false => requests.contains(mark),
    };
    let read: Vec<bool> = TEXTS.iter().map(is_read).collect();
    server.close_stdin();
    let stderr = server.ends().stderr;
    let told = stderr.lines().any(|line| {
        line.contains("the project is not approved, so these are left out")
            && ["settings.json", "SYSTEM.md", "prompts", "skills", ".agents/skills", "--approve"]
                .iter()
                .all(|name| line.contains(name))
    });
    assert_eq!(told, !read[3], "{dialect} {decision:?}: {stderr}");
    read
}

#[test]
fn project_texts_are_read_as_documented() {
    let mut cells = vec![Vec::new(); TEXTS.len()];
    for (_, decision) in DECISIONS {
        for dialect in DIALECTS {
            for (cells, read) in cells.iter_mut().zip(texts_read(dialect, decision)) {
                cells.push(if read { "read" } else { "left out" });
            }
        }
    }
    let rows = TEXTS.iter().zip(cells).map(|((row, ..), cells)| ((*row).to_owned(), cells.join(" | ")));
    assert_table(&format!("| Texts of a project | {} |", heads()), rows.collect());
}

/// The columns of the tables: each decision in each dialect.
fn heads() -> String {
    let dialects = DIALECTS.map(Dialect::as_str);
    let heads =
        DECISIONS.map(|(decision, _)| dialects.map(|dialect| format!("{decision}: `{dialect}`")).join(" | "));
    heads.join(" | ")
}

#[test]
fn unapproved_enabled_models_choose_no_provider() {
    for (decision, chosen) in [(None, "own"), (Some("--approve"), "others"), (Some("--no-approve"), "own")] {
        let project = Project::new(Pi1);
        let provider = json!({
            "baseUrl": "http://127.0.0.1:1", "apiKey": "key", "api": "anthropic-messages", "models": [{ "id": "m" }],
        });
        let models = json!({ "providers": { "own": provider, "others": provider } });
        agent_file(&project, "models.json", &models);
        agent_file(&project, "settings.json", &json!({ "enabledModels": ["own/*"] }));
        project.file(".pi/settings.json", &json!({ "enabledModels": ["others/*"] }).to_string());
        let mut server = project.server(decision.as_slice(), &[]);
        let state = server.data(json!({ "type": "get_state" }));
        assert_eq!(state["model"]["provider"], chosen, "{decision:?}");
    }
}

#[test]
fn project_code_runs_as_security_md_says() {
    let mut cells = vec![Vec::new(); CODE.len()];
    for (_, decision) in DECISIONS {
        for dialect in DIALECTS {
            let ran = [own_code(dialect, decision), agents_code(dialect, decision)].concat();
            for (cells, ran) in cells.iter_mut().zip(ran) {
                cells.push(if ran { "runs" } else { "left out" });
            }
        }
    }
    let rows = CODE.iter().zip(cells).map(|(code, cells)| (code.row.to_owned(), cells.join(" | ")));
    assert_table(&format!("| What a project brings along | {} |", heads()), rows.collect());
}

/// Holds the table in `docs/explanation/security.md` below `head` to these rows: no other, no fewer.
#[track_caller]
fn assert_table(head: &str, rows: Vec<(String, String)>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/explanation/security.md");
    let text = fs::read_to_string(path).unwrap();
    let told = text.lines().skip_while(|line| *line != head).skip(2).take_while(|line| line.starts_with('|'));
    let seen: Vec<String> = rows.iter().map(|(row, cells)| format!("| {row} | {cells} |")).collect();
    assert_eq!(
        told.collect::<Vec<_>>(),
        seen,
        "the table of docs/explanation/security.md below {head}, and what was seen"
    );
}

/// A way in which a project might get its approval, as the table names it.
type Way = (&'static str, fn(&Project) -> Vec<(&'static str, std::path::PathBuf)>);

fn agent_file(project: &Project, name: &str, content: &Value) {
    fs::create_dir_all(project.agent()).unwrap();
    fs::write(project.agent().join(name), content.to_string()).unwrap();
}

fn trusting(folder: &Path, trusts: bool) -> Value {
    json!({ folder.to_str().unwrap(): trusts })
}

const WAYS: [Way; 11] = [
    ("your `trust.json` has the folder", |project| {
        agent_file(project, "trust.json", &trusting(&project.working(), true));
        Vec::new()
    }),
    ("your `trust.json` has a folder above it", |project| {
        agent_file(project, "trust.json", &trusting(project.working().parent().unwrap(), true));
        Vec::new()
    }),
    ("your `trust.json` has a folder above it, and the folder itself as `false`", |project| {
        let mut trust = trusting(project.working().parent().unwrap(), true);
        trust[project.working().to_str().unwrap()] = false.into();
        agent_file(project, "trust.json", &trust);
        Vec::new()
    }),
    ("your `trust.json` cannot be read", |project| {
        agent_file(project, "trust.json", &json!("yes"));
        agent_file(project, "settings.json", &json!({"defaultProjectTrust": "always"}));
        Vec::new()
    }),
    ("your `trust.json` has neither `true`, `false` nor null for some folder", |project| {
        let mut trust = trusting(&project.working(), true);
        trust["/elsewhere"] = "no".into();
        agent_file(project, "trust.json", &trust);
        Vec::new()
    }),
    ("`defaultProjectTrust` of your settings is `always`", |project| {
        agent_file(project, "settings.json", &json!({"defaultProjectTrust": "always"}));
        Vec::new()
    }),
    ("`defaultProjectTrust` of your settings is `ask`", |project| {
        agent_file(project, "settings.json", &json!({"defaultProjectTrust": "ask"}));
        Vec::new()
    }),
    ("`defaultProjectTrust` of the project's settings is `always`", |project| {
        project.file(".pi/settings.json", &json!({"defaultProjectTrust": "always"}).to_string());
        Vec::new()
    }),
    ("a `trust.json` in the project's `.pi` has the folder", |project| {
        project.file(".pi/trust.json", &trusting(&project.working(), true).to_string());
        Vec::new()
    }),
    ("the agent directory lies inside of the project, and one of the above", |project| {
        project.file(".pi/agent/trust.json", &trusting(&project.working(), true).to_string());
        project.file(".pi/agent/settings.json", &json!({"defaultProjectTrust": "always"}).to_string());
        vec![("PI_CODING_AGENT_DIR", project.own(".pi/agent"))]
    }),
    ("the home is the project, and one of the above", |project| {
        project.file(".pi/agent/trust.json", &trusting(&project.working(), true).to_string());
        project.file(".pi/agent/settings.json", &json!({"defaultProjectTrust": "always"}).to_string());
        vec![("HOME", project.working())]
    }),
];

#[test]
fn projects_are_approved_as_security_md_says() {
    let mut rows = Vec::new();
    for (at, (way, make)) in WAYS.into_iter().enumerate() {
        // A sample tries each way in one dialect.
        let tried = (0..DIALECTS.len()).filter(|place| thorough() || at % DIALECTS.len() == *place);
        let approves = tried.map(|place| {
            let dialect = DIALECTS[place];
            let project = Project::new(dialect);
            project.extension(".pi/extensions/program", "program");
            let variables = make(&project);
            let variables: Vec<(&str, &Path)> =
                variables.iter().map(|(name, path)| (*name, path.as_path())).collect();
            let mut server = project.server(&["--model", "scripted/demo"], &variables);
            let (errors, ran) = outcome(&mut server, &["program"]);
            assert_eq!(errors.len(), usize::from(!ran[0]), "{way} in {dialect}: {errors:?}");
            ran[0]
        });
        let approves: BTreeSet<bool> = approves.collect();
        assert_eq!(approves.len(), 1, "{way}");
        rows.push((way.to_owned(), if approves.contains(&true) { "yes" } else { "no" }.to_owned()));
    }
    assert_table("| Without `--approve` and `--no-approve` | Approved |", rows);
}

#[test]
fn command_line_wins_over_saved_decisions() {
    for (option, saved, runs) in [("--no-approve", true, false), ("--approve", false, true)] {
        let project = Project::new(Pi1);
        project.extension(".pi/extensions/program", "program");
        agent_file(&project, "trust.json", &trusting(&project.working(), saved));
        let mut server = project.server(&["--model", "scripted/demo", option], &[]);
        assert_eq!(outcome(&mut server, &["program"]).1, [runs], "{option}");
    }
}

#[test]
fn user_named_code_runs_without_approval() {
    for dialect in DIALECTS {
        let project = Project::new(dialect);
        project.extension(".pi/extensions/program", "program");
        project.extension("elsewhere", "elsewhere");
        let listed = json!({"extensions": [project.own("elsewhere")]});
        agent_file(&project, "settings.json", &listed);
        let given = project.own(".pi/extensions/program").display().to_string();
        let mut server = project.server(&["--model", "scripted/demo", "-e", &given], &[]);
        assert_eq!(outcome(&mut server, &["program", "elsewhere"]), (vec![], vec![true, true]), "{dialect}");
    }
}

#[test]
fn agent_directory_of_home_stays_the_users() {
    for dialect in DIALECTS {
        let project = Project::new(dialect);
        project.extension(".pi/agent/extensions/agent", "agent");
        let home = project.working();
        let mut server = project.server(&["--model", "scripted/demo"], &[("HOME", &home)]);
        assert_eq!(outcome(&mut server, &["agent"]), (vec![], vec![true]), "{dialect}");
    }
}

#[test]
fn extensions_are_shown_no_unapproved_settings() {
    for (option, shown) in [("--no-approve", false), ("--approve", true)] {
        let project = Project::new(Pi1);
        let settings = json!({"shellPath": "/bin/sh", "npmCommand": ["./npm"], "theme": "dark"});
        project.file(".pi/settings.json", &settings.to_string());
        let asks = r#"say '{"type":"register"}'; say '{"type":"query","id":"q","about":"settings"}'
            await answer; printf '%s' "$line" > asked; await nothing"#;
        let asks = script(project.dir.path(), "asks", asks);
        let server = project.server(&["--model", "scripted/demo", option, "-e", &asks], &[]);
        server.awaits("work/asked");
        crate::serve_support::eventually("the answer is whole", || {
            let asked = fs::read_to_string(server.path("work/asked")).unwrap();
            let Ok(asked) = serde_json::from_str::<Value>(&asked) else { return false };
            let settings = &asked["data"];
            let is_shown = |name| settings.get(name).is_some();
            assert_eq!(["shellPath", "npmCommand", "theme"].map(is_shown), [shown; 3], "{asked}");
            true
        });
    }
}

#[test]
fn doctor_names_texts_left_out() {
    for (dialect, told) in [(Pi1, true), (Xcsh, false)] {
        let project = Project::new(dialect);
        project.file(".pi/SYSTEM.md", "x");
        let mut command = command(binary(), project.dir.path());
        command.env("HOME", project.dir.path().join("home")).current_dir(project.working());
        let output = command.args(["doctor", "--dialect", dialect.as_str()]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let line = format!("left out: {}; --approve approves it", project.own(".pi/SYSTEM.md").display());
        assert_eq!(text.contains(&line), told, "{dialect}: {text}");
    }
}
