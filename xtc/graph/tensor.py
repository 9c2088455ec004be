# SPDX-License-Identifier: Apache-2.0
"""Symbolic tensors: the operands and results of a graph's operators."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from xtc.core.location import SourceLocation
from xtc.core.types import Dim, ElementType, TensorType
from xtc.graph.placement import Placement

if TYPE_CHECKING:
    from xtc.graph.node import Node


_declarations = itertools.count()
next_number = _declarations.__next__

Write = Callable[..., "Tensor"]


@dataclass(eq=False, repr=False)
class Tensor:
    """An input, a constant, or the result of one operator.

    Attributes:
        name: unique in its graph; None until the graph names an input that the user did not name.
        type: shape and element type.
        placement: the device on which the tensor lives, None for the host.
        const: the value of a constant, else None.
        producer: the node that computes it; None for inputs and constants.
        where: the user's line.
        state: whether an input is a state: the module keeps it between calls, and calls update it.
        initial: the value of a state before the first call; None for zeros.
        stored: for a tensor with a layout, the input as it lies in memory, of the permuted shape,
        and the order of its dimensions there. number: the position of its declaration among all
        tensors; copies keep it.
    """

    name: str | None
    type: TensorType
    placement: Placement | None = None
    const: np.ndarray | None = None
    producer: Node | None = None
    where: SourceLocation | None = None
    state: bool = False
    initial: np.ndarray | None = None
    stored: tuple[Tensor, tuple[int, ...]] | None = None
    number: int = field(default_factory=next_number)

    OPERATORS: ClassVar[dict[str, Write]] = {}
    """The functions behind Python's operators and layouts, by name; `xtc.ops` fills it."""

    __array_ufunc__ = None  # NumPy then defers `array + tensor` to the tensor

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
        """True for a constant of rank 0, which the code contains as an immediate."""
        return self.const is not None and self.type.rank == 0

    def __repr__(self) -> str:
        kind = "constant" if self.const is not None else "state" if self.state else "tensor"
        result = f" of {self.producer.op.name}" if self.producer is not None else ""
        placed = f" @{self.placement}" if self.placement else ""
        return f"<xtc {kind} {self.name or '(no name)'}: {self.type}{result}{placed}>"

    def __str__(self) -> str:
        placed = f" @{self.placement}" if self.placement else ""
        return f"%{self.name}: {self.type}{placed}"

    def __add__(self, other: object) -> Tensor:
        return self.OPERATORS["add"](self, other)

    def __radd__(self, other: object) -> Tensor:
        return self.OPERATORS["add"](other, self)

    def __sub__(self, other: object) -> Tensor:
        return self.OPERATORS["sub"](self, other)

    def __rsub__(self, other: object) -> Tensor:
        return self.OPERATORS["sub"](other, self)

    def __mul__(self, other: object) -> Tensor:
        return self.OPERATORS["mul"](self, other)

    def __rmul__(self, other: object) -> Tensor:
        return self.OPERATORS["mul"](other, self)

    def __truediv__(self, other: object) -> Tensor:
        return self.OPERATORS["div"](self, other)

    def __rtruediv__(self, other: object) -> Tensor:
        return self.OPERATORS["div"](other, self)

    def __matmul__(self, other: object) -> Tensor:
        return self.OPERATORS["matmul"](self, other)

    def __rmatmul__(self, other: object) -> Tensor:
        return self.OPERATORS["matmul"](other, self)

    def __neg__(self) -> Tensor:
        return self.OPERATORS["neg"](self)

    def __getitem__(self, placed: object) -> Tensor:
        return self.OPERATORS["index"](self, placed)

    def __iter__(self) -> Iterator[Tensor]:
        return (self[number] for number in range(self.type.sizes[0]))

    def __bool__(self) -> bool:
        raise TypeError(
            "a symbolic tensor has no truth value; it is known only when the graph runs"
        )
