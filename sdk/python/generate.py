"""Makes the clients of all dialects from what `pi-rpc schema` prints: models, typed commands, tables.

    python generate.py [PATH OF pi-rpc] [--check]

With --check nothing is written; what differs is told, and the status is 1. Needs requirements.txt.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import black

from generate_models import Written

PACKAGE = Path(__file__).parent / "pi_rpc_client"
NOTE = "Made by generate.py from `pi-rpc schema --dialect {dialect}`; not to be changed by hand."
WIDTH = 120

Json = dict[str, Any]


def main(arguments: list[str]) -> int:
    check = "--check" in arguments
    program = next((it for it in arguments if it != "--check"), "pi-rpc")

    def schema(*options: str) -> str:
        return subprocess.run([program, "schema", *options], check=True, stdout=subprocess.PIPE, text=True).stdout

    stale, written = [], Written()
    for name, about in json.loads(schema("--format", "dialects")).items():
        meta = json.loads(schema("--dialect", name, "--format", "meta"))
        # Versions of a dialect have no client of their own.
        if about["base"] != name and not meta["record"]["startedAs"]:
            continue
        source = Source(name, json.loads(schema("--dialect", name)), meta)
        folder = PACKAGE / module(name)
        files = {
            "__init__.py": formatted(source.package()),
            "client.py": formatted(source.client()),
            "session.py": formatted(source.session()),
            "models.py": written.models(module(name), source.defs, source.note()),
            "tables.py": formatted(source.tables()),
        }
        for file, text in files.items():
            path = folder / file
            if path.exists() and path.read_text() == text:
                continue
            stale.append(path)
            if not check:
                folder.mkdir(exist_ok=True)
                path.write_text(text)
    for path in stale:
        print(f"{path} {'is not what generate.py makes' if check else 'written'}")
    return 1 if check and stale else 0


class Source:
    """A dialect: its JSON Schema, and what that cannot say."""

    def __init__(self, dialect: str, schema: Json, meta: Json) -> None:
        self.dialect, self.meta = dialect, meta
        self.defs: Json = schema["$defs"]
        self.commands: list[Json] = meta["commands"]

    def package(self) -> str:
        """`__init__.py`: the clients, and all models."""
        lines = [
            *('"""' + "\n".join(wrapped(self.meta["description"], 0))).split("\n"),
            "",
            f'{self.note()}"""',
            "",
            "from .client import AsyncClient as AsyncClient, Client as Client, Dialog as Dialog, Event as Event",
            "from .models import *",
            "from .session import State as State",
            "",
        ]
        return "\n".join(lines)

    def client(self) -> str:
        """`client.py`: a method for each command, with and without asyncio."""
        error = self.commands[0]["error"]
        event = [*self.families(), error, "UnknownEvent"]
        dialog = [it["def"] for it in self.meta["dialogs"] if "answer" in it]
        message = self.message()
        asynchronous = [line for command in self.commands for line in self.method(command, True)]
        synchronous = [line for command in self.commands for line in self.method(command, False)]
        lends = any(command["type"] == "set_host_tools" for command in self.commands)
        if lends:
            asynchronous.extend(LEND_ASYNC)
            synchronous.extend(LEND)
        pages = any(command["type"] == "get_messages_page" for command in self.commands)
        if pages:
            asynchronous.extend(PAGES_ASYNC)
            synchronous.extend(PAGES)
        of = f"[Event, {message}]"
        lines = [
            f'"""{self.note()}"""',
            "",
            "from __future__ import annotations",
            "",
            f"from collections.abc import {'AsyncIterator, Iterator, ' if pages else ''}Sequence",
            "from typing import Union",
            "",
            "from typing_extensions import TypeAlias",
            "",
            "from ..aio import Answer, AsyncClientBase",
            "from ..connection import UnknownEvent",
            *(["from ..host import HostTool"] if lends else []),
            "from ..sync import ClientBase",
            "from .models import *",
            "from .session import State",
            "from .tables import DIALECT",
            "",
            *union(
                "Event", event, "Event or UI request of the server, distinguished by `type`."
            ),
            "",
            *union("Dialog", dialog, "Dialog request for `on_dialog`, distinguished by `method`."),
            "",
            "",
            f"class AsyncClient(AsyncClientBase{of}):",
            f'    """Client of a server that speaks {self.dialect}, for asyncio."""',
            "",
            "    dialect = DIALECT",
            "    _session_type = State",
            *SESSION,
            *asynchronous,
            "",
            "",
            f"class Client(ClientBase{of}):",
            f'    """Client of a server that speaks {self.dialect}."""',
            "",
            "    _of = AsyncClient",
            *SESSION,
            *synchronous,
            "",
        ]
        return "\n".join(lines)

    def method(self, command: Json, waits: bool) -> list[str]:
        """The method of a command; of one that opens a run, another that waits for its end."""
        returns = self.result(command)
        name = identifier(command["type"])
        described = command["description"]
        if not command["leadsTo"]:
            return self.one(name, "_call", returns, described, command, waits)
        answer = f"Answer[{self.message()}]"
        run = (
            f"{described}\n\nWaits until the run, and what follows it by itself, such as queued messages, has ended: a "
            "queued prompt, and the prompt whose run delivers it, both return the text of the last answer."
        )
        ack = f"{described}\n\nWaits only until the command is accepted."
        return [
            *self.one(name, "_run", answer, run, command, waits),
            *self.one(f"start_{name}", "_call", returns, ack, command, waits),
        ]

    def one(self, name: str, by: str, returns: str, described: str, command: Json, waits: bool) -> list[str]:
        """One method, which calls `by` of the runtime."""
        request = self.defs[command["request"]]
        required: list[str] = []
        optional: list[str] = []
        given: list[str] = []
        told: list[str] = []
        for field, schema in request["properties"].items():
            if field in ("id", "type"):
                continue
            argument = identifier(snake(field))
            assert argument not in ("timeout", "anyway"), f"{command['type']} has a member of that name"
            kind = self.type(schema, argument=True)
            (required if field in request["required"] else optional).append(
                f"{argument}: {kind}" + ("" if field in request["required"] else " | None = None")
            )
            given.append(f'"{field}": {argument}')
            meant = schema.get("description") or self.defs[schema["$ref"].split("/")[-1]]["description"]
            told.extend(wrapped(f":param {argument}: {meant}", 8, "    "))
        anyway = self.refused(command)
        if anyway:
            told.append(
                "        :param anyway: Sends the command even if the server would refuse it; else raises `RefusedError`."
            )
        about = [line for part in described.split("\n\n") for line in ["", *wrapped(part, 8)]][1:]
        about[0] = f'        """{about[0].strip()}'
        call = f'{"await " if waits else ""}self.{by}("{command["type"]}", {{{", ".join(given)}}}, timeout'
        call += ", anyway)" if anyway else ")"
        body = [call] if returns == "None" else [f"result: {returns} = {call}", "return result"]
        arguments = ["self", *required, "*", *optional, *(["anyway: bool = False"] if anyway else [])]
        head = f"def {name}({', '.join([*arguments, 'timeout: float | None = None'])}) -> {returns}:"
        return [
            "",
            f"    {'async ' if waits else ''}{head}",
            *about,
            *(["", *told] if told else []),
            '        """',
            *(f"        {line}" for line in body),
        ]

    def tables(self) -> str:
        """`tables.py`: what the runtime has to know of the dialect."""
        events = self.event_types()
        results = {it["type"]: self.result(it) for it in self.commands if "data" in it}
        message = self.message()
        session = self.session_tables()
        flow = next(region for region in self.meta["chart"]["regions"] if region["name"] == "flow")
        ready = next((it["type"] for it in self.meta["events"] if it["family"] == "ReadyFrame"), None)
        lines = [
            f'"""{self.note()}"""',
            "",
            "from ..dialect import Arrow, Dialect, Effect, Levels, Member, Outcome, SessionTables",
            "from .models import *",
            "",
            "DIALECT = Dialect(",
            f"    name={self.dialect!r},",
            f"    opens_with={ready!r},",
            "    events={",
            *(f"        {name!r}: {kind}," for name, kind in events.items()),
            "    },",
            "    results={",
            *(f"        {name!r}: {kind}," for name, kind in results.items()),
            "    },",
            "    outcomes={",
            *(line for command in self.commands for line in self.outcomes(command)),
            "    },",
            f"    frame_limits={limits(self.meta['record'])!r},",
            f"    serial={self.meta['record']['dispatch'] != 'concurrent'!r},",
            f"    overtaking={[it['type'] for it in self.commands if it['control']]!r},",
            "    answers={",
            *(f"        {it['method']!r}: {it['answer']!r}," for it in self.meta["dialogs"] if "answer" in it),
            "    },",
            f"    zero_timeout_expires={self.meta['record']['dialogs']['zeroTimeoutExpires']!r},",
            f"    settles={self.meta['record']['streamingFlag'] == 'settled'!r},",
            f"    message={message},",
            f"    initial={flow['initial']!r},",
            "    arrows=[",
            *(
                f"        Arrow({on['type']!r}, {on.get('where', {})!r}, {step['from']!r}, {step['to']!r}),"
                for step in flow["transitions"]
                for on in step["on"]
            ),
            "    ],",
            *session,
            ")",
            "",
        ]
        return "\n".join(lines)

    def session(self) -> str:
        """`session.py`: the state of a session, member by member."""
        members: list[str] = []
        for member in self.meta["session"]["members"]:
            kind = self.type(member["schema"]) + (" | None" if member["absent"] else "")
            name = identifier(snake(member["name"]))
            members.extend(
                [
                    "",
                    "    @property",
                    f"    def {name}(self) -> {kind} | Unknown:",
                    *(f'        """{member["description"]}"""'.split("\n")),
                    f'        value: {kind} | Unknown = self._decoded("{member["name"]}")',
                    "        return value",
                ]
            )
        lines = [
            f'"""{self.note()}"""',
            "",
            "from __future__ import annotations",
            "",
            "from ..dialect import Dialect",
            "from ..session import Unknown",
            "from ..typed import TypedState",
            "from .models import *",
            "from .tables import DIALECT",
            "",
            "",
            "class State(TypedState):",
            f'    """State of a session that speaks {self.dialect}. {STATE}"""',
            "",
            "    def __init__(self, dialect: Dialect = DIALECT, *, fresh: bool = False) -> None:",
            '        """`fresh`: the server has just started, and all frames since are passed in."""',
            "        super().__init__(dialect, fresh=fresh)",
            *members,
            "",
        ]
        return "\n".join(lines)

    def session_tables(self) -> list[str]:
        """What the runtime has to know of the state of a session."""
        about, record = self.meta["session"], self.meta["record"]
        states = [it["name"] for it in self.meta["chart"]["regions"][0]["states"]]
        levels: list[str] = self.defs["ThinkingLevel"]["enum"]
        # Models that have a map have these only where it names them.
        extra = levels[levels.index("xhigh") :] if "xhigh" in levels else []
        without = None if record["levelWithoutThinking"] == "unset" else record["levelWithoutThinking"]
        told = {it["type"]: it["tells"] for it in self.commands if "tells" in it}
        return [
            "    session=SessionTables(",
            "        members={",
            *(f"            {it['name']!r}: {self.member(it)}," for it in about["members"]),
            "        },",
            "        commands={",
            *(line for it in self.commands if it["effects"] for line in effects(it)),
            "        },",
            "        events={",
            *(line for it in self.meta["events"] if it["effects"] for line in effects(it)),
            "        },",
            f"        tells={told!r},",
            f"        streaming={streaming(record['streamingFlag'], states)!r},",
            f"        compacting={[it for it in states if 'compacting' in it]!r},",
            f"        levels=Levels({levels!r}, {extra!r}, {without!r}, {record['levelFollowsModel']!r}),",
            f"        cleans_name={record['cleansSessionName']!r},",
            "    ),",
        ]

    def member(self, about: Json) -> str:
        schema = about["schema"]
        is_list = schema.get("type") == "array"
        given = {
            "kept": about["kept"] if about["kept"] != "value" else None,
            "is_list": is_list or None,
            "absent": about["absent"] or None,
            "fresh": about["fresh"] or None,
        }
        arguments = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        shape = self.type(schema["items"] if is_list else schema)
        return f"Member({', '.join([*arguments, f'shape={shape}'])})"

    def refused(self, command: Json) -> bool:
        """Whether there is a state in which it may be refused."""
        return any(it["disposition"] == "reject" for outcomes in command["states"].values() for it in outcomes)

    def outcomes(self, command: Json) -> list[str]:
        lines = [f"        {command['type']!r}: {{"]
        states = list(command["states"].values())
        # What becomes of it in most states stands once.
        most = max(states, key=states.count)
        by_state = {state: outcomes for state, outcomes in command["states"].items() if outcomes != most}
        for state, outcomes in {**by_state, "*": most}.items():
            made = []
            for it in outcomes:
                arguments = [repr(it["disposition"])]
                if "when" in it:
                    arguments.append(f"when=({it['when']['field']!r}, {it['when']['is']!r})")
                if "error" in it:
                    arguments.append(f"error={self.meta['errors'][it['error']]['text']!r}")
                made.append(f"Outcome({', '.join(arguments)})")
            lines.append(f"            {state!r}: [{', '.join(made)}],")
        return [*lines, "        },"]

    def families(self) -> list[str]:
        """What a server says by itself: the branches of `Outbound` but the responses."""
        branches = [it["$ref"].split("/")[-1] for it in self.defs["Outbound"]["oneOf"]]
        error = {"$ref": f"#/$defs/{self.commands[0]['error']}"}
        return [it for it in branches if error not in self.defs[it].get("oneOf", [])]

    def event_types(self) -> dict[str, str]:
        """What frames are decoded to, by `type`."""
        types = {"response": self.commands[0]["error"]}
        for family in self.families():
            tagged = self.defs[family].get("discriminator")
            if tagged is None:
                types[self.defs[family]["properties"]["type"]["const"]] = family
            elif tagged["propertyName"] == "type":
                types.update({tag: target.split("/")[-1] for tag, target in tagged["mapping"].items()})
            else:
                first = next(iter(tagged["mapping"].values())).split("/")[-1]
                types[self.defs[first]["properties"]["type"]["const"]] = family
        return types

    def message(self) -> str:
        """The model of a message of the assistant."""
        mapping: dict[str, str] = self.defs["AgentMessage"]["discriminator"]["mapping"]
        return mapping["assistant"].split("/")[-1]

    def result(self, command: Json) -> str:
        """The Python type of the data of a response."""
        if "data" not in command:
            return "None"
        is_required = "data" in self.defs[command["response"]]["required"]
        return self.type(command["data"]) + ("" if is_required else " | None")

    def type(self, schema: Json, argument: bool = False) -> str:
        """The Python type of a member."""
        if "$ref" in schema:
            name: str = schema["$ref"].split("/")[-1]
            return name
        if "oneOf" in schema:
            return " | ".join(self.type(branch) for branch in schema["oneOf"])
        if schema["type"] == "array":
            return f"{'Sequence' if argument else 'list'}[{self.type(schema['items'])}]"
        return {"string": "str", "boolean": "bool", "integer": "int", "number": "float", "null": "None"}[schema["type"]]

    def note(self) -> str:
        return NOTE.format(dialect=self.dialect)


SESSION = [
    "",
    "    @property",
    "    def session(self) -> State:",
    '        """State of the session, updated by every frame."""',
    "        session = self._session",
    "        assert isinstance(session, State)",
    "        return session",
]
LEND_ASYNC = [
    "",
    "    async def lend_tools(self, tools: Sequence[HostTool], *, timeout: float | None = None) -> None:",
    '        """Registers host tools, and replaces earlier ones: the model calls them, this side executes them."""',
    "        await self._lend(tools, timeout)",
]
PAGES_ASYNC = [
    "",
    "    async def read_messages(self, *, page_size: int | None = None, timeout: float | None = None) -> AsyncIterator[AgentMessage]:",
    '        """Messages of the conversation, oldest first, read page by page. Fails with the code `stale_cursor` if they',
    '        change meanwhile."""',
    "        cursor: str | None = None",
    "        while True:",
    "            page = await self.get_messages_page(cursor=cursor, limit=page_size, timeout=timeout)",
    "            for message in page.messages:",
    "                yield message",
    "            cursor = page.next_cursor",
    "            if cursor is None:",
    "                return",
]
PAGES = [line.replace("async def", "def").replace("await ", "").replace("AsyncIterator", "Iterator") for line in PAGES_ASYNC]
LEND = [line.replace("async def", "def").replace("await ", "") for line in LEND_ASYNC]


STATE = "An unknown member is `UNKNOWN`, one without a value is None."


def effects(about: Json) -> list[str]:
    """What a frame changes, as the tables have it."""
    lines = [f"            {about['type']!r}: ["]
    for it in about["effects"]:
        arguments = [repr(it["effect"]), repr(it["members"])]
        arguments += [f"{name}={it[name]!r}" for name in ("value", "code") if name in it]
        if "when" in it:
            arguments.append(f"when=({it['when']['field']!r}, {it['when']['is']!r})")
        lines.append(f"                Effect({', '.join(arguments)}),")
    return [*lines, "            ],"]


def streaming(flag: str, states: list[str]) -> dict[str, bool]:
    """What `isStreaming` is by state; of those that frames leave open, nothing."""
    busy = {
        "run": [],
        "busy": ["starting", "settling", "retrying", "compacting"],
        "settled": ["settling", "retrying", "compacting"],
    }[flag]
    open = [] if flag == "busy" else ["starting", "compacting_before_prompt"]
    return {it: it.startswith("streaming") or it in busy for it in states if it not in open}


def limits(record: Json) -> tuple[int, int] | None:
    """Bytes of a frame, and of one in chunks; None: no frame comes in chunks."""
    about = record["frameLimits"]
    return (about["frame"], about["reassembled"]) if about.get("frame") and about.get("reassembled") else None


def formatted(source: str) -> str:
    return black.format_str(source, mode=black.Mode(line_length=WIDTH))


def union(name: str, members: list[str], about: str) -> list[str]:
    members = sorted(set(members), key=members.index)
    return [f"{name}: TypeAlias = Union[", *(f"    {member}," for member in members), "]", f'"""{about}"""']


def module(dialect: str) -> str:
    return re.sub(r"\W", "_", dialect)


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[0].lower(), name)


def identifier(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def wrapped(paragraph: str, indent: int, further: str = "") -> list[str]:
    spaces = " " * indent
    return textwrap.wrap(paragraph, WIDTH - 5, initial_indent=spaces, subsequent_indent=spaces + further)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
