# SPDX-License-Identifier: Apache-2.0
"""All kinds of boards with the same program, for the contract tests."""

from __future__ import annotations

import atexit
import functools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import xtc
import xtc.ops as O
from tests.unit import board_target
from tests.unit.board_target import SimulatedBoard
from tests.unit.embedded_support import image_of
from xtc.core import discover
from xtc.graph.graph import Graph
from xtc.interfaces.artifact import Artifact
from xtc.runtime import Board
from xtc_targets.embedded import EmbeddedBoard
from xtc_targets.embedded.description import board_named
from xtc_targets.embedded.simulator import unavailable

A = np.arange(16, dtype=np.float32).reshape(4, 4) / 8
B = np.arange(16, dtype=np.float32)[::-1].reshape(4, 4) / 8
RESULT = np.maximum(A @ B, 0) @ B


@dataclass(frozen=True)
class Kind:
    """A board to test.

    Attributes:
        name: of the test's parameter.
        open: a board.
        hasty: a board that ends programs after 0.05 seconds, where programs can be ended.
        brief: a board that ends them after 100 thousand halfwords of instructions.
        embedded: the name of the board of the target `embedded`, whose programs can fail.
    """

    name: str
    open: Callable[[], Board]
    hasty: Callable[[], Board] | None = None
    brief: Callable[[], Board] | None = None
    embedded: str = ""

    def __str__(self) -> str:
        return self.name

    def artifact(self) -> Artifact:
        """A saved program with inputs A and B and output C, compiled once."""
        return Artifact.read(_saved(self))

    def image(self) -> bytes:
        """The image of the program."""
        with self.open() as board:
            return self.artifact().file(board.image_file).read_bytes()

    def symbol(self, argument: str) -> str:
        """The symbol of an argument of the program."""
        found = {a.name: a.symbol for a in self.artifact().manifest.arguments}
        return found[argument] or ""


def _embedded(board: str, core: str) -> Kind:
    return Kind(
        core,
        lambda: EmbeddedBoard(board),
        lambda: EmbeddedBoard(board, seconds_limit=0.05),
        lambda: EmbeddedBoard(board, instruction_limit=100_000),
        board,
    )


EMBEDDED = (
    _embedded("nucleo-l4r5zi", "M4"),
    _embedded("nrf5340", "M33"),
    _embedded("nucleo-h7a3", "M7"),
    _embedded("nucleo-g0b1", "M0+"),
    _embedded("qemu-virt", "AArch64"),
)
"""One of each kind of core."""

KINDS = (Kind("simulated", lambda: SimulatedBoard(4096)), *EMBEDDED)

WITHOUT_SIMULATOR = unavailable()
"""None, or why programs of the target `embedded` cannot run here."""


def chain() -> Graph:
    """Two contractions; the second may write its result over A."""
    a, b = O.tensor((4, 4), name="A"), O.tensor((4, 4), name="B")
    with O.graph(name="chain") as gb:
        O.matmul(O.relu(O.matmul(a, b)), b, name="C")
    return gb.graph


@functools.cache
def _saved(kind: Kind) -> Path:
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "saved"
    with kind.open() as board, xtc.compile(chain(), target=board) as module:
        module.save(path)
    return path


def find_simulated(find: Callable[[str], object] = discover.target) -> Callable[[str], object]:
    """A target lookup that finds the simulated board's target."""
    return lambda name: board_target.TARGET if name == "board" else find(name)


_FAULTS = {
    "write": "store volatile i32 1, ptr inttoptr (iN 2415919104 to ptr)",
    "read": "%x = load volatile i32, ptr inttoptr (iN 2415919104 to ptr)",
    "flash": "store volatile i32 1, ptr @xtc_entry",
    "jump": "call void inttoptr (iN 2415919105 to ptr)()",
    "trap": "call void @llvm.trap()",
    "halt": 'call void asm sideeffect "wfi", ""()',
    "stack": "%x = call i32 @deeper(i32 0)",
    "loop": "br label %again\nagain:\n br label %again",
}
_PROGRAM = """
@flag = global i32 0
@ran = global i32 0
declare void @llvm.trap()
define i32 @deeper(i32 %n) noinline {
  %room = alloca [64 x i32]
  store volatile i32 %n, ptr %room
  %more = add i32 %n, 1
  %r = call i32 @deeper(i32 %more)
  %v = load volatile i32, ptr %room
  %s = add i32 %r, %v
  ret i32 %s
}
define void @xtc_entry() noinline {
  %flag = load volatile i32, ptr @flag
  %fails = icmp ne i32 %flag, 0
  br i1 %fails, label %fail, label %end
fail:
  FAULT
  br label %end
end:
  store volatile i32 7, ptr @ran
  ret void
}
"""
FAULTS = tuple(_FAULTS)


@functools.cache
def faulty(kind: Kind, fault: str) -> bytes:
    """An image that fails if its `flag` is not 0, and otherwise writes 7 to `ran`."""
    bits = board_named(kind.embedded).core.bits
    text = _FAULTS[fault].replace("iN", f"i{bits}")
    program = _PROGRAM.replace("FAULT", text)
    if fault == "loop":
        program = program.replace("br label %again\n  br label %end", "br label %again")
    return image_of(program, kind.embedded)
