# SPDX-License-Identifier: Apache-2.0
"""What a kernel promises of its run-time numbers, and the error where it does not hold.

Interpreter and simulator check each promise. A GPU does not: it may then do anything.
"""

from __future__ import annotations

from dataclasses import dataclass

from xtc.ir.attributes import PROMISE
from xtc.ir.builders.tile import location_text
from xtc.ir.mlir import Operation, StringAttr, all_operations
from xtc.tile.values.errors import KernelError


@dataclass(frozen=True)
class _Broken:
    what: str
    note: str
    hint: str


_KINDS = {
    "assume": _Broken(
        "what the kernel assumes does not hold",
        "the compiler relies on it, and a GPU does not check it",
        "launch the kernel with numbers for which it holds, or remove the assumption",
    ),
    "element": _Broken(
        "a view begins within an element",
        "an untyped pointer counts bytes",
        "add a multiple of the bytes of an element to the pointer",
    ),
    "step": _Broken(
        "the step of a range is 0 or less",
        "a step that is known only at run time is 1 or more",
        "count upwards, and compute the number: stop - 1 - i",
    ),
    "byte": _Broken(
        "a tile of elements that share bytes begins within a byte",
        "its last offset is known only at run time",
        "begin at a multiple of the elements in a byte",
    ),
}
"""By the name that `assume` in `xtc.ir.builders.tile` is given."""


def broken(op: Operation) -> KernelError:
    """The error for a promise that does not hold."""
    told = _KINDS[_parts(op)[0]]
    where = location_text(op.location)
    return KernelError(told.what, where=where, notes=[told.note], hints=[told.hint])


def numbered(kernel: Operation, number: str) -> Operation:
    """The promise of this number."""
    return next(op for op in promises(kernel) if _parts(op)[1] == number)


def promises(kernel: Operation) -> list[Operation]:
    """The promises of a kernel, in order."""
    return [op for op in all_operations(kernel) if PROMISE in op.attributes]


def number_promises(kernel: Operation) -> None:
    """Number the promises of a kernel that has been transcribed."""
    for number, op in enumerate(promises(kernel)):
        op.attributes[PROMISE] = StringAttr.get(f"{_parts(op)[0]}:{number}")


def _parts(op: Operation) -> tuple[str, str]:
    """The kind of a promise, and its number."""
    kind, _, number = StringAttr(op.attributes[PROMISE]).value.partition(":")
    return kind, number
