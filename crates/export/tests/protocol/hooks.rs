//! The examples in the reference of the hooks are frames.

use pi_rpc_export::hooks;
use pi_rpc_protocol::{Dialect, FromExtension, HookName, ToExtension, read};
use std::collections::BTreeSet;

#[test]
fn hook_examples_are_valid_frames() {
    for dialect in Dialect::ALL {
        let hooks = hooks(dialect);
        let names: Vec<&str> = hooks.iter().map(|hook| hook.name.as_str()).collect();
        assert_eq!(names, HookName::ALL.map(HookName::as_str), "{dialect}");
        for hook in hooks {
            let asked = read::<ToExtension>(hook.request.to_string().as_bytes(), dialect);
            assert!(asked.is_ok(), "{dialect}: {}: {}", hook.request, asked.unwrap_err());
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
