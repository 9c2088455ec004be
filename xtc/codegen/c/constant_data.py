# SPDX-License-Identifier: Apache-2.0
"""Constant data in C: small tables are written out, weights come from another object file."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xtc.codegen.c.layout import broken, symbol_of
from xtc.codegen.c.prelude import Prelude
from xtc.codegen.c.types import CType, array_suffix, literal
from xtc.core.errors import CompileError
from xtc.ir.mlir import DenseElementsAttr, MemRefType, Operation, TypeAttr

MAX_WRITTEN = 4096
"""Elements of a table; more belong in an object file."""
_VALUE = "initial_value"


def declaration(prelude: Prelude, op: Operation, name: str) -> str:
    """The C text of a `memref.global`. Raises CompileError for what is no constant table."""
    type = MemRefType(TypeAttr(op.attributes["type"]).value)
    element, shape = CType.of(type.element_type), list(type.shape)
    if element is None or "constant" not in op.attributes:
        raise CompileError(f"the global {symbol_of(op)} cannot be written in C", notes=[str(op)])
    array = f"const {prelude.type(element)} {name}{array_suffix(shape or [1])}"
    if _VALUE not in op.attributes:
        return f"extern {array};"  # hidden where it is defined: code may be loaded far from data
    return "\n".join(broken(f"static {array} = {_table(op, element, shape or [1])};", 100))


def _table(op: Operation, element: CType, shape: Sequence[int]) -> str:
    value = op.attributes[_VALUE]
    if not isinstance(value, DenseElementsAttr):
        raise CompileError(f"the global {symbol_of(op)} has no table of numbers", notes=[str(op)])
    if value.is_splat:
        text = literal(value.get_splat_value().value, element).text
        for size in reversed(shape):
            text = f"{{[0 ... {size - 1}] = {text}}}"
        return text
    if math.prod(shape) > MAX_WRITTEN:
        raise CompileError(
            f"the global {symbol_of(op)} has {math.prod(shape)} elements; C takes {MAX_WRITTEN}",
            hints=["pass the data as a constant tensor"],
        )
    return _nested([literal(number, element).text for number in value], shape)


def _nested(texts: Sequence[str], shape: Sequence[int]) -> str:
    """Texts of elements in row-major order, in braces for each dimension."""
    if len(shape) == 1:
        return f"{{{', '.join(texts)}}}"
    step = len(texts) // shape[0]
    rows = [_nested(texts[at : at + step], shape[1:]) for at in range(0, len(texts), step)]
    return f"{{{', '.join(rows)}}}"
