#!/usr/bin/env python3
"""Asks before a new session takes the place of the one that is open.

    pi-rpc serve -e examples/extensions/confirm_new_session.py

A host's `new_session` then shows a dialog first. If the user says no, or closes it, the session stays, and the host's
response has `cancelled: true`. Changing to a session that exists already is not asked about.
"""

from pi_rpc_extension import Extension, cancel

ext = Extension()


@ext.hook("session_before_switch")
def ask(ctx, event):
    if event["reason"] == "new":
        if not ctx.ui.confirm("Begin a new session?", "The one that is open is kept, but left."):
            return cancel()
    return None


ext.run()
