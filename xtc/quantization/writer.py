# SPDX-License-Identifier: Apache-2.0
"""The quantised graph while it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import xtc.ops as O
from xtc.graph.builder import GraphBuilder, apply
from xtc.graph.node import Node
from xtc.graph.tensor import Tensor
from xtc.ops.quantised import Quantization
from xtc.quantization.chains import Chain
from xtc.quantization.ranges import Range, fitting


@dataclass
class Writer:
    """The new graph while it is written: each tensor of the old one as int8, float32, or both.

    Attributes:
        ranges: of the old graph's tensors.
        results: what stands for a result of the old graph, in the form that computes it.
        inner: outputs that are written.
        chains: of its operators, by the result of the last.
    """

    builder: GraphBuilder
    ranges: Mapping[Tensor, Range]
    chains: Mapping[Tensor, Chain]
    whole: dict[Tensor, tuple[Tensor, Quantization]] = field(default_factory=dict)
    real: dict[Tensor, Tensor] = field(default_factory=dict)
    results: dict[Tensor, tuple[Tensor, Quantization | None]] = field(default_factory=dict)
    inner: set[Tensor] = field(default_factory=set)

    def quantization(self, x: Tensor) -> Quantization:
        """How a tensor of the old graph is quantised: as it is, or as its range asks for."""
        return self.whole[x][1] if x in self.whole else fitting(self.ranges[x])

    def int8(self, x: Tensor) -> Tensor:
        """A tensor of the old graph as int8."""
        if x not in self.whole:
            q = fitting(self.ranges[x])
            found = O.quantize(self.real[x], q.scale, zero_point=q.zero_point, halves="away")
            self.whole[x] = found, q
        return self.whole[x][0]

    def float32(self, x: Tensor) -> Tensor:
        """A tensor of the old graph as it was."""
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
        """Notes what stands for a result of the old graph, and calls it as that was called."""
        found, q = self.whole[x] if x in self.whole else (self.real[x], None)
        self.results[x] = found, q
        if found.name is None and found.producer is not None:
            found.name = x.name

    def plain(self, node: Node) -> None:
        """The operator as it was."""
        result = apply(node.op, *(self.float32(x) for x in node.inputs))
        self.real[node.output] = result
