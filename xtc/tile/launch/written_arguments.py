# SPDX-License-Identifier: Apache-2.0
"""The arguments whose memory a kernel writes."""

from __future__ import annotations

from typing import Any

from xtc.ir.mlir import Operation, all_operations

_WRITTEN = {
    "tile.tma_store": 1,
    "tile.store_global": 1,
    "tile.store_scatter": 1,
    "tile.atomic": 0,
    "tile.release": 0,
}
"""Operations that write memory, with the index of the operand that they write."""


def written_arguments(function: Operation) -> set[int]:
    """The positions of the arguments whose memory a kernel in the dialect `tile` writes."""
    return {
        number
        for op in all_operations(function)
        if op.name in _WRITTEN
        if (number := _argument(op.operands[_WRITTEN[op.name]])) is not None
    }


def _argument(value: Any) -> int | None:
    """The index of the argument that a view refers to; None for shared memory."""
    while not hasattr(value, "arg_number"):
        if value.owner.name == "memref.alloc":
            return None
        value = value.owner.operands[0]
    return int(value.arg_number)
