"""Made by generate.py from `pi-rpc schema --dialect pi`; not to be changed by hand."""

from ..dialect import Arrow, Dialect, Effect, Levels, Member, Outcome, SessionTables
from .models import *

DIALECT = Dialect(
    name="pi",
    opens_with=None,
    events={
        "response": RpcErrorResponse,
        "agent_start": AgentStartEvent,
        "agent_end": AgentEndEvent,
        "turn_start": TurnStartEvent,
        "turn_end": TurnEndEvent,
        "message_start": MessageStartEvent,
        "message_update": MessageUpdateEvent,
        "message_end": MessageEndEvent,
        "tool_execution_start": ToolExecutionStartEvent,
        "tool_execution_update": ToolExecutionUpdateEvent,
        "tool_execution_end": ToolExecutionEndEvent,
        "auto_compaction_start": AutoCompactionStartEvent,
        "auto_compaction_end": AutoCompactionEndEvent,
        "auto_retry_start": AutoRetryStartEvent,
        "auto_retry_end": AutoRetryEndEvent,
        "extension_ui_request": RpcExtensionUIRequest,
        "extension_error": ExtensionError,
    },
    results={
        "new_session": SessionChange,
        "get_state": SessionState,
        "set_model": Model,
        "cycle_model": ModelCycle | None,
        "get_available_models": ModelList,
        "cycle_thinking_level": ThinkingLevelChange | None,
        "compact": CompactionResult,
        "bash": BashResult,
        "get_session_stats": SessionStats,
        "export_html": ExportedFile,
        "switch_session": SessionChange,
        "fork": ForkResult,
        "get_fork_messages": ForkMessages,
        "get_last_assistant_text": LastAssistantText,
        "get_messages": MessageList,
        "get_commands": CommandList,
    },
    outcomes={
        "prompt": {
            "idle": [Outcome("run")],
            "retrying": [Outcome("preempt")],
            "compacting": [Outcome("run")],
            "compacting_manual": [Outcome("run")],
            "*": [
                Outcome("queue", when=("streamingBehavior", ["steer", "followUp"])),
                Outcome(
                    "reject",
                    error="Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.",
                ),
            ],
        },
        "steer": {
            "*": [Outcome("queue")],
        },
        "follow_up": {
            "*": [Outcome("queue")],
        },
        "abort": {
            "idle": [Outcome("noop")],
            "compacting": [Outcome("noop")],
            "compacting_manual": [Outcome("noop")],
            "compacting_before_prompt": [Outcome("noop")],
            "*": [Outcome("preempt")],
        },
        "new_session": {
            "idle": [Outcome("control")],
            "*": [Outcome("preempt")],
        },
        "get_state": {
            "*": [Outcome("control")],
        },
        "set_model": {
            "*": [Outcome("control")],
        },
        "cycle_model": {
            "*": [Outcome("control")],
        },
        "get_available_models": {
            "*": [Outcome("control")],
        },
        "set_thinking_level": {
            "*": [Outcome("control")],
        },
        "cycle_thinking_level": {
            "*": [Outcome("control")],
        },
        "set_steering_mode": {
            "*": [Outcome("control")],
        },
        "set_follow_up_mode": {
            "*": [Outcome("control")],
        },
        "compact": {
            "idle": [Outcome("control")],
            "compacting": [Outcome("reject", error="A compaction is already in progress. Wait until it ends.")],
            "compacting_manual": [Outcome("reject", error="A compaction is already in progress. Wait until it ends.")],
            "compacting_before_prompt": [
                Outcome("reject", error="A compaction is already in progress. Wait until it ends.")
            ],
            "*": [Outcome("preempt")],
        },
        "set_auto_compaction": {
            "*": [Outcome("control")],
        },
        "set_auto_retry": {
            "*": [Outcome("control")],
        },
        "abort_retry": {
            "retrying": [Outcome("preempt")],
            "*": [Outcome("noop")],
        },
        "bash": {
            "*": [Outcome("control")],
        },
        "abort_bash": {
            "*": [Outcome("control")],
        },
        "get_session_stats": {
            "*": [Outcome("control")],
        },
        "export_html": {
            "*": [Outcome("control")],
        },
        "switch_session": {
            "idle": [Outcome("control")],
            "*": [Outcome("preempt")],
        },
        "fork": {
            "idle": [Outcome("control")],
            "*": [Outcome("preempt")],
        },
        "get_fork_messages": {
            "*": [Outcome("control")],
        },
        "get_last_assistant_text": {
            "*": [Outcome("control")],
        },
        "set_session_name": {
            "*": [Outcome("control")],
        },
        "get_messages": {
            "*": [Outcome("control")],
        },
        "get_commands": {
            "*": [Outcome("control")],
        },
    },
    frame_limits=None,
    serial=False,
    overtaking=["abort", "abort_retry", "abort_bash"],
    answers={
        "select": "value",
        "confirm": "confirmed",
        "input": "value",
        "editor": "value",
    },
    zero_timeout_expires=False,
    settles=False,
    message=AssistantMessage,
    initial="idle",
    arrows=[
        Arrow("response", {"command": "prompt", "success": True}, "idle", "starting"),
        Arrow("agent_start", {}, "idle", "streaming.between"),
        Arrow("auto_compaction_start", {}, "idle", "compacting"),
        Arrow("auto_retry_start", {}, "idle", "retrying"),
        Arrow("response", {"command": "prompt", "success": False}, "starting", "idle"),
        Arrow("agent_start", {}, "starting", "streaming.between"),
        Arrow("auto_compaction_start", {}, "starting", "compacting"),
        Arrow("auto_retry_start", {}, "starting", "retrying"),
        Arrow("response", {"command": "new_session", "success": True}, "streaming.turn", "idle"),
        Arrow("response", {"command": "compact", "success": True}, "streaming.turn", "idle"),
        Arrow("response", {"command": "switch_session", "success": True}, "streaming.turn", "idle"),
        Arrow("response", {"command": "fork", "success": True}, "streaming.turn", "idle"),
        Arrow("message_start", {"role": "assistant"}, "streaming.turn", "streaming.message"),
        Arrow("response", {"command": "new_session", "success": True}, "streaming.message", "idle"),
        Arrow("response", {"command": "compact", "success": True}, "streaming.message", "idle"),
        Arrow("response", {"command": "switch_session", "success": True}, "streaming.message", "idle"),
        Arrow("response", {"command": "fork", "success": True}, "streaming.message", "idle"),
        Arrow("message_end", {"role": "assistant", "stopReason": "stop"}, "streaming.message", "streaming.tools"),
        Arrow("message_end", {"role": "assistant", "stopReason": "length"}, "streaming.message", "streaming.tools"),
        Arrow("message_end", {"role": "assistant", "stopReason": "toolUse"}, "streaming.message", "streaming.tools"),
        Arrow("message_end", {"role": "assistant", "stopReason": "error"}, "streaming.message", "streaming.tools"),
        Arrow("message_end", {"role": "assistant", "stopReason": "aborted"}, "streaming.message", "streaming.tools"),
        Arrow("response", {"command": "new_session", "success": True}, "streaming.tools", "idle"),
        Arrow("response", {"command": "compact", "success": True}, "streaming.tools", "idle"),
        Arrow("response", {"command": "switch_session", "success": True}, "streaming.tools", "idle"),
        Arrow("response", {"command": "fork", "success": True}, "streaming.tools", "idle"),
        Arrow("turn_end", {}, "streaming.tools", "streaming.between"),
        Arrow("response", {"command": "new_session", "success": True}, "streaming.between", "idle"),
        Arrow("response", {"command": "compact", "success": True}, "streaming.between", "idle"),
        Arrow("response", {"command": "switch_session", "success": True}, "streaming.between", "idle"),
        Arrow("response", {"command": "fork", "success": True}, "streaming.between", "idle"),
        Arrow("agent_end", {}, "streaming.between", "idle"),
        Arrow("turn_start", {}, "streaming.between", "streaming.turn"),
        Arrow("agent_start", {}, "retrying", "streaming.between"),
        Arrow("auto_retry_end", {"success": False}, "retrying", "idle"),
        Arrow("auto_compaction_end", {}, "compacting", "idle"),
        Arrow("auto_compaction_end", {}, "compacting_before_prompt", "idle"),
    ],
    session=SessionTables(
        members={
            "model": Member(absent=True, shape=Model),
            "thinkingLevel": Member(absent=True, shape=ThinkingLevel),
            "models": Member(is_list=True, shape=Model),
            "thinkingLevels": Member(is_list=True, shape=ThinkingLevel),
            "steeringMode": Member(shape=QueueMode),
            "followUpMode": Member(shape=QueueMode),
            "autoCompactionEnabled": Member(shape=bool),
            "autoRetryEnabled": Member(shape=bool),
            "sessionId": Member(shape=str),
            "sessionFile": Member(absent=True, shape=str),
            "sessionName": Member(absent=True, shape=str),
            "commands": Member(is_list=True, shape=SlashCommand),
            "steering": Member(is_list=True, fresh=True, shape=str),
            "followUp": Member(is_list=True, fresh=True, shape=str),
            "messages": Member(kept="list", is_list=True, shape=AgentMessage),
            "usage": Member(kept="sum", shape=TokenTotals),
        },
        commands={
            "prompt": [
                Effect("code", ["steering", "followUp"], code="queue-prompt"),
            ],
            "steer": [
                Effect("append", ["steering"], value="command.message"),
            ],
            "follow_up": [
                Effect("append", ["followUp"], value="command.message"),
            ],
            "new_session": [
                Effect("reset", ["steering"], when=("data.cancelled", ["false"])),
                Effect("reset", ["followUp"], when=("data.cancelled", ["false"])),
                Effect("reset", ["messages"], when=("data.cancelled", ["false"])),
                Effect("reset", ["usage"], when=("data.cancelled", ["false"])),
                Effect("reset", ["sessionName"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionId"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionFile"], when=("data.cancelled", ["false"])),
            ],
            "set_model": [
                Effect("set", ["model"], value="data"),
                Effect("forget", ["thinkingLevels"]),
                Effect("clamp", ["thinkingLevel"]),
            ],
            "cycle_model": [
                Effect("next", ["model"], value="data.model"),
                Effect("forget", ["thinkingLevels"]),
                Effect("set", ["thinkingLevel"], value="data.thinkingLevel"),
            ],
            "set_thinking_level": [
                Effect("clamp", ["thinkingLevel"], value="command.level"),
            ],
            "cycle_thinking_level": [
                Effect("next", ["thinkingLevel"], value="data.level"),
            ],
            "set_steering_mode": [
                Effect("set", ["steeringMode"], value="command.mode"),
            ],
            "set_follow_up_mode": [
                Effect("set", ["followUpMode"], value="command.mode"),
            ],
            "compact": [
                Effect("code", ["messages", "usage"], code="summarise"),
            ],
            "set_auto_compaction": [
                Effect("set", ["autoCompactionEnabled"], value="command.enabled"),
            ],
            "set_auto_retry": [
                Effect("set", ["autoRetryEnabled"], value="command.enabled"),
            ],
            "bash": [
                Effect("code", ["messages"], code="note-bash"),
            ],
            "switch_session": [
                Effect("reset", ["steering"], when=("data.cancelled", ["false"])),
                Effect("reset", ["followUp"], when=("data.cancelled", ["false"])),
                Effect("forget", ["messages"], when=("data.cancelled", ["false"])),
                Effect("forget", ["usage"], when=("data.cancelled", ["false"])),
                Effect("forget", ["model"], when=("data.cancelled", ["false"])),
                Effect("forget", ["thinkingLevel"], when=("data.cancelled", ["false"])),
                Effect("forget", ["thinkingLevels"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionName"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionId"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionFile"], when=("data.cancelled", ["false"])),
            ],
            "fork": [
                Effect("forget", ["messages"], when=("data.cancelled", ["false"])),
                Effect("forget", ["usage"], when=("data.cancelled", ["false"])),
                Effect("forget", ["model"], when=("data.cancelled", ["false"])),
                Effect("forget", ["thinkingLevel"], when=("data.cancelled", ["false"])),
                Effect("forget", ["thinkingLevels"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionName"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionId"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionFile"], when=("data.cancelled", ["false"])),
                Effect("forget", ["steering"], when=("data.cancelled", ["false"])),
                Effect("forget", ["followUp"], when=("data.cancelled", ["false"])),
            ],
            "set_session_name": [
                Effect("set", ["sessionName"], value="command.name", code="clean-name"),
            ],
        },
        events={
            "message_start": [
                Effect("code", ["steering", "followUp"], code="take-delivered"),
            ],
            "message_end": [
                Effect("append", ["messages"], value="event.message"),
            ],
            "auto_compaction_end": [
                Effect("code", ["messages", "usage"], code="summarise"),
            ],
            "auto_retry_start": [
                Effect("code", ["messages"], code="drop-failed"),
            ],
        },
        tells={
            "get_state": {
                "autoCompactionEnabled": "data.autoCompactionEnabled",
                "followUpMode": "data.followUpMode",
                "model": "data.model",
                "sessionFile": "data.sessionFile",
                "sessionId": "data.sessionId",
                "sessionName": "data.sessionName",
                "steeringMode": "data.steeringMode",
                "thinkingLevel": "data.thinkingLevel",
            },
            "get_available_models": {"models": "data.models"},
            "get_session_stats": {
                "sessionFile": "data.sessionFile",
                "sessionId": "data.sessionId",
                "usage": "data.tokens",
            },
            "get_messages": {"messages": "data.messages"},
            "get_commands": {"commands": "data.commands"},
        },
        streaming={
            "idle": False,
            "streaming": True,
            "streaming.turn": True,
            "streaming.message": True,
            "streaming.tools": True,
            "streaming.between": True,
            "retrying": False,
            "compacting": False,
            "compacting_manual": False,
        },
        compacting=["compacting", "compacting_manual", "compacting_before_prompt"],
        levels=Levels(["off", "minimal", "low", "medium", "high", "xhigh"], ["xhigh"], "off", False),
        cleans_name="nothing",
    ),
)
