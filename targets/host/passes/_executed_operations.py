# SPDX-License-Identifier: Apache-2.0
"""Counts the floating-point operations that a function executes, by walking its loops.

Masked lanes of vectors count too, so the number may be an upper bound.
"""

from __future__ import annotations

from math import prod

from xtc.ir.mlir import Block, FlatSymbolRefAttr, FloatType, Operation, Value, VectorType
from xtc.ir.partition import symbol_of, top_level
from xtc_targets.host.passes._index_values import Known, index_value

_Work = float | None
"""Number of operations, or None if it depends on run-time values."""

_SINGLE = tuple(f"arith.{name}" for name in ("addf", "subf", "mulf", "divf", "remf", "negf"))
_CHOICES = tuple(f"arith.{name}f" for name in ("maximum", "minimum", "maxnum", "minnum"))
_FUSED = ("math.fma", "vector.fma")
_STEPS = 100_000  # most loops and branches that are visited for a function


class ExecutedOperations:
    """The floating-point operations of the functions of a module; a multiply-add counts as two.

    Operations inside functions of the C library are not counted.
    """

    def __init__(self, module: Operation) -> None:
        self._functions = {symbol_of(op): op for op in top_level(module) if op.name == "func.func"}
        self._found: dict[tuple[str, tuple[int | None, ...]], _Work] = {}
        self._steps = 0

    def of_call(self, call: Operation) -> _Work:
        """Those of a call; operands on which loops depend must be constants."""
        self._steps = _STEPS
        return self._called(call, _constants(call))

    def _called(self, call: Operation, known: Known) -> _Work:
        symbol = FlatSymbolRefAttr(call.attributes["callee"]).value
        arguments = tuple(known.get(operand) for operand in call.operands)
        key = symbol, arguments
        if key not in self._found:
            function = self._functions.get(symbol)
            blocks = [] if function is None else list(function.regions[0].blocks)
            if not blocks:
                self._found[key] = 0.0
            else:
                pairs = zip(blocks[0].arguments, arguments, strict=True)
                inside = {value: number for value, number in pairs if number is not None}
                self._found[key] = self._block(blocks[0], inside) if len(blocks) == 1 else None
        return self._found[key]

    def _block(self, block: Block, known: Known) -> _Work:
        values = dict(known)
        total = 0.0
        for op in (op.operation for op in block.operations):
            number = index_value(op, values)
            if number is not None:
                values[op.results[0]] = number
                continue
            work = self._operation(op, values)
            if work is None:
                return None
            total += work
        return total

    def _operation(self, op: Operation, known: Known) -> _Work:
        if op.name == "scf.for":
            return self._loop(op, known)
        if op.name == "scf.if":
            return self._branch(op, known)
        if op.name == "func.call":
            return self._called(op, known)
        if len(op.regions):
            return None
        return _own_work(op)

    def _loop(self, op: Operation, known: Known) -> _Work:
        bounds = [known.get(operand) for operand in list(op.operands)[:3]]
        body = op.regions[0].blocks[0]
        self._steps -= 1
        each = self._block(body, known)
        if each == 0:
            return 0.0
        begin, end, step = bounds
        if begin is None or end is None or step is None:
            return None
        iterations = range(begin, end, step)
        if each is not None:
            return each * len(iterations)
        total = 0.0
        for number in iterations:
            each = (
                None if self._steps < 0 else self._block(body, {**known, body.arguments[0]: number})
            )
            if each is None:
                return None
            total += each
        return total

    def _branch(self, op: Operation, known: Known) -> _Work:
        self._steps -= 1
        blocks = [list(region.blocks) for region in op.regions]
        works = [self._block(found[0], known) if found else 0.0 for found in blocks]
        condition = known.get(op.operands[0])
        if condition is not None:
            return works[0 if condition else 1]
        return works[0] if works[0] == works[1] else None


def _constants(call: Operation) -> dict[Value, int]:
    """The constant operands of a call."""
    known: dict[Value, int] = {}
    for operand in call.operands:
        if not isinstance(operand.owner, Block):
            number = index_value(operand.owner.operation, {})
            if number is not None:
                known[operand] = number
    return known


def _own_work(op: Operation) -> float:
    if len(op.results) != 1:
        return 0.0
    type = op.results[0].type
    if op.name == "vector.reduction":
        source = VectorType(op.operands[0].type)
        return float(prod(source.shape) - 1) if _is_float(source.element_type) else 0.0
    element = type.element_type if isinstance(type, VectorType) else type
    if not _is_float(element):
        return 0.0
    lanes = float(prod(type.shape)) if isinstance(type, VectorType) else 1.0
    if op.name in _FUSED:
        return 2 * lanes
    if op.name in (*_SINGLE, *_CHOICES) or op.name.startswith("math."):
        return lanes
    return 0.0


def _is_float(type: object) -> bool:
    return isinstance(type, FloatType)
