# SPDX-License-Identifier: Apache-2.0
"""Tensors without a type yet, and operator calls on them, which are deferred."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from xtc.core.errors import UserError
from xtc.core.location import SourceLocation, user_location, written_at
from xtc.core.types import ElementType
from xtc.graph.placement import Placement
from xtc.graph.tensor import Tensor, next_number


class UntypedTensor(Tensor):
    """An input declared without a shape, or the result of an operator on such tensors.

    Reading its type, shape or element type raises UserError.

    Attributes:
        given: its element type, if declared.
        operator: the operator that computes it, None for an input.
    """

    def __init__(
        self,
        name: str | None,
        where: SourceLocation | None,
        *,
        placement: Placement | None = None,
        given: ElementType | None = None,
        operator: str | None = None,
    ) -> None:
        self.name, self.where, self.placement = name, where, placement
        self.given, self.operator = given, operator
        self.number = next_number()
        self.const = self.producer = self.initial = self.stored = None
        self.state = False

    def __getattr__(self, name: str) -> NoReturn:
        if name != "type":
            raise AttributeError(name)
        what = f"tensor '{self.name}'" if self.name else self._description()
        raise UserError(
            f"the type of {what} is not known yet",
            where=user_location(),
            notes=[f"{self._origin()} at {self.where}"],
            hints=[
                "declare inputs with a shape: O.tensor((4, 8), 'float32')",
                "or finish the graph and set the types: graph.typed(((4, 8), 'float32'), ...)",
            ],
        )

    def _description(self) -> str:
        return f"the result of {self.operator}" if self.operator else "an input"

    def _origin(self) -> str:
        if self.operator is None:
            return "it is declared without a shape"
        return "it is computed from tensors without a type"

    def __repr__(self) -> str:
        return f"<xtc tensor {self.name or '(no name)'} of unknown type>"

    def __str__(self) -> str:
        placed = f" @{self.placement}" if self.placement else ""
        return f"%{self.name}: {self.given or '?'}{placed}"


@dataclass(frozen=True, eq=False)
class WaitingCall:
    """A deferred call of an operator's function on tensors without types.

    Attributes:
        function: the function that the user called.
        position: the number of nodes of the graph before the call.
        where: the user's line.
        result: the placeholder for the result.
    """

    function: Callable[..., Tensor]
    args: tuple[object, ...]
    keywords: Mapping[str, object]
    position: int
    where: SourceLocation | None
    result: UntypedTensor

    def operands(self) -> Iterator[Tensor]:
        """The tensors among the arguments."""
        for value in (*self.args, *self.keywords.values()):
            yield from tensors_in(value)

    def again(self, known: Mapping[Tensor, Tensor]) -> Tensor:
        """Repeat the call on tensors that have types. Raises UserError with the user's line."""
        args = [_replaced(value, known) for value in self.args]
        keywords = {name: _replaced(value, known) for name, value in self.keywords.items()}
        with written_at(self.where):
            return self.function(*args, **keywords)


def tensors_in(value: object) -> Iterator[Tensor]:
    """The tensor, or the tensors of a list or tuple."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        yield from itertools.chain.from_iterable(map(tensors_in, value))


def has_untyped(*values: object) -> bool:
    """Whether a tensor without a type is among the values."""
    return any(isinstance(t, UntypedTensor) for value in values for t in tensors_in(value))


def _replaced(value: Any, known: Mapping[Tensor, Tensor]) -> Any:
    if isinstance(value, Tensor):
        return known.get(value, value)
    if isinstance(value, list | tuple):
        return type(value)(_replaced(item, known) for item in value)
    return value
