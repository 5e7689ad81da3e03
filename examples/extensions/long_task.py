#!/usr/bin/env python3
"""A tool that takes its time: counts lines of text, by kind of file, below a folder.

    pi-rpc serve -e examples/extensions/long_task.py

The model can call `count_lines`; the host sees how far it has come, several times a second, and may abort it. There is a
command, too: `/lines` shows the same in a notice.
"""

import collections
import os
import time

from pi_rpc_extension import Extension, result

SKIPPED = {".git", "node_modules", "target", "__pycache__", ".venv"}
BETWEEN_UPDATES = 0.2

ext = Extension()


def count_lines(ctx, folder, show):
    """Counts, and calls `show` with a text now and then. `ctx.sleep` raises when the call is cancelled."""
    lines, files, shown = collections.Counter(), 0, time.monotonic()
    for directory, folders, names in os.walk(os.path.join(ctx.cwd, folder)):
        folders[:] = sorted(set(folders) - SKIPPED)
        for name in sorted(names):
            ctx.sleep()
            kind = os.path.splitext(name)[1] or "(without an ending)"
            try:
                with open(os.path.join(directory, name), "rb") as file:
                    lines[kind] += sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
            except OSError:
                continue  # A file that is gone or not readable counts nothing.
            files += 1
            if time.monotonic() - shown > BETWEEN_UPDATES:
                shown = time.monotonic()
                show("%d lines in %d files so far" % (sum(lines.values()), files))
    return lines, files


def told(lines, files):
    rows = ["%9d %s" % (count, kind) for kind, count in lines.most_common(20)]
    return "\n".join(["%d lines in %d files" % (sum(lines.values()), files)] + rows)


PARAMETERS = {
    "type": "object",
    "properties": {"folder": {"type": "string", "description": "Where to begin; the working directory if absent."}},
}


@ext.tool("count_lines", "Counts the lines of all files below a folder, by kind of file.", PARAMETERS, label="Count lines")
def tool(ctx, arguments):
    ctx.update("Counting…")
    lines, files = count_lines(ctx, arguments.get("folder", "."), ctx.update)
    return result(told(lines, files), details={"files": files, "lines": dict(lines)})


@ext.command("lines", "counts lines, by kind of file: /lines [FOLDER]")
def command(ctx, arguments):
    try:
        lines, files = count_lines(ctx, arguments.strip() or ".", lambda text: ctx.ui.set_status("lines", text))
    finally:
        ctx.ui.set_status("lines")
    ctx.ui.notify(told(lines, files))


ext.run()
