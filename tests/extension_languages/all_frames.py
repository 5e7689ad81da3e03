#!/usr/bin/env python3
"""An extension that uses every frame: what came of each is shown by `notify`, the types of the frames are in frames.json."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Set, Union

from pi_rpc_extension import Context, Extension, result

if TYPE_CHECKING:
    import pi_rpc_frames as frames

Json = Dict[str, Any]


class Recorder(Extension):
    """Writes down which frames there were."""

    def __init__(self) -> None:
        self.types: Dict[str, Set[str]] = {"sent": set(), "received": set()}
        super().__init__()

    def _record(self, way: str, frame: Json) -> None:
        with self._lock:
            self.types[way].add(frame["type"])
            with open("frames.json", "w") as file:
                json.dump({way: sorted(types) for way, types in self.types.items()}, file)

    def _send(self, frame: Json) -> None:
        self._record("sent", frame)
        super()._send(frame)

    def _receive(self, frame: Json) -> None:
        self._record("received", frame)
        super()._receive(frame)


ext = Recorder()
seen: List[str] = []
told: List[List[str]] = []
works, over, changed = threading.Event(), threading.Event(), threading.Event()
asks: List[Context] = []
LAB = {"baseUrl": "http://nowhere", "apiKey": "none", "api": "lab-api", "models": [{"id": "mine"}, {"id": "slow"}]}
FAR = {"baseUrl": "http://nowhere", "apiKey": "far-away-key", "api": "openai-completions", "models": [{"id": "far"}]}


@ext.model("lab", LAB)
def think(ctx: Context, call: frames.ExtensionModelCall) -> Iterator[Union[str, Json]]:
    if call["model"]["id"] == "slow":
        ctx.sleep(1000)
    last = call["messages"][-1]
    content = last.get("content")
    text = content if isinstance(content, str) else content[0].get("text") if content else ""
    if last["role"] != "user" or text not in ("work", "work long"):
        yield "I have "
        yield "nothing to do."
        return
    wanted = {"type": "toolCall", "id": "call_1", "name": "work", "arguments": {"for": 1000 if text == "work long" else 0}}
    yield {"type": "toolcall_start", "contentIndex": 0}
    yield {"type": "toolcall_end", "contentIndex": 0, "toolCall": wanted}
    usage: Json = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2}
    usage["cost"] = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
    message = {
        "role": "assistant", "content": [wanted], "api": "lab-api", "provider": "lab", "model": "mine", "usage": usage,
        "stopReason": "toolUse", "timestamp": 1,
    }
    yield {"type": "done", "reason": "toolUse", "message": message}


@ext.tool("work", "works", {"type": "object"}, snippet="works", guidelines=["Work."], sequential=True)
def work(ctx: Context, arguments: Json) -> frames.AgentToolResult:
    ctx.update("begun")
    works.set()
    ctx.sleep(arguments["for"])
    return result("worked", {"for": arguments["for"]})


@ext.hook("tool_result")
def result_of(ctx: Context, event: frames.ToolResultHook) -> Optional[frames.HookResult]:
    return {"details": {"seen": event["toolName"]}} if not event["isError"] else None


@ext.hook("mcp_servers_change")
def servers_change(ctx: Context, event: frames.McpServersHook) -> None:
    told.append([server["name"] for server in event["servers"]])
    changed.set()


@ext.on("turn_end", wait=True)
def turn_ends(ctx: Context, event: Json) -> None:
    seen.append(event["type"])


@ext.on("agent_end")
def agent_ends(ctx: Context, event: Json) -> None:
    over.set()


def show(ctx: Context, what: str, value: Callable[[], Any]) -> None:
    try:
        shown = json.dumps(value())
    except RuntimeError as error:
        shown = "failed: %s" % error
    ctx.ui.notify("%s: %s" % (what, shown))


@ext.command("session", "changes the session")
def session(ctx: Context, arguments: str) -> None:
    over.wait()
    ctx.ui.notify("seen: %s" % seen)
    ctx.send_message("note", "A note.", display=False)
    ctx.append_entry("mark", {"line": 12})
    ctx.set_session_name("named")
    ctx.set_model("lab", "mine")
    ctx.set_thinking_level("low")
    ctx.set_active_tools(["read", "work"])
    first = ctx.entries()["entries"][0]["id"]
    ctx.set_label(first, "the first")
    state = ctx.state()
    ctx.ui.notify("state: %s" % [state.get("sessionName"), state["activeTools"], state["isIdle"]])
    ctx.ui.notify("entries: %s" % [entry["type"] for entry in ctx.entries(state["entryCount"] - 3)["entries"]])
    ctx.set_leaf(ctx.state()["leafId"])


@ext.command("ask", "asks for everything")
def ask(ctx: Context, arguments: str) -> None:
    ctx.register_provider("far", FAR)
    far = [it["model"]["id"] for it in ctx.models()["models"] if it["model"]["provider"] == "far"]
    show(ctx, "models", lambda: far)
    show(ctx, "key", lambda: ctx.api_key("far").get("apiKey"))
    ctx.unregister_provider("far")
    show(ctx, "gone", lambda: [it for it in ctx.models()["models"] if it["model"]["provider"] == "far"])
    show(ctx, "virtual", lambda: virtual(ctx))
    show(ctx, "removed", lambda: ctx.unregister_virtual_model("far", "routed"))
    show(ctx, "tools", lambda: [it["name"] for it in ctx.tools() if it.get("path")])
    show(ctx, "commands", lambda: sorted(it["name"] for it in ctx.commands() if it["source"] == "extension"))
    show(ctx, "settings", lambda: ctx.settings()["compaction"])
    show(ctx, "prompt", lambda: "Work." in ctx.system_prompt()["systemPrompt"])
    show(ctx, "ran", lambda: ctx.run_tool("bash", {"command": "echo out"})["content"])
    show(ctx, "called", lambda: ctx.call_tool("bash", {"command": "echo out"})["content"])
    show(ctx, "servers", lambda: servers(ctx))
    message: Json = {"role": "user", "content": "Hi", "timestamp": 1}
    show(ctx, "completed", lambda: ctx.complete("lab", "mine", [message], timeout=100)["content"])
    ext.report("check", "only a check")
    show(ctx, "withdrawn", lambda: ctx.complete("lab", "slow", [message], timeout=0)["errorMessage"])


def servers(ctx: Context) -> List[List[str]]:
    ext.mcp_server("later", {"command": "true", "enabled": False})
    changed.wait()
    return told


def virtual(ctx: Context) -> List[str]:
    ctx.register_virtual_model("far", "routed", "Routed", levels=["off", "high"])
    return [it["model"]["id"] for it in ctx.models()["models"] if it["model"]["provider"] == "far"]


@ext.command("run", "aborts a run of its own")
def run(ctx: Context, arguments: str) -> None:
    ctx.set_active_tools(["work"])
    works.clear()
    ctx.send_user_message("work long")
    works.wait()
    ctx.abort()
    ctx.wait_for_idle()
    show(ctx, "idle", lambda: ctx.state()["isIdle"])


@ext.command("compact", "compacts")
def compact(ctx: Context, arguments: str) -> None:
    show(ctx, "compacted", lambda: ctx.compact("Be brief.")["summary"])


@ext.command("leave", "goes from session to session")
def leave(ctx: Context, arguments: str) -> None:
    file = ctx.state()["sessionFile"]
    begun: Json = {"role": "user", "content": "Begun."}
    show(ctx, "new", lambda: ctx.new_session(entries=[begun]))
    show(ctx, "messages", lambda: [it["message"]["content"] for it in messages(ctx)])
    show(ctx, "forked", lambda: ctx.fork(messages(ctx)[0]["id"], "at"))
    show(ctx, "back", lambda: ctx.switch_session(file))
    users = [it for it in messages(ctx) if it["message"]["role"] == "user"]
    show(ctx, "moved", lambda: ctx.navigate_tree(users[-1]["id"], label="here"))
    show(ctx, "left", lambda: ctx.state()["leafId"] != users[-1]["id"])


def messages(ctx: Context) -> List[Json]:
    return [entry for entry in ctx.entries()["entries"] if entry["type"] == "message"]


@ext.command("dialog", "waits for an answer")
def dialog(ctx: Context, arguments: str) -> None:
    asks.append(ctx)
    ctx.ui.notify("%s: %s" % (arguments, ctx.ui.input(arguments)))


@ext.command("take", "takes the last dialog back")
def take(ctx: Context, arguments: str) -> None:
    asks[-1].ui.cancel()


@ext.command("bye", "ends the server")
def bye(ctx: Context, arguments: str) -> None:
    ctx.shutdown()


ext.run()
