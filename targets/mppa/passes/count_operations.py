# SPDX-License-Identifier: Apache-2.0
"""count-operations: linalg operations say how much they compute, for the modelled cycles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.core.mlir import InsertionPoint, MemRefType, Operation
from xtc.core.passes import Pass
from xtc_passes._build import Offset
from xtc_passes._linalg import all_operations
from xtc_targets.mppa.description import COOLIDGE_V2
from xtc_targets.mppa.passes import _control as control
from xtc_targets.mppa.passes import _device as device
from xtc_targets.mppa.passes import _views as views
from xtc_targets.mppa.passes._nests import Nest, element, nest

_TYPES = {"f32": 0, "f16": 1, "i8": 2}  # dev_type
_OTHER = 3
_LINE = COOLIDGE_V2.load_bytes_per_cycle


@dataclass(frozen=True)
class CountOperations(Pass):
    """Put a call of `dev_count_macs` after every linalg operation of device code.

    Before:
        linalg.matmul ins(%a, %b) outs(%c)                   // 4 x 8 x 16 of f32
    After:
        linalg.matmul ins(%a, %b) outs(%c)
        call @dev_count_macs(%f32, %c512) : (i32, i64) -> ()

    A sum of products counts its multiply-adds by the type of the factors. Everything else counts
    as "other", which the machine's description lets a PE do once in a cycle: each arithmetic
    operation of the body, once per iteration. What only moves data, as fill and copy, counts one
    for each 32 bytes that it writes, the width of a PE's stores. Operations whose number of
    iterations cannot be told from their operands count nothing.
    """

    name: ClassVar[str] = "count-operations"

    def run(self, module: Operation) -> None:
        with module.context:
            device.declare(module, device.COUNT, [device.i32(), device.i64()])
            for function in device.functions(module):
                for op in all_operations(function):
                    found = nest(op)
                    if found is not None:
                        with op.location, InsertionPoint.after(op):
                            _count(found)


def _count(found: Nest) -> None:
    extents = found.extents()
    if extents is None:
        return
    count: Offset = 1
    for extent in extents:
        count = control.multiply(count, extent)
    kind, arithmetic = _OTHER, found.arithmetic
    if found.factors is not None:
        kind = _TYPES.get(element(found.op.operands[0]), _OTHER)
    elif arithmetic:
        count = control.multiply(count, len(arithmetic))
    else:
        count = _lines(found, count)
    number = control.value(count)
    device.call(
        device.COUNT,
        [control.constant(kind, device.i32()), control.index_cast(number, device.i64())],
    )


def _lines(found: Nest, elements: Offset) -> Offset:
    """How many stores of full width write so many elements."""
    target = found.op.operands[len(found.op.operands) - 1]
    nbytes = views.element_bytes(target) if isinstance(target.type, MemRefType) else 1
    return control.divide(control.add(control.multiply(elements, nbytes), _LINE - 1), _LINE)
