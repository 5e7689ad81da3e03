"""Frames of a later version: they stop nothing, and come as they are."""

from __future__ import annotations

import sys
import unittest

from pi_rpc_client import UnknownEvent
from pi_rpc_client.omp import AsyncClient as Omp
from pi_rpc_client.pi import AsyncClient as Pi
from pi_rpc_client.pi_1 import AsyncClient as Pi1
from pi_rpc_client.xcsh import AsyncClient as Xcsh

LATER = """
import json, sys
def say(**frame): print(json.dumps(frame), flush=True)
say(type="ready", of_tomorrow=1)
for line in sys.stdin:
    command = json.loads(line)
    if command["type"] == "abort":
        say(type="of_tomorrow", level=7)
        say(type="extension_ui_request", id="d", method="hologram", title="T")
        say(type="agent_start", mood="calm")
        scent = {"role": "oracle", "content": [{"type": "scent"}]}
        say(type="message_update", message=scent, assistantMessageEvent={"type": "scent_delta"})
        say(type="agent_end", messages=[], mood="calm")
    say(id=command["id"], type="response", command=command["type"], success=True, took=3)
"""


class Future(unittest.IsolatedAsyncioTestCase):
    async def test_frames_of_later_version_stop_nothing(self) -> None:
        for client in (Pi, Pi1, Xcsh, Omp):
            with self.subTest(client.dialect.name):
                async with client([sys.executable, "-S", "-E", "-c", LATER]) as agent:
                    events = agent.events()
                    await agent.abort()
                # Only some dialects know the first frame, and what the last one must have differs.
                heard = [event async for event in events][-5:]
                self.assertEqual([event.type for event in heard[:4]], ["unknown", "unknown", "agent_start", "unknown"])
                assert isinstance(heard[0], UnknownEvent)
                self.assertEqual(heard[0].frame, {"type": "of_tomorrow", "level": 7})


if __name__ == "__main__":
    unittest.main()
