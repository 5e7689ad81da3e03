"""JSON values: access by path, texts of contents, and structural sharing."""

from __future__ import annotations

from typing import Any


def place(value: Any, path: str) -> Any:
    """Value at a path of members; None if there is none."""
    for member in path.split("."):
        value = value.get(member) if isinstance(value, dict) else None
    return value


def text_of(content: Any) -> str | None:
    """Text of the content of a message: its text blocks, joined."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    return "".join(str(place(block, "text")) for block in content if place(block, "type") == "text")


def joined(before: Any, after: Any) -> Any:
    """`after`, in which every part that equals that of `before` is the same object."""
    if before is after or (type(before) is type(after) and before == after):
        return before
    if not isinstance(before, list) or not isinstance(after, list):
        return after
    same = zip(before, after)
    return [one if one == other else other for one, other in same] + after[len(before) :]
