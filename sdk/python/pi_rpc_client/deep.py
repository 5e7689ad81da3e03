"""Reading of trees that are deeper than Python's recursion: a session of thousands of entries in a row."""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, get_args

from pydantic import TypeAdapter

from .frame import Frame

DEEPEST = 100_000
"""Most levels of lists and objects that are read."""

_SCALAR = re.compile(r'[^\s,:\]}"\[{]+')
_BLANKS = re.compile(r"[ \t\n\r]*")


def loads(text: str) -> Any:
    """Value of a JSON text of any depth. Raises `ValueError` for a text that is not JSON or has too many levels."""
    try:
        return json.loads(text)
    except RecursionError:
        return _read(text)


def _read(text: str) -> Any:
    """`json.loads` without recursion."""
    holder: list[Any] = []
    open: list[list[Any] | dict[str, Any]] = [holder]
    key: str | None = None
    at = 0

    def skip(at: int) -> int:
        found = _BLANKS.match(text, at)
        return found.end() if found else at

    def put(value: Any) -> None:
        into = open[-1]
        if isinstance(into, list):
            into.append(value)
        elif key is not None:
            into[key] = value

    def key_at(at: int) -> tuple[str, int]:
        if text[at : at + 1] != '"':
            raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
        name, at = scanstring(text, at + 1)
        at = skip(at)
        if text[at : at + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
        return name, skip(at + 1)

    while True:
        at = skip(at)
        mark = text[at : at + 1]
        if mark in ("[", "{") and mark:
            value: list[Any] | dict[str, Any] = [] if mark == "[" else {}
            put(value)
            at = skip(at + 1)
            if text[at : at + 1] != ("]" if mark == "[" else "}"):
                open.append(value)
                if len(open) > DEEPEST:
                    raise ValueError(f"more than {DEEPEST} levels")
                if isinstance(value, dict):
                    key, at = key_at(at)
                continue
            at += 1
        elif mark == '"':
            value, at = scanstring(text, at + 1)
            put(value)
        else:
            scalar = _SCALAR.match(text, at)
            if scalar is None:
                raise json.JSONDecodeError("Expecting value", text, at)
            put(json.loads(scalar.group()))
            at = scalar.end()
        # Behind a value: the end of what it is in, or the next value.
        while True:
            at = skip(at)
            mark = text[at : at + 1]
            into = open[-1]
            if into is holder:
                if mark:
                    raise json.JSONDecodeError("Extra data", text, at)
                return holder[0]
            if mark == ("]" if isinstance(into, list) else "}"):
                open.pop()
                at += 1
                continue
            if mark != ",":
                raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
            at = skip(at + 1)
            if isinstance(into, dict):
                key, at = key_at(at)
            break


def tree(shape: Any, data: Any) -> Any:
    """Typed value of a model that has a list of nodes which have lists of nodes, as `get_tree` returns. Each node is
    validated by itself. None if the model is no such one."""
    found = _nodes(shape)
    if found is None or not isinstance(data, dict):
        return None
    member, alias, node, below, below_alias = found
    whole = shape.model_validate({**data, alias: []})
    adapter = TypeAdapter(node)
    rest: list[tuple[Any, list[Any]]] = [(data.get(alias), getattr(whole, member))]
    while rest:
        given, into = rest.pop()
        for value in given if isinstance(given, list) else []:
            children = value.get(below_alias) if isinstance(value, dict) else None
            typed = adapter.validate_python({**value, below_alias: []} if isinstance(children, list) else value)
            into.append(typed)
            rest.append((children, getattr(typed, below)))
    return whole


def _nodes(shape: Any) -> tuple[str, str, type[Frame], str, str] | None:
    """The member with the roots, its name on the wire, the type of a node, and the same of the children."""
    if not (isinstance(shape, type) and issubclass(shape, Frame)):
        return None
    shape.model_rebuild(force=True)  # Resolves names of models that are defined further below.
    for member, field in shape.model_fields.items():
        for node in get_args(field.annotation):
            for below, inner in getattr(node, "model_fields", {}).items():
                if node in get_args(inner.annotation):
                    return member, field.alias or member, node, below, inner.alias or below
    return None
