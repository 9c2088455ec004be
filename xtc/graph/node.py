# SPDX-License-Identifier: Apache-2.0
"""One operator applied to tensors."""

from __future__ import annotations

from dataclasses import dataclass

from xtc.core.location import SourceLocation
from xtc.core.types import TensorType
from xtc.graph.attributes import set_attributes
from xtc.graph.operator import Operator
from xtc.graph.placement import Placement
from xtc.graph.tensor import Tensor


@dataclass(eq=False, repr=False)
class Node:
    """An operator with its operands and its single result.

    The node's id in IR and schedules is the result's name.
    """

    op: Operator
    inputs: tuple[Tensor, ...]
    output: Tensor
    placement: Placement | None = None
    where: SourceLocation | None = None

    @property
    def name(self) -> str:
        """The result's name."""
        return self.output.name or ""

    @property
    def input_types(self) -> tuple[TensorType, ...]:
        """The operands' types."""
        return tuple(tensor.type for tensor in self.inputs)

    @property
    def flops(self) -> int:
        """Arithmetic operations of one run."""
        return self.op.flops(*self.input_types)

    def __repr__(self) -> str:
        return f"<xtc node {self}>"

    def __str__(self) -> str:
        operands = [f"%{tensor.name}" for tensor in self.inputs]
        placed = f" @{self.placement}" if self.placement else ""
        arguments = ", ".join([*operands, *attributes_text(self.op)])
        return f"%{self.name} = {self.op.name}({arguments}){placed} : {self.output.type}"


def attributes_text(op: Operator) -> list[str]:
    """`name=value` of each attribute that differs from its default."""
    return [f"{name}={value!r}" for name, value in set_attributes(op).items()]
