"""Tests that pass, but for what the client has sent."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from pi_rpc_client import CallError
from pi_rpc_client.pi_1 import Client
from pi_rpc_client.testing import Servers

SCRIPT = {"turns": []}


@pytest.fixture
def agent(pi_rpc: Servers) -> Iterator[Client]:
    with Client(pi_rpc.scripted(SCRIPT).command) as client:
        yield client


def test_command_lacks_a_member(pi_rpc: Servers) -> None:
    agent = pi_rpc.scripted(SCRIPT).start(Client)
    with pytest.raises(CallError):
        agent.call("set_session_name", {})


def test_client_of_a_fixture_is_judged_later(agent: Client) -> None:
    with pytest.raises(CallError):
        agent.call("set_session_name", {})


def test_other_client_sends_no_frame(pi_rpc: Servers) -> None:
    done = subprocess.run(pi_rpc.scripted(SCRIPT).command, input=b"hello\n", stdout=subprocess.PIPE)
    assert json.loads(done.stdout)["success"] is False


def test_that_fails_has_judgement_beside(pi_rpc: Servers) -> None:
    agent = pi_rpc.scripted(SCRIPT).start(Client)
    agent.call("set_session_name", {})


def test_server_was_not_started(pi_rpc: Servers) -> None:
    pi_rpc.scripted(SCRIPT)
