# SPDX-License-Identifier: Apache-2.0
"""Variables of a model, which operators read and assign, as states of the graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

import xtc.ops as O
from xtc.graph.builder import GraphBuilder
from xtc.graph.tensor import Tensor
from xtc.importers.names import plain_name
from xtc.importers.tflite.call import options_of
from xtc.importers.tflite.load import OperatorOf, Subgraph, TensorOf, TfliteModel
from xtc.importers.values import Array, Unsupported, Value, as_tensor, dtype_of, shape_of

OPERATORS = ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
_NUMBERED = "\0"  # prefix of keys for tensors, which no variable's name has


@dataclass
class Variables:
    """The current value of each variable, by its name in the file.

    Attributes:
        handles: variable names by the index of the handle tensor.
        initial: values that subgraphs called once assign.
        current: the value last assigned, or the state itself.
        states: variables that are read before they are assigned.
    """

    builder: GraphBuilder
    model: TfliteModel
    names: set[str]
    handles: dict[int, str] = field(default_factory=dict)
    initial: dict[str, Array] = field(default_factory=dict)
    current: dict[str, Value] = field(default_factory=dict)
    states: dict[str, Tensor] = field(default_factory=dict)

    def run(
        self, operator: OperatorOf, values: list[Value | None], wanted: list[TensorOf]
    ) -> Value | None:
        """Execute an operator of OPERATORS; return its result, if it has one."""
        if operator.name == "CALL_ONCE":
            self._call_once(options_of(operator, "CallOnceOptions").InitSubgraphIndex())
        elif operator.name == "VAR_HANDLE":
            self.handles[operator.outputs[0]] = _name(operator)
        elif operator.name == "ASSIGN_VARIABLE":
            value = values[1]
            if value is None:
                raise Unsupported("operand 1 is missing")
            self._assign(self._variable(operator), value)
        else:
            return self._read(self._variable(operator), wanted[0])
        return None

    def updates(self) -> list[tuple[Tensor, Tensor]]:
        """The states, each with its value after a call."""
        found = []
        for name, state in self.states.items():
            value = as_tensor(self.current[name])
            found.append((state, O.reshape(value, value.shape) if value is state else value))
        return found

    def _variable(self, operator: OperatorOf) -> str:
        number = operator.inputs[0] if operator.inputs else -1
        if number not in self.handles:
            raise Unsupported(f"tensor {number} is not the result of a VAR_HANDLE")
        return self.handles[number]

    def _read(self, name: str, wanted: TensorOf) -> Value:
        if name not in self.current:
            first = self.initial.get(name)
            if first is not None and (shape_of(first), dtype_of(first)) != (
                wanted.shape,
                wanted.dtype,
            ):
                raise Unsupported(f"variable '{name}' is assigned another shape or type")
            self._begin(name, wanted, first)
        return self.current[name]

    def tensor(self, number: int, tensor: TensorOf) -> Value:
        """The current value of a variable tensor; initially its quantized zero."""
        name = _key(number)
        if name not in self.current:
            zero = 0
            if tensor.dtype == "int8" and tensor.scales is not None:
                zero = int(tensor.scales.zero_points[0])
            first = np.full(tensor.shape, zero, tensor.dtype) if zero else None
            self._begin(name, tensor, first)
        return self.current[name]

    def assign_tensor(self, number: int, value: Value) -> None:
        """Assign a value to a variable tensor."""
        self._assign(_key(number), value)

    def _begin(self, name: str, wanted: TensorOf, first: Array | None) -> None:
        plain = plain_name(wanted.name if name.startswith(_NUMBERED) else name, self.names)
        self.names.add(plain)
        state = O.tensor(wanted.shape, wanted.dtype, state=True, const=first, name=plain)
        self.current[name] = self.states[name] = state

    def _assign(self, name: str, value: Value) -> None:
        state = self.states.get(name)
        if state is not None and (shape_of(value), dtype_of(value)) != (
            state.type.sizes,
            state.dtype,
        ):
            raise Unsupported(f"variable '{name}' changes its shape or type")
        self.current[name] = value

    def _call_once(self, number: int) -> None:
        if not 0 < number < len(self.model.subgraphs):
            raise Unsupported(f"subgraph {number}")
        self.initial |= dict(_assigned(self.model.subgraphs[number]))


def _key(number: int) -> str:
    return f"{_NUMBERED}{number}"


def _assigned(graph: Subgraph) -> Iterator[tuple[str, Array]]:
    """The constants that a subgraph assigns to variables."""
    handles = {}
    for operator in graph.operators:
        if operator.name == "VAR_HANDLE":
            handles[operator.outputs[0]] = _name(operator)
            continue
        data = graph.tensors[operator.inputs[1]].data if len(operator.inputs) == 2 else None
        is_known = operator.name == "ASSIGN_VARIABLE" and operator.inputs[0] in handles
        if not is_known or data is None:
            raise Unsupported(f"{operator.name} in a subgraph that is called once")
        yield handles[operator.inputs[0]], data


def _name(operator: OperatorOf) -> str:
    options = options_of(operator, "VarHandleOptions")
    parts = [options.Container() or b"", options.SharedName() or b""]
    return "/".join(part.decode("utf-8") for part in parts if part) or "variable"
