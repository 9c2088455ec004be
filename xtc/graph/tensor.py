# SPDX-License-Identifier: Apache-2.0
"""A symbolic tensor: what a graph's operators take and give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from xtc.core.location import SourceLocation
from xtc.core.types import Dim, ElementType, TensorType
from xtc.graph.placement import Placement

if TYPE_CHECKING:
    from xtc.graph.node import Node


@dataclass(eq=False)
class Tensor:
    """An input, a constant, or the result of one operator.

    Attributes:
        name: unique in its graph; None until the graph names an input that the user did not name.
        type: shape and element type.
        placement: the device on which the tensor lives, None for the host.
        const: the value, where it is known when the graph is written.
        producer: the node that computes it, None for inputs and constants.
        where: the user's line.
    """

    name: str | None
    type: TensorType
    placement: Placement | None = None
    const: np.ndarray | None = field(default=None, repr=False)
    producer: Node | None = field(default=None, repr=False)
    where: SourceLocation | None = field(default=None, repr=False)

    @property
    def shape(self) -> tuple[Dim, ...]:
        """Sizes; the first may be a name."""
        return self.type.shape

    @property
    def dtype(self) -> str:
        """Name of the element type."""
        return self.type.element.name

    @property
    def element(self) -> ElementType:
        """The element type."""
        return self.type.element

    @property
    def is_scalar_constant(self) -> bool:
        """True for a constant of rank 0, which is written into the code itself."""
        return self.const is not None and self.type.rank == 0

    def __str__(self) -> str:
        place = f" @{self.placement}" if self.placement else ""
        return f"%{self.name}: {self.type}{place}"

    def __bool__(self) -> bool:
        raise TypeError(
            "a symbolic tensor has no truth value; it is known only when the graph runs"
        )
