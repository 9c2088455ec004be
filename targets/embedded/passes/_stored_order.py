# SPDX-License-Identifier: Apache-2.0
"""Stores constants in the order in which code reads them, copied when the program is built."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xtc.ir.analysis.effects import is_memref
from xtc.ir.analysis.views import is_reshape
from xtc.ir.attributes import PACKED
from xtc.ir.mlir import (
    ArrayAttr,
    DenseElementsAttr,
    DictAttr,
    FlatSymbolRefAttr,
    InsertionPoint,
    IntegerAttr,
    IntegerType,
    MemRefType,
    Operation,
    OpResult,
    RankedTensorType,
    StridedLayoutAttr,
    StringAttr,
    TypeAttr,
    Value,
    all_operations,
    memref,
)
from xtc.ir.partition import top_level

_ALIGN = 4  # alignment of words


@dataclass(frozen=True)
class Part:
    """A part of a constant: sizes, strides, and the offset of the first element."""

    sizes: tuple[int, ...]
    steps: tuple[int, ...]
    first: int


def constant_of(value: Value) -> Operation | None:
    """The global constant of a buffer, possibly reshaped; None for other buffers."""
    while isinstance(value, OpResult) and is_reshape(value.owner.operation):
        value = value.owner.operands[0]
    load = value.owner.operation if isinstance(value, OpResult) else None
    if load is None or load.name != "memref.get_global":
        return None
    module = load
    while module.parent is not None:
        module = module.parent.operation
    symbol = FlatSymbolRefAttr(load.attributes["name"]).value
    found = (op for op in top_level(module) if op.name == "memref.global")
    named = next(op for op in found if StringAttr(op.attributes["sym_name"]).value == symbol)
    return named if "constant" in named.attributes else None


def stored(module: Operation, constant: Operation, part: Part) -> Value:
    """A part of a constant as one dimension in the part's order, at the insertion point."""
    name = StringAttr(constant.attributes["sym_name"]).value
    element = MemRefType(TypeAttr(constant.attributes["type"]).value).element_type
    packed = dict(_packed(module))
    symbol = f"{name}.tiles{len(packed)}"
    type = MemRefType.get([math.prod(part.sizes)], element)
    content = constant.attributes.get("initial_value", None)
    value = None if content is None else _reordered(content, part)
    align = IntegerAttr.get(IntegerType.get_signless(64), _ALIGN)
    memref.global_(
        symbol,
        type,
        initial_value=value,
        constant=True,
        alignment=align,
        ip=InsertionPoint(constant),
    )
    if value is None:
        layout = StridedLayoutAttr.get(part.first, list(part.steps))
        view = TypeAttr.get(MemRefType.get(list(part.sizes), element, layout))
        packed[symbol] = ArrayAttr.get([FlatSymbolRefAttr.get(name), view])
        module.attributes[PACKED] = DictAttr.get(packed)
    return memref.get_global(type, symbol)


def _packed(module: Operation) -> list[tuple[str, ArrayAttr]]:
    if PACKED not in module.attributes:
        return []
    return [(entry.name, entry.attr) for entry in DictAttr(module.attributes[PACKED])]


def _reordered(content: DenseElementsAttr, part: Part) -> DenseElementsAttr:
    elements = np.ascontiguousarray(np.array(DenseElementsAttr(content))).reshape(-1)
    size = elements.dtype.itemsize
    steps = [step * size for step in part.steps]
    view = np.lib.stride_tricks.as_strided(elements[part.first :], part.sizes, steps)
    flat = np.ascontiguousarray(view).reshape(-1)
    type = RankedTensorType.get([flat.size], RankedTensorType(content.type).element_type)
    return DenseElementsAttr.get(flat, type=type)


def erase_unread(module: Operation, names: Sequence[str]) -> None:
    """Erase unused loads, and those of these constants that nothing loads."""
    for op in reversed(all_operations(module)):
        pure = op.name == "memref.get_global" or is_reshape(op)
        if pure and is_memref(op.results[0]) and not any(True for _ in op.results[0].uses):
            op.erase()
    read = {
        FlatSymbolRefAttr(op.attributes["name"]).value
        for op in all_operations(module)
        if op.name == "memref.get_global"
    }
    for op in top_level(module):
        if op.name == "memref.global":
            name = StringAttr(op.attributes["sym_name"]).value
            if name in names and name not in read:
                op.erase()
