/** Hooks, events and actions by the schema. Generated: `cargo bless` writes it anew; do not edit. */

/** Events of pi that are hooks of the server under the same name. */
export const HANDLED_HOOKS = [
  "session_before_switch",
  "session_before_fork",
  "session_before_compact",
  "input",
  "before_agent_start",
  "tool_call",
  "tool_result",
  "session_shutdown",
  "agent_before_settle",
  "session_start",
  "session_compact",
  "session_before_tree",
  "session_tree",
  "model_select",
  "thinking_level_select",
  "context",
  "message_end",
  "before_provider_request",
  "before_provider_headers",
  "after_provider_response",
  "provider_stream_event",
  "user_bash",
  "resources_discover",
  "cache_warming_decision",
  "mcp_servers_change",
];

/** Hooks that belong to a run, so that `ctx.signal` is theirs. */
export const RUN_HOOKS = [
  "tool_call",
  "tool_result",
  "event",
  "agent_before_settle",
  "context",
  "message_end",
  "before_provider_request",
  "before_provider_headers",
  "after_provider_response",
  "provider_stream_event",
  "model_route",
];

/** Events whose handlers the server awaits, as pi does. */
export const AWAITED_EVENTS = [
  "agent_start",
  "agent_end",
  "agent_settled",
  "turn_start",
  "turn_end",
  "message_start",
  "message_end",
  "tool_execution_start",
  "tool_execution_end",
  "session_info_changed",
];

/** Events whose handlers nothing waits for. */
export const SHOWN_EVENTS = [
  "message_update",
  "tool_execution_update",
];

/** The events of an answer that is streamed. */
export const STREAM_EVENTS = [
  "start",
  "text_start",
  "text_delta",
  "text_end",
  "thinking_start",
  "thinking_delta",
  "thinking_end",
  "toolcall_start",
  "toolcall_delta",
  "toolcall_end",
  "done",
  "error",
];

/** The members of each action that are strings; `!` marks the required ones. */
export const ACTION_STRINGS = {
  send_message: ["deliverAs"],
  send_user_message: ["deliverAs"],
  append_entry: ["customType!"],
  set_model: ["provider!", "modelId!"],
  set_thinking_level: ["level!"],
  set_session_name: ["name!"],
  set_label: ["entryId!", "label"],
  set_leaf: ["entryId!"],
  compact: ["customInstructions"],
  new_session: ["parentSession"],
  fork: ["entryId!", "position"],
  switch_session: ["sessionPath!"],
  navigate_tree: ["targetId!", "customInstructions", "label"],
  run_tool: ["toolName!"],
  call_tool: ["toolName!"],
  complete: ["provider!", "modelId!", "systemPrompt", "level"],
  register_provider: ["name!", "path"],
  unregister_provider: ["name!"],
  register_virtual_model: ["provider!", "modelId!", "name!", "path"],
  unregister_virtual_model: ["provider!", "modelId!"],
};

/** The members of each action that are booleans. */
export const ACTION_BOOLEANS = {
  send_message: ["triggerTurn"],
  navigate_tree: ["summarize", "replaceInstructions"],
  register_provider: ["streams"],
};
