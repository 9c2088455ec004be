# SPDX-License-Identifier: Apache-2.0
"""The vector dialect in C: vectors of rank 1 that fit a register, as `split-vectors` creates."""

from __future__ import annotations

from dataclasses import replace

from xtc.codegen.c.expression import Expression, address, call, element
from xtc.codegen.c.lanes import splat
from xtc.codegen.c.memref import element_at
from xtc.codegen.c.printer import Printer, Rule
from xtc.ir.mlir import DenseI64ArrayAttr, Operation, Value


def _load(printer: Printer, op: Operation) -> None:
    memref, *indices = op.operands
    (result,) = op.results
    where = address(element_at(printer, memref, indices))
    value = call(printer.prelude.load(printer.type_of(result)), where)
    printer.define(result, replace(value, reads=True), printer.hint(memref))


def _store(printer: Printer, op: Operation) -> None:
    value, memref, *indices = op.operands
    where = address(element_at(printer, memref, indices))
    stored = printer.expression(value)
    store = printer.prelude.store(printer.type_of(value))
    printer.flush()
    printer.statement(f"{call(store, where, stored).text};")


def _masked_load(printer: Printer, op: Operation) -> None:
    """Load the first elements of a vector; the other lanes are 0."""
    memref, *indices, mask, _ = op.operands
    (result,) = op.results
    where = address(element_at(printer, memref, indices))
    load = printer.prelude.load_part(printer.type_of(result))
    value = call(load, where, Expression(str(_used_lanes(printer, op, mask))))
    printer.define(result, replace(value, reads=True), printer.hint(memref))


def _masked_store(printer: Printer, op: Operation) -> None:
    memref, *indices, mask, value = op.operands
    where = address(element_at(printer, memref, indices))
    stored = printer.expression(value)
    store = printer.prelude.store_part(printer.type_of(value))
    count = Expression(str(_used_lanes(printer, op, mask)))
    printer.flush()
    printer.statement(f"{call(store, where, stored, count).text};")


def _used_lanes(printer: Printer, op: Operation, mask: Value) -> int:
    """The number of leading lanes that a mask keeps. Raises CompileError for other masks."""
    if getattr(mask.owner, "name", "") != "vector.constant_mask":
        raise printer.error(op, "only a constant mask of the first lanes can be written in C")
    return int(DenseI64ArrayAttr(mask.owner.attributes["mask_dim_sizes"])[0])


def _mask(printer: Printer, op: Operation) -> None:
    """Nothing: masked accesses take the number of lanes instead."""


def _broadcast(printer: Printer, op: Operation) -> None:
    """A splat; a variable for the scalar serves all uses."""
    (source,), (result,) = op.operands, op.results
    if printer.type_of(source).lanes:
        raise printer.error(op, "vector.broadcast of a vector cannot be written in C")
    once = len(list(result.uses)) == 1
    scalar = printer.expression(source) if once else printer.atom(source)
    value = splat(printer.prelude, scalar, printer.type_of(result))
    if scalar.is_atom:
        printer.set(result, value, printer.hint(source))
    else:
        printer.define(result, value, printer.hint(source))


def _from_elements(printer: Printer, op: Operation) -> None:
    (result,) = op.results
    values = [printer.expression(operand) for operand in op.operands]
    name = printer.prelude.type(printer.type_of(result))
    texts = ", ".join(value.text for value in values)
    vector = Expression(f"({name}){{{texts}}}", reads=any(value.reads for value in values))
    printer.define(result, vector, "gathered")


def _extract(printer: Printer, op: Operation) -> None:
    """A lane at a constant position."""
    positions = list(op.attributes["static_position"])
    if len(op.operands) != 1 or len(positions) != 1:
        raise printer.error(op, "vector.extract at a dynamic position cannot be written in C")
    vector = printer.atom(op.operands[0])
    lane = element(vector, Expression(str(positions[0])), reads=False)
    printer.define(op.results[0], lane, printer.hint(op.operands[0]))


RULES: dict[str, Rule] = {
    "vector.load": _load,
    "vector.store": _store,
    "vector.maskedload": _masked_load,
    "vector.maskedstore": _masked_store,
    "vector.constant_mask": _mask,
    "vector.broadcast": _broadcast,
    "vector.from_elements": _from_elements,
    "vector.extract": _extract,
}
