//! The system prompt: its parts in their order, and the files that it is made from.

use std::fs;
use std::path::{Path, PathBuf};

use pi_rpc::{
    confinement::Confinement,
    prompt::{
        PromptParts, ToolLine,
        files::{ContextFile, PromptFiles, text_or_file},
        sections, system_prompt, tool_line,
    },
    protocol::Dialect,
    tools,
};

const END: &str = "\nCurrent date: 2026-03-01\nCurrent working directory: /home/me/project";

fn parts<'a>(tools: &'a [ToolLine<'a>]) -> PromptParts<'a> {
    PromptParts {
        tools,
        guidelines: &[],
        custom: None,
        append: None,
        context_files: &[],
        skills: &[],
        date: "2026-03-01",
        cwd: "/home/me/project",
    }
}

fn lines(names: &[&str]) -> Vec<ToolLine<'static>> {
    names.iter().map(|name| tool_line(name).unwrap()).collect()
}

/// The bullets under `Guidelines:` of a prompt for these tools.
fn guidelines(names: &[&str]) -> Vec<String> {
    let prompt = system_prompt(&parts(&lines(names)));
    let (_, rest) = prompt.split_once("Guidelines:\n").unwrap();
    rest.lines().map_while(|line| line.strip_prefix("- ").map(str::to_owned)).collect()
}

#[test]
fn default_prompt_is_complete() {
    let prompt = system_prompt(&parts(&lines(&tools::DEFAULT_TOOLS)));
    let wanted = "You are a skilled programmer who works through pi-rpc, an agent in the user's own files. You look \
                  into them, run commands, change code and write new files, as the user asks.\n\n\
                  Your tools:\n\
                  - read: show a file or an image\n\
                  - bash: run shell commands\n\
                  - edit: replace one exact stretch of text in a file\n\
                  - write: make a file or replace all of it\n\n\
                  A project can give you more tools than these.\n\n\
                  Guidelines:\n\
                  - List and search files with bash (ls, find, grep)\n\
                  - Look at a file with read, not through bash, before you edit it\n\
                  - Give edit the old text exactly as it stands in the file\n\
                  - The variables PI_* of a bash command name session, model and thinking level\n\
                  - Use write for new files, or when nearly everything in a file changes\n\
                  - Say what you did in plain text, not by printing it with a tool\n\
                  - Keep answers short\n\
                  - Name the files that you work on by their paths";
    assert_eq!(prompt, format!("{wanted}{END}"));
}

#[test]
fn prompt_sections_have_names() {
    let tools = lines(&["read"]);
    let file = ContextFile { path: PathBuf::from("/p/AGENTS.md"), content: "Be kind.".to_owned() };
    let given = sections(&PromptParts { append: Some("More."), context_files: &[file], ..parts(&tools) });
    let wanted = [
        (
            "preamble",
            "You are a skilled programmer who works through pi-rpc, an agent in the user's own files. You look into \
             them, run commands, change code and write new files, as the user asks.",
        ),
        (
            "tools",
            "<tools>\n- read: show a file or an image\n\nA project can give you more tools than these.\n</tools>",
        ),
        (
            "rules",
            "<rules>\n- Keep answers short\n- Name the files that you work on by their paths\n</rules>",
        ),
        (
            "docs",
            "<docs>\nWhat pi-rpc itself can do, `pi-rpc --help` tells. Look there when you are asked about it.\n</docs>",
        ),
        ("addendum", "<addendum>\nMore.\n</addendum>"),
        (
            "project_context",
            "<project_context>\nWhat the user and the project ask of you:\n\n## /p/AGENTS.md\n\nBe kind.\n\
             </project_context>",
        ),
        ("cwd", "<cwd>\nCurrent working directory: /home/me/project\n</cwd>"),
    ];
    let said: Vec<(&str, &str)> =
        given.0.iter().map(|section| (section.name.as_str(), section.text.as_str())).collect();
    assert_eq!(said, wanted);
    assert_eq!(given.text(), wanted.map(|(_, text)| text).join("\n\n"));
    let custom = sections(&PromptParts { custom: Some("Mine."), ..parts(&tools) });
    let names: Vec<&str> = custom.0.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(names, ["preamble", "cwd"]);
}

#[test]
fn guidelines_fit_the_tools() {
    let always = ["Keep answers short", "Name the files that you work on by their paths"];
    assert_eq!(guidelines(&[]), always);
    assert_eq!(guidelines(&["read"]), always);
    assert_eq!(guidelines(&["bash"])[0], "List and search files with bash (ls, find, grep)");
    assert_eq!(
        guidelines(&["bash", "ls"])[0],
        "To list and search files, take grep, find and ls before bash"
    );
    assert!(system_prompt(&parts(&[])).contains("\n(none)\n"));
    let own = [ToolLine { name: "deploy", purpose: "put it online" }];
    assert!(system_prompt(&parts(&own)).contains("\n- deploy: put it online\n"));
}

#[test]
fn extension_guidelines_appear_once() {
    let guidelines = ["Deploy on Fridays only", " ", "Keep answers short", "Deploy on Fridays only "];
    let prompt = system_prompt(&PromptParts { guidelines: &guidelines, ..parts(&[]) });
    let lines: Vec<&str> = prompt.lines().filter(|line| line.starts_with("- ")).collect();
    let paths = "- Name the files that you work on by their paths";
    assert_eq!(lines, ["- Keep answers short", paths, "- Deploy on Fridays only"]);
}

#[test]
fn every_tool_has_its_line() {
    for spec in tools::specs(&Dialect::Pi.record().tools) {
        assert_eq!(tool_line(&spec.name).map(|line| line.name), Some(spec.name.as_str()));
    }
    assert_eq!(tool_line("fly"), None);
}

#[test]
fn custom_prompt_replaces_first_parts() {
    let context_files = [
        ContextFile { path: "/home/me/AGENTS.md".into(), content: "Be kind.".into() },
        ContextFile { path: "/home/me/project/AGENTS.md".into(), content: "Use tabs.\n".into() },
    ];
    let tools = lines(&["read"]);
    let parts = PromptParts {
        custom: Some("You are a poet."),
        append: Some("Rhyme."),
        context_files: &context_files,
        ..parts(&tools)
    };
    let wanted = "You are a poet.\n\nRhyme.\n\n\
                  # Project Context\n\nWhat the user and the project ask of you:\n\n\
                  ## /home/me/AGENTS.md\n\nBe kind.\n\n\
                  ## /home/me/project/AGENTS.md\n\nUse tabs.\n\n\n";
    assert_eq!(system_prompt(&parts), format!("{wanted}{END}"));
    let empty = PromptParts { custom: Some(""), append: Some(""), context_files: &[], ..parts };
    assert!(system_prompt(&empty).starts_with("You are a skilled programmer"));
}

#[test]
fn directory_backslashes_become_slashes() {
    let prompt = system_prompt(&PromptParts { cwd: r"C:\me", ..parts(&[]) });
    assert!(prompt.ends_with("\nCurrent working directory: C:/me"));
}

fn put(path: &Path, content: &str) -> PathBuf {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
    path.to_owned()
}

#[test]
fn context_files_come_root_first() {
    let place = tempfile::tempdir().unwrap();
    let (agent, cwd) = (place.path().join("agent"), place.path().join("a/b/c"));
    let wanted = [
        (put(&agent.join("CLAUDE.md"), "agent"), "agent"),
        (put(&place.path().join("a/AGENTS.md"), "a"), "a"),
        (put(&cwd.join("AGENTS.md"), "c"), "c"),
    ];
    put(&cwd.join("CLAUDE.md"), "not this");
    fs::create_dir_all(place.path().join("a/b/AGENTS.md")).unwrap();
    let found = PromptFiles::find(&agent, &cwd, None, &Confinement::default());
    let inside: Vec<ContextFile> =
        found.context.into_iter().filter(|file| file.path.starts_with(place.path())).collect();
    let wanted = wanted.map(|(path, content)| ContextFile { path, content: content.to_owned() });
    assert_eq!(inside, wanted);
    let unreadable = place.path().join("a/b/AGENTS.md");
    let warning = format!("{} cannot be read: not a regular file", unreadable.display());
    assert_eq!(found.warnings, [warning]);
}

#[test]
fn first_name_of_context_file_counts() {
    let place = tempfile::tempdir().unwrap();
    let folders: [(&str, &[&str]); 4] = [
        ("AGENTS.override.md", &["AGENTS.md", "CLAUDE.md"]),
        ("AGENTS.md", &["CLAUDE.md", "CLAUDE.MD"]),
        ("AGENTS.MD", &["CLAUDE.md"]),
        ("CLAUDE.MD", &[]),
    ];
    for (name, others) in folders {
        let cwd = place.path().join(format!("in {name}"));
        others.iter().for_each(|other| drop(put(&cwd.join(other), "not this")));
        let wanted = put(&cwd.join(name), "\u{feff}this");
        let found = PromptFiles::find(&cwd.join("none"), &cwd, None, &Confinement::default());
        let last = found.context.last().unwrap();
        assert_eq!(last.content, "this");
        // Some file systems take both cases for the same name.
        assert!(last.path.as_os_str().eq_ignore_ascii_case(&wanted), "{}", last.path.display());
    }
}

#[test]
fn system_files_need_no_context_files() {
    let place = tempfile::tempdir().unwrap();
    for name in ["SYSTEM.md", "APPEND_SYSTEM.md", "AGENTS.md"] {
        put(&place.path().join(name), &format!("\u{feff}{name}"));
    }
    let found = PromptFiles::without_context(place.path(), None, &Confinement::default());
    assert_eq!(found.context, []);
    assert_eq!(
        (found.system.as_deref(), found.append.as_deref()),
        (Some("SYSTEM.md"), Some("APPEND_SYSTEM.md"))
    );
}

#[test]
fn prompt_option_is_file_or_text() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("prompt.md");
    fs::write(&file, b"Be brief, caf\xe9.").unwrap();
    assert_eq!(
        text_or_file(file.to_str().unwrap(), &Confinement::default()),
        Ok("Be brief, caf\u{FFFD}.".to_owned())
    );
    for text in ["Be brief.", "", &"long ".repeat(2000), "no/such/file.md", "a\0b"] {
        assert_eq!(text_or_file(text, &Confinement::default()), Ok(text.to_owned()));
    }
    let folder = place.path().display().to_string();
    let error =
        format!("{folder} cannot be read: not a regular file; the name itself is taken for the prompt");
    assert_eq!(text_or_file(&folder, &Confinement::default()), Err(error));
}

#[test]
fn context_file_counts_once() {
    let place = tempfile::tempdir().unwrap();
    let path = put(&place.path().join("AGENTS.md"), "once");
    let found = PromptFiles::find(place.path(), &place.path().join("below"), None, &Confinement::default());
    assert_eq!(found.context.iter().filter(|file| file.path == path).count(), 1);
}

#[test]
fn project_prompt_overrides_user_prompt() {
    let place = tempfile::tempdir().unwrap();
    let (agent, cwd) = (place.path().join("agent"), place.path().join("project"));
    put(&agent.join("SYSTEM.md"), "user's");
    put(&agent.join("APPEND_SYSTEM.md"), "user's addition");
    let project = cwd.join(".xcsh");
    let found = PromptFiles::find(&agent, &cwd, Some(&project), &Confinement::default());
    assert_eq!((found.system.as_deref(), found.append.as_deref()), (Some("user's"), Some("user's addition")));
    put(&cwd.join(".xcsh/SYSTEM.md"), "project's");
    let project = cwd.join(".xcsh");
    let found = PromptFiles::find(&agent, &cwd, Some(&project), &Confinement::default());
    assert_eq!(
        (found.system.as_deref(), found.append.as_deref()),
        (Some("project's"), Some("user's addition"))
    );
    let none = place.path().join("none");
    assert_eq!(PromptFiles::find(&none, &cwd, Some(&none), &Confinement::default()).system, None);
}
