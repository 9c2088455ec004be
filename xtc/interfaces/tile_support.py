# SPDX-License-Identifier: Apache-2.0
"""What an accelerator offers that runs tile kernels: an optional part of its contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from xtc.ir.pipeline import Pipeline

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation


@dataclass(frozen=True)
class Resources:
    """What a kernel needs of a machine, as the machine's assembler says.

    Attributes:
        registers: of a thread.
        spilled_bytes: of a thread, stored and loaded for want of registers.
        local_bytes: of a thread's memory outside of registers.
        shared_bytes: of a block.
        blocks: how many fit on a multiprocessor.
        warnings: of the assembler.
    """

    registers: int
    spilled_bytes: int
    local_bytes: int
    shared_bytes: int
    blocks: int
    warnings: tuple[str, ...] = ()


class MachineCode(Protocol):
    """The code of a real machine, which needs no such machine to be looked at."""

    @property
    def pipeline(self) -> Pipeline:
        """Stages of a module of tile kernels for the machine itself."""

    def text(self, lowered: Operation) -> str:
        """The code of a lowered module, such as PTX."""

    def disassembly(self, text: str) -> str:
        """The machine's instructions. Raises ToolError if a vendor's program is missing."""

    def resources(self, text: str, threads: int, shared_bytes: int) -> Resources:
        """What a kernel of this code needs. Raises ToolError likewise."""


@dataclass(frozen=True)
class TensorMap:
    """A tensor in a device's memory, and what a bulk copy brings of it.

    Attributes:
        address: of its first element.
        element, element_bytes: MLIR's name of the type, and its size.
        sizes: of its dimensions, the dense one last.
        strides: between elements of each dimension, in bytes.
        box: the extent of a copy in each dimension.
        swizzle: bytes of the pattern in which shared memory has chunks of 16 bytes; 0: in order.
        where: the user's line, for errors.
    """

    address: int
    element: str
    element_bytes: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    where: str = ""


@dataclass(frozen=True)
class TileSupport:
    """A machine for thread blocks.

    Attributes:
        pipeline: stages of a module of tile kernels, from the dialect `tile` to `lowered`. From the
            stage `pipelined` on, the kernel has the grid and the warps that a launch gives it.
        as_written: the same, but synchronisation stays as the user wrote it.
        machine_code: of the machine itself, where the pipeline is a simulator's.
        warp_threads: threads of a warp.
        max_warps: of a block.
        shared_bytes: shared memory that a block may have.
        groups: names of the instruction groups beside the generic instructions.
        multiprocessors: on which blocks run.
        cache_bytes: of the last cache before main memory; 0: of none that is known.
        rates: for the static model: "bytes_per_second" of the main memory, and "macs_per_second" of
            dot by element type, and "warpgroups": how much faster it is where a kernel's work is
            divided.
        tensor_map: the bytes of a map, which a launch puts in the device's memory for each
            `tile.tensor_map` of the stage `bufferized`. Raises UserError.
    """

    pipeline: Pipeline
    as_written: Pipeline
    machine_code: MachineCode
    warp_threads: int
    max_warps: int
    shared_bytes: int
    groups: tuple[str, ...] = ()
    multiprocessors: int = 1
    cache_bytes: int = 0
    rates: Mapping[str, float] = field(default_factory=dict)
    tensor_map: Callable[[TensorMap], bytes] | None = None
