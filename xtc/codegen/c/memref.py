# SPDX-License-Identifier: Apache-2.0
"""The memref dialect in C: arrays of static shape, dense and row-major.

A buffer of rank 2 or more is a pointer to its rows, `float (*c)[64]`; elements are `c[i][j]`.
A function whose allocation fails frees its buffers and returns a status.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from xtc.codegen.c.expression import Expression, assignment, cast, element
from xtc.codegen.c.layout import node_of
from xtc.codegen.c.printer import Printer, Rule
from xtc.codegen.c.types import CType, array_suffix
from xtc.ir.analysis.accesses import Access
from xtc.ir.analysis.views import root
from xtc.ir.mlir import (
    FlatSymbolRefAttr,
    IntegerAttr,
    MemRefType,
    Operation,
    OpResult,
    Value,
    all_operations,
)

_ALIGNMENT = 64
OUT_OF_MEMORY = "1"


def element_type(printer: Printer, memref: Value) -> CType:
    """The C type of a buffer's elements. Raises CompileError if there is none."""
    found = CType.of(MemRefType(memref.type).element_type)
    if found is None or not MemRefType(memref.type).has_static_shape:
        raise printer.error(memref.owner, f"{memref.type} cannot be written in C")
    return found


def pointer(type: str, name: str, shape: Sequence[int], qualifier: str = "") -> str:
    """The declaration of a pointer to the rows of an array, `float (*name)[64]`."""
    if len(shape) < 2:
        return f"{type} *{qualifier}{name}"
    return f"{type} (*{qualifier}{name}){array_suffix(shape[1:])}"


def element_at(printer: Printer, memref: Value, indices: Sequence[Value]) -> Expression:
    """An element, `c[i][j]`. Raises CompileError for a view that was not folded into its uses."""
    _require_buffer(printer, memref)
    texts = [printer.expression(index) for index in indices]
    return element(printer.expression(memref), *texts)


def _require_buffer(printer: Printer, memref: Value) -> None:
    """Raise CompileError for a view of part of a buffer that was not folded into its uses."""
    if not is_dense(memref) or getattr(memref.owner, "name", "") == "memref.subview":
        raise printer.error(memref.owner, "a view of part of an array cannot be written in C")


def is_dense(memref: Value) -> bool:
    """Whether a memref is row-major and contiguous; strides of dimensions of size 1 are ignored."""
    type = MemRefType(memref.type)
    strides, _ = type.get_strides_and_offset()
    expected = 1
    for size, stride in zip(reversed(type.shape), reversed(strides), strict=True):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _load(printer: Printer, op: Operation) -> None:
    memref, *indices = op.operands
    printer.define(op.results[0], element_at(printer, memref, indices), printer.hint(memref))


def _store(printer: Printer, op: Operation) -> None:
    value, memref, *indices = op.operands
    target = element_at(printer, memref, indices)
    stored = printer.expression(value)
    printer.flush()
    printer.statement(assignment(target.text, stored))


def _alloc(printer: Printer, op: Operation) -> None:
    """An array on the heap; the function returns a status if memory is exhausted."""
    (result,) = op.results
    shape, type = _shape(op), element_type(printer, result)
    name = _declare(printer, result)
    alignment = _alignment(op)
    size = -(-math.prod(shape) * type.nbytes // alignment) * alignment
    printer.prelude.include("stdlib.h")
    declared = pointer(printer.prelude.type(type), name, shape, "const ")
    printer.statement(f"{declared} = aligned_alloc({alignment}, {size});")
    fail_unless(printer, f"!{name}")
    printer.live.append(name)


def fail_unless(printer: Printer, failure: str) -> None:
    """Free the heap buffers and return from the function if `failure` is true."""
    with printer.block(f"if ({failure})"):
        for name in reversed(printer.live):
            printer.statement(f"free({name});")
        printer.statement(f"return {OUT_OF_MEMORY};")


def _alloca(printer: Printer, op: Operation) -> None:
    (result,) = op.results
    type = printer.prelude.type(element_type(printer, result))
    name = _declare(printer, result)
    suffix = array_suffix(_shape(op)) or "[1]"
    printer.statement(f"{type} {name}{suffix} __attribute__((aligned({_alignment(op)})));")


def _dealloc(printer: Printer, op: Operation) -> None:
    printer.flush()
    name = printer.expression(op.operands[0]).text
    printer.live.remove(name)
    printer.statement(f"free({name});")


def _shape(op: Operation) -> list[int]:
    return list(MemRefType(op.results[0].type).shape)


def _alignment(op: Operation) -> int:
    if "alignment" not in op.attributes:
        return _ALIGNMENT
    return max(_ALIGNMENT, int(IntegerAttr(op.attributes["alignment"]).value))


def _declare(printer: Printer, buffer: Value) -> str:
    """Declare a buffer, named after the node that fills it."""
    name = printer.names.declare(_content(printer, buffer) or "buffer")
    printer.set(buffer, Expression(name), f"{name}#")
    return name


def _content(printer: Printer, buffer: Value) -> str:
    """The content of a new buffer: a tile of another buffer, or a node's result; "" if unknown."""
    alloc = buffer.owner.operation
    first = _first_use(buffer)
    if first is None:
        return node_of(alloc)
    source = _copied(first, buffer)
    if source is not None and (name := printer.hint(root(source)).removesuffix("#")) != "t":
        return f"{name}_tile"
    while not node_of(first) and first.block != alloc.block:
        first = first.parent.operation
    return node_of(first) or node_of(alloc)


def _first_use(buffer: Value) -> Operation | None:
    """The first use of a buffer in textual order."""
    users = {use.owner.operation for use in buffer.uses}
    alloc = buffer.owner.operation
    for op in all_operations(alloc.parent.operation):
        if op in users:
            return op
    return None


def _copied(op: Operation, buffer: Value) -> Value | None:
    """The source buffer if an operation only copies an element or a vector, else None."""
    write = Access.of(op)
    if write is None or not write.is_write or write.memref != buffer:
        return None
    source = write.value.owner
    read = Access.of(source.operation) if isinstance(write.value, OpResult) else None
    return None if read is None else read.memref


def _get_global(printer: Printer, op: Operation) -> None:
    symbol = FlatSymbolRefAttr(op.attributes["name"]).value
    name = printer.symbols[symbol]
    printer.set(op.results[0], Expression(name), f"{name}#")


def _copy(printer: Printer, op: Operation) -> None:
    """A single memcpy of whole arrays."""
    source, target = op.operands
    for memref in (source, target):
        _require_buffer(printer, memref)
    printer.flush()
    printer.comment_node(op)
    printer.prelude.include("string.h")
    size = math.prod(MemRefType(source.type).shape) * element_type(printer, source).nbytes
    texts = (printer.expression(memref).text for memref in (target, source))
    printer.statement(f"memcpy({', '.join(texts)}, {size});")


def _address(printer: Printer, op: Operation) -> None:
    """The address of an array as an integer."""
    (source,), (result,) = op.operands, op.results
    type = printer.prelude.type(CType("index"))
    printer.set(result, cast(type, printer.expression(source)), printer.hint(source).rstrip("#"))


def _subview(printer: Printer, op: Operation) -> None:
    """Nothing: the view was folded into its loads and stores."""


def _reshaped(printer: Printer, op: Operation) -> None:
    """The same contiguous memory with another shape."""
    source, (result,) = op.operands[0], op.results
    if not (is_dense(source) and is_dense(result)) or len(op.operands) > 1:
        raise printer.error(op, "a view that is not contiguous cannot be written in C")
    shape = list(MemRefType(result.type).shape)
    type = printer.prelude.type(element_type(printer, result))
    if root(source) in printer.constant:
        type = f"const {type}"
    hint = printer.hint(source).rstrip("#")
    name = printer.names.declare(f"{hint}_{'x'.join(map(str, shape))}")
    start = cast(pointer(type, "", shape), printer.expression(source))
    printer.statement(f"{pointer(type, name, shape, 'const ')} = {start.text};")
    printer.set(result, Expression(name), f"{hint}#")


RULES: dict[str, Rule] = {
    "memref.load": _load,
    "memref.store": _store,
    "memref.alloc": _alloc,
    "memref.alloca": _alloca,
    "memref.dealloc": _dealloc,
    "memref.get_global": _get_global,
    "memref.copy": _copy,
    "memref.extract_aligned_pointer_as_index": _address,
    "memref.subview": _subview,
    "memref.reinterpret_cast": _reshaped,
    "memref.collapse_shape": _reshaped,
    "memref.expand_shape": _reshaped,
}
