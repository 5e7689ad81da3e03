"""What goes wrong. Everything derives from `RpcError`."""

from __future__ import annotations


class RpcError(Exception):
    """Anything that this package raises by itself."""


class CallError(RpcError):
    """The server has refused a command, or it has failed."""

    def __init__(self, command: str, error: str) -> None:
        super().__init__(f"{command}: {error}")
        self.command = command
        """The `type` of the command, as the server names it."""
        self.error = error
        """The server's text."""


class RefusedError(RpcError):
    """The command was not sent: the server would refuse it in its present state."""

    def __init__(self, command: str, state: str, error: str) -> None:
        super().__init__(f"{command} was not sent while the server is in state {state}: {error}")
        self.command = command
        self.state = state
        """The state of the server, a name of the chart such as `streaming.tools`."""
        self.error = error
        """The text that the server would answer with."""


class CallTimeoutError(RpcError, TimeoutError):
    """What was waited for did not come in time. The server goes on with it all the same."""


class ClosedError(RpcError):
    """The server is gone, or was never there."""

    def __init__(self, message: str, status: int | None = None, stderr: str = "") -> None:
        super().__init__(f"{message}\n{stderr}".rstrip())
        self.status = status
        """The exit status, as `subprocess` counts: below zero for a signal; None where none is known."""
        self.stderr = stderr
        """The last that the server wrote there."""


class LaggingError(RpcError):
    """A subscription was read too slowly while everything had to be read. It has ended, and what was unread is dropped."""


class ProtocolError(RpcError):
    """The server has said something that the protocol does not know, in answer to a command."""
