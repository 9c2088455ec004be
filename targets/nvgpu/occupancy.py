# SPDX-License-Identifier: Apache-2.0
"""How many blocks of a kernel a multiprocessor has room for at the same time.

The formula is that of NVIDIA's `cuda_occupancy.h` for compute capability 8.x and 9.x, which the
"CUDA C++ Best Practices Guide" describes under "Occupancy": warps get registers by units, in one of
four parts of a multiprocessor each; blocks get shared memory by units, with what the system keeps.
"""

from __future__ import annotations

from xtc_targets.nvgpu.description import GpuDescription

_PARTS = 4
_REGISTER_UNIT = 256  # of a warp
_SHARED_UNIT = 128  # bytes of a block


def resident_blocks(
    machine: GpuDescription, registers: int, threads: int, shared_bytes: int
) -> int:
    """Blocks on a multiprocessor, of kernels with so many registers a thread, threads a block and
    bytes of shared memory a block; 0 where not even one block fits."""
    if threads > machine.max_block_threads or shared_bytes > machine.shared_bytes_block:
        return 0
    warps = -(-threads // machine.warp_threads)
    return min(
        machine.blocks_sm,
        machine.threads_sm // machine.warp_threads // warps,
        _by_registers(machine, registers) // warps,
        machine.shared_bytes_sm // _shared(machine, shared_bytes),
    )


def _by_registers(machine: GpuDescription, registers: int) -> int:
    """Warps of a multiprocessor that have registers."""
    of_warp = _rounded(max(1, registers) * machine.warp_threads, _REGISTER_UNIT)
    return machine.registers_sm // _PARTS // of_warp * _PARTS


def _shared(machine: GpuDescription, shared_bytes: int) -> int:
    """What a block takes of the shared memory: its own, and what the system keeps of it."""
    kept = machine.shared_bytes_sm - machine.shared_bytes_block
    return _rounded(shared_bytes + kept, _SHARED_UNIT)


def _rounded(number: int, unit: int) -> int:
    return -(-number // unit) * unit
