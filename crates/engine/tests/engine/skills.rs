//! Skills and prompt templates in a conversation: the expanded prompt, and what takes precedence. See `sequences.rs` for
//! the notation.

use pi_rpc_engine::ExtensionSetup;
use pi_rpc_prompt::{Commands, Skill, Template};
use pi_rpc_protocol::{
    CommandLocation::User,
    Dialect::{self, Pi, Xcsh},
};
use pi_rpc_test_kit::{
    Extension, PeerStep, Playback, Scenario, scenario,
    shorthand::{prompt, says},
};
use serde_json::{Value, json};
use std::path::Path;

const SEEDS: [Dialect; 2] = [Pi, Xcsh];

const PATH: &str = "/agent/skills/fly/SKILL.md";
const FILE: &str = "---\nname: fly\ndescription: Take off\n---\n\nFlap.\n";

/// What `/skill:fly` stands for.
const FLY: &str = "<skill name=\"fly\" location=\"/agent/skills/fly/SKILL.md\">\n\
                   References are relative to /agent/skills/fly.\n\nFlap.\n</skill>";

/// A conversation with a user who has the skill `fly` and the template `look`.
fn called(turns: Value) -> Scenario {
    let skill = Skill::read(Path::new(PATH), FILE, User).expect("a skill").0;
    let look = Path::new("/agent/prompts/look.md");
    let template = Template::read(look, "Look at $1, not at $2.", User).expect("a template");
    let commands = Commands { templates: vec![template], skills: vec![skill] };
    scenario(turns).extension_setup(ExtensionSetup { commands, ..ExtensionSetup::default() })
}

/// What the user has said, in order.
fn said(played: &Playback) -> Vec<String> {
    let is_user = |frame: &&Value| frame["type"] == "message_end" && frame["message"]["role"] == "user";
    let text = |frame: &Value| frame["message"]["content"][0]["text"].as_str().expect("a text").to_owned();
    played.said.iter().filter(is_user).map(text).collect()
}

fn slow() -> Value {
    json!({ "say": [{ "text": "Well, well.", "size": 4 }], "delayMs": 50 })
}

#[test]
fn skill_call_in_prompt_is_expanded() {
    for dialect in SEEDS {
        for (text, told) in [
            ("/skill:fly", FLY.to_owned()),
            ("/skill:fly to the moon ", format!("{FLY}\n\nto the moon")),
            ("/look up \"down there\"", "Look at up, not at down there.".to_owned()),
            ("/skill:swim", "/skill:swim".to_owned()),
            ("/fly", "/fly".to_owned()),
            ("See /look", "See /look".to_owned()),
        ] {
            let played =
                called(json!([says("So.")])).file(PATH, FILE).host(0, prompt("p", text)).play(dialect);
            assert_eq!(said(&played), [told], "{dialect}: {text}");
            assert_eq!(played.answers("p").len(), 1, "{dialect}: {text}");
        }
    }
}

#[test]
fn skill_is_read_at_call_time() {
    let changed = "No front matter any more.";
    let played = called(json!([says("So.")])).file(PATH, changed).host(0, prompt("p", "/skill:fly")).play(Pi);
    assert_eq!(said(&played), [FLY.replace("Flap.", changed)]);
}

#[test]
fn queued_messages_expand_except_skills_in_xcsh() {
    let queued = |kind: &str, text: &str| json!({ "id": kind, "type": kind, "message": text });
    let during =
        json!({ "id": "q", "type": "prompt", "message": "/skill:fly now", "streamingBehavior": "followUp" });
    for (dialect, steered) in [(Pi, FLY), (Xcsh, "/skill:fly")] {
        let played = called(json!([slow(), says("So."), says("Yes."), says("Done.")]))
            .file(PATH, FILE)
            .host(0, prompt("p", "go"))
            .host(60, queued("steer", "/skill:fly"))
            .host(61, queued("follow_up", "/look a b"))
            .host(62, during.clone())
            .play(dialect);
        let now = format!("{FLY}\n\nnow");
        assert_eq!(said(&played), ["go", steered, "Look at a, not at b.", &now], "{dialect}\n{}", played.log);
    }
}

#[test]
fn unreadable_skill_is_reported_and_text_kept() {
    for dialect in SEEDS {
        let played = called(json!([says("So.")])).host(0, prompt("p", "/skill:fly now")).play(dialect);
        let error = json!({
            "type": "extension_error", "extensionPath": PATH, "event": "skill_expansion",
            "error": "No such file or directory",
        });
        assert_eq!(*played.last("extension_error"), error);
        assert_eq!(said(&played), ["/skill:fly now"]);
        let shape = "error skill_expansion: No such file or directory · ok p · agent_start · turn_start ·
                     user /skill:fly now · ms · text · me stop · turn_end [] · agent_end [ua]";
        assert_eq!(played.shape(), shape.split('·').map(str::trim).collect::<Vec<_>>(), "{dialect}");
    }
}

fn done(result: Value) -> PeerStep {
    PeerStep::Writes(json!({ "type": "done", "id": "$", "result": result }))
}

#[test]
fn input_hook_result_is_expanded() {
    let says_instead = |text: &str| done(json!({ "action": "transform", "text": text }));
    let hears =
        Extension::new("a", json!({ "hooks": ["input"] })).on("hook input", [says_instead("/look at it")]);
    for dialect in SEEDS {
        let played = called(json!([says("So.")]))
            .extended(hears.clone())
            .file(PATH, FILE)
            .host(0, prompt("p", "/skill:fly"))
            .play(dialect);
        let hook = played.wrote(">a", "hook input");
        assert_eq!((hook.len(), &hook[0]["hook"]["text"]), (1, &json!("/skill:fly")), "{dialect}");
        assert_eq!(said(&played), ["Look at at, not at it."], "{dialect}");
    }
}

#[test]
fn extension_command_precedes_template_of_same_name() {
    let adds = json!({ "commands": [{ "name": "look" }, { "name": "skill:fly" }], "hooks": ["input"] });
    let has = Extension::new("a", adds)
        .on("command look", [done(Value::Null)])
        .on("command skill:fly", [done(Value::Null)]);
    for dialect in SEEDS {
        let played = called(json!([]))
            .extended(has.clone())
            .file(PATH, FILE)
            .host(0, prompt("p", "/look up"))
            .host(10, prompt("q", "/skill:fly"))
            .host(20, json!({ "id": "steer", "type": "steer", "message": "/look up" }))
            .play(dialect);
        let called: Vec<_> = [">a"].iter().flat_map(|who| played.wrote(who, "command look")).collect();
        assert_eq!((called.len(), &called[0]["arguments"]), (1, &json!("up")), "{dialect}");
        assert_eq!(played.wrote(">a", "command skill:fly").len(), 1, "{dialect}");
        // The hook is for what goes to the model.
        assert_eq!(played.wrote(">a", "hook input").len(), 0, "{dialect}");
        assert_eq!(said(&played), Vec::<String>::new(), "{dialect}");
        assert!(played.error("steer").contains("\"/look\" cannot be queued"), "{dialect}\n{}", played.log);
    }
}
