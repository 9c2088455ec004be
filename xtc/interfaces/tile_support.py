# SPDX-License-Identifier: Apache-2.0
"""Support for tile kernels: an optional part of an accelerator's contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from xtc.ir.pipeline import Pipeline

if TYPE_CHECKING:
    from xtc.ir.mlir import Operation


@dataclass(frozen=True)
class Resources:
    """A kernel's resource usage, as reported by the machine's assembler.

    Attributes:
        registers: registers per thread.
        spilled_bytes: bytes per thread that are spilled and reloaded.
        local_bytes: bytes of local memory per thread.
        shared_bytes: bytes of shared memory per block.
        blocks: resident blocks per multiprocessor.
        warnings: the assembler's warnings.
    """

    registers: int
    spilled_bytes: int
    local_bytes: int
    shared_bytes: int
    blocks: int
    warnings: tuple[str, ...] = ()


class MachineCode(Protocol):
    """Code generation for the real machine, for inspection without one."""

    @property
    def pipeline(self) -> Pipeline:
        """Stages of a module of tile kernels for the real machine."""

    def text(self, lowered: Operation) -> str:
        """The code of a lowered module, such as PTX."""

    def disassembly(self, text: str) -> str:
        """The machine's instructions. Raises ToolError if a vendor's program is missing."""

    def resources(self, text: str, threads: int, shared_bytes: int) -> Resources:
        """The resource usage of a kernel of this code. Raises ToolError likewise."""


@dataclass(frozen=True)
class TensorMap:
    """A tensor in a device's memory, and the box that a bulk copy transfers.

    Attributes:
        address: the address of its first element.
        element, element_bytes: MLIR's name of the element type, and its size; "tf32" for float32
            that copies round to tfloat32.
        sizes: the sizes of its dimensions, the contiguous one last.
        strides: the stride of each dimension, in bytes.
        box: the extent of a copy in each dimension.
        swizzle: the span in bytes of the swizzle pattern of 16-byte chunks in shared memory; 0 for
            none.
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
    """A machine that runs thread blocks.

    Attributes:
        pipeline: stages of a module of tile kernels, from the dialect `tile` to `lowered`. From the
            stage `pipelined` on, the kernel has the grid and the warps that a launch gives it.
        as_written: the same, but synchronization stays as the user wrote it.
        machine_code: code of the real machine, if the pipeline is a simulator's.
        warp_threads: threads per warp.
        max_warps: warps per block, at most.
        shared_bytes: shared memory per block, at most.
        groups: names of the instruction groups besides the generic instructions.
        multiprocessors: the number of multiprocessors.
        resident_blocks: the blocks that a multiprocessor holds at a time, by the registers of a
            thread, or 0 if they are unknown, the threads and the bytes of shared memory of a block.
        is_simulated: whether kernels run on a simulator.
        cache_bytes: the size of the last-level cache; 0 if unknown.
        rates: for the static model: "bytes_per_second" of main memory, "macs_per_second" of dot by
            element type, and "warpgroups": the speedup of dot if a kernel divides its work.
        tensor_map: the bytes of a tensor map, which a launch writes to the device's memory for each
            `tile.tensor_map` of the stage `bufferized`. Raises UserError.
        line_of: where the user wrote what a fault's text calls "line #12", found in the module at
            the stage `lowered`; "" if it is unknown.
        require_map: raises UserError if there is no such map, which needs no device and no address.
    """

    pipeline: Pipeline
    as_written: Pipeline
    machine_code: MachineCode
    warp_threads: int
    max_warps: int
    shared_bytes: int
    groups: tuple[str, ...] = ()
    multiprocessors: int = 1
    resident_blocks: Callable[[int, int, int], int] = lambda _registers, _threads, _bytes: 1
    is_simulated: bool = False
    cache_bytes: int = 0
    rates: Mapping[str, float] = field(default_factory=dict)
    tensor_map: Callable[[TensorMap], bytes] | None = None
    line_of: Callable[[Operation, int], str] = lambda _module, _number: ""
    require_map: Callable[[TensorMap], None] | None = None
