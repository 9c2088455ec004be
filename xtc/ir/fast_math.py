# SPDX-License-Identifier: Apache-2.0
"""Fast-math flags of single operations."""

from __future__ import annotations

from xtc.ir.mlir import Attribute, Operation

_FLAGS = "fastmath"


def allow(op: Operation, flag: str) -> None:
    """Give an arith operation one more freedom, as `contract` or `reassoc`."""
    flags = ",".join(sorted({flag, *_flags(op)}))
    with op.context:
        op.attributes[_FLAGS] = Attribute.parse(f"#arith.fastmath<{flags}>")


def allows(op: Operation, flag: str) -> bool:
    """Whether an operation has this freedom."""
    return flag in _flags(op)


def _flags(op: Operation) -> set[str]:
    """The names of its flags; `none` is the name of no flag."""
    if _FLAGS not in op.attributes:
        return set()
    text = str(op.attributes[_FLAGS])
    return set(text[text.index("<") + 1 : text.index(">")].split(",")) - {"none"}
