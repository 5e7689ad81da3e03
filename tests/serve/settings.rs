//! What the user's settings change in a served session.

use crate::serve_support::{Server, of_type, start};
use image::{ImageFormat, RgbImage};
use pi_rpc::protocol::Dialect;
use serde_json::{Value, json};
use std::fs;

/// A server of the demo, or of a script with these turns, under these settings.
fn server(settings: &Value, turns: &Value) -> Server {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(".pi/agent")).unwrap();
    fs::write(dir.path().join(".pi/agent/settings.json"), settings.to_string()).unwrap();
    fs::write(dir.path().join("script.json"), json!({ "turns": turns }).to_string()).unwrap();
    RgbImage::new(2100, 20).save_with_format(dir.path().join("wide.png"), ImageFormat::Png).unwrap();
    start(Dialect::Pi, dir, &["--model", "scripted/script.json"])
}

#[test]
fn large_image_is_scaled_unless_disabled() {
    let turns = json!([{ "say": [{ "tool": "read", "arguments": { "path": "wide.png" } }] }]);
    for (settings, note) in [
        (json!({}), "Read image file [image/png]\n[Image: original 2100x20, displayed at 2000x19. "),
        (json!({ "images": { "autoResize": false } }), "Read image file [image/png]"),
    ] {
        let mut server = server(&settings, &turns);
        let frames = server.run("look");
        let end = of_type(&frames, "tool_execution_end").pop().unwrap();
        let text = end["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with(note), "{settings}: {text}");
        assert_eq!(text.contains("displayed at"), settings == json!({}), "{settings}: {text}");
        server.finishes();
    }
}

#[test]
fn settings_choose_shell_and_prefix() {
    let settings = json!({ "shellPath": "/bin/sh", "shellCommandPrefix": "greeting=hello" });
    let mut server = server(&settings, &json!([]));
    let bash = json!({ "type": "bash", "command": "echo $greeting ${BASH_VERSION:-plain}" });
    let is_bash = fs::canonicalize("/bin/sh").unwrap().ends_with("bash");
    let output = server.data(bash)["output"].as_str().unwrap().to_owned();
    assert!(output.starts_with("hello "), "{output}");
    assert!(is_bash || output == "hello plain\n", "{output}");
    server.finishes();
}

#[test]
fn interrupt_mode_is_that_of_the_settings() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join(".xcsh/agent")).unwrap();
    let settings = json!({ "interruptMode": "immediate" });
    fs::write(dir.path().join(".xcsh/agent/settings.json"), settings.to_string()).unwrap();
    let mut server = start(Dialect::Xcsh, dir, &["--model", "scripted/demo"]);
    assert_eq!(server.data(json!({ "type": "get_state" }))["interruptMode"], "immediate");
    server.finishes();
}

#[test]
fn session_starts_in_modes_of_settings() {
    let settings = json!({
        "steeringMode": "all", "followUpMode": "all", "compaction": { "enabled": false },
    });
    let mut server = server(&settings, &json!([]));
    let state = server.data(json!({ "type": "get_state" }));
    assert_eq!(
        (&state["steeringMode"], &state["followUpMode"], &state["autoCompactionEnabled"]),
        (&json!("all"), &json!("all"), &json!(false))
    );
    server.finishes();
}
