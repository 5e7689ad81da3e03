"""Judgement of recordings by `pi-rpc check`, as the message of a test."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

TIME_LIMIT = 120.0
"""Seconds for `pi-rpc check`."""

END = 4096
"""Bytes at the end of a recording in which its last record is looked for."""

EARLY_EVENTS, BENT = "early-events", "ack-before-start"
"""The hazard that breaks a SHOULD, and its rule: that of the server is no failure then."""

SIDES = {"in": "client", "out": "server"}


class BrokenRulesError(AssertionError):
    """A client or its server has broken rules of the protocol, or nothing shows that they have kept them."""


def has_ended(recording: Path) -> bool:
    """Whether the last record is the exit of the server."""
    if not recording.exists():
        return False
    with recording.open("rb") as file:
        file.seek(max(0, recording.stat().st_size - END))
        last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    try:
        record = json.loads(last)
    except ValueError:
        return False
    return isinstance(record, dict) and record.get("dir") == "meta" and record["frame"].get("event") == "exit"


def judge(program: str, recordings: Mapping[Path, Collection[str]]) -> None:
    """Judges both sides of recordings, each with rules that its server may break.

    :raises BrokenRulesError: a MUST or a SHOULD is broken, or a recording cannot be judged."""
    if not recordings:
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "report.json")
        command = [program, "check", "--format", "json", "--report", str(file), *map(str, recordings)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
        if done.returncode == 0:
            return
        try:
            report = json.loads(file.read_text())
        except (OSError, ValueError):
            raise BrokenRulesError(f"{' '.join(command)} ends with {done.returncode}: {done.stderr.strip()}") from None
    judged = zip(report["subjects"], recordings.values())
    if lines := [line for subject, excused in judged for line in _lines(subject, excused)]:
        raise BrokenRulesError("\n".join(lines))


def _lines(subject: dict[str, Any], excused: Collection[str]) -> Iterator[str]:
    """What is wrong in one recording."""
    broken = [it for it in subject["findings"] if it["tier"] != "OBSERVED"]
    unexcused = [it for it in broken if it["rule"] not in excused]
    if subject["outcome"] == "passed" or (subject["outcome"] == "failed" and broken and not unexcused):
        return
    for finding in unexcused:
        yield from _finding(finding)
    if reason := subject.get("reason"):
        yield f"the conversation is not judged: {reason}"
    yield f"recording: {subject['name']}"


def _finding(finding: dict[str, Any]) -> Iterator[str]:
    times = f" ({finding['count']} times)" if finding["count"] > 1 else ""
    yield f"{finding['tier']} {finding['rule']}{times}: {finding['sentence']}"
    yield f"  {finding['kind']} while {finding['state']}: {finding['expected']}"
    # Without a pointer it says what the line above has said.
    difference = finding.get("difference")
    if difference and difference["pointer"]:
        yield f"  {difference['pointer']}: expected {difference['expected']}, got {difference['got']}"
    for quote in finding["excerpt"]:
        mark = ">" if quote["marked"] else "*" if quote.get("cause") else " "
        yield f"  {mark} {quote['record']} {SIDES.get(quote['direction'], quote['direction'])}: {quote['text']}"
