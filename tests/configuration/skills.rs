//! Skills: where they are found, what the model is told of them, and what a prompt that calls one stands for.

use crate::commands_support::{Home, assert_warnings, list, names, path};
use pi_rpc::{
    prompt::{
        Commands, PromptParts, Skill,
        discover::{NamedPaths, SearchPlaces},
        system_prompt, tool_line,
    },
    protocol::CommandLocation,
};
use std::fs;

const SKILL: &str = "---\nname: fly\ndescription: Take off & \"land\"\n---\n\n# Flying\n\nFlap.\n";

fn skill(directory: &str, file: &str) -> (Skill, Vec<String>) {
    let file_path = format!("/skills/{directory}/SKILL.md");
    Skill::read(path(&file_path), file, CommandLocation::User).unwrap()
}

#[test]
fn skill_call_is_text_and_arguments() {
    let (fly, warnings) = skill("fly", SKILL);
    assert_eq!(warnings, Vec::<String>::new());
    let commands = Commands { skills: vec![fly.clone()], templates: Vec::new() };
    assert_eq!(commands.skill("/skill:fly"), Some((&fly, "")));
    assert_eq!(commands.skill("/skill:fly  to the moon \n"), Some((&fly, " to the moon \n")));
    for other in ["/skill:flying", "/skill:", "/fly", "skill:fly", "/skill:fly\nnow", " /skill:fly"] {
        assert_eq!(commands.skill(other), None, "{other:?}");
        assert_eq!(commands.template(other), None, "{other:?}");
    }
    let text = "<skill name=\"fly\" location=\"/skills/fly/SKILL.md\">\nReferences are relative to /skills/fly.\n\n\
                # Flying\n\nFlap.\n</skill>";
    assert_eq!(fly.expand(SKILL, ""), text);
    assert_eq!(fly.expand(SKILL, " to the moon \n"), format!("{text}\n\nto the moon"));
    let changed = "No front matter any more.\r\n";
    assert!(fly.expand(changed, "").ends_with("fly.\n\nNo front matter any more.\n</skill>"));
}

#[test]
fn visible_skills_are_in_the_prompt() {
    let hidden = SKILL.replace("---\n\n", "disable-model-invocation: true\n---\n\n").replace("fly", "hide");
    let skills = [skill("fly", SKILL).0, skill("hide", &hidden).0];
    assert!(skills[1].hidden);
    let told = |tools: &[&str], skills: &[Skill]| {
        let tools: Vec<_> = tools.iter().map(|name| tool_line(name).unwrap()).collect();
        let parts = PromptParts {
            tools: &tools,
            guidelines: &[],
            custom: Some("You are a bird."),
            append: None,
            context_files: &[],
            skills,
            date: "2026-03-01",
            cwd: "/home/me",
        };
        system_prompt(&parts)
    };
    let end = "\nCurrent date: 2026-03-01\nCurrent working directory: /home/me";
    let words = "Skills are files with instructions for one kind of task each. When the description of one fits what \
                 you are asked to do, read its file with the read tool before you start. A relative path in it \
                 begins at the directory of that file; give tools the absolute path.";
    let block = "<available_skills>\n  <skill>\n    <name>fly</name>\n    \
                 <description>Take off &amp; &quot;land&quot;</description>\n    \
                 <location>/skills/fly/SKILL.md</location>\n  </skill>\n</available_skills>";
    assert_eq!(told(&["read"], &skills), format!("You are a bird.\n\n{words}\n\n{block}{end}"));
    assert_eq!(
        told(&["bash"], &skills),
        format!("You are a bird.\n\n{}\n\n{block}{end}", words.replace("the read tool", "bash"))
    );
    assert_eq!(told(&["bash", "read"], &skills), told(&["read"], &skills));
    assert_eq!(told(&["edit"], &skills), format!("You are a bird.{end}"));
    assert_eq!(told(&["read"], &skills[1..]), format!("You are a bird.{end}"));
}

#[test]
fn nonconforming_skill_warns() {
    let file =
        |name: &str, description: &str| format!("---\nname: {name}\ndescription: {description}\n---\n");
    let long = "n".repeat(65);
    let cases = [
        ("fly", file("fly", "x"), vec![]),
        ("fly", "---\ndescription: x\n---\n".to_owned(), vec![]),
        ("air", file("fly", "x"), vec!["the name \"fly\" is not that of its directory, \"air\""]),
        ("Fly_1", file("Fly_1", "x"), vec!["the name \"Fly_1\" has characters other than a-z, 0-9 and -"]),
        (
            "fly-",
            file("fly-", "x"),
            vec!["the name \"fly-\" has a hyphen at its start or end, or two in a row"],
        ),
        (
            "a--b",
            file("a--b", "x"),
            vec!["the name \"a--b\" has a hyphen at its start or end, or two in a row"],
        ),
        (&long, file(&long, "x"), vec!["its name has 65 characters, and 64 are allowed"]),
        ("fly", file("fly", &"x".repeat(1024)), vec![]),
        (
            "fly",
            file("fly", &"x".repeat(1025)),
            vec!["its description has 1025 characters, and 1024 are allowed"],
        ),
    ];
    for (directory, file, warnings) in cases {
        assert_eq!(skill(directory, &file).1, warnings, "{file}");
    }
}

#[test]
fn only_true_hides_a_skill() {
    let hidden = |value: &str| {
        let file = format!("---\ndescription: x\ndisable-model-invocation: {value}\n---\n");
        skill("fly", &file).0.hidden
    };
    assert!(hidden("true"));
    for other in ["false", "yes", "1", "\"true\"", "", "[true]"] {
        assert!(!hidden(other), "{other}");
    }
}

#[test]
fn directory_is_skill_or_is_searched() {
    let home = Home::new();
    home.skill(".pi/agent/skills", "one", "x")
        .skill(".pi/agent/skills/one", "inside", "a skill has no skills in it")
        .put(".pi/agent/skills/one/README.md", "---\nname: readme\ndescription: x\n---\n")
        .skill(".pi/agent/skills/group/deeper", "two", "x")
        .put(".pi/agent/skills/group/notes.md", "---\nname: notes\ndescription: x\n---\n")
        .put(".pi/agent/skills/flat.md", "---\nname: flat\ndescription: a file at the top\n---\n")
        .skill(".pi/agent/skills/.hidden", "hidden", "x")
        .skill(".pi/agent/skills/node_modules", "module", "x")
        .skill(".pi/agent/skills/group", "drafted", "x")
        .skill(".pi/agent/skills", "listed", "x")
        .skill(".pi/agent/skills", "found-not", "x")
        .put(".pi/agent/skills/.gitignore", "/listed/\n")
        .put(".pi/agent/skills/.fdignore", "found-not\n")
        .put(".pi/agent/skills/group/.ignore", "draft*\n")
        .put("work/root/SKILL.md", "---\nname: root\ndescription: x\n---\n")
        .skill("work/root", "below", "x")
        .put("work/root/other.md", "---\nname: other\ndescription: x\n---\n");
    let skills = NamedPaths { given: list(&["root"]), ..NamedPaths::default() };
    let places = SearchPlaces { skills, ..home.places() };
    assert_eq!(names(&home, &places), ["skill:flat", "skill:two", "skill:one", "skill:root"]);
}

#[test]
fn first_skill_of_a_name_wins() {
    let home = Home::new();
    home.skill(".pi/agent/skills", "both", "user's")
        .skill(".agents/skills", "home", "of the home")
        .skill("work/.pi/skills", "both", "project's")
        .skill("work/.pi/skills", "ours", "project's")
        .skill("work/src/.agents/skills", "near", "of the directory")
        .skill("work/.agents/skills", "far", "of the repository")
        .skill("tools", "listed", "of a list")
        .skill("work/src", "given", "given");
    let places = SearchPlaces {
        working: home.path("work/src"),
        skills: NamedPaths {
            by_project: list(&["../../tools"]),
            given: list(&["given", "nowhere"]),
            ..NamedPaths::default()
        },
        ..home.places()
    };
    let user_first = [
        "skill:listed | of a list | Path | ~/tools/listed/SKILL.md",
        "skill:both | user's | User | ~/.pi/agent/skills/both/SKILL.md",
        "skill:home | of the home | Path | ~/.agents/skills/home/SKILL.md",
        "skill:ours | project's | Project | ~/work/.pi/skills/ours/SKILL.md",
        "skill:near | of the directory | Path | ~/work/src/.agents/skills/near/SKILL.md",
        "skill:far | of the repository | Path | ~/work/.agents/skills/far/SKILL.md",
        "skill:given | given | Path | ~/work/src/given/SKILL.md",
    ];
    let (found, warnings) = home.found(&places);
    assert_eq!(found, user_first);
    assert_eq!(
        warnings,
        [
            "~/work/.pi/skills/both/SKILL.md: the skill \"both\" is there already: \
             ~/.pi/agent/skills/both/SKILL.md; the file is left out",
            "~/work/src/nowhere: No such file or directory (os error 2); the file is left out",
        ]
    );
    let (project_first, _) = home.found(&SearchPlaces { project_first: true, ..places.clone() });
    assert_eq!(project_first[1], "skill:both | project's | Project | ~/work/.pi/skills/both/SKILL.md");
    let only = NamedPaths { only_given: true, given: list(&["given"]), ..places.skills };
    assert_eq!(names(&home, &SearchPlaces { skills: only, ..places }), ["skill:given"]);
}

#[test]
fn settings_filter_skills_by_directory() {
    let home = Home::new();
    home.skill(".pi/agent/skills", "one", "x").skill(".pi/agent/skills", "two", "x");
    let found = |entries: &[&str]| {
        let skills = NamedPaths { by_user: list(entries), ..NamedPaths::default() };
        names(&home, &SearchPlaces { skills, ..home.places() })
    };
    assert_eq!(found(&["!t*"]), ["skill:one"]);
    assert_eq!(found(&["-skills/one"]), ["skill:two"]);
    assert_eq!(found(&["!**", "+skills/two/SKILL.md"]), ["skill:two"]);
}

#[test]
fn links_lead_to_a_skill_once() {
    let home = Home::new();
    home.skill("elsewhere", "one", "x").put("elsewhere/unnamed/SKILL.md", "---\ndescription: x\n---\n");
    fs::create_dir_all(home.path(".pi/agent/skills")).unwrap();
    fs::create_dir_all(home.path("work/.pi/skills/round")).unwrap();
    home.link(".pi/agent/skills/linked", "elsewhere")
        .link("work/.pi/skills/again", "elsewhere/one")
        .link("work/.pi/skills/renamed", "elsewhere/unnamed")
        .link("work/.pi/skills/nowhere", "elsewhere/none")
        .link("work/.pi/skills/round/round", "work/.pi/skills");
    assert_eq!(names(&home, &home.places()), ["skill:one", "skill:unnamed"]);
}

#[test]
fn endless_links_are_cut_off() {
    let home = Home::new();
    // Each directory is reached by two ways from the one above it: 2^20 paths.
    for number in 0..20 {
        fs::create_dir_all(home.path(&format!("maze/{number}"))).unwrap();
        for way in ["left", "right"] {
            home.link(&format!("maze/{number}/{way}"), &format!("maze/{}", number + 1));
        }
    }
    home.skill("maze/20", "end", "x");
    fs::create_dir_all(home.path(".pi/agent")).unwrap();
    home.link(".pi/agent/skills", "maze/0");
    let (_, warnings) = home.found(&home.places());
    assert_eq!(warnings, ["~/.pi/agent/skills has more than 10000 files; the rest is left out"]);
}

#[test]
fn invalid_skill_is_left_out() {
    let home = Home::new();
    home.put("work/.pi/skills/bad/SKILL.md", "---\ndescription: use it: now\n---\n")
        .put("work/.pi/skills/bomb/SKILL.md", &bomb())
        .put("work/.pi/skills/double/SKILL.md", "---\ndescription: x\ndescription: y\n---\n")
        .put("work/.pi/skills/none/SKILL.md", "Without front matter.")
        .put("work/.pi/skills/silent/SKILL.md", "---\ndescription: ' '\n---\n");
    let (found, warnings) = home.found(&home.places());
    assert_eq!(found, Vec::<String>::new());
    assert_warnings("skills_left_out", &warnings);
}

/// Front matter that would fill the memory if everything that it refers to were written out.
fn bomb() -> String {
    let mut text = "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let previous = format!("*a{}", level - 1);
        text += &format!("a{level}: &a{level} [{}]\n", [previous.as_str(); 10].join(", "));
    }
    text + "---\nx"
}
