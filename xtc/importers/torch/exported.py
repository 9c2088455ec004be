# SPDX-License-Identifier: Apache-2.0
"""from_torch: an exported program, which becomes a graph once all sizes are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch.export.graph_signature import InputKind, OutputKind

from xtc.core.errors import UserError
from xtc.graph.graph import Graph
from xtc.importers.dynamic_sizes import DynamicSizes, ModelInput, Size
from xtc.importers.names import graph_name, plain_name
from xtc.importers.torch.convert import State, import_traced
from xtc.importers.torch.decompositions import of_exported
from xtc.importers.torch.types import element_name
from xtc.importers.values import Array, Unsupported

_KEPT = (OutputKind.USER_OUTPUT, OutputKind.BUFFER_MUTATION)
_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


@dataclass(eq=False)
class TorchModel:
    """A program of PyTorch's core operators.

    `bind` returns the graph for given sizes. `xtc.compile(model)` accepts the model itself, and
    compiles it for the sizes of each call.

    Attributes:
        name: name of the compiled function.
        inputs: tensor arguments, in order.
        dims: sizes given when the model was read.
    """

    name: str
    inputs: tuple[ModelInput, ...]
    dims: Mapping[str, int]
    _program: torch.export.ExportedProgram = field(repr=False)
    _device: object = field(default=None, repr=False)

    @property
    def symbols(self) -> tuple[str, ...]:
        """Names of the dynamic dimensions: "x_0" is the first of input x."""
        return self._dynamic.symbols

    @cached_property
    def _dynamic(self) -> DynamicSizes:
        return DynamicSizes(self.name, self.inputs, (), self.dims, None)

    def bind(
        self, dims: Mapping[str, int] | None = None, values: Mapping[str, Any] | None = None
    ) -> Graph:
        """The graph for given sizes of the dynamic dimensions.

        Raises UserError for missing or unknown names, for sizes that the program was not exported
        for, and for unsupported operators, listing all of them.
        """
        symbols = self._symbols(self._dynamic.chosen(dims or {}))
        updated = {
            str(output.target): position
            for position, output in enumerate(self._program.graph_signature.output_specs)
            if output.kind is OutputKind.BUFFER_MUTATION
        }
        leaves: list[Any] = []
        names = []
        for node, spec in _placeholders(self._program):
            leaf = self._leaf(node, spec, symbols)
            if spec.kind is InputKind.BUFFER and str(spec.target) in updated:
                leaf = State(leaf, updated[str(spec.target)])
            leaves.append(leaf)
            names.append(str(spec.target) if spec.kind in _WEIGHTS else node.name)
        module = self._program.graph_module
        imported = import_traced(self.name, module, leaves, names, self._device)
        if imported.graph is None:
            raise UserError(f"'{self.name}' computes nothing")
        return imported.graph

    def _symbols(self, sizes: Mapping[str, int]) -> dict[Any, int]:
        """The sizes of the program's symbols. Raises UserError for invalid sizes."""
        expressions = self._expressions
        symbols = {e: sizes[label] for e, label in expressions.items() if e.is_Symbol}
        labels = {e: type(e)(label) for e, label in expressions.items() if e.is_Symbol}
        for expression, label in expressions.items():
            wanted = int(expression.subs(symbols))
            if wanted != sizes[label]:
                why = f"it is {expression.subs(labels)}, here {wanted}"
                raise self._unfit(label, sizes[label], why)
            limits = self._program.range_constraints.get(expression)
            if limits is not None and not limits.lower <= wanted <= limits.upper:
                why = f"the program was exported for {limits.lower} to {limits.upper}"
                raise self._unfit(label, wanted, why)
        return symbols

    @cached_property
    def _expressions(self) -> dict[Any, str]:
        """The program's expressions of the dynamic sizes, with their names."""
        given = {known.name: known.shape for known in self.inputs}
        return {
            size.node.expr: str(label)
            for node, _ in _placeholders(self._program)
            if node.name in given
            for size, label in zip(node.meta["val"].shape, given[node.name], strict=True)
            if isinstance(size, torch.SymInt)
        }

    def _unfit(self, name: str, size: int, why: str) -> UserError:
        return UserError(f"dimension '{name}' of model '{self.name}' cannot be {size}", notes=[why])

    def _leaf(self, node: torch.fx.Node, spec: Any, symbols: Mapping[Any, int]) -> Any:
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
            if spec.target in self._program.state_dict:
                return self._program.state_dict[spec.target]
            return self._program.constants[spec.target]
        if spec.kind is InputKind.CONSTANT_TENSOR:
            return self._program.constants[spec.target]
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            return value
        shape = tuple(
            size if isinstance(size, int) else int(size.node.expr.subs(symbols))
            for size in value.shape
        )
        return shape, element_name(value.dtype)

    def sizes_of(self, arrays: Mapping[str, Array]) -> tuple[dict[str, int], dict[str, Array]]:
        """The dynamic sizes, from arrays by input name."""
        return self._dynamic.of_arrays(arrays), {}

    def input_names(self, graph: Graph) -> dict[str, str]:
        """The program's input names, by the graph's input names."""
        names = {plain_name(given.name, set()): given.name for given in self.inputs}
        inputs = (str(tensor.name) for tensor in graph.inputs if not tensor.state)
        return {name: names[name] for name in inputs}

    def carried(self, array: Array) -> Array:
        """An argument in the form that the graph expects."""
        return array

    def results(self, arrays: Any) -> Any:
        """The results of a graph in the form that callers expect."""
        return arrays

    def __repr__(self) -> str:
        return f"<xtc model {self.name}({', '.join(map(str, self.inputs))})>"


def model_of(
    program: torch.export.ExportedProgram,
    name: str,
    dims: Mapping[str, int],
    device: object = None,
) -> Graph | TorchModel:
    """A program's graph, or a model if sizes are free. Raises UserError."""
    core = program.run_decompositions(of_exported())
    for output in core.graph_signature.output_specs:
        if output.kind not in _KEPT:
            kind = output.kind.name.lower().replace("_", " ")
            raise UserError(f"the program's output '{output.target}' is a {kind}")
    model = TorchModel(graph_name(name), _inputs(core), dict(dims), core, device)
    model._dynamic.check_names(dims)
    return model if model.symbols else model.bind()


def _placeholders(program: torch.export.ExportedProgram) -> list[tuple[torch.fx.Node, Any]]:
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    return list(zip(nodes, program.graph_signature.input_specs, strict=True))


def _inputs(program: torch.export.ExportedProgram) -> tuple[ModelInput, ...]:
    symbols: dict[Any, str] = {}
    inputs = []
    for node, spec in _placeholders(program):
        value = node.meta.get("val")
        if spec.kind is InputKind.USER_INPUT and isinstance(value, torch.Tensor):
            shape = _named(node.name, value.shape, symbols)
            inputs.append(ModelInput(node.name, shape, _element(node.name, value.dtype)))
    return tuple(inputs)


def _named(name: str, shape: Sequence[Any], symbols: dict[Any, str]) -> tuple[Size, ...]:
    """Shapes whose dynamic sizes are named after the first input that has them."""
    return tuple(
        size if isinstance(size, int) else symbols.setdefault(size.node.expr, f"{name}_{position}")
        for position, size in enumerate(shape)
    )


def _element(name: str, dtype: torch.dtype) -> str:
    try:
        return element_name(dtype)
    except Unsupported as error:
        raise UserError(f"input '{name}' has {error}, which is not supported") from None
