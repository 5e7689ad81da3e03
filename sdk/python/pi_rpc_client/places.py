"""Values as JSON has them: what stands at a path, the text of a content, what of an earlier value can be kept."""

from __future__ import annotations

from typing import Any


def place(value: Any, path: str) -> Any:
    """What stands behind these members; None where there is nothing."""
    for member in path.split("."):
        value = value.get(member) if isinstance(value, dict) else None
    return value


def text_of(content: Any) -> str | None:
    """The text of a message's content, its blocks of text joined."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    return "".join(str(place(block, "text")) for block in content if place(block, "type") == "text")


def joined(before: Any, after: Any) -> Any:
    """`after`, with every part of it that is equal to that of `before` being the same object."""
    if before is after or (type(before) is type(after) and before == after):
        return before
    if not isinstance(before, list) or not isinstance(after, list):
        return after
    same = zip(before, after)
    return [one if one == other else other for one, other in same] + after[len(before) :]
