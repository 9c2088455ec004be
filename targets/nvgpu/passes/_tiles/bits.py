# SPDX-License-Identifier: Apache-2.0
"""Lowers `tile.view` for a thread: the same bits as elements of another size."""

from __future__ import annotations

import math

from xtc.core.errors import UserError
from xtc.core.padded_layout import padded
from xtc.core.tile_layout import RegisterLayout, local, parse_layout
from xtc.ir.builders.tile import location_text, number_of
from xtc.ir.mlir import (
    IntegerType,
    Operation,
    RankedTensorType,
    StringAttr,
    Value,
    VectorType,
    arith,
    vector,
)
from xtc.ir.tile_dialect import layout_of

_BYTE = 8


def view_layouts(op: Operation, threads: int) -> tuple[RegisterLayout, RegisterLayout]:
    """The layouts of the operand and the result of a view. Raises UserError."""
    before, after = abs(number_of(op, "from_bits")), abs(number_of(op, "to_bits"))
    text = StringAttr(op.attributes["layout"]).value
    source = layout_of(op.operands[0])
    shape = RankedTensorType(op.operands[0].type).shape
    if not text and before == after:
        assert source is not None  # noqa: S101
        return source, source
    if not text:
        together = math.lcm(before, after, _BYTE)
        groups = [*shape[:-1], shape[-1] * before // together]
        outer, ones = padded(threads, groups, 1), [1] * (len(shape) - 1)
        pair = (outer * local(*ones, together // bits) for bits in (before, after))
        first, second = (layout.merged() for layout in pair)
        return first, second
    result = parse_layout(text).merged()
    if source is None or source.local_size * before != result.local_size * after:
        held = "no known layout" if source is None else f"{source.local_size * before} bits"
        raise UserError(
            f"view: a thread has {held}, but {result.local_size * after} bits in the new layout",
            where=location_text(op.location),
            notes=[f"operand: {source}", f"result: {result}"],
            hints=["use annotate_layout on the operand of view"],
        )
    return source, result


def regrouped(value: Value, op: Operation) -> Value:
    """The bits of a vector as elements of the result's type."""
    before, after = number_of(op, "from_bits"), number_of(op, "to_bits")
    source = VectorType(value.type)
    element = RankedTensorType(op.results[0].type).element_type
    count = source.shape[0] * abs(before) // abs(after)
    result = VectorType.get([count], element)
    if source.element_type.width == abs(before) and element.width == abs(after):
        return value if value.type == result else vector.bitcast(result, value)
    plain = VectorType.get(source.shape, IntegerType.get_signless(source.element_type.width))
    bits = value if value.type == plain else arith.bitcast(plain, value)
    together = math.lcm(before, after)
    wide = IntegerType.get_signless(together)
    parts: list[Value] = []
    each = together // abs(before)
    for first in range(0, source.shape[0], each):
        word = _joined([vector.extract(bits, [], [first + n]) for n in range(each)], before, wide)
        parts += [_field(word, n, after, element.width) for n in range(together // abs(after))]
    held = VectorType.get([count], IntegerType.get_signless(element.width))
    made = vector.from_elements(held, parts)
    return made if held == result else arith.bitcast(result, made)


def _joined(codes: list[Value], bits: int, wide: IntegerType) -> Value:
    """Concatenate codes, the first one in the lowest bits."""
    word: Value | None = None
    for at, code in enumerate(codes):
        if code.type.width > abs(bits):
            code = arith.andi(code, arith.constant(code.type, (1 << abs(bits)) - 1))
        part = _resized(code, wide)
        if at:
            part = arith.shli(part, arith.constant(wide, at * abs(bits)))
        word = part if word is None else arith.ori(word, part)
    assert word is not None  # noqa: S101
    return word


def _field(word: Value, at: int, bits: int, width: int) -> Value:
    """Extract a code of `bits` bits from a word; negative `bits` mean a signed code."""
    narrow = IntegerType.get_signless(width)
    if at:
        word = arith.shrui(word, arith.constant(word.type, at * abs(bits)))
    code = _resized(word, narrow)
    unused = width - abs(bits)
    if unused == 0:
        return code
    if bits > 0:
        return arith.andi(code, arith.constant(narrow, (1 << bits) - 1))
    amount = arith.constant(narrow, unused)
    return arith.shrsi(arith.shli(code, amount), amount)


def _resized(code: Value, type: IntegerType) -> Value:
    if code.type.width == type.width:
        return code
    return (arith.extui if code.type.width < type.width else arith.trunci)(type, code)
