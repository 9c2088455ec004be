# SPDX-License-Identifier: Apache-2.0
"""Global memory shared by the blocks of a launch, and semaphores that order them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.ir.mlir import InsertionPoint, Location, Value
from xtc.tile.instructions import memory
from xtc.tile.ir.layout.global_layout import GlobalLayout
from xtc.tile.types import DataType, int32
from xtc.tile.values import arithmetic
from xtc.tile.values.runtime import GlobalTensor, Pointer


class BetweenBlocks:
    """Instructions for communication between the blocks of a launch."""

    def global_tensor(
        self,
        dtype: DataType,
        shape: Sequence[Any],
        *,
        layout: GlobalLayout | None = None,
        requires_clean: bool = False,
    ) -> GlobalTensor:
        """Global memory shared by all blocks of a launch, dense in the order of `layout`.

        With `requires_clean` it is zero when the launch begins, and the kernel must leave it zero.
        """
        if not isinstance(requires_clean, bool):
            raise UserError(
                "global_tensor: requires_clean is a compile-time constant",
                hints=["pass True or False"],
            )
        buffer = new_argument(dtype)
        sizes = memory.stored_shape(shape, dtype, "global_tensor")
        tile.buffer(
            buffer,
            [arithmetic.cast(arithmetic.data(size), int32).value for size in sizes],
            requires_clean,
        )
        strides = None if layout is None else layout.strides
        return memory.global_view(Pointer(buffer, dtype), dtype, shape, strides)

    def lock_semaphore(self, semaphore: Any, value: Any) -> None:
        """Wait until a semaphore has a value, with acquire semantics."""
        tile.lock(*_semaphore(semaphore, "lock_semaphore"), _number(value))

    def release_semaphore(self, semaphore: Any, value: Any) -> None:
        """Set a semaphore.

        After a `sync`, the release makes the writes of all threads of the block visible.
        """
        tile.release(*_semaphore(semaphore, "release_semaphore"), _number(value))


def new_argument(dtype: DataType) -> Value:
    """Add an argument to the function that is being built: a buffer that the launch allocates."""
    block = InsertionPoint.current.block
    while block.owner.operation.name != "func.func":
        block = block.owner.operation.block
    return block.add_argument(memory.pointer_type(dtype), Location.current)


def _semaphore(pointer: Any, name: str) -> tuple[Value, Value]:
    if not isinstance(pointer, Pointer) or pointer.dtype != int32:
        raise UserError(
            f"{name} takes the address of an int32, not {pointer!r}",
            hints=["semaphores[i, j].item_ptr(), of a global_tensor of int32"],
        )
    offset = arithmetic.cast(arithmetic.data(pointer.offset), int32)
    return pointer.base, offset.value


def _number(value: Any) -> Value:
    found = arithmetic.data(value, int32)
    if found.shape or found.dtype.kind != "int":
        raise UserError(
            f"the value of a semaphore is an integer, not {found!r}",
            hints=["self.lock_semaphore(semaphore, value=1)"],
        )
    return arithmetic.cast(found, int32).value
