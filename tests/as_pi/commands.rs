//! Skills and prompt templates, as real pi finds them, lists them, tells the model of them and expands them.
//!
//! Two releases of pi are installed from the npm registry into `target/peers`, once. Without `npm` or a network nothing
//! is tested, which is told on stderr; `PI_RPC_REQUIRE_PEERS=1` makes that a failure.

use crate::{
    commands_support::Home,
    peer_support::{Agent, Kind, peer, vendor},
    serve_support::FakeVendor,
};
use pi_rpc::prompt::{
    Commands,
    discover::{Discovered, NamedPaths, SearchPlaces},
};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::TempDir;

/// A home, which is the project, too: the user's directory is `.pi/agent`, the project's `.pi`.
fn home() -> TempDir {
    let home = Home::new();
    home.skill(".pi/agent/skills", "both", "of the user")
        .skill(".pi/agent/skills/group", "zebra", "of the user")
        .skill(".pi/agent/skills/Group", "adder", "of the user")
        .put(".pi/agent/skills/top.md", "---\nname: top\ndescription: |\n  two\n  lines\n---\n\nTop. \n\n")
        .put(".pi/agent/skills/unnamed/SKILL.md", "---\ndescription: <b>'&\"\nlicense: MIT\n---\nBody")
        .put(".pi/agent/skills/mute/SKILL.md", "No front matter")
        .put(".pi/agent/skills/broken/SKILL.md", "---\ndescription: a: b\n---\n")
        .skill(".pi/agent/skills/node_modules", "module", "x")
        .skill(".pi/agent/skills", "ignored", "x")
        .skill(".pi/agent/skills", "kept", "x")
        .put(".pi/agent/skills/.gitignore", "# rules\nignored/\n/kep\n")
        .skill(".pi/skills", "both", "of the project")
        .skill(".pi/skills", "project", "of the project")
        .put(".pi/skills/hidden/SKILL.md", "---\ndescription: x\ndisable-model-invocation: true\n---\n")
        .skill(".pi/skills", "unwanted", "x")
        .skill("lists", "listed", "of a list")
        .skill("given", "given", "of the command line")
        .put(".pi/agent/prompts/both.md", "the user's")
        .put(
            ".pi/agent/prompts/plain.md",
            "\nPlain text with a first line that is longer than sixty characters are\nand $1\n",
        )
        .put(
            ".pi/agent/prompts/all.md",
            "---\ndescription: Everything\n---\n[$1][$2][$10][${@:2}][${@:0:2}][$ARGUMENTS][$@][$x]\n\n",
        )
        .put(".pi/agent/prompts/empty.md", "")
        .put(".pi/agent/prompts/broken.md", "---\nargument-hint: [a] [b]\n---\nx")
        .put(".pi/prompts/both.md", "the project's")
        .put(".pi/prompts/own.md", "the project's")
        .put(".pi/prompts/sub/not.md", "not read")
        .put("lists/deep/listed.md", "of a list")
        .put("given/file.md", "given")
        .put("given/set/inside.md", "given")
        .put(".pi/settings.json", &settings().to_string());
    home.0
}

/// The project's settings.
fn settings() -> Value {
    json!({ "skills": ["../lists", "!unwanted"], "prompts": ["../lists/deep"] })
}

/// Takes the source label off the descriptions of templates: pi 0.52 ends them with it, its reference shows them without.
fn unlabelled(mut commands: Vec<Value>) -> Vec<Value> {
    for command in commands.iter_mut().filter(|it| it["source"] == "prompt") {
        let text = command["description"].as_str().unwrap();
        let (description, label) = text.rsplit_once('(').unwrap_or_else(|| panic!("{text}: no label"));
        assert!(label.ends_with(')'), "{text}");
        command["description"] = json!(description.trim_end());
    }
    commands
}

/// What `get_commands` answers; `~` stands for the home.
fn listed(agent: &mut Agent) -> Vec<Value> {
    let commands = agent.ask(json!({ "type": "get_commands" }))["commands"].to_string();
    serde_json::from_str(&short(agent.server.dir.path(), &commands)).unwrap()
}

fn short(home: &Path, text: &str) -> String {
    text.replace(&home.display().to_string(), "~")
}

fn names(commands: &[Value]) -> Vec<&str> {
    commands.iter().map(|it| it["name"].as_str().unwrap()).collect()
}

/// What the model is told of skills.
fn told(agent: &mut Agent, vendor: &FakeVendor) -> String {
    let before = vendor.journal.received().len();
    agent.run("hello");
    let request = vendor.journal.received().swap_remove(before);
    let system = request.body["system"].to_string();
    let (_, block) = system.split_once("<available_skills>").unwrap_or_else(|| panic!("{system}"));
    short(agent.server.dir.path(), block.split_once("</available_skills>").unwrap().0)
}

#[test]
fn pi_0_52_lists_same_commands() {
    let Some(pi) = peer("0.52.12") else { return };
    let vendor = vendor();
    let given =
        ["--skill", "given/given", "--prompt-template", "given/file.md", "--prompt-template", "given/set"];
    for options in
        [&given[..], &["--no-skills", "--skill", "given", "-np", "--prompt-template", "given/file.md"]]
    {
        let mut theirs = Agent::start_in(home(), Kind::Pi(pi), vendor.address, options);
        let mut ours = Agent::start_in(home(), Kind::Ours, vendor.address, options);
        let commands = unlabelled(listed(&mut theirs));
        assert_eq!(listed(&mut ours), commands);
        assert_eq!(commands.len(), if options == given { 18 } else { 2 }, "{commands:?}");
        assert_eq!(told(&mut ours, &vendor), told(&mut theirs, &vendor));
        theirs.ends();
    }
}

#[test]
fn pi_0_73_lists_same_commands() {
    let Some(pi) = peer("0.73.1") else { return };
    let vendor = vendor();
    let home = || {
        let home = Home(home());
        home.skill(".agents/skills", "shared", "of all agents");
        home.0
    };
    let mut theirs = Agent::start_in(home(), Kind::Pi(pi), vendor.address, &[]);
    let mut ours = Agent::start_in(home(), Kind::Ours, vendor.address, &["--dialect", "pi@0.73"]);
    let (mut theirs, ours) = (listed(&mut theirs), listed(&mut ours));
    assert_eq!(names(&ours), names(&theirs));
    // 1.5.2 names the directory that it was found in.
    theirs[15]["sourceInfo"]["baseDir"] = json!("~/.agents");
    assert_eq!(ours, theirs);
    assert_eq!((ours.len(), names(&ours)[15]), (16, "skill:shared"));
}

#[test]
fn pi_0_52_expands_prompts_alike() {
    let Some(pi) = peer("0.52.12") else { return };
    let vendor = vendor();
    let mut theirs = Agent::start_in(home(), Kind::Pi(pi), vendor.address, &[]);
    let home = theirs.server.dir.path().to_owned();
    let commands = Discovered::find(&SearchPlaces {
        working: home.clone(),
        home: Some(home.clone()),
        user: home.join(".pi/agent"),
        project: home.join(".pi"),
        skills: NamedPaths { by_project: vec!["../lists".to_owned()], ..NamedPaths::default() },
        ..SearchPlaces::default()
    })
    .commands;
    let prompts = [
        "/all a b c d e f g h i 'j k' l",
        "/all",
        // Apostrophes, empty and open quotes, and line feeds are read as in pi 1.6.
        "/all \"a b\" 'c d'  \t g",
        "/all ä 🎈 \\ $2",
        "/plain one",
        "/both",
        "/BOTH x",
        "/unknown x",
        "/broken x",
        "/",
        "/skill:top",
        "/skill:top  with \"arguments\" $1 ",
        "/skill:listed now",
        "/skill:hidden",
        "/skill:unknown x",
        "/skill:",
        " /all x",
    ];
    for prompt in prompts {
        theirs.run(prompt);
        let messages = theirs.messages();
        let user = messages.iter().rfind(|message| message["role"] == "user").unwrap();
        let text = user["content"][0]["text"].as_str().unwrap();
        assert_eq!(meant(&commands, prompt), text, "{prompt}");
    }
}

/// What a prompt stands for.
fn meant(commands: &Commands, prompt: &str) -> String {
    if let Some((skill, arguments)) = commands.skill(prompt) {
        return skill.expand(&fs::read_to_string(&skill.path).unwrap(), arguments);
    }
    commands.template(prompt).unwrap_or_else(|| prompt.to_owned())
}
