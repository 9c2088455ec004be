# SPDX-License-Identifier: Apache-2.0
"""interleave-terms: narrow products get the layout that dot-product instructions read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xtc.core.mlir import ArrayAttr, InsertionPoint, Operation, StringAttr, UnitAttr, Value
from xtc.core.passes import Pass
from xtc_passes._build import empty, extract_slice, generic
from xtc_passes._dots import DOT, PANEL, Dot, dot_for
from xtc_passes._function_view import unscheduled_reductions
from xtc_passes._linalg import graph_node, owner
from xtc_passes._narrow_product import NarrowProduct, narrow_product
from xtc_passes._operand_copies import Body, axis, constant, copied, padded, split, zeros
from xtc_passes._scheduled import fused_nodes
from xtc_passes._structured import LOOP_NAMES, labels, shape_of

_LANES = 4  # sums that the narrowest of the instructions has: rows of the panel are multiples of it
_WIDER = {"i8": "i16"}  # where there is no instruction on the one, one on the other does


@dataclass(frozen=True)
class InterleaveTerms(Pass):
    """Put the terms that one instruction adds up side by side, in a loop of their own.

    The last `t` terms of a row of the first factor are neighbours as they are, or are made so; the
    second factor, the panel, is copied. Sums that do not come out even get terms of zero, and a
    last column some more beside it. Where the instruction takes the first factor as unsigned, 128
    is added to it, and 128 times the sum of a column taken off the sums to begin with. Products
    with a schedule, with few rows, or on another device stay as they are.

    Before:
        %d = linalg.matmul {loop.dims = ["i", "j", "k"]} ins(%a, %b : 8x64xbf16, 64x32xbf16)
    After:
        %p = linalg.generic {xtc.panel} ins(%b) outs(32x32x2xbf16)
        %d = linalg.generic {xtc.dot, loop.dims = ["i", "j", "k", "t"]} ins(%a : 8x32x2xbf16, %p)

    Attributes:
        features: of the processor, in LLVM's spelling, with instructions of the wanted kind: the
            first that suits a product is used.
    """

    name: ClassVar[str] = "interleave-terms"
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        dot_for(self.features, "")

    def run(self, module: Operation) -> None:
        with module.context:
            fused = fused_nodes(module)
            nests = [one for one in unscheduled_reductions(module) if one.device is None]
            for nest in nests:
                product = narrow_product(nest)
                dot = self._dot(product) if product is not None else None
                if product is not None and dot is not None and graph_node(nest.op) not in fused:
                    with nest.op.location:
                        _Rewrite(product, dot, InsertionPoint(nest.op)).run()

    def _dot(self, product: NarrowProduct) -> Dot | None:
        element = product.element
        found = dot_for(self.features, element)
        if found is None and element in _WIDER:
            found = dot_for(self.features, _WIDER[element])
        total = str(product.nest.result.type.element_type)
        return found if found is not None and found.total == total else None


@dataclass(frozen=True)
class _Rewrite:
    product: NarrowProduct
    dot: Dot
    ip: InsertionPoint

    def run(self) -> None:
        nest = self.product.nest
        factor, panel, sums = nest.op.operands
        if self.dot.offset:
            sums = self._without_offset(panel, sums)
        sums = padded(sums, self._sizes(2), self.ip)
        operands = [self._factor(factor), self._panel(panel), sums]
        result = self._dots(operands)
        whole = shape_of(nest.result)
        result = extract_slice(result, [0] * len(whole), whole, self.ip)
        nest.result.replace_all_uses_with(result)
        nest.op.erase()

    def _extent(self, loop: int) -> int:
        """Iterations of a loop when what does not come out even is filled up."""
        extent = self.product.nest.extents[loop]
        unit = {self.product.term: self.dot.terms, self.product.column: _LANES}.get(loop, 1)
        return -(-extent // unit) * unit

    def _sizes(self, operand: int) -> list[int]:
        return [self._extent(loop) for loop in self.product.loops(operand)]

    def _factor(self, value: Value) -> Value:
        """The first factor with its terms last, as a view where nothing is to be done."""
        loops, term = self.product.loops(0), self.product.term
        wanted = self.product.inner_last(0, term)
        value = padded(value, self._sizes(0), self.ip)
        if wanted != loops or self._converts:
            value = copied(value, loops, wanted, self._body(0), {}, self.ip)
        return split(value, len(wanted) - 1, self.dot.terms, self.ip)

    def _panel(self, value: Value) -> Value:
        """The second factor as [..., terms / t, columns, t]."""
        loops, term, column = self.product.loops(1), self.product.term, self.product.column
        value = padded(value, self._sizes(1), self.ip)
        value = split(value, loops.index(term), self.dot.terms, self.ip)
        loops.insert(loops.index(term) + 1, self._last)
        wanted = [*self.product.inner_last(1, term, column), self._last]
        return copied(value, loops, wanted, self._body(1), {PANEL: UnitAttr.get()}, self.ip)

    @property
    def _last(self) -> int:
        """The new loop, over the terms of one instruction."""
        return len(self.product.nest.extents)

    @property
    def _converts(self) -> bool:
        return self.dot.offset or self.dot.element != self.product.element

    def _body(self, operand: int) -> Body:
        if self.dot.offset and operand == 0:
            return Body("arith.xori", constant=-128)
        if self.dot.element != self.product.element:
            return Body("arith.extsi", element=self.dot.element)
        return Body()

    def _without_offset(self, panel: Value, sums: Value) -> Value:
        """`sums` less 128 times what the panel's column adds up to."""
        column_sums = self._column_sums(panel)
        batch = [loop for loop in self.product.loops(1) if loop != self.product.term]
        out = self.product.loops(2)
        places = {loop: place for place, loop in enumerate(out)}
        maker, (element,) = owner(sums), {sums.type.element_type}
        is_fill = maker is not None and maker.name == "linalg.fill"
        first = maker.operands[0] if maker is not None and is_fill else None
        target = empty(shape_of(sums), sums, self.ip) if is_fill else sums
        rows = [axis(places[loop]) for loop in batch], [axis(n) for n in range(len(out))]
        op = generic(list(zip((column_sums, target), rows, strict=True)), len(out), (), {}, self.ip)
        block = op.regions[0].blocks[0]
        total, old = block.arguments
        end = InsertionPoint(block)
        times = constant(element, -128, end)
        less = Operation.create("arith.muli", [element], [total, times], ip=end).results[0]
        start = old if first is None else first
        new = Operation.create("arith.addi", [element], [start, less], ip=end).results[0]
        Operation.create("linalg.yield", operands=[new], ip=end)
        return op.results[0]

    def _column_sums(self, panel: Value) -> Value:
        loops, term = self.product.loops(1), self.product.term
        sizes = dict(zip(loops, shape_of(panel), strict=True))
        kept = [loop for loop in loops if loop != term]
        element = self.product.nest.result.type.element_type
        like = self.product.nest.op.operands[2]
        start = zeros([sizes[loop] for loop in kept], like, self.ip)
        places = {loop: place for place, loop in enumerate([*kept, term])}
        rows = [axis(places[loop]) for loop in loops], [axis(n) for n in range(len(kept))]
        operands = list(zip((panel, start), rows, strict=True))
        op = generic(operands, len(loops), [len(kept)], {}, self.ip)
        block = op.regions[0].blocks[0]
        end = InsertionPoint(block)
        wide = Operation.create("arith.extsi", [element], [block.arguments[0]], ip=end).results[0]
        operands = [block.arguments[1], wide]
        total = Operation.create("arith.addi", [element], operands, ip=end).results[0]
        Operation.create("linalg.yield", operands=[total], ip=end)
        return op.results[0]

    def _dots(self, operands: Sequence[Value]) -> Value:
        """The product with the loop over the terms of one instruction innermost."""
        nest, product = self.product.nest, self.product
        factor = [*product.inner_last(0, product.term), self._last]
        panel = [*product.inner_last(1, product.term, product.column), self._last]
        rows = [[axis(loop) for loop in row] for row in (factor, panel, product.loops(2))]
        attributes = labels(nest.op) | {DOT: UnitAttr.get()}
        if LOOP_NAMES in attributes:
            attributes[LOOP_NAMES] = _with_another(ArrayAttr(attributes[LOOP_NAMES]))
        reductions = (product.term, self._last)
        op = generic(
            list(zip(operands, rows, strict=True)), self._last + 1, reductions, attributes, self.ip
        )
        self._multiply_add(op)
        return op.results[0]

    def _multiply_add(self, op: Operation) -> None:
        """The body: the sum and the product of both factors, widened."""
        block = op.regions[0].blocks[0]
        first, second, total = block.arguments
        end = InsertionPoint(block)
        is_float = self.dot.total == "f32"
        signed = "arith.extf" if is_float else "arith.extsi"
        words = ("arith.extui" if self.dot.offset else signed, signed)
        wide = [
            Operation.create(word, [total.type], [value], ip=end).results[0]
            for word, value in zip(words, (first, second), strict=True)
        ]
        for word in ("mul", "add"):
            name = f"arith.{word}{'f' if is_float else 'i'}"
            wide = [Operation.create(name, [total.type], wide, ip=end).results[0], total]
        Operation.create("linalg.yield", operands=wide[:1], ip=end)


def _with_another(names: ArrayAttr) -> ArrayAttr:
    """The names of the loops with one more, `t` where that is free."""
    taken = [StringAttr(name).value for name in names]
    free = next(name for n in range(len(taken) + 1) if (name := f"t{n or ''}") not in taken)
    return ArrayAttr.get([*names, StringAttr.get(free)])
