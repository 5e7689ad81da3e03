"""Made by generate.py from `pi-rpc schema --dialect xcsh`; not to be changed by hand."""

from ..dialect import Arrow, Dialect, Effect, Levels, Member, Outcome, SessionTables
from .models import *

DIALECT = Dialect(
    name="xcsh",
    opens_with="ready",
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
        "retry_fallback_applied": RetryFallbackAppliedEvent,
        "retry_fallback_succeeded": RetryFallbackSucceededEvent,
        "ttsr_triggered": TtsrTriggeredEvent,
        "todo_reminder": TodoReminderEvent,
        "todo_auto_clear": TodoAutoClearEvent,
        "extension_ui_request": RpcExtensionUIRequest,
        "extension_error": ExtensionError,
        "ready": ReadyFrame,
        "host_tool_call": HostToolCall,
        "host_tool_cancel": HostToolCancel,
    },
    results={
        "new_session": SessionChange,
        "get_state": SessionState,
        "set_todos": TodoList,
        "set_host_tools": HostToolNames,
        "get_integrations": Integrations,
        "set_model": Model,
        "cycle_model": ModelCycle | None,
        "get_available_models": ModelList,
        "cycle_thinking_level": ThinkingLevelChange | None,
        "compact": CompactionResult,
        "bash": BashResult,
        "get_session_stats": SessionStats,
        "export_html": ExportedFile,
        "switch_session": SessionChange,
        "branch": ForkResult,
        "get_branch_messages": ForkMessages,
        "get_last_assistant_text": LastAssistantText,
        "get_messages": MessageList,
    },
    outcomes={
        "prompt": {
            "idle": [Outcome("run")],
            "*": [
                Outcome("queue", when=("streamingBehavior", ["steer", "followUp"])),
                Outcome(
                    "reject",
                    error="Agent is already processing. Use steer() or followUp() to queue messages, or wait for completion.",
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
        "abort_and_prompt": {
            "idle": [Outcome("run")],
            "*": [Outcome("preempt")],
        },
        "new_session": {
            "idle": [Outcome("control")],
            "*": [Outcome("preempt")],
        },
        "get_state": {
            "*": [Outcome("control")],
        },
        "set_todos": {
            "*": [Outcome("control")],
        },
        "set_host_tools": {
            "*": [Outcome("control")],
        },
        "set_locale": {
            "*": [Outcome("control")],
        },
        "get_integrations": {
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
        "set_interrupt_mode": {
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
        "branch": {
            "idle": [Outcome("control")],
            "*": [Outcome("preempt")],
        },
        "get_branch_messages": {
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
    },
    frame_limits=None,
    serial=True,
    overtaking=["abort", "abort_retry", "abort_bash"],
    answers={
        "select": "value",
        "confirm": "confirmed",
        "input": "value",
        "editor": "value",
    },
    zero_timeout_expires=True,
    settles=False,
    message=AssistantMessage,
    initial="idle",
    arrows=[
        Arrow("response", {"command": "prompt", "success": True}, "idle", "starting"),
        Arrow("response", {"command": "abort_and_prompt", "success": True}, "idle", "starting"),
        Arrow("agent_start", {}, "idle", "streaming.between"),
        Arrow("auto_compaction_start", {}, "idle", "compacting"),
        Arrow("auto_retry_start", {}, "idle", "retrying"),
        Arrow("response", {"command": "prompt", "success": False}, "starting", "idle"),
        Arrow("response", {"command": "abort_and_prompt", "success": False}, "starting", "idle"),
        Arrow("agent_start", {}, "starting", "streaming.between"),
        Arrow("auto_compaction_start", {}, "starting", "compacting"),
        Arrow("auto_retry_start", {}, "starting", "retrying"),
        Arrow("response", {"command": "new_session", "success": True}, "streaming.turn", "idle"),
        Arrow("response", {"command": "compact", "success": True}, "streaming.turn", "idle"),
        Arrow("response", {"command": "switch_session", "success": True}, "streaming.turn", "idle"),
        Arrow("response", {"command": "branch", "success": True}, "streaming.turn", "idle"),
        Arrow("message_start", {"role": "assistant"}, "streaming.turn", "streaming.message"),
        Arrow("response", {"command": "new_session", "success": True}, "streaming.message", "idle"),
        Arrow("response", {"command": "compact", "success": True}, "streaming.message", "idle"),
        Arrow("response", {"command": "switch_session", "success": True}, "streaming.message", "idle"),
        Arrow("response", {"command": "branch", "success": True}, "streaming.message", "idle"),
        Arrow("message_end", {"role": "assistant", "stopReason": "stop"}, "streaming.message", "streaming.tools"),
        Arrow("message_end", {"role": "assistant", "stopReason": "length"}, "streaming.message", "streaming.tools"),
        Arrow("message_end", {"role": "assistant", "stopReason": "toolUse"}, "streaming.message", "streaming.tools"),
        Arrow("message_end", {"role": "assistant", "stopReason": "error"}, "streaming.message", "streaming.tools"),
        Arrow("message_end", {"role": "assistant", "stopReason": "aborted"}, "streaming.message", "streaming.tools"),
        Arrow("response", {"command": "new_session", "success": True}, "streaming.tools", "idle"),
        Arrow("response", {"command": "compact", "success": True}, "streaming.tools", "idle"),
        Arrow("response", {"command": "switch_session", "success": True}, "streaming.tools", "idle"),
        Arrow("response", {"command": "branch", "success": True}, "streaming.tools", "idle"),
        Arrow("turn_end", {}, "streaming.tools", "streaming.between"),
        Arrow("response", {"command": "new_session", "success": True}, "streaming.between", "idle"),
        Arrow("response", {"command": "compact", "success": True}, "streaming.between", "idle"),
        Arrow("response", {"command": "switch_session", "success": True}, "streaming.between", "idle"),
        Arrow("response", {"command": "branch", "success": True}, "streaming.between", "idle"),
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
            "interruptMode": Member(shape=InterruptMode),
            "autoCompactionEnabled": Member(shape=bool),
            "autoRetryEnabled": Member(shape=bool),
            "sessionId": Member(shape=str),
            "sessionFile": Member(absent=True, shape=str),
            "sessionName": Member(absent=True, shape=str),
            "todoPhases": Member(is_list=True, shape=TodoPhase),
            "hostTools": Member(is_list=True, fresh=True, shape=str),
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
                Effect("reset", ["todoPhases"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionId"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionFile"], when=("data.cancelled", ["false"])),
            ],
            "set_todos": [
                Effect("set", ["todoPhases"], value="data.todoPhases"),
            ],
            "set_host_tools": [
                Effect("set", ["hostTools"], value="data.toolNames"),
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
            "set_interrupt_mode": [
                Effect("set", ["interruptMode"], value="command.mode"),
            ],
            "compact": [
                Effect("code", ["messages", "usage"], code="summarise"),
                Effect("forget", ["todoPhases"]),
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
                Effect("forget", ["todoPhases"], when=("data.cancelled", ["false"])),
            ],
            "branch": [
                Effect("forget", ["messages"], when=("data.cancelled", ["false"])),
                Effect("forget", ["usage"], when=("data.cancelled", ["false"])),
                Effect("forget", ["model"], when=("data.cancelled", ["false"])),
                Effect("forget", ["thinkingLevel"], when=("data.cancelled", ["false"])),
                Effect("forget", ["thinkingLevels"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionName"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionId"], when=("data.cancelled", ["false"])),
                Effect("forget", ["sessionFile"], when=("data.cancelled", ["false"])),
                Effect("forget", ["todoPhases"], when=("data.cancelled", ["false"])),
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
            "tool_execution_end": [
                Effect("forget", ["todoPhases"], when=("event.toolName", ["todo_write", "todo"])),
            ],
            "auto_compaction_end": [
                Effect("code", ["messages", "usage"], code="summarise"),
                Effect("forget", ["todoPhases"]),
            ],
            "auto_retry_start": [
                Effect("code", ["messages"], code="drop-failed"),
            ],
            "retry_fallback_applied": [
                Effect("forget", ["model"]),
                Effect("forget", ["thinkingLevel"]),
            ],
            "todo_auto_clear": [
                Effect("code", ["todoPhases"], code="clear-done-todo"),
            ],
        },
        tells={
            "get_state": {
                "autoCompactionEnabled": "data.autoCompactionEnabled",
                "followUpMode": "data.followUpMode",
                "interruptMode": "data.interruptMode",
                "model": "data.model",
                "sessionFile": "data.sessionFile",
                "sessionId": "data.sessionId",
                "sessionName": "data.sessionName",
                "steeringMode": "data.steeringMode",
                "thinkingLevel": "data.thinkingLevel",
                "todoPhases": "data.todoPhases",
            },
            "get_available_models": {"models": "data.models"},
            "get_session_stats": {
                "sessionFile": "data.sessionFile",
                "sessionId": "data.sessionId",
                "usage": "data.tokens",
            },
            "get_messages": {"messages": "data.messages"},
        },
        streaming={
            "idle": False,
            "starting": True,
            "streaming": True,
            "streaming.turn": True,
            "streaming.message": True,
            "streaming.tools": True,
            "streaming.between": True,
            "retrying": True,
            "compacting": True,
            "compacting_manual": False,
            "compacting_before_prompt": False,
        },
        compacting=["compacting", "compacting_manual", "compacting_before_prompt"],
        levels=Levels(["off", "minimal", "low", "medium", "high", "xhigh"], ["xhigh"], None, False),
        cleans_name="controls",
    ),
)
