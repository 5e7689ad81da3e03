#!/usr/bin/env python3
"""Asks before a dangerous shell command is run.

    pi-rpc serve -e examples/extensions/permission_gate.py

A command that deletes recursively, becomes another user, rewrites what others have pulled, formats a disk, or runs what it
has just downloaded is shown to the user, who allows it once, allows exactly this command for the rest of the session, or
blocks it. Without an answer within a minute it is blocked, and so is a command that cannot be taken apart.

This guards against slips, not against a model that means harm: there are many ways to write a command.
"""

import re
import shlex

from pi_rpc_extension import Extension, block

DANGERS = [
    (r"\brm\s+(-\w+\s+)*(-\w*[rR]|--recursive)", "deletes folders with all that is in them"),
    (r"\bfind\b.*\s-delete\b", "deletes what it finds"),
    (r"(?<![\w.-])(sudo|doas|su)(?![\w.-])", "becomes another user"),
    (r"\bgit\s+push\b.*\s(-\w*f|--force\S*|--mirror|--delete|\+\S+)", "rewrites a remote branch"),
    (r"\bgit\s+(reset\s+--hard|clean\s+-\w*f|checkout\s+--\s)", "throws away changes"),
    (r"\b(mkfs\S*|fdisk|wipefs|shred)\b|\bdd\b.*\bof=", "overwrites a disk"),
    (r">\s*/dev/(sd|nvme|disk)", "overwrites a disk"),
    (r"\b(chmod|chown)\s+(-\w*R|--recursive)", "changes who may use whole folders"),
    (r"\b(curl|wget)\b.*\|\s*(\w+\s+)?\w*sh\b", "runs what it downloads"),
    (r"\b(shutdown|reboot|halt|poweroff)\b|\bkill\s+-\w+\s+(-1|1)\b", "stops the machine"),
    (r"\bDROP\s+(TABLE|DATABASE|SCHEMA)\b", "deletes a database"),
    (r":\s*\(\s*\)\s*\{.*\}\s*;\s*:", "fills the machine with processes"),
]

ONCE, ALWAYS, NEVER = "Allow once", "Allow this command for the session", "Block"

ext = Extension()
allowed = set()


def danger_of(command):
    """Reason why a command is dangerous; None if none is known."""
    try:
        words = " ".join(shlex.split(command, comments=True))
    except ValueError:
        return "cannot be taken apart (a quote without its end?)"
    # With the quotes and without: r"m" -r is rm -r.
    for pattern, danger in DANGERS:
        if re.search(pattern, command, re.I | re.S) or re.search(pattern, words, re.I | re.S):
            return danger
    return None


@ext.hook("tool_call")
def guard(ctx, event):
    if event["toolName"] != "bash":
        return None
    command = str(event["input"].get("command", ""))
    danger = danger_of(command)
    if danger is None or command in allowed:
        return None
    question = "This command %s:\n\n%s\n\nRun it?" % (danger, command)
    answer = ctx.ui.select(question, [ONCE, ALWAYS, NEVER], timeout=60)
    if answer == ALWAYS:
        allowed.add(command)
    if answer in (ONCE, ALWAYS):
        return None
    why = "the user blocked it" if answer == NEVER else "it was not allowed"
    return block("The command was not run: it %s, and %s. Do not try it in another way; ask the user." % (danger, why))


ext.run()
