# SPDX-License-Identifier: Apache-2.0
"""Instructions that print; one thread prints for all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.ir.mlir import arith
from xtc.tile.instructions import memory, moves
from xtc.tile.instructions.elements import positions
from xtc.tile.types import float32, float64, int32, int64
from xtc.tile.values import arithmetic
from xtc.tile.values.methods import call
from xtc.tile.values.runtime import Data, GlobalTensor, RegisterTensor, Scalar, SharedTensor

_FIELD = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l)?([diouxXeEfFgGcs%])")
_FORMATS = {"float16": "%5.2f", "bool": "%1d", "float": "%6.3f", "int": "%5d"}
MOST_ELEMENTS = 4096
"""Limit of a printed tensor."""


class Printing:
    """Instructions that print."""

    def printf(self, fstring: str, *args: Any) -> None:
        """Print numbers with C's format specifiers, once per block."""
        if not isinstance(fstring, str):
            raise UserError(
                f"printf takes a string, not {fstring!r}", hints=["self.printf('%d', x)"]
            )
        text, values = prepared(fstring, args)
        tile.printf(text, [value.value for value in values])

    def print_tensor(self, msg: str, tensor: Any, fmt: str | None = None) -> None:
        """Print a tensor in registers, shared or global memory, row by row."""
        shape = tuple(tensor.shape)
        if any(not isinstance(size, int) for size in shape):
            raise UserError(
                f"print_tensor: {tensor!r} has run-time sizes",
                hints=["print a tile of it: self.load_global(g, offsets=..., shape=...)"],
            )
        locations = positions(shape)
        if len(locations) > MOST_ELEMENTS:
            raise UserError(
                f"print_tensor: {tensor!r} has more than {MOST_ELEMENTS} elements",
                hints=["print a part of it"],
            )
        field = fmt or _FORMATS.get(tensor.dtype.name, _FORMATS[tensor.dtype.kind])
        sizes = ", ".join(map(str, shape))
        self.printf(f"{msg.replace('%', '%%')}{tensor.dtype}[{sizes}]\n")
        source = _in_memory(self, tensor)
        for location in locations:
            end = "\n" if location[-1] == shape[-1] - 1 else " "
            element = source[location].item()
            self.printf(field + end, element)
        if source is not tensor:  # the next allocation may reuse its memory
            tile.sync()
            memory.free_shared(source, tile.location_text())


def prepared(fstring: str, args: Sequence[Any]) -> tuple[str, list[Data]]:
    """The format with text constants inserted, and the bits of the numbers, 64 bits each."""
    left = list(args)
    values: list[Data] = []

    def field(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%%"
        if not left:
            raise UserError(
                f"printf: {fstring!r} has more fields than there are arguments",
                hints=["one %d, %f or %s for each argument"],
            )
        value = left.pop(0)
        if match[1] == "s":
            if not isinstance(value, str):
                raise UserError(
                    f"printf: %s takes a constant string, not {value!r}",
                    hints=["print a number by %d or %f"],
                )
            return str(match[0] % value).replace("%", "%%")
        is_float = match[1] in "eEfFgG"
        values.append(_promoted(value, match[0], is_float))
        return re.sub(r"(?:hh|h|ll|l)?(.)$", rf"{'' if is_float else 'll'}\1", match[0])

    text = _FIELD.sub(field, fstring)
    if left:
        raise UserError(
            f"printf: {fstring!r} has fewer fields than there are arguments",
            hints=["one %d, %f or %s for each argument"],
        )
    return text, values


def _promoted(value: Any, field: str, is_float: bool) -> Data:
    if isinstance(value, RegisterTensor):
        value = call("item", value)
    if not isinstance(value, Data | int | float):
        raise UserError(
            f"printf: {field} takes a number, not {value!r}",
            hints=["self.print_tensor prints a tile"],
        )
    found = arithmetic.data(value)
    if found.dtype.is_float() != is_float:
        raise UserError(f"printf: {field} does not take {found!r}", hints=["cast it"])
    if is_float:
        wide = arithmetic.cast(found, float64)
        return Scalar(arith.bitcast(arithmetic.mlir_type(int64.mlir), wide.value), int64)
    return arithmetic.cast(found, int64)  # type: ignore[no-any-return]


def _in_memory(instructions: Any, tensor: Any) -> Any:
    """The tensor in memory, for reads of elements; register tiles move to shared memory."""
    if isinstance(tensor, SharedTensor):
        return tensor
    if isinstance(tensor, GlobalTensor):
        return tensor
    if not isinstance(tensor, RegisterTensor):
        raise UserError(
            f"print_tensor takes a tensor, not {tensor!r}", hints=["self.printf prints a number"]
        )
    value = tensor
    if tensor.dtype.is_coded:
        value = arithmetic.cast(tensor, float32)
    elif tensor.dtype.is_packed or tensor.dtype.kind == "bool":
        value = arithmetic.cast(tensor, int32)
    held = memory.shared_tensor(value.dtype, value.shape)
    moves.store_shared(held, value)
    tile.sync()
    return held
