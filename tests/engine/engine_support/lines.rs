//! The lines that hosts write. `$` stands for the number of the line: it makes texts tell each other apart.

/// What a conversation is made of, each line with its weight.
pub const TALK: &[(u32, &str)] = &[
    (10, r#"{"type":"prompt","message":"ask $"}"#),
    (3, r#"{"type":"prompt","message":"ask $","streamingBehavior":"steer"}"#),
    (3, r#"{"type":"prompt","message":"ask $","streamingBehavior":"followUp"}"#),
    (
        1,
        r#"{"type":"prompt","message":"see $","images":[{"type":"image","data":"aGk=","mimeType":"image/png"}]}"#,
    ),
    (8, r#"{"type":"steer","message":"turn $"}"#),
    (5, r#"{"type":"follow_up","message":"then $"}"#),
    (1, r#"{"type":"steer","message":""}"#),
    (6, r#"{"type":"abort"}"#),
    (4, r#"{"type":"abort_and_prompt","message":"rather $"}"#),
    (2, r#"{"type":"new_session"}"#),
    (1, r#"{"type":"new_session","parentSession":"/old.jsonl"}"#),
    (3, r#"{"type":"get_state"}"#),
    (2, r#"{"type":"get_messages"}"#),
    (2, r#"{"type":"set_steering_mode","mode":"all"}"#),
    (1, r#"{"type":"set_steering_mode","mode":"one-at-a-time"}"#),
    (2, r#"{"type":"set_follow_up_mode","mode":"all"}"#),
    (1, r#"{"type":"set_follow_up_mode","mode":"one-at-a-time"}"#),
    (4, r#"{"type":"set_interrupt_mode","mode":"immediate"}"#),
    (1, r#"{"type":"set_interrupt_mode","mode":"wait"}"#),
    (5, r#"{"type":"bash","command":"echo $"}"#),
    (3, r#"{"type":"abort_bash"}"#),
];

/// What a host writes while tools run.
pub const MEDDLING: &[(u32, &str)] = &[
    (6, r#"{"type":"steer","message":"turn $"}"#),
    (2, r#"{"type":"follow_up","message":"then $"}"#),
    (2, r#"{"type":"abort"}"#),
    (1, r#"{"type":"abort_and_prompt","message":"rather $"}"#),
    (1, r#"{"type":"new_session"}"#),
    (1, r#"{"type":"prompt","message":"ask $"}"#),
    (1, r#"{"type":"bash","command":"echo $"}"#),
    (1, r#"{"type":"get_state"}"#),
];

/// Everything else that a host may write, sense or nonsense.
pub const REST: &[(u32, &str)] = &[
    (2, r#"{"type":"set_model","provider":"lab","modelId":"thinker"}"#),
    (1, r#"{"type":"set_model","provider":"lab","modelId":"nobody"}"#),
    (2, r#"{"type":"cycle_model"}"#),
    (1, r#"{"type":"get_available_models"}"#),
    (1, r#"{"type":"set_thinking_level","level":"high"}"#),
    (1, r#"{"type":"set_thinking_level","level":"xhigh"}"#),
    (1, r#"{"type":"cycle_thinking_level"}"#),
    (1, r#"{"type":"set_auto_compaction","enabled":false}"#),
    (1, r#"{"type":"set_auto_retry","enabled":false}"#),
    (1, r#"{"type":"abort_retry"}"#),
    (1, r#"{"type":"get_session_stats"}"#),
    (1, r#"{"type":"get_last_assistant_text"}"#),
    (1, r#"{"type":"get_commands"}"#),
    (1, r#"{"type":"set_session_name","name":" a\tname "}"#),
    (1, r#"{"type":"set_session_name","name":"  "}"#),
    (1, r#"{"type":"compact"}"#),
    (1, r#"{"type":"export_html"}"#),
    (1, r#"{"type":"switch_session","sessionPath":"/other.jsonl"}"#),
    (1, r#"{"type":"fork","entryId":"0badcafe"}"#),
    (1, r#"{"type":"branch","entryId":"0badcafe"}"#),
    (1, r#"{"type":"get_fork_messages"}"#),
    (1, r#"{"type":"get_branch_messages"}"#),
    (1, r#"{"type":"set_todos","phases":[]}"#),
    (1, r#"{"type":"set_host_tools","tools":[]}"#),
    (1, r#"{"type":"set_locale","locale":"en"}"#),
    (1, r#"{"type":"get_integrations"}"#),
    (2, r#"{"type":"extension_ui_response","value":"yes"}"#),
    (1, r#"{"type":"extension_ui_response","confirmed":true}"#),
    (1, r#"{"type":"host_tool_result","result":{"content":[]}}"#),
    // Commands with a field missing or wrong.
    (2, r#"{"type":"prompt"}"#),
    (1, r#"{"type":"steer","message":5}"#),
    (2, r#"{"type":"bash"}"#),
    (1, r#"{"type":"set_steering_mode","mode":"some"}"#),
    (1, r#"{"type":"abort_and_prompt"}"#),
    // Lines that are no command.
    (2, r#"{"type":"make_coffee"}"#),
    (1, r#"{"type":7}"#),
    (1, r#"{"type":"prompt","type":"prompt","message":"twice"}"#),
];

/// Lines that are no JSON object; they can carry no id.
pub const JUNK: &[(u32, &str)] = &[(2, "not json"), (1, "[1]"), (1, "{\"type\":"), (1, ""), (1, " \r")];
