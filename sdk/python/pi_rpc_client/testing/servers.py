"""Servers of `pi-rpc` behind a tap that records what both sides write."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, Union

from typing_extensions import TypeAlias, Unpack

from ..aio import Options
from ..sync import ClientBase
from . import judgement
from .judgement import BrokenRulesError

Script: TypeAlias = Union[Mapping[str, Any], "str | os.PathLike[str]"]
"""What the model answers: the content of a script (`pi-rpc schema --format script`), or a file that has it."""

C = TypeVar("C", bound=ClientBase[Any, Any])


@dataclass
class Server:
    """Server that a client under test starts."""

    command: list[str]
    """Program and arguments."""
    recording: Path
    """What both sides have written, once the server was started."""
    folder: Path
    """Empty folder, in which `start` starts the server."""
    dialect: str | None
    """Dialect that the server speaks; None: that of a recording."""
    judged: bool = True
    """Whether the conversation is judged at the end of the test."""
    excused: tuple[str, ...] = ()
    """Rules that may be broken."""
    _clients: list[ClientBase[Any, Any]] = field(default_factory=list, repr=False)

    def start(self, client: type[C], **options: Unpack[Options]) -> C:
        """Starts the server with a client of this package, which is closed at the end of the test."""
        if self.dialect not in (None, client._of.dialect.name):
            raise ValueError(f"the server speaks {self.dialect}, and the client {client._of.dialect.name}")
        options.setdefault("cwd", self.folder)
        started = client(self.command, **options)
        started.start()
        self._clients.append(started)
        return started

    def close(self) -> None:
        """Closes the clients that `start` has made."""
        while self._clients:
            self._clients.pop().close()


class Servers:
    """The servers of a test."""

    def __init__(self, folder: str | os.PathLike[str], program: str | None = None) -> None:
        """Scripts and recordings are kept in `folder`; `program` is the path of pi-rpc, by default that of `PI_RPC_BIN`, else
        the one in `PATH`."""
        self.program = program or os.environ.get("PI_RPC_BIN") or "pi-rpc"
        self._folder = Path(folder).absolute()
        self._servers: list[Server] = []

    def scripted(
        self, script: Script, *, dialect: str = "pi-1", options: Sequence[str] = (), judged: bool = True
    ) -> Server:
        """Server whose model answers what `script` has. `options` are further ones of `pi-rpc serve`."""
        serve = ["serve", "--dialect", dialect, "--no-session", "--model", f"scripted/{self._script(script)}", *options]
        return self._add(serve, dialect, judged)

    def hazards(
        self,
        script: Script,
        *,
        hazards: Sequence[str] = ("all",),
        seed: int = 0,
        dialect: str = "pi-1",
        options: Sequence[str] = (),
        judged: bool = True,
    ) -> Server:
        """The same, legal and inconvenient: `hazards` are those of `pi-rpc serve --hazard`, and the same `seed` is the same
        conversation."""
        hazard = ["--hazard", ",".join(hazards), "--seed", str(seed)]
        server = self.scripted(script, dialect=dialect, options=[*hazard, *options], judged=judged)
        if {"all", judgement.EARLY_EVENTS} & set(hazards):
            server.excused = (judgement.BENT,)
        return server

    def replay(self, recording: str | os.PathLike[str], *, options: Sequence[str] = (), judged: bool = True) -> Server:
        """Server that answers what the one in a recording has answered. `options` are further ones of `pi-rpc replay`."""
        return self._add(["replay", *options, str(Path(recording).absolute())], None, judged)

    def close(self) -> None:
        """Closes the clients that `Server.start` has made."""
        for server in self._servers:
            server.close()

    def judge(self) -> None:
        """Judges the conversations that are not judged yet.

        :raises BrokenRulesError: either side has broken a rule, or a conversation cannot be judged."""
        self._judge(self._servers)

    def judge_ended(self) -> None:
        """The same for those conversations whose server has ended."""
        self._judge([it for it in self._servers if judgement.has_ended(it.recording)])

    def _judge(self, servers: Sequence[Server]) -> None:
        judged = [it for it in servers if it.judged]
        for server in judged:
            server.judged = False
        if missing := [it for it in judged if not it.recording.exists()]:
            raise BrokenRulesError(
                f"no conversation to judge: {' '.join(missing[0].command)} was not started (judged=False leaves it out)"
            )
        judgement.judge(self.program, {it.recording: it.excused for it in judged})

    def _script(self, script: Script) -> Path:
        if not isinstance(script, Mapping):
            return Path(script).absolute()
        file = self._folder / f"script-{len(self._servers) + 1}.json"
        file.write_text(json.dumps(script))
        return file

    def _add(self, arguments: list[str], dialect: str | None, judged: bool) -> Server:
        program = shutil.which(self.program)
        if program is None:
            raise FileNotFoundError(
                f"{self.program}: there is no such program; install pi-rpc, or set PI_RPC_BIN to its path"
            )
        number = len(self._servers) + 1
        recording, folder = self._folder / f"{number}.jsonl", self._folder / f"folder-{number}"
        folder.mkdir()
        spoken = [] if dialect is None else ["--dialect", dialect]
        # Violations are told at the end of the test, not on the server's stderr.
        tap = ["tap", *spoken, "--record", str(recording), "--report", os.devnull, "--"]
        server = Server([program, *tap, program, *arguments], recording, folder, dialect, judged)
        self._servers.append(server)
        return server
