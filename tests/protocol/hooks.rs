//! The reference of the hooks is current, and its examples are frames.

use pi_rpc::{
    export::{hook_reference, hooks},
    protocol::{Dialect, FromExtension, HookName, ToExtension, read},
};
use std::{collections::BTreeSet, env, fs, path::Path};

#[test]
fn hook_reference_file_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/hooks.md");
    let made = hook_reference(Dialect::Pi) + "\n";
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &made).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "docs/hooks.md is not what `pi-rpc schema --format hooks` prints; UPDATE=1 writes it"
    );
}

#[test]
fn hook_examples_are_valid_frames() {
    for dialect in Dialect::ALL {
        let hooks = hooks(dialect);
        let names: Vec<&str> = hooks.iter().map(|hook| hook.name.as_str()).collect();
        assert_eq!(names, HookName::ALL.map(HookName::as_str), "{dialect}");
        for hook in hooks {
            let asked = read::<ToExtension>(hook.asked.to_string().as_bytes(), dialect);
            assert!(asked.is_ok(), "{dialect}: {}: {}", hook.asked, asked.unwrap_err());
            let answer = read::<FromExtension>(hook.answer.to_string().as_bytes(), dialect);
            assert!(answer.is_ok(), "{dialect}: {}: {}", hook.answer, answer.unwrap_err());
            let counting: BTreeSet<&str> = hook.result.iter().map(String::as_str).collect();
            let shown = hook.answer["result"].as_object().into_iter().flatten();
            let shown: BTreeSet<&str> = shown.map(|(member, _)| member.as_str()).collect();
            assert!(shown.is_subset(&counting), "{dialect}: {}", hook.answer);
            assert_eq!(shown.is_empty(), counting.is_empty(), "{dialect}: {}", hook.name);
        }
    }
}
