# SPDX-License-Identifier: Apache-2.0
"""Values of a model during import: arrays if known, tensors if computed at run time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import xtc.ops as O
from xtc.core.types import ELEMENT_TYPES, element_type
from xtc.graph.tensor import Tensor

Array = np.ndarray[Any, Any]
Value = Tensor | Array


@dataclass(eq=False, repr=False)
class Narrow(Tensor):
    """A tensor of a narrow element type, which graphs lack; few operators accept it.

    Attributes:
        bits: the tensor of the graph that carries the elements.
        kind: name of the narrow type.
    """

    bits: Tensor = field(kw_only=True)
    kind: str = field(kw_only=True)


class Unsupported(Exception):  # noqa: N818  the word in the report: what is not supported, and why
    """A node that the importer cannot read; the text gives the reason."""


class ValueNeeded(Unsupported):
    """A node needs at import a value that is known only at run time."""

    def __init__(self, tensor: Tensor, text: str) -> None:
        super().__init__(text)
        self.tensor = tensor


def is_sequence(value: Value) -> bool:
    """Whether a value is a sequence of values, stored in an object array."""
    return not isinstance(value, Tensor) and value.dtype == object


def as_tensor(value: Value) -> Tensor:
    """The value as a tensor of the graph; an array becomes a constant.

    Raises Unsupported for arrays without elements and for element types that graphs lack.
    """
    if isinstance(value, Narrow):
        raise Unsupported(f"element type {value.kind}")
    if isinstance(value, Tensor):
        return value
    if is_sequence(value):
        raise Unsupported("a sequence, which graphs do not have")
    if value.dtype.name not in ELEMENT_TYPES:
        raise Unsupported(f"element type {value.dtype.name}")
    if value.size == 0:
        raise Unsupported(f"a tensor without elements, of shape {value.shape}")
    return O.tensor(value.shape, element_type(value.dtype).name, const=value)


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a value."""
    return value.type.sizes if isinstance(value, Tensor) else tuple(map(int, value.shape))


def dtype_of(value: Value) -> str:
    """The name of a value's element type."""
    if isinstance(value, Narrow):
        return value.kind
    return value.dtype if isinstance(value, Tensor) else str(value.dtype.name)
