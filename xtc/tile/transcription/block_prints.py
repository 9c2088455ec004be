# SPDX-License-Identifier: Apache-2.0
"""`debug_block`: one block prints what each instruction computes or stores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from types import MethodType
from typing import Any

from xtc.core.errors import UserError
from xtc.ir.builders import tile
from xtc.tile.instructions.block import Instructions
from xtc.tile.instructions.printing import MOST_ELEMENTS
from xtc.tile.transcription.branches import Frames, branch
from xtc.tile.types import int32
from xtc.tile.values.arithmetic import binary
from xtc.tile.values.runtime import RegisterTensor, Scalar

Position = tuple[int, int, int]

_STORES = ("store_global", "store_shared")


def block_of(cls: type) -> Position | None:
    """The block that prints, from the kernel's class. Raises UserError unless it is a block."""
    given = getattr(cls, "debug_block", None)
    if given is None:
        return None
    if not isinstance(given, tuple | list) or len(given) != 3 or not all(map(_is_index, given)):
        raise UserError(
            f"{cls.__name__}.debug_block is {given!r}", hints=["a block in x, y and z: (0, 0, 0)"]
        )
    x, y, z = given
    return x, y, z


def _is_index(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0


def print_result(
    frames: Frames, block: Position, function: Any, given: Sequence[Any], made: Any
) -> None:
    """Print, in this block, the register tensor that an instruction returned or stored.

    Other functions and results print nothing; large tensors print only their type and shape.
    """
    if not isinstance(function, MethodType) or not isinstance(function.__self__, Instructions):
        return
    name = function.__name__
    shown = [value for value in given if isinstance(value, RegisterTensor)][:1]
    tensors = shown if name in _STORES else [made] if isinstance(made, RegisterTensor) else []
    for tensor in tensors:
        printing = partial(_print, function.__self__, f"{name}: ", tensor)
        branch(frames, _is_here(block), (printing, lambda: None))


def _is_here(block: Position) -> Any:
    at = [binary("eq", Scalar(tile.block_id(dim), int32), block[dim]) for dim in range(3)]
    return binary("and", binary("and", at[0], at[1]), at[2]).value


def _print(instructions: Any, message: str, tensor: RegisterTensor) -> None:
    if prod(tensor.shape) <= MOST_ELEMENTS:
        instructions.print_tensor(message, tensor)
        return
    sizes = ", ".join(map(str, tensor.shape))
    instructions.printf(f"{message}{tensor.dtype}[{sizes}], too large to print\n")
