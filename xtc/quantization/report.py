# SPDX-License-Identifier: Apache-2.0
"""Quantization errors of each operator over the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xtc.graph.graph import Graph
from xtc.graph.reference import evaluate_nodes
from xtc.graph.tensor import Tensor
from xtc.ops.quantized import Quantization
from xtc.quantization.convert import Converted
from xtc.quantization.ranges import by_name, steps


@dataclass(frozen=True)
class OperatorError:
    """The error of an operator's result against the float graph, over all samples.

    Attributes:
        name: the result's name in the float graph.
        operator: its operator there.
        form: "int8" or "float32".
        relative: the RMS error over the RMS of the result.
        largest: the largest error.
        scale: the scale of the int8 result; 0 in float32.
    """

    name: str
    operator: str
    form: str
    relative: float
    largest: float
    scale: float


@dataclass(eq=False)
class QuantizedGraph(Graph):
    """A graph of int8 operators, with its errors.

    Attributes:
        errors: the error of each remaining operator, in order; fused ones are not listed.
        quantizations: the quantizations of int8 results, inputs and outputs, by name.
    """

    errors: tuple[OperatorError, ...] = field(default=(), repr=False)
    quantizations: Mapping[str, Quantization] = field(default_factory=dict, repr=False)

    def report(self) -> str:
        """The errors as a table."""
        lines = [f"{'relative':>9} {'largest':>10} {'scale':>10}  form     operator"]
        for error in self.errors:
            scale = f"{error.scale:10.3g}" if error.scale else " " * 10
            figures = f"{error.relative:9.2%} {error.largest:10.3g} {scale}"
            lines.append(f"{figures}  {error.form:8} {error.operator} '{error.name}'")
        return "\n".join(lines) + "\n"


def measured(graph: Graph, found: Converted, samples: Sequence[Any]) -> QuantizedGraph:
    """The quantized graph with its errors."""
    after = found.graph
    positions = {node.output: number for number, node in enumerate(after.nodes)}
    pairs = []
    for number, node in enumerate(graph.nodes):
        result, quantization = found.results.get(node.output, (None, None))
        if result in positions:
            pairs.append((number, positions[result], quantization))
    sums = [_Sums() for _ in pairs]
    for sample in samples:
        given = by_name(graph, sample)
        wanted = evaluate_nodes(graph, given)
        got = evaluate_nodes(after, _as_taken(after, given, found.inputs))
        for total, (old, new, quantization) in zip(sums, pairs, strict=True):
            total.add(wanted[old], got[new], quantization)
    errors = [
        total.error(graph.nodes[old].name, graph.nodes[old].op.name, quantization)
        for total, (old, _, quantization) in zip(sums, pairs, strict=True)
    ]
    named = {graph.nodes[old].name: quantization for old, _, quantization in pairs if quantization}
    return QuantizedGraph(
        after.name,
        after.inputs,
        after.outputs,
        after.nodes,
        after.updates,
        tuple(errors),
        {**named, **found.inputs},
    )


def _as_taken(
    graph: Graph, given: Mapping[str, Any], inputs: Mapping[str, Quantization]
) -> dict[str, Any]:
    names = {str(tensor.name): tensor for tensor in graph.inputs}
    return {
        name: steps(array, inputs[name]) if _is_int8(names[name]) else array
        for name, array in given.items()
        if name in names
    }


def _is_int8(tensor: Tensor) -> bool:
    return tensor.dtype == "int8"


@dataclass
class _Sums:
    error_square: float = 0.0
    square: float = 0.0
    largest: float = 0.0

    def add(self, wanted: Any, got: Any, quantization: Quantization | None) -> None:
        real = got.astype(np.float64)
        if quantization is not None:
            real = (real - quantization.zero_point) * quantization.scale
        difference = np.abs(real.reshape(wanted.shape) - wanted)
        self.error_square += float((difference**2).sum())
        self.square += float((wanted.astype(np.float64) ** 2).sum())
        self.largest = max(self.largest, float(difference.max(initial=0)))

    def error(self, name: str, operator: str, quantization: Quantization | None) -> OperatorError:
        relative = (self.error_square / self.square) ** 0.5 if self.square else 0.0
        form = "float32" if quantization is None else "int8"
        scale = 0.0 if quantization is None else quantization.scale
        return OperatorError(name, operator, form, relative, self.largest, scale)
