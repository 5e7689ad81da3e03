// Made by generate.mjs. Do not edit.

import { SessionState } from "../session.js";
import type { Tables } from "../tables.js";
import type { Xcsh } from "./xcsh.js";

/** State of a session that speaks xcsh, from the frames that are passed in. */
export class XcshSessionState extends SessionState<Xcsh> {
  /** `fresh`: the server has just started, and all frames since are passed in. */
  constructor(options: { readonly fresh?: boolean } = {}) {
    super(TABLES, options);
  }
}

/** Tables of xcsh for the runtime. */
export const TABLES: Tables = {
  dialect: "xcsh",
  saysReady: true,
  serial: true,
  frameLimits: null,
  control: ["abort","abort_retry","abort_bash"],
  idle: "idle",
  commands: ["prompt","steer","follow_up","abort","abort_and_prompt","new_session","get_state","set_todos","set_host_tools","set_locale","get_integrations","set_model","cycle_model","get_available_models","set_thinking_level","cycle_thinking_level","set_steering_mode","set_follow_up_mode","set_interrupt_mode","compact","set_auto_compaction","set_auto_retry","abort_retry","bash","abort_bash","get_session_stats","export_html","switch_session","branch","get_branch_messages","get_last_assistant_text","set_session_name","get_messages"],
  events: ["agent_start","agent_end","turn_start","turn_end","message_start","message_update","message_end","tool_execution_start","tool_execution_update","tool_execution_end","auto_compaction_start","auto_compaction_end","auto_retry_start","auto_retry_end","retry_fallback_applied","retry_fallback_succeeded","ttsr_triggered","todo_reminder","todo_auto_clear","extension_error","ready","host_tool_call","host_tool_cancel"],
  dialogs: {"select":"value","confirm":"confirmed","input":"value","editor":"value","cancel":null,"notify":null,"setStatus":null,"setWidget":null,"setTitle":null,"set_editor_text":null},
  zeroTimeoutExpires: true,
  settles: false,
  outcomes: {
    prompt: [
      {"in":["idle"],"outcomes":[{"disposition":"run"}]},
      {"outcomes":[{"when":{"field":"streamingBehavior","is":["steer","followUp"]},"disposition":"queue"},{"disposition":"reject","refusal":"Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion."}]},
    ],
    steer: [{"outcomes":[{"disposition":"queue"}]}],
    follow_up: [{"outcomes":[{"disposition":"queue"}]}],
    abort: [
      {"in":["idle","compacting","compacting_manual","compacting_before_prompt"],"outcomes":[{"disposition":"noop"}]},
      {"outcomes":[{"disposition":"preempt"}]},
    ],
    abort_and_prompt: [
      {"in":["idle"],"outcomes":[{"disposition":"run"}]},
      {"outcomes":[{"disposition":"preempt"}]},
    ],
    new_session: [
      {"in":["idle"],"outcomes":[{"disposition":"control"}]},
      {"outcomes":[{"disposition":"preempt"}]},
    ],
    get_state: [{"outcomes":[{"disposition":"control"}]}],
    set_todos: [{"outcomes":[{"disposition":"control"}]}],
    set_host_tools: [{"outcomes":[{"disposition":"control"}]}],
    set_locale: [{"outcomes":[{"disposition":"control"}]}],
    get_integrations: [{"outcomes":[{"disposition":"control"}]}],
    set_model: [{"outcomes":[{"disposition":"control"}]}],
    cycle_model: [{"outcomes":[{"disposition":"control"}]}],
    get_available_models: [{"outcomes":[{"disposition":"control"}]}],
    set_thinking_level: [{"outcomes":[{"disposition":"control"}]}],
    cycle_thinking_level: [{"outcomes":[{"disposition":"control"}]}],
    set_steering_mode: [{"outcomes":[{"disposition":"control"}]}],
    set_follow_up_mode: [{"outcomes":[{"disposition":"control"}]}],
    set_interrupt_mode: [{"outcomes":[{"disposition":"control"}]}],
    compact: [
      {"in":["idle"],"outcomes":[{"disposition":"control"}]},
      {"in":["compacting","compacting_manual","compacting_before_prompt"],"outcomes":[{"disposition":"reject","refusal":"A compaction is already in progress. Wait until it ends."}]},
      {"outcomes":[{"disposition":"preempt"}]},
    ],
    set_auto_compaction: [{"outcomes":[{"disposition":"control"}]}],
    set_auto_retry: [{"outcomes":[{"disposition":"control"}]}],
    abort_retry: [
      {"in":["retrying"],"outcomes":[{"disposition":"preempt"}]},
      {"outcomes":[{"disposition":"noop"}]},
    ],
    bash: [{"outcomes":[{"disposition":"control"}]}],
    abort_bash: [{"outcomes":[{"disposition":"control"}]}],
    get_session_stats: [{"outcomes":[{"disposition":"control"}]}],
    export_html: [{"outcomes":[{"disposition":"control"}]}],
    switch_session: [
      {"in":["idle"],"outcomes":[{"disposition":"control"}]},
      {"outcomes":[{"disposition":"preempt"}]},
    ],
    branch: [
      {"in":["idle"],"outcomes":[{"disposition":"control"}]},
      {"outcomes":[{"disposition":"preempt"}]},
    ],
    get_branch_messages: [{"outcomes":[{"disposition":"control"}]}],
    get_last_assistant_text: [{"outcomes":[{"disposition":"control"}]}],
    set_session_name: [{"outcomes":[{"disposition":"control"}]}],
    get_messages: [{"outcomes":[{"disposition":"control"}]}],
  },
  steps: [
    {"from":"idle","to":"starting","on":[{"type":"response","where":{"command":"prompt","success":true}},{"type":"response","where":{"command":"abort_and_prompt","success":true}}]},
    {"from":"idle","to":"streaming.between","on":[{"type":"agent_start"}]},
    {"from":"idle","to":"compacting","on":[{"type":"auto_compaction_start"}]},
    {"from":"idle","to":"retrying","on":[{"type":"auto_retry_start"}]},
    {"from":"idle","to":"compacting_manual","on":[]},
    {"from":"starting","to":"idle","on":[{"type":"response","where":{"command":"prompt","success":false}},{"type":"response","where":{"command":"abort_and_prompt","success":false}}]},
    {"from":"starting","to":"streaming.between","on":[{"type":"agent_start"}]},
    {"from":"starting","to":"compacting","on":[{"type":"auto_compaction_start"}]},
    {"from":"starting","to":"retrying","on":[{"type":"auto_retry_start"}]},
    {"from":"starting","to":"compacting_manual","on":[]},
    {"from":"streaming.turn","to":"idle","on":[{"type":"response","where":{"command":"new_session","success":true}},{"type":"response","where":{"command":"compact","success":true}},{"type":"response","where":{"command":"switch_session","success":true}},{"type":"response","where":{"command":"branch","success":true}}]},
    {"from":"streaming.turn","to":"streaming.message","on":[{"type":"message_start","where":{"role":"assistant"}}]},
    {"from":"streaming.message","to":"idle","on":[{"type":"response","where":{"command":"new_session","success":true}},{"type":"response","where":{"command":"compact","success":true}},{"type":"response","where":{"command":"switch_session","success":true}},{"type":"response","where":{"command":"branch","success":true}}]},
    {"from":"streaming.message","to":"streaming.tools","on":[{"type":"message_end","where":{"role":"assistant","stopReason":"stop"}},{"type":"message_end","where":{"role":"assistant","stopReason":"length"}},{"type":"message_end","where":{"role":"assistant","stopReason":"toolUse"}},{"type":"message_end","where":{"role":"assistant","stopReason":"error"}},{"type":"message_end","where":{"role":"assistant","stopReason":"aborted"}}]},
    {"from":"streaming.tools","to":"idle","on":[{"type":"response","where":{"command":"new_session","success":true}},{"type":"response","where":{"command":"compact","success":true}},{"type":"response","where":{"command":"switch_session","success":true}},{"type":"response","where":{"command":"branch","success":true}}]},
    {"from":"streaming.tools","to":"streaming.between","on":[{"type":"turn_end"}]},
    {"from":"streaming.between","to":"idle","on":[{"type":"response","where":{"command":"new_session","success":true}},{"type":"response","where":{"command":"compact","success":true}},{"type":"response","where":{"command":"switch_session","success":true}},{"type":"response","where":{"command":"branch","success":true}}]},
    {"from":"streaming.between","to":"idle","on":[{"type":"agent_end"}]},
    {"from":"streaming.between","to":"streaming.turn","on":[{"type":"turn_start"}]},
    {"from":"retrying","to":"streaming.between","on":[{"type":"agent_start"}]},
    {"from":"retrying","to":"idle","on":[{"type":"auto_retry_end","where":{"success":false}}]},
    {"from":"compacting","to":"idle","on":[{"type":"auto_compaction_end"}]},
    {"from":"compacting","to":"compacting_before_prompt","on":[]},
    {"from":"compacting_manual","to":"compacting_before_prompt","on":[]},
    {"from":"compacting_manual","to":"idle","on":[]},
    {"from":"compacting_before_prompt","to":"idle","on":[{"type":"auto_compaction_end"}]},
  ],
  session: {
    members: {
      model: {"kept":"value","absent":true},
      thinkingLevel: {"kept":"value","absent":true},
      models: {"kept":"value","isList":true},
      thinkingLevels: {"kept":"value","isList":true},
      steeringMode: {"kept":"value"},
      followUpMode: {"kept":"value"},
      interruptMode: {"kept":"value"},
      autoCompactionEnabled: {"kept":"value"},
      autoRetryEnabled: {"kept":"value"},
      sessionId: {"kept":"value"},
      sessionFile: {"kept":"value","absent":true},
      sessionName: {"kept":"value","absent":true},
      todoPhases: {"kept":"value","isList":true},
      hostTools: {"kept":"value","isList":true,"fresh":true},
      steering: {"kept":"value","isList":true,"fresh":true},
      followUp: {"kept":"value","isList":true,"fresh":true},
      messages: {"kept":"list","isList":true},
      usage: {"kept":"sum"},
    },
    commands: {
      prompt: [
        {"effect":"code","members":["steering","followUp"],"code":"queue-prompt"},
      ],
      steer: [
        {"effect":"append","members":["steering"],"value":"command.message"},
      ],
      follow_up: [
        {"effect":"append","members":["followUp"],"value":"command.message"},
      ],
      new_session: [
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["steering"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["followUp"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["messages"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["usage"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["sessionName"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["todoPhases"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionId"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionFile"]},
      ],
      set_todos: [
        {"effect":"set","members":["todoPhases"],"value":"data.todoPhases"},
      ],
      set_host_tools: [
        {"effect":"set","members":["hostTools"],"value":"data.toolNames"},
      ],
      set_model: [
        {"effect":"set","members":["model"],"value":"data"},
        {"effect":"forget","members":["thinkingLevels"]},
        {"effect":"clamp","members":["thinkingLevel"],"in":"thinkingLevels"},
      ],
      cycle_model: [
        {"effect":"next","members":["model"],"value":"data.model","in":"models"},
        {"effect":"forget","members":["thinkingLevels"]},
        {"effect":"set","members":["thinkingLevel"],"value":"data.thinkingLevel"},
      ],
      set_thinking_level: [
        {"effect":"clamp","members":["thinkingLevel"],"value":"command.level","in":"thinkingLevels"},
      ],
      cycle_thinking_level: [
        {"effect":"next","members":["thinkingLevel"],"value":"data.level","in":"thinkingLevels"},
      ],
      set_steering_mode: [
        {"effect":"set","members":["steeringMode"],"value":"command.mode"},
      ],
      set_follow_up_mode: [
        {"effect":"set","members":["followUpMode"],"value":"command.mode"},
      ],
      set_interrupt_mode: [
        {"effect":"set","members":["interruptMode"],"value":"command.mode"},
      ],
      compact: [
        {"effect":"code","members":["messages","usage"],"code":"summarise"},
        {"effect":"forget","members":["todoPhases"]},
      ],
      set_auto_compaction: [
        {"effect":"set","members":["autoCompactionEnabled"],"value":"command.enabled"},
      ],
      set_auto_retry: [
        {"effect":"set","members":["autoRetryEnabled"],"value":"command.enabled"},
      ],
      bash: [
        {"effect":"code","members":["messages"],"code":"note-bash"},
      ],
      switch_session: [
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["steering"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["followUp"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["messages"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["usage"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["model"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["thinkingLevel"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["thinkingLevels"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionName"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionId"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionFile"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["todoPhases"]},
      ],
      branch: [
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["messages"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["usage"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["model"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["thinkingLevel"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["thinkingLevels"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionName"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionId"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionFile"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["todoPhases"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["steering"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["followUp"]},
      ],
      set_session_name: [
        {"effect":"set","members":["sessionName"],"value":"command.name","code":"clean-name"},
      ],
    },
    events: {
      message_start: [
        {"effect":"code","members":["steering","followUp"],"code":"take-delivered"},
      ],
      message_end: [
        {"effect":"append","members":["messages"],"value":"event.message"},
      ],
      tool_execution_end: [
        {"when":{"field":"event.toolName","is":["todo_write","todo"]},"effect":"forget","members":["todoPhases"]},
      ],
      auto_compaction_end: [
        {"effect":"code","members":["messages","usage"],"code":"summarise"},
        {"effect":"forget","members":["todoPhases"]},
      ],
      auto_retry_start: [
        {"effect":"code","members":["messages"],"code":"drop-failed"},
      ],
      retry_fallback_applied: [
        {"effect":"forget","members":["model"]},
        {"effect":"forget","members":["thinkingLevel"]},
      ],
      todo_auto_clear: [
        {"effect":"code","members":["todoPhases"],"code":"clear-done-todo"},
      ],
    },
    tells: {
      get_state: {"autoCompactionEnabled":"data.autoCompactionEnabled","followUpMode":"data.followUpMode","interruptMode":"data.interruptMode","model":"data.model","sessionFile":"data.sessionFile","sessionId":"data.sessionId","sessionName":"data.sessionName","steeringMode":"data.steeringMode","thinkingLevel":"data.thinkingLevel","todoPhases":"data.todoPhases"},
      get_available_models: {"models":"data.models"},
      get_session_stats: {"sessionFile":"data.sessionFile","sessionId":"data.sessionId","usage":"data.tokens"},
      get_messages: {"messages":"data.messages"},
    },
    streaming: {"idle":false,"starting":true,"streaming":true,"streaming.turn":true,"streaming.message":true,"streaming.tools":true,"streaming.between":true,"retrying":true,"compacting":true,"compacting_manual":false,"compacting_before_prompt":false},
    compacting: ["compacting","compacting_manual","compacting_before_prompt"],
    levels: {"all":["off","minimal","low","medium","high","xhigh"],"extra":["xhigh"],"withoutThinking":null,"followsModel":false},
    cleansName: "controls",
  },
};
