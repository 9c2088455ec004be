# SPDX-License-Identifier: Apache-2.0
"""A node of a model and its operands, the argument of the functions in the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx

from xtc.graph.tensor import Tensor
from xtc.importers.values import (
    Array,
    Unsupported,
    Value,
    ValueNeeded,
    as_tensor,
    dtype_of,
    shape_of,
)

Subgraph = Callable[[onnx.GraphProto, Sequence[Value]], list[Value]]


@dataclass
class Call:
    """A node: operands by position, attributes by name.

    Attributes:
        node: the node in the file.
        inputs: the operands; None for an omitted optional one.
        attributes: by name, as Python values; tensors as arrays, graphs as they are.
        version: version of the operator's schema.
        run: expands a subgraph on operands and returns its outputs.
        trial: a context that discards everything written in it if it ends in an error.
    """

    node: onnx.NodeProto
    inputs: Sequence[Value | None]
    attributes: Mapping[str, Any]
    version: int
    run: Subgraph
    trial: Callable[[], AbstractContextManager[None]]

    def on(self, *inputs: Value | None, **attributes: Any) -> Call:
        """The node with other operands, and some attributes replaced."""
        return replace(self, inputs=inputs, attributes={**self.attributes, **attributes})

    def has(self, position: int) -> bool:
        """Whether an operand is present."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def value(self, position: int) -> Value:
        """A required operand. Raises Unsupported if it is missing."""
        if not self.has(position):
            raise Unsupported(f"operand {position} is missing")
        return self.inputs[position]  # type: ignore[return-value]

    def tensor(self, position: int) -> Tensor:
        """An operand as a tensor of the graph."""
        return as_tensor(self.value(position))

    def tensors(self) -> list[Tensor]:
        """All operands as tensors of the graph."""
        return [self.tensor(position) for position in range(len(self.inputs))]

    def optional(self, position: int) -> Tensor | None:
        """An operand as a tensor, or None if it is omitted."""
        return self.tensor(position) if self.has(position) else None

    def static(self, position: int) -> Array:
        """The value of an operand that determines shapes or operators. Raises ValueNeeded."""
        value = self.value(position)
        if isinstance(value, Tensor):
            raise ValueNeeded(value, f"the value of operand {position} must be known at import")
        return value

    def ints(self, position: int) -> list[int]:
        """The integers of an operand of rank 0 or 1."""
        return [int(number) for number in self.static(position).reshape(-1)]

    def shape(self, position: int = 0) -> tuple[int, ...]:
        """The shape of an operand."""
        return shape_of(self.value(position))

    def rank(self, position: int = 0) -> int:
        """The number of dimensions of an operand."""
        return len(self.shape(position))

    def dtype(self, position: int = 0) -> str:
        """The name of an operand's element type."""
        return dtype_of(self.value(position))

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute, or `default` if it is omitted."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> Any:
        """A required attribute. Raises Unsupported if it is missing."""
        if name not in self.attributes:
            raise Unsupported(f"attribute '{name}' is missing")
        return self.attributes[name]

    def choice(self, name: str, default: str, *choices: str) -> str:
        """An attribute with one of the given values. Raises Unsupported for others."""
        value = str(self.attribute(name, default))
        if value not in choices:
            raise Unsupported(f"{name}={value!r}")
        return value

    def axis(self, name: str = "axis", default: int | None = None, rank: int | None = None) -> int:
        """An attribute that is an axis of the first operand, made non-negative."""
        value = self.required(name) if default is None else self.attribute(name, default)
        return whole_axis(int(value), self.rank() if rank is None else rank)

    def axes_and_sizes(self, attribute: str, position: int) -> list[int] | None:
        """Integers that older schemas hold in an attribute and newer ones in an operand."""
        if self.has(position):
            return self.ints(position)
        value = self.attribute(attribute)
        return None if value is None else [int(number) for number in value]

    def outputs(self) -> int:
        """Number of outputs of the node, including omitted ones."""
        return len(self.node.output)

    def is_used(self, position: int) -> bool:
        """Whether an output is used."""
        return position < len(self.node.output) and bool(self.node.output[position])


def whole_axis(axis: int, rank: int) -> int:
    """The axis, made non-negative. Raises Unsupported if it is out of range."""
    if not -rank <= axis < rank:
        raise Unsupported(f"axis {axis} of an operand of rank {rank}")
    return axis % rank


def number(value: Any, dtype: str) -> Array:
    """A NumPy array of rank 0 and the given element type."""
    from xtc.core.types import element_type

    return np.asarray(value).astype(element_type(dtype).numpy)
