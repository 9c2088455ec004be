# SPDX-License-Identifier: Apache-2.0
"""The types of operands of `tile.dot` and `tile.wgmma` that their element types do not tell."""

from __future__ import annotations

from xtc.ir.mlir import ArrayAttr, Attribute, Operation, StringAttr

CODES = "codes"
"""Array of strings, such as "float8_e4m3" or "uint8": the type of both operands of a wgmma, or the
types of those of a dot."""


def codes_attribute(*types: str) -> dict[str, Attribute]:
    """The attribute with these types; none without types."""
    return {CODES: ArrayAttr.get([StringAttr.get(each) for each in types])} if types else {}


def codes_of(op: Operation) -> str:
    """The type of the operands of a wgmma; "" for 16-bit floats."""
    return next(iter(codes_of_dot(op)), "")


def codes_of_dot(op: Operation) -> list[str]:
    """The types of the operands of a dot that are codes; none for other operands."""
    if CODES not in op.attributes:
        return []
    return [str(StringAttr(each).value) for each in ArrayAttr(op.attributes[CODES])]
