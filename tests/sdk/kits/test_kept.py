"""Tests of a client that keeps the rules."""

import asyncio

from pi_rpc_client.pi_1 import AsyncClient, Client
from pi_rpc_client.testing import Servers

SCRIPT = {"turns": [{"say": [{"text": "Hello"}]}]}


def test_scripted_server_answers(pi_rpc: Servers) -> None:
    agent = pi_rpc.scripted(SCRIPT).start(Client)
    assert agent.prompt("Hi").text == "Hello"


def test_server_with_hazards_answers(pi_rpc: Servers) -> None:
    with Client(pi_rpc.hazards(SCRIPT, hazards=["chunks", "early-events", "unknown-events", "dialogs"], seed=7).command) as agent:
        assert agent.prompt("Hi").text == "Hello"


def test_recording_answers_as_it_did(pi_rpc: Servers) -> None:
    recorded = pi_rpc.scripted(SCRIPT)
    for server in [recorded, pi_rpc.replay(recorded.recording, options=["--strict"])]:
        with Client(server.command) as agent:
            assert agent.prompt("Hi").text == "Hello"
            assert agent.close() == 0


def test_asyncio_client_is_judged(pi_rpc: Servers) -> None:
    async def talk() -> str:
        async with AsyncClient(pi_rpc.scripted(SCRIPT).command) as agent:
            return (await agent.prompt("Hi")).text

    assert asyncio.run(talk()) == "Hello"


def test_server_without_judgement_need_not_start(pi_rpc: Servers) -> None:
    assert not pi_rpc.scripted(SCRIPT, judged=False).recording.exists()
