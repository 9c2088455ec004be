# SPDX-License-Identifier: Apache-2.0
"""widen-dot-operands: widens operands of a dot whose codes mma.sync cannot multiply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders import float_codes
from xtc.ir.builders.operand_codes import CODES, codes_of_dot
from xtc.ir.mlir import (
    F16Type,
    InsertionPoint,
    Operation,
    RankedTensorType,
    Type,
    Value,
    all_operations,
    arith,
)
from xtc.ir.passes import Pass


@dataclass(frozen=True)
class WidenDotOperands(Pass):
    """Widen 8-bit floats to float16, and unsigned bytes to the type of the accumulators.

    Before:
        "tile.dot"(%a, %b, %c) {codes = ["float8_e4m3", "float8_e5m2"]}
            : (tensor<64x32xi8>, tensor<32x64xi8>, tensor<64x64xf32>) -> tensor<64x64xf32>
    After, with the values of the codes:
        "tile.dot"(%wide_a, %wide_b, %c)
            : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>

    Both conversions are exact. Warpgroups multiply codes: pipeline-bulk-copies has replaced the
    dots of loops that it divided among them.
    """

    name: ClassVar[str] = "widen-dot-operands"

    def run(self, module: Operation) -> None:
        with module.context:
            for op in all_operations(module):
                if op.name == "tile.dot" and CODES in op.attributes:
                    _widen(op)


def _widen(op: Operation) -> None:
    total = RankedTensorType(op.results[0].type).element_type
    with op.location, InsertionPoint(op):
        for number, name in enumerate(codes_of_dot(op)):
            op.operands[number] = _widened(op.operands[number], name, total)
    del op.attributes[CODES]


def _widened(codes: Value, name: str, total: Type) -> Value:
    shape = RankedTensorType(codes.type).shape
    if name == "uint8":
        return arith.extui(RankedTensorType.get(shape, total), codes)
    return arith.truncf(
        RankedTensorType.get(shape, F16Type.get()), float_codes.decoded(codes, name)
    )
