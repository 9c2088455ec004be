# SPDX-License-Identifier: Apache-2.0
"""copy-by-bursts: lowers transfers to copies of at most one burst each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xtc.ir.builders import numbers
from xtc.ir.mlir import IntegerType, Operation, Type, Value, arith
from xtc.ir.mlir_llvm import llvm
from xtc.ir.pass_options import require_positive
from xtc.ir.passes import Pass
from xtc_passes.local._functions import functions
from xtc_passes.local._memory import LocalMemory
from xtc_passes.local._transfer_commands import (
    Command,
    CopyEngine,
    lower_transfers,
    transfer_number,
)


@dataclass(frozen=True)
class CopyByBursts(Pass):
    """Lower transfers to commands of a copy engine that copies one contiguous burst at a time.

    Before:
        memref.dma_start %A[..], %a[..], %n, %tags[%c0] : memref<4x1024xf32, 1>, ..
        memref.dma_wait %tags[%c0], %c1 : memref<1xi32>
    After, in a loop over the bursts:
        llvm.intr.memcpy %to, %from, 2048

    A command completes before the next operation, so waits become empty.

    Attributes:
        burst_bytes: most bytes that one command copies.
    """

    name: ClassVar[str] = "copy-by-bursts"
    burst_bytes: int = 2048

    def __post_init__(self) -> None:
        require_positive(self)

    def run(self, module: Operation) -> None:
        with module.context:
            for function in functions(module):
                lower_transfers(function, _Engine(self.burst_bytes), LocalMemory())


@dataclass(frozen=True)
class _Engine(CopyEngine):
    """An engine that copies while the core waits."""

    row_bytes: int

    def declare(self, module: Operation) -> None:
        """Declare nothing: commands call no function."""

    def start(self, command: Command) -> Value:
        ends = [_pointer(command.local), _pointer(command.main)]
        target, source = ends if command.to_local else ends[::-1]
        nbytes = arith.index_cast(IntegerType.get_signless(64), command.row_bytes)
        llvm.intr_memcpy(target, source, nbytes, False)
        return numbers.constant(1, transfer_number())

    def wait(self, number: Value) -> None:
        """Do nothing: the command is already complete."""


def _pointer(address: Value) -> Value:
    number = arith.index_cast(IntegerType.get_signless(64), address)
    return llvm.inttoptr(Type.parse("!llvm.ptr"), number)
