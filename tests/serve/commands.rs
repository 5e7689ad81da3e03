//! Skills and prompt templates in a served session: what a host is told of them, and the model.

use crate::{
    commands_support::Home,
    serve_support::{FakeVendor, Server, binary, command, write_models_file},
};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};

/// A home whose project has a skill and a template, and so has the user.
fn home() -> Home {
    let home = Home::new();
    home.skill(".pi/agent/skills", "user-skill", "of the user")
        .skill("work/.pi/skills", "project-skill", "of the project")
        .put("work/.pi/skills/own/SKILL.md", "---\ndescription: x\ndisable-model-invocation: true\n---\n")
        .put(".pi/agent/prompts/both.md", "user's")
        .put("work/.pi/prompts/both.md", "project's")
        .put("work/.pi/prompts/review.md", "---\ndescription: Look at it\n---\nReview $1")
        .put("more/listed.md", "of the settings")
        .put(".pi/agent/settings.json", &json!({ "prompts": ["~/more"], "skills": ["!**/none"] }).to_string())
        .put("work/.pi/settings.json", &json!({ "prompts": ["-prompts/review.md"] }).to_string())
        .skill("work/given", "given", "of the command line");
    home
}

/// A server in the project of that home.
fn serve(home: Home, dialect: Dialect, vendor: Option<&FakeVendor>, options: &[&str]) -> Server {
    if let Some(vendor) = vendor {
        let models = json!({ "providers": { "fake": {
            "baseUrl": format!("http://{}", vendor.address), "apiKey": "key", "api": "anthropic-messages",
            "models": [{ "id": "model" }],
        } } });
        write_models_file(home.0.path(), dialect, &models);
    }
    let model = if vendor.is_some() { "fake/model" } else { "scripted/demo" };
    let mut command = command(binary(), home.0.path());
    command.current_dir(home.path("work"));
    command.args(["--mode", "rpc", "--no-session", "--dialect", dialect.as_str(), "--model", model]);
    command.args(options);
    Server::start(dialect, home.0, command)
}

/// What `get_commands` answers, and what was said on stderr; `~` stands for the home.
fn listed(dialect: Dialect, options: &[&str]) -> (Vec<String>, String) {
    let mut server = serve(home(), dialect, None, options);
    let commands = server.data(json!({ "type": "get_commands" }));
    let place = server.dir.path().display().to_string();
    let short = |text: &str| text.replace(&place, "~");
    let lines = commands["commands"].as_array().unwrap().iter().map(|it| short(&it.to_string())).collect();
    server.close_stdin();
    (lines, short(&server.ends().stderr))
}

#[test]
fn get_commands_lists_templates_then_skills() {
    let (lines, stderr) = listed(Dialect::Pi, &["--skill", "given"]);
    let of = |name: &str, description: &str, source: &str, location: &str, path: &str| {
        format!(
            r#"{{"name":"{name}","description":"{description}","source":"{source}","location":"{location}","path":"~/{path}"}}"#
        )
    };
    assert_eq!(
        lines,
        [
            of("listed", "of the settings", "prompt", "path", "more/listed.md"),
            of("both", "user's", "prompt", "user", ".pi/agent/prompts/both.md"),
            of("skill:user-skill", "of the user", "skill", "user", ".pi/agent/skills/user-skill/SKILL.md"),
            of("skill:own", "x", "skill", "project", "work/.pi/skills/own/SKILL.md"),
            of(
                "skill:project-skill",
                "of the project",
                "skill",
                "project",
                "work/.pi/skills/project-skill/SKILL.md"
            ),
            of("skill:given", "of the command line", "skill", "path", "work/given/given/SKILL.md"),
        ]
    );
    let warning = "~/work/.pi/prompts/both.md: the template \"both\" is there already: ~/.pi/agent/prompts/both.md; \
                   the file is left out";
    assert!(stderr.contains(warning), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn project_comes_first_since_0_58() {
    for dialect in [Dialect::Pi058, Dialect::Pi0584] {
        let (lines, _) = listed(dialect, &[]);
        let names: Vec<Value> =
            lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].clone()).collect();
        assert_eq!(names, ["listed", "both", "skill:own", "skill:project-skill", "skill:user-skill"]);
        assert!(lines[1].contains(r#""project's","source":"prompt","location":"project""#), "{}", lines[1]);
    }
}

#[test]
fn options_disable_all_but_named_ones() {
    for (options, names) in [
        (&["-ns", "-np"][..], &[][..]),
        (&["--no-skills", "--no-prompt-templates"], &[]),
        (&["-ns", "--skill", "given", "-np", "--prompt-template", "~/more"], &["listed", "skill:given"]),
        (&["-ns", "-np", "--prompt-template=../more/listed.md"], &["listed"]),
    ] {
        let (lines, stderr) = listed(Dialect::Pi, options);
        let found: Vec<Value> =
            lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["name"].clone()).collect();
        assert_eq!((found, stderr.as_str()), (names.iter().map(|it| json!(it)).collect(), ""), "{options:?}");
    }
}

#[test]
fn system_prompt_lists_skills_for_the_model() {
    let vendor = FakeVendor::plays(&json!({ "turns": [{ "say": [{ "text": "Hello." }] }] }));
    let told = |options: &[&str]| {
        let before = vendor.journal.received().len();
        let mut server = serve(home(), Dialect::Pi, Some(&vendor), options);
        server.run("hello");
        let place = server.dir.path().display().to_string();
        let request = vendor.journal.received().swap_remove(before);
        let system = request.body["system"][0]["text"].as_str().unwrap().replace(&place, "~");
        let block = system.split_once("<available_skills>\n").map(|(_, rest)| rest.to_owned());
        block.map(|rest| rest.split_once("</available_skills>").unwrap().0.to_owned())
    };
    let skill = |name: &str, description: &str, path: &str| {
        format!(
            "  <skill>\n    <name>{name}</name>\n    <description>{description}</description>\n    \
             <location>~/{path}/{name}/SKILL.md</location>\n  </skill>\n"
        )
    };
    let both = skill("user-skill", "of the user", ".pi/agent/skills")
        + &skill("project-skill", "of the project", "work/.pi/skills");
    assert_eq!(told(&["--tools", "bash"]), Some(both.clone()));
    assert_eq!(told(&[]), Some(both));
    assert_eq!(told(&["--tools", "edit"]), None);
    assert_eq!(told(&["--no-skills"]), None);
    assert_eq!(vendor.refusals(), Vec::<String>::new());
}

#[test]
fn no_context_files_keeps_system_prompt() {
    let home = Home::new();
    home.put(".pi/agent/SYSTEM.md", "You sew.")
        .put("work/.pi/APPEND_SYSTEM.md", "Use silk.")
        .put("work/AGENTS.md", "Not this.");
    let vendor = FakeVendor::plays(&json!({ "turns": [{ "say": [{ "text": "Hello." }] }] }));
    let mut server = serve(home, Dialect::Pi, Some(&vendor), &["-nc"]);
    server.run("hello");
    let request = vendor.journal.received().swap_remove(0);
    let system = request.body["system"][0]["text"].as_str().unwrap();
    assert!(system.starts_with("You sew.\n\nUse silk.\n"), "{system}");
    assert!(!system.contains("Not this."), "{system}");
}

#[test]
fn xcsh_reads_skills_from_own_directories() {
    let home = Home::new();
    home.skill(".xcsh/agent/skills", "user-skill", "of the user")
        .skill("work/.xcsh/skills", "project-skill", "of the project")
        .skill("work/.pi/skills", "foreign", "of pi");
    let vendor = FakeVendor::plays(&json!({ "turns": [{ "say": [{ "text": "Hello." }] }] }));
    let mut server = serve(home, Dialect::Xcsh, Some(&vendor), &[]);
    server.run("hello");
    let request = vendor.journal.received().swap_remove(0);
    let system = request.body["system"][0]["text"].as_str().unwrap();
    let names: Vec<_> = system.split("<name>").skip(1).filter_map(|rest| rest.split('<').next()).collect();
    assert_eq!(names, ["user-skill", "project-skill"]);
}

#[test]
fn skill_and_template_calls_are_expanded() {
    for dialect in [Dialect::Pi, Dialect::Xcsh] {
        let own = dialect.record().directories.project;
        let home = Home::new();
        home.skill(&format!("work/{own}/skills"), "fly", "what birds do")
            .put(&format!("work/{own}/prompts/look.md"), "Look at $1?");
        let vendor =
            FakeVendor::plays(&json!({ "turns": [{ "say": [{ "text": "Yes." }], "repeat": true }] }));
        let mut server = serve(home, dialect, Some(&vendor), &[]);
        for text in ["/look up", "/skill:fly now", "/nothing"] {
            server.run(text);
        }
        let place = server.dir.path().join("work").join(own).display().to_string();
        let said = vendor.journal.received().into_iter().map(|request| {
            let message = request.body["messages"].as_array().unwrap().last().unwrap().clone();
            message["content"][0]["text"].as_str().unwrap().replace(&place, "~")
        });
        let skill = "<skill name=\"fly\" location=\"~/skills/fly/SKILL.md\">\n\
                     References are relative to ~/skills/fly.\n\nDo what birds do.\n</skill>\n\nnow";
        assert_eq!(said.collect::<Vec<_>>(), ["Look at up?", skill, "/nothing"], "{dialect}");
    }
}
