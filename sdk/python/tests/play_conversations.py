"""Every SDK plays the same conversations, with servers that are inconvenient."""

from __future__ import annotations

import asyncio
import importlib
import json
import pkgutil
import unittest
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any

import pi_rpc_client
from generate import module
from player import SDK, Player

SEEDS = {"async": 1, "sync": 2}
# `testing` is no dialect.
PACKAGES = [it.name for it in pkgutil.iter_modules(pi_rpc_client.__path__) if it.ispkg and it.name != "testing"]
DIALECTS = [importlib.import_module(f"pi_rpc_client.{it}.tables").DIALECT.name for it in PACKAGES]

AT_ONCE = 12
"""How many are played side by side: most of the time they wait."""


class Conversations(unittest.TestCase):
    """A test for each file, dialect and client."""

    players: dict[str, Callable[[], Player]] = {}
    playing: Future[None]

    def play(self) -> None:
        self.playing.result()


class Together(unittest.TestSuite):
    """Plays its tests side by side."""

    def run(self, result: unittest.TestResult, debug: bool = False) -> unittest.TestResult:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for test in self:
                assert isinstance(test, Conversations)
                player = test.players[test._testMethodName]()
                test.playing = pool.submit(lambda player: asyncio.run(player.play()), player)
            return super().run(result, debug)


def load_tests(loader: unittest.TestLoader, tests: Any, pattern: Any) -> unittest.TestSuite:
    return Together(loader.loadTestsFromTestCase(Conversations))


for file in sorted((SDK / "conversations").glob("*.json")):
    conversation = json.loads(file.read_text())
    for dialect in DIALECTS:
        if dialect in conversation.get("dialects", DIALECTS):
            for client, seed in SEEDS.items():
                name = f"test_{module(file.stem)}_{module(dialect)}_{seed}_{client}"
                Conversations.players[name] = partial(Player, conversation, dialect, seed, client == "async")
                setattr(Conversations, name, Conversations.play)

assert Conversations.players, "there are no conversations"
