"""Reassembly of frames that come in chunks."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

from .dialect import Frame
from .errors import ProtocolError

MOST_CHUNKS = 256
LONGEST_ID = 128


@dataclass
class Series:
    """Chunks of a frame that is not complete yet."""

    id: str
    count: int
    byte_length: int
    next: int = 0
    data: bytearray = field(default_factory=bytearray)


class Chunks:
    """Series of chunks: those of a frame follow each other without another frame between them."""

    def __init__(self, limits: tuple[int, int] | None) -> None:
        """`limits`: bytes over which a frame may come in chunks, and of the largest frame; None: none does."""
        self._limits = limits
        self._series: Series | None = None

    def is_chunk(self, frame: Any) -> bool:
        """Whether a frame is a chunk.

        :raises ProtocolError: it is none, and a series is not complete."""
        if self._limits is None:
            return False
        if isinstance(frame, dict) and frame.get("type") == "rpc_chunk":
            return True
        if self._series is not None:
            raise self._broken("another frame")
        return False

    def add(self, chunk: Frame) -> bytes | None:
        """Takes a chunk, and returns the line of the frame that it completes.

        :raises ProtocolError: it is not the next one of its series."""
        series = self._series = self._series or self._begin(chunk)
        found = chunk.get("chunkId"), chunk.get("count"), chunk.get("byteLength"), chunk.get("index")
        if found != (series.id, series.count, series.byte_length, series.next):
            raise self._broken(f"chunk {found[3]} of {found[0]}")
        try:
            series.data += base64.b64decode(str(chunk.get("data")), validate=True)
        except (binascii.Error, ValueError):
            raise self._broken("data that is no base64") from None
        series.next += 1
        if len(series.data) > series.byte_length:
            raise self._broken(f"more than {series.byte_length} bytes")
        if series.next < series.count:
            return None
        self._series = None
        if len(series.data) != series.byte_length:
            raise ProtocolError(f"the chunks of {series.id} have {len(series.data)} bytes, not {series.byte_length}")
        return bytes(series.data)

    def _begin(self, chunk: Frame) -> Series:
        id, count, byte_length = chunk.get("chunkId"), chunk.get("count"), chunk.get("byteLength")
        least, most = self._limits or (0, 0)
        if not isinstance(id, str) or len(id) > LONGEST_ID:
            raise ProtocolError(f"chunkId: expected a text of at most {LONGEST_ID} characters")
        if not isinstance(count, int) or not 2 <= count <= MOST_CHUNKS:
            raise ProtocolError(f"count: expected 2 to {MOST_CHUNKS} chunks, got {count}")
        if not isinstance(byte_length, int) or not least <= byte_length <= most:
            raise ProtocolError(f"byteLength: expected {least} to {most} bytes, got {byte_length}")
        return Series(id, count, byte_length)

    def _broken(self, came: str) -> ProtocolError:
        series, self._series = self._series, None
        expected = "a chunk" if series is None else f"chunk {series.next} of {series.id}"
        return ProtocolError(f"expected {expected}, got {came}")
