# SPDX-License-Identifier: Apache-2.0
"""What is done to one loop, as data has it: `unroll`, `vectorize unroll=4`, `{pack: [0, 1]}`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from xtc.core.errors import UserError, did_you_mean, located, shown
from xtc.loops.external import external_of
from xtc.loops.nest import ALL, NestLoop
from xtc.loops.yaml_text import Located

WORDS = (
    "unroll",
    "vectorize",
    "parallelize",
    "buffer",
    "pack",
    "fuse",
    "fuse_consumer",
    "distribute",
    "spread",
    "external",
)
_SAME = {"fuse_producer": "fuse"}
_OF_PARAMETERS = ("partial", "full")
"""What other descriptions say of tiles whose size is yet to be chosen: nothing of a number."""
REASSOCIATE = "reassociate"
"""The argument of vectorize that allows sums in another order."""
_DEFAULT = "default"
"""The kind of memory that a buffer gets anyway."""
_CONSTANTS = {"true": True, "false": False, "null": None, "none": None}
_INTEGER = re.compile(r"-?[0-9]{1,40}")

Words = list[tuple[str, Any]]


def read_words(value: Located, loop: str) -> Words:
    """Words and their arguments, True if there is none. Raises UserError for other words."""
    with located(value.where):
        found = [(_SAME.get(word, word), argument) for word, argument in _pairs(value, loop)]
        for word, _ in found:
            if word not in WORDS:
                hints = did_you_mean(word, WORDS)
                raise UserError(f"'{loop}' cannot be {shown(word)}", hints=hints)
        return [(word, argument) for word, argument in found if argument is not False]


def _pairs(value: Located, loop: str) -> Words:
    if value.value is None:
        return []
    if isinstance(value.value, dict):
        found = [(key.value, _argument(item)) for key, item in value.value.items()]
    else:
        items = value.value if isinstance(value.value, list) else [value]
        found = [pair for item in items for pair in _text(item.value, loop)]
    return [(word, argument) for word, argument in found if word not in _OF_PARAMETERS]


def _text(value: object, loop: str) -> Words:
    """Words in a text, each with its argument after a colon or a `=`."""
    if not isinstance(value, str):
        raise UserError(
            f"'{loop}' cannot be {kind_of(value)}", hints=[f"one of: {', '.join(WORDS)}"]
        )
    return [_word(text) for text in value.split()]


def _word(text: str) -> tuple[str, Any]:
    word, separator, argument = re.fullmatch(r"([^:=]*)([:=]?)(.*)", text, re.S).groups()  # type: ignore[union-attr]
    return word, _value(argument) if separator else None


def _value(text: str) -> Any:
    """An argument in a text: a number, a constant, several of them in brackets, or a name."""
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


def annotated(loop: NestLoop, word: str, argument: Any) -> NestLoop:
    """The loop with one thing more done to it. Raises UserError for an argument of another kind."""
    if word == "unroll":
        return replace(loop, unroll=_unroll_factor(loop, argument))
    if word == "pack":
        return replace(loop, pack=(*loop.pack, *_operands(loop, word, argument)))
    if word == "fuse":
        return replace(loop, fuse=(*loop.fuse, *_operands(loop, word, argument)))
    if word == "distribute":
        return replace(loop, distribute=_mesh_axis(loop, argument))
    if word == "spread":
        return replace(loop, spread=_spread(loop, argument))
    if word == "external":
        return replace(loop, external=external_of(loop.name, argument))
    if word == "vectorize" and argument == REASSOCIATE:
        return replace(loop, vectorize=True, reassociate=True)
    if word == "vectorize" and argument not in (None, True):
        raise UserError(
            f"vectorize of '{loop.name}' takes elements or '{REASSOCIATE}', not {kind_of(argument)}"
        )
    if word == "buffer" and argument == _DEFAULT:
        argument = None
    if argument is not None and argument is not True:
        raise UserError(f"{word} of '{loop.name}' takes no value, not {kind_of(argument)}")
    return _FLAGS[word](loop)


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
    """Whether the argument of pack asks for rows of the buffer to be further apart."""
    return _is_triple(argument) and argument[2] is True


def _is_triple(argument: Any) -> bool:
    """True for an operand, a kind of memory and whether to pad: `[1, null, true]`."""
    return (
        isinstance(argument, list)
        and len(argument) == 3
        and argument[1] in (None, _DEFAULT)
        and isinstance(argument[2], bool)
    )


def _operands(loop: NestLoop, word: str, argument: Any) -> tuple[int, ...]:
    if word == "pack" and _is_triple(argument):
        argument = argument[0]
    numbers = argument if isinstance(argument, list) else [argument]
    if not numbers or not all(isinstance(n, int) and not isinstance(n, bool) for n in numbers):
        raise UserError(
            f"{word} of '{loop.name}' takes the number of an operand or a list of them, not "
            f"{_listed(argument)}",
            hints=[f"{{{word}: 1}} means the second operand"],
        )
    return tuple(numbers)


def _listed(argument: Any) -> str:
    """An argument for a message, with what is in a list of few."""
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


def _spread(loop: NestLoop, argument: Any) -> tuple[tuple[int, tuple[str, ...]], ...]:
    found = argument.items() if isinstance(argument, dict) else ()
    pairs = [(str(operand), axes) for operand, axes in found]
    if not pairs or not all(
        re.fullmatch(r"[0-9]{1,9}", operand)
        and isinstance(axes, list)
        and all(isinstance(axis, str) for axis in axes)
        for operand, axes in pairs
    ):
        raise UserError(
            f"spread of '{loop.name}' takes axes of the memory mesh by operand",
            hints=["{spread: {1: [mx, '*']}} cuts the first dimension of the second operand"],
        )
    return tuple((int(operand), tuple(axes)) for operand, axes in pairs)


def kind_of(value: object) -> str:
    """A value of parsed data, for messages."""
    if isinstance(value, Located):
        value = value.value
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return shown(value)
