# SPDX-License-Identifier: Apache-2.0
"""Loops that carry several values: a scan whose state concatenates them in one element type."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import xtc.ops as O
from xtc.core.types import TensorType, element_type
from xtc.graph.body import traced
from xtc.graph.tensor import Tensor
from xtc.importers.compositions.movement import constant, part
from xtc.importers.values import Unsupported

Step = Callable[[list[Tensor], list[Tensor]], tuple[list[Tensor], list[Tensor]]]
_WORD = "int64"  # wide enough for the bits of every element type


def repeated(
    step: Step, carried: Sequence[Tensor], rows: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """The final carried values of `step(carried, row of each)` and the stacked collected values.

    `step` builds one iteration: it returns the next carried values, of unchanged types, and the
    collected values. Raises Unsupported if the types change, and propagates errors from `step`.
    """
    first = len(carried)
    types = [x.type for x in carried]
    rows = rows or [constant(np.zeros((1,), np.int64))]

    def iteration(*given: Tensor) -> list[Tensor]:
        new, collected = step(list(given[:first]), list(given[first:]))
        return [*new, *collected]

    found = traced(iteration, [*types, *(x.type.with_shape(x.type.shape[1:]) for x in rows)])
    if found[:first] != types:
        raise Unsupported("a loop whose values change their types")
    layout = _Layout(tuple(found))

    def write(state: Tensor, *row: Tensor) -> Tensor:
        return layout.joined(iteration(*layout.parts(state)[:first], *row))

    empty = [constant(np.zeros(type.sizes, type.element.numpy)) for type in found[first:]]
    every = O.scan(write, layout.joined([*carried, *empty]), *rows)
    count = every.type.sizes[0] - 1
    last = O.reshape(part(every, 0, count, count + 1), every.type.sizes[1:])
    results = O.slice(every, (1, 0), (None, None))
    return layout.parts(last)[:first], layout.parts(results)[first:]


@dataclass(frozen=True)
class _Layout:
    """Values concatenated in the last dimension of a tensor.

    Attributes:
        types: types of the values.
    """

    types: tuple[TensorType, ...]

    @property
    def element(self) -> str:
        """The common element type of all values, or an integer type that holds their bits."""
        names = {type.element.name for type in self.types}
        return names.pop() if len(names) == 1 else _WORD

    def joined(self, values: Sequence[Tensor]) -> Tensor:
        """Concatenate the values into one tensor of rank 1."""
        flat = [O.reshape(_as(value, self.element), (value.type.size,)) for value in values]
        return O.concat(*flat, axis=0) if len(flat) > 1 else flat[0]

    def parts(self, x: Tensor) -> list[Tensor]:
        """Split `x` into the values; they share all dimensions of `x` but the last."""
        found, start, axis = [], 0, x.type.rank - 1
        for type in self.types:
            piece = part(x, axis, start, start + type.size)
            shaped = O.reshape(piece, (*x.type.sizes[:-1], *type.sizes))
            found.append(_as(shaped, type.element.name))
            start += type.size
        return found


def _as(x: Tensor, dtype: str) -> Tensor:
    """Convert to or from an integer word: floats keep their bits, other types their values."""
    if x.dtype == dtype:
        return x
    float_type = x.element if x.element.is_float else element_type(dtype)
    if not float_type.is_float:
        return O.cast(x, dtype)
    bits = f"int{float_type.bits}"
    if x.element.is_float:
        return _cast(O.bit_cast(x, bits), dtype)
    return O.bit_cast(_cast(x, bits), dtype)


def _cast(x: Tensor, dtype: str) -> Tensor:
    return x if x.dtype == dtype else O.cast(x, dtype)
