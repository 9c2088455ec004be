# SPDX-License-Identifier: Apache-2.0
"""The quantized graph under construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import xtc.ops as O
from xtc.graph.builder import GraphBuilder, apply
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor
from xtc.ops.quantized import Quantization
from xtc.quantization.chains import Chain
from xtc.quantization.ranges import Range, fitting


@dataclass
class Writer:
    """The new graph under construction: each tensor of the old graph as int8, float32, or both.

    Attributes:
        ranges: the ranges of the old graph's tensors.
        results: the new tensor for each result of the old graph, in its computed form.
        inner: the outputs written so far.
        chains: the chains of its operators, by the last result.
    """

    builder: GraphBuilder
    ranges: Mapping[Tensor, Range]
    chains: Mapping[Tensor, Chain]
    whole: dict[Tensor, tuple[Tensor, Quantization]] = field(default_factory=dict)
    real: dict[Tensor, Tensor] = field(default_factory=dict)
    results: dict[Tensor, tuple[Tensor, Quantization | None]] = field(default_factory=dict)
    inner: set[Tensor] = field(default_factory=set)

    def quantization(self, x: Tensor) -> Quantization:
        """The quantization of a tensor of the old graph: its current one, or one for its range."""
        return self.whole[x][1] if x in self.whole else fitting(self.ranges[x])

    def int8(self, x: Tensor) -> Tensor:
        """A tensor of the old graph as int8."""
        if x not in self.whole:
            q = fitting(self.ranges[x])
            found = O.quantize(self.real[x], q.scale, zero_point=q.zero_point, halves="away")
            self.whole[x] = found, q
        return self.whole[x][0]

    def float32(self, x: Tensor) -> Tensor:
        """A tensor of the old graph as float32."""
        if x.const is not None:
            return x
        if x not in self.real:
            found, q = self.whole[x]
            self.real[x] = O.dequantize(found, q.scale, zero_point=q.zero_point)
        return self.real[x]

    def can(self, x: Tensor) -> bool:
        """Whether a tensor may be int8."""
        return x.const is None and x.dtype == "float32" and x in self.ranges

    def keep(self, x: Tensor) -> None:
        """Records the new tensor for a result of the old graph, under the same name."""
        found, q = self.whole[x] if x in self.whole else (self.real[x], None)
        self.results[x] = found, q
        if found.name is None and found.producer is not None:
            found.name = x.name

    def plain(self, node: Node) -> None:
        """Writes the operator unchanged."""
        result = apply(node.op, *(self.float32(x) for x in node.inputs))
        self.real[node.output] = result
