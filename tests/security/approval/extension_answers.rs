//! Extensions that decide about a project (`project_trust`).

use super::*;

/// A project with an executable, and an extension of the user's that answers `project_trust` with this frame.
fn guarded(dialect: Dialect, answer: &Value) -> Project {
    let project = Project::new(dialect);
    project.extension(".pi/extensions/program", "program");
    let guard = project.agent().join("extensions/guard.ts");
    fs::create_dir_all(guard.parent().unwrap()).unwrap();
    fs::write(&guard, "pi.on(\"project_trust\")").unwrap();
    let body = format!(
        "say '{{\"type\":\"register\"}}'; await hook; printf '%s\\n' \"$line\" >> asked; say '{answer}'; await nothing"
    );
    script(project.dir.path(), "node", &body);
    project
}

fn trust_answer(members: &Value) -> Value {
    let mut answer = json!({ "type": "done", "id": "project_trust" });
    answer.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    answer
}

#[test]
fn extension_decides_before_saved_decisions() {
    let decided =
        |trusted: bool| trust_answer(&json!({ "result": { "trusted": trusted, "path": "/guard.ts" } }));
    let failed = json!({ "type": "failed", "id": "project_trust", "error": "no" });
    for (what, answer, saved, runs) in [
        ("yes", decided(true), false, true),
        ("no", decided(false), true, false),
        ("undecided", trust_answer(&json!({})), true, true),
        ("undecided, and refused", trust_answer(&json!({})), false, false),
        ("failed", failed, true, false),
    ] {
        let project = guarded(Pi1, &answer);
        agent_file(&project, "trust.json", &trusting(&project.working(), saved));
        let working = project.working();
        let mut server = project.guarded_server(&[]);
        let (errors, ran) = outcome(&mut server, &["program"]);
        assert_eq!(ran, [runs], "{what}: {errors:?}");
        let asked: Value =
            serde_json::from_str(&fs::read_to_string(server.path("work/asked")).unwrap()).unwrap();
        let hook = json!({ "type": "project_trust", "cwd": working });
        assert_eq!(asked, json!({ "type": "hook", "id": "project_trust", "hook": hook }), "{what}");
        if what == "no" {
            let text = errors.iter().map(Value::to_string).collect::<String>();
            assert!(text.contains("it was refused by /guard.ts; --approve approves it"), "{text}");
        }
    }
}

#[test]
fn remembered_extension_decision_is_saved() {
    let answer =
        trust_answer(&json!({ "result": { "trusted": true, "remember": true, "path": "/guard.ts" } }));
    let project = guarded(Pi1, &answer);
    agent_file(&project, "trust.json", &json!({ "/elsewhere": false, "/none": null }));
    let (working, trust) = (project.working(), project.agent().join("trust.json"));
    let mut server = project.guarded_server(&[]);
    assert_eq!(outcome(&mut server, &["program"]).1, [true]);
    let saved: Value = serde_json::from_str(&fs::read_to_string(&trust).unwrap()).unwrap();
    assert_eq!(saved, json!({ "/elsewhere": false, "/none": null, working.to_str().unwrap(): true }));
    assert!(!trust.with_extension("json.lock").exists());
}

#[test]
fn extensions_are_asked_only_about_undecided_projects() {
    let no = trust_answer(&json!({ "result": { "trusted": false, "path": "/guard.ts" } }));
    for (dialect, options) in [
        (Pi1, &["--approve"][..]),
        (Pi1, &["--no-approve"]),
        (Pi1, &["--no-extensions"]),
        (Pi, &[]),
        (Xcsh, &[]),
    ] {
        let project = guarded(dialect, &no);
        let mut server = project.guarded_server(options);
        outcome(&mut server, &["program"]);
        assert!(!server.path("work/asked").exists(), "{dialect} {options:?}");
    }
    // Nothing of this project needs an approval.
    let project = guarded(Pi1, &no);
    fs::remove_dir_all(project.own(".pi/extensions")).unwrap();
    let mut server = project.guarded_server(&[]);
    outcome(&mut server, &["program"]);
    assert!(!server.path("work/asked").exists());
}

#[test]
fn extension_of_project_does_not_approve_it() {
    let yes = trust_answer(&json!({ "result": { "trusted": true, "path": "/guard.ts" } }));
    let project = guarded(Pi1, &yes);
    fs::remove_dir_all(project.agent()).unwrap();
    project.file(".pi/extensions/guard.ts", "pi.on(\"project_trust\")");
    let mut server = project.guarded_server(&[]);
    assert_eq!(outcome(&mut server, &["program"]).1, [false]);
    assert!(!server.path("work/asked").exists());
}
