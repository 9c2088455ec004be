# SPDX-License-Identifier: Apache-2.0
"""Occupancy: the number of blocks of a kernel that are resident on a multiprocessor.

The formula is that of NVIDIA's `cuda_occupancy.h` for compute capability 8.x and 9.x, which the
"CUDA C++ Best Practices Guide" describes under "Occupancy". A warp allocates registers in units, in
one of the four partitions of a multiprocessor. A block allocates shared memory in units, including
the part that the system reserves.
"""

from __future__ import annotations

from xtc_targets.nvgpu.description import GpuDescription

_PARTS = 4
_REGISTER_UNIT = 256  # registers of a warp
_SHARED_UNIT = 128  # bytes of a block


def resident_blocks(
    machine: GpuDescription, registers: int, threads: int, shared_bytes: int
) -> int:
    """Resident blocks per multiprocessor, for `registers` per thread, 0 if unknown, and `threads`
    and `shared_bytes` per block; 0 if not even one block fits."""
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
    """The number of warps that the registers of a multiprocessor suffice for."""
    of_warp = _rounded(max(1, registers) * machine.warp_threads, _REGISTER_UNIT)
    return machine.registers_sm // _PARTS // of_warp * _PARTS


def _shared(machine: GpuDescription, shared_bytes: int) -> int:
    """Shared memory that a block allocates, including the part that the system reserves."""
    kept = machine.shared_bytes_sm - machine.shared_bytes_block
    return _rounded(shared_bytes + kept, _SHARED_UNIT)


def _rounded(number: int, unit: int) -> int:
    return -(-number // unit) * unit
