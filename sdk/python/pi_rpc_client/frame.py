"""The base class of all generated models."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Frame(BaseModel):
    """Base class of frames. Members are in snake_case here and in camelCase on the wire; unknown ones are in
    `model_extra`."""

    model_config = ConfigDict(
        extra="allow",
        validate_by_name=True,
        alias_generator=to_camel,
        use_attribute_docstrings=True,
    )
