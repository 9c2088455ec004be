# SPDX-License-Identifier: Apache-2.0
"""The options of programs for boards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from xtc.core.errors import UserError
from xtc.core.value_checks import whole
from xtc_targets.embedded.description import BoardDescription, board_named
from xtc_targets.embedded.emulated import emulated

PLATFORMS = ("sim", "qemu", "hw")


@dataclass(frozen=True)
class EmbeddedOptions:
    """Options of `xtc.compile(..., target="embedded")`.

    Attributes:
        board: the name of a board, or the path of a YAML file that describes one.
        platform: what runs the program: "sim", "hw", or "qemu", whose memories have other
            addresses.
        stack_bytes: RAM for the stack.
        opt_level: the compiler's optimization level, 0 to 3; None for the default of the core.
        codegen: "llvm", or "c" for plain C sources, which clang compiles.
    """

    board: str = "nucleo-l4r5zi"
    platform: Literal["sim", "qemu", "hw"] = "sim"
    stack_bytes: int = 2048
    opt_level: int | None = None
    codegen: Literal["llvm", "c"] = "llvm"

    def __post_init__(self) -> None:
        if self.opt_level not in (None, 0, 1, 2, 3):
            raise UserError(f"opt_level={self.opt_level!r} is not 0, 1, 2 or 3")
        whole("stack_bytes", self.stack_bytes, 256, 1 << 24)
        description_of(self.board, self.platform)

    @property
    def optimization(self) -> int:
        """The optimization level: the option, or else the default of the core."""
        return self.description.core.opt_level if self.opt_level is None else self.opt_level

    @property
    def description(self) -> BoardDescription:
        """The board."""
        return description_of(self.board, self.platform)


def description_of(board: str, platform: str) -> BoardDescription:
    """A board as programs for a platform see it. Raises UserError."""
    found = board_named(board)
    return emulated(found) if platform == "qemu" else found
