//! Spoiled copies of the bundle, one for each kind of violation.

use serde_json::Value;

/// Violated rule, change (a JSON pointer and the new value, or None to remove it), and the expected
/// violations of all rules.
pub type Spoiled = (&'static str, &'static [(&'static str, Option<&'static str>)], &'static [&'static str]);

/// Changes `bundle` at each place.
pub fn spoil(bundle: &mut Value, changes: &[(&str, Option<&str>)]) {
    for (place, change) in changes {
        let (parent, key) = place.rsplit_once('/').expect("a pointer");
        let parent = bundle.pointer_mut(parent).unwrap_or_else(|| panic!("{place} does not exist"));
        match (parent, change) {
            (Value::Object(map), Some(text)) => {
                map.insert(key.to_owned(), serde_json::from_str(text).expect("JSON"));
            }
            (Value::Object(map), None) => assert!(map.shift_remove(key).is_some(), "{place} does not exist"),
            (Value::Array(list), None) => drop(list.remove(key.parse().expect("an index"))),
            (other, _) => panic!("{place}: nothing to change in {other}"),
        }
    }
}

pub const SPOILED: &[Spoiled] = &[
    (
        "a def's title is its key",
        &[("/$defs/Usage/title", Some(r#""Use""#))],
        &[r#"Usage: its title is "Use""#],
    ),
    (
        "every def and property is described",
        &[("/$defs/Usage/description", None), ("/$defs/Usage/properties/cost/description", Some(r#"" ""#))],
        &["Usage: no description", "Usage.cost: no description"],
    ),
    (
        "every def and property is described",
        &[("/errors/busy/description", None), ("/texts/focus/description", None)],
        &["busy: no description", "focus: no description"],
    ),
    (
        "only the keywords of the subset",
        &[("/$defs/Rule/allOf", Some("[]")), ("/$defs/Rule/properties/globs/items/format", Some(r#""uri""#))],
        &["Rule.globs.items: `format` is not in the subset", "Rule: `allOf` is not in the subset"],
    ),
    (
        "only the keywords of the subset",
        &[("/$defs/Rule/properties/globs/x-union", Some(r#""shape""#))],
        &["Rule.globs: `x-union` does not belong here"],
    ),
    (
        "every $ref leads somewhere",
        &[("/$defs/Usage/properties/input/$ref", Some(r##""#/$defs/Number""##))],
        &[r##"Usage.input: $ref to "#/$defs/Number""##],
    ),
    (
        "every $ref leads somewhere",
        &[("/$defs/Usage/properties/input/$ref", Some(r#""messages.json""#))],
        &[r#"Usage.input: $ref to "messages.json""#],
    ),
    (
        "objects list properties that they have",
        &[("/$defs/ModelList/type", None), ("/$defs/ModelList/additionalProperties", Some("false"))],
        &["ModelList: has properties but is no object", "ModelList: additionalProperties can only be {}"],
    ),
    (
        "objects list properties that they have",
        &[("/$defs/ModelList/required", Some(r#"["models", "count"]"#))],
        &["ModelList: requires `count`, which it does not have"],
    ),
    (
        "objects list properties that they have",
        &[("/$defs/ReadToolDetails/required", None)],
        &["ReadToolDetails: does not say what is required"],
    ),
    (
        "enumerations are defs",
        &[("/$defs/InputKind/enum", Some(r#"["text", "image", "text"]"#))],
        &["InputKind: lists `text` twice"],
    ),
    (
        "enumerations are defs",
        &[("/$defs/InputKind/enum", Some(r#"["text", 1]"#))],
        &["InputKind: an enumeration lists strings"],
    ),
    (
        "only the keywords of the subset",
        &[("/$defs/ModelThinking/properties/mode/enum", Some(r#"["effort"]"#))],
        &["ModelThinking.mode: `enum` does not belong here"],
    ),
    (
        "unions say how they are decided",
        &[("/$defs/UserContent/discriminator", None)],
        &["UserContent: a union without discriminator and x-union"],
    ),
    (
        "unions say how they are decided",
        &[("/$defs/Inbound/x-union", Some(r#""guess""#))],
        &["Inbound: x-union `guess` is unknown"],
    ),
    (
        "unions say how they are decided",
        &[("/$defs/UserContent/x-union", Some(r#""shape""#))],
        &["UserContent: has both a discriminator and x-union"],
    ),
    (
        "unions say how they are decided",
        &[("/$defs/UserContent/discriminator/mapping/image", None)],
        &["UserContent: the mapping does not list the branches in their order"],
    ),
    (
        "tags are required constants",
        &[("/$defs/ImageContent/properties/type/const", Some(r#""img""#))],
        &[
            "ImageContent: `type` is not the constant `image` that UserContent maps",
            "ImageContent: `type` is not the constant `image` that MessageBlock maps",
        ],
    ),
    (
        "tags are required constants",
        &[("/$defs/ImageContent/required", Some(r#"["data", "mimeType"]"#))],
        &["ImageContent: does not require its tag `type`", "ImageContent: does not require its tag `type`"],
    ),
    (
        "integers have bounds, other numbers at most a minimum of 0",
        &[("/$defs/Count/maximum", None), ("/$defs/Timestamp/maximum", Some("9007199254740992"))],
        &[
            "Count: an integer needs both bounds, exact in a double",
            "Timestamp: an integer needs both bounds, exact in a double",
        ],
    ),
    (
        "integers have bounds, other numbers at most a minimum of 0",
        &[("/$defs/Cost/properties/total/minimum", Some("1"))],
        &["Cost.total: only integers have bounds; other numbers can start at 0"],
    ),
    (
        "dialects, properties and values exist",
        &[("/$defs/ModelThinking/x-dialects", Some(r#"["xcsh", "omp", "omp@18.3", "pi@0.58"]"#))],
        &["ModelThinking: x-dialects names `pi@0.58`, which is no base dialect"],
    ),
    (
        "dialects, properties and values exist",
        &[("/$defs/OutputDiagnostics/properties/summary/x-dialects", Some("[]"))],
        &["OutputDiagnostics.summary: x-dialects lists no dialects"],
    ),
    (
        "dialects, properties and values exist",
        &[("/$defs/CompactionReason/x-enum-in", Some(r#"{"tired": ["xcsh"]}"#))],
        &["CompactionReason: x-enum-in names `tired`, which is no value"],
    ),
    (
        "dialects, properties and values exist",
        &[("/$defs/BashResult/properties/totalLines/x-required-in", Some(r#"["pi"]"#))],
        &["BashResult.totalLines: is required in pi, where it does not exist"],
    ),
    (
        "dialects, properties and values exist",
        &[("/$defs/ModelCycle/required", Some(r#"["model", "isScoped", "thinkingLevel"]"#))],
        &["ModelCycle.thinkingLevel: is required everywhere and has x-required-in"],
    ),
    (
        "what a property holds exists where it does",
        &[("/$defs/Model/properties/thinking/x-dialects", None)],
        &["Model.thinking: holds ModelThinking, which pi does not have"],
    ),
    (
        "redacting knows what becomes of a text",
        &[
            ("/$defs/ReadyFrame/properties/version/x-redact", Some(r#""some""#)),
            ("/$defs/ReadyFrame/properties/type/x-redact", Some(r#""all""#)),
        ],
        &[r#"ReadyFrame.type: x-redact: "all""#, r#"ReadyFrame.version: x-redact: "some""#],
    ),
    (
        "null means absent only where null may be",
        &[("/$defs/LastAssistantText/properties/text/type", Some(r#""string""#))],
        &["LastAssistantText.text: x-null where null may not be"],
    ),
    (
        "null means absent only where null may be",
        &[("/$defs/SessionState/properties/sessionName/x-writes-null", Some("true"))],
        &["SessionState.sessionName: x-writes-null without x-null"],
    ),
    (
        "null means absent only where null may be",
        &[("/$defs/Rule/x-null", Some("true"))],
        &["Rule: x-null on what is no union of frames"],
    ),
    (
        "null means absent only where null may be",
        &[("/$defs/LastAssistantText/required", Some(r#"["text"]"#))],
        &["LastAssistantText.text: null means absent, but it is required"],
    ),
    (
        "what was observed is not required",
        &[("/$defs/ReadyFrame/required", Some(r#"["type", "version"]"#))],
        &["ReadyFrame.version: only observed, but required"],
    ),
    (
        "what was observed is not required",
        &[("/$defs/ReadyFrame/x-source", Some(r#""hearsay""#))],
        &[r#"ReadyFrame: x-source "hearsay" is unknown"#],
    ),
    (
        "what is free has a reason",
        &[("/$defs/Usage/properties/input/x-free", Some(r#"{"/a": ""}"#))],
        &["Usage.input: x-free without a reason"],
    ),
    ("every def says where it is written", &[("/$defs/Usage/x-doc", Some("[]"))], &["Usage: no x-doc"]),
    (
        "every def says where it is written",
        &[("/$defs/Usage/x-doc", Some(r#"["observed", "a blog: usage"]"#))],
        &["Usage: x-doc names `a blog: usage`, which is no known source"],
    ),
    (
        "commands and responses go in pairs",
        &[("/$defs/SteerCommand/x-response", None)],
        &["SteerCommand: x-response null is no success response", "SteerResponse: answers no command"],
    ),
    (
        "commands and responses go in pairs",
        &[("/$defs/SteerCommand/x-response", Some(r#""FollowUpResponse""#))],
        &[
            r#"SteerCommand: says "steer", its FollowUpResponse says "follow_up""#,
            "SteerResponse: answers no command",
        ],
    ),
    (
        "commands and responses go in pairs",
        &[("/$defs/ForkResponse/x-dialects", None)],
        &["ForkCommand: is in other dialects than its ForkResponse"],
    ),
    (
        "commands and responses go in pairs",
        &[("/$defs/ReadyFrame/x-cuts", Some("true"))],
        &["ReadyFrame: has what only commands have"],
    ),
    (
        "every command has a disposition everywhere",
        &[("/$defs/PromptCommand/x-in/retrying/2", None), ("/$defs/ForkCommand/x-in/idle", None)],
        &[
            "PromptCommand: no disposition in retrying for pi-1",
            "PromptCommand: no disposition in retrying for xcsh",
            "PromptCommand: no disposition in retrying for omp",
            "PromptCommand: no disposition in retrying for omp@18.3",
            "PromptCommand: no disposition in retrying for pi-1@login",
            "PromptCommand: no disposition in retrying for pi-1@navigation",
            "ForkCommand: no disposition in idle for pi",
            "ForkCommand: no disposition in idle for pi-1",
            "ForkCommand: no disposition in idle for pi-1@login",
            "ForkCommand: no disposition in idle for pi-1@navigation",
            "ForkCommand: no disposition in idle for pi@0.73",
        ],
    ),
    (
        "every command has a disposition everywhere",
        &[("/$defs/SteerCommand/x-in/asleep", Some(r#""queue""#))],
        &["SteerCommand: x-in names `asleep`, which is no state"],
    ),
    (
        "every command has a disposition everywhere",
        &[("/$defs/SteerCommand/x-in/idle", Some(r#""wait""#))],
        &["SteerCommand: in idle `wait` is no disposition"],
    ),
    (
        "every command has a disposition everywhere",
        &[("/$defs/CompactCommand/x-in/compacting", Some(r#""reject""#))],
        &["CompactCommand: in compacting reject names no error"],
    ),
    (
        "every command has a disposition everywhere",
        &[("/errors/busy/text/xcsh", None)],
        &[
            "PromptCommand: in starting reject names `busy`, which has no text for xcsh",
            "PromptCommand: in streaming reject names `busy`, which has no text for xcsh",
            "PromptCommand: in retrying reject names `busy`, which has no text for xcsh",
            "PromptCommand: in compacting reject names `busy`, which has no text for xcsh",
            "PromptCommand: in compacting_manual reject names `busy`, which has no text for xcsh",
            "PromptCommand: in compacting_before_prompt reject names `busy`, which has no text for xcsh",
        ],
    ),
    (
        "every command has a disposition everywhere",
        &[("/$defs/AbortCommand/x-in/idle", Some(r#"[{"disposition": "noop", "error": "busy"}]"#))],
        &["AbortCommand: in idle noop names an error"],
    ),
    (
        "every command has a disposition everywhere",
        &[("/$defs/AbortCommand/x-in/idle", Some(r#"[{"disposition": "noop", "unless": "busy"}]"#))],
        &["AbortCommand: in idle a case has `unless`"],
    ),
    (
        "every command has a disposition everywhere",
        &[
            ("/$defs/PromptCommand/x-in/starting/0", None),
            ("/$defs/StreamingBehavior/enum", Some(r#"["steer"]"#)),
        ],
        &[
            r#"PromptCommand: in streaming `streamingBehavior` is never "followUp""#,
            r#"PromptCommand: in retrying `streamingBehavior` is never "followUp""#,
            r#"PromptCommand: in compacting `streamingBehavior` is never "followUp""#,
            r#"PromptCommand: in compacting_manual `streamingBehavior` is never "followUp""#,
            r#"PromptCommand: in compacting_before_prompt `streamingBehavior` is never "followUp""#,
        ],
    ),
    (
        "every command has a disposition everywhere",
        &[("/$defs/AbortCommand/x-in/compacting/1", None)],
        &[
            "AbortCommand: no disposition in compacting for pi",
            "AbortCommand: no disposition in compacting_before_prompt for pi",
            "AbortCommand: no disposition in compacting for xcsh",
            "AbortCommand: no disposition in compacting_before_prompt for xcsh",
            "AbortCommand: no disposition in compacting for pi@0.73",
            "AbortCommand: no disposition in compacting_before_prompt for pi@0.73",
        ],
    ),
    (
        "what came later says when",
        &[
            ("/$defs/ClearQueueCommand/x-since", Some(r#""lately""#)),
            ("/$defs/AgentEndEvent/properties/willRetry/x-dialects", None),
            ("/$defs/QueueUpdateEvent/x-since", Some(r#""0.75.0""#)),
            ("/$defs/ThinkingLevel/x-since", Some(r#"{"max": 1, "most": "0.80.6", "off": "0.80.0"}"#)),
        ],
        &[
            "ThinkingLevel: x-since names `most`, which is no value",
            r#"ClearQueueCommand: x-since "lately" is no version"#,
            "QueueUpdateEvent: came with 0.75.0, but pi@0.73 has it",
            "ThinkingLevel.max: x-since 1 is no version",
            "ThinkingLevel.off: came with 0.80.0, but pi has it",
            "ThinkingLevel.off: came with 0.80.0, but pi@0.73 has it",
            "AgentEndEvent.willRetry: came with 0.75.4, but pi has it",
            "AgentEndEvent.willRetry: came with 0.75.4, but pi@0.73 has it",
        ],
    ),
    (
        "states say where they are, and like which",
        &[
            ("/states/regions/0/states/0/like", Some(r#""settling""#)),
            ("/states/regions/0/states/1/dialects", Some("[]")),
            ("/states/regions/0/states/4/parent", None),
            ("/states/regions/0/states/8/dialects", Some(r#"["pi-1", "pi@0.58"]"#)),
        ],
        &[
            "idle: is like `settling`, which is no state with dispositions of its own",
            "starting: is in no dialect",
            "streaming.message: its parent is null",
            "settling: is in `pi@0.58`, which is no base dialect",
        ],
    ),
    (
        "hooks say what of an answer counts",
        &[("/$defs/TreeHook/x-result", None), ("/$defs/Usage/x-result", Some("[]"))],
        &["Usage: has x-result but is no hook", "TreeHook: does not say what of an answer counts"],
    ),
    (
        "hooks say what of an answer counts",
        &[("/$defs/UserBashHook/x-result", Some(r#"["shell"]"#))],
        &[
            "UserBashHook: x-result names `shell`, which HookResult has not",
            "HookResult.bash: counts for no hook",
        ],
    ),
    (
        "the session's members say what they hold",
        &[
            ("/session/members/model/description", Some(r#"" ""#)),
            ("/session/members/model/absent", Some("false")),
            ("/session/members/models/kept", Some(r#""list""#)),
            ("/session/members/commands/dialects", Some(r#"["pi@0.58"]"#)),
            ("/session/members/usage/once", Some("true")),
        ],
        &[
            "session: model: no description",
            "session: model: absent can only be true",
            "session: models: has a type, or is kept as list or sum",
            "session: commands: `pi@0.58` is no base dialect",
            "session: usage: has `once`",
        ],
    ),
    (
        "the session's members say what they hold",
        &[
            ("/session/members/todoPhases/type/items/$ref", Some(r##""#/$defs/Todos""##)),
            ("/session/codes/note-bash", Some(r#""""#)),
            ("/session/codes/count", Some(r#""It is counted.""#)),
        ],
        &[
            "session: todoPhases: $ref to Todos, which does not exist",
            "session: the code note-bash is not described",
            "session: no effect names the code count",
        ],
    ),
    (
        "effects change members by what frames have",
        &[
            (
                "/$defs/SetModelCommand/x-effects",
                Some(r#"[{"set": "models", "to": "data.models"}, {"set": "model"}]"#),
            ),
            ("/$defs/SteerCommand/x-effects", Some(r#"[{"append": "steering", "item": "event.message"}]"#)),
            ("/$defs/FollowUpCommand/x-effects", Some(r#"[{"append": "later", "item": "command.message"}]"#)),
        ],
        &[
            "SteerCommand: x-effects: `event.message` begins with none of the frames at hand",
            "FollowUpCommand: x-effects: there is no member `later`",
            "SetModelCommand: x-effects: `data.models`: there is no `models`",
            "SetModelCommand: x-effects: `set` without `to`",
        ],
    ),
    (
        "effects change members by what frames have",
        &[
            ("/$defs/Usage/x-effects", Some(r#"[{"reset": "usage"}]"#)),
            (
                "/$defs/AbortCommand/x-effects",
                Some(r#"[{"code": "count", "of": ["usage"]}, {"code": "summarise"}]"#),
            ),
            (
                "/$defs/BashCommand/x-effects",
                Some(
                    r#"[{"code": "note-bash", "of": ["usage"]}, {"reset": "usage", "to": "data"}, {"forget": "usage", "reset": "usage"}]"#,
                ),
            ),
            (
                "/$defs/CycleModelCommand/x-effects",
                Some(
                    r#"[{"next": "model", "in": "model", "to": "data.model"}, {"reset": "usage", "when": {"field": "data.isScoped"}}]"#,
                ),
            ),
        ],
        &[
            "AbortCommand: x-effects: there is no code `count`",
            "AbortCommand: x-effects: `code` without `of`",
            "CycleModelCommand: x-effects: `in` names `model`, which is no list",
            "CycleModelCommand: x-effects: `when` does not say what is to hold",
            "BashCommand: x-effects: `reset` beside `to`",
            r#"BashCommand: x-effects: {"forget":"usage","reset":"usage"} is not one effect"#,
            "Usage: x-effects on what is neither command nor event",
        ],
    ),
    (
        "responses tell members that they have",
        &[
            ("/$defs/GetMessagesResponse/x-tells", Some(r#"{"message": "data.messages"}"#)),
            ("/$defs/GetCommandsResponse/x-tells", Some(r#"{"commands": "data.list"}"#)),
            ("/$defs/Usage/x-tells", Some(r#"{"usage": "data"}"#)),
        ],
        &[
            "GetMessagesResponse: x-tells: there is no member `message`",
            "GetCommandsResponse: x-tells: `data.list`: there is no `list`",
            "Usage: x-tells on what is no success",
        ],
    ),
    (
        "dialects fit their record",
        &[("/dialects/8/frames", Some(r#""pi-1""#))],
        &[r#"dialect pi@0.58: speaks the frames of "pi-1", which it does not extend"#],
    ),
    (
        "commands lead to states",
        &[("/$defs/PromptCommand/x-leads-to", Some(r#"{"idle": "streaming", "awake": "starting"}"#))],
        &[
            r#"PromptCommand: x-leads-to leads from idle to "streaming", which is no state"#,
            "PromptCommand: x-leads-to names `awake`, which is no state",
        ],
    ),
    (
        "commands lead to states",
        &[("/$defs/ForkCommand/x-cuts", Some("false"))],
        &["ForkCommand: x-cuts can only be true"],
    ),
    (
        "events fire in states",
        &[("/$defs/TurnEndEvent/x-fires-in", None), ("/$defs/ReadyFrame/x-fires-in", Some("[]"))],
        &[
            "TurnEndEvent: fires nowhere in pi",
            "TurnEndEvent: fires nowhere in pi-1",
            "TurnEndEvent: fires nowhere in xcsh",
            "TurnEndEvent: fires nowhere in omp",
            "TurnEndEvent: fires nowhere in omp@18.3",
            "TurnEndEvent: fires nowhere in pi-1@login",
            "TurnEndEvent: fires nowhere in pi-1@navigation",
            "TurnEndEvent: fires nowhere in pi@0.73",
            "ReadyFrame: fires nowhere in xcsh",
            "ReadyFrame: fires nowhere in omp",
            "ReadyFrame: fires nowhere in omp@18.3",
        ],
    ),
    (
        "events fire in states",
        &[(
            "/$defs/TurnEndEvent/x-fires-in",
            Some(r#"[{"in": ["streaming.tool"], "to": "streaming"}, {"in": []}]"#),
        )],
        &[
            "TurnEndEvent: fires in `streaming.tool`, which is no state",
            r#"TurnEndEvent: leads to "streaming", which is no state"#,
            "TurnEndEvent: a case of x-fires-in has no states",
        ],
    ),
    (
        "events fire in states",
        &[(
            "/$defs/AutoRetryEndEvent/x-fires-in",
            Some(r#"[{"when": {"field": "role", "is": ["user"]}, "in": ["*"]}]"#),
        )],
        &["AutoRetryEndEvent: asks for `role`, which is no property"],
    ),
    (
        "events fire in states",
        &[(
            "/$defs/ReadyFrame/x-fires-in",
            Some(r#"[{"dialects": ["pi@0.58"], "in": ["*"], "once": true}]"#),
        )],
        &[
            "ReadyFrame: a case of x-fires-in has `once`",
            "ReadyFrame: `pi@0.58` is no base dialect",
            "ReadyFrame: fires nowhere in xcsh",
            "ReadyFrame: fires nowhere in omp",
            "ReadyFrame: fires nowhere in omp@18.3",
        ],
    ),
    (
        "events fire in states",
        &[("/$defs/Usage/x-fires-in", Some(r#"[{"in": ["*"]}]"#))],
        &["Usage: has x-fires-in but is no event"],
    ),
    (
        "what is caused and what comes before is an event",
        &[
            ("/$defs/AbortCommand/x-causes", Some(r#"["agent_ended"]"#)),
            ("/$defs/HostToolCancel/x-after", Some(r#"["host_tool"]"#)),
            ("/$defs/Usage/x-after", Some(r#"["agent_end"]"#)),
        ],
        &[
            "AbortCommand: x-causes names `agent_ended`, which is no event",
            "HostToolCancel: x-after names `host_tool`, which is no event",
            "Usage: has x-after but is no event",
        ],
    ),
    (
        "ui requests say which answer they want",
        &[("/$defs/InputRequest/x-answer", None), ("/$defs/Usage/x-answer", Some("null"))],
        &["Usage: has x-answer but is no ui request", "InputRequest: does not say which answer it wants"],
    ),
    (
        "ui requests say which answer they want",
        &[("/$defs/InputRequest/x-answer", Some(r#""text""#))],
        &[r#"InputRequest: x-answer "text" is unknown"#],
    ),
    (
        "dialects fit their record",
        &[("/dialects/0/ready", Some(r#""maybe""#)), ("/dialects/0/bash/timeoutSeconds", Some("-1"))],
        &[
            r#"dialect pi: /ready: "maybe" is not one of "none", "with-version" or "with-limits""#,
            "dialect pi: /bash/timeoutSeconds: -1 is less than the minimum of 0",
        ],
    ),
    (
        "dialects fit their record",
        &[("/dialects/2/lanes/todos", None), ("/dialects/2/lanes/todo", Some("true"))],
        &[
            r#"dialect xcsh: /lanes: "todos" is a required property"#,
            "dialect xcsh.lanes: `todo` is not in record.json",
        ],
    ),
    (
        "dialects fit their record",
        &[("/dialects/8/extends", Some(r#""pi@0.58.4""#)), ("/dialects/8/id", Some(r#""xcsh""#))],
        &[
            r#"dialect xcsh: extends "pi@0.58.4", which is no base dialect"#,
            r#"dialect xcsh: speaks the frames of "pi", which it does not extend"#,
            "dialect xcsh: there are two of it",
        ],
    ),
];
