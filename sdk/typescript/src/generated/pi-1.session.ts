// Made by generate.mjs. Do not edit.

import { SessionState } from "../session.js";
import type { Tables } from "../tables.js";
import type { Pi1 } from "./pi-1.js";

/** State of a session that speaks pi-1, from the frames that are passed in. */
export class Pi1SessionState extends SessionState<Pi1> {
  /** `fresh`: the server has just started, and all frames since are passed in. */
  constructor(options: { readonly fresh?: boolean } = {}) {
    super(TABLES, options);
  }
}

/** Tables of pi-1 for the runtime. */
export const TABLES: Tables = {
  dialect: "pi-1",
  saysReady: false,
  serial: false,
  frameLimits: null,
  control: ["abort","abort_retry","abort_bash"],
  idle: "idle",
  commands: ["prompt","steer","follow_up","abort","clear_queue","new_session","get_state","set_model","cycle_model","get_available_models","set_thinking_level","cycle_thinking_level","get_available_thinking_levels","set_steering_mode","set_follow_up_mode","compact","set_auto_compaction","set_auto_retry","abort_retry","bash","abort_bash","get_session_stats","export_html","switch_session","fork","clone","get_fork_messages","get_entries","get_tree","get_last_assistant_text","set_session_name","get_messages","get_commands"],
  events: ["agent_start","agent_end","agent_settled","turn_start","turn_end","message_start","message_update","message_end","tool_execution_start","tool_execution_update","tool_execution_end","queue_update","compaction_start","compaction_end","auto_retry_start","auto_retry_end","summarization_retry_scheduled","summarization_retry_attempt_start","summarization_retry_finished","bash_execution_update","entry_appended","session_info_changed","thinking_level_changed","extension_error"],
  dialogs: {"select":"value","confirm":"confirmed","input":"value","editor":"value","notify":null,"setStatus":null,"setWidget":null,"setTitle":null,"set_editor_text":null},
  zeroTimeoutExpires: false,
  settles: true,
  outcomes: {
    prompt: [
      {"in":["idle"],"outcomes":[{"disposition":"run"}]},
      {"in":["compacting_manual"],"outcomes":[{"disposition":"reject","refusal":"Cannot submit a prompt while compaction is in progress. Wait for compaction to finish and retry."}]},
      {"outcomes":[{"when":{"field":"streamingBehavior","is":["steer","followUp"]},"disposition":"queue"},{"disposition":"reject","refusal":"Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message."}]},
    ],
    steer: [{"outcomes":[{"disposition":"queue"}]}],
    follow_up: [{"outcomes":[{"disposition":"queue"}]}],
    abort: [
      {"in":["idle"],"outcomes":[{"disposition":"noop"}]},
      {"outcomes":[{"disposition":"preempt"}]},
    ],
    clear_queue: [{"outcomes":[{"disposition":"control"}]}],
    new_session: [
      {"in":["idle"],"outcomes":[{"disposition":"control"}]},
      {"outcomes":[{"disposition":"preempt"}]},
    ],
    get_state: [{"outcomes":[{"disposition":"control"}]}],
    set_model: [{"outcomes":[{"disposition":"control"}]}],
    cycle_model: [{"outcomes":[{"disposition":"control"}]}],
    get_available_models: [{"outcomes":[{"disposition":"control"}]}],
    set_thinking_level: [{"outcomes":[{"disposition":"control"}]}],
    cycle_thinking_level: [{"outcomes":[{"disposition":"control"}]}],
    get_available_thinking_levels: [{"outcomes":[{"disposition":"control"}]}],
    set_steering_mode: [{"outcomes":[{"disposition":"control"}]}],
    set_follow_up_mode: [{"outcomes":[{"disposition":"control"}]}],
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
    fork: [
      {"in":["idle"],"outcomes":[{"disposition":"control"}]},
      {"outcomes":[{"disposition":"preempt"}]},
    ],
    clone: [
      {"in":["idle"],"outcomes":[{"disposition":"control"}]},
      {"outcomes":[{"disposition":"preempt"}]},
    ],
    get_fork_messages: [{"outcomes":[{"disposition":"control"}]}],
    get_entries: [{"outcomes":[{"disposition":"control"}]}],
    get_tree: [{"outcomes":[{"disposition":"control"}]}],
    get_last_assistant_text: [{"outcomes":[{"disposition":"control"}]}],
    set_session_name: [{"outcomes":[{"disposition":"control"}]}],
    get_messages: [{"outcomes":[{"disposition":"control"}]}],
    get_commands: [{"outcomes":[{"disposition":"control"}]}],
  },
  steps: [
    {"from":"idle","to":"starting","on":[{"type":"response","where":{"command":"prompt","success":true,"disposition":"started"}}]},
    {"from":"idle","to":"streaming.between","on":[{"type":"agent_start"}]},
    {"from":"idle","to":"compacting_manual","on":[{"type":"compaction_start","where":{"reason":"manual"}}]},
    {"from":"idle","to":"compacting","on":[{"type":"compaction_start","where":{"reason":"threshold"}},{"type":"compaction_start","where":{"reason":"overflow"}}]},
    {"from":"starting","to":"idle","on":[{"type":"response","where":{"command":"prompt","success":false}}]},
    {"from":"starting","to":"streaming.between","on":[{"type":"agent_start"}]},
    {"from":"starting","to":"compacting_manual","on":[{"type":"compaction_start","where":{"reason":"manual"}}]},
    {"from":"starting","to":"compacting","on":[{"type":"compaction_start","where":{"reason":"threshold"}},{"type":"compaction_start","where":{"reason":"overflow"}}]},
    {"from":"streaming.turn","to":"idle","on":[{"type":"response","where":{"command":"new_session","success":true}},{"type":"response","where":{"command":"compact","success":true}},{"type":"response","where":{"command":"switch_session","success":true}},{"type":"response","where":{"command":"fork","success":true}},{"type":"response","where":{"command":"clone","success":true}}]},
    {"from":"streaming.turn","to":"streaming.message","on":[{"type":"message_start","where":{"role":"assistant"}}]},
    {"from":"streaming.message","to":"idle","on":[{"type":"response","where":{"command":"new_session","success":true}},{"type":"response","where":{"command":"compact","success":true}},{"type":"response","where":{"command":"switch_session","success":true}},{"type":"response","where":{"command":"fork","success":true}},{"type":"response","where":{"command":"clone","success":true}}]},
    {"from":"streaming.message","to":"streaming.tools","on":[{"type":"message_end","where":{"role":"assistant","stopReason":"stop"}},{"type":"message_end","where":{"role":"assistant","stopReason":"length"}},{"type":"message_end","where":{"role":"assistant","stopReason":"toolUse"}},{"type":"message_end","where":{"role":"assistant","stopReason":"error"}},{"type":"message_end","where":{"role":"assistant","stopReason":"aborted"}},{"type":"message_end","where":{"role":"assistant","stopReason":"pending"}},{"type":"message_end","where":{"role":"assistant","stopReason":"deferred"}}]},
    {"from":"streaming.tools","to":"idle","on":[{"type":"response","where":{"command":"new_session","success":true}},{"type":"response","where":{"command":"compact","success":true}},{"type":"response","where":{"command":"switch_session","success":true}},{"type":"response","where":{"command":"fork","success":true}},{"type":"response","where":{"command":"clone","success":true}}]},
    {"from":"streaming.tools","to":"streaming.between","on":[{"type":"turn_end"}]},
    {"from":"streaming.between","to":"idle","on":[{"type":"response","where":{"command":"new_session","success":true}},{"type":"response","where":{"command":"compact","success":true}},{"type":"response","where":{"command":"switch_session","success":true}},{"type":"response","where":{"command":"fork","success":true}},{"type":"response","where":{"command":"clone","success":true}}]},
    {"from":"streaming.between","to":"settling","on":[{"type":"agent_end"}]},
    {"from":"streaming.between","to":"streaming.turn","on":[{"type":"turn_start"}]},
    {"from":"streaming.between","to":"streaming.compacting","on":[{"type":"compaction_start","where":{"reason":"threshold"}},{"type":"compaction_start","where":{"reason":"overflow"}}]},
    {"from":"streaming.compacting","to":"idle","on":[{"type":"response","where":{"command":"new_session","success":true}},{"type":"response","where":{"command":"compact","success":true}},{"type":"response","where":{"command":"switch_session","success":true}},{"type":"response","where":{"command":"fork","success":true}},{"type":"response","where":{"command":"clone","success":true}}]},
    {"from":"streaming.compacting","to":"streaming.between","on":[{"type":"compaction_end","where":{"reason":"threshold"}},{"type":"compaction_end","where":{"reason":"overflow"}}]},
    {"from":"settling","to":"streaming.between","on":[{"type":"agent_start"}]},
    {"from":"settling","to":"idle","on":[{"type":"agent_settled"}]},
    {"from":"settling","to":"retrying","on":[{"type":"auto_retry_start"}]},
    {"from":"settling","to":"compacting","on":[{"type":"compaction_start","where":{"reason":"threshold"}},{"type":"compaction_start","where":{"reason":"overflow"}}]},
    {"from":"settling","to":"starting","on":[]},
    {"from":"retrying","to":"streaming.between","on":[{"type":"agent_start"}]},
    {"from":"retrying","to":"settling","on":[{"type":"auto_retry_end","where":{"success":false}}]},
    {"from":"compacting","to":"settling","on":[{"type":"compaction_end","where":{"reason":"threshold"}},{"type":"compaction_end","where":{"reason":"overflow"}}]},
    {"from":"compacting","to":"compacting_before_prompt","on":[]},
    {"from":"compacting_manual","to":"idle","on":[{"type":"compaction_end","where":{"reason":"manual"}}]},
    {"from":"compacting_manual","to":"compacting_before_prompt","on":[]},
    {"from":"compacting_before_prompt","to":"idle","on":[{"type":"compaction_end","where":{"reason":"manual"}}]},
    {"from":"compacting_before_prompt","to":"settling","on":[{"type":"compaction_end","where":{"reason":"threshold"}},{"type":"compaction_end","where":{"reason":"overflow"}}]},
  ],
  session: {
    members: {
      model: {"kept":"value","absent":true},
      thinkingLevel: {"kept":"value","absent":true},
      models: {"kept":"value","isList":true},
      thinkingLevels: {"kept":"value","isList":true},
      steeringMode: {"kept":"value"},
      followUpMode: {"kept":"value"},
      autoCompactionEnabled: {"kept":"value"},
      autoRetryEnabled: {"kept":"value"},
      sessionId: {"kept":"value"},
      sessionFile: {"kept":"value","absent":true},
      sessionName: {"kept":"value","absent":true},
      commands: {"kept":"value","isList":true},
      steering: {"kept":"value","isList":true,"fresh":true},
      followUp: {"kept":"value","isList":true,"fresh":true},
      messages: {"kept":"list","isList":true},
      entries: {"kept":"list","isList":true},
      usage: {"kept":"sum"},
    },
    commands: {
      clear_queue: [
        {"effect":"reset","members":["steering"]},
        {"effect":"reset","members":["followUp"]},
      ],
      new_session: [
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["steering"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["followUp"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["messages"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["entries"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["usage"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["sessionName"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionId"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionFile"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["model"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["thinkingLevel"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["thinkingLevels"]},
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
      compact: [
        {"effect":"code","members":["messages","entries","usage"],"code":"summarise"},
      ],
      set_auto_compaction: [
        {"effect":"set","members":["autoCompactionEnabled"],"value":"command.enabled"},
      ],
      set_auto_retry: [
        {"effect":"set","members":["autoRetryEnabled"],"value":"command.enabled"},
      ],
      bash: [
        {"effect":"code","members":["messages","entries"],"code":"note-bash"},
      ],
      switch_session: [
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["steering"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"reset","members":["followUp"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["messages"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["entries"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["usage"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["model"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["thinkingLevel"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["thinkingLevels"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionName"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionId"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionFile"]},
      ],
      fork: [
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["messages"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["entries"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["usage"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["model"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["thinkingLevel"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["thinkingLevels"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionName"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionId"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionFile"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["steering"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["followUp"]},
      ],
      clone: [
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["messages"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["entries"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["usage"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["model"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["thinkingLevel"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["thinkingLevels"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionName"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionId"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["sessionFile"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["steering"]},
        {"when":{"field":"data.cancelled","is":["false"]},"effect":"forget","members":["followUp"]},
      ],
      set_session_name: [
        {"effect":"set","members":["sessionName"],"value":"command.name","code":"clean-name"},
      ],
    },
    events: {
      message_end: [
        {"effect":"append","members":["messages"],"value":"event.message"},
      ],
      queue_update: [
        {"effect":"set","members":["steering"],"value":"event.steering"},
        {"effect":"set","members":["followUp"],"value":"event.followUp"},
      ],
      compaction_end: [
        {"effect":"code","members":["messages","entries","usage"],"code":"summarise"},
      ],
      auto_retry_start: [
        {"effect":"code","members":["messages"],"code":"drop-failed"},
      ],
      entry_appended: [
        {"effect":"append","members":["entries"],"value":"event.entry"},
      ],
      session_info_changed: [
        {"effect":"set","members":["sessionName"],"value":"event.name"},
      ],
      thinking_level_changed: [
        {"effect":"set","members":["thinkingLevel"],"value":"event.level"},
      ],
    },
    tells: {
      get_state: {"autoCompactionEnabled":"data.autoCompactionEnabled","followUpMode":"data.followUpMode","model":"data.model","sessionFile":"data.sessionFile","sessionId":"data.sessionId","sessionName":"data.sessionName","steeringMode":"data.steeringMode","thinkingLevel":"data.thinkingLevel"},
      get_available_models: {"models":"data.models"},
      get_available_thinking_levels: {"thinkingLevels":"data.levels"},
      get_session_stats: {"sessionFile":"data.sessionFile","sessionId":"data.sessionId","usage":"data.tokens"},
      get_entries: {"entries":"data.entries"},
      get_messages: {"messages":"data.messages"},
      get_commands: {"commands":"data.commands"},
    },
    streaming: {"idle":false,"streaming":true,"streaming.turn":true,"streaming.message":true,"streaming.tools":true,"streaming.between":true,"streaming.compacting":true,"settling":true,"retrying":true,"compacting":true,"compacting_manual":false},
    compacting: ["streaming.compacting","compacting","compacting_manual","compacting_before_prompt"],
    levels: {"all":["off","minimal","low","medium","high","xhigh","max"],"extra":["xhigh","max"],"withoutThinking":"off","followsModel":true},
    cleansName: "line-breaks",
  },
};
