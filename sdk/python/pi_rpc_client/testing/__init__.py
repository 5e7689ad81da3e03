"""Servers for tests of clients, and the judgement of what both sides wrote.

The plugin of pytest (`pip install "pi-rpc-client[testing]"`) has them as the fixture `pi_rpc`:

    def test_client_prints_the_answer(pi_rpc):
        server = pi_rpc.scripted({"turns": [{"say": [{"text": "Hello"}]}]})
        with Client(server.command) as agent:
            assert agent.prompt("Hi").text == "Hello"

With another runner, make `Servers` and call `judge` at the end. Needs the program `pi-rpc`.
"""

from .judgement import BrokenRulesError
from .servers import Server, Servers

__all__ = ["BrokenRulesError", "Server", "Servers"]
