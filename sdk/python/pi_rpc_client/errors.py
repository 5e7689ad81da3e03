"""The errors of this package, all derived from `RpcError`."""

from __future__ import annotations


class RpcError(Exception):
    """Base class of the errors of this package."""


class CallError(RpcError):
    """A command was refused or failed."""

    def __init__(self, command: str, error: str, code: str | None = None) -> None:
        super().__init__(f"{command}: {error}")
        self.command = command
        """`type` of the command, as in the response."""
        self.error = error
        """Error text of the server."""
        self.code = code
        """Kind of the error, such as `session_busy`; None where the server names none."""


class RefusedError(RpcError):
    """A command was not sent, as the server would refuse it in its present state."""

    def __init__(self, command: str, state: str, error: str) -> None:
        super().__init__(f"{command} was not sent while the server is in state {state}: {error}")
        self.command = command
        self.state = state
        """State of the chart, such as `streaming.tools`."""
        self.error = error
        """Error text of the refusal."""


class CallTimeoutError(RpcError, TimeoutError):
    """A time limit was reached. The server continues with the command."""


class ClosedError(RpcError):
    """The server has exited, or could not be started."""

    def __init__(self, message: str, status: int | None = None, stderr: str = "") -> None:
        super().__init__(f"{message}\n{stderr}".rstrip())
        self.status = status
        """Exit status as in `subprocess`: negative for a signal; None if unknown."""
        self.stderr = stderr
        """End of stderr."""


class HostError(ClosedError):
    """There is no connection to a host: nobody listens there, or it could not be made again."""


class HostRefusedError(HostError):
    """A host has refused a connection, such as one without a token that it knows."""

    def __init__(self, address: str, http_status: int, reason: str) -> None:
        super().__init__(f"{address}: the host has refused the connection ({http_status}): {reason}")
        self.http_status = http_status
        """Status of HTTP: 401 for a token that is missing or wrong."""
        self.reason = reason
        """The host's own word for it."""


class LaggingError(RpcError):
    """A subscription was read too slowly while calls were open. It has ended, and unread events are dropped."""


class ProtocolError(RpcError):
    """The response to a command does not conform to the protocol."""
