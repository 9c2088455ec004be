# SPDX-License-Identifier: Apache-2.0
"""The project's passes: frozen dataclasses with options as fields, printed as MLIR's are."""

from __future__ import annotations

import dataclasses
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_type_hints

from xtc.core import option_types
from xtc.core.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation

_TEXT = re.compile(r"(?P<name>[a-z0-9-]+)(\{(?P<options>[^{}]*)\})?")


@dataclass(frozen=True)
class Pass(ABC):
    """A rewrite of a whole module.

    A pass `tile-for-cache` is the class with that `name` in the file `tile_for_cache.py`, and its
    options are its fields: `tile-for-cache{rows=8}`. It leaves the module valid.
    """

    name: ClassVar[str]

    @abstractmethod
    def run(self, module: Operation) -> None:
        """Rewrite `module` in place. Raises CompileError if it cannot."""

    def __str__(self) -> str:
        options = [
            f"{field.name.replace('_', '-')}={_value_text(getattr(self, field.name))}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != _default(field)
        ]
        return f"{self.name}{{{' '.join(options)}}}" if options else self.name

    @classmethod
    def parse_options(cls, text: str) -> Pass:
        """The pass with the options in `text`, `rows=8 order=1,2`. Raises UserError on bad ones."""
        fields = {field.name.replace("_", "-"): field for field in dataclasses.fields(cls)}
        types = get_type_hints(cls)
        values: dict[str, Any] = {}
        for item in text.split():
            option, _, value = item.partition("=")
            if option not in fields:
                raise UserError(
                    f"pass '{cls.name}' has no option '{option}'",
                    hints=did_you_mean(option, fields),
                )
            field = fields[option].name
            if field in values:
                raise UserError(f"option '{option}' of pass '{cls.name}' is given twice")
            values[field] = _parse_value(cls.name, option, types[field], value)
        for option, declared in fields.items():
            if declared.name not in values and _default(declared) is dataclasses.MISSING:
                raise UserError(
                    f"pass '{cls.name}' needs the option '{option}'",
                    hints=[f"{cls.name}{{{option}=...}}"],
                )
        return cls(**values)


class SchedulingPass(Pass):
    """A pass that adds schedules to operations without one."""

    @abstractmethod
    def schedules_in(self, module: Operation) -> dict[str, str]:
        """The schedules in a module that the pass has run on: one line of YAML by graph node."""


def split_pass(text: str) -> tuple[str, str]:
    """The name and options of `name{options}`. Raises UserError for text in another form."""
    match = _TEXT.fullmatch(text.strip())
    if match is None:
        raise UserError(f"{text!r} is not a pass", hints=["name{option=value other=value}"])
    return match["name"], match["options"] or ""


def _default(field: dataclasses.Field[Any]) -> Any:
    """The default value; dataclasses.MISSING for a required option."""
    if field.default_factory is dataclasses.MISSING:
        return field.default
    return field.default_factory()


def _value_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)


def _parse_value(pass_name: str, option: str, declared: Any, text: str) -> Any:
    try:
        return option_types.parse(text, declared)
    except ValueError:
        raise UserError(
            f"option '{option}' of pass '{pass_name}' cannot be {text!r}",
            notes=[f"it is {option_types.type_text(declared)}"],
        ) from None
