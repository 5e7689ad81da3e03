"""Compares what is known of a session with what its server says of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from pi_rpc_client import UNKNOWN, RpcError
from pi_rpc_client.aio import AsyncClientBase

COMPARED: Counter[str] = Counter()
"""How often a value that was known, and not an empty list, was told, over all conversations, by member."""


class Comparison:
    """Asks the server after every frame, as soon as the answer before is there. What a response tells is compared where no
    frame came between that may have changed it."""

    def __init__(self, client: AsyncClientBase[Any, Any]) -> None:
        self.client = client
        self.wrong: list[str] = []
        self.asked = 0
        """How many commands it has sent."""
        self._wanted = asyncio.Event()
        client._session.mismatch = self._differ

    def begin(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Begins, in the client's loop where that is another."""
        if loop is None:
            self._tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._ask())]
        else:
            asyncio.run_coroutine_threadsafe(self._both(), loop)

    async def _both(self) -> None:
        await asyncio.gather(self._follow(), self._ask())

    async def _follow(self) -> None:
        async for _ in self.client.events():
            self._wanted.set()

    async def _ask(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                await asyncio.gather(self._compare("get_state"), self._compare("get_messages"))
            except RpcError:
                return  # A server that has ended says nothing more.

    async def _compare(self, command: str) -> None:
        session = self.client._session
        before, moves, was_on = session.known(), session.flow.moves, self._flags()
        self.asked += 1
        told = await self.client.call(command)
        after, is_on = session.known(), self._flags()

        def same(name: str) -> bool:
            return name in before and before[name] is after.get(name, UNKNOWN)

        COMPARED.update(name for name in after if same(name) and name in told and after[name] != [])
        if command != "get_state":
            return
        if same("steering") and same("followUp"):
            waiting = len(before["steering"]) + len(before["followUp"])
            count = told.get("pendingMessageCount", told.get("queuedMessageCount"))
            COMPARED["waiting"] += waiting > 0
            if count != waiting:
                self._differ("steering and followUp", waiting, count)
        # What a server prepares or goes on with by itself, frames do not tell.
        for flag in was_on & is_on if moves == session.flow.moves else ():
            COMPARED[flag] += 1
            if told[flag] is not True:
                self._differ(flag, True, told[flag])

    def _flags(self) -> set[str]:
        session = self.client._session
        flags = {"isStreaming": session.is_streaming, "isCompacting": session.is_compacting}
        return {name for name, is_on in flags.items() if is_on is True}

    def _differ(self, member: str, known: Any, told: Any) -> None:
        self.wrong.append(f"{member}: known {known!r}, told {told!r}")
