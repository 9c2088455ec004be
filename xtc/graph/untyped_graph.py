# SPDX-License-Identifier: Apache-2.0
"""A graph with inputs of unknown types; `typed` turns it into a plain graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from xtc.core.call import match_names
from xtc.core.errors import UserError, located
from xtc.core.location import SourceLocation, user_location
from xtc.core.types import TensorType
from xtc.graph.graph import Graph
from xtc.graph.input_types import given_types
from xtc.graph.tensor import Tensor
from xtc.graph.untyped import UntypedTensor, WaitingCall

Rewrite = Callable[[Mapping[Tensor, Tensor]], Graph]
"""Rebuilds the graph on other inputs."""


class UntypedGraph(Graph):
    """The graph that `O.graph` builds if an input has no shape.

    `typed` and `evaluate` give it types. Other methods raise UserError: it cannot be compiled or
    scheduled yet.
    """

    def __init__(
        self,
        name: str,
        where: SourceLocation | None,
        inputs: Sequence[Tensor],
        calls: Sequence[WaitingCall],
        rewrite: Rewrite,
    ) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self._where, self._calls, self._rewrite = where, tuple(calls), rewrite
        self._names = _input_names(self.inputs)

    def __getattr__(self, name: str) -> NoReturn:
        if name not in ("nodes", "outputs", "updates"):
            raise AttributeError(name)
        raise self._refusal()

    @property
    def symbols(self) -> NoReturn:
        """Raises UserError, like every member that needs types."""
        raise self._refusal()

    def _refusal(self) -> UserError:
        unknown = [
            f"'{label}'"
            for label, tensor in zip(self._names, self.inputs, strict=True)
            if isinstance(tensor, UntypedTensor)
        ]
        return UserError(
            f"graph '{self.name}' has inputs of unknown type: {', '.join(unknown)}",
            where=user_location() or self._where,
            notes=["they are declared without a shape"],
            hints=["give it types: graph.typed(((4, 8), 'float32'), ...)"],
        )

    def typed(self, *types: object, **named: object) -> Graph:
        with located(user_location()):
            inputs = dict(zip(self._names, self.inputs, strict=True))
            given = given_types(f"graph.typed of '{self.name}'", inputs, types, named)
            known = {
                tensor: _typed_input(tensor, name, given[name]) for name, tensor in inputs.items()
            }
        return self._rewrite(known)

    def evaluate(self, *args: Any, precise: bool = False, **arrays: Any) -> Any:
        """Evaluate the graph with NumPy, with input types taken from the arrays."""
        with located(user_location()):
            given = match_names(f"graph '{self.name}'", self._names, args, arrays)
            given = {name: np.asarray(array) for name, array in given.items()}
        return self.typed(*given.values()).evaluate(*given.values(), precise=precise)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<xtc.Graph {self.name}({', '.join(self._names)}), of unknown types>"

    def __str__(self) -> str:
        names = dict(zip(self.inputs, self._names, strict=True))
        head = ", ".join(_input_text(tensor, name) for tensor, name in names.items())
        lines = []
        for number, call in enumerate(self._calls):
            operands = ", ".join(_operand_text(tensor, names) for tensor in call.operands())
            names[call.result] = call.result.name or f"{number}"
            lines.append(f"  %{names[call.result]} = {call.result.operator}({operands})")
        return "\n".join([f"graph {self.name}({head}) {{", *lines, "}"])


def _input_names(inputs: Sequence[Tensor]) -> list[str]:
    """The user's names, and generated names for other inputs, as in plain graphs."""
    taken = {tensor.name for tensor in inputs if tensor.name}
    free = (name for n in range(2 * len(inputs)) if (name := f"input{n}") not in taken)
    return [tensor.name or next(free) for tensor in inputs]


def _input_text(tensor: Tensor, name: str) -> str:
    if isinstance(tensor, UntypedTensor):
        return f"%{name}: {tensor.given or '?'}"
    return f"%{name}: {tensor.type}"


def _operand_text(tensor: Tensor, names: Mapping[Tensor, str]) -> str:
    if tensor.const is not None:
        return "const"
    return f"%{names.get(tensor, tensor.name or '?')}"


def _typed_input(tensor: Tensor, name: str, type: TensorType) -> Tensor:
    if not isinstance(tensor, UntypedTensor):
        return tensor
    return Tensor(name, type, tensor.placement, where=tensor.where, number=tensor.number)
