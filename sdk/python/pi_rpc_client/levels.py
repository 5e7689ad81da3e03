"""Thinking levels of models, as far as known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .dialect import Levels


def clamped(levels: Levels, wanted: str | None, model: Any, listed: Any) -> tuple[bool, str | None]:
    """Level that results from a requested one, and whether it is known: the level itself, else the next higher, else
    the next lower that the model supports; None: none is set. `listed`: the levels of the model, if reported."""
    if isinstance(model, dict) and model.get("reasoning") is False:
        return True, levels.without_thinking
    if wanted is None:
        return isinstance(model, dict), None
    certain, possible = (listed, []) if isinstance(listed, list) else _of(levels, model)
    if wanted not in levels.all:
        return False, None
    place = levels.all.index(wanted)
    order = [*levels.all[place:], *reversed(levels.all[:place])]
    first = next((level for level in order if level in certain or level in possible), None)
    return first in certain, first


def _of(levels: Levels, model: Any) -> tuple[Sequence[str], Sequence[str]]:
    """Levels that a model certainly supports, and those that it may support."""
    every = levels.all
    if not isinstance(model, dict):
        return [], every
    thinking, named = model.get("thinking"), model.get("thinkingLevelMap")
    if isinstance(thinking, dict) and {thinking.get("minLevel"), thinking.get("maxLevel")} <= set(every):
        ends = [every.index(thinking[end]) for end in ("minLevel", "maxLevel")]
        within = [level for at, level in enumerate(every) if level == "off" or ends[0] <= at <= ends[1]]
        certain = [level for level in within if level == "off" or every.index(level) in ends]
        return certain, [level for level in within if level not in certain]
    if not isinstance(named, dict):
        return [], every
    takes = [level for level in every if (named[level] is not None if level in named else level not in levels.extra)]
    return takes, []
