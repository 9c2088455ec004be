# SPDX-License-Identifier: Apache-2.0
"""Constant data in C: definitions of small tables and given weights, declarations of others."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from xtc.codegen.c.layout import broken, symbol_of
from xtc.codegen.c.prelude import Prelude
from xtc.codegen.c.types import CType, array_suffix, literal
from xtc.core.errors import CompileError
from xtc.ir.mlir import (
    DenseElementsAttr,
    IntegerAttr,
    MemRefType,
    Operation,
    TypeAttr,
    UnitAttr,
)

MAX_WRITTEN = 4096
"""The elements of the largest table; larger ones belong in an object file."""
_VALUE = "initial_value"


def declaration(
    prelude: Prelude, op: Operation, name: str, content: bytes | memoryview | None = None
) -> str:
    """The C text of a `memref.global`, with `content` if that is given.

    Raises CompileError for variables with an initial value.
    """
    type = MemRefType(TypeAttr(op.attributes["type"]).value)
    element, shape = CType.of(type.element_type), list(type.shape)
    is_constant = "constant" in op.attributes
    if element is None or not (is_constant or _is_uninitialized(op)):
        raise CompileError(f"the global {symbol_of(op)} cannot be written in C", notes=[str(op)])
    if not is_constant:
        return _variable(prelude, op, element, f"{name}{array_suffix(shape or [1])}")
    array = f"const {prelude.type(element)} {name}{array_suffix(shape or [1])}"
    if content is not None:
        texts = _literals(bytes(content), element)
        return "\n".join(broken(f"static {array} = {_nested(texts, shape or [1])};", 100))
    if _VALUE not in op.attributes:
        return f"extern {array};"  # only the definition is hidden: code may be loaded far from data
    return "\n".join(broken(f"static {array} = {_table(op, element, shape or [1])};", 100))


def _is_uninitialized(op: Operation) -> bool:
    return _VALUE in op.attributes and isinstance(op.attributes[_VALUE], UnitAttr)


def _variable(prelude: Prelude, op: Operation, element: CType, array: str) -> str:
    """A variable that the program's functions and their callers share."""
    aligned = ""
    if "alignment" in op.attributes:
        aligned = f" __attribute__((aligned({IntegerAttr(op.attributes['alignment']).value})))"
    return f"{prelude.type(element)} {array}{aligned};"


def _literals(content: bytes, element: CType) -> list[str]:
    """The literals of elements in little-endian bytes."""
    if element.element == "bf16":
        return [f"0x{bits:04x}" for bits in np.frombuffer(content, "<u2")]
    kind = "f" if element.is_float else "u" if element.element.startswith("u") else "i"
    numbers = np.frombuffer(content, f"<{kind}{element.nbytes}").tolist()
    return [literal(number, element).text for number in numbers]


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
            f"the global {symbol_of(op)} has {math.prod(shape)} elements, more than {MAX_WRITTEN}",
            hints=["pass the data as a constant tensor"],
        )
    return _nested([literal(number, element).text for number in value], shape)


def _nested(texts: Sequence[str], shape: Sequence[int]) -> str:
    """The initializer of elements in row-major order, with braces for each dimension."""
    if len(shape) == 1:
        return f"{{{', '.join(texts)}}}"
    step = len(texts) // shape[0]
    rows = [_nested(texts[at : at + step], shape[1:]) for at in range(0, len(texts), step)]
    return f"{{{', '.join(rows)}}}"
