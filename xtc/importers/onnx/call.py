# SPDX-License-Identifier: Apache-2.0
"""One node of a model with its operands, as the functions of the table see it."""

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
        node: as the file has it.
        inputs: the operands; None if an optional one is left out.
        attributes: by name, as Python values; tensors as arrays, graphs as they are.
        version: of the operator's schema.
        run: writes a subgraph on operands, and gives its outputs.
        trial: opens what leaves no trace where it ends in an error.
    """

    node: onnx.NodeProto
    inputs: Sequence[Value | None]
    attributes: Mapping[str, Any]
    version: int
    run: Subgraph
    trial: Callable[[], AbstractContextManager[None]]

    def on(self, *inputs: Value | None, **attributes: Any) -> Call:
        """The node on other operands, with some attributes replaced."""
        return replace(self, inputs=inputs, attributes={**self.attributes, **attributes})

    def has(self, position: int) -> bool:
        """Whether an operand is given."""
        return position < len(self.inputs) and self.inputs[position] is not None

    def value(self, position: int) -> Value:
        """An operand, which must be there."""
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
        """An operand as a tensor, or None if it is left out."""
        return self.tensor(position) if self.has(position) else None

    def static(self, position: int) -> Array:
        """The value of an operand that shapes or the choice of operators depend on."""
        value = self.value(position)
        if isinstance(value, Tensor):
            raise ValueNeeded(value, f"the value of operand {position} must be known at import")
        return value

    def ints(self, position: int) -> list[int]:
        """The integers of an operand of rank 0 or 1."""
        return [int(number) for number in self.static(position).reshape(-1)]

    def shape(self, position: int = 0) -> tuple[int, ...]:
        """The sizes of an operand."""
        return shape_of(self.value(position))

    def rank(self, position: int = 0) -> int:
        """The number of dimensions of an operand."""
        return len(self.shape(position))

    def dtype(self, position: int = 0) -> str:
        """The name of an operand's element type."""
        return dtype_of(self.value(position))

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute, or `default` where it is left out."""
        return self.attributes.get(name, default)

    def required(self, name: str) -> Any:
        """An attribute that must be there."""
        if name not in self.attributes:
            raise Unsupported(f"attribute '{name}' is missing")
        return self.attributes[name]

    def choice(self, name: str, default: str, *choices: str) -> str:
        """An attribute that is one of a few words."""
        value = str(self.attribute(name, default))
        if value not in choices:
            raise Unsupported(f"{name}={value!r}")
        return value

    def axis(self, name: str = "axis", default: int | None = None, rank: int | None = None) -> int:
        """An attribute that is a dimension of the first operand, counted from its start."""
        value = self.required(name) if default is None else self.attribute(name, default)
        return whole_axis(int(value), self.rank() if rank is None else rank)

    def axes_and_sizes(self, attribute: str, position: int) -> list[int] | None:
        """Integers that older versions have as an attribute, newer ones as an operand."""
        if self.has(position):
            return self.ints(position)
        value = self.attribute(attribute)
        return None if value is None else [int(number) for number in value]

    def outputs(self) -> int:
        """How many outputs the node has, those left out included."""
        return len(self.node.output)

    def wants(self, position: int) -> bool:
        """Whether an output is used."""
        return position < len(self.node.output) and bool(self.node.output[position])


def whole_axis(axis: int, rank: int) -> int:
    """An axis counted from the start. Raises Unsupported if there is none of the number."""
    if not -rank <= axis < rank:
        raise Unsupported(f"axis {axis} of an operand of rank {rank}")
    return axis % rank


def number(value: Any, dtype: str) -> Array:
    """A NumPy array of rank 0."""
    from xtc.core.types import element_type

    return np.asarray(value).astype(element_type(dtype).numpy)
