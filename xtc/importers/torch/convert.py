# SPDX-License-Identifier: Apache-2.0
"""Converts the nodes of a functional FX graph, writing them into the open graph."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import xtc.ops as O
from xtc.core.errors import UserError, XtcError
from xtc.core.types import ELEMENT_TYPES
from xtc.graph.builder import GraphBuilder
from xtc.graph.graph import Graph
from xtc.graph.states import make_state
from xtc.graph.tensor import Tensor
from xtc.importers.finish import finish, undeclared
from xtc.importers.names import graph_name, plain_name
from xtc.importers.torch import ops as _  # noqa: F401  fills the table
from xtc.importers.torch.complex import COMPONENTS, Complex, is_complex, written
from xtc.importers.torch.table import RESULT, TABLE
from xtc.importers.torch.types import element_name, to_array
from xtc.importers.values import Array, Unsupported, Value, as_tensor

_PYTHON = ("operator", "_operator", "builtins", "math")  # their functions compute on numbers


class UnsupportedNodes(UserError):  # noqa: N818
    """Nodes that cannot be imported.

    Attributes:
        nodes: their names.
    """

    nodes: tuple[str, ...] = ()


@dataclass
class Converter:
    """Writes nodes into `builder` and collects those that it cannot write.

    Attributes:
        builder: the open graph.
        module: the module of the nodes; constants are its attributes.
        problems: reasons, by the names of unsupported nodes.
        names: names taken by tensors.
    """

    builder: GraphBuilder
    module: torch.fx.GraphModule
    problems: dict[str, str] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def run(self, values: dict[torch.fx.Node, Any]) -> list[Any]:
        """The outputs; `values` holds the values of the placeholders."""
        for node in self.module.graph.nodes:
            if node.op == "output":
                if self.problems:
                    return []
                return list(_mapped(node.args[0], values))
            if node.op == "get_attr":
                values[node] = _attribute_value(self.module, str(node.target))
            elif node.op != "placeholder":
                self._node(node, values)
        raise TypeError("a graph without an output")

    def _node(self, node: torch.fx.Node, values: dict[torch.fx.Node, Any]) -> None:
        if any(source not in values for source in node.all_input_nodes):
            return  # the producer is among the problems
        start = len(self.builder.nodes)
        try:
            values[node] = self._result(node, values)
        except (Unsupported, UserError) as error:
            del self.builder.nodes[start:]
            why = error.what if isinstance(error, XtcError) else str(error)
            self.problems[node.name] = f"{node.target} ({node.name}){location_of(node)}: {why}"
            return
        result = values[node]
        if isinstance(result, Tensor) and result.name is None and result.producer is not None:
            result.name = plain_name(node.name, self.names)
            self.names.add(result.name)

    def _result(self, node: torch.fx.Node, values: Mapping[torch.fx.Node, Any]) -> Any:
        args, kwargs = _mapped(node.args, values), _mapped(node.kwargs, values)
        target = node.target
        if getattr(target, "__module__", "") in _PYTHON:
            return target(*args, **kwargs)
        empty = _without_elements(node)
        if empty is not None:
            return empty
        name = str(target).removesuffix(".default")
        write = TABLE.get(str(target)) or TABLE.get(name)
        token = RESULT.set(_element(node))
        try:
            if _has_complex(node) or is_complex([*args, *kwargs.values()]):
                return written(name, write, args, kwargs)
            if write is None:
                raise Unsupported("the operator is not supported")
            return write(*args, **kwargs)
        finally:
            RESULT.reset(token)


def _element(node: torch.fx.Node) -> str | None:
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor):
        return None
    return element_name(COMPONENTS.get(value.dtype, value.dtype))


def _has_complex(node: torch.fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype in COMPONENTS


def _without_elements(node: torch.fx.Node) -> Array | None:
    """A result without elements, which needs no operator."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or 0 not in [n for n in value.shape if type(n) is int]:
        return None
    return np.empty(tuple(value.shape), ELEMENT_TYPES[element_name(value.dtype)].numpy)


def location_of(node: torch.fx.Node) -> str:
    """The innermost source line of the user's program for a node."""
    trace = [line.strip() for line in (node.stack_trace or "").splitlines()]
    files = [line for line in trace if line.startswith("File ")]
    return f" at {files[-1].removeprefix('File ')}" if files else ""


def _mapped(value: Any, values: Mapping[torch.fx.Node, Any]) -> Any:
    if isinstance(value, torch.fx.Node):
        return values[value]
    if isinstance(value, list | tuple):
        return type(value)(_mapped(item, values) for item in value)
    if isinstance(value, dict):
        return {key: _mapped(item, values) for key, item in value.items()}
    return value


def _attribute_value(module: torch.nn.Module, path: str) -> Any:
    """A constant, or a submodule such as a branch of control flow."""
    found = operator.attrgetter(path)(module)
    return constant(found) if isinstance(found, torch.Tensor) else found


def constant(tensor: torch.Tensor) -> Value | Complex:
    """A known tensor as a constant of the graph; as an array if it has no elements."""
    if tensor.is_complex():
        parts = to_array(torch.view_as_real(tensor.detach().resolve_conj()))
        return Complex(as_tensor(parts[..., 0]), as_tensor(parts[..., 1]))
    array = to_array(tensor)
    if array.size == 0:
        return array
    return O.tensor(array.shape, element_name(tensor.dtype), const=array)


@dataclass(frozen=True)
class Imported:
    """A graph imported from a module.

    Attributes:
        graph: None if nothing is left to compute.
        results: for each output of the module, the name of the graph's output, or a value that is
            not a tensor.
        inputs: positions of the module's placeholders, by the names of the graph's inputs.
    """

    graph: Graph | None
    results: tuple[Any, ...]
    inputs: Mapping[str, int]


@dataclass(frozen=True)
class Result:
    """An output of the graph."""

    name: str


@dataclass(frozen=True)
class State:
    """A placeholder whose value the module keeps between calls.

    Attributes:
        value: initial value.
        output: index of the module's output that holds the next value.
    """

    value: torch.Tensor
    output: int


def import_traced(
    name: str,
    module: torch.fx.GraphModule,
    leaves: Sequence[Any],
    names: Sequence[str] = (),
    device: object = None,
) -> Imported:
    """The graph of a module of core operators.

    Args:
        name: name of the graph.
        module: a module of functional nodes.
        leaves: for each placeholder a constant, as a tensor; the type of an input, as (shape,
            element type); a state; or a value that is not a tensor.
        names: names of the placeholders; their own by default.
        device: the device of all operators.

    Raises UserError that lists all unsupported nodes.
    """
    with O.graph(name=graph_name(name)) as builder:
        converter = Converter(builder, module)
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        values: dict[torch.fx.Node, Any] = {}
        inputs: dict[Tensor, int] = {}
        states: dict[Tensor, int] = {}
        for position, (node, leaf) in enumerate(zip(placeholders, leaves, strict=True)):
            label = names[position] if names else node.name
            values[node] = _leaf(converter, label, leaf)
            if isinstance(leaf, tuple) and isinstance(values[node], Tensor):
                inputs[values[node]] = position
            if isinstance(leaf, State):
                states[values[node]] = leaf.output
        found = converter.run(values)
        if converter.problems:
            raise _unsupported(name, converter.problems)
        updates = [(state, found[number]) for state, number in states.items()]
        found = [value for number, value in enumerate(found) if number not in states.values()]
        if is_complex(found):
            raise _complex_output(name, module)
        tensors = [value for value in found if isinstance(value, Tensor)]
        labels = [f"output{n}" for n in range(len(tensors))] if len(tensors) > 1 else ["output"]
        if not tensors:
            raise _named(UnsupportedNodes(f"'{name}' computes no tensor"), module.graph.nodes)
        finish(builder, labels, tensors, [*inputs, *states], device, updates)
    graph = builder.graph
    written = iter(graph.outputs)
    results = tuple(
        Result(str(next(written).name)) if isinstance(value, Tensor) else value for value in found
    )
    positions = {
        str(tensor.name): position for tensor, position in inputs.items() if tensor in graph.inputs
    }
    return Imported(graph, results, positions)


def _unsupported(name: str, problems: Mapping[str, str]) -> UnsupportedNodes:
    count = len(problems)
    what = f"{count} node{'s' * (count != 1)} of '{name}' cannot be imported"
    error = UnsupportedNodes(what, notes=list(problems.values()))
    error.nodes = tuple(problems)
    return error


def _complex_output(name: str, module: torch.fx.GraphModule) -> UnsupportedNodes:
    error = UnsupportedNodes(
        f"an output of '{name}' is complex",
        hints=["torch.view_as_real returns its parts as one tensor"],
    )
    return _named(error, module.graph.output_node().all_input_nodes)


def _named(error: UnsupportedNodes, nodes: Iterable[torch.fx.Node]) -> UnsupportedNodes:
    error.nodes = tuple(node.name for node in nodes)
    return error


def _leaf(converter: Converter, name: str, leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return constant(leaf)
    if not isinstance(leaf, tuple | State):
        return leaf
    label = plain_name(name, converter.names)
    converter.names.add(label)
    if isinstance(leaf, tuple):
        shape, dtype = leaf
        if 0 in shape:
            return np.empty(shape, ELEMENT_TYPES[dtype].numpy)
        return undeclared(converter.builder, shape, dtype, label)
    array = to_array(leaf.value)
    state = undeclared(converter.builder, array.shape, element_name(leaf.value.dtype), label)
    make_state(state, array.copy())
    return state
