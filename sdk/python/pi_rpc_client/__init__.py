"""A client of coding agents that speak RPC over a pipe, such as `pi --mode rpc`.

    from pi_rpc_client.pi import AsyncClient, Client

There is a package for each dialect, such as `pi_rpc_client.pi`, with models of all frames. Here is what they share.
"""

from .aio import Answer, Options
from .connection import UnknownEvent
from .errors import (
    CallError,
    CallTimeoutError,
    ClosedError,
    HostError,
    HostRefusedError,
    LaggingError,
    ProtocolError,
    RefusedError,
    RpcError,
)
from .feed import Events
from .host import DialogAnswer, HostTool, ToolCall
from .remote import Host
from .session import UNKNOWN, Permission, SessionState, Unknown

__all__ = [
    "Answer",
    "CallError",
    "CallTimeoutError",
    "ClosedError",
    "DialogAnswer",
    "Events",
    "Host",
    "HostError",
    "HostRefusedError",
    "HostTool",
    "LaggingError",
    "Options",
    "Permission",
    "ProtocolError",
    "RefusedError",
    "RpcError",
    "SessionState",
    "ToolCall",
    "UNKNOWN",
    "Unknown",
    "UnknownEvent",
]
