"""Writes the pydantic models of frames and session files, each model once: a dialect imports what another has alike."""

from __future__ import annotations

import keyword
import re
import textwrap
from typing import Any, Callable

from pydantic.alias_generators import to_camel

Json = dict[str, Any]
WIDTH = 120

# What a host meets; what extensions are told and may say is no part of a client.
ROOTS = ["Inbound", "Outbound", "SessionHeader", "SessionEntry"]

HEAD = '''"""{note}"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from ..frame import Frame
'''


class Written:
    """The dialects written so far: the module of each, and its defs."""

    def __init__(self) -> None:
        self._dialects: list[tuple[str, Json]] = []

    def models(self, module: str, defs: Json, note: str) -> str:
        """`models.py` of one more dialect: imports of the models that an earlier one has, then its own."""
        within = closure(ROOTS, defs)
        defs = {name: schema for name, schema in defs.items() if name in within}
        own = list(defs)
        imported: dict[str, list[str]] = {}
        for earlier, known in self._dialects:
            same = [name for name in own if self._is_same(name, defs, known)]
            imported[earlier] = same
            own = [name for name in own if name not in same]
        self._dialects.append((module, defs))
        lines = [HEAD.format(note=note).rstrip()]
        for earlier, names in imported.items():
            if names:
                lines.extend([f"from ..{earlier}.models import (", *filled(sorted(names), str), ")"])
        classes = [name for name in own if is_class(defs[name])]
        aliases = ordered([name for name in own if not is_class(defs[name])], defs)
        for name in classes:
            lines.extend(["", "", *class_of(name, defs[name])])
        lines.append("")
        for name in aliases:
            lines.extend(["", *alias_of(name, defs[name])])
        lines.extend(["", "__all__ = [", *filled(sorted(defs), lambda name: f'"{name}"'), "]", ""])
        return "\n".join(lines)

    @staticmethod
    def _is_same(name: str, defs: Json, known: Json) -> bool:
        return all(known.get(it) == defs[it] for it in closure([name], defs))


def closure(names: list[str], defs: Json) -> set[str]:
    """The defs that these are made of, and themselves."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            left.extend(references(defs[name]))
    return found


def references(schema: Json) -> list[str]:
    """The defs that a schema names."""
    found = [schema["$ref"].split("/")[-1]] if "$ref" in schema else []
    parts = [*schema.get("properties", {}).values(), *schema.get("oneOf", []), schema.get("items")]
    parts.append(schema.get("additionalProperties"))
    return found + [name for part in parts if isinstance(part, dict) for name in references(part)]


def is_class(schema: Json) -> bool:
    return schema.get("type") == "object" and "additionalProperties" not in schema or "properties" in schema


def ordered(aliases: list[str], defs: Json) -> list[str]:
    """Aliases, each behind those that it names: their values are evaluated at once."""
    done: list[str] = []

    def visit(name: str) -> None:
        if name not in done and name in aliases:
            for other in references(defs[name]):
                visit(other)
            done.append(name)

    for name in aliases:
        visit(name)
    return done


def class_of(name: str, schema: Json) -> list[str]:
    lines = [f"class {name}(Frame):", *doc(schema["description"], "    ")]
    for field, about in schema.get("properties", {}).items():
        attribute = attribute_of(field)
        kind = type_of(about)
        is_required = field in schema.get("required", [])
        if not is_required and not kind.endswith(" | None") and kind != "Any":
            kind += " | None"
        if to_camel(attribute) != field:
            kind = f'Annotated[{kind}, Field(alias="{field}")]'
        default = "" if is_required else " = None"
        lines.append(f"    {attribute}: {kind}{default}")
        if "description" in about and "const" not in about:
            lines.extend(doc(about["description"], "    "))
    return lines


def alias_of(name: str, schema: Json) -> list[str]:
    line = f'{name} = TypeAliasType("{name}", {type_of(schema)})'
    lines = textwrap.wrap(line, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    return [*lines, *doc(schema["description"], "")]


def type_of(schema: Json) -> str:
    """The Python type of a value."""
    if "$ref" in schema:
        return str(schema["$ref"]).split("/")[-1]
    if "const" in schema:
        return f"Literal[{literal(schema['const'])}]"
    if "enum" in schema:
        return f"Literal[{', '.join(literal(it) for it in schema['enum'])}]"
    if "oneOf" in schema:
        union = " | ".join(type_of(branch) for branch in schema["oneOf"])
        if "discriminator" in schema:
            tag = attribute_of(schema["discriminator"]["propertyName"])
            return f'Annotated[{union}, Field(discriminator="{tag}")]'
        return union
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(type_of({**schema, "type": it}) for it in kind)
    if kind == "array":
        return f"list[{type_of(schema['items'])}]"
    if kind == "object":
        assert "properties" not in schema, "an object within an object has a def of its own"
        values = schema.get("additionalProperties")
        return f"dict[str, {type_of(values) if isinstance(values, dict) else 'Any'}]"
    plain = {"string": "str", "boolean": "bool", "integer": "int", "number": "float", "null": "None", None: "Any"}
    if "minimum" in schema:
        bounds = [f"{word}={schema[key]}" for word, key in (("ge", "minimum"), ("le", "maximum")) if key in schema]
        return f"Annotated[{plain[kind]}, Field({', '.join(bounds)})]"
    return plain[kind]


def literal(value: object) -> str:
    return repr(value) if not isinstance(value, str) else f'"{value}"'


def attribute_of(field: str) -> str:
    """The name of a member in Python."""
    if field.startswith("_"):
        return f"field{field}"
    name = re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: "_" + found[0].lower(), field)
    return f"{name}_" if keyword.iskeyword(name) else name


def doc(text: str, indent: str) -> list[str]:
    """A docstring in one line where it fits."""
    lines = textwrap.wrap(text, WIDTH - len(indent) - 6, break_long_words=False, break_on_hyphens=False)
    lines[0] = f'"""{lines[0]}'
    lines[-1] += '"""'
    return [indent + line for line in lines]


def filled(names: list[str], shown: Callable[[str], str]) -> list[str]:
    """Names, as many on each line as fit."""
    text = ", ".join(shown(name) for name in names) + ","
    return textwrap.wrap(text, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
