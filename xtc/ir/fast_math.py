# SPDX-License-Identifier: Apache-2.0
"""Fast-math flags of single operations."""

from __future__ import annotations

from collections.abc import Collection

from xtc.ir.mlir import Attribute, Operation

_FLAGS = "fastmath"


def allow(op: Operation, flag: str) -> None:
    """Add a fast-math flag, such as `contract` or `reassoc`, to an arith operation."""
    _set(op, {flag, *_flags(op)})


def deny(op: Operation, flag: str) -> None:
    """Remove a fast-math flag from an operation."""
    _set(op, _flags(op) - {flag})


def allows(op: Operation, flag: str) -> bool:
    """Whether an operation has this fast-math flag."""
    return flag in _flags(op)


def _set(op: Operation, flags: Collection[str]) -> None:
    with op.context:
        op.attributes[_FLAGS] = Attribute.parse(
            f"#arith.fastmath<{','.join(sorted(flags)) or 'none'}>"
        )


def _flags(op: Operation) -> set[str]:
    """The flags of an operation, without `none`."""
    if _FLAGS not in op.attributes:
        return set()
    text = str(op.attributes[_FLAGS])
    return set(text[text.index("<") + 1 : text.index(">")].split(",")) - {"none"}
