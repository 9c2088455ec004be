# SPDX-License-Identifier: Apache-2.0
"""Our own passes: frozen dataclasses whose fields are the options, printed as MLIR prints them."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from xtc.core.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from xtc.core.mlir import Operation

_TEXT = re.compile(r"(?P<name>[a-z0-9-]+)(\{(?P<options>[^{}]*)\})?")


@dataclass(frozen=True)
class Pass(ABC):
    """One rewrite of a whole module.

    A pass `tile-for-cache` is the class with that `name` in the file `tile_for_cache.py`, and its
    options are its fields: `tile-for-cache{rows=8}`. It leaves the module valid.
    """

    name: ClassVar[str]

    @abstractmethod
    def run(self, module: Operation) -> None:
        """Rewrite `module` in place. Raises CompileError where it cannot."""

    def __str__(self) -> str:
        options = [
            f"{field.name.replace('_', '-')}={_value_text(getattr(self, field.name))}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"{self.name}{{{' '.join(options)}}}" if options else self.name

    @classmethod
    def parse_options(cls, text: str) -> Pass:
        """The pass with the options in `text`, `rows=8 order=1,2`. Raises UserError on bad ones."""
        fields = {field.name.replace("_", "-"): field for field in dataclasses.fields(cls)}
        values: dict[str, Any] = {}
        for item in text.split():
            option, _, value = item.partition("=")
            if option not in fields:
                raise UserError(
                    f"pass '{cls.name}' has no option '{option}'",
                    hints=did_you_mean(option, fields),
                )
            values[fields[option].name] = _parse_value(
                cls.name, option, str(fields[option].type), value
            )
        return cls(**values)


def split_pass(text: str) -> tuple[str, str]:
    """Name and options of `name{options}`. Raises UserError where the text is not of that form."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise UserError(f"{text!r} is not a pass", hints=["name{option=value other=value}"])
    return match["name"], match["options"] or ""


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)


def _parse_value(pass_name: str, option: str, type: str, text: str) -> Any:
    try:
        if type == "bool":
            return {"": True, "true": True, "1": True, "false": False, "0": False}[text]
        if type == "int":
            return int(text)
        if type.startswith("tuple[int"):
            return tuple(int(part) for part in text.split(","))
        if type.startswith("tuple[str"):
            return tuple(text.split(","))
    except (KeyError, ValueError):
        raise UserError(
            f"option '{option}' of pass '{pass_name}' cannot be {text!r}", notes=[f"it is {type}"]
        ) from None
    return text
