# SPDX-License-Identifier: Apache-2.0
"""A graph: nodes in an order in which they can run, with named inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from xtc.core.errors import UserError, did_you_mean, located
from xtc.core.location import user_location
from xtc.graph.bind import bind_graph
from xtc.graph.node import Node
from xtc.graph.placement import Placement
from xtc.graph.reference import evaluate_graph
from xtc.graph.states import Updates
from xtc.graph.tensor import Tensor


@dataclass(eq=False, repr=False)
class Graph:
    """A named tensor graph, finished and checked; made by `O.graph` or `Graph.load`.

    Attributes:
        name: the name of the compiled function.
        inputs: tensors the caller passes, in order.
        outputs: tensors the caller gets back, in order.
        nodes: operators in topological order.
        updates: the states, which are the last inputs, each with its value after a call.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    updates: Updates = ()

    @property
    def constants(self) -> tuple[Tensor, ...]:
        """Constant operands in the order of first use."""
        return tuple(dict.fromkeys(t for t in self._operands() if t.const is not None))

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of symbolic dimensions, in the order of the inputs."""
        names = (dim for tensor in self.inputs for dim in tensor.shape if isinstance(dim, str))
        return tuple(dict.fromkeys(names))

    @property
    def flops(self) -> int:
        """Arithmetic operations of one run; every dimension must be known."""
        return sum(node.flops for node in self.nodes)

    @property
    def reduction_size(self) -> int:
        """The number of summed terms over all nodes; the scale of expected rounding errors."""
        return sum(node.op.reduction_size(*node.input_types) for node in self.nodes)

    def node(self, name: str) -> Node:
        """The node whose result is called `name`. Raises UserError if it does not exist."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise UserError(
            f"graph '{self.name}' has no node '{name}'",
            hints=did_you_mean(name, [node.name for node in self.nodes]),
        )

    def bind(self, dims: Mapping[str, int] | None = None, **more: int) -> Graph:
        """This graph with symbolic dimensions fixed and every type inferred again.

        Raises UserError for unknown names and sizes below 1.
        """
        return bind_graph(self, {**(dims or {}), **more})

    def typed(self, *types: object, **named: object) -> Graph:
        """The graph with these input types, given by position or by input name.

        A type is a pair of a shape and an element type; a shape alone, with the declared element
        type or float32; or an array of that type. Inputs that have a type need none. Use it for a
        graph whose inputs were declared without a shape: the result can be compiled. Raises
        UserError for types that contradict a declaration or that an operator refuses.
        """
        from xtc.graph.input_types import given_types

        inputs = {str(tensor.name): tensor for tensor in self.inputs}
        with located(user_location()):
            given_types(f"graph.typed of '{self.name}'", inputs, types, named)
        return self

    def evaluate(self, *args: Any, precise: bool = False, **arrays: Any) -> Any:
        """Evaluate the graph with NumPy, on arrays given by position or by input name.

        With `precise`, all floats are computed in float64. Returns the output array, or a dict by
        name if there are several. Raises UserError for missing or misshapen arrays.
        """
        results = evaluate_graph(self, args, arrays, precise=precise)
        return results[str(self.outputs[0].name)] if len(self.outputs) == 1 else results

    def save(self, path: str | Path) -> None:
        """Write the graph and its constants as YAML; an error leaves no partial file."""
        from xtc.graph.yaml_file import save_graph

        save_graph(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Graph:
        """Read a graph that `save` wrote. Raises UserError for other files."""
        from xtc.graph.yaml_file import load_graph

        return cls(*load_graph(Path(path)))

    def to_yaml(self) -> str:
        """The whole graph as YAML text, constants of any size included."""
        from xtc.graph.yaml_write import graph_text

        return graph_text(self)

    @classmethod
    def from_yaml(cls, text: str, where: str = "<text>") -> Graph:
        """Parse the text of `to_yaml`. Errors give locations in `where`, the text's name."""
        from xtc.graph.yaml_file import parse_graph

        return cls(*parse_graph(text, where))

    def to_dot(self) -> str:
        """Graphviz text of the graph."""
        from xtc.graph.dot import dot_text

        return dot_text(self)

    def to_svg(self) -> str:
        """An SVG drawing of the graph; does not need Graphviz."""
        from xtc.graph.svg import svg_text

        return svg_text(self)

    def _repr_svg_(self) -> str:
        """The graph as notebooks display it."""
        return self.to_svg()

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __repr__(self) -> str:
        ins = ", ".join(f"{tensor.name}: {tensor.type}" for tensor in self.inputs)
        outs = ", ".join(f"{tensor.name}: {tensor.type}" for tensor in self.outputs)
        return f"<xtc.Graph {self.name}({ins}) -> {outs}, {len(self.nodes)} operators>"

    def __str__(self) -> str:
        ins = ", ".join(str(tensor) for tensor in self.inputs)
        constants = [f"  {tensor} = const{_const_text(tensor)}" for tensor in self.constants]
        body = [f"  {node}" for node in self.nodes]
        updates = [f"  update %{state.name} = %{value.name}" for state, value in self.updates]
        results = ", ".join(f"%{tensor.name}" for tensor in self.outputs)
        end = [f"  return {results}", "}"]
        lines = [f"graph {self.name}({ins}) {{", *constants, *body, *updates, *end]
        return "\n".join(lines)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Graph)
            and str(self) == str(other)
            and _placements(self) == _placements(other)
            and _same_constants(self, other)
        )

    def __hash__(self) -> int:
        return hash(str(self))

    def _operands(self) -> Iterator[Tensor]:
        return (tensor for node in self.nodes for tensor in node.inputs)


def _const_text(tensor: Tensor) -> str:
    return (
        f" {tensor.const.item()!r}"
        if tensor.is_scalar_constant and tensor.const is not None
        else ""
    )


def _placements(graph: Graph) -> list[Placement | None]:
    tensors = [tensor.placement for tensor in (*graph.inputs, *graph.constants)]
    return [*tensors, *(node.placement for node in graph.nodes)]


def _same_constants(a: Graph, b: Graph) -> bool:
    pairs = zip(a.constants, b.constants, strict=True)
    return all(_same_bytes(x.const, y.const) for x, y in pairs)


def _same_bytes(a: np.ndarray[Any, Any] | None, b: np.ndarray[Any, Any] | None) -> bool:
    return a is not None and b is not None and a.tobytes() == b.tobytes()
