#!/usr/bin/env python3
"""Calls everything that a user interface has to answer or to show: to try a host out.

    pi-rpc serve -e examples/extensions/ui_check.py

/dlg KIND [MILLISECONDS]   a dialog: select, confirm, input or editor; tells what came back
/fire                      everything that wants no answer
/boom                      fails
/usermsg                   says something for the user
/shout                     emits an event whose handler fails
/killed                    runs a command that a signal ends, and tells its code
/bye                       asks the server to end

The tool `asker` asks the user before it answers, a bash command with the word `forbidden` is blocked, one with `asked first`
runs when the user agrees, and what begins with `!!boom` makes the hook for input fail. Where the working directory has a file
`says-start`, each start of a session is stored as an entry and shown.
"""

import json
import os
import subprocess

from pi_rpc_extension import Extension, block, result

ext = Extension()


def tell(ctx, what, value):
    """Shows a value as JavaScript writes it, so that the same check can be written there."""
    shown = "undefined" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    ctx.ui.notify("%s=%s" % (what, shown), "info")


@ext.command("dlg", "dialogs")
def dialog(ctx, arguments):
    words = arguments.split()
    kind = words[0] if words else ""
    timeout = float(words[1]) / 1000 if len(words) > 1 else None
    if kind == "select":
        answer = ctx.ui.select("Pick one", ["alpha", "beta"], timeout)
    elif kind == "confirm":
        answer = ctx.ui.confirm("Sure?", "Really do it?", timeout)
    elif kind == "input":
        answer = ctx.ui.input("Name?", "type here", timeout)
    elif kind == "editor":
        answer = ctx.ui.editor("Edit", "line1\nline2")
    else:
        answer = "no kind: " + arguments.strip()
    tell(ctx, kind, answer)


@ext.command("fire", "fire and forget")
def fire(ctx, arguments):
    ui = ctx.ui
    ui.notify("plain")
    ui.notify("w", "warning")
    ui.notify("e", "error")
    ui.set_status("k", "busy")
    ui.set_status("k")
    ui.set_widget("wid", ["l1", "l2"])
    ui.set_widget("wid", ["b"], "belowEditor")
    ui.set_widget("wid")
    ui.set_title("the title")
    ui.set_editor_text("draft")
    # Methods of pi's API that need a terminal, and have no answer over a pipe.
    tell(ctx, "getEditorText", "")
    tell(ctx, "hasUI", True)
    tell(ctx, "custom", None)


@ext.command("boom", "throws")
def boom(ctx, arguments):
    raise RuntimeError("boom happened")


@ext.command("usermsg", "sends a user message")
def user_message(ctx, arguments):
    ctx.send_user_message("from the extension")


@ext.command("shout", "emits an event whose handler fails")
def shout(ctx, arguments):
    ext.report("events:shout", "nobody may shout")
    tell(ctx, "shouted", True)


@ext.command("killed", "runs a command that a signal ends")
def killed(ctx, arguments):
    code = subprocess.run(["sh", "-c", "kill -TERM $$"]).returncode
    tell(ctx, "killed", code if code >= 0 else 128 - code)


@ext.command("bye", "asks for shutdown")
def bye(ctx, arguments):
    ctx.shutdown()


QUESTION = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


@ext.tool("asker", "asks the user", QUESTION, label="Asker")
def asker(ctx, arguments):
    agreed = ctx.ui.confirm("Tool asks", arguments["q"])
    return result("user said %s" % ("true" if agreed else "false"), details={"ok": agreed})


if os.path.exists("has-relay"):
    WHICH = {"type": "object", "properties": {"tool": {"type": "string"}, "arguments": {"type": "object"}}, "required": ["tool"]}

    @ext.tool("relay", "calls another tool", WHICH, label="Relay")
    def relay(ctx, arguments):
        made = ctx.call_tool(arguments["tool"], arguments.get("arguments", {}))
        return {"content": made["content"], "details": {}}


@ext.hook("tool_call")
def guard(ctx, event):
    if event["toolName"] == "bash" and "forbidden" in str(event["input"].get("command")):
        return block("blocked by test extension")
    if event["toolName"] == "bash" and "asked first" in str(event["input"].get("command")):
        if not ctx.ui.confirm("May it run?", event["input"]["command"]):
            return block("not agreed")


@ext.hook("input")
def heard(ctx, event):
    if event["text"].startswith("!!boom"):
        raise RuntimeError("input handler boom")


if os.path.exists("says-start"):

    @ext.hook("session_start")
    def started(ctx, event):
        ctx.append_entry("started", {"reason": event["reason"]})
        ctx.ui.notify("session_start " + event["reason"], "info")


ext.run()
