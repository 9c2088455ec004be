# SPDX-License-Identifier: Apache-2.0
"""Annotations of a loop in data: `unroll`, `vectorize unroll=4`, `{pack: [0, 1]}`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from xtc.core.errors import UserError, did_you_mean, located, shown
from xtc.loops.external import external_of
from xtc.loops.nest import ALL, NestLoop
from xtc.loops.yaml_text import Located

ANNOTATIONS = (
    "unroll",
    "vectorize",
    "parallelize",
    "buffer",
    "pack",
    "fuse",
    "fuse_consumer",
    "distribute",
    "shard",
    "external",
)
_SAME = {"fuse_producer": "fuse", "spread": "shard"}
"""Synonyms of annotations."""
_OF_PARAMETERS = ("partial", "full")
"""Annotations that other schedule descriptions use for undetermined tile sizes."""
REASSOCIATE = "reassociate"
"""The argument of vectorize that allows reordering of sums."""
_DEFAULT = "default"
"""The memory kind that is the default for buffers."""
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None}
_INTEGER = re.compile(r"-?[0-9]{1,40}")

Annotations = list[tuple[str, Any]]


def read_annotations(value: Located, loop: str) -> Annotations:
    """Annotations with their arguments; True if it has none. Raises UserError."""
    with located(value.where):
        found = [(_SAME.get(name, name), argument) for name, argument in _pairs(value, loop)]
        for name, _ in found:
            if name not in ANNOTATIONS:
                hints = did_you_mean(name, ANNOTATIONS)
                raise UserError(f"unknown annotation {shown(name)} of '{loop}'", hints=hints)
        return [(name, argument) for name, argument in found if argument is not False]


def _pairs(value: Located, loop: str) -> Annotations:
    if value.value is None:
        return []
    if isinstance(value.value, dict):
        found = [(key.value, _argument(item)) for key, item in value.value.items()]
    else:
        items = value.value if isinstance(value.value, list) else [value]
        found = [pair for item in items for pair in _text(item.value, loop)]
    return [(name, argument) for name, argument in found if name not in _OF_PARAMETERS]


def _text(value: object, loop: str) -> Annotations:
    """Annotations in a text, each with its argument after `:` or `=`."""
    if not isinstance(value, str):
        raise UserError(
            f"'{loop}' cannot be {kind_of(value)}", hints=[f"one of: {', '.join(ANNOTATIONS)}"]
        )
    return [_annotation(text) for text in value.split()]


def _annotation(text: str) -> tuple[str, Any]:
    name, separator, argument = re.fullmatch(r"([^:=]*)([:=]?)(.*)", text, re.S).groups()  # type: ignore[union-attr]
    return name, _value(argument) if separator else None


def _value(text: str) -> Any:
    """An argument in a text: a number, a constant, a bracketed list of them, or a name."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    if text[:1] in "[(" and text[-1:] in ")]" and len(text) > 1:
        return [_value(part.strip()) for part in text[1:-1].split(",")]
    return text


def _argument(item: Located) -> Any:
    if isinstance(item.value, dict):
        return {key.value: _argument(entry) for key, entry in item.value.items()}
    if isinstance(item.value, list):
        return [entry.value for entry in item.value]
    return item.value


def annotated(loop: NestLoop, name: str, argument: Any) -> NestLoop:
    """The loop with an annotation added. Raises UserError for an invalid argument."""
    if name == "unroll":
        return replace(loop, unroll=_unroll_factor(loop, argument))
    if name == "pack":
        return replace(loop, pack=(*loop.pack, *_operands(loop, name, argument)))
    if name == "fuse":
        return replace(loop, fuse=(*loop.fuse, *_operands(loop, name, argument)))
    if name == "distribute":
        return replace(loop, distribute=_mesh_axis(loop, argument))
    if name == "shard":
        return replace(loop, shard=_shard(loop, argument))
    if name == "external":
        return replace(loop, external=external_of(loop.name, argument))
    if name == "vectorize" and argument == REASSOCIATE:
        return replace(loop, vectorize=True, reassociate=True)
    if name == "vectorize" and argument not in (None, True):
        raise UserError(
            f"vectorize of '{loop.name}' takes elements or '{REASSOCIATE}', not {kind_of(argument)}"
        )
    if name == "buffer" and argument == _DEFAULT:
        argument = None
    if argument is not None and argument is not True:
        raise UserError(f"{name} of '{loop.name}' takes no value, not {kind_of(argument)}")
    return _FLAGS[name](loop)


_FLAGS: dict[str, Callable[[NestLoop], NestLoop]] = {
    "vectorize": lambda loop: replace(loop, vectorize=True),
    "parallelize": lambda loop: replace(loop, parallelize=True),
    "buffer": lambda loop: replace(loop, buffer=True),
    "fuse_consumer": lambda loop: replace(loop, consumer=True),
}


def _unroll_factor(loop: NestLoop, argument: Any) -> int:
    """The factor given, or all iterations."""
    if argument is None or argument is True:
        return ALL
    if isinstance(argument, int):
        if argument < 0:
            raise UserError(f"'{loop.name}' cannot be unrolled by {shown(argument)}")
        return argument
    raise UserError(f"unroll of '{loop.name}' takes a number, not {kind_of(argument)}")


def is_padded(argument: Any) -> bool:
    """Whether the argument of pack requests padded rows."""
    return _is_triple(argument) and argument[2] is True


def _is_triple(argument: Any) -> bool:
    """Whether it is an operand, a memory kind and a padding flag: `[1, null, true]`."""
    return (
        isinstance(argument, list)
        and len(argument) == 3
        and argument[1] in (None, _DEFAULT)
        and isinstance(argument[2], bool)
    )


def _operands(loop: NestLoop, name: str, argument: Any) -> tuple[int, ...]:
    if name == "pack" and _is_triple(argument):
        argument = argument[0]
    numbers = argument if isinstance(argument, list) else [argument]
    if not numbers or not all(isinstance(n, int) and not isinstance(n, bool) for n in numbers):
        raise UserError(
            f"{name} of '{loop.name}' takes the number of an operand or a list of them, not "
            f"{_listed(argument)}",
            hints=[f"{{{name}: 1}} means the second operand"],
        )
    return tuple(numbers)


def _listed(argument: Any) -> str:
    """An argument for a message; short lists with their items."""
    if isinstance(argument, list) and len(argument) < 5:
        return shown(argument)
    return kind_of(argument)


def _mesh_axis(loop: NestLoop, argument: Any) -> str:
    if not isinstance(argument, str):
        raise UserError(
            f"distribute of '{loop.name}' takes an axis of the processor mesh, not "
            f"{kind_of(argument)}",
            hints=["{distribute: px}"],
        )
    return argument


def _shard(loop: NestLoop, argument: Any) -> tuple[tuple[int, tuple[str, ...]], ...]:
    found = argument.items() if isinstance(argument, dict) else ()
    pairs = [(str(operand), axes) for operand, axes in found]
    if not pairs or not all(
        re.fullmatch(r"[0-9]{1,9}", operand)
        and isinstance(axes, list)
        and all(isinstance(axis, str) for axis in axes)
        for operand, axes in pairs
    ):
        raise UserError(
            f"shard of '{loop.name}' takes axes of the memory mesh by operand",
            hints=["{shard: {1: [mx, '*']}} shards the first dimension of the second operand"],
        )
    return tuple((int(operand), tuple(axes)) for operand, axes in pairs)


def kind_of(value: object) -> str:
    """A value of parsed data, for messages."""
    if isinstance(value, Located):
        value = value.value
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return shown(value)
