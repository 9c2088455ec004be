# SPDX-License-Identifier: Apache-2.0
"""Operations on whole tiles in the interpreter: matmuls, reductions, shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from xtc.ir.attributes import K_STEP, TF32
from xtc.ir.builders.tile import dims_of, number_of
from xtc.ir.mlir import BoolAttr, Operation, RankedTensorType
from xtc.ir.tile_dialect import known_layout
from xtc.tile.interpreter.block_part import BlockPart
from xtc.tile.interpreter.combining import scanned, viewed
from xtc.tile.interpreter.sums import multiplied, rounded_to_tf32, summed
from xtc.tile.interpreter.values import numpy_type


class WholeTiles(BlockPart):
    """A part of the interpreter of a block."""

    def dot(self, op: Operation) -> None:
        a, b, c = (self.get(op, number) for number in range(3))
        step = number_of(op, K_STEP) if K_STEP in op.attributes else 1
        if TF32 in op.attributes and step > 1:  # tensor cores; threads accept any size
            a, b = rounded_to_tf32(a), rounded_to_tf32(b)
        self.set(op, multiplied(a, b, c, step))

    def indices(self, op: Operation) -> None:
        shape = tuple(RankedTensorType(op.results[0].type).shape)
        self.set(op, np.indices(shape, np.int32)[number_of(op, "dim")])

    def reduce(self, op: Operation) -> None:
        kind, value = str(op.attributes["kind"]).strip('"'), self.get(op, 0)
        axis = number_of(op, "dim")
        if kind.startswith("u"):
            seen = value.view(f"u{value.dtype}")
            found = (np.max if kind == "umax" else np.min)(seen, axis=axis, keepdims=True)
            self.set(op, found.view(value.dtype))
            return
        if kind == "sum":
            with np.errstate(all="ignore"):
                self.set(op, summed(value, known_layout(op.operands[0]), axis))
            return
        function: Any = {"max": np.max, "min": np.min}[kind]
        self.set(op, function(value, axis=axis, keepdims=True))

    def scan(self, op: Operation) -> None:
        kind = str(op.attributes["kind"]).strip('"')
        exclusive = BoolAttr(op.attributes["exclusive"]).value
        self.set(op, scanned(self.get(op, 0), number_of(op, "dim"), kind, exclusive))

    def view(self, op: Operation) -> None:
        layouts = known_layout(op.operands[0]), known_layout(op.results[0])
        bits = number_of(op, "from_bits"), number_of(op, "to_bits")
        type = RankedTensorType(op.results[0].type)
        dtype = numpy_type(type.element_type)
        self.set(op, viewed(self.get(op, 0), layouts, type.shape, bits, dtype))

    def broadcast(self, op: Operation) -> None:
        shape = tuple(RankedTensorType(op.results[0].type).shape)
        self.set(op, np.broadcast_to(self.get(op, 0), shape).copy())

    def transpose(self, op: Operation) -> None:
        self.set(op, np.ascontiguousarray(self.get(op, 0).transpose(dims_of(op))))

    def reshape(self, op: Operation) -> None:
        self.set(op, self.get(op, 0).reshape(tuple(RankedTensorType(op.results[0].type).shape)))

    def same(self, op: Operation) -> None:
        self.set(op, self.get(op, 0))

    def item(self, op: Operation) -> None:
        self.set(op, self.get(op, 0).reshape(-1)[0])
