"""The members of the session state as models."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from .errors import ProtocolError
from .session import UNKNOWN, SessionState


class TypedState(SessionState):
    """Decodes members on access; unchanged parts are the same objects."""

    _cache: dict[str, tuple[Any, Any]]

    def _decoded(self, name: str) -> Any:
        raw = self.get(name)
        if raw is UNKNOWN or raw is None:
            return raw
        cache = self.__dict__.setdefault("_cache", {})
        before, decoded = cache.get(name, (None, None))
        if before is not raw:
            decoded = self._decode(name, raw, before, decoded)
            cache[name] = (raw, decoded)
        return decoded

    def _decode(self, name: str, raw: Any, before: Any, decoded: Any) -> Any:
        about = self._tables.members[name]
        adapter = _adapter(about.shape)
        try:
            if not about.is_list:
                return adapter.validate_python(raw)
            # Messages are appended one by one, so that decoded ones are kept.
            kept = 0
            while kept < min(len(raw), len(before or ())) and raw[kept] is before[kept]:
                kept += 1
            return [*(decoded or [])[:kept], *(adapter.validate_python(item) for item in raw[kept:])]
        except ValidationError as error:
            raise ProtocolError(f"{name} is not what the protocol says: {error}") from error


@lru_cache(maxsize=None)
def _adapter(shape: Any) -> TypeAdapter[Any]:
    return TypeAdapter(shape)
